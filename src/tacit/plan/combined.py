"""Relations that combine others row by row: stacked on each other, marked by whether they have a match, or repeated for
each of several groupings. Every row still belongs to the unit that it belonged to.

One unit's rows in each of them follow from its own rows below, and from public ones: a match between private rows is by
the unit, and all that is repeated is the unit's own.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from tacit.base import cached_property
from tacit.plan.expression import Column, Expression, constant
from tacit.plan.facts import Facts, Type
from tacit.plan.node import Group, Node, SubAggregate
from tacit.plan.window import WindowCall

__all__ = ["Levels", "Match", "Stack", "StackedColumn", "UnitWindows", "assumed_in"]


@dataclass(frozen=True, kw_only=True)
class StackedColumn:
    """A column of a stack: its facts hold in every part, and `sources` are its names there."""

    name: str
    facts: Facts
    sources: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Stack(Node):
    """UNION ALL of private relations over the same units. The unit is a column under a name of its own."""

    parts: tuple[Node, ...]
    columns: tuple[StackedColumn, ...]
    unit_name: str

    @property
    def inputs(self) -> tuple[Node, ...]:
        return self.parts

    @property
    def unit(self) -> str | None:
        return self.unit_name

    @cached_property
    def schema(self) -> Mapping[str, Facts]:
        first = self.parts[0]
        assert first.unit is not None  # or they would not be stacked
        return {
            self.unit_name: Facts(type=first.schema[first.unit].type),
            **{each.name: each.facts for each in self.columns},
        }


@dataclass(frozen=True, kw_only=True)
class Match(Node):
    """The rows of the left with one more column: whether the right has a row with equal keys.

    A private right side is matched by the unit. "in" is NULL where SQL's IN is: with no equal key, and either a NULL
    among the right keys or a NULL to look for.
    """

    kind: Literal["exists", "in"]
    name: str
    left: Node
    right: Node
    on: tuple[tuple[Expression, Expression], ...]

    @property
    def inputs(self) -> tuple[Node, ...]:
        return (self.left, self.right)

    @property
    def row_inputs(self) -> tuple[Node, ...]:
        return (self.left,)

    @property
    def expressions(self) -> tuple[Expression, ...]:
        return tuple(key for pair in self.on for key in pair)

    @property
    def nullable(self) -> bool:
        return self.kind == "in" and any(key.facts.nullable for key in self.expressions) and not self.by_unit

    @property
    def by_unit(self) -> bool:
        return self.right.private

    @cached_property
    def schema(self) -> Mapping[str, Facts]:
        made = Facts(type=Type.BOOLEAN, domain=(False, True), nullable=self.nullable)
        return {**self.left.schema, self.name: made}


@dataclass(frozen=True, kw_only=True)
class Levels(Node):
    """Each row once for each of some sets of keys: `level` says which, and keys that are not in the set are NULL."""

    below: Node
    level: str
    keys: tuple[tuple[str, Expression], ...]
    sets: tuple[tuple[int, ...], ...]  # the places of the keys in each

    @property
    def inputs(self) -> tuple[Node, ...]:
        return (self.below,)

    def most(self, *sizes: int) -> int:
        return len(self.sets) * sum(sizes)

    @property
    def expressions(self) -> tuple[Expression, ...]:
        return tuple(value for _, value in self.keys)

    @cached_property
    def schema(self) -> Mapping[str, Facts]:
        numbers = tuple(range(len(self.sets)))
        level = Facts(type=Type.INTEGER, low=0, high=numbers[-1], step=constant(1).facts.step, domain=numbers,
                      nullable=False)  # fmt: skip
        masked = {name: value.facts.but(nullable=True) for name, value in self.keys}
        return {**self.below.schema, self.level: level, **masked}

    def column(self, name: str) -> Column:
        return Column(name=name, facts=self.schema[name])


@dataclass(frozen=True, kw_only=True)
class UnitWindows(Node):
    """The same rows with one more column for each window, which looks at the rows of the same unit alone.

    Rows that stand equal in an order are told apart by all of their columns, so that what is left to chance is which of
    two rows that are the same in everything is counted first.
    """

    below: Node
    calls: tuple[WindowCall, ...]

    @property
    def inputs(self) -> tuple[Node, ...]:
        return (self.below,)

    @property
    def expressions(self) -> tuple[Expression, ...]:
        return tuple(each for call in self.calls for each in call.expressions)

    @cached_property
    def schema(self) -> Mapping[str, Facts]:
        return {**self.below.schema, **{call.name: call.facts for call in self.calls}}


def assumed_in(node: Node) -> "Iterator[tuple[SubAggregate | WindowCall, Expression | None]]":
    """What is computed for each unit within a range that is only assumed, so that it may be cut; and of what."""
    for each in node.walk():
        if isinstance(each, Group):
            yield from ((made, made.argument) for made in each.aggregates if made.assumed)
        if isinstance(each, UnitWindows):
            yield from ((call, next(iter(call.arguments), None)) for call in each.calls if call.assumed)
