"""What an engine is: the only place where private rows are read, and whole numbers in a closed box come out."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager, closing
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, TypeVar

import numpy as np

from tacit.base import EngineError, Exact, InputError, SourceError, TacitError
from tacit.engine.dialect import Dialect
from tacit.engine.once import looked_up
from tacit.engine.relation import columns_of
from tacit.engine.render import NormCounts, norms_sql, rows_sql, statements
from tacit.engine.result import Fetch, Result, UnitRows, Whole, counts_from, result_from, spooled
from tacit.engine.unit import StoredTable
from tacit.engine.watch import Limits, Seats, Watch
from tacit.plan.bounded import Bounded
from tacit.plan.node import Node, Scan
from tacit.policy import Claim

__all__ = ["Engine", "SqlEngine", "StatementReader", "failing_closed", "opening"]

S = TypeVar("S")
T = TypeVar("T")
Look = Callable[[str], StoredTable]


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

    def norms(
        self, bounded: Bounded, edges: Mapping[int, Sequence[int]], watch: Watch | None = None
    ) -> Exact[Mapping[int, Whole]]:
        """How many units have a norm in (…, e₀], (e₀, e₁], …, (eₙ, ∞) in each of these clips, to choose their bounds
        privately. Clips are called by their places.

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
    """What `action` gives. A failure of any library becomes a SourceError that says `trouble`."""
    return _ours_or(SourceError(trouble), action)


def _ours_or(otherwise: TacitError, action: Callable[[], T]) -> T:
    """What `action` gives. An error of ours passes, since it was written to be read; a failure of any library, whose
    text and frames may hold values, becomes `otherwise`. Neither has another error behind it."""
    found = otherwise
    try:
        return action()
    except TacitError as error:
        found = error
    except Exception:
        pass
    found.__cause__ = found.__context__ = None
    raise found.with_traceback(None)  # outside: an error raised in there would carry the other one along


@dataclass(frozen=True)
class StatementReader:
    """Runs SELECTs for one question: `fetch` gives the columns of an answer, `batches` the rows of a scan. `once` is
    what is known of keys of public tables (`once.py`), to be added to."""

    fetch: Fetch
    batches: Callable[[str, Scan], Any]  # to be closed
    once: set[str] = field(default_factory=set)


Reading = Callable[[], AbstractContextManager[tuple[Mapping[str, str], StatementReader]]]
"""While rows are read: what tables are called in SQL, and how statements are run.

Rows may be read more than once, and a bound on what a unit adds holds only if they are the same each time: it fails in
the end if they may have changed.
"""


class SqlEngine(ABC):
    """What engines share: a question is statements in the dialect, written for tables as they are stored, then read."""

    dialect: Dialect
    _seats: Seats[Any]
    _tables: Mapping[str, Any]  # by their declared names

    @property
    def limits(self) -> Limits:
        return self._seats.limits

    def run(self, bounded: Bounded, watch: Watch | None = None) -> Exact[Result]:
        return self._answer(
            bounded.source,
            lambda source, tables: statements(replace(bounded, source=source), self.dialect, tables),
            lambda written, reader: result_from(bounded, written, reader.fetch),
            watch,
        )

    def norms(
        self, bounded: Bounded, edges: Mapping[int, Sequence[int]], watch: Watch | None = None
    ) -> Exact[Mapping[int, Whole]]:
        def read(written: Sequence[NormCounts], reader: StatementReader) -> Mapping[int, Whole]:
            found: dict[int, Whole] = {}
            for each in written:
                cells = [len(edges[clip]) + 1 for clip in each.clips]
                counts = counts_from(reader.fetch(each.sql), sum(cells))
                found |= dict(zip(each.clips, np.split(counts, np.cumsum(cells)[:-1]), strict=True))
            return found

        return self._answer(
            bounded.source,
            lambda source, tables: norms_sql(replace(bounded, source=source), edges, self.dialect, tables),
            read,
            watch,
        )

    def rows(self, scan: Scan, watch: Watch | None = None) -> Exact[UnitRows]:
        def read(written: str, reader: StatementReader) -> UnitRows:
            with closing(reader.batches(written, scan)) as batches:
                return spooled(scan, batches, self.limits.bytes_of_disk())

        return self._answer(scan, lambda _, tables: rows_sql(scan, self.dialect, tables), read, watch)

    def _answer(
        self,
        source: Node,
        write: Callable[[Node, Mapping[str, StoredTable]], S],
        read: Callable[[S, StatementReader], T],
        watch: Watch | None,
    ) -> Exact[T]:
        """What `read` makes of what `write` has written for `source` and its tables. It is written once before anything
        is read, since it may be refused, and again where less care is needed, or tables are then called otherwise."""

        def work(instance: Any) -> Exact[T]:
            look, reading = self._prepared(instance, source)
            # of tables that are not known `scan_sql` says so
            stored = {table: look(table) for table in columns_of(source) if table in self._tables}
            first = write(source, stored)

            def found() -> Exact[T]:
                with reading() as (names, reader):
                    called = {table: replace(each, sql=names[table]) for table, each in stored.items()}
                    eased = looked_up(source, reader.fetch, self.dialect, called, reader.once)
                    same = eased is source and called == stored
                    return Exact(read(first if same else write(eased, called), reader))

            return failing_closed(found)

        return self._asked(watch, work)

    @abstractmethod
    def _prepared(self, instance: Any, source: Node) -> tuple[Look, Reading]:
        """For one question: a table as the catalogue has it, and then how rows are read."""

    def _asked(self, watch: Watch | None, work: Callable[[Any], T]) -> T:
        return _ours_or(EngineError(), lambda: self._seats.run(work, watch))

    def columns(self, table: str) -> dict[str, str]:
        if table not in self._tables:
            raise InputError(f"there is no table {table!r} in this engine")
        return failing_closed(lambda: self._columns(table))

    @abstractmethod
    def _columns(self, table: str) -> dict[str, str]: ...

    def origins(self, table: str, unit: str | None) -> tuple[Claim, ...]:
        return ()  # files and names tell it all
