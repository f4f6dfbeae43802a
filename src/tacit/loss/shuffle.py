"""Shuffled reports: n people randomise locally, and only the multiset of their reports is seen.

The relation is replace: one person's answer differs, the number of reports is public.
For k-ary randomised response the k − 2 answers that nobody is suspected of hide a report too.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import exp, expm1, log, log1p, sqrt
from typing import ClassVar, Literal

import numpy as np

from tacit.base import InputError, LossError, Relation, RelationError, special
from tacit.base.number import Number, between, non_negative, positive, show, whole
from tacit.loss.labels import (
    MARGIN,
    Mirrored,
    ShuffledClones,
    ShuffledPart,
    ShuffledReports,
    at_least,
    blocks,
    grid,
    mass,
)
from tacit.loss.loss import ACCURACY, Interval
from tacit.loss.pair import Floats
from tacit.loss.part import Part
from tacit.loss.pld import PLD, Pure, probability

__all__ = ["ShuffledClones", "ShuffledLoss", "ShuffledReports", "ShuffledResponse", "shuffled", "shuffled_closed_form"]


@dataclass(frozen=True)
class ShuffledResponse(ShuffledPart, Part):
    """k-ary randomised response: another report is uniform over the k `categories` with probability k/(e^ε₀ + k − 1).

    Given m such reports (person 1's among them), a and b of which name the two answers in question, P and Q have
    weights (p − 1)·a + m and (p − 1)·b + m, p = e^ε₀ (Balle, Bell, Gascón and Nissim 2019).
    """

    kind: ClassVar[str] = "shuffled_response"

    categories: Fraction

    @property
    def share(self) -> tuple[float, float]:
        """Probabilities that another report is uniform, and that it is true."""
        total = exp(float(self.epsilon)) + float(self.categories) - 1
        return float(self.categories) / total, expm1(float(self.epsilon)) / total

    @property
    def deviation(self) -> float:
        uniform = (self.size - 1) * self.share[0] + 1
        return min(float(self.epsilon), expm1(float(self.epsilon)) * sqrt(2 / (float(self.categories) * uniform)))

    def excess(self, epsilon: float, reach: float, sign: int) -> float:
        """From above the curve of that pair, which also tells which reports are uniform; from below that of the counts
        alone when all others give one answer, a third one where there is one."""
        if sign < 0:
            return self._attained(epsilon, reach)
        if self.categories == 2:
            return ShuffledReports(self.epsilon, self.reports).excess(epsilon, reach, sign)
        return self._sum(epsilon, reach, 101, 1000)

    def _sum(self, epsilon: float, reach: float, most: int, knots: int) -> float:
        table = _table(self.size, self.share, int(self.categories), round(reach, 3), most, knots)
        slope, least = expm1(float(self.epsilon)), expm1(epsilon)
        total = 0.0
        for m, b, w in table:
            values = _gain(slope, m - b, 1 / (float(self.categories) - 1), slope * exp(epsilon) * b + least * m, 1)
            total += float(np.dot(w, values)) * (self.share[0] / m)
        return total * (1 + MARGIN)

    def _attained(self, epsilon: float, reach: float) -> float:
        """(1/n)·E[((p − 1)(a − e^ε·b) − (e^ε − 1)·(m + (n − m)/p))+]: of n reports m do not name the answer of all
        others, a and b of those name the two in question (docs/theory/shuffle.md)."""
        p, n, k = exp(float(self.epsilon)), float(self.size), float(self.categories)
        if k == 2:
            return self._one_sided(epsilon)
        each, least = 1 / (p + k - 1), expm1(epsilon)
        table = _blocks_below(self.size, (k - 1) * each, int(k) - 1, round(reach, 3))
        total = 0.0
        for first, last, b, w in table:
            late = (last - first) * least * ((p - 1) / (k - 1) + 1 - 1 / p)  # what more reports take off on average
            cost = (p - 1) * exp(epsilon) * b + least * (first * (1 - 1 / p) + n / p) + late
            total += float(np.dot(w, _gain(p - 1, first - b, 1 / (k - 2), cost, -1)))
        return total / n * (1 - MARGIN)

    def _one_sided(self, epsilon: float) -> float:
        """Two answers, all others giving the second: with X = (p·a + (n − a)/p)/n and a ~ Bin(n, 1/(p + 1)) reports of
        the first, E[(X − e^ε)+], or the other way round e^ε·E[(e^−ε − X)+]."""
        p, n = exp(float(self.epsilon)), np.array([float(self.size)])
        share, slope, cost = 1 / (p + 1), p - 1 / p, n * (exp(epsilon) - 1 / p)
        ahead = _gain(slope, n, share, cost, -1)
        # e^−ε − X in reports of the second, of which there are n − a
        back = _gain(slope, n, 1 - share, n * (p - exp(-epsilon)), -1) * exp(epsilon)
        return float(max(ahead[0], back[0]) / n[0]) * (1 - MARGIN)

    def dominating(self) -> Mirrored:
        """The pair whose curve joins, by straight lines in e^ε, upper bounds of δ at a few hundred points."""
        if self.categories == 2:
            return ShuffledReports(self.epsilon, self.reports).dominating()
        local = float(self.epsilon)
        points = grid(local, self.deviation, 200)[200:]
        curve = np.array([self._sum(float(e), 16.0, 41, 300) for e in points[:-1]] + [0.0])
        points, curve = _hull(points, np.minimum(curve, _response(local, points)))
        slopes = np.diff(curve) / (np.exp(points[:-1]) * np.expm1(np.diff(points)))
        q = np.maximum(0.0, np.diff(np.append(slopes, 0.0)))  # of the points above 0
        p = q * np.exp(points[1:])
        middle = max(0.0, 1 - float(p.sum() + q.sum()))
        return Mirrored(np.concatenate([-points[:0:-1], points]), np.concatenate([q[::-1], [middle], p]))


def _response(local: float, epsilon: Floats) -> Floats:
    """δ(ε) of randomised response, which no shuffle exceeds, rounded up."""
    return np.asarray(-np.expm1(epsilon - local) / (1 + exp(-local)) * (1 + 1e-12))


def _hull(epsilon: Floats, curve: Floats) -> tuple[Floats, Floats]:
    """The points on the lower convex hull in e^ε: the true curve is convex, so it lies below that hull too."""
    kept: list[int] = []
    for i in range(len(curve)):
        while len(kept) > 1:
            a, b = kept[-2], kept[-1]
            x = expm1(epsilon[b] - epsilon[a]) / expm1(epsilon[i] - epsilon[a])
            if curve[b] < (1 - x) * curve[a] + x * curve[i]:
                break
            kept.pop()
        kept.append(i)
    return epsilon[kept], curve[kept]


Table = list[tuple[float, Floats, Floats]]


def _gain(slope: float, trials: Floats, share: float, cost: Floats, sign: int) -> Floats:
    """E[(slope·a − cost)+], a ~ Bin(trials, share), rounded up (sign = 1) or down (−1)."""
    j = np.floor(cost / slope) + 1
    body = (slope * share * trials - cost) * at_least(j, trials, share)
    edge = slope * share * (1 - share) * trials * mass(j - 1, trials - 1, share)
    return np.asarray(np.maximum(0.0, body + edge + sign * MARGIN * (np.abs(body) + edge)))


@lru_cache(maxsize=16)
def _table(size: int, share: tuple[float, float], categories: int, reach: float, most: int, knots: int) -> Table:
    """For each block of m its first, points b, and weights for the values there.

    The value falls in m (it is the mean of the positive part of an average of m terms), and falls and is convex in b.
    """
    deviation, mean = sqrt((size - 1) * share[0] * share[1]), (size - 1) * share[0] + 1
    points = int(min(most, max(9, 2 * reach * deviation / (1e-4 * mean))))
    edges, masses = blocks(size - 1, *share, reach, points)
    table: Table = []
    for first, part in zip(edges[:-1] + 1, masses, strict=True):
        b, weights = _chords(float(first), 1 / categories, reach, knots)
        live = weights > 0
        table.append((float(first), b[live], part * weights[live]))
    return table


@lru_cache(maxsize=16)
def _blocks_below(size: int, share: float, categories: int, reach: float) -> list[tuple[float, float, Floats, Floats]]:
    """For each block of m its ends, points b and weights, so that values there bound the mean from below.

    Reports beyond the first m of a block are replaced by what they add on average, which only lowers the mean of a
    convex function; and so does a b at the mean of many.
    """
    edges, masses = blocks(size, share, 1 - share, reach, 401)
    table = []
    for first, end, part in zip(edges[:-1], edges[1:], masses, strict=True):
        b, weights = _means(float(first), 1 / categories, reach, 400)
        table.append((float(first), float(end) - 1, b, part * weights * (1 - MARGIN)))
    return table


def _window(m: float, share: float, reach: float, knots: int) -> tuple[Floats, Floats, Floats]:
    """All b within reach, their probabilities, and some of them as knots."""
    centre, wide = m * share, reach * sqrt(m * share * (1 - share)) + 3
    if m < knots:
        wide = m
    b = np.arange(max(0.0, np.floor(centre - wide)), min(m, np.ceil(centre + wide)) + 1)
    some = b[np.unique(np.linspace(0, len(b) - 1, min(len(b), knots)).astype(np.int64))]
    from scipy.stats import binom  # takes long to import

    return b, binom.pmf(b, m, share), some


def _chords(m: float, share: float, reach: float, knots: int) -> tuple[Floats, Floats]:
    """Each b's probability shared between the knots around it: a chord lies above a convex function."""
    b, p, some = _window(m, share, reach, knots)
    weights = np.zeros(len(some))
    if len(some) > 1:
        cell = np.clip(np.searchsorted(some, b, side="right") - 1, 0, len(some) - 2)
        part = (b - some[cell]) / (some[cell + 1] - some[cell])
        np.add.at(weights, cell, p * (1 - part))
        np.add.at(weights, cell + 1, p * part)
    else:
        weights += p.sum()
    under = special.betaincc(b[0], m - b[0] + 1, share) if b[0] > 0 else 0.0
    over = special.betainc(b[-1] + 1, m - b[-1], share) if b[-1] < m else 0.0
    weights[-1] += over
    return np.append(0.0, some), np.append(under, weights)


def _means(m: float, share: float, reach: float, knots: int) -> tuple[Floats, Floats]:
    """The mass between two knots placed at its mean, rounded up: below a convex falling function."""
    b, p, some = _window(m, share, reach, knots)
    cell = np.searchsorted(some, b, side="right") - 1
    held = np.asarray(np.bincount(cell, weights=p, minlength=len(some)), dtype=np.float64)
    offset = np.bincount(cell, weights=p * (b - some[cell]), minlength=len(some))
    live = held > 0
    return some[live] + np.ceil(offset[live] / held[live] - 1e-9), held[live]


Shuffle = ShuffledReports | ShuffledClones | ShuffledResponse

WIDEST = 50  # ε₀ beyond which e^ε₀ reports would be needed for any amplification


@dataclass(frozen=True, init=False)
class ShuffledLoss(Pure):
    """One shuffle: (ε, δ) by summing over the counts themselves. Added to anything, it is a part like any other."""

    def __init__(self, part: Shuffle, *, unit: str = "row") -> None:
        PLD.__init__(self, ((part, 1),), relation=Relation.REPLACE, unit=unit)

    @property
    def part(self) -> Shuffle:
        part = self.parts[0][0]
        assert isinstance(part, Shuffle)
        return part

    def epsilon(self, delta: Number, *, accuracy: float = ACCURACY) -> Interval:
        target = float(probability(delta))
        return _epsilon(self.part, target) if target else Interval.around(float(self.bound))

    def delta(self, epsilon: Number, *, accuracy: float = ACCURACY) -> Interval:
        return _delta(self.part, float(non_negative(epsilon, "epsilon", toward="down")))

    def __repr__(self) -> str:
        return f"ShuffledLoss({self.part!r}, unit={self.unit!r})"


@lru_cache(maxsize=1024)
def _epsilon(part: Shuffle, delta: float) -> Interval:
    return part.at(delta)


@lru_cache(maxsize=1024)
def _delta(part: Shuffle, epsilon: float) -> Interval:
    return part.delta(epsilon)


def shuffled(
    local: PLD | Number,
    *,
    reports: int,
    categories: int | None = None,
    analysis: Literal["2023", "2021"] = "2023",
    unit: str = "row",
) -> ShuffledLoss:
    """The loss of one person's report among `reports` shuffled ones, all by one ε₀-DP randomiser.

    `local` is ε₀ or a pure loss stated for replace. `categories=k` states that the randomiser is k-ary randomised
    response, which is hidden better. The number of reports is public.
    """
    count = whole(reports, "reports", least=1)
    if isinstance(local, PLD):
        if local.relation is not Relation.REPLACE:
            raise RelationError("a report is about what one person answers, so its loss must be stated for 'replace'")
        if local.slack:
            raise LossError("only reports with a pure epsilon can be shuffled here: this one has a delta")
        epsilon, unit = local.bound, local.unit
    else:
        epsilon = positive(local, "local", toward="decimal")
    if not 0 < epsilon <= WIDEST:
        raise InputError(
            f"local epsilon must lie in (0, {WIDEST}], not {show(epsilon)}: shuffling hides nothing beyond"
        )
    if analysis not in ("2021", "2023"):
        raise InputError(f"analysis must be '2023' or '2021', not {analysis!r}")
    if categories is not None:
        k = Fraction(whole(categories, "categories", least=2))
        return ShuffledLoss(ShuffledResponse(epsilon, Fraction(count), k), unit=unit)
    kind = ShuffledReports if analysis == "2023" else ShuffledClones
    return ShuffledLoss(kind(epsilon, Fraction(count)), unit=unit)


def shuffled_closed_form(local: Number, *, reports: int, delta: Number) -> float:
    """ε at δ by the closed form of Feldman, McMillan and Talwar (2021), Theorem 3.1; refused outside its domain."""
    epsilon, n = float(positive(local, "local")), whole(reports, "reports", least=1)
    target = float(between(delta, "delta", 0, 1, toward="down"))
    limit = log(n / (16 * log(2 / target)))
    if epsilon > limit * (1 - 1e-12):
        raise LossError(
            f"the closed form needs local epsilon <= log(n/(16 log(2/delta))) = {limit:.6g}: use shuffled(...), which "
            "holds everywhere and is tighter"
        )
    inside = 8 * sqrt(exp(epsilon) * log(4 / target) / n) + 8 * exp(epsilon) / n
    return log1p(expm1(epsilon) / (exp(epsilon) + 1) * inside) * (1 + 1e-14)
