"""What a census gives exactly: counts that are read from the data and not protected, or that everybody knows.

"state.total" holds the total of every state at what the data say; "block.vacant" leaves blocks empty in which nobody
lives. Such counts are released as they are, so a policy has to name them in its table's `invariants`. A total that is
public knowledge may be given as a number instead, {"state.total": {"A": 1200}}, and so may empty places,
{"block.vacant": ["b7"]}: then nothing is read from the data for it, and the guarantee holds without a condition.

What is fixed at a level is fixed for every wider one, as sums. Whole counts that keep all of it exist wherever the
queries that are fixed at a level below the first are nested (docs/theory/topdown.md), so others are refused.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import Any

import numpy as np

from tacit.base import InputError, PolicyError, Relation
from tacit.base.number import whole
from tacit.census.schema import TOTAL, VACANT, CellSchema
from tacit.census.spine import Spine

__all__ = ["Held", "Invariants", "invariants_of"]

Whole = np.ndarray[Any, np.dtype[np.int64]]
Flags = np.ndarray[Any, np.dtype[np.bool_]]


@dataclass(frozen=True, kw_only=True, eq=False)
class Held:
    """What holds, by level: queries with their counts, a row for each place, and which places are empty."""

    fixed: tuple[Mapping[str, Whole], ...]
    empty: tuple[Flags, ...]


@dataclass(frozen=True, kw_only=True, eq=False)
class Invariants:
    """`read` are levels and queries whose counts are read from the data; `totals` and `vacant` are public, by level."""

    spine: Spine
    schema: CellSchema
    read: tuple[tuple[str, str], ...]
    totals: Mapping[str, Whole]
    vacant: Mapping[str, Flags]

    def __post_init__(self) -> None:
        for number, level in enumerate(self.spine.levels):
            for one, other in combinations(sorted(self.fixed[number]), 2):
                if number and not self.schema.nested(one, other):
                    raise InputError(
                        f"invariants {one!r} and {other!r} would both hold at level {level!r}, and there may be no "
                        f"whole numbers that keep both: hold one of them, or both at level {self.spine.levels[0]!r} "
                        f"alone, or {one} * {other} in their place"
                    )
        if self.totals and self.read:
            raise InputError(
                "totals that are given as numbers may contradict counts that are read from the data, which would only "
                "be known after the charge: give all invariants as numbers, or none"
            )
        held = self._declared()
        for number, level in enumerate(self.spine.levels):
            fixed = held.fixed[number].get(TOTAL)
            if fixed is None:
                continue
            for place in np.flatnonzero(held.empty[number] & (fixed[:, 0] > 0)):
                name, total = self.spine.names[number][place], int(fixed[place, 0])
                raise InputError(f"{level} {name!r} is vacant, and its total is {total:,}: one of them is wrong")

    def check_allowed(self, allowed: Sequence[str], table: str) -> None:
        """Refuse what the policy does not allow to be given exactly."""
        for level, query in self.read:
            if f"{level}.{query}" not in allowed:
                raise PolicyError(
                    f'table "{table}": "{level}.{query}" would be released exactly, without noise, and the policy does '
                    f'not allow that: its curator can declare invariants = ["{level}.{query}"] for the table, or give '
                    "the numbers here if they are public"
                )

    def check_relation(self, relation: Relation) -> None:
        """Refuse what would leave a guarantee that speaks of nobody."""
        if self.read and relation is not Relation.REPLACE:
            raise PolicyError(
                'the policy protects whether somebody is in the data (relation = "add_remove"), and invariants that '
                'are read from the data would tell: declare relation = "replace", which a census has, or leave '
                "invariants out"
            )

    @property
    def fixed(self) -> tuple[frozenset[str], ...]:
        """The queries that are held at each level."""
        named = [
            *((level, query) for level, query in self.read if query != VACANT),
            *((at, TOTAL) for at in self.totals),
        ]
        return tuple(
            frozenset(query for level, query in named if self.spine.place(level) >= number)
            for number in range(len(self.spine))
        )

    @property
    def impossible(self) -> Flags:
        """The narrowest places that are publicly known to be empty."""
        return self._declared().empty[-1]

    def _declared(self) -> Held:
        return self.held({})

    def held(self, counts: Mapping[tuple[str, str], Whole]) -> Held:
        """What holds, from the true counts of each level and query that is read; of VACANT, the totals."""
        levels = range(len(self.spine))
        fixed: list[dict[str, Whole]] = [{} for _ in levels]
        empty = [np.zeros(len(names), dtype=np.bool_) for names in self.spine.names]
        for (level, query), values in counts.items():
            place = self.spine.place(level)
            if query == VACANT:
                empty[place] |= values[:, 0] == 0
            else:
                fixed[place][query] = values
        for level, values in self.totals.items():
            fixed[self.spine.place(level)][TOTAL] = values
        for level, flags in self.vacant.items():
            empty[self.spine.place(level)] |= flags
        for place in reversed(levels[:-1]):
            starts = self.spine.children[place][:-1]
            empty[place] |= np.logical_and.reduceat(empty[place + 1], starts)
            for query, values in fixed[place + 1].items():
                fixed[place].setdefault(query, np.add.reduceat(values, starts, axis=0))
        for place in levels[1:]:
            empty[place] |= empty[place - 1][self.spine.parents[place]]
        return Held(fixed=tuple(fixed), empty=tuple(empty))

    def json(self) -> dict[str, Any]:
        """What a program says of it."""
        return {
            "read": [f"{level}.{query}" for level, query in self.read],
            "totals": {level: values[:, 0].tolist() for level, values in self.totals.items()},
            "vacant": {level: np.flatnonzero(flags).tolist() for level, flags in self.vacant.items()},
        }


def invariants_of(given: Iterable[str] | Mapping[str, Any], spine: Spine, schema: CellSchema) -> Invariants:
    """From a list of names, or from a mapping whose values are numbers, or None for what is read from the data."""
    if isinstance(given, str):
        raise InputError(f"invariants are a list: invariants=[{given!r}]")
    named = given if isinstance(given, Mapping) else dict.fromkeys(given)
    read, totals, vacant = [], {}, {}
    for name, values in named.items():
        level, dot, query = str(name).partition(".")
        if not dot:
            raise InputError(f'invariant {name!r} names no query: write it as "{spine.levels[0]}.{TOTAL}"')
        names = spine.names[spine.place(level)]
        if query != VACANT:
            schema.factors(query)
        if values is None:
            read.append((level, query))
        elif query == TOTAL:
            totals[level] = _numbers(name, names, values)
        elif query == VACANT:
            places = list(values)
            _known(name, names, places)
            vacant[level] = np.isin(np.array(names), [str(place) for place in places])
        else:
            raise InputError(f"invariant {name!r} cannot be given as numbers: only totals and vacant places can")
    found = Invariants(spine=spine, schema=schema, read=tuple(read), totals=totals, vacant=vacant)
    _check_sums(found)
    return found


def _known(name: str, names: Sequence[str], places: Iterable[Any]) -> None:
    for place in places:
        if str(place) not in names:
            raise InputError(f"invariant {name!r} names {place!r}, which is no place of that level")


def _numbers(name: str, names: Sequence[str], values: Mapping[str, Any]) -> Whole:
    if not isinstance(values, Mapping):
        raise InputError(f"invariant {name!r} is given as numbers by place: {{{names[0]!r}: 100}}")
    _known(name, names, values)
    found = {str(place): whole(value, f"{name} of {place}", least=0) for place, value in values.items()}
    missing = [place for place in names if place not in found]
    if missing:
        raise InputError(f"invariant {name!r} says nothing of {missing[0]!r}: give a number for every place")
    return np.array([[found[place]] for place in names], dtype=np.int64)


def _check_sums(found: Invariants) -> None:
    """Totals of two levels that do not add up."""
    levels = sorted(found.totals, key=found.spine.place)
    for wide, narrow in pairwise(levels):
        at, below = found.spine.place(wide), found.spine.place(narrow)
        sums = found.totals[narrow][:, 0]
        for place in range(below, at, -1):
            sums = np.bincount(found.spine.parents[place], weights=sums, minlength=len(found.spine.names[place - 1]))
        wrong = np.flatnonzero(sums != found.totals[wide][:, 0])
        if len(wrong):
            name = found.spine.names[at][wrong[0]]
            told = int(found.totals[wide][wrong[0], 0])
            raise InputError(
                f"{wide} {name!r} has the total {told:,}, and the {narrow} totals in it add up to "
                f"{int(sums[wrong[0]]):,}: make them agree, or leave one level out"
            )
