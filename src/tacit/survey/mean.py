"""Protocols that tell the mean of numbers from a declared range.

An answer is rounded on the device to the nearest of `steps` + 1 points that divide [`low`, `high`] into `steps` equal
parts; from there on everything is whole numbers. Estimates are unbiased for the rounded answers, each of which is
within (high − low)/(2·steps) of the true one.
"""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import sqrt
from typing import Any, ClassVar

import numpy as np

from tacit.base import InputError, Number, between, exact, whole
from tacit.mechanism.response import Estimate
from tacit.noise import Rng, uniform
from tacit.survey.coin import below
from tacit.survey.protocol import Array, Law, Protocol, Tally, reach, shares_at, telling

__all__ = ["MeanProtocol", "OneBitMean", "RangeProtocol", "interval"]

FEW = 30  # reports below which an interval by their spread is not trusted
FINEST = 1 << 16
LARGEST = Fraction(10) ** 100


@dataclass(frozen=True, kw_only=True)
class RangeProtocol(Protocol):
    """A number from [`low`, `high`]."""

    low: Fraction = Fraction(0)
    high: Fraction = Fraction(1)

    def _divided(self, cells: int) -> None:
        """Both ends as exact numbers, of a range that doubles can divide into so many parts."""
        low, high = exact(self.low, "low", toward="decimal"), exact(self.high, "high", toward="decimal")
        if max(abs(low), abs(high)) > LARGEST or high - low < 1 / LARGEST:
            raise InputError("low must be below high, by at least 1e-100, and both within 1e100 of zero")
        if float(low) + float(high - low) / cells <= float(low):
            raise InputError("the range is too narrow for its distance from zero: subtract a constant from the answers")
        object.__setattr__(self, "low", low)
        object.__setattr__(self, "high", high)

    def _places(self, values: Array, cells: int, *, last: int, ahead: float = 0.0) -> Array:
        """floor((x − low)·(cells/(high − low)) + ahead) in doubles, as a browser computes it, and at most `last`."""
        low, high = float(self.low), float(self.high)
        if values.size and (values.dtype.kind not in "iuf" or not np.all((values >= low) & (values <= high))):  # or NaN
            raise InputError(f"answers must be numbers from {low:g} to {high:g}")
        scaled = (values.astype(np.float64) - low) * (cells / (high - low))
        return np.minimum(np.floor(scaled + ahead), last).astype(np.int64)

    @property
    def probes(self) -> tuple[float, float, float]:
        """Both ends, and a quarter of the way between them."""
        low, high = float(self.low), float(self.high)
        return low, high, low + (high - low) / 4


@dataclass(frozen=True, kw_only=True)
class MeanProtocol(RangeProtocol):
    """A number from [`low`, `high`], on a lattice of `steps` equal parts."""

    unit: ClassVar[str] = "number"
    margin_unit: ClassVar[str] = "number"

    steps: int

    def __post_init__(self) -> None:
        self._settle(steps=1)
        if self.steps > FINEST:
            raise InputError(f"steps must be at most {FINEST}, which is finer than any mean will be known")
        self._divided(self.steps)

    def _checked(self, values: Array) -> Array:
        """The nearest of the positions 0, …, steps."""
        return self._places(values, self.steps, last=self.steps, ahead=0.5)

    @abstractmethod
    def variance(self, position: Any) -> Fraction:
        """Variance of a report's unbiased guess of the answer at `position`, in squared steps."""

    @property
    def _widest(self) -> Sequence[Any]:
        """Positions at one of which the variance is largest."""
        return [0]

    def deviation(self, *, reports: int, value: Number | None = None) -> float:
        """Standard deviation of the estimated mean if all answer `value`; without it, the most it can be."""
        spread = max(map(self.variance, self._widest if value is None else [self._answer(value)]))
        return sqrt(spread / whole(reports, "reports", least=1)) / self.steps * self.scale

    @property
    def scale(self) -> float:
        return float(self.high - self.low)

    def margin(self, *, answers: int, confidence: Number = 0.95) -> float:
        return reach(confidence) * self.deviation(reports=answers)

    def nearest(self, tally: Tally, estimate: Estimate) -> Array:
        """Numbers in the range."""
        return np.asarray(np.clip(np.atleast_1d(estimate.value), float(self.low), float(self.high)))

    def _in_units(self, share: float, lower: float, upper: float, error: float, confidence: float) -> Estimate:
        """An estimate of a share of the range, from 0 at `low` to 1 at `high`, in the answers' own units."""
        ends = share, min(1.0, max(0.0, lower)), min(1.0, max(0.0, upper))
        value, low, high = (float(self.low) + self.scale * float(end) for end in ends)
        return Estimate(value, low, high, error * self.scale, confidence)


