"""Counts of labelled reports: the dominating pairs of a shuffle, and their curves summed over the counts.

With p = e^ε₀, a report of person 1 carries label 0 or 1 with odds p : 1 or 1 : p, depending on the answer; every other
report carries either label with probability r, whatever that person's answer is, and otherwise none. Given the counts
(a, b) of the labels the reports can be drawn without knowing person 1's answer, so the counts are a dominating pair:
(A + Δ, C − A + 1 − Δ) with C ~ Bin(n − 1, 2r), A ~ Bin(C, ½). Feldman, McMillan and Talwar (2021) have r = e^−ε₀/2 and
(2023) r = 1/(e^ε₀ + 1); why the latter holds for every randomiser is proved in docs/theory/shuffle.md.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import exp, expm1, inf, log, sqrt
from typing import ClassVar

import numpy as np

from tacit.base import special
from tacit.loss.loss import Interval
from tacit.loss.pair import Atoms, Floats, Pair
from tacit.loss.part import Part, ResponsePart

__all__ = [
    "MARGIN",
    "Mirrored",
    "ShuffledClones",
    "ShuffledPart",
    "ShuffledReports",
    "at_least",
    "blocks",
    "grid",
    "mass",
    "spread",
]

MARGIN = 1e-9  # relative error allowed to each binomial probability; measured against 30 digits it stays below 1e-10
MOST = 10**9  # reports; more are counted as this many, which is valid because more reports hide better
ATOMS = 2000  # on either side of 0 in a pair that is composed further


@dataclass(frozen=True)
class ShuffledPart(ABC):
    """n shuffled reports of a randomiser that is ε₀-DP in its input."""

    epsilon: Fraction
    reports: Fraction

    @abstractmethod
    def excess(self, epsilon: float, reach: float, sign: int) -> float:
        """A bound on δ(ε), ε < ε₀, of the pair of counts from above (sign = 1) or below (−1).

        It is valid for every `reach`, and sharp when δ comes from counts within so many deviations of their means.
        """

    @abstractmethod
    def dominating(self) -> "Mirrored":
        """A pair with few atoms whose curve lies above that of the counts, but not by much."""

    @property
    @abstractmethod
    def deviation(self) -> float:
        """About one standard deviation of the privacy loss."""

    def pair(self) -> Pair:
        return _dominating(self)

    @property
    def attained(self) -> bool:
        return False

    @property
    def bound(self) -> Fraction:
        """Shuffling never hurts: the local ε₀ remains."""
        return self.epsilon

    @property
    def size(self) -> int:
        return min(MOST, int(self.reports))

    def delta(self, epsilon: float) -> Interval:
        """Both bounds on δ(ε) of the pair of counts, which is the same in both directions."""
        if epsilon >= self.epsilon:
            return Interval(0.0, 0.0)
        rough = self.excess(epsilon, 40.0, 1)
        reach = _reach(rough)
        upper = min(1.0, rough, self.excess(epsilon, reach, 1))
        return Interval(min(upper, self.excess(epsilon, reach, -1)) if self.reports <= MOST else 0.0, upper)

    def at(self, delta: float) -> Interval:
        """Both bounds on the least ε with δ(ε) ≤ δ."""
        top, reach = float(self.epsilon), _reach(delta)
        guess = self.deviation * sqrt(-2 * log(delta)) * 0.8
        upper = _crossing(lambda e: self.excess(e, reach, 1), delta, guess, top, 1)
        if self.reports > MOST:
            return Interval(0.0, upper)
        lower = _crossing(lambda e: self.excess(e, reach, -1), delta, upper, top, -1)
        return Interval(min(lower, upper), upper)

    def renyi(self, order: float) -> float:
        """From the pair: a dominating pair also has the larger Rényi divergence."""
        local = ResponsePart(self.epsilon).renyi(order)
        if order == inf:
            return local
        pair = _dominating(self)
        exponents = (order - 1) * pair.losses
        top = float(exponents.max())
        moment = top + log(float(np.dot(pair.p, np.exp(exponents - top))))
        return min(local, max(0.0, moment / (order - 1)) * (1 + 1e-12))


@lru_cache(maxsize=64)
def _dominating(part: ShuffledPart) -> "Mirrored":
    return part.dominating()


class Mirrored(Atoms):
    """A finite pair whose two directions have the same curve."""

    @property
    def symmetric(self) -> bool:
        return True

    def reach(self, tail: float) -> tuple[float, float]:
        """Q[L < −x] = P[L > x] ≥ P[L < −x], so one tail settles all four."""
        outer = np.cumsum(self.p[::-1])
        last = int(np.searchsorted(outer, tail / 2, side="right"))
        high = float(self.losses[::-1][min(last, len(outer) - 1)])
        return -abs(high), abs(high)


class TwoLabels(ShuffledPart):
    """Reports whose labels are 0 and 1 only."""

    @property
    @abstractmethod
    def share(self) -> tuple[float, float]:
        """Probabilities that another report carries a label, and that it carries none."""

    @property
    def deviation(self) -> float:
        local = float(self.epsilon)
        return min(local, 2 * expm1(local) / (exp(local) + 1) / sqrt((self.size - 1) * self.share[0] + 1))

    def excess(self, epsilon: float, reach: float, sign: int) -> float:
        edges, masses = blocks(self.size - 1, *self.share, reach, 2001)
        # given N = C + 1 labels the pair is harder to tell apart the larger N is: a block is bounded by its two ends
        counts = edges[:-1] + 1 if sign > 0 else edges[1:]
        return float(np.dot(masses, self._given(counts, epsilon, sign))) * (1 + sign * MARGIN)

    def _given(self, count: Floats, epsilon: float, sign: int) -> Floats:
        """P[a ≥ k] − e^ε·Q[a ≥ k] for N labels, where k is the least a whose loss exceeds ε.

        With M ~ Bin(N − 1, ½) it is (v − e^ε·w)·P[M = k − 1] − (e^ε − 1)·P[M ≥ k], v and w the odds of the labels.
        """
        local, gamma = float(self.epsilon), exp(epsilon)
        keep, flip = 1 / (1 + exp(-local)), 1 / (1 + exp(local))
        k = np.floor(count * (expm1(local + epsilon) / (expm1(local) * (1 + gamma)))) + 1
        gain = max(0.0, keep - gamma * flip) * mass(k - 1, count - 1, 0.5)
        cost = expm1(epsilon) * at_least(k, count - 1, 0.5)
        return np.maximum(0.0, gain - cost + sign * MARGIN * (gain + cost))

    def dominating(self) -> Mirrored:
        """The pair of counts with its losses spread over a few thousand, which only raises its curve."""
        from scipy.stats import binom  # takes long to import

        local, mean = float(self.epsilon), (self.size - 1) * self.share[0]
        wide = 28 * sqrt(mean * self.share[1]) / (5e-5 * (mean + 1))  # counts as close as this are as good as equal
        edges, masses = blocks(self.size - 1, *self.share, 14.0, int(min(401, max(15, wide))))
        points = grid(local, self.deviation)
        total = np.zeros(len(points))
        keep, flip = 1 / (1 + exp(-local)), 1 / (1 + exp(local))
        for count, weight in zip(edges[:-1] + 1, masses, strict=True):
            reach = 7 * sqrt(count) + 10  # fourteen deviations
            a = np.arange(max(0.0, np.floor(count / 2 - reach)), min(count, np.ceil(count / 2 + reach)) + 1)
            b = count - a
            losses = np.log1p(expm1(local) * (a - b) / (a + exp(local) * b))
            p = weight * binom.pmf(a, count, 0.5) * (2 / count) * (keep * a + flip * b)
            total += spread(losses, p, points)
        total *= 1 + MARGIN
        total[[0, -1]] += 1e-42 * np.array([exp(-local), 1.0])  # what lies more than fourteen deviations out
        return Mirrored(points, total)


@dataclass(frozen=True)
class ShuffledClones(TwoLabels, Part):
    """Any ε₀-DP randomiser, by Feldman, McMillan and Talwar (2021): another report is a clone with chance e^−ε₀."""

    kind: ClassVar[str] = "shuffled_clones"

    @property
    def share(self) -> tuple[float, float]:
        return exp(-float(self.epsilon)), -expm1(-float(self.epsilon))


@dataclass(frozen=True)
class ShuffledReports(TwoLabels, Part):
    """Any ε₀-DP randomiser, by the stronger decomposition: another report has a label with probability 2/(e^ε₀ + 1)."""

    kind: ClassVar[str] = "shuffled_reports"

    @property
    def share(self) -> tuple[float, float]:
        p = exp(float(self.epsilon))
        return 2 / (p + 1), expm1(float(self.epsilon)) / (p + 1)


def spread(losses: Floats, p: Floats, points: Floats) -> Floats:
    """P-masses moved to the points left and right of them so that every cell keeps its P- and its Q-mass."""
    cell = np.clip(np.searchsorted(points, losses, side="right") - 1, 0, len(points) - 2)
    low, high = points[cell], points[cell + 1]
    right = np.clip(p * np.expm1(low - losses) / np.expm1(low - high), 0.0, p)
    size = len(points)
    left = np.bincount(cell, weights=p - right, minlength=size)
    return np.asarray(left + np.bincount(cell + 1, weights=right, minlength=size), dtype=np.float64)


def grid(local: float, scale: float, half: int = ATOMS) -> Floats:
    """From −ε₀ to ε₀ through 0, finest around it."""
    above = scale * np.sinh(np.linspace(0.0, float(np.arcsinh(local / scale)), half + 1))
    above[-1] = local
    return np.concatenate([-above[:0:-1], above])


def _reach(delta: float) -> float:
    return sqrt(-2 * log(max(1e-290, delta * 1e-8))) + 1


def blocks(trials: int, share: float, rest: float, reach: float, points: int) -> tuple[Floats, Floats]:
    """Blocks [e₀, e₁), [e₁, e₂), … of 0, …, trials, finest around the mean, and their binomial masses."""
    mean, deviation = trials * share, sqrt(trials * share * rest) + 1
    at = (
        np.arange(trials + 1.0)
        if trials < points
        else mean + deviation * np.sinh(np.linspace(-1, 1, points) * float(np.arcsinh(reach)))
    )
    edges = np.unique(np.concatenate([[0.0], np.clip(np.floor(at), 0, trials + 1), [trials + 1.0]]))
    below = np.concatenate([[0.0], special.betaincc(edges[1:-1], trials + 1 - edges[1:-1], share), [1.0]])
    above = np.concatenate([[1.0], special.betainc(edges[1:-1], trials + 1 - edges[1:-1], share), [0.0]])
    return edges, np.maximum(0.0, np.where(edges[1:] <= mean, np.diff(below), -np.diff(above)))


def at_least(k: Floats, trials: Floats, share: float) -> Floats:
    """P[Bin(trials, share) ≥ k] for k ≥ 1."""
    possible = k <= trials
    top = np.where(possible, k, 1.0)
    return np.where(possible, special.betainc(top, np.where(possible, trials - top + 1, 1.0), share), 0.0)


def mass(k: Floats, trials: Floats, share: float) -> Floats:
    from scipy.stats import binom  # takes long to import

    possible = (k <= trials) & (trials >= 0)
    return np.where(possible, binom.pmf(np.where(possible, k, 0), np.where(possible, trials, 0), share), 0.0)


def _crossing(curve: Callable[[float], float], delta: float, guess: float, top: float, side: int) -> float:
    """Where a falling curve crosses δ in [0, top]: with side = 1 a point at or above, with −1 one at or below."""
    from scipy.optimize import brentq  # takes long to import

    if curve(0.0) <= delta:
        return 0.0
    low, high = 0.0, min(top, guess)
    while high < top and curve(high) > delta:
        low, high = high, min(top, 1.3 * high)
    if low == 0.0 and curve(high / 2) > delta:
        low = high / 2

    def gap(epsilon: float) -> float:
        return log(max(1e-320, curve(epsilon) if epsilon < top else 0.0)) - log(delta)

    found = float(brentq(gap, low, high, xtol=1e-300, rtol=1e-10))
    step = 1e-10 * found
    while 0 < found < top and (curve(found) <= delta) != (side == 1):
        found, step = min(top, max(0.0, found + side * step)), 2 * step
    return found
