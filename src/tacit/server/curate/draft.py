"""A dataset as somebody fills it in on a page: everything is text, much of it is still missing, some of it is wrong.

`toml` writes a draft as a policy file. What was typed becomes a number, a date or text by the type of its column; what
does not suit it is left as text, for the policy itself to say what is wrong. Nothing that was typed can become syntax.
"""

import re
import warnings
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from tacit.base import PolicyError, PrivacyWarning, Problem
from tacit.policy import Policy, blanks, notes, parse
from tacit.policy.declaration import quoted
from tacit.policy.kind import ColumnType
from tacit.policy.write import bare, quote
from tacit.server.curate.sources import DataSource

__all__ = [
    "AnalystDraft",
    "CheckedDraft",
    "ColumnDraft",
    "Draft",
    "Source",
    "TableDraft",
    "check",
    "flagged",
    "promised",
    "toml",
]

NUMBER = re.compile(r"[+-]?(0|[1-9][0-9]{0,60})(\.[0-9]{1,60})?([eE][+-]?[0-9]{1,3})?")

Short = Annotated[str, Field(max_length=200)]
Words = Annotated[str, Field(max_length=1000)]


class Strict(BaseModel):
    """A body in which every key is known."""

    model_config = ConfigDict(extra="forbid")


class Source(Strict):
    """Where the data is: a file below the data folder, or a database by the variable that holds its address."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"file": "visits.csv"}]})
    file: Words | None = None
    database: Short | None = None


class ColumnDraft(Strict):
    """A column that may be asked about, or is hidden."""

    name: Words
    type: Short = ""
    low: Short = ""
    high: Short = ""
    step: Short = ""
    typical: Short = ""
    clip: Short = ""
    keys: list[Words] = Field(default=[], max_length=5000)
    nullable: bool = True
    hidden: bool = False


class TableDraft(Strict):
    """A table, and whose rows they are."""

    name: Words
    whose: Literal["", "unit", "each_row", "public"] = ""
    unit: Words = ""
    clip_rows: Short = ""
    columns: list[ColumnDraft] = Field(default=[], max_length=2000)


class AnalystDraft(Strict):
    """Somebody who may ask; no list of tables means all of them."""

    name: Words
    limit: Short = ""
    each: Short = ""
    tables: list[Words] | None = Field(default=None, max_length=200)


class Draft(Strict):
    """A whole dataset."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [
                {
                    "source": {"file": "visits.csv"},
                    "name": "visits",
                    "unit": "patient",
                    "currency": "epsilon",
                    "budget": "3",
                    "delta": "1e-6",
                    "tables": [
                        {
                            "name": "visits",
                            "whose": "unit",
                            "unit": "patient",
                            "clip_rows": "10",
                            "columns": [{"name": "age", "type": "integer", "low": "0", "high": "110"}],
                        }
                    ],
                    "analysts": [{"name": "ana", "limit": "1"}],
                }
            ]
        },
    )
    source: Source
    name: Words = ""
    people: Words = ""
    unit: Words = "person"
    currency: Short = "epsilon"
    relation: Short = "add_remove"
    budget: Short = ""
    delta: Short = ""
    each: Short = ""
    population: Short = ""
    reset: Short = ""
    lifetime: Short = ""
    tables: list[TableDraft] = Field(default=[], max_length=200)
    analysts: list[AnalystDraft] = Field(default=[], max_length=2000)


def toml(draft: Draft, *, engine: str, source: str | None, sources: Mapping[str, str], ledger: str) -> str:
    """The policy file of a draft; where things are is the service's to say, not the draft's."""
    lines = ["# Declared in the console.", "", "[dataset]", f"name = {quote(draft.name)}"]
    lines += [f"people = {quote(draft.people)}"] if draft.people else []
    lines += [f"engine = {quote(engine)}"]
    lines += [f"source = {quote(source)}"] if source is not None else []
    lines += [f"ledger = {quote(ledger)}", "", "[privacy]", f"unit = {quote(draft.unit)}"]
    lines += [f"currency = {quote(draft.currency)}", f"relation = {quote(draft.relation)}"]
    for key in ("budget", "delta", "each", "population", "lifetime"):
        lines += _typed(key, getattr(draft, key))
    lines += [f"reset = {quote(draft.reset)}"] if draft.reset else []
    for table in draft.tables:
        lines += ["", *_table(table, sources.get(table.name))]
    for analyst in draft.analysts:
        lines += ["", f"[analysts.{bare(analyst.name)}]", *_typed("limit", analyst.limit)]
        lines += _typed("each", analyst.each)
        if analyst.tables is not None:
            lines.append(f"tables = [{', '.join(map(quote, analyst.tables))}]")
    return "\n".join(lines) + "\n"


def _table(table: TableDraft, source: str | None) -> Iterator[str]:
    yield f"[tables.{bare(table.name)}]"
    if source is not None:
        yield f"source = {quote(source)}"
    if table.whose == "unit" and table.unit:
        yield f"unit = {quote(table.unit)}"
    elif table.whose in ("each_row", "public"):
        yield "public = true" if table.whose == "public" else "each_row_is_a_unit = true"
    yield from _typed("clip_rows", table.clip_rows)
    for column in table.columns:
        yield ""
        yield f"[tables.{bare(table.name)}.columns.{bare(column.name)}]"
        yield from _column(column)