def interval(total: float, squares: float, count: int, confidence: Number) -> tuple[float, float, float, float, float]:
    """Mean, lower and upper end, standard error and confidence from the sum of n values and the sum of their squares.

    Student's interval. The spread of the values holds both the randomising and the spread of the answers, so for the
    population that respondents are a random sample of it covers as stated, up to the normal approximation, and for
    the respondents themselves more often. With fewer than 30 reports it is everything.
    """
    level = float(between(confidence, "confidence", 0, 1))
    mean = total / count
    if count < FEW:
        return mean, -np.inf, np.inf, np.inf, level
    error = sqrt(max(0.0, squares / count - mean * mean) / (count - 1))
    from scipy.stats import t as student  # takes long to import

    reach = float(student.ppf((1 + level) / 2, count - 1)) * error
    return mean, mean - reach, mean + reach, error, level


@dataclass(frozen=True, kw_only=True)
class OneBitMean(MeanProtocol):
    """A report is one bit, 1 with probability q + (p − q)·x for an answer x of the way from `low` to `high`.

    Guarantee: pure ε between any two answers of one respondent (relation replace): p is e^ε/(e^ε + 1) rounded down to
    a multiple of 2^-64 and q = 1 − p, so p/q ≤ e^ε. It is the mechanism of Duchi, Jordan and Wainwright (2018) in one
    dimension and Microsoft's 1BitMean (Ding, Kulkarni and Yekhanin 2017).

    Coins: a point below `steps`; the bit is 1 if the point is below the answer's position. Keep (one toss of p); if
    tails, the bit is flipped. A device that keeps its point (α-point rounding) can repeat kept bits: see `Memo`.
    """

    theory: ClassVar[str] = "local-means"
    kind: ClassVar[str] = "one_bit_mean"
    in_browser: ClassVar[bool] = True
    cases = (("1/5", 0, 1, 1), (1, 0, 1, 4), ("5/2", 0, 1, 1000), (4, 0, 1, FINEST))

    steps: int = FINEST

    def __post_init__(self) -> None:
        super().__post_init__()
        telling(self.p, 1 - self.p)

    @property
    def device(self) -> Mapping[str, int | float]:
        ends = {"low": float(self.low), "high": float(self.high)}
        return {**ends, "steps": self.steps, "keep": self._coin.keep.heads}

    @property
    def numbers(self) -> Mapping[str, int]:
        return {"bit": 2}

    def _one(self, value: int, rng: Rng) -> bytes:
        return bytes([self._coin.told(int(below(self.steps, rng) < value), rng)])

    def _fill(self, reports: Array, values: Array, rng: Rng) -> None:
        bits = uniform(self.steps, values.size, rng) < values
        reports[:] = bits == self._coin.keep.tosses(values.size, rng)

    def law(self, value: Any) -> Law:
        one = self._one_at(self._answer(value))
        return {b"\x00": 1 - one, b"\x01": one}

    def _one_at(self, position: Any) -> Fraction:
        """Probability of a 1."""
        return 1 - self.p + (2 * self.p - 1) * Fraction(position) / self.steps

    def tally(self, reports: Array) -> Tally:
        return Tally(np.array([int(np.count_nonzero(reports))]), reports.size)

    @property
    def _widest(self) -> Sequence[Fraction]:
        return [Fraction(self.steps, 2)]

    def variance(self, position: Any) -> Fraction:
        one = self._one_at(position)
        return one * (1 - one) / (2 * self.p - 1) ** 2 * self.steps**2

    def estimate(self, tally: Tally, confidence: Number = 0.95) -> Estimate:
        """The unbiased mean with a Clopper–Pearson interval for the rate of ones.

        `standard_error` is √(r(1 − r)/n)/(p − q) at the rate r seen. For a random sample of respondents that is the
        error, their sampling included; for the respondents themselves it is at least the error.
        """
        n, ones = tally.required(), int(tally.counts[0])
        found = shares_at(ones, n, self.p, 1 - self.p, confidence)
        error = sqrt(ones * (n - ones) / n) / n / float(2 * self.p - 1)
        return self._in_units(found.value, found.lower, found.upper, error, found.confidence)
