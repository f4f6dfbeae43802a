"""The reference of the policy file, from the model itself."""

from collections.abc import Iterator, Sequence
from dataclasses import MISSING, Field, dataclass
from fractions import Fraction
from typing import Any

from tacit.policy.column import Column
from tacit.policy.declaration import duration, keys, number, part_of, quoted, required, shown
from tacit.policy.kind import ColumnType
from tacit.policy.model import Dataset, Policy
from tacit.policy.privacy import ANYBODY, Analyst, Group, Privacy
from tacit.policy.source import VARIABLE, with_password
from tacit.policy.table import Table

__all__ = ["Blank", "as_markdown", "blanks", "notes", "tabled"]

HEADING = """\
# The policy file

Every key of `tacit.toml`, from the model that reads it. This page is written by `make docs` (`tacit check
--reference`). How to write one: [Declare a dataset](../how-to/declare-a-dataset.md).

Numbers are exact: `0.1` is a tenth, and `"1/3"` (in quotes) a third. Limits are rounded down to the ledger's grid. Text
is in quotes, dates are not. A key that is not listed here is an error. What may be left out is never guessed from the
data: the question that needs it is refused, and says what to declare. In Python the same keys are the arguments of
`Dataset`, `Privacy`, `Table`, `Column`, `Analyst` and `Group`, which a `Policy` is made of.
"""

SECTIONS: tuple[tuple[str, str, type], ...] = (
    ("`[dataset]`", "The data, and the people in it.", Dataset),
    ("`[privacy]`", "What the people are promised, and the total.", Privacy),
    ("`[tables.NAME]`", "One table. A table that is not declared cannot be asked.", Table),
    ("`[tables.NAME.columns.NAME]`", "One column. A column that is not declared cannot be used.", Column),
    ("`[analysts.NAME]`", 'Who may ask. `[analysts."*"]` is anybody who is not named, each alone.', Analyst),
    ("`[groups.NAME]`", "A limit that several analysts share.", Group),
)


def as_markdown() -> str:
    """The page docs/reference/policy.md."""
    return tabled(HEADING, SECTIONS)


def tabled(heading: str, sections: Sequence[tuple[str, str, type]]) -> str:
    """A page with a table of the keys of each part: its title, a sentence, and the class that reads it."""
    parts = [heading]
    for title, words, part in sections:
        rows = [_row(item) for item in keys(part) if part_of(item) is None]
        head = "| key | is | default | meaning |\n|---|---|---|---|\n"
        parts.append(f"\n## {title}\n\n{words}\n\n{head}" + "\n".join(rows) + "\n")
    return "".join(parts)


def _row(item: "Field[Any]") -> str:
    meta = item.metadata
    example = f" Example: `{item.name} = {meta['example']}`."
    cells = (f"`{item.name}`", meta["kind"].words, _default(item), meta["words"] + example)
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _default(item: "Field[Any]") -> str:
    if required(item):
        return "required"
    if item.default in (None, (), MISSING):
        return "–"
    value = item.default
    return f"`{shown(Fraction(value) if isinstance(value, int) and not isinstance(value, bool) else value)}`"


@dataclass(frozen=True, kw_only=True)
class Blank:
    """Something not declared yet, and the questions that wait for it."""

    path: tuple[str, ...]
    place: str
    what: str
    prevents: str


def blanks(policy: Policy) -> list[Blank]:
    """Everything that is still to fill. None of it is an error until a question needs it."""
    found = [blank for table in policy.tables.values() if table.private for blank in _table(table)]
    if not policy.tables:
        found.append(Blank(path=("tables",), place="[tables]", what="a table", prevents="every question"))
    if not policy.analysts:
        found.append(
            Blank(
                path=("analysts",),
                place="[analysts]",
                what='a name, or "*" for anybody',
                prevents="every question: nobody may ask",
            )
        )
    return found


def _table(table: Table) -> Iterator[Blank]:
    if not table.owned:
        yield Blank(
            path=("tables", table.name, "unit_column"),
            place=table.place,
            what="unit_column (or link, each_row_is_a_unit, or public)",
            prevents="every question about this table",
        )
    if table.needed and not any((table.clip_rows, table.max_rows_per_unit, table.max_groups, table.profile)):
        yield Blank(
            path=("tables", table.name, "clip_rows"),
            place=table.place,
            what="clip_rows (or profile, max_rows_per_unit, or max_groups)",
            prevents="COUNT(*), unless the question itself says how much one unit may add",
        )
    for column in table.columns.values():
        if not column.hidden and column.name not in table.needed:
            yield from _column(column)


def _column(column: Column) -> Iterator[Blank]:
    name, path = column.name, ("tables", column.table, "columns", column.name)
    if column.type is None:
        yield Blank(path=(*path, "type"), place=column.place, what="type", prevents=f"every question that uses {name}")
    elif column.type.numeric and column.group_keys is None:
        if column.bounds is None:
            sums = f"SUM({name}), AVG({name}) and quantiles of {name}"
            yield Blank(path=(*path, "bounds"), place=column.place, what="bounds", prevents=sums)
    elif column.type in (ColumnType.DATE, ColumnType.TIMESTAMP) and column.bounds is None:
        yield Blank(
            path=(*path, "bounds"),
            place=column.place,
            what="bounds",
            prevents=f"all groups by {name} (only common ones would be found)",
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
    for column in table.needed if table.columns else ():
        if column not in table.columns:
            what = "unit column" if column in table.unit_columns else "column of its link"
            yield f"{table.place}: the {what} {quoted(column)} is not among its columns; fine if it exists"
    if table.link is not None:
        yield (
            f"{table.place}: whose a row is follows from {table.link}; who may ask it must be allowed to ask "
            f"{quoted(table.link.table)} too"
        )
