"""Unary encoding: a report says yes or no to every answer, each by a coin of its own (Wang and others 2017)."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from tacit.mechanism.mechanism import Example
from tacit.noise import Rng
from tacit.survey.coin import ONE, Coin, keeping
from tacit.survey.frequency import WIDEST, Bits
from tacit.survey.protocol import Array, Law

__all__ = ["OptimizedUnary", "SymmetricUnary", "Unary"]

FAIR = Coin(ONE // 2)


@dataclass(frozen=True, kw_only=True)
class Unary(Bits):
    """A report is one bit for each answer: 1 with probability p for the true one, with probability q for every other.

    Two answers differ in two bits, so no report is more than p(1 − q)/((1 − p)q) times as likely under one of them as
    under the other.

    Coins: one toss for each answer 0, …, k − 1 in turn, of p for the true one and of q for the others.
    """

    theory: ClassVar[str] = "local-frequency"

    epsilon: Fraction
    categories: int

    def __post_init__(self) -> None:
        self._settle(WIDEST)

    @property
    @abstractmethod
    def _coins(self) -> tuple[Coin, Coin]:
        """The coins of the true answer and of any other."""

    @property
    def device(self) -> Mapping[str, int]:
        true, other = self._coins
        return {"categories": self.categories, "true": true.heads, "other": other.heads}

    @property
    def p(self) -> Fraction:
        return self._coins[0].probability

    @property
    def q(self) -> Fraction:
        return self._coins[1].probability

    def _one(self, value: int, rng: Rng) -> bytes:
        true, other = self._coins
        members = 0
        for answer in range(self.categories):
            members |= (true if answer == value else other).toss(rng) << answer
        return self._bytes(members)

    def _sets(self, values: Array, rng: Rng) -> Array:
        true, other = self._coins
        sets = other.tosses(values.size * self.categories, rng).reshape(values.size, self.categories)
        sets[np.arange(values.size), values] = true.tosses(values.size, rng)
        return sets

    def law(self, value: int) -> Law:
        truth = self._checked(np.asarray(value)).item()
        k, p, q = self._listable(), self.p, self.q
        others = [q**m * (1 - q) ** (k - 1 - m) for m in range(k)]  # how many other answers are said yes to
        likely = [[(1 - p) * each for each in others], [p * each for each in others]]
        found = {}
        for members in range(1 << k):
            told = members >> truth & 1
            found[self._bytes(members)] = likely[told][members.bit_count() - told]
        return found

    @classmethod
    def examples(cls) -> Sequence[Example]:
        made = [cls(epsilon=Fraction(e), categories=k) for e, k in (("1/5", 2), (1, 3), ("5/2", 5), (4, 6))]
        return [Example(m, 0, other, m.loss()) for m in made for other in sorted({1, m.categories - 1})]


@dataclass(frozen=True, kw_only=True)
class SymmetricUnary(Unary):
    """Every bit is told truly with the same probability, as basic RAPPOR does it.

    Guarantee: pure ε between any two answers of one respondent (relation replace): p is e^(ε/2)/(e^(ε/2) + 1) rounded
    down to a multiple of 2^-64 and q = 1 − p, so (p/q)² ≤ e^ε.
    """

    kind: ClassVar[str] = "symmetric_unary"
    in_browser: ClassVar[bool] = True

    @property
    def _coins(self) -> tuple[Coin, Coin]:
        keep = keeping(self.epsilon / 2)
        return keep, Coin(ONE - keep.heads)


@dataclass(frozen=True, kw_only=True)
class OptimizedUnary(Unary):
    """The true answer's bit is a fair coin and the others are rarely set: the best split of ε if answers are many.

    Guarantee: pure ε between any two answers of one respondent (relation replace): p = 1/2, and q is 1/(e^ε + 1)
    rounded up to a multiple of 2^-64, so (1 − q)/q ≤ e^ε.
    """

    kind: ClassVar[str] = "optimized_unary"
    in_browser: ClassVar[bool] = True

    @property
    def _coins(self) -> tuple[Coin, Coin]:
        return FAIR, Coin(ONE - keeping(self.epsilon).heads)
