"""Several groupings of the same rows, measured together: the share of each, and what least squares make of them.

A key with n values splits tables over it into their mean and what is left, which has no mean. Over several keys a
table is the sum of such parts, one for each set T of keys: they are orthogonal, and summing a table over a key keeps
the parts without that key and removes the others. So a part is seen, with independent noise, in each level whose keys
include T, and least squares are the weighted mean of what these levels see. See docs/theory/grouping-sets.md.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import gcd, prod
from typing import Any

import numpy as np

from tacit.base import cached_property
from tacit.plan.bounded import Key, Measure
from tacit.plan.combined import Levels
from tacit.plan.groups import listable
from tacit.plan.moments import number
from tacit.plan.node import Node
from tacit.plan.operation import call

__all__ = ["LevelTables", "in_levels", "level_shares", "level_sizes", "question_shares"]

Array = np.ndarray[Any, np.dtype[np.float64]]
Keys = tuple[int, ...]

EQUAL = 8  # of which a share may be so much more or less
TRIED = range(4, 17)
SWEEPS = 3


def level_sizes(source: Levels) -> tuple[int, ...] | None:
    """How many values each key has, NULL too where rows can have it; None where nobody listed them."""
    values = [listable(Key(name=name, expression=value)).values for name, value in source.keys]
    known = [len(each) for each in values if each is not None]
    return tuple(known) if len(known) == len(values) else None


@dataclass(frozen=True)
class LevelTables:
    """Tables over some sets of keys. The noise in the table of a level has variance 1/share², the same in each cell."""

    sizes: tuple[int, ...]
    sets: tuple[Keys, ...]
    shares: tuple[int, ...]

    @cached_property
    def parts(self) -> list[Keys]:
        """The sets of keys whose part of the truth is seen."""
        inside = {some for keys in self.sets for many in range(len(keys) + 1) for some in combinations(keys, many)}
        return sorted(inside, key=lambda some: (len(some), some))

    def cells(self, keys: Keys) -> int:
        return prod(self.sizes[key] for key in keys)

    @cached_property
    def _seen(self) -> Array:
        """How exactly each level sees each part: 1/variance of a cell of its sum over the other keys."""
        return np.array(
            [
                [self.cells(part) / self.cells(keys) if {*part} <= {*keys} else 0.0 for part in self.parts]
                for keys in self.sets
            ]
        )

    @cached_property
    def _shown(self) -> Array:
        """How much of the variance of each part's cells is in a cell of each level."""
        free = [prod(1 - 1 / self.sizes[key] for key in part) for part in self.parts]
        return np.array(
            [
                [
                    (self.cells(part) / self.cells(keys)) ** 2 * left if {*part} <= {*keys} else 0.0
                    for part, left in zip(self.parts, free, strict=True)
                ]
                for keys in self.sets
            ]
        )

    @property
    def variances(self) -> Array:
        """Of a cell of each level, after least squares."""
        return self.variances_with(np.array(self.shares, np.float64))

    def variances_with(self, shares: Array) -> Array:
        """The same with other shares."""
        return np.asarray(self._shown @ (1 / (shares**2 @ self._seen)))

    def fitted(self, tables: Sequence[Array]) -> list[Array]:
        """Least squares: tables that are sums of each other, in the order of `sets`."""
        found: dict[Keys, Array] = {}
        for place, part in enumerate(self.parts):
            weights = [share**2 * seen for share, seen in zip(self.shares, self._seen[:, place], strict=True)]
            total = np.zeros([self.sizes[key] for key in part])
            for keys, table, weight in zip(self.sets, tables, weights, strict=True):
                if weight:
                    summed = table.sum(axis=tuple(i for i, key in enumerate(keys) if key not in part))
                    total += weight * _centred(summed)
            found[part] = total / sum(weights)
        return [self._together(keys, found) for keys in self.sets]

    def _together(self, keys: Keys, parts: dict[Keys, Array]) -> Array:
        made = np.zeros([self.sizes[key] for key in keys])
        for part, table in parts.items():
            if {*part} <= {*keys}:
                shape = [self.sizes[key] if key in part else 1 for key in keys]
                made += table.reshape(shape) * (self.cells(part) / self.cells(keys))
        return made


def _centred(table: Array) -> Array:
    """Without what is the same along any of its keys."""
    for axis in range(table.ndim):
        table = table - table.mean(axis=axis, keepdims=True)
    return table


def level_shares(sizes: Sequence[int], sets: Sequence[Keys]) -> tuple[int, ...]:
    """The share of each level: whole numbers for which the fitted levels have the least variance in all, by turns, and
    none has more than its noise with equal shares and without a fit.

    Noise is scaled to the norm of one row in all levels, the root of the sum of squared shares.
    """
    tables = LevelTables(tuple(sizes), tuple(sets), (1,) * len(sets))
    worst = len(sets) * (1 + 1e-9)

    def error(shares: Array) -> float:
        found = (shares**2).sum() * tables.variances_with(shares)
        return float(found.sum()) if found.max() <= worst else float("inf")

    best = np.full(len(sets), float(EQUAL))
    least = error(best)
    for _ in range(SWEEPS):
        before = least
        for level in range(len(sets)):
            for share in TRIED:
                tried = best.copy()
                tried[level] = share
                found = error(tried)
                if found < least * (1 - 1e-9):
                    best, least = tried, found
        if least > before * (1 - 1e-6):
            break
    shares = [int(share) for share in best]
    return tuple(share // gcd(*shares) for share in shares)


def question_shares(source: Node) -> tuple[int, ...]:
    """The shares of the levels of a question; nothing where they are equal, or are not fitted to each other."""
    sizes = level_sizes(source) if isinstance(source, Levels) else None
    if sizes is None or not isinstance(source, Levels):
        return ()
    found = level_shares(sizes, source.sets)
    return found if len({*found}) > 1 else ()


def in_levels(measure: Measure, source: Node, shares: tuple[int, ...]) -> Measure:
    """A measure that counts in each level as often as its share says, so that its noise is so much less there."""
    if not shares or measure.kind != "sum" or not isinstance(source, Levels):
        return measure
    assert not measure.offset  # which only a centre brings
    places = [(number(place), number(share)) for place, share in enumerate(shares[:-1])]
    level = source.column(source.level)
    times = call("switch", level, *(part for pair in places for part in pair), number(shares[-1]))
    value = number(measure.high * measure.step) if measure.value is None else measure.value
    ends = [end * share for end in (measure.low, measure.high) for share in shares]
    return replace(measure, value=call("multiply", value, times), low=min(ends), high=max(ends), shares=shares)