def _column(column: ColumnDraft) -> Iterator[str]:
    if column.type:
        yield f"type = {quote(column.type)}"
    if column.low or column.high:
        ends = [_point(end, column.type) for end in (column.low, column.high) if end]
        yield f"bounds = [{', '.join(ends)}]"
    for key in ("step", "typical", "clip"):
        yield from _typed(key, getattr(column, key))
    if column.keys:
        yield f"keys = [{', '.join(_point(key, column.type) for key in column.keys)}]"
    if column.hidden:
        yield "hidden = true"
    if not column.nullable:
        yield "nullable = false"


def _typed(key: str, text: str) -> list[str]:
    """A line for what was typed, if anything was: a number where it is one."""
    return [f"{key} = {_number(text)}"] if text else []


def _number(text: str) -> str:
    return text if NUMBER.fullmatch(text) else quote(text)


def _point(text: str, kind: str) -> str:
    """A value as a column of this type has it."""
    if kind in (ColumnType.INTEGER, ColumnType.DECIMAL, ColumnType.FLOAT):
        return _number(text)
    if kind == ColumnType.BOOLEAN and text in ("true", "false"):
        return text
    try:
        if kind == ColumnType.DATE:
            return date.fromisoformat(text).isoformat()
        if kind == ColumnType.TIMESTAMP and (found := datetime.fromisoformat(text)).tzinfo is None:
            return found.isoformat()
    except ValueError:
        pass
    return quote(text)


def flagged(problem: Problem) -> dict[str, Any]:
    """A problem as a form is told of it."""
    return {"place": list(problem.path), "text": problem.text}


@dataclass(frozen=True, kw_only=True)
class CheckedDraft:
    """A draft that was looked through; `policy` is there if nothing is wrong, blanks or no blanks."""

    text: str
    policy: Policy | None
    problems: tuple[Problem, ...]
    blanks: tuple[Problem, ...] = ()
    notes: tuple[str, ...] = ()
    promise: Mapping[str, Any] | None = None

    def json(self) -> dict[str, Any]:
        return {
            "valid": self.policy is not None,
            "problems": [flagged(problem) for problem in self.problems],
            "blanks": [flagged(blank) for blank in self.blanks],
            "notes": list(self.notes),
            "promise": self.promise,
            "toml": self.text,
        }


def check(draft: Draft, found: DataSource, *, ledger: str, folder: Path) -> CheckedDraft:
    """Everything that is wrong with a draft of this source, at once."""
    text = toml(draft, engine=found.schema.engine, source=found.source, sources=found.sources, ledger=ledger)
    problems = [*_twice(draft), *_strange(draft, found)]
    policy = None
    try:
        if not problems:
            policy = _parsed(text, folder)
    except PolicyError as error:
        problems += error.problems
    if policy is None:
        return CheckedDraft(text=text, policy=None, problems=tuple(problems), promise=_alone(draft, found, folder))
    open_ = [Problem(blank.path, f"{blank.what}: needed for {blank.prevents}") for blank in blanks(policy)]
    told = tuple(notes(policy))
    return CheckedDraft(
        text=text, policy=policy, problems=(), blanks=tuple(open_), notes=told, promise=promised(policy)
    )


def _alone(draft: Draft, found: DataSource, folder: Path) -> Mapping[str, Any] | None:
    """What the budget means, if that part of the draft is right, whatever else is not."""
    bare = draft.model_copy(update={"tables": [], "analysts": []})
    try:
        return promised(_parsed(toml(bare, engine=found.schema.engine, source=None, sources={}, ledger="x"), folder))
    except PolicyError:
        return None


def _parsed(text: str, folder: Path) -> Policy:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivacyWarning)  # told among the notes
        return parse(text, folder=folder)


def _twice(draft: Draft) -> Iterable[Problem]:
    for what, names in (
        ("analysts", [analyst.name for analyst in draft.analysts]),
        ("tables", [table.name for table in draft.tables]),
    ):
        for name in sorted({name for name in names if names.count(name) > 1}):
            yield Problem((what, name), f"{quoted(name)} is there twice: keep one")
    for table in draft.tables:
        columns = [column.name for column in table.columns]
        for name in sorted({name for name in columns if columns.count(name) > 1}):
            yield Problem(("tables", table.name, "columns", name), f"{quoted(name)} is there twice: keep one")


def _strange(draft: Draft, found: DataSource) -> Iterable[Problem]:
    """Tables and columns that the source does not have, and bounds with one end."""
    for table in draft.tables:
        columns = found.schema.tables.get(table.name)
        if columns is None:
            yield Problem(("tables", table.name), f"there is no table {quoted(table.name)} in this source")
            continue
        if table.whose == "unit" and table.unit not in columns:
            yield Problem(("tables", table.name, "unit"), "choose the column that names the person")
        for column in table.columns:
            path = ("tables", table.name, "columns", column.name)
            if column.name not in columns:
                yield Problem(path, f"there is no column {quoted(column.name)} in this table")
            if bool(column.low) != bool(column.high):
                yield Problem((*path, "bounds"), "bounds have two ends: fill in both, or none")


def promised(policy: Policy) -> Mapping[str, Any]:
    """What the whole budget means, spent."""
    privacy = policy.privacy
    found = privacy.promise.meaning(delta=privacy.delta)
    return {"epsilon": found.epsilon, "delta": found.delta, "sentence": found.sentence, "strength": found.strength}
