"""Reports near the truth: a window of numbers that slides with the answer is likelier than the rest, by e^ε.

Answers are 0, …, `steps` and reports 0, …, `steps` + `width` − 1. The window of answer v is v, …, v + width − 1. A
report is in it with probability P, uniform there, and else uniform over the other `steps` numbers. Its mean is affine
in v, which makes means unbiased without any approximation; the continuous forms of the literature are its limits.
"""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import exp
from typing import Any, ClassVar

import numpy as np

from tacit.base import InputError, Number, cached_property
from tacit.mechanism.response import Estimate
from tacit.noise import Rng, uniform
from tacit.survey.coin import ONE, Coin, below, keeping
from tacit.survey.mean import MeanProtocol, OneBitMean, interval
from tacit.survey.protocol import Array, Law, Protocol, Tally, telling

__all__ = ["HybridMean", "PiecewiseMean", "Window", "best_width", "guesses"]


class Window(Protocol):
    """Guarantee: pure ε. P = width·e^ε/(width·e^ε + steps) rounded down to a multiple of 2^-64, so that a number in the
    window is at most e^ε times as likely as one outside.

    Coins: near (one toss of P); if heads a number below `width`, added to the answer; if tails a number below `steps`,
    to which `width` is added if it is not below the answer.
    """

    low: Fraction
    high: Fraction
    steps: int

    @property
    @abstractmethod
    def width(self) -> int:
        """How many numbers are likelier: a function of the declared parameters alone."""

    @property
    def outputs(self) -> int:
        return self.steps + self.width

    @cached_property
    def _near(self) -> Coin:
        return keeping(self.epsilon, Fraction(self.steps, self.width))

    @property
    def near(self) -> Fraction:
        """P."""
        return self._near.probability

    @property
    def device(self) -> Mapping[str, int | float]:
        ends = {"low": float(self.low), "high": float(self.high)}
        return {**ends, "steps": self.steps, "width": self.width, "near": self._near.heads}

    @property
    def numbers(self) -> Mapping[str, int]:
        return {"output": self.outputs}

    def _number(self, value: int, rng: Rng) -> int:
        if self._near.toss(rng):
            return value + below(self.width, rng)
        other = below(self.steps, rng)
        return other + (self.width if other >= value else 0)

    def _one(self, value: int, rng: Rng) -> bytes:
        return self._bytes(self._number(value, rng))

    def _fill(self, reports: Array, values: Array, rng: Rng) -> None:
        near = self._near.tosses(values.size, rng)
        reports[near] = values[near] + uniform(self.width, int(near.sum()), rng)
        other = uniform(self.steps, int((~near).sum()), rng)
        reports[~near] = other + self.width * (other >= values[~near])

    def law(self, value: Any) -> Law:
        truth, inside, outside = self._answer(value), self.near / self.width, (1 - self.near) / self.steps
        return {self._bytes(y): inside if truth <= y < truth + self.width else outside for y in range(self.outputs)}

    @cached_property
    def line(self) -> tuple[Fraction, Fraction]:
        """(a, b) with E[report] = a + b·v for the answer v."""
        w, s, total = self.width, self.steps, self.outputs
        apart = Fraction(total * (total - 1) - w * (w - 1), 2 * s)  # mean of the far numbers at v = 0
        return self.near * Fraction(w - 1, 2) + (1 - self.near) * apart, self.near - (1 - self.near) * Fraction(w, s)

    def variance(self, position: int) -> Fraction:
        """Variance of a report's unbiased guess (report − a)/b of the answer at `position`."""
        w, (start, slope) = self.width, self.line
        inside = _squares(position + w) - _squares(position)
        outside = _squares(self.outputs) - inside
        square = self.near * Fraction(inside, w) + (1 - self.near) * Fraction(outside, self.steps)
        return (square - (start + slope * position) ** 2) / slope**2


def _squares(count: int) -> int:
    """0² + 1² + … + (count − 1)²."""
    return (count - 1) * count * (2 * count - 1) // 6


FINE = 1 << 12
FINEST = 1 << 15  # so that the sum of 2^31 squares fits a word


@dataclass(frozen=True, kw_only=True)
class PiecewiseMean(Window, MeanProtocol):
    """The piecewise mechanism of Wang et al. (2019) on a lattice, with the guarantee and the coins of a `Window`.

    The window has the width that makes the largest variance, which is at both ends of the range, least. It is wider
    than the steps·e^(−ε/2) of the paper, and the largest variance smaller: by 11 % at ε = 2, by 33 % at ε = 4.
    """

    theory: ClassVar[str] = "local-means"
    kind: ClassVar[str] = "piecewise"

    cases = (("1/5", 0, 1, 1), (1, 0, 1, 4), ("5/2", 0, 1, 16), (4, 0, 1, 100))
    neighbours = ((0, 1), (0, 0.5))

    steps: int = FINE

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.steps > FINEST:
            raise InputError(f"steps must be at most {FINEST}: finer is of no use to a mean")
        telling(self.line[1], Fraction(0))

    @cached_property
    def width(self) -> int:
        return max(1, round(self.steps * best_width(min(float(self.epsilon), 100.0))))

    def tally(self, reports: Array) -> Tally:
        """The sum of all reports and that of their squares."""
        flat = reports.ravel().astype(np.int64)
        return Tally(np.array([flat.sum(), np.dot(flat, flat)], dtype=np.int64), flat.size)

    def estimate(self, tally: Tally, confidence: Number = 0.95) -> Estimate:
        """The unbiased mean with an interval by the reports' own spread; see `interval`."""
        count = tally.required()
        total, squares = guesses(self, int(tally.counts[0]), int(tally.counts[1]), count)
        return self._in_units(*interval(total, squares, count, confidence))


