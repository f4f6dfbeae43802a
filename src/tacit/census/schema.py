"""What is told apart of people: the cells, every combination of declared categories, and the queries that sum them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import Any

import numpy as np

from tacit.base import InputError, cached_property
from tacit.census.spine import Codes
from tacit.plan.facts import Value

__all__ = ["COUNT", "DETAIL", "MOST_CELLS", "TOTAL", "VACANT", "CellSchema", "Recode"]

TOTAL, DETAIL, VACANT = "total", "detail", "vacant"
COUNT = "count"  # the column of every table that is released
MOST_CELLS = 4096


@dataclass(frozen=True, kw_only=True)
class Recode:
    """A coarser form of a column: for each of its categories the group that it belongs to."""

    column: str
    groups: Mapping[Value, str]


@dataclass(frozen=True, kw_only=True, eq=False)
class CellSchema:
    """Columns with their categories, coarser forms of them by name, and combinations that nobody can have.

    `zeros` are such combinations: {"age": "minor", "marital": ["married", "widowed"]} says that no minor is either.
    They are public knowledge, never read from the data.
    """

    categories: Mapping[str, tuple[Value, ...]]
    recodes: Mapping[str, Recode]
    zeros: tuple[Mapping[str, Any], ...] = ()

    def __post_init__(self) -> None:
        cells = prod(map(len, self.categories.values()))
        if cells > MOST_CELLS:
            widest = max(self.categories, key=lambda name: len(self.categories[name]))
            raise InputError(
                f"these columns make {cells:,} cells, and {MOST_CELLS:,} is the most: leave one out, or give "
                f"{widest!r}, which has {len(self.categories[widest])} values, fewer of them"
            )
        for name in self.categories:
            if name in (TOTAL, DETAIL, VACANT, COUNT) or "*" in name:
                raise InputError(
                    f"a column called {name!r} cannot be told from a query: give it another name in a view"
                )
        for name, recode in self.recodes.items():
            self._check_recode(name, recode)
        if not self.possible.any():
            raise InputError("zeros leave no combination of categories that somebody can have: remove one of them")

    def _check_recode(self, name: str, recode: Recode) -> None:
        if name in self.categories or name in (TOTAL, DETAIL, VACANT, COUNT) or "*" in name:
            raise InputError(f"recode {name!r} has the name of something else: choose another")
        if recode.column not in self.categories:
            raise InputError(f"recode {name!r} is of {recode.column!r}, which is no column of this census")
        missing = [value for value in self.categories[recode.column] if value not in recode.groups]
        unknown = [value for value in recode.groups if value not in self.categories[recode.column]]
        if missing or unknown:
            what = f"says no group for {missing[0]!r}" if missing else f"has an unknown category {unknown[0]!r}"
            raise InputError(f"recode {name!r} {what}: list every category of {recode.column!r} once")

    @cached_property
    def shape(self) -> tuple[int, ...]:
        return tuple(len(values) for values in self.categories.values())

    @property
    def cells(self) -> int:
        return prod(self.shape)

    @cached_property
    def parts(self) -> dict[str, Codes]:
        """For each column and recode, which of its values each cell has."""
        places = np.indices(self.shape).reshape(len(self.shape), self.cells)
        found = dict(zip(self.categories, places, strict=True))
        for name, recode in self.recodes.items():
            groups = list(dict.fromkeys(recode.groups.values()))
            of = np.array([groups.index(recode.groups[value]) for value in self.categories[recode.column]])
            found[name] = of[found[recode.column]]
        return found

    def values(self, name: str) -> tuple[Value, ...]:
        """The values of a column, or the groups of a recode."""
        if name in self.recodes:
            return tuple(dict.fromkeys(self.recodes[name].groups.values()))
        return self.categories[name]

    def factors(self, query: str) -> tuple[str, ...]:
        """The columns and recodes that a query tells apart."""
        if query == TOTAL:
            return ()
        if query == DETAIL:
            return tuple(self.categories)
        names = tuple(part.strip() for part in query.split("*"))
        for name in names:
            if name not in self.parts:
                raise InputError(
                    f"query {query!r} names {name!r}, which is no column of this census: there are "
                    f"{', '.join(self.parts)}, and {TOTAL!r} and {DETAIL!r}"
                )
        if len(set(names)) < len(names):
            raise InputError(f"query {query!r} names a column twice")
        return names

    def partition(self, query: str) -> tuple[Codes, int]:
        """For each cell, in which of the query's counts it is; and how many of them there are."""
        names = self.factors(query)
        sizes = [len(self.values(name)) for name in names]
        if not names:
            return np.zeros(self.cells, dtype=np.int64), 1
        return np.ravel_multi_index([self.parts[name] for name in names], sizes), prod(sizes)

    def labels(self, query: str) -> tuple[tuple[str, ...], list[tuple[Value, ...]]]:
        """The columns of a query's table, and the values of each of its counts in order."""
        names = self.factors(query)
        return names, list(product(*(self.values(name) for name in names)))

    @cached_property
    def possible(self) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """The cells that somebody can have."""
        found = np.ones(self.cells, dtype=np.bool_)
        for rule in self.zeros:
            if not rule:
                raise InputError("one of zeros names no column: {} would leave nobody")
            hit = np.ones(self.cells, dtype=np.bool_)
            for name, given in rule.items():
                if name not in self.parts:
                    raise InputError(f"zeros name {name!r}, which is no column: there are {', '.join(self.parts)}")
                values = self.values(name)
                for value in (wanted := _listed(given)):
                    if value not in values:
                        raise InputError(f"zeros name {value!r}, which is no category of {name!r}")
                hit &= np.isin(self.parts[name], [values.index(value) for value in wanted])
            found &= ~hit
        return found

    def nested(self, one: str, other: str) -> bool:
        """Whether the counts of one query are sums of the other's."""
        first, second = (self.partition(query)[0] for query in (one, other))
        pairs = len(np.unique(first * self.cells + second))
        return pairs in (len(np.unique(first)), len(np.unique(second)))

    def json(self) -> dict[str, Any]:
        """What a program says of it."""
        return {
            "columns": {name: [_said(value) for value in values] for name, values in self.categories.items()},
            "recodes": {
                name: {
                    "column": recode.column,
                    "groups": [recode.groups[value] for value in self.values(recode.column)],
                }
                for name, recode in self.recodes.items()
            },
            "zeros": [
                {name: [_said(value) for value in _listed(given)] for name, given in rule.items()}
                for rule in self.zeros
            ],
        }


def _listed(given: Any) -> Sequence[Value]:
    return list(given) if isinstance(given, list | tuple | set | frozenset) else [given]


def _said(value: Value) -> Any:
    return value if isinstance(value, bool | int | str) or value is None else str(value)
