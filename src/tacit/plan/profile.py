"""The profile of a table: how many units count how much, released once, with noise. Clips follow from it for nothing.

A histogram of the units' sizes (their rows, or the sum of a column's absolute values) tells what a clip would take:
a unit of size x loses at most x − C under the bound C, whatever is grouped or filtered, since the norm of its vector
is at most its size. Of the whole table's count, and of a sum of what is not negative, it loses just that.

No histogram shows a handful of units far out: what it says holds if no unit is larger than its last `resolved` edge.
See docs/theory/profile.md.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from math import log2, sqrt
from typing import Any, Literal

from tacit.base import InputError, cached_property

__all__ = ["BINS", "ROWS", "ClippingLoss", "Kind", "Shape", "SizeHistogram", "TableProfile"]

ROWS = "*"  # what the histogram of rows is called; the others are called as their columns
NEAR = 4.0  # noise sizes: two bins below it, one after the other, end what is resolved
FAR = 12.0  # noise sizes that a bin beyond such a gap must have to be there all the same
POOLED = 16.0  # noise sizes that an octave of bins must have together
DECAY = (0.02, 0.85)  # how fast the numbers of units fall from one bin to the next, beyond what is resolved
BINS = 4  # between a size and twice it
STEEP = 16  # times fewer in an octave than in the one before: they end
FEWEST = 1.0  # units that are expected beyond a size: fewer are none
POWERS = (1.0, 8.0)  # of the size, with which the numbers of larger units fall
LEAST = 0.5  # units: fewer are none
GAUSSIAN, LAPLACE = 1.96, 2.12  # standard deviations in the half of a 95 % interval
DOUBT = 1.3  # by how much a square of a loss counts more than a square of noise

Kind = Literal["gaussian", "laplace"]
Shape = Literal["exact", "part", "either"]
"""What is known of a loss: all of it, at most all of it, or at most all of it in either direction."""


@dataclass(frozen=True, kw_only=True)
class ClippingLoss:
    """What a clip takes from a total lies between `low` and `high`, each of them uncertain by independent noises of the
    sizes beside it, if no unit is larger than `given`. All of it is in the units of the answer."""

    low: float
    high: float
    low_noise: tuple[float, ...]
    high_noise: tuple[float, ...]
    kind: Kind
    given: float

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
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "ClippingLoss":
        """The inverse of `json`."""
        return cls(**{**data, "low_noise": tuple(data["low_noise"]), "high_noise": tuple(data["high_noise"])})


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
    def complete(self) -> bool:
        """Whether no units are seen above all edges, of whom nothing more is known."""
        return self.counts[-1] < NEAR * self.size

    @cached_property
    def established(self) -> bool:
        """Whether it is seen how units become fewer beyond what is resolved: they go on falling, or clearly end."""
        last = self.resolved
        inside = sum(self.counts[max(0, last - BINS + 1) : last + 1])
        after = sum(self.counts[last + 1 : min(last + 1 + BINS, len(self.edges))])
        return self._fall is not None or after + self._doubt < inside / STEEP

    @property
    def _doubt(self) -> float:
        """Two standard deviations of the noise in an octave of bins."""
        return 2 * self.size * sqrt(BINS * (2 if self.kind == "laplace" else 1))

    @property
    def furthest(self) -> Fraction:
        """The size that no unit is assumed to pass."""
        return self.edges[self.resolved]

    @cached_property
    def thinning(self) -> tuple[float, ...]:
        """How many units may be in each bin beyond what is resolved, if numbers go on falling as they did.

        Those in the last three octaves give a power of the size, and how it grows. Where the octave after them has
        clearly fewer units than that, they end there, and the rest falls as steeply as it began to.
        """
        last, noise = self.resolved, self.size
        fall = self._fall
        if fall is not None:
            ahead = [log2(edge / self.furthest) for edge in self.edges[last:]]
            found = [fall(start) - fall(stop) if fall(start) > FEWEST else 0.0 for start, stop in pairwise(ahead)]
            return tuple(min(count, NEAR * noise) for count in found)
        inside = max(float(sum(self.counts[max(last - 1, 0) : last + 1])), noise)
        after = max(float(sum(self.counts[last + 1 : last + 3])), noise)
        decay = min(max(sqrt(after / inside), DECAY[0]), DECAY[1])
        falling = (min(inside / 2 * decay**ahead, NEAR * noise) for ahead in range(1, len(self.edges) - last))
        return tuple(count if count >= LEAST else 0.0 for count in falling)

    @cached_property
    def _fall(self) -> Callable[[float], float] | None:
        """How many units may be so many octaves and more beyond the furthest; None if numbers do not go on falling."""
        first, before, inside = (self._octave(number) for number in (-3, -2, -1))
        if not before > inside > NEAR * self.size:
            return None
        power = min(max(log2(before / inside), POWERS[0]), POWERS[1])
        grown = power - log2(first / before) if first > NEAR * self.size else 0.0
        bend = min(max(grown, 0.0), POWERS[1]) / 2  # of what is uncertain, half
        steep = power + bend  # where what is resolved ends
        whole = inside / (2 ** (steep - bend / 2) - 1)

        def fall(octaves: float) -> float:
            return float(whole * 2.0 ** -(steep * octaves + bend * octaves**2 / 2))

        return None if self._octave(0) + self._doubt < (fall(0) - fall(1)) / 2 else fall

    def _octave(self, number: int) -> float:
        """About how many units are in the octave that starts so many of them after the furthest: by its bins, which are
        fewer and wider where sizes are small whole numbers."""
        start = max(self.resolved + BINS * number, 0)
        stop = min(self.resolved + BINS * (number + 1), len(self.edges) - 1)
        width = log2(self.edges[stop] / self.edges[start]) if stop > start else 0.0
        return float(sum(self.counts[start + 1 : stop + 1])) / width if width else 0.0

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

    def loss(self, bound: Fraction, shape: Shape, step: Fraction = Fraction(0)) -> ClippingLoss:
        """What the bound takes from all units together. Clipping rounds toward zero, by less than `step` a unit."""
        low = high = 0.0
        low_noise, high_noise = [], []
        clip, rounding = float(bound), float(step)
        for place in range(bisect_right(self.edges, bound), len(self.edges)):
            least, edge = self._bins[place]
            most = edge - clip + rounding
            if place > self.resolved:
                high += self.thinning[place - self.resolved - 1] * most
                continue
            high += self.counts[place] * most
            high_noise.append(most * self.size)
            if least > clip:
                low += self.counts[place] * (least - clip)
                low_noise.append((least - clip) * self.size)
        if shape != "exact":  # at least nothing, or as much in the other direction
            low, low_noise = (0.0, []) if shape == "part" else (-max(high, 0.0), high_noise)
        return ClippingLoss(
            low=low,
            high=max(high, low, 0.0),
            low_noise=tuple(low_noise),
            high_noise=tuple(high_noise),
            kind=self.kind,
            given=float(max(self.furthest, bound)),
        )

    # --- bounds

    def for_total(self, noise: float, kind: Kind, shape: Shape) -> Fraction:
        """The bound of one number with the narrowest interval, where noise has `noise` times the bound as standard
        deviation."""
        return min(self._totals(noise, kind, shape))[1]

    def _totals(self, noise: float, kind: Kind, shape: Shape) -> Iterator[tuple[float, Fraction]]:
        """Half of the interval for each edge."""
        by = GAUSSIAN if kind == "gaussian" else LAPLACE
        spread = sqrt(2) if self.kind == "laplace" else 1.0  # standard deviations in a size
        for edge in self.edges:
            lost, own = self.loss(edge, shape), noise * float(edge)
            below, above = (
                by * sqrt(own**2 + sum((spread * size) ** 2 for size in sizes))
                for sizes in (lost.low_noise, lost.high_noise)
            )
            yield (lost.high - lost.low + below + above) / 2, edge

    def for_groups(self, noise: float, groups: int) -> Fraction:
        """The bound of many numbers with the least error: what is lost in a group, and its noise. In l1, in which a
        unit's norm is its size however its rows are spread."""
        squares = (
            (DOUBT * (self._middle(edge) / groups) ** 2 + (noise * float(edge)) ** 2, edge) for edge in self.edges
        )
        return min(squares)[1]

    def _middle(self, edge: Fraction) -> float:
        lost = self.loss(edge, "exact")
        return (lost.low + lost.high) / 2

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
