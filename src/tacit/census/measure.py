"""Counting and noise: one grouped count in the engine, and noise on the counts of each level and query.

The engine gives the groups that are not empty; that the others are zero is implied. Noise is on every count, zeros too.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from tempfile import TemporaryFile
from typing import Any

import numpy as np

from tacit.base import InputError, PolicyError, cached_property
from tacit.census.invariants import Held, Invariants
from tacit.census.schema import MOST_CELLS, TOTAL, VACANT, CellSchema
from tacit.census.spine import Spine
from tacit.engine.result import Result, ResultTable, coded
from tacit.noise import Rng
from tacit.plan.bounded import Bounded, Clip, Key
from tacit.plan.expression import Column
from tacit.plan.facts import Type, Value, domain_of
from tacit.plan.moments import rows as each_row
from tacit.plan.node import Scan, Source
from tacit.program import Step

__all__ = [
    "MOST_COUNTS", "NoisyCounts", "SparseCounts", "bounded_census", "categories_of", "check_places", "check_size",
    "measured",
]  # fmt: skip

MOST_COUNTS = 20_000_000_000  # that noise is added to at one level and query: as many bytes, on disk
BLOCK = 2**22  # of them at a time
IN_MEMORY = 2**28  # bytes of one array; a larger one is a file that has no name
Whole = np.ndarray[Any, np.dtype[np.int64]]
Floats = np.ndarray[Any, np.dtype[Any]]


def categories_of(scan: Scan, columns: Sequence[str]) -> dict[str, tuple[Value, ...]]:
    """What each column can hold, as the policy declares it."""
    facts = {source.name: source.facts for source in scan.columns}
    found = {}
    for name in columns:
        values = domain_of(facts[name], MOST_CELLS)
        if values is None:
            raise PolicyError(
                f'column "{name}" has no short list of categories: declare group_keys = […] for it in the policy, or '
                "leave it out of the census"
            )
        _check_null(name, facts[name].nullable)
        found[name] = values
    return found


def _check_null(name: str, nullable: bool) -> None:
    if nullable:
        raise PolicyError(
            f'column "{name}" may be NULL, and a census counts everybody in one cell: declare nullable = false for it, '
            "which leaves out rows in which it is missing, or store a category for those"
        )


def bounded_census(scan: Scan, leaf: str, columns: Sequence[str], rows: int) -> Bounded:
    """The number of rows in each narrowest place and cell."""

    def read(source: Source) -> Source:
        """Which places there are is compared at the desk: a list of thousands is none for a statement."""
        return replace(source, facts=source.facts.but(domain=None)) if source.name == leaf else source

    source = replace(scan, columns=tuple(map(read, scan.columns)))
    facts = source.schema
    keys = tuple(Key(name=name, expression=Column(name=name, facts=facts[name])) for name in (leaf, *columns))
    clip = Clip(names=("m1",), scales=(Fraction(1),), norm="l2", bound=Fraction(rows), exempt=True)
    return Bounded(source=source, keys=keys, measures=(each_row("m1"),), clips=(clip,))


def check_places(scan: Scan, spine: Spine) -> str:
    """Refuse names that no value of the column can be; and a sentence on declared places that the spine leaves out."""
    leaf = spine.leaf
    facts = scan.schema[leaf]
    if facts.type not in (Type.TEXT, Type.INTEGER):
        raise PolicyError(f'column "{leaf}" names places, and is declared as {facts.type}: make it text')
    _check_null(leaf, facts.nullable)
    names = spine.names[-1]
    if facts.type is Type.INTEGER:
        odd = next((name for name in names if not name.lstrip("-").isdecimal() or str(int(name)) != name), None)
        if odd is not None:
            raise InputError(
                f'{leaf} "{odd}" is no whole number as the column "{leaf}" holds them (07 is 7 there): write it so in '
                "the places, or declare the column as text"
            )
    if facts.domain is None:
        return ""
    declared = {str(value) for value in facts.domain}
    unknown = next((name for name in names if name not in declared), None)
    if unknown is not None:
        raise InputError(f'{leaf} "{unknown}" of the spine is not among the group_keys of the column in the policy')
    missing = len(declared) - len(names)
    return (
        f"listed by the policy and not in the spine: {missing:,} places, whose people count nowhere" if missing else ""
    )


@dataclass(frozen=True, kw_only=True, eq=False)
class SparseCounts:
    """The true counts: only those that are not zero, each with its narrowest place and its cell. Never shown."""

    spine: Spine
    schema: CellSchema
    places: Whole
    cells: Whole
    counts: Whole

    def __repr__(self) -> str:
        return "<SparseCounts>"

    @classmethod
    def of(cls, result: Result, invariants: Invariants) -> "SparseCounts":
        """From what the engine gave. Rows of a place that the spine does not have, of a category that was not declared,
        or of what nobody can be, count nowhere: each by itself, whatever the others are."""
        spine, schema = invariants.spine, invariants.schema
        table = result.groups
        places = _codes(table, 0, {name: place for place, name in enumerate(spine.names[-1])}, as_text=True)
        shape, cells, known = schema.shape, np.zeros(len(places), dtype=np.int64), places >= 0
        for number, values in enumerate(schema.categories.values(), 1):
            codes = _codes(table, number, {_stored(value): place for place, value in enumerate(values)})
            known &= codes >= 0
            cells = cells * shape[number - 1] + np.maximum(codes, 0)
        known &= schema.possible[cells] & ~invariants.impossible[np.maximum(places, 0)]
        counts = np.asarray(table.columns["m1"][known], dtype=np.int64)
        return cls(spine=spine, schema=schema, places=places[known], cells=cells[known], counts=counts)

    def dense(self, level: str, query: str, first: int = 0, last: int | None = None) -> Whole:
        """All counts of a query at a level, a row for each place from `first` to before `last`."""
        codes, groups = self.schema.partition(query)
        place = self.spine.place(level)
        end = len(self.spine.names[place]) if last is None else last
        above, order = self.spine.above[place], self._order
        wide = above[self.places[order]]  # rising: children of one place stand together
        some = order[slice(*np.searchsorted(wide, [first, end]))]
        found = np.zeros((end - first) * groups, dtype=np.int64)
        np.add.at(found, (above[self.places[some]] - first) * groups + codes[self.cells[some]], self.counts[some])
        return found.reshape(end - first, groups)

    @cached_property
    def _order(self) -> Whole:
        """The counts by their place."""
        return np.argsort(self.places, kind="stable")

    def held(self, invariants: Invariants) -> Held:
        """What is released as it is."""
        return invariants.held(
            {(level, query): self.dense(level, TOTAL if query == VACANT else query) for level, query in invariants.read}
        )


def _codes(table: ResultTable, number: int, known: Mapping[Any, int], *, as_text: bool = False) -> Whole:
    column = coded(table.keys[number])
    found = [known.get(str(value) if as_text else value, -1) for value in column.values]
    return np.array(found, dtype=np.int64)[column.codes] if found else np.zeros(0, dtype=np.int64)


def _stored(value: Value) -> Value:
    """As the engine gives it: a number is the double nearest to it."""
    return Fraction(float(value)) if isinstance(value, Fraction) else value


@dataclass(frozen=True, kw_only=True, eq=False)
class NoisyCounts:
    """What was measured: for each level and query the noisy counts, a row for each place, and their variance.

    Released numbers: whatever is made of them is free.
    """

    spine: Spine
    schema: CellSchema
    counts: Mapping[tuple[str, str], Floats]
    variances: Mapping[tuple[str, str], float]

    @cached_property
    def combined(self) -> tuple[Mapping[str, tuple[Floats, Floats]], ...]:
        """For each level and query the best of its own counts and the sums of those below, and the variance of each
        place's: weighted by one over the variance, from the last level up."""
        found: list[dict[str, tuple[Floats, Floats]]] = [{} for _ in self.spine.levels]
        for place in reversed(range(len(self.spine))):
            level = self.spine.levels[place]
            below = found[place + 1] if place + 1 < len(self.spine) else {}
            for query in dict.fromkeys([*below, *(q for at, q in self.counts if at == level)]):
                own = self.counts.get((level, query))
                size = len(self.spine.names[place])
                spread = np.full(size, self.variances.get((level, query), np.inf))
                if query not in below:
                    assert own is not None  # or the query would not be here
                    found[place][query] = (own, spread)
                    continue
                starts = self.spine.children[place][:-1]
                sums, wide = (np.add.reduceat(each, starts, axis=0, dtype=np.float64) for each in below[query])
                if own is None:
                    found[place][query] = (sums, wide)
                    continue
                weight = wide / (wide + spread)
                found[place][query] = (sums + weight[:, None] * (own - sums), wide * spread / (wide + spread))
        return tuple(found)


