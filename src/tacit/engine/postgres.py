"""PostgreSQL through psycopg 3: read-only transactions, each on one snapshot, with every setting that matters fixed."""

from collections.abc import Collection, Mapping, Sequence
from threading import Lock
from typing import TYPE_CHECKING, Any

from tacit.base import Exact, InputError, TacitError
from tacit.engine.dialect import identifier
from tacit.engine.engine import counts_from, failing_closed, result_from
from tacit.engine.render import norms_sql, statements
from tacit.engine.result import Result, Whole
from tacit.noise import SecureRng
from tacit.plan.bounded import Bounded

if TYPE_CHECKING:
    import psycopg

__all__ = ["PostgresEngine"]

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
BEGIN = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"


class PostgresEngine:
    """Tables by their declared names, each the name of a table or view: `table` of the schema public, `schema.table`.

    `url` is anything libpq takes. `timeout` in seconds ends a statement on the server.
    """

    def __init__(self, url: str, tables: Mapping[str, str], *, timeout: float = 3600.0) -> None:
        try:
            import psycopg
        except ImportError:
            raise TacitError(
                "PostgreSQL needs psycopg, which is not installed: pip install 'tacit[postgres]'"
            ) from None
        if not 0 < timeout <= 10**6:
            raise InputError(f"timeout must be from 0 to a million seconds, not {timeout}")
        self._url = url.replace("postgresql+psycopg://", "postgresql://", 1)
        self._timeout = max(1, int(timeout * 1000))
        self._tables = {name: _dotted(place) for name, place in tables.items()}
        self._lock = Lock()
        self._connection: psycopg.Connection[Any] | None = None
        try:
            self._connect()
        except psycopg.Error as error:
            kind = type(error).__name__
        else:
            return
        raise TacitError(f"the PostgreSQL server cannot be reached, or does not let us in: {kind}")

    def run(self, bounded: Bounded) -> Exact[Result]:
        written = statements(bounded, "postgres", self._tables)
        return failing_closed(lambda: Exact(self._within(lambda fetch: result_from(bounded, written, fetch))))

    def norms(self, bounded: Bounded, clip: int, edges: Sequence[int]) -> Exact[Whole]:
        written = norms_sql(bounded, clip, edges, "postgres", self._tables)
        cells = len(edges) + 1
        return failing_closed(lambda: Exact(self._within(lambda fetch: counts_from(fetch(written), cells))))

    def version(self, tables: Collection[str]) -> str:
        """A new text at each call: PostgreSQL's statistics come late, so nothing proves that no row has changed.

        Fails if the server cannot be reached, so that nobody pays for a question that could not even begin.
        """
        if self._lock.acquire(blocking=False):  # who holds it has the server's attention
            try:
                self._reached()
            finally:
                self._lock.release()
        return bytes(SecureRng().read(16)).hex()

    def columns(self, table: str) -> dict[str, str]:
        if table not in self._tables:
            raise InputError(f"there is no table {table!r} in this engine")
        asked = (
            "SELECT a.attname::text, pg_catalog.format_type(a.atttypid, a.atttypmod) FROM pg_catalog.pg_attribute a "
            f"WHERE a.attrelid = '{self._tables[table].replace(chr(39), chr(39) * 2)}'::pg_catalog.regclass "
            "AND a.attnum > 0 AND NOT a.attisdropped "
            "AND pg_catalog.has_column_privilege(a.attrelid, a.attnum, 'SELECT') ORDER BY a.attnum"
        )
        found = failing_closed(lambda: self._within(lambda fetch: fetch(asked)))
        return dict(zip(*found, strict=True)) if found else {}

    def cancel(self) -> None:
        connection = self._connection
        if connection is not None:
            connection.cancel_safe()

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _connect(self) -> "psycopg.Connection[Any]":
        import psycopg

        if self._connection is None or self._connection.closed:
            self._connection = psycopg.connect(self._url, autocommit=True, prepare_threshold=None)
            for name, value in {**SETTINGS, "statement_timeout": str(self._timeout)}.items():
                self._connection.execute(b"SELECT pg_catalog.set_config(%s, %s, false)", (name, value))
        return self._connection

    def _reached(self) -> None:
        """A connection that works, now; a server that was started again gets a new one."""
        import psycopg

        try:
            self._connect().execute(b"SELECT 1")
        except psycopg.OperationalError:
            if self._connection is not None:
                self._connection.close()
            self._connect().execute(b"SELECT 1")

    def _within(self, work: Any) -> Any:
        """`work` in one read-only transaction, given how to fetch; rolled back, since there is nothing to keep."""
        with self._lock:
            connection = self._connect()
            connection.execute(BEGIN.encode())
            try:
                return work(lambda statement: _fetched(connection, statement))
            finally:
                connection.rollback()


def _fetched(connection: "psycopg.Connection[Any]", statement: str) -> Sequence[Sequence[Any]]:
    with connection.cursor() as cursor:
        cursor.execute(statement.encode())
        rows = cursor.fetchall()
        return list(zip(*rows, strict=True)) if rows else [()] * len(cursor.description or ())


def _dotted(place: str) -> str:
    parts = place.split(".")
    return ".".join(identifier(part, "postgres") for part in (parts if len(parts) > 1 else ["public", *parts]))
