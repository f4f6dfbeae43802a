"""A ledger as rows, read on one consistent state, without writing, and also when it would refuse to open.

Whoever verifies must not depend on what the ledger itself checks, nor change what they look at. Others may charge
meanwhile: SQLite keeps one read transaction, PostgreSQL one that is REPEATABLE READ and READ ONLY.
"""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import sleep
from typing import Any, NamedTuple
from urllib.parse import quote

from sqlalchemy import Connection, Row, create_engine, func, select, text
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, DBAPIError
from sqlalchemy.pool import NullPool, StaticPool

from tacit.base import CorruptLedger, LedgerError
from tacit.ledger.schema import VERSION, accounts, answers, balances, book, claims, entries
from tacit.ledger.sqlite.file import Watermark

__all__ = ["EntryRow", "Mark", "Reader", "on_server", "reading"]

CHUNK = 5000  # rows fetched at once
TRIES = 3  # to read the file of marks while others write it
SERVER = ("postgresql://", "postgresql+psycopg://", "postgres://")


class EntryRow(NamedTuple):
    """An entry as it lies in the table; anything may be in it."""

    account: int
    seq: int
    kind: str
    time: int
    analyst: str | None
    key: str | None
    body: str
    digest: bytes


class Mark(NamedTuple):
    """What the file beside a SQLite ledger knows: the newest entry of each account, or why it cannot be read."""

    heads: dict[int, tuple[int, bytes]]
    problem: str | None = None


class Reader:
    """The rows of one ledger, all of the same moment."""

    def __init__(self, connection: Connection, where: str, mark: Mark | None) -> None:
        self._connection, self.where, self.mark = connection, where, mark
        found = connection.execute(select(book)).all()
        if len(found) != 1:
            raise CorruptLedger("this ledger does not say which one it is: restore the newest copy of it")
        self.version, self.ledger = int(found[0].version), str(found[0].ledger)
        if self.version != VERSION:
            raise LedgerError(
                f"this ledger has version {self.version}, and this release reads {VERSION}: "
                + ("install a newer one" if self.version > VERSION else "open it once, which brings it up to date")
            )

    def accounts(self) -> "list[Row[Any]]":
        return list(self._connection.execute(select(accounts).order_by(accounts.c.id)))

    def balances(self, account: int) -> "list[Row[Any]]":
        return list(self._connection.execute(select(balances).where(balances.c.account == account)))

    def openings(self) -> dict[int, str]:
        """The body of each account's first entry."""
        query = select(entries.c.account, entries.c.body).where(entries.c.seq == 1)
        return {row.account: str(row.body) for row in self._connection.execute(query)}

    def count(self) -> int:
        """About how many entries there are: for a progress bar."""
        return int(self._connection.execute(select(func.coalesce(func.sum(accounts.c.seq), 0))).scalar_one())

    def mentioned(self, account: int, after: int = 0) -> set[int]:
        """The charges that a void or a begin after an entry speaks of, by the index."""
        about = entries.c.analyst.is_(None) & entries.c.key.is_not(None) & (entries.c.seq > after)
        found = self._connection.execute(select(entries.c.key).where(entries.c.account == account, about))
        return {int(row.key) for row in found if str(row.key).isascii() and str(row.key).isdigit()}

    def entry(self, account: int, seq: int) -> EntryRow | None:
        """One of them."""
        query = select(entries).where(entries.c.account == account, entries.c.seq == seq)
        row = self._connection.execute(query).one_or_none()
        return None if row is None else EntryRow(*(getattr(row, name) for name in EntryRow._fields))

    def fate(self, account: int, charge: int, until: int) -> str | None:
        """ "void", "begin" or "answered" if that had become of a charge by the entry `until`."""
        about = entries.c.analyst.is_(None) & (entries.c.key == str(charge)) & entries.c.kind.in_(["void", "begin"])
        query = select(entries.c.kind).where(entries.c.account == account, about, entries.c.seq <= until)
        kinds = set(self._connection.execute(query).scalars())
        kept = select(answers.c.seq).where(answers.c.account == account, answers.c.seq == charge)
        kinds |= {"answered"} if self._connection.execute(kept).first() is not None else set()
        return next((kind for kind in ("void", "begin", "answered") if kind in kinds), None)

    def entries(self, account: int | None = None, after: int = 0) -> Iterator[EntryRow]:
        """Every entry, or those of one account, by account and number; those after one of them."""
        only = "" if account is None else f"WHERE account = {int(account)} AND seq > {int(after)}"
        yield from self._stream(f"SELECT {', '.join(EntryRow._fields)} FROM tacit_entries {only} ORDER BY account, seq")

    def answers(self, after: int = 0) -> Iterator[tuple[int, int, str, str]]:
        """Account, charge, scope and program of every stored answer, in the order of the entries; of those that were
        kept after an entry of the list of accounts."""
        only = f"WHERE entry > {int(after)}" if after else ""
        yield from self._stream(f"SELECT account, seq, scope, program FROM tacit_answers {only} ORDER BY account, seq")

    def releases(self, after: int = 0) -> Iterator[Any]:
        """All of every stored answer, in the order in which they were kept."""
        only = f"WHERE entry > {int(after)}" if after else ""
        yield from self._stream(f"SELECT * FROM tacit_answers {only} ORDER BY entry, account, seq")

    def keeps(self, registry: int, after: int = 0) -> Iterator[tuple[int, str]]:
        """Number and body of every entry that an answer was kept, in order."""
        only = f"account = {int(registry)} AND kind = 'keep' AND seq > {int(after)}"
        yield from self._stream(f"SELECT seq, body FROM tacit_entries WHERE {only} ORDER BY seq")

    def claims(self) -> "list[Row[Any]]":
        return list(self._connection.execute(select(claims)))

    def _stream(self, query: str) -> Iterator[Any]:
        streaming = self._connection.execution_options(stream_results=True, max_row_buffer=CHUNK)
        result = streaming.execute(text(query))
        while rows := result.fetchmany(CHUNK):
            yield from rows


