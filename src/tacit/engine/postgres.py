"""PostgreSQL through psycopg 3: read-only transactions, each on one snapshot, with every setting that matters fixed."""

import socket
from collections.abc import Callable, Collection, Generator, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import pyarrow as pa

from tacit.base import EngineError, PolicyError, TacitError
from tacit.engine.claim import postgres_origins
from tacit.engine.dialect import POSTGRES
from tacit.engine.engine import Look, Reading, SqlEngine, StatementReader, failing_closed
from tacit.engine.result import Fetch, batches_of
from tacit.engine.source.keys import LinkKeys
from tacit.engine.unit import StoredTable, compared_as_stored
from tacit.engine.views.postgres import PostgresViews, unique_columns
from tacit.engine.watch import Instance, Limits, Seats
from tacit.noise import SecureRng
from tacit.plan.node import Node, Scan
from tacit.policy import Claim
from tacit.policy.declaration import quoted

if TYPE_CHECKING:
    import psycopg

__all__ = ["MISSING", "PostgresEngine"]

SETTINGS = {
    "default_transaction_read_only": "on",
    "search_path": "pg_catalog",  # tables are named in full, so nobody's function or operator stands in for a built-in
    "standard_conforming_strings": "on",
    "extra_float_digits": "1",
    "DateStyle": "ISO, YMD",
    "IntervalStyle": "postgres",
    "TimeZone": "UTC",
    "client_encoding": "UTF8",
    "row_security": "on",
    "transform_null_equals": "off",
    "client_min_messages": "error",  # notices can hold values
    "application_name": "tacit",
}
MISSING = "PostgreSQL needs psycopg, which is not installed: pip install 'tacit[postgres]'"
ENCODINGS = ("UTF8", "LATIN1")  # in which every stored byte is text to everybody
T = TypeVar("T")
BEGIN = b"BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
CONNECT = {"connect_timeout": "10", "keepalives_idle": "30", "keepalives_interval": "10", "keepalives_count": "3"}
NODES = 16  # sorts and hash tables that one statement may well have, each with as much memory as work_mem says
CELL = 64  # bytes that a value of a result takes here, about
ROWS = 1000
CANCEL = 5.0  # seconds that asking the server to stop may take
SET = b"SELECT pg_catalog.set_config(%s, %s, false)"


class PostgresEngine(SqlEngine):
    """Tables by their declared names, each the name of a table or view: `table` of the schema public, `schema.table`.

    `url` is anything libpq takes. `units` has the private tables, each with the column that names its unit, or None
    where each row is one: their views must keep units apart. `keys` are columns that links lead to, of which the
    database itself must hold that no value is there twice: of a snapshot nothing else could say so.

    Each question that runs at once has a connection of its own. Time ends it on the server too. PostgreSQL has no limit
    on a statement's memory, only on each of its sorts and hash tables, and limits temporary files only for roles that
    may `SET temp_file_limit`: what the server allows itself is set there.
    """

    dialect = POSTGRES

    def __init__(
        self,
        url: str,
        tables: Mapping[str, str],
        *,
        units: Mapping[str, str | None] | None = None,
        keys: Mapping[str, LinkKeys] | None = None,
        limits: Limits | None = None,
    ) -> None:
        try:
            import psycopg
        except ImportError:
            raise TacitError(MISSING) from None
        self._url = url.replace("postgresql+psycopg://", "postgresql://", 1)
        opened = partial(_Instance, self._url, limits or Limits())
        self._tables = {name: POSTGRES.dotted(place, "public") for name, place in tables.items()}
        self._views, self._keys = PostgresViews(self._tables, units or {}), dict(keys or {})
        try:
            first, kind = opened(), ""
        except psycopg.Error as error:
            kind = type(error).__name__
        if kind:
            raise TacitError(f"the PostgreSQL server cannot be reached, or does not let us in: {kind}")
        self._seats: Seats[_Instance] = Seats(limits or Limits(), first, opened)
        try:
            self._check()
        except BaseException:
            self.close()
            raise

    def _prepared(self, instance: "_Instance", source: Node) -> tuple[Look, Reading]:
        @contextmanager
        def reading() -> Iterator[tuple[Mapping[str, str], StatementReader]]:
            with self._views.reading(instance.transaction, source) as (names, whole):
                yield (
                    names,
                    StatementReader(
                        lambda sql: instance.fetch(whole(sql)), lambda sql, scan: instance.batches(whole(sql), scan)
                    ),
                )

        def look(table: str) -> StoredTable:
            return StoredTable(sql=self._tables[table], types=instance.within(partial(self._described, table)))

        return look, reading

    def _check(self) -> None:
        """PolicyError if a table gives other rows at each reading, or mixes units, or holds what is no text."""
        self._within(lambda fetch: self._seen(fetch, self._tables))
        ((encoding,),) = self._within(lambda fetch: fetch("SHOW server_encoding"))
        if encoding not in ENCODINGS:
            raise PolicyError(
                f"the database has the encoding {encoding}, in which some bytes are no text, and a question would fail "
                "on them: make a database in UTF8 and copy the tables"
            )

    def version(self, tables: Collection[str]) -> str:
        """A new text at each call: PostgreSQL's statistics come late, so nothing proves that no row has changed.

        Fails if the server cannot be reached, or if a view was replaced by one that cannot be read, so that nobody pays
        for a question that could not even begin.
        """
        self._seats.check()
        self._within(lambda fetch: self._seen(fetch, [name for name in tables if name in self._tables]))
        return bytes(SecureRng().read(16)).hex()

    def _seen(self, fetch: Fetch, tables: Collection[str]) -> None:
        self._views.see(fetch, tables)
        for table in sorted(self._keys.keys() & set(tables)):
            types, unique = self._described(table, fetch), unique_columns(fetch, self._tables[table])
            missing = [
                column
                for column, declared in self._keys[table].columns
                if column not in unique or not compared_as_stored(declared, types.get(column, ""))
            ]
            if missing:
                raise PolicyError(
                    f"table {quoted(table)}: links lead to its column {quoted(missing[0])}, and the database does not "
                    "hold that no value of it is there twice: make it a primary key, or give it a unique index"
                )

    def ready(self) -> None:
        failing_closed(lambda: self.version(self._tables))

    def _columns(self, table: str) -> dict[str, str]:
        return self._within(partial(self._described, table))

    def _described(self, table: str, fetch: Fetch) -> dict[str, str]:
        asked = (
            "SELECT a.attname::text, pg_catalog.format_type(a.atttypid, a.atttypmod) FROM pg_catalog.pg_attribute a "
            f"WHERE a.attrelid = {POSTGRES.text(self._tables[table])}::pg_catalog.regclass "
            "AND a.attnum > 0 AND NOT a.attisdropped "
            "AND pg_catalog.has_column_privilege(a.attrelid, a.attnum, 'SELECT') ORDER BY a.attnum"
        )
        found = fetch(asked)
        return dict(zip(*found, strict=True)) if found else {}

    def origins(self, table: str, unit: str | None) -> tuple[Claim, ...]:
        name, url = self._tables[table], self._url
        return failing_closed(lambda: self._within(lambda fetch: postgres_origins(fetch, name, url, unit)))

    def close(self) -> None:
        self._seats.close()

    def _within(self, work: Callable[[Fetch], T]) -> T:
        """`work` in one transaction, without a question."""
        return self._seats.look(lambda instance: instance.within(work))


