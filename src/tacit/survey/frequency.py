"""Protocols that tell how often each of k answers was given.

Each is pure in the sense of Wang, Blocki, Li and Jha (2017): a report speaks for some answers, for the true one with
probability p and for each other with probability q, so (c/n − q)/(p − q) is unbiased for its share when c of n reports
speak for it, with variance [f·p(1−p) + (1−f)·q(1−q)]/(n(p−q)²) at share f.
"""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import inf, sqrt
from typing import ClassVar

import numpy as np

from tacit.base import InputError, Number, cached_property, whole
from tacit.mechanism.response import Estimate
from tacit.survey.protocol import Array, Protocol, Tally, reach, shares_at, telling, whole_answers

__all__ = ["LISTED", "Frequency", "total_error"]

LISTED = 1 << 24  # answers that can be counted one by one


@dataclass(frozen=True, kw_only=True)
class Frequency(Protocol):
    """One of the answers 0, …, `categories` − 1. `p` and `q` are the exact rates of this protocol's integer coins."""

    theory: ClassVar[str] = "local-frequency"
    most: ClassVar[int] = LISTED  # categories

    categories: int

    def __post_init__(self) -> None:
        self._settle(categories=2)
        if self.categories > self.most:
            raise InputError(f"categories must be at most {self.most}: ask for text to find the common ones among more")
        telling(self.p, self.q)

    @property
    @abstractmethod
    def q(self) -> Fraction:
        """Probability that a report speaks for one given other answer."""

    @property
    def choices(self) -> int:
        return self.categories

    @property
    def probes(self) -> tuple[int, int, int]:
        return 0, self.categories - 1, (self.categories - 1) // 2

    @property
    def neighbours(self) -> Sequence[tuple[int, int]]:
        return [(0, other) for other in sorted({1, self.categories - 1})]

    @cached_property
    def total_error(self) -> float:
        """T = [p(1−p) + (k−1)q(1−q)]/(p−q)²: n times the summed variance of all shares, for one true answer."""
        return total_error(self.p, self.q, self.categories)

    def deviation(self, *, reports: int, share: float = 0.0) -> float:
        """Standard deviation of an estimated share, by the randomising alone."""
        p, q = self.p, self.q
        spread = share * float(p * (1 - p)) + (1 - share) * float(q * (1 - q))
        return sqrt(spread / whole(reports, "reports", least=1)) / float(p - q)

    def margin(self, *, answers: int, confidence: Number = 0.95) -> float:
        low, high = float(self.q), float(self.p)
        rate = min(max(0.5, low), high)  # of reports that speak for an answer, where it varies most
        return reach(confidence) * sqrt(rate * (1 - rate) / answers) / float(self.p - self.q)

    def covariance(self, shares: Array, reports: int) -> Array:
        """About the covariance of estimated shares, the sample of respondents included."""
        contrast = float(self.p - self.q)
        rate = float(self.q) + contrast * np.clip(shares, 0, 1)
        return np.asarray(self._joint(rate) / reports / contrast**2)

    def _joint(self, rate: Array) -> Array:
        """The covariance of what one report says to each answer, spoken for at these rates: nearly independent."""
        return np.diag(rate * (1 - rate))

    def support(self, tally: Tally) -> Array:
        """How many reports speak for each answer."""
        return tally.counts

    def estimate(self, tally: Tally, confidence: Number = 0.95) -> Estimate:
        """Unbiased shares of all answers with Clopper–Pearson intervals; see `Estimate`."""
        return shares_at(self.support(tally), tally.required(), self.p, self.q, confidence)

    def _checked(self, values: Array) -> Array:
        return whole_answers(values, self.categories)


def total_error(p: Fraction, q: Fraction, categories: int) -> float:
    """[p(1 − p) + (k − 1)q(1 − q)]/(p − q)², rounded once; infinite if reports say nothing."""
    return float((p * (1 - p) + (categories - 1) * q * (1 - q)) / (p - q) ** 2) if p > q else inf
