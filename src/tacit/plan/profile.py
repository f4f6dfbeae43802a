"""The profile of a table: how many units count how much, released once, with noise. Clips follow from it for nothing.

A histogram of the units' sizes (their rows, or the sum of a column's absolute values) tells what a clip would take:
a unit of size x loses at most x − C under the bound C, whatever is grouped or filtered, since the norm of its vector
is at most its size. Of the whole table's count, and of a sum of what is not negative, it loses just that.

No histogram shows a handful of units far out: what it says holds if numbers beyond its last `resolved` edge go on
falling as they do there (plan/tail.py). See docs/theory/profile.md.
"""

from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from math import hypot, sqrt
from typing import Any, Literal

import numpy as np

from tacit.base import InputError, cached_property
from tacit.plan.tail import TailWays, tail_ways

__all__ = ["BINS", "CONFIDENCE", "ROWS", "STRICT", "ClippingLoss", "Kind", "Shape", "SizeHistogram", "TableProfile"]

ROWS = "*"  # what the histogram of rows is called; the others are called as their columns
NEAR = 4.0  # noise sizes: two bins below it, one after the other, end what is resolved
FAR = 12.0  # noise sizes that a bin beyond such a gap must have to be there all the same
POOLED = 16.0  # noise sizes that an octave of bins must have together
BINS = 4  # between a size and twice it
WORTH = 30  # a part of all units that must be seen wherever it lies, to choose bounds by
SEEN = 40  # a part of all units that must be seen wherever it lies, before an interval speaks of the truth
CONFIDENCE = 0.95
RISK = (0.03, 1.5)  # of ways to go on that are left out as too heavy, and the standard deviations within one
STRICT = (0.01, 2.5)  # the same where nothing is said about widths
FURTHER = Fraction(3, 2)  # times the best bound that is paid for an interval of the truth
USUAL = (0.05, 1.0)  # the same when a bound is chosen
GAUSSIAN, LAPLACE = 1.96, 2.12  # standard deviations in the half of a 95 % interval
DOUBT = 3  # times the square of an equal share of a loss counts: the busy may be in few of the groups

Kind = Literal["gaussian", "laplace"]
Shape = Literal["exact", "part", "either"]
"""What is known of a loss: all of it, at most all of it, or at most all of it in either direction."""


