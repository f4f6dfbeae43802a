"""Reports that are one answer: the coin-flip survey, and direct response (k-ary randomised response)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from tacit.base import InputError, between
from tacit.loss import shuffled
from tacit.loss.shuffle import ShuffledLoss
from tacit.mechanism.mechanism import Example
from tacit.mechanism.randomized_response import CoinFlipSurvey
from tacit.noise import Rng, uniform
from tacit.survey.coin import ONE, Coin, KaryCoin, below
from tacit.survey.frequency import Frequency, word
from tacit.survey.protocol import Array, Law, Tally

__all__ = ["CoinFlip", "DirectResponse"]


@dataclass(frozen=True, kw_only=True)
class DirectResponse(Frequency):
    """A report is one answer, told by a `KaryCoin`: the true one with probability p, each other with (1 − p)/(k − 1).

    Guarantee: pure ε between any two answers of one respondent (relation replace): p is e^ε/(e^ε + k − 1) rounded
    down to a multiple of 2^-64, so p(k − 1)/(1 − p) ≤ e^ε. With two answers it is Warner's randomised response (1965).
    """

    theory: ClassVar[str] = "local-frequency"
    kind: ClassVar[str] = "direct"
    in_browser: ClassVar[bool] = True
    title = "direct response"

    epsilon: Fraction
    categories: int

    def __post_init__(self) -> None:
        self._settle()

    @cached_property
    def _coin(self) -> KaryCoin:
        return KaryCoin.at(self.epsilon, self.categories)

    @property
    def device(self) -> Mapping[str, int]:
        return {"categories": self.categories, "keep": self._coin.keep.heads}

    @property
    def p(self) -> Fraction:
        return self._coin.p

    @property
    def q(self) -> Fraction:
        return self._coin.q

    def shuffled(self, *, reports: int) -> ShuffledLoss:
        """The analysis of its own: the answers that nobody is suspected of hide a report too."""
        if self.categories == 2:
            return super().shuffled(reports=reports)
        return shuffled(self.loss(), reports=reports, categories=self.categories)

    def _joint(self, rate: Array) -> Array:
        """A report speaks for one answer: the multinomial law."""
        return np.asarray(np.diag(rate) - np.outer(rate, rate))

    @property
    def dtype(self) -> np.dtype[Any]:
        return word(self.categories)

    def _one(self, value: int, rng: Rng) -> bytes:
        return self._coin.told(value, rng).to_bytes(self.dtype.itemsize, "little")

    def _fill(self, reports: Array, values: Array, rng: Rng) -> None:
        reports[:] = values
        self._coin.tell(reports, rng)

    def law(self, value: Any) -> Law:
        truth = self._checked(np.asarray(value)).item()
        size = self.dtype.itemsize
        return {c.to_bytes(size, "little"): self.p if c == truth else self.q for c in range(self.categories)}

    def _possible(self, reports: Array) -> None:
        if reports.size and int(reports.max()) >= self.categories:
            raise InputError(f"a report must be a number from 0 to {self.categories - 1}")

    def tally(self, reports: Array) -> Tally:
        return Tally(np.bincount(reports.ravel(), minlength=self.categories), reports.size)

    @classmethod
    def examples(cls) -> Sequence[Example]:
        made = [cls(epsilon=Fraction(e), categories=k) for e, k in (("1/5", 2), (1, 3), ("5/2", 10), (4, 100))]
        return [Example(m, 0, other, m.loss()) for m in made for other in sorted({1, m.categories - 1})]


@dataclass(frozen=True, kw_only=True)
class CoinFlip(Frequency):
    """No or yes (0 or 1), told truly with probability `truth`, else by a fair coin. People can do it with real coins.

    Guarantee: pure ε = log((1 + truth)/(1 − truth)) between the two answers of one respondent (relation replace): log 3
    with a fair first coin. `truth` is rounded down to a multiple of 2^-64, and ε is rounded up.

    Coins: truth (one toss); if tails, a number below 2, which is the report.
    """

    theory: ClassVar[str] = "local-frequency"
    kind: ClassVar[str] = "coin_flip"
    in_browser: ClassVar[bool] = True

    truth: Fraction = Fraction(1, 2)
    epsilon: Fraction = field(init=False)
    categories: int = field(init=False, default=2)

    def __post_init__(self) -> None:
        asked = between(self.truth, "truth", 0, 1, toward="down")
        heads = asked.numerator * ONE // asked.denominator
        if not heads:
            raise InputError(
                "truth is too small for a coin of 64 bits: the report would say nothing, choose a larger one"
            )
        object.__setattr__(self, "truth", Fraction(heads, ONE))
        object.__setattr__(self, "epsilon", CoinFlipSurvey(truth=self.truth).bound)

    @cached_property
    def _truly(self) -> Coin:
        return Coin(int(self.truth * ONE))

    @property
    def device(self) -> Mapping[str, int]:
        return {"categories": self.categories, "truth": self._truly.heads}

    @classmethod
    def from_device(cls, epsilon: Fraction, device: Mapping[str, Any]) -> Self:
        return cls(truth=Fraction(device["truth"], ONE))  # of 2^64 sides so many are heads

    @property
    def p(self) -> Fraction:
        return (1 + self.truth) / 2

    @property
    def q(self) -> Fraction:
        return (1 - self.truth) / 2

    @property
    def dtype(self) -> np.dtype[Any]:
        return word(self.categories)

    def _one(self, value: int, rng: Rng) -> bytes:
        return bytes([value if self._truly.toss(rng) else below(2, rng)])

    def _fill(self, reports: Array, values: Array, rng: Rng) -> None:
        second = uniform(2, values.size, rng)
        reports[:] = np.where(self._truly.tosses(values.size, rng), values, second)

    def law(self, value: Any) -> Law:
        truth = self._checked(np.asarray(value)).item()
        return {bytes([answer]): self.p if answer == truth else self.q for answer in (0, 1)}

    def _possible(self, reports: Array) -> None:
        if reports.size and int(reports.max()) > 1:
            raise InputError("a report must be 0 or 1")

    def tally(self, reports: Array) -> Tally:
        return Tally(np.bincount(reports.ravel(), minlength=2), reports.size)

    @classmethod
    def examples(cls) -> Sequence[Example]:
        made = [cls(truth=Fraction(t)) for t in ("1/2", "1/10", "3/4", "99/100")]
        return [Example(m, 0, 1, m.loss()) for m in made]
