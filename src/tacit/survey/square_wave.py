"""The square wave: a report is a number near the answer, and many of them tell the whole distribution."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from math import exp, expm1, floor, sqrt
from typing import Any, ClassVar, Self

import numpy as np

from tacit.base import InputError, Number, cached_property
from tacit.mechanism.response import Estimate
from tacit.survey.mean import RangeProtocol, interval
from tacit.survey.protocol import AnswerEstimate, Array, Tally, by_answer, consistent, normal, reach, telling
from tacit.survey.window import Window, guesses

__all__ = ["SquareWave"]

MOST = 1024  # bins: the unbiased estimate inverts a matrix of this size
ROUNDS = 10_000
ENOUGH = 1e-3  # gain of log-likelihood below which smoothing stops (Li et al. 2020)


@dataclass(frozen=True, kw_only=True)
class SquareWave(Window, RangeProtocol):
    """A number from [`low`, `high`] falls into one of `bins` equal bins; the report is one of bins + 2b numbers.

    Guarantee and coins: those of a `Window` of width 2b + 1 around the bin (Li, Wang, Lopuhaä-Zwakenberg, Škorić and Li
    2020, the discrete form). Their b makes the mutual information of answer and report largest, without knowing the
    distribution: half of (ε·e^ε − e^ε + 1)/(e^ε(e^ε − 1 − ε)) of the range.
    """

    theory: ClassVar[str] = "local-distributions"
    kind: ClassVar[str] = "square_wave"
    in_browser: ClassVar[bool] = True
    cases = (("1/5", 0, 1, 2), (1, 0, 1, 4), ("5/2", 0, 1, 16), (4, 0, 1, 64))

    bins: int = 64

    def __post_init__(self) -> None:
        self._settle(bins=2)
        if self.bins > MOST:
            raise InputError(f"bins must be at most {MOST}: no survey tells more apart")
        self._divided(self.bins)
        object.__setattr__(self, "steps", self.bins - 1)
        telling(self.line[1], Fraction(0))

    @cached_property
    def width(self) -> int:
        return 2 * floor(_half(min(float(self.epsilon), 100.0)) * self.bins) + 1

    @classmethod
    def from_device(cls, epsilon: Fraction, device: Mapping[str, Any]) -> Self:
        return super().from_device(epsilon, {**device, "bins": device.get("steps", -1) + 1})

    def _checked(self, values: Array) -> Array:
        """Bins 0, …, bins − 1; `high` is in the last one."""
        return self._places(values, self.bins, last=self.bins - 1)

    @property
    def edges(self) -> Array:
        """The ends of the bins."""
        return np.linspace(float(self.low), float(self.high), self.bins + 1)

    # --- estimates

    @property
    def _rates(self) -> tuple[float, float]:
        """Probabilities of one report inside the window, and of one outside."""
        return float(self.near) / self.width, float(1 - self.near) / self.steps

    @cached_property
    def _inverse(self) -> Array:
        """A left inverse of the matrix of report probabilities: windows that slide are independent, so there is one."""
        inside, outside = self._rates
        distance = np.arange(self.outputs)[:, None] - np.arange(self.bins)[None, :]
        return np.linalg.pinv(np.where((distance >= 0) & (distance < self.width), inside, outside))

    def estimate(self, tally: Tally, confidence: Number = 0.95) -> Estimate:
        """Unbiased shares of the bins by least squares, with normal intervals.

        Neighbouring bins are hard to tell apart, so each share alone is known badly: `smooth` is the picture, `mean`
        the mean. `standard_error` is that of a random sample; for the respondents themselves it is an upper bound.
        """
        count = tally.required()
        rates = tally.counts / count
        shares = self._inverse @ rates
        error = np.sqrt(np.maximum(0.0, self._inverse**2 @ rates - shares**2) / count)
        return normal(shares, error, confidence)

    def mean(self, tally: Tally, confidence: Number = 0.95) -> Estimate:
        """The unbiased mean of the answers, each taken as the middle of its bin."""
        count, outputs = tally.required(), np.arange(self.outputs)
        total, squares = int(tally.counts @ outputs), int(tally.counts @ outputs**2)
        share, lower, upper, error, level = interval(*guesses(self, total, squares, count), count, confidence)
        size = float(self.high - self.low) / self.bins
        low, high = (float(self.low) + size * (0.5 + self.steps * min(1.0, max(0.0, x))) for x in (lower, upper))
        middle = float(self.low) + size * (0.5 + self.steps * share)
        return Estimate(middle, low, high, error * size * self.steps, level)

    def lines(self, tally: Tally, answers: Sequence[str], confidence: Number = 0.95) -> Iterator[AnswerEstimate]:
        """The shares of the bins, whatever the question lists."""
        return super().lines(tally, [f"{low:.4g} to {high:.4g}" for low, high in pairwise(self.edges)], confidence)

    def nearest(self, tally: Tally, estimate: Estimate) -> Array:
        """Bins that are not known to half of an even share are smoothed: noise would look like peaks."""
        rough = float(np.max(estimate.standard_error)) * 2 * self.bins > 1
        return self.smooth(tally) if rough else consistent(estimate.value)

    def mean_line(self, tally: Tally, confidence: Number = 0.95) -> AnswerEstimate:
        estimate = self.mean(tally, confidence)
        held = np.clip(np.atleast_1d(estimate.value), float(self.low), float(self.high))
        return next(by_answer(("mean",), estimate, held))

    def margin(self, *, answers: int, confidence: Number = 0.95) -> float:
        """If all bins are as frequent."""
        return reach(confidence) * self._of_even_bins / sqrt(answers)

    @cached_property
    def _of_even_bins(self) -> float:
        """√n times the largest standard error of a bin's share, then."""
        many, (inside, outside) = 10**9, self._rates
        covering = np.convolve(np.ones(self.bins), np.ones(self.width))
        rates = outside + (inside - outside) * covering / self.bins
        even = Tally(np.round(many * rates).astype(np.int64), many)
        return float(np.max(self.estimate(even).standard_error)) * sqrt(many)

    def smooth(self, tally: Tally) -> Array:
        """Shares of the bins, at least 0 and 1 in all: likeliest (EM), smoothed with weights ¼, ½, ¼ after each round.

        It is biased toward smooth distributions, and has no error bars.
        """
        tally.required()
        inside, outside = self._rates
        counts, shares = tally.counts.astype(np.float64), np.full(self.bins, 1 / self.bins)
        before = -np.inf
        for _ in range(ROUNDS):
            rates = outside + (inside - outside) * _spread(shares, self.width)
            likely = float(counts @ np.log(rates))
            if likely - before < ENOUGH:
                break
            before = likely
            weight = counts / rates
            sums = np.concatenate([[0.0], np.cumsum(weight)])
            near = sums[self.width :] - sums[: -self.width]  # the sum over y with v ≤ y < v + width, for each bin v
            shares = np.convolve(
                np.pad(shares * (outside * weight.sum() + (inside - outside) * near), 1, mode="edge"),
                (0.25, 0.5, 0.25),
                mode="valid",
            )
            shares /= shares.sum()
        return shares


def _half(epsilon: float) -> float:
    """b as a part of the range; ½ in the limit of small ε."""
    if epsilon < 1e-3:
        return 0.5
    return (epsilon * exp(epsilon) - expm1(epsilon)) / (2 * exp(epsilon) * (expm1(epsilon) - epsilon))


def _spread(shares: Array, width: int) -> Array:
    """The mass of bins v with v ≤ y < v + width, for each y."""
    below = np.concatenate([np.zeros(width), np.cumsum(shares), np.full(width - 1, shares.sum())])
    return np.asarray(below[width:] - below[:-width])
