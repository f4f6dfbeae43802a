"""A dataset as somebody fills it in on a page: everything is text, much of it is still missing, some of it is wrong.

`toml` writes a draft as a policy file. What was typed becomes a number, a date or text by the type of its column; what
does not suit it is left as text, for the policy itself to say what is wrong. Nothing that was typed can become syntax.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AliasChoices, BaseModel, Field

from tacit.base import PolicyError, Problem
from tacit.policy import Policy, blanks, notes, parse
from tacit.policy.declaration import quoted
from tacit.policy.kind import ColumnType
from tacit.policy.read import quietly
from tacit.policy.write import bare, quote
from tacit.server.curate.sources import DataSource

__all__ = ["CheckedDraft", "Draft", "SourceDraft", "Strict", "check", "flagged", "promised"]

NUMBER = re.compile(r"[+-]?(0|[1-9][0-9]{0,60})(\.[0-9]{1,60})?([eE][+-]?[0-9]{1,3})?")

Short = Annotated[str, Field(max_length=200)]
Words = Annotated[str, Field(max_length=1000)]


class Strict(BaseModel, extra="forbid"):
    """A body in which every key is known."""


class SourceDraft(Strict, json_schema_extra={"examples": [{"file": "visits.csv"}]}):
    """Where the data is: a file below the data folder, or a database by the variable that holds its address."""

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
    group_keys: list[Words] = Field(default=[], max_length=5000, validation_alias=AliasChoices("group_keys", "keys"))
    nullable: bool = True
    hidden: bool = False


class TableDraft(Strict):
    """A table, and whose rows they are."""

    name: Words
    whose: Literal["", "unit", "each_row", "public"] = ""
    unit_column: Words = Field(default="", validation_alias=AliasChoices("unit_column", "unit"))
    clip_rows: Short = ""
    columns: list[ColumnDraft] = Field(default=[], max_length=2000)


class AnalystDraft(Strict):
    """Somebody who may ask; no list of tables means all of them."""

    name: Words
    limit: Short = ""
    each: Short = ""
    tables: list[Words] | None = Field(default=None, max_length=200)


EXAMPLE: dict[str, Any] = {
    "source": {"file": "visits.csv"},
    "name": "visits",
    "unit": "patient",
    "currency": "rho",
    "budget": "0.5",
    "delta": "1e-6",
    "tables": [
        {
            "name": "visits",
            "whose": "unit",
            "unit_column": "patient",
            "clip_rows": "10",
            "columns": [{"name": "age", "type": "integer", "low": "0", "high": "110"}],
        }
    ],
    "analysts": [{"name": "ana", "limit": "0.1"}],
}


class Draft(Strict, json_schema_extra={"examples": [EXAMPLE]}):
    """A whole dataset."""

    source: SourceDraft
    name: Words = ""
    people: Words = ""
    unit: Words = "person"
    currency: Short = "rho"
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
    lines += [*quoted_lines(draft, "people"), f"engine = {quote(engine)}"]
    lines += [f"source = {quote(source)}"] if source is not None else []
    lines += [f"ledger = {quote(ledger)}", "", "[privacy]", f"unit = {quote(draft.unit)}"]
    lines += [f"currency = {quote(draft.currency)}", f"relation = {quote(draft.relation)}"]
    lines += typed_lines(draft, "budget", "delta", "each", "population", "lifetime")
    lines += quoted_lines(draft, "reset")
    for table in draft.tables:
        lines += ["", *_table(table, sources.get(table.name))]
    for analyst in draft.analysts:
        lines += ["", f"[analysts.{bare(analyst.name)}]", *typed_lines(analyst, "limit", "each")]
        if analyst.tables is not None:
            lines.append(f"tables = [{', '.join(map(quote, analyst.tables))}]")
    return "\n".join(lines) + "\n"


def _table(table: TableDraft, source: str | None) -> Iterator[str]:
    yield f"[tables.{bare(table.name)}]"
    if source is not None:
        yield f"source = {quote(source)}"
    if table.whose == "unit" and table.unit_column:
        yield f"unit_column = {quote(table.unit_column)}"
    elif table.whose in ("each_row", "public"):
        yield "public = true" if table.whose == "public" else "each_row_is_a_unit = true"
    yield from typed_lines(table, "clip_rows")
    for column in table.columns:
        yield from ("", f"[tables.{bare(table.name)}.columns.{bare(column.name)}]", *quoted_lines(column, "type"))
        ends = [_point(end, column.type) for end in (column.low, column.high) if end]
        if ends:
            yield f"bounds = [{', '.join(ends)}]"
        yield from typed_lines(column, "step", "typical", "clip")
        if column.group_keys:
            yield f"group_keys = [{', '.join(_point(key, column.type) for key in column.group_keys)}]"
        if column.hidden:
            yield "hidden = true"
        if not column.nullable:
            yield "nullable = false"


def typed_lines(draft: Strict, *keys: str) -> list[str]:
    """A line for each of these that something was typed for: a number where it is one."""
    return [f"{key} = {typed_number(text)}" for key in keys if (text := getattr(draft, key))]


def quoted_lines(draft: Strict, *keys: str) -> list[str]:
    """The same for what is always a text."""
    return [f"{key} = {quote(text)}" for key in keys if (text := getattr(draft, key))]


def typed_number(text: str) -> str:
    return text if NUMBER.fullmatch(text) else quote(text)


def _point(text: str, kind: str) -> str:
    """A value as a column of this type has it."""
    if kind in (ColumnType.INTEGER, ColumnType.DECIMAL, ColumnType.FLOAT):
        return typed_number(text)
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
    engine = found.schema.engine
    text = toml(draft, engine=engine, source=found.source, sources=found.sources, ledger=ledger)
    problems = [*_twice(draft), *_strange(draft, found)]
    with quietly():  # what it would say is among the notes
        try:
            policy = None if problems else parse(text, folder=folder)
        except PolicyError as error:
            policy, problems = None, list(error.problems)
        if policy is not None:
            missing = tuple(Problem(each.path, f"{each.what}: needed for {each.prevents}") for each in blanks(policy))
            told: dict[str, Any] = {"blanks": missing, "notes": tuple(notes(policy)), "promise": promised(policy)}
            return CheckedDraft(text=text, policy=policy, problems=(), **told)
        promise, alone = None, draft.model_copy(update={"tables": [], "analysts": []})
        with suppress(PolicyError):  # what the budget means, if that part of the draft is right
            promise = promised(parse(toml(alone, engine=engine, source=None, sources={}, ledger="x"), folder=folder))
    return CheckedDraft(text=text, policy=None, problems=tuple(problems), promise=promise)


def _twice(draft: Draft) -> Iterable[Problem]:
    lists: list[tuple[tuple[str, ...], Sequence[AnalystDraft | TableDraft | ColumnDraft]]]
    lists = [(("analysts",), draft.analysts), (("tables",), draft.tables)]
    lists += [(("tables", table.name, "columns"), table.columns) for table in draft.tables]
    for place, parts in lists:
        for name, count in sorted(Counter(part.name for part in parts).items()):
            if count > 1:
                yield Problem((*place, name), f"{quoted(name)} is there twice: keep one")


def _strange(draft: Draft, found: DataSource) -> Iterable[Problem]:
    """Tables and columns that the source does not have, and bounds with one end."""
    for table in draft.tables:
        columns = found.schema.tables.get(table.name)
        if columns is None:
            yield Problem(("tables", table.name), f"there is no table {quoted(table.name)} in this source")
            continue
        if table.whose == "unit" and table.unit_column not in columns:
            yield Problem(("tables", table.name, "unit_column"), "choose the column that names the person")
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
