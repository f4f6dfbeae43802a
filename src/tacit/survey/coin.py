"""Coins of a respondent's device: integers out of bytes, so that every device and every language tosses them alike.

A coin shows heads with probability exactly h/2^64 for a whole number h. Probabilities that a guarantee rests on are
rounded to such fractions on the private side, so the law is known exactly and no device needs more than a comparison.
One toss reads 8 bytes, first byte first, as one number; it is heads if that number is below h. A number below n reads
as many bytes as n − 1 has, keeps as many low bits as n − 1 has, and is drawn again while it is not below n.
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from tacit.base import InputError
from tacit.mechanism.response import others
from tacit.noise import Rng
from tacit.noise.coin import logistic_bounds

__all__ = ["NOTHING", "ONE", "Coin", "KaryCoin", "below", "joined", "keeping", "split"]

ONE = 1 << 64
WORD = 1 << 32
NOTHING = "epsilon is too small for coins of 64 bits: reports would say nothing, choose a larger one"

Bools = np.ndarray[Any, np.dtype[np.bool_]]


@dataclass(frozen=True)
class Coin:
    """Heads with probability exactly heads/2^64."""

    heads: int

    def __post_init__(self) -> None:
        if not 0 <= self.heads <= ONE:
            raise InputError(f"a coin's heads must lie in [0, 2^64], not {self.heads}")

    @property
    def probability(self) -> Fraction:
        return Fraction(self.heads, ONE)

    def toss(self, rng: Rng) -> bool:
        """One toss, as a device does it."""
        return int.from_bytes(rng.read(8), "big") < self.heads

    def tosses(self, size: int, rng: Rng) -> Bools:
        """Many tosses of the same law. A byte decides all but one in 256, seven more decide the rest."""
        first, rest = divmod(self.heads, 1 << 56)
        drawn = rng.words(size, np.uint8)
        if first > 255:
            return np.ones(size, dtype=bool)
        heads: Bools = drawn < first
        if rest:
            doubtful = np.flatnonzero(drawn == first)
            heads[doubtful] = (rng.words(len(doubtful)) >> np.uint64(8)) < rest
        return heads


def keeping(epsilon: Fraction, others: int | Fraction = 1) -> Coin:
    """Heads with probability e^ε/(e^ε + others), rounded down to a multiple of 2^-64."""
    return Coin(logistic_bounds(epsilon, Fraction(others), 64)[0])


def below(bound: int, rng: Rng) -> int:
    """A uniform number in [0, bound), as a device draws it."""
    width = (bound - 1).bit_length()
    mask = (1 << width) - 1
    while True:
        drawn = int.from_bytes(rng.read((width + 7) // 8), "big") & mask if width else 0
        if drawn < bound:
            return drawn


@dataclass(frozen=True)
class KaryCoin:
    """k-ary randomised response on a device: one of `answers` = k is told truly if `keep` shows heads, else another.

    With p at most e^ε/(e^ε + k − 1) no answer is told more than e^ε times as often for one truth as for another. Coins:
    keep; if tails, a number below k − 1, which skips the true answer. Of a bit (k = 2) that number takes no byte.
    """

    answers: int
    keep: Coin

    @classmethod
    def at(cls, epsilon: Fraction, answers: int) -> "KaryCoin":
        """The most truthful one with this ε."""
        return cls(answers, keeping(epsilon, answers - 1))

    @property
    def p(self) -> Fraction:
        """Probability that the truth is told."""
        return self.keep.probability

    @property
    def q(self) -> Fraction:
        """Probability that one given other answer is told."""
        return (1 - self.p) / (self.answers - 1)

    def chance(self, told: int, truth: int) -> Fraction:
        """Probability that the one is told of the other."""
        return self.p if told == truth else self.q

    def told(self, value: int, rng: Rng) -> int:
        """What is told of one answer."""
        if self.keep.toss(rng):
            return value
        other = below(self.answers - 1, rng)
        return other + (other >= value)

    def tell(self, values: np.ndarray[Any, np.dtype[Any]], rng: Rng) -> None:
        """The same for many answers, in place."""
        kept = self.keep.tosses(values.size, rng)
        if self.answers == 2:
            values ^= ~kept
        else:
            lost = np.flatnonzero(~kept)
            values[lost] = others(values[lost], self.answers, rng)


def split(value: int | float) -> int | float | list[int]:
    """A number as a device is told it: JavaScript has no fast whole numbers of 64 bits, so those are [high, low]."""
    return list(divmod(value, WORD)) if isinstance(value, int) and value >= WORD else value


def joined(value: Any) -> Any:
    """The inverse of `split`."""
    if not isinstance(value, list):
        return value
    high, low = value
    return high * WORD + low