@dataclass(frozen=True, kw_only=True)
class ClippingLoss:
    """What a clip takes from a total lies between `low` and `high`, each of them uncertain by independent noises of the
    sizes beside it, if numbers beyond `given` go on falling as they do there; `beyond` is the part of `high` that is
    of units there, and the `likely` loss lies between. All of it is in the units of the answer."""

    low: float
    high: float
    low_noise: tuple[float, ...]
    high_noise: tuple[float, ...]
    kind: Kind
    given: float
    likely: float
    beyond: float = 0.0

    def carried(self, far: float, confidence: float = CONFIDENCE) -> bool:
        """Whether an interval may speak of the truth whose noise reaches so far: what may lie beyond what is resolved
        widens it by a half at most. It was measured at 95 %; for more it has to be next to nothing."""
        return self.beyond <= (far if confidence <= CONFIDENCE else far / 10)

    def scaled(self, by: float) -> "ClippingLoss":
        """The same of something that is at most `by` times as large."""
        noises = (tuple(size * by for size in sizes) for sizes in (self.low_noise, self.high_noise))
        low_noise, high_noise = noises
        return ClippingLoss(
            low=self.low * by,
            high=self.high * by,
            low_noise=low_noise,
            high_noise=high_noise,
            kind=self.kind,
            given=self.given,
            likely=self.likely * by,
            beyond=self.beyond * by,
        )

    def json(self) -> dict[str, Any]:
        """Plain data that `from_json` turns into an equal one."""
        return {
            "low": self.low,
            "high": self.high,
            "low_noise": list(self.low_noise),
            "high_noise": list(self.high_noise),
            "kind": self.kind,
            "given": self.given,
            "likely": self.likely,
            "beyond": self.beyond,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "ClippingLoss":
        """The inverse of `json`."""
        noises = {name: tuple(data[name]) for name in ("low_noise", "high_noise")}
        return cls(**{"likely": (data["low"] + data["high"]) / 2, **data, **noises})  # which answers once did without


@dataclass(frozen=True, kw_only=True)
class SizeHistogram:
    """Units by size: `counts[j]` of them, with noise of `size`, are above edge j − 1 and not above edge j; the last
    are above all edges. Sizes are multiples of `grain`, or any number if that is zero."""

    edges: tuple[Fraction, ...]
    counts: tuple[int, ...]
    kind: Kind
    size: float
    grain: Fraction = Fraction(0)

    def __post_init__(self) -> None:
        rising = all(low < high for low, high in pairwise(self.edges))
        if not self.edges or self.edges[0] <= 0 or not rising or len(self.counts) != len(self.edges) + 1:
            raise InputError("a histogram needs positive edges that rise, and one count more than edges")

    @cached_property
    def resolved(self) -> int:
        """The place of the last edge up to which units are told from noise.

        From the fullest bin upward, until two bins in a row are within the noise. Beyond such a gap a bin, or an octave
        of them, counts only if no noise is so large: else one of many empty bins would be taken for people nearly
        every time.
        """
        near, far, pooled = (limit * self.size for limit in (NEAR, FAR, POOLED))
        counts = self.counts[: len(self.edges)]
        start = max(range(len(counts)), key=counts.__getitem__)
        while True:
            at = start
            while any(count >= near for count in counts[at + 1 : at + 3]):
                at += 1
            while at > start and counts[at] < near:
                at -= 1
            beyond = [
                place
                for place in range(at + 1, len(counts))
                if counts[place] >= far
                or (counts[place] >= near and sum(counts[max(at + 1, place - BINS + 1) : place + 1]) >= pooled)
            ]
            if not beyond:
                return at
            start = beyond[-1]

    @property
    def usable(self) -> bool:
        """Whether it is worth choosing a bound by: no units are seen above all edges, of whom nothing more is known,
        and a thirtieth of all would be seen wherever it lies. Else a choice of the question's own is nearer."""
        return self.counts[-1] < NEAR * self.size and WORTH * POOLED * self.size <= self.units

    @property
    def established(self) -> bool:
        """Whether a small part of all units would be seen wherever it lies, so that few can be beyond by surprise."""
        return SEEN * POOLED * self.size <= self.units

    @property
    def furthest(self) -> Fraction:
        """The size up to which units are told from noise."""
        return self.edges[self.resolved]

    @property
    def _spread(self) -> float:
        """The standard deviation of a noise of size one."""
        return sqrt(2) if self.kind == "laplace" else 1.0

    @cached_property
    def tail(self) -> TailWays:
        """How many units may be beyond what is resolved."""
        edges, counts = (np.array(found, dtype=np.float64) for found in (self.edges, self.counts[: len(self.edges)]))
        return tail_ways(edges, counts, self.resolved, (self._spread * self.size) ** 2)

    @cached_property
    def units(self) -> float:
        """About how many units there are."""
        return max(float(sum(self.counts[: self.resolved + 1])), 1.0)

    def above(self, bound: Fraction) -> float:
        """About how many units are larger than an edge."""
        seen = zip(self.edges[: self.resolved + 1], self.counts, strict=False)
        return max(0.0, float(sum(count for edge, count in seen if edge > bound)))

    @cached_property
    def _bins(self) -> list[tuple[float, float]]:
        """The least and the largest size in each bin but the last."""
        return [(float(low + self.grain), float(high)) for low, high in pairwise((Fraction(0), *self.edges))]

    def loss(
        self,
        bound: Fraction,
        shape: Shape,
        step: Fraction = Fraction(0),
        risk: tuple[float, float] = RISK,
        *,
        each: bool = False,
    ) -> ClippingLoss:
        """What the bound takes from all units together. Clipping rounds toward zero, by less than `step` a unit; or as
        much in `each` of its groups, of which it has no more than its size."""
        low = high = 0.0
        low_noise, high_noise = [], []
        clip = float(bound)
        for place in range(bisect_right(self.edges, bound), self.resolved + 1):
            least, edge = self._bins[place]
            most = edge - clip + float(step) * (max(1.0, edge) if each else 1.0)
            high += self.counts[place] * most
            high_noise.append(most * self.size)
            if least > clip:
                low += self.counts[place] * (least - clip)
                low_noise.append((least - clip) * self.size)
        likely, beyond = max((low + high) / 2, 0.0) + self.tail.most(clip, 0.5), self.tail.most(clip, *risk)
        high = max(high, low, 0.0) + beyond
        if shape != "exact":  # at least nothing, or as much in the other direction
            low, low_noise = (0.0, []) if shape == "part" else (-high, high_noise)
        return ClippingLoss(
            low=low,
            high=high,
            low_noise=tuple(low_noise),
            high_noise=tuple(high_noise),
            kind=self.kind,
            given=float(self.furthest),
            likely=min(max(likely, low), high),
            beyond=beyond,
        )

    # --- bounds

    def for_total(self, noise: float, kind: Kind, shape: Shape) -> Fraction:
        """The bound of one number with the narrowest interval, where noise has `noise` times the bound as standard
        deviation; or one a little larger, if only that lets the interval speak of the truth."""
        by = GAUSSIAN if kind == "gaussian" else LAPLACE
        losses = {edge: self.loss(edge, shape) for edge in self.edges}
        best = min(self.edges, key=lambda edge: self._half(losses[edge], float(edge), noise, by))
        near = (edge for edge in self.edges if self.established and best <= edge <= best * FURTHER)
        return next((edge for edge in near if losses[edge].carried(by * noise * float(edge))), best)

    def _half(self, lost: ClippingLoss, bound: float, noise: float, by: float) -> float:
        """Half of the interval with a bound, `by` standard deviations of all that is noise."""
        below, above = (
            by * hypot(noise * bound, *(self._spread * size for size in sizes))
            for sizes in (lost.low_noise, lost.high_noise)
        )
        usual = lost.high - lost.beyond + self.tail.most(bound, *USUAL)
        return (usual - lost.low + below + above) / 2

    def for_groups(self, noise: float, groups: int) -> Fraction:
        """The bound of many numbers with the least error: what is lost in a group, and its noise. In l1, in which a
        unit's norm is its size however its rows are spread."""
        squares = (
            (DOUBT * (self.loss(edge, "exact").likely / groups) ** 2 + (noise * float(edge)) ** 2, edge)
            for edge in self.edges
        )
        return min(squares)[1]

    def for_ratio(self, target: float) -> Fraction:
        """The bound that about so many units are larger than."""
        return next((edge for edge in self.edges if self.above(edge) <= target), self.edges[-1])

    def json(self) -> dict[str, Any]:
        """Plain data that `from_json` turns into an equal one."""
        return {
            "edges": [str(edge) for edge in self.edges],
            "counts": list(self.counts),
            "kind": self.kind,
            "size": self.size,
            "grain": str(self.grain),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "SizeHistogram":
        """The inverse of `json`."""
        return cls(
            edges=tuple(map(Fraction, data["edges"])),
            counts=tuple(data["counts"]),
            kind=data["kind"],
            size=float(data["size"]),
            grain=Fraction(data["grain"]),
        )


@dataclass(frozen=True, kw_only=True)
class TableProfile:
    """The histograms of one table, by column, and of its rows; `version` is of the data that they were taken of, and
    `entry` the ledger's that paid for them."""

    table: str
    histograms: Mapping[str, SizeHistogram]
    version: str = ""
    entry: int = 0

    @property
    def rows(self) -> SizeHistogram:
        return self.histograms[ROWS]

    def json(self) -> dict[str, Any]:
        """Plain data without where it is kept."""
        return {"table": self.table, "histograms": {name: found.json() for name, found in self.histograms.items()}}

    @classmethod
    def from_json(cls, data: Mapping[str, Any], *, version: str, entry: int) -> "TableProfile":
        """The inverse of `json`."""
        found = {name: SizeHistogram.from_json(each) for name, each in data["histograms"].items()}
        return cls(table=data["table"], histograms=found, version=version, entry=entry)
