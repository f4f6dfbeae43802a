"""Levels of ROLLUP, CUBE and GROUPING SETS fitted to each other after the noise, by least squares.

What is fitted are noisy measures, which add up over the groups of a level; counts, sums, averages and variances are
made of them as of any other. Gaussian noise alone: what a fit makes of it is Gaussian again, of a known variance.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from tacit.plan.bounded import Bounded, Measure
from tacit.plan.combined import Levels
from tacit.plan.levels import LevelTables, level_sizes
from tacit.sql.stored import Array, Codes, Groups, Noisy, NoisyPart

__all__ = ["all_fitted", "fitted", "level_tables", "sizes_of"]


def level_tables(part: Bounded, measure: Measure) -> LevelTables | None:
    """How the levels of a measure see each other; None where they are not fitted."""
    source = part.source
    if not isinstance(source, Levels) or measure.kind != "sum" or any(key.values is None for key in part.keys):
        return None
    if any(clip.norm != "l2" for clip in part.clips if measure.name in clip.names):
        return None
    sizes = level_sizes(source)
    return None if sizes is None else LevelTables(sizes, source.sets, measure.shares or (1,) * len(source.sets))


def fitted(part: Bounded, found: NoisyPart) -> NoisyPart:
    """The same part with every measure that adds up fitted to itself in all levels."""
    measures = {measure.name: measure for measure in part.measures}
    tables = {name: level_tables(part, measures[name]) for name in found.measures}
    if not any(tables.values()):
        return found
    level = level_of(found.groups)
    made = dict(found.measures)
    for name, noisy in found.measures.items():
        own = tables[name]
        if own is not None and noisy.kind == "gaussian" and noisy.least is None:
            made[name] = _fitted(own, noisy, found.groups, level)
    return replace(found, measures=made)


def level_of(groups: Groups) -> Codes:
    """The level of each group, which is their first key."""
    numbers = np.array([int(str(value)) for value in groups.values[0]])
    return np.asarray(numbers[groups.codes[0]])


def _fitted(tables: LevelTables, noisy: Noisy, groups: Groups, level: Codes) -> Noisy:
    share = np.array(tables.shares, np.float64)[level]
    places = [np.flatnonzero(level == number) for number in range(len(tables.sets))]
    cells: list[Codes] = []
    given: list[Array] = []
    for rows, keys in zip(places, tables.sets, strict=True):
        shape = tuple(tables.sizes[key] for key in keys)
        # NULL is the last value of a key, and is there only where the key has one value more
        codes = [groups.codes[1 + key][rows] for key in keys]
        cells.append(np.asarray(np.ravel_multi_index(codes, shape) if keys else np.zeros(len(rows)), np.int64))
        table = np.zeros(tables.cells(keys))
        table[cells[-1]] = noisy.values[rows] / share[rows]
        given.append(table.reshape(shape))
    values = np.zeros(len(noisy.values))
    for rows, at, table in zip(places, cells, tables.fitted(given), strict=True):
        values[rows] = table.ravel()[at]
    return Noisy(values, noisy.kind, sizes_of(tables, noisy.size)[level])


def sizes_of(tables: LevelTables, size: float | Array) -> Array:
    """The standard deviation of a group in each level after the fit, where noise of this size was added."""
    return np.asarray(size * np.sqrt(tables.variances))


def all_fitted(parts: Sequence[Bounded], found: Sequence[NoisyPart]) -> list[NoisyPart]:
    """Every part of an answer."""
    return [fitted(part, each) for part, each in zip(parts, found, strict=True)]
