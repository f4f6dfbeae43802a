"""How much one unit may give: what the curator declared, what the query said, and what follows from the rows' shape."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import floor, isqrt
from typing import Literal

from tacit.base import PolicyError, RefusalKind, Refused
from tacit.plan.bounded import Norm
from tacit.plan.combined import Levels
from tacit.plan.expression import Expression
from tacit.plan.facts import Type
from tacit.plan.moments import column_of, source_column
from tacit.plan.node import Filter, Group, Join, Node, Project, Scan
from tacit.plan.profile import TableProfile
from tacit.plan.question import Aggregate, LoweredQuestion

__all__ = ["PRIVATE", "ClipNorms", "Contribution", "check_units", "counted_tables", "root_up", "rows_per_unit"]

PRIVATE: Literal["private"] = "private"


@dataclass(frozen=True, kw_only=True)
class Contribution:
    """What was declared of how much one unit may give, in the units of the measures themselves.

    `rows` is a clip norm for counts, and for whatever has none of its own: so many rows, each as large as one can be.
    `columns` are clip norms of sums over a column. Either may be "private": chosen by the query for a small share of
    its price. `max_groups` with `rows_per_group` or `per_group` bounds make clip norms in the way BigQuery's users
    know. `profiles` of tables choose for nothing what is left "private". `missing` is what to say when a clip is
    needed and nothing was declared.
    """

    rows: Fraction | Literal["private"] | None = None
    columns: Mapping[str, Fraction | Literal["private"]] = field(default_factory=dict)
    max_groups: int | None = None
    rows_per_group: int | None = None
    per_group: Mapping[str, tuple[Fraction, Fraction]] = field(default_factory=dict)
    profiles: Mapping[str, TableProfile] = field(default_factory=dict)
    values: Mapping[str, int] = field(default_factory=dict)  # different ones that one unit adds, by column
    missing: str = "nothing says how much one unit may count: declare clip_rows for its table in the policy"


@dataclass(frozen=True, kw_only=True)
class ClipNorms:
    """The clip norms of one question."""

    said: Contribution
    question: LoweredQuestion
    norm: Norm
    shares: tuple[int, ...] = ()  # of the levels, where they are not equal

    @property
    def groups(self) -> int | None:
        """In how many groups a unit counts in full, where that was said."""
        return self.question.options.max_groups or self.said.max_groups if self.question.keys else 1

    @property
    def levels(self) -> int:
        """How many groupings are asked for at once: in each of them a unit counts as it would in one."""
        source = self.question.source
        return len(source.sets) if isinstance(source, Levels) else 1

    def over(self, groups: int) -> Fraction:
        """The norm of a vector of so many ones in each level, each counted as often as its share says."""
        shares = self.shares or (1,) * self.levels
        ones = Fraction(groups * sum(share if self.norm == "l1" else share**2 for share in shares))
        return ones if self.norm == "l1" else root_up(ones)

    def clip_norm(
        self, family: Sequence[Aggregate], row: Fraction, of: Expression | None = None, step: Fraction = Fraction(1)
    ) -> Fraction | None:
        """A clip norm in steps, None if it is to be chosen privately: what the query says, else what the policy says of
        the column, else so many rows of the largest size."""
        said, groups = self.said, self.groups
        name = (family[0].text if family else "") or "this question"
        given = [a.group_bounds for a in family if a.group_bounds is not None]
        if given and not {a.function for a in family} <= {"sum", "count"}:
            raise Refused(
                f"{name}: contribution_bounds_per_group is for SUM and COUNT: say contribution_bounds_per_row, which "
                "bounds each value",
                kind=RefusalKind.UNSUPPORTED,
            )
        column = None if of is None else column_of(of, self.question.source)
        if column is not None and column in said.columns and not given:
            clip = said.columns[column]
            return None if clip == PRIVATE else Fraction(clip) / step * self.over(1)
        if column is not None and column in said.per_group and not given:
            given = [said.per_group[column]]
        if given:
            if groups is None:
                raise Refused(
                    "contribution_bounds_per_group needs max_groups_contributed beside it: together they bound a unit",
                    kind=RefusalKind.DECLARATION,
                )
            return max(abs(end) for ends in given for end in ends) / step * self.over(groups)
        if said.rows is not None:
            return None if said.rows == PRIVATE else Fraction(said.rows) * row * self.over(1)
        if groups is not None and said.rows_per_group is not None:
            return self.over(groups) * said.rows_per_group * row
        raise PolicyError(f"{name}: {said.missing}")

    def apart(self, value: Expression) -> bool:
        """Whether sums of a value have a clip of their own, which one that is shared with a count would not be."""
        said, column = self.said, column_of(value, self.question.source)
        if column is None or said.profiles:
            return bool(said.profiles)
        own = said.columns.get(column)
        return column in said.per_group or (own is not None and (own != PRIVATE or said.rows != PRIVATE))

    def distinct_values(self, value: Expression) -> int | None:
        """How many different values one unit adds where the question does not say: what is declared of the column, else
        as many as rows of it count; None where neither is known."""
        name = source_column(value, self.question.source)
        if name is not None and name in self.said.values:
            return self.said.values[name]
        source = self.question.source
        vouched = rows_per_unit(source.below if isinstance(source, Levels) else source)
        if vouched is not None:
            return vouched
        rows = self.said.rows
        return None if rows is None or rows == PRIVATE else max(1, floor(rows))

    def in_groups(self, aggregate: Aggregate) -> Fraction | None:
        """The norm of ones over the groups a unit may be in."""
        if self.groups is not None:
            return self.over(self.groups)
        rows = self.said.rows
        if rows is None:
            raise PolicyError(f"{aggregate.text or 'COUNT(DISTINCT unit)'}: {self.said.missing}")
        # a unit's rows, spread as far as they go: r rows of norm r in one group are in r² groups of norm r
        return None if rows == PRIVATE else Fraction(rows) * self.over(1)


def rows_per_unit(node: Node) -> int | None:
    """The most rows of `node` that one unit can own, where that is known in advance."""
    match node:
        case Scan():
            return 1 if node.unit is None else node.rows_per_unit
        case Filter() | Project():
            return rows_per_unit(node.below)
        case Group():
            return rows_per_unit(node.below) if node.keys else 1
        case Join():
            return rows_per_unit(node.left) if node.unique and node.left.private and not node.right.private else None
    found = [rows_per_unit(each) for each in node.row_inputs]
    known = [rows for rows in found if rows is not None]
    return node.most(*known) if len(known) == len(found) else None


def counted_tables(node: Node) -> frozenset[str]:
    """The tables whose declarations bound how many of the rows are one unit's. A join along a link has the rows of its
    linked side, and a table that only says whose rows are has none of them."""
    match node:
        case Scan():
            return frozenset((node.table,))
        case Join() if node.along is not None:
            return counted_tables(node.left if node.along == "left" else node.right)
    return frozenset[str]().union(*map(counted_tables, node.inputs))


def check_units(source: Node) -> None:
    """Units that are compared must be declared as one type. Where one is not declared its stored type decides, which is
    compared when the dataset is opened."""
    for node in source.walk():
        units = {kind: None for side in node.inputs if (kind := _unit_type(side)) is not None}
        if len(units) > 1:
            raise PolicyError(
                f"the units of these tables are declared as {' and '.join(units)}, and are not compared: declare "
                "one type for both in the policy"
            )


def _unit_type(node: Node) -> Type | None:
    """The declared type of the units of some rows."""
    if isinstance(node, Scan):
        return node.unit_type if node.private and node.unit is not None else None
    return next((_unit_type(each) for each in node.inputs if each.private), None)


def root_up(value: Fraction, digits: int = 12) -> Fraction:
    """A fraction just above the square root."""
    scaled = value * 10 ** (2 * digits)
    whole = -(-scaled.numerator // scaled.denominator)
    root = isqrt(whole)
    return Fraction(root + (root * root < whole), 10**digits)
