"""A dataset as somebody fills it in on a page: everything is text, much of it is still missing, some of it is wrong.

`toml` writes a draft as a policy file. What was typed becomes a number, a date or text by the type of its column; what
does not suit it is left as text, for the policy itself to say what is wrong. Nothing that was typed can become syntax.
"""

import re
from collections.abc import Iterator, Mapping
from datetime import date, datetime
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from tacit.policy.types import ColumnType
from tacit.policy.write import bare, quote

__all__ = ["AnalystDraft", "ColumnDraft", "Draft", "Source", "TableDraft", "toml"]

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
