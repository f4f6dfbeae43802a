"""Whole, consistent counts from noisy ones: each place of the first level, then every family, level by level.

Families are independent of each other once their parents are known, so they are solved some at a time, here or
anywhere: `spread` is a map, such as that of a pool of processes, or of Spark. See docs/theory/topdown.md.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any

import numpy as np

from tacit.census.family import Family, Whole, solve_family
from tacit.census.invariants import Held
from tacit.census.measure import NoisyCounts

__all__ = ["LevelCounts", "Progress", "Spread", "solve_families", "top_down"]

TOGETHER = 32  # families that are sent at once
Spread = Callable[[Callable[[Any], Any], Iterable[Any]], Iterable[Any]]
Progress = Callable[[float], None]


@dataclass(frozen=True, kw_only=True, eq=False)
class LevelCounts:
    """The counts of a level that are not zero: of `place[i]` in `cell[i]` there are `count[i]`, in this order."""

    place: Whole
    cell: Whole
    count: Whole

    def of(self, first: int, last: int) -> "LevelCounts":
        """Those of places from `first` to before `last`."""
        low, high = np.searchsorted(self.place, [first, last])
        return LevelCounts(place=self.place[low:high], cell=self.cell[low:high], count=self.count[low:high])


def solve_families(families: Sequence[Family]) -> list[Whole]:
    """Some families, one after the other."""
    return [solve_family(family) for family in families]


def top_down(
    noisy: NoisyCounts,
    held: Held,
    *,
    totals_first: Collection[str] = (),
    spread: Spread = map,
    progress: Progress | None = None,
) -> LevelCounts:
    """The counts of the narrowest places. Sums of them are those of every wider place.

    `totals_first` are levels at which the totals of places are settled before the rest.
    """
    spine = noisy.spine
    first = [level in totals_first for level in spine.levels]
    level = _solved(noisy, held, 0, None, first[0], spread, lambda done: None)
    for place in range(1, len(spine)):

        def tell(done: float, place: int = place) -> None:
            if progress is not None:
                progress((place + done) / len(spine))

        level = _solved(noisy, held, place, level, first[place], spread, tell)
    return level


@dataclass(frozen=True)
class _Sent:
    """A family on its way: which children and cells its counts are of."""

    children: Whole
    cells: Whole
    family: Family


def _solved(
    noisy: NoisyCounts,
    held: Held,
    level: int,
    above: LevelCounts | None,
    totals_first: bool,
    spread: Spread,
    tell: Progress,
) -> LevelCounts:
    places: list[tuple[Whole, Whole]] = []

    def batches() -> Iterator[list[Family]]:
        """Made as they are asked for, so that few are there at once."""
        families = _sent(noisy, held, level, above, totals_first)
        while batch := list(islice(families, TOGETHER)):
            places.extend((each.children, each.cells) for each in batch)
            yield [each.family for each in batch]

    found: list[tuple[Whole, Whole, Whole]] = []
    parents = 1 if above is None else len(np.unique(above.place))
    for matrix in chain.from_iterable(spread(solve_families, batches())):
        children, cells = places[len(found)]
        rows, columns = np.nonzero(matrix)
        found.append((children[rows], cells[columns], matrix[rows, columns]))
        tell(min(1.0, len(found) / parents))
    if not found:
        nothing = np.zeros(0, dtype=np.int64)
        return LevelCounts(place=nothing, cell=nothing, count=nothing)
    place, cell, count = (np.concatenate(each) for each in zip(*found, strict=True))
    order = np.lexsort((cell, place))
    return LevelCounts(place=place[order], cell=cell[order], count=count[order])


def _sent(noisy: NoisyCounts, held: Held, level: int, above: LevelCounts | None, totals_first: bool) -> Iterator[_Sent]:
    spine, empty = noisy.spine, held.empty[level]
    if above is None:
        possible = np.flatnonzero(noisy.schema.possible)
        for place in np.flatnonzero(~empty):
            children = np.array([place])
            yield _Sent(children, possible, _family(noisy, held, level, children, possible, None, totals_first))
        return
    ends = spine.children[level - 1]
    for parent in np.unique(above.place):
        own = above.of(parent, parent + 1)
        children = np.arange(ends[parent], ends[parent + 1])
        children = children[~empty[children]]
        yield _Sent(children, own.cell, _family(noisy, held, level, children, own.cell, own.count, totals_first))


def _family(
    noisy: NoisyCounts,
    held: Held,
    level: int,
    children: Whole,
    cells: Whole,
    parent: Whole | None,
    totals_first: bool,
) -> Family:
    """What was measured of some children, in the cells that their parent has."""
    codes, measured, weights = [], [], []
    for query, (counts, variances) in noisy.combined[level].items():
        groups, inside = np.unique(noisy.schema.partition(query)[0][cells], return_inverse=True)
        codes.append(inside)
        measured.append(np.asarray(counts[np.ix_(children, groups)], dtype=np.float64))
        weights.append(float(1 / variances[children].mean()))
    fixed = []
    for query, values in held.fixed[level].items():
        groups, inside = np.unique(noisy.schema.partition(query)[0][cells], return_inverse=True)
        fixed.append((inside, values[np.ix_(children, groups)]))
    settled = any(len(values[0]) == 1 for _, values in fixed)
    return Family(
        parent=parent,
        codes=tuple(codes),
        measured=tuple(measured),
        weights=tuple(weights),
        fixed=tuple(fixed),
        kept=() if settled else (np.zeros(len(cells), dtype=np.int64),),
        totals_first=totals_first and not fixed,
    )