def on_server(where: str | Path) -> bool:
    return isinstance(where, str) and where.startswith(SERVER)


@contextmanager
def reading(where: str | Path) -> Iterator[Reader]:
    """Open for reading; errors of the database are LedgerErrors."""
    try:
        shown = make_url(str(where)).render_as_string() if on_server(where) else str(where)
    except (ArgumentError, ValueError):  # the latter of a port that is no number
        raise LedgerError("this is not the address of a database: write postgresql://user@host/name") from None
    try:
        with _server(str(where)) if on_server(where) else _file(Path(where)) as reader:
            yield reader
    except (DBAPIError, sqlite3.Error) as problem:
        cause = getattr(problem, "orig", None) or problem
        code = getattr(cause, "sqlite_errorcode", 0) & 0xFF
        if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
            raise CorruptLedger(
                f"{shown} is damaged, or not a ledger ({cause}): put the newest copy of it back"
            ) from problem
        if "no such table" in str(cause) or getattr(cause, "sqlstate", "") == "42P01":
            raise LedgerError(f"{shown} is a database without a ledger in it: check the place") from problem
        raise LedgerError(f"{shown} cannot be read: {str(cause).strip()}") from problem


@contextmanager
def _server(url: str) -> Iterator[Reader]:
    address = make_url(url).set(drivername="postgresql+psycopg")
    engine = create_engine(address, poolclass=NullPool, connect_args={"connect_timeout": 10})
    try:
        with engine.connect() as connection:
            whole = connection.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)
            yield Reader(whole, address.render_as_string(), None)
    finally:
        engine.dispose()


@contextmanager
def _file(path: Path) -> Iterator[Reader]:
    if not path.is_file():
        raise LedgerError(f"there is no ledger at {path}: check the path, or name it with --ledger")
    raw = sqlite3.connect(_readable(path), uri=True, isolation_level=None, check_same_thread=False)
    try:
        found = raw.execute("SELECT ledger FROM tacit_book").fetchone()
        # before the snapshot begins: a mark lags behind the book and never leads it
        mark = _mark(path.with_name(path.name + ".mark"), "" if found is None else str(found[0]))
        engine = create_engine("sqlite://", creator=lambda: raw, poolclass=StaticPool)
        try:
            with engine.connect() as connection:
                raw.execute("BEGIN")  # not earlier: a new engine ends what it finds begun
                yield Reader(connection, str(path), mark)
        finally:
            engine.dispose()
    finally:
        raw.close()


def _mark(path: Path, ledger: str) -> Mark | None:
    """Read beside those who write, so a damaged note is looked at again before it is believed; None if we may not."""
    if not path.is_file():
        return Mark({}, f"{path.name}, the file beside the ledger that knows its newest entries, is missing")
    problem = ""
    for _ in range(TRIES):
        try:
            mark = Watermark(path)
        except PermissionError:
            return None
        try:
            return Mark(mark.read(ledger))
        except CorruptLedger:
            problem = f"{path.name}, the file beside the ledger that knows its newest entries, is damaged or another's"
        finally:
            mark.close()
        sleep(0.05)
    return Mark({}, problem)


def _readable(path: Path) -> str:
    log = path.with_name(path.name + "-wal")
    still = not os.access(path.parent, os.W_OK) and not log.exists()  # a copy where SQLite cannot keep its own files
    return f"file:{quote(str(path.absolute()))}?mode=ro" + ("&immutable=1" if still else "")
