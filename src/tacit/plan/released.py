"""What is made of released tables: relations whose leaves are answers. All of it is after the noise, so it is free.

The nodes are those of `node`, and a few that private rows never go through: they look at all rows at once.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from tacit.base import cached_property
from tacit.plan.expression import Expression
from tacit.plan.facts import Facts
from tacit.plan.node import Node, Scan
from tacit.plan.window import Order, WindowCall

__all__ = ["DistinctRows", "Page", "ReleasedTable", "Total", "Totals", "Windows", "is_released"]


@dataclass(frozen=True, kw_only=True)
class ReleasedTable(Scan):
    """The answer of the measured question of this number; `keys` are the columns no two of its rows agree in."""

    number: int
    keys: tuple[str, ...] | None = None


@dataclass(frozen=True, kw_only=True)
class _Above(Node):
    """A node over one other."""

    below: Node

    @property
    def inputs(self) -> tuple[Node, ...]:
        return (self.below,)

    @property
    def schema(self) -> Mapping[str, Facts]:
        return self.below.schema


@dataclass(frozen=True, kw_only=True)
class Windows(_Above):
    """The same rows with one more column for each window."""

    calls: tuple[WindowCall, ...]

    @property
    def expressions(self) -> tuple[Expression, ...]:
        return tuple(each for call in self.calls for each in call.expressions)

    @cached_property
    def schema(self) -> Mapping[str, Facts]:
        return {**self.below.schema, **{call.name: call.facts for call in self.calls}}


@dataclass(frozen=True, kw_only=True)
class Total:
    """An aggregate of released values."""

    name: str
    function: str
    facts: Facts
    argument: Expression | None = None
    condition: Expression | None = None  # FILTER
    distinct: bool = False
    fraction: Fraction | None = None  # of a quantile


@dataclass(frozen=True, kw_only=True)
class Totals(_Above):
    """One row for each combination of keys; without keys, one."""

    keys: tuple[tuple[str, Expression], ...]
    totals: tuple[Total, ...]

    @property
    def expressions(self) -> tuple[Expression, ...]:
        given = [part for each in self.totals for part in (each.argument, each.condition) if part is not None]
        return (*(value for _, value in self.keys), *given)

    @cached_property
    def schema(self) -> Mapping[str, Facts]:
        return {**{name: value.facts for name, value in self.keys}, **{each.name: each.facts for each in self.totals}}


@dataclass(frozen=True, kw_only=True)
class Page(_Above):
    """Rows in an order, and so many of them."""

    order: tuple[Order, ...] = ()
    limit: int | None = None
    offset: int = 0

    @property
    def expressions(self) -> tuple[Expression, ...]:
        return tuple(by.expression for by in self.order)


@dataclass(frozen=True, kw_only=True)
class DistinctRows(_Above):
    """The first of all rows that look alike."""


def is_released(node: Node) -> bool:
    """Whether any of it is an answer."""
    return any(isinstance(each, ReleasedTable) for each in node.walk())
