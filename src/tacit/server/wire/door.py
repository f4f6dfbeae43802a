"""One connection's way to its dataset: what a statement gives back, and running it. Every call here may block."""

import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from tacit.base import CorruptLedger, KeyUsed, LedgerError, TacitError
from tacit.desk.show import spelled
from tacit.engine import Watch
from tacit.server.ask.datasets import Cancelled, Datasets
from tacit.server.ask.shelf import Shelf
from tacit.server.auth.people import Identity
from tacit.server.wire.catalog.answer import look_up
from tacit.server.wire.catalog.types import fields_of
from tacit.server.wire.copying import Copy, copied
from tacit.server.wire.cursor import CloseCursor, Cursors, Declare, Fetch
from tacit.server.wire.fault import Fault, keyed
from tacit.server.wire.lex import unqualified
from tacit.server.wire.setting import Settings
from tacit.server.wire.statement import Ask, Browse, Command, Explain, Reset, Set, Show, Statement
from tacit.server.wire.value import KINDS, WireField, kind_of
from tacit.session import Quote, TableRelease

__all__ = ["WireDoor", "WireResult"]

TEXT, FLOAT = KINDS["text"], KINDS["float8"]
NUMBERS = ("int8", "float8")
BUDGET = ("holder", "currency", "limit", "spent", "left")


@dataclass(frozen=True)
class WireResult:
    """What running gave: rows under fields (None where a statement has none), a tag, and remarks for the analyst."""

    tag: str
    fields: Sequence[WireField] | None = None
    rows: Sequence[tuple[Any, ...]] = ()
    notes: tuple[str, ...] = ()
    changed: tuple[str, ...] = field(default=())
    frames: Sequence[bytes] | None = None  # messages that stand for the rows