class _Instance(Instance):
    """A connection with its settings."""

    def __init__(self, url: str, limits: Limits) -> None:
        self._url, self._limits = url, limits
        self._interrupts = 0
        self.connection = self._connected()

    def _connected(self) -> "psycopg.Connection[Any]":
        import psycopg
        from psycopg.conninfo import conninfo_to_dict

        given = conninfo_to_dict(self._url)
        more: dict[str, Any] = {name: value for name, value in CONNECT.items() if name not in given}
        connection = psycopg.connect(self._url, autocommit=True, prepare_threshold=None, **more)
        limits = self._limits
        settings = {**SETTINGS, "statement_timeout": str(max(1, int(limits.seconds * 1000)))}
        if limits.memory is not None:  # else the server's own: it knows its machine
            settings["work_mem"] = f"{limits.memory // NODES // 1024}kB"
        for name, value in settings.items():
            connection.execute(SET, (name, value))
        for name, value in {
            "temp_file_limit": f"{limits.bytes_of_disk() // 1024}kB",  # for those who were granted it
            "client_connection_check_interval": "5s",  # work ends when this process does; since PostgreSQL 14, on Linux
        }.items():
            with suppress(psycopg.Error):
                connection.execute(SET, (name, value))
        return connection

    def reach(self) -> None:
        """A connection that works, now; a server that was started again gets a new one."""
        import psycopg

        try:
            self.connection.execute(b"SELECT 1")
        except psycopg.OperationalError:
            self.connection.close()
            self.connection = self._connected()

    @contextmanager
    def transaction(self) -> Iterator[Fetch]:
        """How to fetch in one read-only transaction; rolled back, since there is nothing to keep."""
        self.reach()
        self.connection.execute(BEGIN)
        try:
            yield self.fetch
        finally:
            self.connection.rollback()

    def within(self, work: Callable[[Fetch], T]) -> T:
        with self.transaction() as fetch:
            return work(fetch)

    def fetch(self, statement: str) -> Sequence[Sequence[Any]]:
        """The columns of what a SELECT gives; an answer larger than the memory of a question is a failure."""
        rows, most = [], 0
        for row in self._streamed(statement):
            most = most or self._limits.bytes_of_memory // (CELL * max(1, len(row)))
            rows.append(row)
            if len(rows) > most:
                raise EngineError
        if rows:
            return list(zip(*rows, strict=True))
        with self.connection.cursor() as cursor:
            cursor.execute(f"SELECT * FROM ({statement}) AS empty LIMIT 0".encode())  # to know its columns
            return [()] * len(cursor.description or ())

    def batches(self, statement: str, scan: Scan) -> Iterator[pa.RecordBatch]:
        with closing(self._streamed(statement)) as rows:
            yield from batches_of(scan, rows)

    def _streamed(self, statement: str) -> Generator[Sequence[Any], None, None]:
        """The rows of what a SELECT gives, as they come."""
        from psycopg import capabilities

        size = ROWS if capabilities.has_stream_chunked() else 1
        with self.connection.cursor() as cursor:
            yield from cursor.stream(statement.encode(), size=size)

    def interrupt(self) -> None:
        """Ask the server to stop; where it does not listen, hang up."""
        self._interrupts += 1
        if self._interrupts > 3:
            with socket.socket(fileno=socket.dup(self.connection.fileno())) as link:
                link.shutdown(socket.SHUT_RDWR)
        else:
            self.connection.cancel_safe(timeout=CANCEL)

    def sound(self) -> bool:
        """One that was interrupted may be interrupted again, late."""
        self.connection.execute(b"SELECT 1")
        return not self._interrupts

    def close(self) -> None:
        self.connection.close()
