"""Protocols that tell the mean of numbers from a declared range.

An answer is rounded on the device to the nearest of `steps` + 1 points that divide [`low`, `high`] into `steps` equal
parts; from there on everything is whole numbers. Estimates are unbiased for the rounded answers, each of which is
within (high − low)/(2·steps) of the true one.
"""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import sqrt
from typing import Any, ClassVar

import numpy as np

from tacit.base import InputError, Number, between, exact, positive, whole
from tacit.mechanism.mechanism import Example
from tacit.mechanism.response import Estimate, shares
from tacit.noise import Rng, uniform
from tacit.survey.coin import NOTHING, Coin, below, keeping
from tacit.survey.estimate import reach
from tacit.survey.protocol import Array, Law, Protocol, Tally

__all__ = ["MeanProtocol", "OneBitMean", "declared", "interval", "parts", "quarters"]

FEW = 30  # reports below which an interval by their spread is not trusted
FINEST = 1 << 16
LARGEST = Fraction(10) ** 100


@dataclass(frozen=True, kw_only=True)
class MeanProtocol(Protocol):
    """A number from [`low`, `high`], on a lattice of `steps` equal parts."""

    unit: ClassVar[str] = "number"
    margin_unit: ClassVar[str] = "number"

    epsilon: Fraction
    low: Fraction = Fraction(0)
    high: Fraction = Fraction(1)
    steps: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", positive(self.epsilon, "epsilon", toward="decimal"))
        object.__setattr__(self, "steps", whole(self.steps, "steps", least=1))
        if self.steps > FINEST:
            raise InputError(f"steps must be at most {FINEST}, which is finer than any mean will be known")
        low, high = declared(self.low, self.high, self.steps)
        object.__setattr__(self, "low", low)
        object.__setattr__(self, "high", high)

    def _checked(self, values: Array) -> Array:
        """Positions 0, …, steps: floor((x − low)·(steps/(high − low)) + ½) in doubles, as a browser computes it."""
        if not values.size:
            return np.zeros(values.shape, dtype=np.int64)
        scaled = parts(values, float(self.low), float(self.high), self.steps)
        return np.minimum(np.floor(scaled + 0.5), self.steps).astype(np.int64)

    @abstractmethod
    def deviation(self, *, reports: int, value: Number | None = None) -> float:
        """Standard deviation of the estimated mean if all answer `value`; without it, the most it can be."""

    @property
    def probes(self) -> tuple[float, float, float]:
        return quarters(self.low, self.high)

    @property
    def scale(self) -> float:
        return float(self.high - self.low)

    def margin(self, *, answers: int, confidence: Number = 0.95) -> float:
        return reach(confidence) * self.deviation(reports=answers)

    def nearest(self, tally: Tally, estimate: Estimate) -> Array:
        """Numbers in the range."""
        return np.asarray(np.clip(np.atleast_1d(estimate.value), float(self.low), float(self.high)))

    def number(self, share: Any) -> Any:
        """What a share of the range, from 0 at `low` to 1 at `high`, is in the answers' own units."""
        return float(self.low) + float(self.high - self.low) * share

    def _in_units(self, share: float, lower: float, upper: float, error: float, confidence: float) -> Estimate:
        low, high = (float(self.number(min(1.0, max(0.0, end)))) for end in (lower, upper))
        return Estimate(float(self.number(share)), low, high, error * float(self.high - self.low), confidence)


def declared(low: Number, high: Number, cells: int) -> tuple[Fraction, Fraction]:
    """The ends of a range that doubles can divide into so many parts."""
    ends = exact(low, "low", toward="decimal"), exact(high, "high", toward="decimal")
    if max(map(abs, ends)) > LARGEST or ends[1] - ends[0] < 1 / LARGEST:
        raise InputError("low must be below high, by at least 1e-100, and both within 1e100 of zero")
    if float(ends[0]) + float(ends[1] - ends[0]) / cells <= float(ends[0]):
        raise InputError("the range is too narrow for its distance from zero: subtract a constant from the answers")
    return ends


def quarters(low: Fraction, high: Fraction) -> tuple[float, float, float]:
    """Both ends of a range, and a quarter of the way between them."""
    first, last = float(low), float(high)
    return first, last, first + (last - first) / 4


def parts(values: Array, low: float, high: float, cells: int) -> Array:
    """How many of the range's equal parts each number is above `low`, in doubles: (x − low)·(cells/(high − low))."""
    if values.dtype.kind not in "iuf" or not np.all((values >= low) & (values <= high)):  # NaN is in no range
        raise InputError(f"answers must be numbers from {low:g} to {high:g}")
    return np.asarray((values.astype(np.float64) - low) * (cells / (high - low)))


def interval(total: float, squares: float, count: int, confidence: Number) -> tuple[float, float, float, float, float]:
    """Mean, lower and upper end, standard error and confidence from the sum of n values and the sum of their squares.

    Student's interval. The spread of the values holds both the randomising and the spread of the answers, so for the
    population that respondents are a random sample of it covers as stated, up to the normal approximation, and for
    the respondents themselves more often. With fewer than 30 reports it is everything.
    """
    level = float(between(confidence, "confidence", 0, 1))
    if count < 1:
        raise InputError("there are no reports yet, so there is nothing to estimate")
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

    def _fill(self, reports: Array, values: Array, rng: Rng) -> None:
        bits = uniform(self.steps, values.size, rng) < values
        reports[:] = bits == self._keep.tosses(values.size, rng)

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
