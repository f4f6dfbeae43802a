"""Protocols that tell the mean of numbers from a declared range.

An answer is rounded on the device to the nearest of `steps` + 1 points that divide [`low`, `high`] into `steps` equal
parts; from there on everything is whole numbers. Estimates are unbiased for the rounded answers, each of which is
within (high − low)/(2·steps) of the true one.
"""

from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from math import sqrt
from typing import Any

import numpy as np
from scipy.stats import t as student

from tacit.base import InputError, Number, between, exact, positive, whole
from tacit.mechanism.local import Estimate
from tacit.survey.protocol import Array, Protocol

__all__ = ["Mean", "declared", "interval", "parts"]

FEW = 30  # reports below which an interval by their spread is not trusted
FINEST = 1 << 16
LARGEST = Fraction(10) ** 100


@dataclass(frozen=True, kw_only=True)
class Mean(Protocol):
    """A number from [`low`, `high`], on a lattice of `steps` equal parts."""

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
    reach = float(student.ppf((1 + level) / 2, count - 1)) * error
    return mean, mean - reach, mean + reach, error, level
