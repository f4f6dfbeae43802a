"""The one-bit mean: a number is rounded at random to an end of its range, and that bit is randomised."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import sqrt
from typing import Any, ClassVar

import numpy as np

from tacit.base import InputError, Number, whole
from tacit.mechanism.local import Estimate, shares
from tacit.mechanism.mechanism import Example
from tacit.noise import Rng, uniform
from tacit.survey.coin import NOTHING, Coin, below, keeping
from tacit.survey.mean import FINEST, Mean
from tacit.survey.protocol import Array, Law, Tally

__all__ = ["OneBitMean"]

CHUNK = 1 << 15


@dataclass(frozen=True, kw_only=True)
class OneBitMean(Mean):
    """A report is one bit, 1 with probability q + (p − q)·x for an answer x of the way from `low` to `high`.

    Guarantee: pure ε between any two answers of one respondent (relation replace): p is e^ε/(e^ε + 1) rounded down to
    a multiple of 2^-64 and q = 1 − p, so p/q ≤ e^ε. It is the mechanism of Duchi, Jordan and Wainwright (2018) in one
    dimension and Microsoft's 1BitMean (Ding, Kulkarni and Yekhanin 2017).

    Coins: a point below `steps`; the bit is 1 if the point is below the answer's position. Keep (one toss of p); if
    tails, the bit is flipped. A device that keeps its point (α-point rounding) can repeat kept bits: see `Memo`.
    """

    theory: ClassVar[str] = "local-means"
    kind: ClassVar[str] = "one_bit_mean"

    steps: int = FINEST

    def __post_init__(self) -> None:
        super().__post_init__()
        if 2 * self.p <= 1:
            raise InputError(NOTHING)

    @property
    def device(self) -> Mapping[str, int | float]:
        """What a device must know to make reports."""
        ends = {"low": float(self.low), "high": float(self.high)}
        return {**ends, "steps": self.steps, "keep": self._keep.heads}

    @cached_property
    def _keep(self) -> Coin:
        return keeping(self.epsilon)

    @property
    def p(self) -> Fraction:
        return self._keep.probability

    @property
    def dtype(self) -> np.dtype[Any]:
        return np.dtype("u1")

    def _one(self, value: int, rng: Rng) -> bytes:
        bit = below(self.steps, rng) < value
        return bytes([bit if self._keep.toss(rng) else not bit])

    def _many(self, values: Array, rng: Rng) -> Array:
        flat = values.ravel()
        reports = np.empty(flat.size, dtype=self.dtype)
        for start in range(0, flat.size, CHUNK):
            own = flat[start : start + CHUNK]
            bits = uniform(self.steps, own.size, rng) < own
            reports[start : start + CHUNK] = bits == self._keep.tosses(own.size, rng)
        return reports.reshape(values.shape)

    def law(self, value: Any) -> Law:
        x = Fraction(int(self._checked(np.asarray(value)).item()), self.steps)
        one = 1 - self.p + (2 * self.p - 1) * x
        return {b"\x00": 1 - one, b"\x01": one}

    def _possible(self, reports: Array) -> None:
        if reports.size and int(reports.max()) > 1:
            raise InputError("a report must be 0 or 1")

    def tally(self, reports: Array) -> Tally:
        return Tally(np.array([int(np.count_nonzero(reports))]), reports.size)

    def deviation(self, *, reports: int, value: Number | None = None) -> float:
        n = whole(reports, "reports", least=1)
        one = Fraction(1, 2) if value is None else self.law(value)[b"\x01"]
        return sqrt(one * (1 - one) / n) / float(2 * self.p - 1) * float(self.high - self.low)

    def estimate(self, tally: Tally, confidence: Number = 0.95) -> Estimate:
        """The unbiased mean with a Clopper–Pearson interval for the rate of ones.

        `standard_error` is √(r(1 − r)/n)/(p − q) at the rate r seen. For a random sample of respondents that is the
        error, their sampling included; for the respondents themselves it is at least the error.
        """
        if tally.reports < 1:
            raise InputError("there are no reports yet, so there is nothing to estimate")
        p, n, ones = float(self.p), tally.reports, int(tally.counts[0])
        contrast = float(2 * self.p - 1)
        found = shares(ones, n, true_rate=p, false_rate=1 - p, contrast=contrast, confidence=confidence)
        error = sqrt(ones * (n - ones) / n) / n / contrast
        return self._in_units(found.value, found.lower, found.upper, error, found.confidence)

    @classmethod
    def examples(cls) -> Sequence[Example]:
        made = [cls(epsilon=Fraction(e), steps=s) for e, s in (("1/5", 1), (1, 4), ("5/2", 1000), (4, FINEST))]
        return [Example(m, 0, 1, m.loss()) for m in made]
