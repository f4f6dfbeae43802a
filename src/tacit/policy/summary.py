"""What a policy leaves open, and what its curator may want to know."""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from tacit.policy.analyst import ANYBODY
from tacit.policy.column import Column
from tacit.policy.model import Policy
from tacit.policy.problem import duration, number, quoted
from tacit.policy.source import VARIABLE, with_password
from tacit.policy.table import Table
from tacit.policy.types import ColumnType

__all__ = ["Blank", "blanks", "notes"]


@dataclass(frozen=True, kw_only=True)
class Blank:
    """Something not declared yet, and the questions that wait for it."""

    place: str
    what: str
    prevents: str


def blanks(policy: Policy) -> list[Blank]:
    """Everything that is still to fill. None of it is an error until a question needs it."""
    found = [blank for table in policy.tables.values() if table.private for blank in _table(table)]
    if not policy.tables:
        found.append(Blank(place="[tables]", what="a table", prevents="every question"))
    if not policy.analysts:
        found.append(
            Blank(place="[analysts]", what='a name, or "*" for anybody', prevents="every question: nobody may ask")
        )
    return found


def _table(table: Table) -> Iterator[Blank]:
    if not table.unit and not table.each_row_is_a_unit:
        yield Blank(
            place=table.place,
            what="unit (or each_row_is_a_unit, or public)",
            prevents="every question about this table",
        )
    if table.unit and not any((table.clip_rows, table.max_rows_per_unit, table.max_groups)):
        yield Blank(
            place=table.place,
            what="clip_rows (or max_rows_per_unit, or max_groups)",
            prevents="COUNT(*), unless the question itself says how much one unit may add",
        )
    for column in table.columns.values():
        if not column.hidden and column.name != table.unit:
            yield from _column(column)


def _column(column: Column) -> Iterator[Blank]:
    name = column.name
    if column.type is None:
        yield Blank(place=column.place, what="type", prevents=f"every question that uses {name}")
    elif column.type.numeric and column.keys is None:
        if column.bounds is None:
            sums = f"SUM({name}), AVG({name}) and quantiles of {name}"
            yield Blank(place=column.place, what="bounds", prevents=sums)
    elif column.type in (ColumnType.DATE, ColumnType.TIMESTAMP) and column.bounds is None:
        yield Blank(
            place=column.place, what="bounds", prevents=f"all groups by {name} (only common ones would be found)"
        )


def notes(policy: Policy) -> list[str]:
    """Legal, and worth knowing."""
    return list(_notes(policy))


def _notes(policy: Policy) -> Iterator[str]:
    privacy, total = policy.privacy, policy.privacy.budget
    limits = [
        analyst.limit for name, analyst in policy.analysts.items() if name != ANYBODY and analyst.limit is not None
    ]
    together = sum(limits, Fraction(0))
    if together > total:
        yield (
            f"the analysts' limits add up to {number(together)}, more than the dataset's {number(total)}: all together "
            "cannot spend more than that, so whoever comes first is served first"
        )
    if privacy.population is not None and privacy.delta * privacy.population >= 1:
        yield f"delta = {number(privacy.delta)} is not below 1 divided by the population: choose one far below"
    if privacy.reset is not None:
        until = "without end" if privacy.lifetime is None else f"until {number(privacy.lifetime)} in all"
        yield f"every {duration(privacy.reset)} the same people pay again, {until}"
    if ANYBODY in policy.analysts:
        yield "anybody may ask, each name with a limit of its own: check names before questions reach tacit"
    used = {group for analyst in policy.analysts.values() for group in analyst.groups}
    for group in policy.groups:
        if group not in used:
            yield f"nobody is in group {quoted(group)}"
    for table in policy.tables.values():
        yield from _promises(table)
    for text in (policy.dataset.source, policy.dataset.ledger):
        if text and with_password(text):
            yield "a password stands in the file: write ${NAME} instead, and set NAME in the environment"
        if text and VARIABLE.search(text):
            names = ", ".join(dict.fromkeys(VARIABLE.findall(text)))
            yield f"{names} must be set in the environment when questions are asked"


def _promises(table: Table) -> Iterator[str]:
    if table.each_row_is_a_unit:
        yield f"{table.place}: you promise that no two rows are about the same person"
    if table.max_rows_per_unit is not None:
        yield f"{table.place}: you promise that nobody has more than {table.max_rows_per_unit} rows; nothing is cut"
    if table.unit and table.columns and table.unit not in table.columns:
        yield f"{table.place}: the unit column {quoted(table.unit)} is not among its columns; that is fine if it exists"
