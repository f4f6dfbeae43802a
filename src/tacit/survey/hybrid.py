"""The hybrid mean: a public coin decides between a piecewise report and a one-bit report."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import sqrt
from typing import Any, ClassVar

import numpy as np

from tacit.base import InputError, Number, whole
from tacit.mechanism.local import Estimate
from tacit.mechanism.mechanism import Example
from tacit.noise import Rng
from tacit.survey.coin import ONE, Coin
from tacit.survey.frequency import word
from tacit.survey.mean import Mean, interval
from tacit.survey.one_bit_mean import OneBitMean
from tacit.survey.piecewise import PiecewiseMean, guesses
from tacit.survey.protocol import Array, Law, Tally

__all__ = ["HybridMean"]


@dataclass(frozen=True, kw_only=True)
class HybridMean(Mean):
    """With probability `share` a report of `PiecewiseMean`, else one of `OneBitMean` (Wang et al. 2019).

    Guarantee: pure ε: the coin does not look at the answer, and either report has ε. One is least sure in the middle of
    the range, the other at its ends, so at the right `share` the variance is the same everywhere, and its largest value
    below that of both. Below ε ≈ 0.61 the best share is 0.

    A report below `outputs` of the piecewise part is that part's; the next two numbers are the bits 0 and 1.
    Coins: which (one toss of `share`, rounded to a multiple of 2^-64); then those of the part.
    """

    theory: ClassVar[str] = "local-means"
    kind: ClassVar[str] = "hybrid"

    steps: int = 1 << 12

    def __post_init__(self) -> None:
        super().__post_init__()
        assert self._piecewise.steps == self._bit.steps  # refuses what the parts refuse

    @cached_property
    def _piecewise(self) -> PiecewiseMean:
        return PiecewiseMean(epsilon=self.epsilon, low=self.low, high=self.high, steps=self.steps)

    @cached_property
    def _bit(self) -> OneBitMean:
        return OneBitMean(epsilon=self.epsilon, low=self.low, high=self.high, steps=self.steps)

    @cached_property
    def _which(self) -> Coin:
        """The share of the least largest variance: 0, 1, or where both ends and the middle have the same one.

        In shares of the range, a one-bit report's variance is ¼ less at the ends than in the middle.
        """
        ends, middle = (float(self._piecewise.variance(at)) / self.steps**2 for at in (0, self.steps // 2))
        bit = 0.25 / float(2 * self._bit.p - 1) ** 2
        level = 0.25 / (0.25 + max(0.0, ends - middle))
        options = ((bit, 0.0), (ends, 1.0), (level * middle + (1 - level) * bit, level))
        return Coin(round(Fraction(min(options)[1]) * ONE))

    @property
    def share(self) -> Fraction:
        return self._which.probability

    @property
    def dtype(self) -> np.dtype[Any]:
        return word(self._piecewise.outputs + 2)

    def _one(self, value: int, rng: Rng) -> bytes:
        if self._which.toss(rng):
            number = self._piecewise._number(value, rng)
        else:
            number = self._piecewise.outputs + self._bit._one(value, rng)[0]
        return number.to_bytes(self.dtype.itemsize, "little")

    def _many(self, values: Array, rng: Rng) -> Array:
        flat = values.ravel()
        piecewise = self._which.tosses(flat.size, rng)
        reports = np.empty(flat.size, dtype=self.dtype)
        reports[piecewise] = self._piecewise._many(flat[piecewise], rng)
        bits = self._bit._many(flat[~piecewise], rng).astype(np.int64)
        reports[~piecewise] = self._piecewise.outputs + bits
        return reports.reshape(values.shape)

    def law(self, value: Any) -> Law:
        size, start = self.dtype.itemsize, self._piecewise.outputs
        law = {
            int.from_bytes(report, "little").to_bytes(size, "little"): self.share * p
            for report, p in self._piecewise.law(value).items()
        }
        law |= {(start + r[0]).to_bytes(size, "little"): (1 - self.share) * p for r, p in self._bit.law(value).items()}
        return {report: p for report, p in law.items() if p}

    def _possible(self, reports: Array) -> None:
        least, most = (0 if self.share else self._piecewise.outputs), self._piecewise.outputs + 1
        if reports.size and (int(reports.max()) > most or int(reports.min()) < least):
            raise InputError(f"a report must be a number from {least} to {most}")

    def tally(self, reports: Array) -> Tally:
        """Number, sum and sum of squares of the piecewise reports, and the number of ones."""
        flat = reports.ravel().astype(np.int64)
        start = self._piecewise.outputs
        near = flat[flat < start]
        ones = int(np.count_nonzero(flat == start + 1))
        return Tally(np.array([near.size, near.sum(), np.dot(near, near), ones], dtype=np.int64), flat.size)

    def deviation(self, *, reports: int, value: Number | None = None) -> float:
        places = [0, self.steps // 2] if value is None else [int(self._checked(np.asarray(value)).item())]
        p, share = self._bit.p, float(self.share)
        spreads = []
        for at in places:
            one = 1 - p + (2 * p - 1) * Fraction(at, self.steps)
            bit = float(one * (1 - one) / (2 * p - 1) ** 2)
            spreads.append(share * float(self._piecewise.variance(at)) / self.steps**2 + (1 - share) * bit)
        return sqrt(max(spreads) / whole(reports, "reports", least=1)) * float(self.high - self.low)

    def estimate(self, tally: Tally, confidence: Number = 0.95) -> Estimate:
        """The mean of all reports' unbiased guesses, with an interval by their own spread; see `interval`."""
        count, total, squares, ones = (int(number) for number in tally.counts)
        first, second = guesses(self._piecewise, total, squares, count)
        p, zeros = float(self._bit.p), tally.reports - count - ones
        low, high = (p - 1) / (2 * p - 1), p / (2 * p - 1)  # what a bit 0 and a bit 1 are guesses of
        first, second = first + zeros * low + ones * high, second + zeros * low**2 + ones * high**2
        return self._in_units(*interval(first, second, tally.reports, confidence))

    @classmethod
    def examples(cls) -> Sequence[Example]:
        made = [cls(epsilon=Fraction(e), steps=s) for e, s in (("1/5", 1), (1, 4), ("5/2", 16), (4, 100))]
        return [Example(m, 0, 1, m.loss()) for m in made]
