"""Where rows come from: a small closed tree of relations, each of whose rows belongs to one unit, or to the public.

Names of columns are unique in a plan. `unit` is the column that names a row's unit; `None` with `private` means that
each row is a unit of its own.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

from tacit.plan.expression import Expression
from tacit.plan.facts import Facts, Type

__all__ = ["UNSAID", "Filter", "Group", "Join", "Node", "Project", "Scan", "Source", "SubAggregate", "scans_of"]


UNSAID = {"described": False}  # of a field that no answer depends on, so that it is no part of a plan's identity


@dataclass(frozen=True, kw_only=True)
class Node:
    """A relation: named columns with facts, and whose rows they are."""

    @property
    def schema(self) -> Mapping[str, Facts]:
        raise NotImplementedError

    @property
    def private(self) -> bool:
        raise NotImplementedError

    @property
    def unit(self) -> str | None:
        raise NotImplementedError

    @property
    def tables(self) -> frozenset[str]:
        """The declared tables below."""
        raise NotImplementedError


@dataclass(frozen=True, kw_only=True)
class Source:
    """One column of a table as the engine has it, and the name and facts it is read with."""

    name: str  # unique in the plan
    column: str  # in the table
    facts: Facts


@dataclass(frozen=True, kw_only=True)
class Scan(Node):
    """A declared table. Reading makes the facts true: numbers that are not finite become NULL, bounded values are
    clamped, values outside a declared domain become NULL (and the row is dropped where the column is a group key)."""

    table: str
    columns: tuple[Source, ...]
    is_private: bool
    unit_name: str | None = None  # one of the names in `columns`
    rows_per_unit: int | None = None  # a maximum the curator vouches for
    rows: int | None = field(default=None, metadata=UNSAID)  # of a public table, the most there are
    unit_type: Type | None = field(default=None, metadata=UNSAID)  # as the facts of its column; None: as stored

    @cached_property
    def schema(self) -> Mapping[str, Facts]:
        return {source.name: source.facts for source in self.columns}

    @property
    def private(self) -> bool:
        return self.is_private

    @property
    def unit(self) -> str | None:
        return self.unit_name

    @property
    def tables(self) -> frozenset[str]:
        return frozenset({self.table})


@dataclass(frozen=True, kw_only=True)
class _OnTop(Node):
    """A node over one other."""

    below: Node

    @property
    def schema(self) -> Mapping[str, Facts]:
        return self.below.schema

    @property
    def private(self) -> bool:
        return self.below.private

    @property
    def unit(self) -> str | None:
        return self.below.unit

    @property
    def tables(self) -> frozenset[str]:
        return self.below.tables


@dataclass(frozen=True, kw_only=True)
class Filter(_OnTop):
    """The rows for which the condition is true (NULL is not true)."""

    condition: Expression


@dataclass(frozen=True, kw_only=True)
class Project(_OnTop):
    """New columns from old ones. The unit column is always carried along under its name."""

    columns: tuple[tuple[str, Expression], ...]

    @cached_property
    def schema(self) -> Mapping[str, Facts]:
        carried = {self.unit: self.below.schema[self.unit]} if self.unit is not None else {}
        return {**carried, **{name: expression.facts for name, expression in self.columns}}


@dataclass(frozen=True, kw_only=True)
class SubAggregate:
    """An aggregate over the rows of one unit (and other keys) inside a subquery; exact, so no other unit matters.

    `sum` needs facts with bounds on its argument, and adds fixed-point integers of `step`.
    """

    name: str
    function: Literal["count", "sum", "avg", "min", "max"]  # count without argument counts rows
    argument: Expression | None
    facts: Facts


@dataclass(frozen=True, kw_only=True)
class Group(_OnTop):
    """One row per unit and value of the other keys. The unit is always among the keys, so rows still have an owner."""

    keys: tuple[tuple[str, Expression], ...]  # besides the unit
    aggregates: tuple[SubAggregate, ...]

    @cached_property
    def schema(self) -> Mapping[str, Facts]:
        assert self.unit is not None  # a subquery that groups has a unit to group by
        carried = {self.unit: self.below.schema[self.unit]}
        keys = {name: expression.facts for name, expression in self.keys}
        return {**carried, **keys, **{aggregate.name: aggregate.facts for aggregate in self.aggregates}}


@dataclass(frozen=True, kw_only=True)
class Join(Node):
    """Two relations matched by equal keys, which are not NULL.

    Private with public: the rows keep their unit. Private with private: the units are among the keys. `left` joins
    keep every private row of the left side. `unique` says that the right side has at most one row for a key.
    """

    kind: Literal["inner", "left"]
    left: Node
    right: Node
    on: tuple[tuple[Expression, Expression], ...]  # left key, right key
    unique: bool = False

    @cached_property
    def schema(self) -> Mapping[str, Facts]:
        right = self.right.schema
        if self.kind == "left":
            right = {name: facts.but(nullable=True) for name, facts in right.items()}
        return {**self.left.schema, **right}

    @property
    def private(self) -> bool:
        return self.left.private or self.right.private

    @property
    def unit(self) -> str | None:
        return self.left.unit if self.left.private else self.right.unit

    @property
    def tables(self) -> frozenset[str]:
        return self.left.tables | self.right.tables


def scans_of(node: Node) -> Iterator[Scan]:
    """The tables that are read, each as often as it is."""
    match node:
        case Scan():
            yield node
        case Join():
            yield from scans_of(node.left)
            yield from scans_of(node.right)
        case Filter() | Project() | Group():
            yield from scans_of(node.below)