class WireDoor:
    """One analyst at one dataset, with what the connection has set. Releases are laid on the shelf, if there is one."""

    def __init__(
        self, datasets: Datasets, who: Identity, dataset: str, settings: Settings, shelf: Shelf | None = None
    ) -> None:
        self.datasets, self.who, self.dataset, self.settings, self.shelf = datasets, who, dataset, settings, shelf
        self.cursors = Cursors()

    # --- describing: nothing runs and nothing is charged

    def fields(self, statement: Statement) -> list[WireField] | None:
        """The columns that a statement gives; None if it gives no rows."""
        match statement:
            case Ask(sql):
                return self._asked(self._plain(sql))
            case Browse(tree):
                return fields_of(tree)
            case Explain():
                return [WireField("QUERY PLAN", TEXT)]
            case Show("tacit.budget"):
                return [WireField(name, FLOAT if name in BUDGET[2:] else TEXT) for name in BUDGET]
            case Show("all"):
                return [WireField("name", TEXT), WireField("setting", TEXT)]
            case Show(name):
                return [WireField(name, TEXT)]
            case Fetch(name, _, False):
                return list(self.cursors.fields(name))
        return None

    def _asked(self, sql: str) -> list[WireField]:
        columns = self.datasets.columns(self.who, self.dataset, sql)
        noisy = self._noisy(sql) if self.settings.intervals else set()
        found = []
        for name, kind in columns:
            shape = kind_of(kind)
            found.append(WireField(name, shape))
            if name in noisy and shape.name in NUMBERS:
                found += [WireField(f"{name}_low", FLOAT, 0), WireField(f"{name}_high", FLOAT, 1)]
        return found

    def _noisy(self, sql: str) -> set[str]:
        """The columns that are noisy. Where a question has no price yet, asking it fails before it is charged."""
        with suppress(TacitError):
            quote = self.datasets.quote(self.who, self.dataset, sql, **self.settings.offer())
            return {expected.column for expected in quote.expected}
        return set()

    def _plain(self, sql: str) -> str:
        return unqualified(sql, ("public",))

    # --- running

    def run(self, statement: Statement, fields: Sequence[WireField] | None, watch: Watch) -> WireResult:
        """What a statement gives, under the fields it was described with."""
        match statement:
            case Ask(sql):
                return self._ask(self._plain(sql), fields or (), watch)
            case Browse(tree):
                policy = self.datasets.policy(self.who, self.dataset)
                rows = look_up(tree, fields or (), policy, self.who, self.settings)
                return WireResult(f"SELECT {len(rows)}", fields, rows)
            case Explain(sql, as_json):
                quote = self.datasets.quote(self.who, self.dataset, self._plain(sql), **self.settings.offer())
                lines = [json.dumps(quote.json(), indent=2)] if as_json else _lines(quote)
                return WireResult("EXPLAIN", fields, [(line,) for line in lines])
            case Show("tacit.budget"):
                return WireResult("SHOW", fields, self._budget())
            case Show("all"):
                return WireResult("SHOW", fields, self.settings.all())
            case Show(name):
                return WireResult("SHOW", fields, [(self.settings.show(name),)])
            case Set(name, value):
                return WireResult("SET", changed=(self.settings.set(name, value),))
            case Reset(None):
                self.settings.reset()
                return WireResult("RESET", changed=tuple(name for name, _ in self.settings.all()))
            case Reset(name):
                return WireResult("RESET", changed=(self.settings.set(name or "", None),))
            case Command(tag):
                return WireResult(tag)
            case Declare(_, inner):
                self.cursors.declare(statement, self.fields(inner) or ())
                return WireResult("DECLARE CURSOR")
            case Fetch():
                return self._fetch(statement, watch)
            case CloseCursor(name):
                self.cursors.close(name)
                return WireResult("CLOSE CURSOR" if name is not None else "CLOSE CURSOR ALL")
            case Copy(inner, form):
                columns = self.fields(inner) or ()
                found = self.run(inner, columns, watch)
                return WireResult(
                    f"COPY {len(found.rows)}", notes=found.notes, frames=copied(form, columns, found.rows)
                )
        raise Fault("XX000", "this statement is not understood")

    def _fetch(self, fetch: Fetch, watch: Watch) -> WireResult:
        """The next rows of a cursor, whose question is asked and paid for the first time."""
        inner, fields, notes = self.cursors.inner(fetch.name), self.cursors.fields(fetch.name), tuple[str, ...]()
        if inner is not None:
            found = self.run(inner, fields, watch)
            self.cursors.fill(fetch.name, found.rows)
            notes = found.notes
        rows = self.cursors.take(fetch)
        if fetch.move:
            return WireResult(f"MOVE {len(rows)}", notes=notes)
        return WireResult(f"FETCH {len(rows)}", fields, rows, notes)

    def _ask(self, sql: str, fields: Sequence[WireField], watch: Watch) -> WireResult:
        question = self.datasets.question(self.who, self.dataset, sql, **self.settings.offer())
        key = self.settings.key or question.key().name
        try:
            release = self.datasets.answer(question, key=key, watch=watch)
        except (KeyUsed, CorruptLedger):
            raise
        except (Cancelled, LedgerError) as error:
            raise keyed(error, key) from None
        if self.shelf is not None:
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
    """The answer's columns in the order of the fields; the ends of an interval come after their number."""
    names = list(release.table.column_names)
    if [each.name for each in fields if each.end is None] != names:
        raise Fault("XX000", "the answer has other columns than the plan")
    found: list[list[Any]] = []
    place = -1
    for each in fields:
        if each.end is None:
            place += 1
            found.append(_fitted(release.table.column(place).to_pylist(), each))
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


def _lines(quote: Quote) -> list[str]:
    """The quote as EXPLAIN shows it."""
    after = f"{spelled(quote.left)} would be left" if quote.enough else "the budget does not allow it"
    expected = [f"{each.column}: {each.words}" for each in quote.expected]
    return [f"costs {spelled(quote.cost)}; {after}", *expected, *quote.notes]
