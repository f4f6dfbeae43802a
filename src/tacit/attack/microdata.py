"""Microdata from published tables: the people of a census block, one by one, from its statistics.

Each table is an equation for how many people there are of each kind. There are few people and many tables, so often one
block alone fits: Garfinkel, Abowd and Martindale (2018); in 2019 the Census Bureau did it to its own tables of 2010.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tacit.attack.block_programme import Programme, consistent
from tacit.attack.block_tables import Domain, Person, Row
from tacit.attack.subset_sums import Array
from tacit.base import InputError

__all__ = ["Block", "overlap", "rebuild"]


@dataclass(frozen=True)
class Block:
    """People that fit the tables. Every block that fits, the true one too, has at least `least` of them."""

    people: tuple[Person, ...]
    least: int

    @property
    def unique(self) -> bool:
        return self.least == len(self.people)


def rebuild(rows: Sequence[Row], domain: Domain) -> Block:
    """A block that would be published as `rows`, and how far another one that would be can differ from it.

    Two integer programmes: the second asks for the block with the fewest people in common with the first.
    """
    found = consistent(rows, domain).solve()
    if found is None:
        raise InputError("no block of people fits these tables: a row is wrong, or the domain too narrow")
    programme = consistent(rows, domain)
    counts = np.rint(found[: len(programme.kinds)]).astype(int)
    return Block(people=_people(programme, counts), least=_least(programme, counts))


def overlap(one: Sequence[Person], other: Sequence[Person]) -> int:
    """How many people both have, each counted as often as it occurs in both."""
    first, second = (Counter(tuple(sorted(person.items())) for person in block) for block in (one, other))
    return (first & second).total()


def _least(programme: Programme, counts: Array) -> int:
    """The fewest people that a solution shares with `counts`: min(x, count) is priced at each kind that occurs."""
    for place in np.flatnonzero(counts):
        count = int(counts[place])
        shared = programme.unknown(count, price=1.0)
        enough = programme.unknown(1)  # whether x may pass count: then all of count are shared
        programme.require([shared, place, enough], [1, -1, programme.people], 0, np.inf)
        programme.require([shared, enough], [1, -count], 0, np.inf)
    other = programme.solve()
    if other is None:
        raise InputError("no block of people fits these tables")
    return overlap(_people(programme, counts), _people(programme, np.rint(other[: len(counts)]).astype(int)))


def _people(programme: Programme, counts: Any) -> tuple[Person, ...]:
    return tuple(kind for kind, count in zip(programme.kinds, counts, strict=True) for _ in range(int(count)))
