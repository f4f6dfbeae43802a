"""Where rows come from: a small closed tree of relations, each of whose rows belongs to one unit, or to the public.

Names of columns are unique in a plan. `unit` is the column that names a row's unit; `None` with `private` means that
each row is a unit of its own.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

from tacit.base import RefusalKind, Refused, cached_property
from tacit.plan.expression import Expression
from tacit.plan.facts import Facts, Type
from tacit.plan.owner import IF_GIVEN, CanonicalForm, UnitPath

__all__ = [
    "IF_GIVEN",
    "MOST_ROWS",
    "UNSAID",
    "CanonicalForm",
    "Filter",
    "Group",
    "Join",
    "Node",
    "Project",
    "Scan",
    "Source",
    "SubAggregate",
    "UnitPath",
    "about",
    "check_rows",
    "most_rows",
    "scans_of",
]

UNSAID = {"described": False}  # of a field that no answer depends on, so that it is no part of a plan's identity


@dataclass(frozen=True, kw_only=True)
class Node:
    """A relation: named columns with facts, and whose rows they are."""

    @property
    def inputs(self) -> "tuple[Node, ...]":
        """The relations that it is made of."""
        return ()

    @property
    def expressions(self) -> tuple[Expression, ...]:
        """What it computes or compares for each row."""
        return ()

    @property
    def schema(self) -> Mapping[str, Facts]:
        raise NotImplementedError

    @property
    def private(self) -> bool:
        return any(each.private for each in self.inputs)

    @property
    def unit(self) -> str | None:
        """The column of the private input; the left one if both are."""
        return next((each.unit for each in self.inputs if each.private), None)

    @property
    def tables(self) -> frozenset[str]:
        """The declared tables below, and those that tell whose their rows are."""
        return frozenset(table for scan in scans_of(self) for table in scan.reads)

    @property
    def row_inputs(self) -> "tuple[Node, ...]":
        """Those of the inputs whose rows it has."""
        return self.inputs

    def most(self, *sizes: int) -> int:
        """The most rows that one unit has here, by how many it has in each of `row_inputs`."""
        return sum(sizes)

    def walk(self) -> "Iterator[Node]":
        """Itself, and all that is below it."""
        yield self
        for each in self.inputs:
            yield from each.walk()


@dataclass(frozen=True, kw_only=True)
class Source:
    """One column of a table as the engine has it, and the name and facts it is read with."""

    name: str  # unique in the plan
    column: str  # in the table
    facts: Facts
    canonical: CanonicalForm | None = field(
        default=None, metadata=IF_GIVEN
    )  # the key of a link, read as it is compared


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
    path: UnitPath | None = field(default=None, metadata=IF_GIVEN)  # where no single column of the table names the unit

    @cached_property
    def schema(self) -> Mapping[str, Facts]:
        # a unit that was found on a path is a column of its own, in its canonical form
        found = (
            {}
            if self.path is None or self.unit_name is None
            else {self.unit_name: Facts(type=self.unit_type or Type.TEXT)}
        )
        return {**found, **{source.name: source.facts for source in self.columns}}

    @property
    def reads(self) -> tuple[str, ...]:
        """The table, and those that its links lead through."""
        return (self.table, *(link.table for link in self.path.links)) if self.path is not None else (self.table,)

    @property
    def private(self) -> bool:
        return self.is_private

    @property
    def unit(self) -> str | None:
        return self.unit_name


@dataclass(frozen=True, kw_only=True)
class _OnTop(Node):
    """A node over one other."""

    below: Node

    @property
    def inputs(self) -> tuple[Node, ...]:
        return (self.below,)

    @property
    def schema(self) -> Mapping[str, Facts]:
        return self.below.schema


@dataclass(frozen=True, kw_only=True)
class Filter(_OnTop):
    """The rows for which the condition is true (NULL is not true)."""

    condition: Expression

    @property
    def expressions(self) -> tuple[Expression, ...]:
        return (self.condition,)


@dataclass(frozen=True, kw_only=True)
class Project(_OnTop):
    """New columns from old ones. The unit column is always carried along under its name."""

    columns: tuple[tuple[str, Expression], ...]

    @property
    def expressions(self) -> tuple[Expression, ...]:
        return tuple(value for _, value in self.columns)

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
    function: Literal["count", "count_distinct", "sum", "avg", "min", "max"]  # count without argument counts rows
    argument: Expression | None
    facts: Facts
    assumed: bool = field(default=False, metadata=IF_GIVEN)  # its range is how far a unit counts, which may cut it


@dataclass(frozen=True, kw_only=True)
class Group(_OnTop):
    """One row per unit and value of the other keys. The unit is always among the keys, so rows still have an owner."""

    keys: tuple[tuple[str, Expression], ...]  # besides the unit
    aggregates: tuple[SubAggregate, ...]

    @property
    def expressions(self) -> tuple[Expression, ...]:
        given = [aggregate.argument for aggregate in self.aggregates if aggregate.argument is not None]
        return (*(value for _, value in self.keys), *given)

    @cached_property
    def schema(self) -> Mapping[str, Facts]:
        assert self.unit is not None  # a subquery that groups has a unit to group by
        carried = {self.unit: self.below.schema[self.unit]}
        keys = {name: expression.facts for name, expression in self.keys}
        return {**carried, **keys, **{aggregate.name: aggregate.facts for aggregate in self.aggregates}}


@dataclass(frozen=True, kw_only=True)
class Join(Node):
    """Two relations matched by equal keys, which are not NULL.

    Private with public: the rows keep their unit. Private with private: the units are among the keys, or the side named
    by `along` is linked to the other by the first key, and has its units from there. `left` joins keep every private
    row of the left side. `unique` says that the right side has at most one row for a key.
    """

    kind: Literal["inner", "left", "full"]  # full: of released tables alone
    left: Node
    right: Node
    on: tuple[tuple[Expression, Expression], ...]  # left key, right key
    unique: bool = False
    along: Literal["left", "right"] | None = field(default=None, metadata=IF_GIVEN)

    @property
    def inputs(self) -> tuple[Node, ...]:
        return (self.left, self.right)

    @property
    def expressions(self) -> tuple[Expression, ...]:
        return tuple(key for pair in self.on for key in pair)

    @cached_property
    def schema(self) -> Mapping[str, Facts]:
        left, right = self.left.schema, self.right.schema
        if self.kind != "inner":
            right = {name: facts.but(nullable=True) for name, facts in right.items()}
        if self.kind == "full":
            left = {name: facts.but(nullable=True) for name, facts in left.items()}
        return {**left, **right}


def scans_of(node: Node) -> Iterator[Scan]:
    """The tables that are read, each as often as it is."""
    return (each for each in node.walk() if isinstance(each, Scan))


MOST_ROWS = 1_000_000  # of one unit, after all joins
ROWS_OF_UNIT = 100  # in a private table that does not say how many
ROWS_OF_PUBLIC = 1_000  # of a public table that does not say how many


def most_rows(node: Node) -> int:
    """The most rows that one unit has in `node`, or that a public `node` has, as far as declarations say."""
    match node:
        case Scan() if not node.private:
            return ROWS_OF_PUBLIC if node.rows is None else node.rows
        case Scan():
            return 1 if node.unit is None else node.rows_per_unit or ROWS_OF_UNIT
        case Group() if not node.keys:
            return 1
        case Filter() | Project() | Group():
            return most_rows(node.below)
        case Join() if node.along is not None:  # the key of a link is unique, so a linked row has one match
            return most_rows(node.left if node.along == "left" else node.right)
        case Join():
            return most_rows(node.left) * (1 if node.unique else most_rows(node.right))
    return node.most(*map(most_rows, node.row_inputs))


def check_rows(node: Join, place: str = "") -> None:
    """Refuse a join in which one unit could have too many rows, with what to declare or to write."""
    rows = most_rows(node)
    if rows <= MOST_ROWS:
        return
    ways = ["join fewer tables"]
    scans = list(scans_of(node))
    if any(not scan.private for scan in scans):
        ways.append("join public tables on a key that the policy declares unique")
    missing = [
        *_undeclared(scans, private=False, key="rows"),
        *_undeclared(scans, private=True, key="max_rows_per_unit"),
    ]
    if any(scan.private and scan.unit is not None for scan in scans):
        ways.append("group by the unit in a subquery before joining it")
    more = f"; the curator can declare {', '.join(missing)}" if missing else ""
    raise Refused(
        f"{place}this join is refused, since one unit could have {about(rows)} rows in it, and {MOST_ROWS:,} is the "
        f"most: {', or '.join(ways)}{more}",
        kind=RefusalKind.LIMIT,
    )


def _undeclared(scans: Iterable[Scan], *, private: bool, key: str) -> list[str]:
    """What would tell the size of tables that were taken to have a usual one."""
    names = {
        scan.table
        for scan in scans
        if scan.private is private
        and (scan.rows_per_unit is None and scan.unit is not None if private else scan.rows is None)
    }
    return [f'{key} for table "{name}"' for name in sorted(names)]


def about(number: int) -> str:
    """A number for people, however large."""
    return f"{number:,}" if number < 10**12 else f"10^{len(str(number)) - 1}"