def best_width(epsilon: float) -> float:
    """The window's part t of the range at which the variance at its ends is least: e²t⁴ + 2et³ − 2et − 1 = 0, e = e^ε.

    The variance is (e²t² + 4et + 6e + 4e/t + 1/t²)/(12(e − 1)²) of the squared range; it has one positive root.
    """
    odds = exp(epsilon)
    low, high = 0.0, 1.0  # the polynomial is −1 at 0 and e² − 1 at 1
    for _ in range(60):
        t = (low + high) / 2
        low, high = (t, high) if t * odds * (t * t * (t * odds + 2) - 2) < 1 else (low, t)
    return high


def guesses(window: Window, total: int, squares: int, count: int) -> tuple[float, float]:
    """Sum and sum of squares of the reports' unbiased guesses, as shares of the range."""
    start, slope = window.line
    sums = total - count * start, squares - 2 * start * total + count * start**2
    scale = slope * window.steps
    return float(sums[0] / scale), float(sums[1] / scale**2)


@dataclass(frozen=True, kw_only=True)
class HybridMean(MeanProtocol):
    """With probability `share` a report of `PiecewiseMean`, else one of `OneBitMean` (Wang et al. 2019).

    Guarantee: pure ε: the coin does not look at the answer, and either report has ε. One is least sure in the middle of
    the range, the other at its ends, so at the right `share` the variance is the same everywhere, and its largest value
    below that of both. Below ε ≈ 0.61 the best share is 0.

    A report below `outputs` of the piecewise part is that part's; the next two numbers are the bits 0 and 1.
    Coins: which (one toss of `share`, rounded to a multiple of 2^-64); then those of the part.
    """

    theory: ClassVar[str] = "local-means"
    kind: ClassVar[str] = "hybrid"
    cases = PiecewiseMean.cases

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
        ends, middle = (float(self._piecewise.variance(at)) / self.steps**2 for at in self._widest)
        bit = 0.25 / float(2 * self._bit.p - 1) ** 2
        level = 0.25 / (0.25 + max(0.0, ends - middle))
        options = ((bit, 0.0), (ends, 1.0), (level * middle + (1 - level) * bit, level))
        return Coin(round(Fraction(min(options)[1]) * ONE))

    @property
    def share(self) -> Fraction:
        return self._which.probability

    @property
    def numbers(self) -> Mapping[str, int]:
        return {"output": self._piecewise.outputs + 2}

    def _one(self, value: int, rng: Rng) -> bytes:
        if self._which.toss(rng):
            number = self._piecewise._number(value, rng)
        else:
            number = self._piecewise.outputs + self._bit._one(value, rng)[0]
        return self._bytes(number)

    def _fill(self, reports: Array, values: Array, rng: Rng) -> None:
        piecewise = self._which.tosses(values.size, rng)
        reports[piecewise] = self._piecewise._many(values[piecewise], rng)
        bits = self._bit._many(values[~piecewise], rng).astype(np.int64)
        reports[~piecewise] = self._piecewise.outputs + bits

    def law(self, value: Any) -> Law:
        parts = (self._piecewise, self.share, 0), (self._bit, 1 - self.share, self._piecewise.outputs)
        return {
            self._bytes(start + int.from_bytes(report, "little")): share * p
            for part, share, start in parts
            if share
            for report, p in part.law(value).items()
        }

    def _possible(self, reports: Array) -> None:
        super()._possible(reports)
        least = 0 if self.share else self._piecewise.outputs
        if reports.size and int(reports.min()) < least:
            raise InputError(f"a report must be a number from {least} to {self._piecewise.outputs + 1}")

    def tally(self, reports: Array) -> Tally:
        """Number, sum and sum of squares of the piecewise reports, and the number of ones."""
        flat = reports.ravel().astype(np.int64)
        start = self._piecewise.outputs
        near = flat[flat < start]
        ones = int(np.count_nonzero(flat == start + 1))
        return Tally(np.array([near.size, near.sum(), np.dot(near, near), ones], dtype=np.int64), flat.size)

    @property
    def _widest(self) -> Sequence[int]:
        return 0, self.steps // 2

    def variance(self, position: Any) -> Fraction:
        return self.share * self._piecewise.variance(position) + (1 - self.share) * self._bit.variance(position)

    def estimate(self, tally: Tally, confidence: Number = 0.95) -> Estimate:
        """The mean of all reports' unbiased guesses, with an interval by their own spread; see `interval`."""
        count, total, squares, ones = (int(number) for number in tally.counts)
        first, second = guesses(self._piecewise, total, squares, count)
        p, zeros = float(self._bit.p), tally.reports - count - ones
        low, high = (p - 1) / (2 * p - 1), p / (2 * p - 1)  # what a bit 0 and a bit 1 are guesses of
        first, second = first + zeros * low + ones * high, second + zeros * low**2 + ones * high**2
        return self._in_units(*interval(first, second, tally.required(), confidence))
