"""DuckDB: files of Parquet or CSV, tables in memory, DuckDB's own files; everything in this process.

Tables become views in a database in memory. Then the door is locked: nothing outside the given files can be read or
written, no extension is loaded, no Python variable is taken for a table, and none of that can be switched back.
"""

import threading
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import duckdb
import pyarrow as pa

from tacit.base import EngineError
from tacit.engine.dialect import DUCKDB
from tacit.engine.engine import Look, Reading, SqlEngine, StatementReader, failing_closed, opening
from tacit.engine.relation import columns_of
from tacit.engine.source.copies import Copies
from tacit.engine.source.tables import DuckDBTables, FileSource
from tacit.engine.unit import StoredTable
from tacit.engine.watch import Instance, Limits, Seats
from tacit.plan.node import Node, Scan

__all__ = ["DuckDBEngine"]

ROWS = 1_000_000  # of a result that are taken at once
VERSIONS = 1000  # of which something is remembered


@dataclass(frozen=True, kw_only=True)
class _Known:
    """What was seen of one version of some tables: the types of their columns, and public keys that are there once."""

    types: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    once: frozenset[str] = frozenset()


class DuckDBEngine(SqlEngine):
    """Tables by their declared names, each a path, a (DuckDB file, table in it), or a pyarrow, pandas or polars table.

    A path is a Parquet or CSV file, or a folder of them, all of one kind. Columns of CSV files are read as text and
    cast, value by value, to what was declared.

    DuckDB's limits are of a database, so every question that runs at once has a database of its own, with views on the
    same files. A table in memory is copied once: with one, there is one database, and one question at a time.
    """

    dialect = DUCKDB

    def __init__(self, tables: Mapping[str, Any], *, limits: Limits | None = None, threads: int | None = None) -> None:
        limits, kept = limits or Limits(), _in_memory(tables)
        if kept:
            limits = replace(limits, at_once=1)
        self._folder = TemporaryDirectory(prefix="tacit-")
        copies = Copies(Path(self._folder.name))  # of files that are read without a policy, once for all databases
        tables = {
            name: FileSource(path=Path(source), copies=copies, at_once=True)
            if isinstance(source, str | Path)
            else source
            for name, source in tables.items()
        }
        self._again = partial(_Instance, tables, limits, threads)
        try:
            self._catalog = self._again()  # what is looked up that is no question; one of them may run in it, too
        except BaseException:
            self._folder.cleanup()
            raise
        self._known: dict[str, _Known] = {}  # by the version of the tables that a question reads
        self._lock = threading.Lock()
        self._seats: Seats[_Instance] = Seats(limits, self._catalog, None if kept else self._again)
        self._tables = self._catalog.sources.names

    def _prepared(self, instance: "_Instance", source: Node) -> tuple[Look, Reading]:
        names = columns_of(source)
        before = failing_closed(lambda: instance.sources.version(names))
        known = self._known.get(before, _Known())
        types, once = dict(known.types), set(known.once)

        @contextmanager
        def reading() -> Iterator[tuple[Mapping[str, str], StatementReader]]:
            yield self._tables, StatementReader(partial(self._read, instance), instance.batches, once)
            if instance.sources.version(names) != before:
                raise EngineError
            if len(self._known) < VERSIONS:
                self._known[before] = _Known(types=dict(types), once=frozenset(once))

        def look(table: str) -> StoredTable:
            if table not in types:
                types[table] = instance.columns(table)
            return StoredTable(sql=self._tables[table], types=types[table])

        return look, reading

    def _read(self, instance: "_Instance", statement: str) -> Sequence[Any]:
        return instance.fetch(statement)

    def version(self, tables: Collection[str]) -> str:
        self._seats.check()
        return self._looked().sources.version(tables)

    def ready(self) -> None:
        failing_closed(lambda: (self.version(self._tables), [self._looked().columns(name) for name in self._tables]))

    def _columns(self, table: str) -> dict[str, str]:
        return self._looked().columns(table)

    def _looked(self) -> "_Instance":
        """A database to look something up in: another, where a question broke the one there was."""
        with self._lock:
            if self._catalog.closed and self._catalog.repeatable:
                self._catalog = self._again()
            return self._catalog

    def close(self) -> None:
        self._seats.close()
        self._catalog.close()
        self._folder.cleanup()


def _in_memory(tables: Mapping[str, Any]) -> bool:
    return any(not isinstance(source, tuple | FileSource | str | Path) for source in tables.values())


class _Instance(Instance):
    """A database in memory with views on every table, and limits of its own."""

    def __init__(self, tables: Mapping[str, Any], limits: Limits, threads: int | None) -> None:
        self._most = limits.bytes_of_memory
        self._folder = TemporaryDirectory(prefix="tacit-")
        self.connection = duckdb.connect(":memory:")
        self.sources = DuckDBTables(self.connection, Path(self._folder.name))
        self.repeatable, self.closed = not _in_memory(tables), False
        try:
            self._set(temp_directory=self._folder.name, python_enable_replacements=False, TimeZone="UTC")
            self._set(enable_external_file_cache=False, parquet_metadata_cache=False)  # files are read as they are now
            self._set(memory_limit=f"{self._most // 1024}KiB", threads=threads or limits.threads)
            self._set(max_temp_directory_size=f"{limits.bytes_of_disk(self._folder.name) // 1024}KiB")
            self._set(enable_progress_bar=True, enable_progress_bar_print=False)
            for name, source in tables.items():
                self.sources.add(name, source)
            opening("the tables cannot be opened in DuckDB", self._lock_down)
            self.sources.reach()
        except BaseException:
            self.close()
            raise

    def _set(self, **settings: bool | int | str) -> None:
        for name, value in settings.items():
            self.connection.execute(
                f"SET {name} = {DUCKDB.text(str(value).lower() if isinstance(value, bool) else str(value))}"
            )

    def _lock_down(self) -> None:
        for name, allowed in self.sources.allowed().items():
            self.connection.execute(f"SET {name} = [{', '.join(DUCKDB.text(path) for path in allowed)}]")
        self._set(autoinstall_known_extensions=False, autoload_known_extensions=False, allow_community_extensions=False)
        self._set(enable_external_access=False, lock_configuration=True)

    def fetch(self, statement: str) -> Sequence[Any]:
        """The columns of what a SELECT gives; an answer larger than the memory of a question is a failure."""
        reader = self.batches(statement)
        batches, left = [], self._most
        for batch in reader:
            left -= batch.nbytes
            if left < 0:
                raise EngineError
            batches.append(batch)
        return list(pa.Table.from_batches(batches, reader.schema).columns)

    def batches(self, statement: str, scan: Scan | None = None) -> pa.RecordBatchReader:
        return self.connection.sql(statement).to_arrow_reader(ROWS)

    def columns(self, table: str) -> dict[str, str]:
        with self.connection.cursor() as cursor:  # beside whatever question runs
            described = cursor.execute(f"DESCRIBE SELECT * FROM {self.sources.names[table]}").fetchall()
        return {name: kind for name, kind, *_ in described}

    def interrupt(self) -> None:
        self.connection.interrupt()

    def share(self) -> float:
        return float(self.connection.query_progress()) / 100

    def sound(self) -> bool:
        """A new one is better; where there can be none, one that still answers."""
        return not self.repeatable and self.connection.execute("SELECT 1").fetchall() == [(1,)]

    def close(self) -> None:
        self.closed = True
        self.connection.close()
        self._folder.cleanup()
