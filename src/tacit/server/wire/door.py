"""One connection's way to its dataset: what a statement gives back, running it, and what is held between two messages.
Every call here may block.

A cursor goes forward only. Its question is asked at the first FETCH. It ends with its transaction, unless it was
declared WITH HOLD.
"""

import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from tacit.base import CorruptLedger, KeyUsed, LedgerError, TacitError, Unpriced
from tacit.desk.show import spelled
from tacit.engine import Watch
from tacit.server.ask.datasets import Cancelled, Datasets, PricedQuestion
from tacit.server.ask.shelf import Shelf
from tacit.server.auth.people import Identity
from tacit.server.problem import Fault, keyed
from tacit.server.wire import statement as said
from tacit.server.wire.catalog.answer import look_up
from tacit.server.wire.catalog.tables import fields_of
from tacit.server.wire.lex import unqualified
from tacit.server.wire.message import copied
from tacit.server.wire.setting import Settings
from tacit.server.wire.value import KINDS, WireField, copy_lines, kind_of
from tacit.session import TableRelease

__all__ = ["Cursors", "Portal", "PreparedStatement", "WireDoor"]

TEXT, FLOAT = KINDS["text"], KINDS["float8"]
NUMBERS = ("int8", "float8")
COVERS = 2  # the end of an interval that is no end, but says what it covers
MOST_CURSORS = 100
BUDGET = ("holder", "currency", "limit", "spent", "left")


@dataclass
class PreparedStatement:
    """A statement with a name. `fields` are what the client was told that it gives."""

    sql: str
    kinds: tuple[int, ...]
    described: bool = False
    fields: Sequence[WireField] | None = None


@dataclass
class Portal:
    """A statement with its values. `rows` are those that were not sent yet, as bytes; None before it ran."""

    prepared: PreparedStatement
    statement: said.Statement | None
    results: tuple[int, ...]
    known: bool = False
    fields: Sequence[WireField] | None = None
    rows: list[bytes] | None = None
    tag: str = ""
    notes: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()


@dataclass
class Cursor:
    """A declared question. `rows` are those of its answer, None before it was asked; `place` the next of them."""

    inner: said.Ask | said.Browse
    hold: bool
    fields: Sequence[WireField]
    rows: Sequence[tuple[Any, ...]] | None = None
    place: int = 0

    def take(self, count: int | None) -> Sequence[tuple[Any, ...]]:
        """The next rows, at most so many; all that are left with None."""
        rows, first = self.rows or (), self.place
        self.place = len(rows) if count is None else min(len(rows), first + count)
        return rows[first : self.place]


class Cursors(dict[str, Cursor]):
    """Those of one connection, by name."""

    def declare(self, declared: said.Declare, fields: Sequence[WireField]) -> None:
        if declared.name in self:
            raise Fault("42P03", "there is a cursor of that name already")
        if len(self) >= MOST_CURSORS:
            raise Fault("53400", f"{MOST_CURSORS} cursors are open: close some")
        self[declared.name] = Cursor(declared.inner, declared.hold, fields)

    def __missing__(self, name: str) -> Cursor:
        raise Fault("34000", "there is no cursor of that name")

    def close(self, name: str | None) -> None:
        """Close one, or all with None."""
        if name is None:
            self.clear()
        else:
            self[name]  # refuses a name that is not there
            del self[name]

    def end_transaction(self) -> None:
        for name in [name for name, cursor in self.items() if not cursor.hold]:
            del self[name]


@dataclass(frozen=True)
class WireResult:
    """What running gave: rows under fields (None where a statement has none), a tag, and remarks for the analyst."""

    tag: str
    fields: Sequence[WireField] | None = None
    rows: Sequence[tuple[Any, ...]] = ()
    notes: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    frames: Sequence[bytes] | None = None  # messages that stand for the rows


