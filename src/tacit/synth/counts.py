"""Exact marginals, counted by the engine: of each unit one vector of whole numbers, whose length is bounded.

Where each row is a unit it counts 1. Else the rows of a unit weigh 1/rows each, as the engine's clip to norm one in l1
makes them, rounded down on a lattice of `one` steps: over all cells of any marginal a unit adds at most `one`. A small
table that several marginals can be summed from is counted once: a sum over cells never lengthens a vector in l1.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import combinations
from math import prod
from typing import Any

import numpy as np

from tacit.base import Relation
from tacit.engine.result import Result
from tacit.plan.bounded import Bounded, Clip, Key, Measure
from tacit.plan.contribution import root_up, rows_per_unit
from tacit.plan.expression import Column
from tacit.plan.node import Node
from tacit.synth.domain import Domain
from tacit.synth.sample import Codes
from tacit.synth.tree import Clique

__all__ = ["ExactCounts", "Reach", "counted_by", "covering", "marginal_question"]

ONE = 2**16  # steps of a unit, where its rows weigh parts of it
BLOCK = 2**16  # cells of a table that several marginals are summed from
COUNT = "units"


@dataclass(frozen=True, kw_only=True)
class Reach:
    """How far one unit moves a marginal, in steps of which a unit counts `one`: in l1, and in l2 (docs/theory/
    synth-units.md). Replacing a unit is one vector less and another more, none of whose numbers are negative."""

    one: int
    relation: Relation

    @property
    def l1(self) -> Fraction:
        return Fraction(self.one if self.relation is Relation.ADD_REMOVE else 2 * self.one)

    @property
    def l2(self) -> Fraction:
        return Fraction(self.one) if self.relation is Relation.ADD_REMOVE else self.one * root_up(Fraction(2))

    @classmethod
    def of(cls, source: Node, relation: Relation) -> "Reach":
        return cls(one=1 if rows_per_unit(source) == 1 else ONE, relation=relation)


def counted_by(one: int) -> tuple[Measure, Clip]:
    """The measure of rows, and the clip that makes those of one unit weigh 1 together."""
    measure = Measure(name=COUNT, low=one, high=one)
    clip = Clip(
        names=(COUNT,), scales=(Fraction(1),), norm="l1", bound=Fraction(one), exempt=one == 1, row=Fraction(one)
    )
    return measure, clip


def marginal_question(source: Node, domain: Domain, clique: Clique, reach: Reach) -> Bounded:
    """The count of units in each cell of some columns."""
    keys = []
    for place in clique:
        column = domain.columns[place]
        read = Column(name=column.name, facts=source.schema[column.name])
        keys.append(Key(name=column.name, expression=column.expression(read)))
    measure, clip = counted_by(reach.one)
    return Bounded(source=source, keys=tuple(keys), measures=(measure,), clips=(clip,))


def covering(sizes: Sequence[int], cliques: Iterable[Clique]) -> list[Clique]:
    """Few tables of at most `BLOCK` cells that hold all of the marginals; one that is larger stands for itself."""
    left = sorted(set(cliques), key=lambda each: (-prod(sizes[place] for place in each), each))
    found: list[Clique] = []
    while left:
        block = set(left[0])
        open_ones = set(left[1:])
        while True:
            gains: dict[int, int] = {}
            for place in range(len(sizes)):
                if place in block or prod(sizes[each] for each in block) * sizes[place] > BLOCK:
                    continue
                gains[place] = sum(set(each) <= block | {place} and not set(each) <= block for each in open_ones)
            best = max(gains, key=lambda place: (gains[place], -sizes[place]), default=None)
            if best is None or not gains[best]:
                break
            block.add(best)
        made = tuple(sorted(block))
        found.append(made)
        left = [each for each in left if not set(each) <= block]
    return found


@dataclass(eq=False)
class ExactCounts:
    """True marginals in steps, each counted once. `ask` runs a question under the receipt: only noise may see these."""

    domain: Domain
    ask: Callable[[Clique], Result] = field(repr=False)
    told: Callable[[float], None] = field(default=lambda share: None, repr=False)
    _known: dict[Clique, Codes] = field(default_factory=dict, repr=False)

    def prepare(self, cliques: Iterable[Clique]) -> None:
        """Count what all of these can be summed from."""
        sizes = self.domain.sizes
        blocks = covering(sizes, cliques)
        for number, block in enumerate(blocks):
            self._known[block] = self._counted(block)
            self.told((number + 1) / len(blocks))

    def __getitem__(self, clique: Clique) -> Codes:
        found = self._known.get(clique)
        if found is not None:
            return found
        inside = [each for each in self._known if set(clique) <= set(each)]
        if inside:
            block = min(inside, key=lambda each: self._known[each].size)
            gone = tuple(axis for axis, place in enumerate(block) if place not in clique)
            found = np.asarray(self._known[block].sum(axis=gone))
        else:
            found = self._counted(clique)
        self._known[clique] = found
        return found

    def _counted(self, clique: Clique) -> Codes:
        shape = tuple(self.domain.sizes[place] for place in clique)
        result = self.ask(clique)
        table = np.zeros(shape, dtype=np.int64)
        values = result.groups.columns[COUNT].astype(np.int64)
        if not clique or not len(values):
            return table if clique else np.asarray(values.sum())
        codes = [_codes(column) for column in result.groups.keys]
        np.add.at(table, tuple(codes), values)
        return table


def _codes(column: Any) -> Codes:
    """Cell numbers of the groups."""
    listed = np.array([int(value) for value in column.values], np.int64)
    return np.asarray(listed[column.codes])


def pairs_of(count: int) -> list[Clique]:
    return list(combinations(range(count), 2))
