"""Where rows come from: a small closed tree of relations, each of whose rows belongs to one unit, or to the public.

Names of columns are unique in a plan. `unit` is the column that names a row's unit; `None` with `private` means that
each row is a unit of its own.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

from tacit.base import Refused, cached_property
from tacit.plan.expression import Column, Constant, Expression
from tacit.plan.facts import Facts, Type, domain_of
from tacit.plan.operation.text import LONGEST

__all__ = [
    "IF_GIVEN",
    "MOST_PARTS",
    "MOST_ROWS",
    "MOST_WORK",
    "UNSAID",
    "Filter",
    "Group",
    "Join",
    "Node",
    "Project",
    "Scan",
    "Source",
    "SubAggregate",
    "check_answer",
    "check_rows",
    "check_work",
    "most_rows",
    "scans_of",
    "work_of",
]

IF_GIVEN = {"described": "if given"}  # of a field that is part of it only where it says something: plans are older
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
        """The declared tables below."""
        return frozenset(scan.table for scan in scans_of(self))

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
    function: Literal["count", "sum", "avg", "min", "max"]  # count without argument counts rows
    argument: Expression | None
    facts: Facts


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

    Private with public: the rows keep their unit. Private with private: the units are among the keys. `left` joins
    keep every private row of the left side. `unique` says that the right side has at most one row for a key.
    """

    kind: Literal["inner", "left"]
    left: Node
    right: Node
    on: tuple[tuple[Expression, Expression], ...]  # left key, right key
    unique: bool = False

    @property
    def inputs(self) -> tuple[Node, ...]:
        return (self.left, self.right)

    @property
    def expressions(self) -> tuple[Expression, ...]:
        return tuple(key for pair in self.on for key in pair)

    @cached_property
    def schema(self) -> Mapping[str, Facts]:
        right = self.right.schema
        if self.kind == "left":
            right = {name: facts.but(nullable=True) for name, facts in right.items()}
        return {**self.left.schema, **right}


def scans_of(node: Node) -> Iterator[Scan]:
    """The tables that are read, each as often as it is."""
    return (each for each in node.walk() if isinstance(each, Scan))


MOST_ROWS = 1_000_000  # of one unit, after all joins
ROWS_OF_UNIT = 100  # in a private table that does not say how many
ROWS_OF_PUBLIC = 1_000  # of a public table that does not say how many
MOST_PARTS = 5_000  # of one expression
MOST_WORK = 20_000  # of one row: operations, with everything that is computed on the way written out
MOST_PASSED = 200_000  # the same, times how often the rows are read
MOST_ANSWER = 20_000_000  # operations on released values
PIECE = 64  # characters of text that count as one operation
MOST_KNOWN = 1_000  # texts whose lengths are looked at


# --- rows


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
        f"{place}this join is refused, since one unit could have {_about(rows)} rows in it, and {MOST_ROWS:,} is the "
        f"most: {', or '.join(ways)}{more}"
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


def _about(number: int) -> str:
    return f"{number:,}" if number < 10**12 else f"10^{len(str(number)) - 1}"


# --- work


@dataclass(frozen=True)
class Work:
    """What a relation takes for one row: `total` operations, and how many each of its columns stands for."""

    total: int
    columns: Mapping[str, int]


def check_work(source: Node, expressions: Iterable[Expression], *, passes: int = 1) -> None:
    """Refuse a question that would compute too much for each row, or that reads much in many passes over the rows."""
    below = work_of(source)
    seen: dict[int, int] = {}
    total = below.total + sum(_weight(expression, below.columns, seen) for expression in expressions)
    if total > MOST_WORK:
        raise Refused(
            f"this question is refused, since each row of it would take {_about(total)} operations when what WITH and "
            f"subqueries compute is written out, and {MOST_WORK:,} is the most: compute less of what is computed "
            "already, and use each computed column fewer times"
        )
    if total * passes > MOST_PASSED:
        raise Refused(
            f"this question is refused, since its quantiles, histograms and counts of different values read the rows "
            f"{passes} times, with {_about(total)} operations each: ask for fewer of them at once"
        )


def work_of(node: Node) -> Work:
    """The work of the relation `node`."""
    below = [work_of(each) for each in node.inputs]
    known = {name: size for each in below for name, size in each.columns.items()}
    seen: dict[int, int] = {}
    made = [_weight(expression, known, seen) for expression in node.expressions]
    total = sum(each.total for each in below) + sum(made)
    match node:
        case Project():
            carried = {node.unit: 1} if node.unit is not None else {}
            names = (name for name, _ in node.columns)
            return Work(total, {**carried, **dict(zip(names, made, strict=True))})
        case Scan() | Group():  # what is grouped has been computed, and is not computed again
            return Work(total, dict.fromkeys(node.schema, 1))
    return Work(total, known)


def _weight(expression: Expression, columns: Mapping[str, int], seen: dict[int, int]) -> int:
    """Operations of one expression. Parts that are shared are met once and counted each time."""
    found = seen.get(id(expression))
    if found is None:
        if isinstance(expression, Column):
            found = columns.get(expression.name, 1)
        else:
            found = 1 + _pieces(expression) + sum(_weight(part, columns, seen) for part in expression.parts)
        seen[id(expression)] = found
    return found


def _pieces(expression: Expression) -> int:
    """What a text that is made, or written down, adds for its length; texts that are made are cut at LONGEST."""
    if expression.facts.type is not Type.TEXT:
        return 0
    known = _longest(expression.facts)
    if isinstance(expression, Constant):
        return (known or 0) // PIECE
    return min(LONGEST, LONGEST if known is None else known) // PIECE


def _longest(facts: Facts) -> int | None:
    values = domain_of(facts, MOST_KNOWN)
    return None if values is None else max((len(value) for value in values if isinstance(value, str)), default=0)


def _named(expression: Expression) -> int:
    return len({part.name for part in expression.walk() if isinstance(part, Column)})


def check_answer(expressions: Iterable[Expression], groups: int) -> None:
    """Refuse to compute too much of an answer after its release: it is done in Python, group by group, and twice more
    for each number that noise moves."""
    made = [expression for expression in expressions if not isinstance(expression, Column)]  # others are there already
    parts = sum(expression.size * (1 + 2 * _named(expression)) for expression in made)
    if parts * groups > MOST_ANSWER:
        raise Refused(
            f"this question is refused, since its {groups:,} groups would take {_about(parts * groups)} operations "
            "after their release: ask for the aggregates, and compute with them yourself"
        )
