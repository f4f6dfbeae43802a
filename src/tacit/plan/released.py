"""What is made of released tables: relations whose leaves are answers. All of it is after the noise, so it is free.

The nodes are those of `node`, and a few that private rows never go through: they look at all rows at once.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from tacit.base import RefusalKind, Refused, cached_property
from tacit.plan.expression import Column, Expression
from tacit.plan.facts import Facts
from tacit.plan.node import Filter, Join, Node, Project, Scan
from tacit.plan.window import Order, WindowCall

__all__ = [
    "Appended", "DistinctRows", "OneRow", "Page", "ReleasedTable", "Total", "Totals", "Windows", "beside",
    "check_released_rows", "is_released", "keys_of", "meets_one", "rows_of",
]  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class ReleasedTable(Scan):
    """The answer of the measured question of this number; `keys` are the columns no two of its rows agree in, and
    `rows` is None where its groups are not known in advance."""

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


@dataclass(frozen=True, kw_only=True)
class OneRow(Node):
    """One row without a column: what SELECT reads that has no FROM."""

    @property
    def schema(self) -> Mapping[str, Facts]:
        return {}


@dataclass(frozen=True, kw_only=True)
class Appended(Node):
    """UNION ALL: the rows of all parts, one part after the other. Each column has a source in every part."""

    parts: tuple[Node, ...]
    columns: tuple[tuple[str, Facts, tuple[str, ...]], ...]

    @property
    def inputs(self) -> tuple[Node, ...]:
        return self.parts

    @cached_property
    def schema(self) -> Mapping[str, Facts]:
        return {name: facts for name, facts, _ in self.columns}


def is_released(node: Node) -> bool:
    """Whether any of it is an answer."""
    return any(isinstance(each, ReleasedTable | OneRow) for each in node.walk())


def keys_of(node: Node) -> tuple[str, ...] | None:
    """Columns that no two rows of what is made of answers agree in; none of them where there is one row at most."""
    match node:
        case ReleasedTable():
            return node.keys
        case OneRow():
            return ()
        case Totals():
            return tuple(name for name, _ in node.keys)
        case Filter() | Windows() | Page() | DistinctRows():
            return keys_of(node.below)
        case Project():
            names = {value.name: name for name, value in node.columns if isinstance(value, Column)}
            keys = keys_of(node.below)
            return None if keys is None or not names.keys() >= {*keys} else tuple(names[key] for key in keys)
        case Join() if node.kind != "full" and meets_one(node.right, node.on):
            return keys_of(node.left)
    return None


def meets_one(right: Node, on: Sequence[tuple[Expression, Expression]]) -> bool:
    """Whether these keys of a join of answers find one row of the right at most."""
    keys = keys_of(right)
    return keys is not None and {*keys} <= {key.name for _, key in on if isinstance(key, Column)}


def rows_of(node: Node) -> int | None:
    """The most rows of what is made of answers; None where nobody knows, since keys were not listed."""
    if keys_of(node) == ():
        return 1
    match node:
        case ReleasedTable():
            return node.rows
        case Page() if node.limit is not None:
            below = rows_of(node.below)
            return node.limit if below is None else min(below, node.limit)
        case Join():
            one, two = rows_of(node.left), rows_of(node.right)
            if node.kind != "full" and meets_one(node.right, node.on):
                return one
            if one is None or two is None:
                return None
            return one + two if meets_one(node.right, node.on) else one * two + one + two
    found = [rows_of(each) for each in node.inputs]
    known = [rows for rows in found if rows is not None]
    return sum(known) if len(known) == len(found) else None


def beside(node: Node, scalars: Sequence[Node]) -> Node:
    """The rows with these values beside each; NULL where such an answer has no row."""
    for each in scalars:
        node = Join(kind="left", left=node, right=each, on=(), unique=True)
    return node


MOST_RELEASED = 2_000_000


def check_released_rows(node: Join, place: str = "") -> None:
    """Refuse a join of answers that may be too large to be made, before any of them is paid for."""
    back = tuple((b, a) for a, b in node.on)
    if meets_one(node.right, node.on) or meets_one(node.left, back):
        return  # no more than there are in both
    rows = rows_of(node)
    if rows is None or rows > MOST_RELEASED:
        many = "could have any number of rows" if rows is None else f"could have {rows:,} rows"
        raise Refused(
            f"{place}this join of answers is refused, since it {many}, and {MOST_RELEASED:,} is the most: join on all "
            "keys that one of them is grouped by",
            kind=RefusalKind.LIMIT,
        )