class WireDoor:
    """One analyst at one dataset, with what the connection has set. Releases are laid on the shelf."""

    def __init__(self, datasets: Datasets, who: Identity, dataset: str, settings: Settings, shelf: Shelf) -> None:
        self.datasets, self.who, self.dataset, self.settings, self.shelf = datasets, who, dataset, settings, shelf
        self.cursors = Cursors()

    # --- describing: nothing runs and nothing is charged

    def fields(self, statement: said.Statement) -> list[WireField] | None:
        """The columns that a statement gives; None if it gives no rows."""
        match statement:
            case said.Ask(sql):
                return self._question_fields(unqualified(sql))
            case said.Browse(tree):
                return fields_of(tree)
            case said.Explain():
                return [WireField("QUERY PLAN", TEXT)]
            case said.Show("tacit.budget"):
                return [WireField(name, FLOAT if name in BUDGET[2:] else TEXT) for name in BUDGET]
            case said.Show("all"):
                return [WireField("name", TEXT), WireField("setting", TEXT)]
            case said.Show(name):
                return [WireField(name, TEXT)]
            case said.Fetch(name, _, False):
                return list(self.cursors[name].fields)
        return None

    def _question_fields(self, sql: str) -> list[WireField]:
        columns, noisy = self.datasets.columns(self.who, self.dataset, sql), set[str]()
        if self.settings.intervals:
            with suppress(TacitError):  # it has no price yet: asking it fails before it is charged
                noisy = {expected.column for expected in self._priced(sql).quote().expected}
        found = []
        for name, kind in columns:
            shape = kind_of(kind)
            found.append(WireField(name, shape))
            if name in noisy and shape.name in NUMBERS:
                found += [WireField(f"{name}_{end}", FLOAT, place) for place, end in enumerate(("low", "high"))]
                found.append(WireField(f"{name}_covers", TEXT, COVERS))
        return found

    def _priced(self, sql: str) -> PricedQuestion:
        return self.datasets.question(self.who, self.dataset, sql, **self.settings.offer())

    def _explained(self, sql: str, as_json: bool) -> list[str]:
        """What it costs, if something was offered for it, and how it is understood."""
        found, quote = self.datasets.explain(self.who, self.dataset, sql), None
        with suppress(Unpriced):
            quote = self._priced(sql).quote()
        if as_json:
            return [json.dumps({**({} if quote is None else quote.json()), **found.json()}, indent=2)]
        if quote is None:
            return ["nothing is offered for it yet: SET tacit.epsilon = 0.5 to see its price", *found.lines]
        after = f"{spelled(quote.left)} would be left" if quote.enough else "the budget does not allow it"
        expected = [f"{each.column}: {each.words}" for each in quote.expected]
        return [f"costs {spelled(quote.cost)}; {after}", *expected, *quote.notes, *found.lines]

    # --- running

    def run(self, statement: said.Statement, fields: Sequence[WireField] | None, watch: Watch) -> WireResult:
        """What a statement gives, under the fields it was described with."""
        match statement:
            case said.Ask(sql):
                return self._ask(unqualified(sql), fields or (), watch)
            case said.Browse(tree):
                policy = self.datasets.policy(self.who, self.dataset)
                rows = look_up(tree, fields or (), policy, self.who, self.settings)
                return WireResult(f"SELECT {len(rows)}", fields, rows)
            case said.Explain(sql, as_json):
                return WireResult("EXPLAIN", fields, [(line,) for line in self._explained(unqualified(sql), as_json)])
            case said.Show("tacit.budget"):
                return WireResult("SHOW", fields, self._budget())
            case said.Show("all"):
                return WireResult("SHOW", fields, self.settings.all())
            case said.Show(name):
                return WireResult("SHOW", fields, [(self.settings.show(name),)])
            case said.Set(name, value):
                return WireResult("SET", changed=(self.settings.set(name, value),))
            case said.Reset(None):
                self.settings.reset()
                return WireResult("RESET", changed=tuple(name for name, _ in self.settings.all()))
            case said.Reset(name):
                return WireResult("RESET", changed=(self.settings.set(name or "", None),))
            case said.Command(tag):
                return WireResult(tag)
            case said.Declare(_, inner):
                self.cursors.declare(statement, self.fields(inner) or ())
                return WireResult("DECLARE CURSOR")
            case said.Fetch():
                return self._fetch(statement, watch)
            case said.CloseCursor(name):
                self.cursors.close(name)
                return WireResult("CLOSE CURSOR" if name is not None else "CLOSE CURSOR ALL")
            case said.Copy(inner, form):
                columns = self.fields(inner) or ()
                found = self.run(inner, columns, watch)
                frames = copied(copy_lines(form, columns, found.rows), form.format == "binary", len(columns))
                return WireResult(f"COPY {len(found.rows)}", notes=found.notes, frames=frames)
        raise Fault("XX000", "this statement is not understood")

    def _fetch(self, fetch: said.Fetch, watch: Watch) -> WireResult:
        """The next rows of a cursor, whose question is asked and paid for the first time."""
        cursor, notes = self.cursors[fetch.name], tuple[str, ...]()
        if cursor.rows is None:
            found = self.run(cursor.inner, cursor.fields, watch)
            cursor.rows, notes = found.rows, found.notes
        rows = cursor.take(fetch.count)
        if fetch.move:
            return WireResult(f"MOVE {len(rows)}", notes=notes)
        return WireResult(f"FETCH {len(rows)}", cursor.fields, rows, notes)

    def _ask(self, sql: str, fields: Sequence[WireField], watch: Watch) -> WireResult:
        question = self._priced(sql)
        key = self.settings.key or question.key().name
        try:
            release = self.datasets.answer(question, key=key, watch=watch)
        except (KeyUsed, CorruptLedger):
            raise
        except (Cancelled, LedgerError) as error:
            raise keyed(error, key) from None
        self.shelf.put(self.who, self.dataset, sql, release)
        rows = list(zip(*_columns(release, fields), strict=True)) if fields else []
        return WireResult(f"SELECT {len(rows)}", fields, rows, tuple(release.notes))

    def _budget(self) -> list[tuple[Any, ...]]:
        standing = self.datasets.budget(self.who, self.dataset)
        currency = standing.currency
        unit = 10**currency.decimals
        return [
            (b.holder, currency.value, b.limit.spend / unit, b.window_spent.spend / unit, b.left.spend / unit)
            for b in standing.balances
        ]


def _columns(release: TableRelease, fields: Sequence[WireField]) -> list[list[Any]]:
    """The answer's columns in the order of the fields; the ends of an interval, and what it covers, come after their
    number."""
    names = list(release.table.column_names)
    if [each.name for each in fields if each.end is None] != names:
        raise Fault("XX000", "the answer has other columns than the plan")
    found: list[list[Any]] = []
    place = -1
    for each in fields:
        if each.end is None:
            place += 1
            found.append(_fitted(release.table.column(place).to_pylist(), each))
        elif each.end == COVERS:
            found.append([release.covers(names[place]).of] * release.table.num_rows)
        else:
            ends = release.intervals.get(names[place])
            found.append([None] * release.table.num_rows if ends is None else list(ends[each.end]))
    return found


def _fitted(values: list[Any], each: WireField) -> list[Any]:
    """Values of the column's type; a list that has no type here is written as JSON."""
    if each.kind is TEXT:
        return [json.dumps(value) if isinstance(value, list) else value for value in values]
    if any(isinstance(value, list) != (each.kind.element is not None) for value in values if value is not None):
        raise Fault("XX000", "the answer is of another type than the plan says")
    return values
