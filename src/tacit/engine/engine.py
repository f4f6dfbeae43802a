"""What an engine is: the only place where private rows are read, and whole numbers in a closed box come out."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol, TypeVar

import numpy as np

from tacit.base import EngineError, Exact, SourceError, TacitError
from tacit.engine.relation import tables_of
from tacit.engine.render import Statements
from tacit.engine.result import Coded, Result, ResultTable, Whole, keys_from, whole_numbers
from tacit.engine.spool import UnitRows
from tacit.engine.unit import StoredTable
from tacit.engine.watch import Limits, Watch
from tacit.plan.bounded import Bounded
from tacit.plan.node import Node, Scan
from tacit.policy import Claim

__all__ = [
    "Engine",
    "Fetch",
    "called",
    "counts_from",
    "failing_closed",
    "failing_plainly",
    "opening",
    "result_from",
    "steadily",
    "stored_tables",
]

T = TypeVar("T")

Fetch = Callable[[str], Sequence[Sequence[Any]]]
"""Runs one SELECT and gives its columns."""


class Engine(Protocol):
    """Runs bounded questions, several at once up to its limits, each within its own.

    Whatever goes wrong with rows at hand is an EngineError of one constant text, and so is going over a limit. `watch`
    is of the question that a call is for: it stops this question and no other, which then ends with `Stopped`.
    """

    @property
    def limits(self) -> Limits: ...

    def run(self, bounded: Bounded, watch: Watch | None = None) -> Exact[Result]:
        """The exact answer. Statements are written, and refused if they cannot be, before anything is read."""
        ...

    def norms(self, bounded: Bounded, clip: int, edges: Sequence[int], watch: Watch | None = None) -> Exact[Whole]:
        """How many units have a norm in (…, e₀], (e₀, e₁], …, (eₙ, ∞) in the given clip, to choose a bound privately.

        Edges are in steps, as bounds are. Units without rows are not counted.
        """
        ...

    def rows(self, scan: Scan, watch: Watch | None = None) -> Exact[UnitRows]:
        """Every row of a private table, read as questions read it and grouped by unit, on the disk: to learn from."""
        ...

    def version(self, tables: Collection[str]) -> str:
        """A text that differs whenever the data of these tables may have changed. Reads no rows."""
        ...

    def columns(self, table: str) -> dict[str, str]:
        """The names of a table's columns and what the engine calls their types. Reads no rows."""
        ...

    def origins(self, table: str, unit: str | None) -> tuple[Claim, ...]:
        """What its catalogue says that a table is and reads, as claims that a policy alone does not tell. No rows."""
        ...

    def ready(self) -> None:
        """Raise if a question would fail now, whatever it is: no data, no database, no place. Reads no rows."""
        ...

    def close(self) -> None:
        """Stop what runs, and let go of everything."""
        ...


def failing_closed(action: Callable[[], T]) -> T:
    """What `action` gives. Any failure becomes an EngineError that says nothing and has no other error behind it."""
    try:
        return action()
    except Exception:
        pass  # left first: an error raised in here would carry this one, and its frames, along
    raise EngineError


def opening(trouble: str, action: Callable[[], T]) -> T:
    """What `action` gives. An error of ours passes; a failure of any library, whose text and frames may hold values,
    becomes a SourceError that says `trouble`. Neither has another error behind it."""
    found: TacitError
    try:
        return action()
    except TacitError as error:
        found = error
    except Exception:
        found = SourceError(trouble)
    found.__cause__ = found.__context__ = None
    raise found.with_traceback(None)  # outside: an error raised in there would carry the other one along


def failing_plainly(action: Callable[[], T]) -> T:
    """The same, but for errors of ours, which were written to be read: a statement that cannot be written."""
    try:
        return action()
    except TacitError:
        raise
    except Exception:
        pass
    raise EngineError


def steadily(version: Callable[[], str], action: Callable[[], T], before: str | None = None) -> T:
    """The same, if the data is what it was before: rows may be read more than once, and a bound on what a unit adds
    holds only if they are the same each time. `before` is the version that statements were written for."""

    def whole() -> T:
        begun = version() if before is None else before
        found = action()
        if version() != begun:
            raise EngineError
        return found

    return failing_closed(whole)


def stored_tables(
    source: Node, names: Mapping[str, str], columns: Callable[[str], Mapping[str, str]]
) -> dict[str, StoredTable]:
    """The tables that are read: `names` in SQL, and the types that `columns` tells from the catalogue."""
    return {
        table: StoredTable(sql=names[table], types=columns(table))
        for table in tables_of(source)
        if table in names  # of others `scan_sql` says so
    }


def called(tables: Mapping[str, StoredTable], names: Mapping[str, str]) -> dict[str, StoredTable]:
    """The same tables under other names in SQL."""
    return {table: replace(stored, sql=names[table]) for table, stored in tables.items()}


def result_from(bounded: Bounded, statements: Statements, fetch: Fetch) -> Result:
    """The result of a question's statements."""
    count = len(bounded.keys)
    columns = [()] * count if statements.groups is None else fetch(statements.groups)
    keys = _keys(bounded, columns)
    named = {m.name: whole_numbers(column) for m, column in zip(bounded.measures, columns[count:], strict=False)}
    presence = None if bounded.presence is None else whole_numbers(columns[-1])
    ranks = {}
    for ranked, statement in zip(bounded.ranks, statements.ranks, strict=True):
        found = fetch(statement)
        cells, counts = found[count:]
        table = {"cell": whole_numbers(cells), "count": whole_numbers(counts)}
        ranks[ranked.name] = ResultTable(keys=_keys(bounded, found), columns=table)
    return Result(groups=ResultTable(keys=keys, columns=named), presence=presence, ranks=ranks)


def _keys(bounded: Bounded, columns: Sequence[Sequence[Any]]) -> tuple[Coded, ...]:
    return tuple(keys_from(columns[i], key.facts.type) for i, key in enumerate(bounded.keys))


def counts_from(columns: Sequence[Sequence[Any]], cells: int) -> Whole:
    """Counts by cell as an array of all cells."""
    counts = np.zeros(cells, dtype=np.int64)
    for cell, count in zip(*(whole_numbers(column).tolist() for column in columns), strict=True):
        counts[cell] = count
    return counts
