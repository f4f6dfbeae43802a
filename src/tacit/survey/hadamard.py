"""Hadamard response: one sign, from a random place in the answer's row of signs (Bassily and others 2017)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from tacit.base import InputError
from tacit.mechanism.mechanism import Example
from tacit.noise import Rng, uniform
from tacit.survey.coin import Coin, below, keeping
from tacit.survey.frequency import Frequency, word
from tacit.survey.protocol import Array, Law, Tally

__all__ = ["HadamardResponse", "walsh_hadamard"]


@dataclass(frozen=True, kw_only=True)
class HadamardResponse(Frequency):
    """A report is a place j, uniform below K, and one bit: the sign of H[j, answer + 1], kept with probability p.

    K is the least power of two above the number of answers, H[j, i] = (−1)^(number of ones that j and i share), and the
    report is 2j + bit with bit 1 for −1. It speaks for every answer that has this sign at j: for a false one with
    probability exactly 1/2, since two rows of signs agree in half of their places.

    Guarantee: pure ε between any two answers of one respondent (relation replace). The place tells nothing, and the bit
    is Warner's randomised response with p = e^ε/(e^ε + 1) rounded down to a multiple of 2^-64.

    Coins: a number below K, then keep (one toss of p).
    """

    theory: ClassVar[str] = "local-frequency"
    kind: ClassVar[str] = "hadamard"
    in_browser: ClassVar[bool] = True
    title = "Hadamard response"

    epsilon: Fraction
    categories: int

    def __post_init__(self) -> None:
        self._settle()

    @property
    def places(self) -> int:
        """K, the number of signs an answer has."""
        return 1 << self.categories.bit_length()

    @cached_property
    def _keep(self) -> Coin:
        return keeping(self.epsilon)

    @property
    def device(self) -> Mapping[str, int]:
        return {"categories": self.categories, "places": self.places, "keep": self._keep.heads}

    @property
    def p(self) -> Fraction:
        return self._keep.probability

    @property
    def q(self) -> Fraction:
        return Fraction(1, 2)

    @property
    def dtype(self) -> np.dtype[Any]:
        return word(2 * self.places)

    def _one(self, value: int, rng: Rng) -> bytes:
        place = below(self.places, rng)
        bit = (place & value + 1).bit_count() & 1
        told = bit if self._keep.toss(rng) else 1 - bit
        return (2 * place + told).to_bytes(self.dtype.itemsize, "little")

    def _fill(self, reports: Array, values: Array, rng: Rng) -> None:
        place = uniform(self.places, values.size, rng)
        told = (np.bitwise_count(place & (values + 1)) & 1) ^ ~self._keep.tosses(values.size, rng)
        reports[:] = 2 * place + told

    def law(self, value: Any) -> Law:
        row = self._checked(np.asarray(value)).item() + 1
        size, kept, lost = self.dtype.itemsize, self.p / self.places, (1 - self.p) / self.places
        return {
            (2 * place + told).to_bytes(size, "little"): kept if (place & row).bit_count() & 1 == told else lost
            for place in range(self.places)
            for told in (0, 1)
        }

    def _possible(self, reports: Array) -> None:
        if reports.size and int(reports.max()) >= 2 * self.places:
            raise InputError(f"a report must be a number from 0 to {2 * self.places - 1}")

    def tally(self, reports: Array) -> Tally:
        """For every place, how many more reports had the sign + than −."""
        counts = np.bincount(reports.ravel(), minlength=2 * self.places)
        return Tally(counts[0::2] - counts[1::2], reports.size)

    def support(self, tally: Tally) -> Array:
        agreeing = walsh_hadamard(tally.counts)[1 : self.categories + 1]
        return (tally.reports + agreeing) // 2

    @classmethod
    def examples(cls) -> Sequence[Example]:
        made = [cls(epsilon=Fraction(e), categories=k) for e, k in (("1/5", 2), (1, 3), ("5/2", 10), (4, 100))]
        return [Example(m, 0, other, m.loss()) for m in made for other in sorted({1, m.categories - 1})]


def walsh_hadamard(numbers: Array) -> Array:
    """The sums of `numbers` with the signs of each row of the Hadamard matrix, exactly, in K·log K additions."""
    found = numbers.astype(np.int64)
    half = 1
    while half < found.size:
        pairs = found.reshape(-1, 2, half)
        found = np.stack((pairs[:, 0] + pairs[:, 1], pairs[:, 0] - pairs[:, 1]), axis=1).ravel()
        half *= 2
    return found
