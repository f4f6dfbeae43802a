"""One table: whose rows they are, and how much one unit may put into an answer."""

from collections.abc import Iterator, Mapping
from dataclasses import field, replace
from enum import StrEnum
from fractions import Fraction
from typing import ClassVar

from tacit.base import PolicyError, Problem
from tacit.policy import kind
from tacit.policy.column import Column
from tacit.policy.declaration import Declaration, declared, instead, listing, quoted, setting
from tacit.policy.kind import ColumnType
from tacit.policy.link import TableLink, link_kind
from tacit.policy.rule import (
    DEPENDENT,
    IMPOSSIBLE,
    DependentColumn,
    ImpossibleRow,
    dependent_kind,
    impossible_kind,
    rule_problems,
)

__all__ = ["Encoding", "Table"]


class Encoding(StrEnum):
    """How the characters of a text file are written as bytes."""

    UTF_8 = "utf-8"
    UTF_16 = "utf-16"
    LATIN_1 = "latin-1"
    WINDOWS_1252 = "windows-1252"


@declared
class Table(Declaration):
    """What is declared of a table: either it is public, or it says whose rows they are.

    `column` finds a declared column; `require_unit` and `require_clip_rows` give a declaration, or raise a
    `PolicyError` that names the table, the question and what to write.
    """

    renamed: ClassVar[Mapping[str, str]] = {"unit": "unit_column"}

    source: str | None = setting(
        "Where this table is, if not in the dataset's source: a file or folder, relative to the policy "
        "file, or the name it has in the database.",
        kind.text,
        example='"visits.parquet"',
        default=None,
    )
    unit_column: str | tuple[str, ...] | None = setting(
        "The column that names the protected person. All rows with the same value are hidden together. Where a person "
        'is named by several columns together, a list: `["tenant", "user"]`; a row in which one of them is NULL is '
        "nobody's.",
        kind.units,
        example='"patient_id"',
        default=None,
    )
    link: TableLink | None = setting(
        "Instead of `unit_column`: the rows belong to whom rows of another protected table belong to, found by a "
        "foreign key, at any depth. `column` is here, `key` is a column of `table` that is there once: by a constraint "
        "of the database, or by `tacit check --data`. A row that leads nowhere is nobody's; one that leads to several "
        "people counts for each of them.",
        link_kind,
        example='{ column = "order_id", table = "orders", key = "id" }',
        default=None,
    )
    each_row_is_a_unit: bool = setting(
        "Instead of `unit_column`: every row is a different person. A promise; two rows of one person are not "
        "protected as one.",
        kind.yes,
        example="true",
        default=False,
    )
    public: bool = setting(
        "Instead of `unit_column`: the table holds nothing about the people (a list of wards, a calendar). It is"
        " not protected, everybody may use it, and it may be joined on any key.",
        kind.yes,
        example="true",
        default=False,
    )
    rows: int | None = setting(
        "Of a public table: the most rows it has. Joined on a key that is not unique, a row has at most so many "
        "matches; a question in which one unit could have more than a million rows is refused. It is taken on "
        "trust, and decides nothing but that. Default: 1000.",
        kind.whole,
        example="365",
        default=None,
    )
    max_rows_per_unit: int | None = setting(
        "A promise that no unit has more rows than this. Nothing is cut, so if it is broken the guarantee is broken.",
        kind.whole,
        example="20",
        default=None,
    )
    clip_rows: Fraction | str | None = setting(
        "The most that one unit adds to counts of rows, over all groups together, as the length of the "
        'vector of its counts (see a column\'s `clip`). More is scaled down. `"private"` finds a value for'
        " a small part of the price.",
        kind.norm,
        example="20",
        default=None,
    )
    profile: Fraction | None = setting(
        "What the profile of this table costs, in the currency: a noisy histogram of how many rows units have, and of "
        "their sums of each number column with bounds. `tacit profile` makes it once, from the dataset's budget. "
        'Clips that are `"private"` are then chosen by it, for nothing, and intervals cover what clipping takes.',
        kind.number(above=0, most=10**6),
        example="0.01",
        default=None,
    )
    max_groups: int | None = setting(
        "The form BigQuery has instead of clipping: one unit counts in at most so many groups of an answer.",
        kind.whole,
        example="5",
        default=None,
    )
    rows_per_group: int | None = setting(
        "For use with `max_groups`: the most rows of one unit that count in one group.",
        kind.whole,
        example="3",
        default=None,
    )
    invariants: tuple[str, ...] = setting(
        "Counts that a census of this table may release exactly, by level and query. They are NOT protected: whoever "
        "is told apart by them is not hidden. `vacant` is which places are empty. Left out: none.",
        kind.texts,
        example='["state.total", "block.vacant"]',
        default=(),
    )
    impossible: tuple[ImpossibleRow, ...] = setting(
        "Combinations that no row has, from the meaning of the columns and never from the rows. Of a number or a date "
        "[lower, upper], of a category one value or some. A synthetic table keeps them in every row.",
        impossible_kind,
        example=IMPOSSIBLE,
        default=(),
    )
    follows: tuple[DependentColumn, ...] = setting(
        "Columns that follow from another one, with the value for each of its values; a value that is not listed may "
        "go with any. A synthetic table keeps them in every row.",
        dependent_kind,
        example=DEPENDENT,
        default=(),
    )
    delimiter: str | None = setting(
        "Of a CSV or TSV file: what stands between two cells. Default: a tab in .tsv files, else a comma.",
        kind.sign(),
        example='";"',
        default=None,
    )
    quote: str = setting(
        "Of a CSV or TSV file: what stands around a cell that holds a delimiter or a line break; inside, it is "
        'doubled. `""` for files without quotes.',
        kind.sign(absent=True),
        example='"\'"',
        default='"',
    )
    header: bool | tuple[str, ...] = setting(
        "Of a CSV or TSV file: `true` if its first line names the columns; else their names, in the order of the "
        "cells of a line.",
        kind.titles,
        example='["patient_id", "age", "ward"]',
        default=True,
    )
    encoding: Encoding = setting(
        "Of a CSV or TSV file: how its characters are written as bytes.",
        kind.choice(Encoding),
        example='"windows-1252"',
        default=Encoding.UTF_8,
    )
    null: tuple[str, ...] = setting(
        "Of a CSV or TSV file: the text of a cell without a value. A cell that does not suit its column's type has "
        "none either.",
        kind.texts,
        example='["", "NA"]',
        default=("",),
    )
    columns: Mapping[str, Column] = field(
        default_factory=dict,
        metadata=listing(
            "The columns that questions may use, by name. A column that is not listed cannot be used.",
            Column,
            "column",
        ),
    )
    name: str = ""

    def known_as(self, name: str) -> "Table":
        columns = {key: replace(column, name=key, table=name) for key, column in self.columns.items()}
        return replace(self, name=name, columns=columns)

    @property
    def place(self) -> str:
        return f"table {quoted(self.name)}"

    @property
    def private(self) -> bool:
        return not self.public

    @property
    def unit_columns(self) -> tuple[str, ...]:
        """Its own columns that name the unit; none where a link leads to it, or each row is one."""
        given = self.unit_column
        return () if given is None else (given,) if isinstance(given, str) else given

    @property
    def owned(self) -> bool:
        """Whether it says whose rows they are."""
        return bool(self.public or self.unit_column or self.link or self.each_row_is_a_unit)

    @property
    def needed(self) -> tuple[str, ...]:
        """The columns that say whose a row is, which are read whether or not questions may use them."""
        return (*self.unit_columns, *(() if self.link is None else (self.link.column,)))

    @property
    def kept_together(self) -> str | None:
        """The column by which a view may bring rows together: those of one value are one unit's. None: there is none,
        so each row is taken for itself."""
        return self.needed[0] if len(self.needed) == 1 else None

    def contradictions(self) -> Iterator[Problem]:
        whose = [word for word in ("unit_column", "link", "each_row_is_a_unit", "public") if getattr(self, word)]
        if len(whose) > 1:
            yield Problem((whose[0],), f"{' and '.join(whose)} exclude each other: keep the one that is true")
        contributions = ("max_rows_per_unit", "clip_rows", "profile", "max_groups", "rows_per_group")
        used = [word for word in contributions if getattr(self, word) is not None]
        if used and self.public:
            yield Problem((used[0],), f"{used[0]} is for protected tables, and this one is public: remove one of them")
        elif used and self.each_row_is_a_unit:
            yield Problem((used[0],), f"{used[0]} says nothing where each row is a unit of its own: remove it")
        if self.invariants and self.public:
            yield Problem(("invariants",), "invariants are of protected tables, and this one is public: remove them")
        if self.profile is not None and self.max_rows_per_unit is not None:
            yield Problem(
                ("profile",),
                "profile says nothing where max_rows_per_unit promises how many rows a unit has: remove one",
            )
        if self.rows is not None and not self.public:
            yield Problem(
                ("rows",),
                "rows is for public tables, and this one is protected: declare max_rows_per_unit, or remove it",
            )
        if self.quote and self.quote == self.delimiter:
            yield Problem(
                ("delimiter",),
                f"delimiter and quote are both {quoted(self.quote)}: a cell could not be told from its end",
            )
        if self.rows_per_group is not None and self.max_groups is None:
            yield Problem(
                ("rows_per_group",),
                "rows_per_group needs max_groups beside it: one unit could be in any number of groups",
            )
        yield from rule_problems(self.columns, self.impossible, self.follows)
        yield from self._columns()

    def _columns(self) -> Iterator[Problem]:
        yield from alike(self.columns, "column")
        for name, column in self.columns.items():
            path, place = ("columns", name), f"column {quoted(name)}"
            if self.unit_columns == (name,) and column.group_keys is not None:
                yield Problem(path, "it names the people, so its values are the secret: remove group_keys", place)
            if name in self.needed and column.type is ColumnType.FLOAT:
                names = "names the people" if name in self.unit_columns else "leads to the people"
                told = f"it {names}, and two of them can have the same float: store it as an integer or a text"
                yield Problem(path, f"{told}, and declare that", place)
            if column.unique and not self.public:
                told = "unique is for public tables, and this one is protected: remove it"
                yield Problem((*path, "unique"), told, place)
            if column.per_group is not None and self.max_groups is None:
                told = "per_group needs max_groups in the table: one unit could be in any number of groups"
                yield Problem((*path, "per_group"), told, place)

    def column(self, name: str, question: str = "this question") -> Column:
        """The declared column, usable; else an error that says what is there."""
        if name not in self.columns:
            known = [each for each, column in self.columns.items() if not column.hidden]
            raise PolicyError(
                f"{self.place}: there is no column {quoted(name)} in the policy, so {question} cannot use it: "
                f"{instead(name, known, those='columns')}"
            )
        column = self.columns[name]
        column.require_usable(question)
        return column

    def require_unit(self, question: str) -> str | tuple[str, ...] | None:
        """What names the unit; None where each row is one, or a link leads to it. A public table has none to give."""
        if self.public or not self.owned:
            what = "is public" if self.public else "does not say whose rows they are"
            fix = (
                "ask it together with a protected table"
                if self.public
                else 'declare unit_column = "…" (naming the person), link, each_row_is_a_unit = true, or public = true'
            )
            raise PolicyError(f"{self.place}: {what}, so {question} has nobody to protect: {fix}")
        return self.unit_column

    def require_clip_rows(self, question: str) -> Fraction | str:
        if self.clip_rows is None:
            raise PolicyError(
                f"{self.place}: clip_rows has not been declared, so {question} has no limit on what one unit adds: "
                'declare clip_rows = …, the most rows of one unit that count, or clip_rows = "private" in the policy'
            )
        return self.clip_rows


def alike(names: Mapping[str, object], what: str) -> Iterator[Problem]:
    """Names that SQL would not tell apart."""
    seen: dict[str, str] = {}
    for name in names:
        first = seen.setdefault(name.casefold(), name)
        if first != name:
            told = f"{what}s {quoted(first)} and {quoted(name)} differ in capitals only, which SQL does not see"
            yield Problem((), told)