def measured(counts: SparseCounts, steps: Sequence[Step], names: Sequence[tuple[str, str]], rng: Rng) -> NoisyCounts:
    """The counts of each step's level and query with its noise."""
    found, variances = {}, {}
    for step, (level, query) in zip(steps, names, strict=True):
        size, groups = len(counts.spine.names[counts.spine.place(level)]), counts.schema.partition(query)[1]
        some, noisy = max(1, BLOCK // groups), np.empty((0, groups), np.int8)
        for start in range(0, size, some):
            drawn = step.mechanism.sample(counts.dense(level, query, start, min(start + some, size)), rng)
            noisy = _room(noisy, start, (size, groups), drawn)
            noisy[start : start + some] = drawn
        found[level, query] = noisy
        variances[level, query] = float(step.mechanism.sigma) ** 2  # type: ignore[attr-defined]  # Gaussian
    return NoisyCounts(spine=counts.spine, schema=counts.schema, counts=found, variances=variances)


def _room(noisy: Any, done: int, shape: tuple[int, int], more: Whole) -> Any:
    """An array of this shape in which all of `more` fits, with what is done already: of as few bytes a count as will
    do, since nearly every count of a narrow place is noise alone."""
    low, high = int(more.min(initial=0)), int(more.max(initial=0))
    kinds = (np.int8, np.int16, np.int32, np.int64)
    kind = next(each for each in kinds if np.iinfo(each).min <= low and high <= np.iinfo(each).max)
    kind = max(kind, noisy.dtype.type, key=lambda each: np.dtype(each).itemsize)
    if noisy.shape == shape and noisy.dtype == kind:
        return noisy
    if shape[0] * shape[1] * np.dtype(kind).itemsize <= IN_MEMORY:
        found = np.empty(shape, kind)
    else:
        with TemporaryFile() as file:  # it is there as long as the array
            found = np.memmap(file, kind, "w+", shape=shape)
    found[:done] = noisy[:done]
    return found


def check_size(spine: Spine, schema: CellSchema, names: Sequence[tuple[str, str]]) -> None:
    """Refuse what would not fit on a disk."""
    for level, query in names:
        size = len(spine.names[spine.place(level)]) * schema.partition(query)[1]
        if size > MOST_COUNTS:
            raise InputError(
                f"{level}.{query} has {size:,} counts, and {MOST_COUNTS:,} is the most that are measured at once: take "
                f"some of the places at a time (each census is charged by itself), or fewer cells"
            )
