"""A ledger in PostgreSQL, for many processes and machines. The server's clock is everybody's clock.

Everything is a transaction that locks the account's row first; each statement after it reads what was committed by then
(READ COMMITTED). A commit has reached the disk when it returns: `synchronous_commit` is on whatever the default of the
server says, and a server without fsync is refused.

Where the server has a synchronous standby, a commit has reached that too, and nothing is told that has not
(docs/decisions/0021-failover.md): a commit whose wait for the standby was given up is `OutcomeUnknown`, and a
connection begins with a commit of its own, before which whatever a crash left here alone cannot be read.
"""

import os
import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from copy import copy
from typing import Any, TypeVar, cast

from sqlalchemy import Connection, Engine, create_engine, event, text
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from tacit.base import CorruptLedger, LedgerError, OutcomeUnknown, TacitError
from tacit.ledger.charge import AccountRenamedError, ChargeEntry, ChargeOrder, Statement, charge
from tacit.ledger.migrate import migrate
from tacit.ledger.queue import Queue, QueuedWork
from tacit.ledger.receipt import Standing
from tacit.ledger.store import Page

try:
    import psycopg
except ModuleNotFoundError as missing:
    raise LedgerError("a ledger in PostgreSQL needs psycopg: pip install 'tacit[postgres]'") from missing

__all__ = ["PostgresStore"]

T = TypeVar("T")
Raw = psycopg.Connection[Any]
PATIENCE = "10s"  # to wait for the lock of an account
HANGING = {"connect_timeout": 10, "tcp_user_timeout": 60_000, "keepalives_idle": 30}  # a silent network is noticed
RETURN = 10.0  # seconds to wait for a server that went away in the middle of a charge
STANDBY = 10.0  # seconds to wait for its standby to have a commit, after which it is not known what became of it
CONNECTIONS = 32  # of a process
TRIES = 5  # of a transaction that lost a race and left nothing behind
MIGRATING = 0x7461636974  # the name of a lock: one at a time creates the tables
AGAIN = ("40001", "40P01", "23505")  # serialization failure, deadlock, somebody else was first
SETTINGS = f"""
SELECT current_setting('fsync'), current_setting('server_encoding'), current_setting('server_version_num')::int,
    set_config('client_encoding', 'UTF8', false),
    set_config('lock_timeout', '{PATIENCE}', false),
    set_config('default_transaction_isolation', 'read committed', false),
    set_config('synchronous_commit', CASE current_setting('synchronous_commit')
        WHEN 'remote_apply' THEN 'remote_apply' ELSE 'on' END, false),
    current_setting('synchronous_standby_names') <> '' AND NOT pg_is_in_recovery()
"""
BARRIER = "SELECT pg_logical_emit_message(true, 'tacit', '')"  # something to commit, which changes nothing
ADVICE = "Restore the newest backup of the database, and look at both with `tacit ledger verify`"
CLOCK = "SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint, current_setting('fsync')"
TORN = text("""
SELECT a.people FROM tacit_accounts a LEFT JOIN tacit_entries e ON e.account = a.id AND e.seq = a.seq
WHERE (a.seq > 0 AND e.digest IS DISTINCT FROM a.head)
    OR EXISTS (SELECT 1 FROM tacit_entries x WHERE x.account = a.id AND x.seq > a.seq) LIMIT 1
""")


class PostgresStore:
    """See `Store`. Safe to share between threads; a forked child makes connections of its own."""

    def __init__(self, url: str, *, create: bool = True) -> None:
        self._url = _address(url)
        self.where = self._url.render_as_string(hide_password=True)
        self.ledger = ""
        self._closed = False
        self._known: dict[int, tuple[int, bytes]] = {}  # the newest entries that this process has seen
        self._fresh()
        try:
            self.ledger, self._known = self._work(lambda page: _open(page.connection, create), locks=True)
        except BaseException:
            self.close()
            raise

    def _fresh(self) -> None:
        """Connections of this process; those of a parent are left alone, for they are the parent's."""
        self._pid = os.getpid()
        self._engine = _engine(self._url, self.where)
        self._guard = threading.Lock()
        self._queues: dict[int, Queue] = {}  # by account

    def charge(self, order: ChargeOrder) -> ChargeEntry:
        """If the connection breaks in it, the same key is asked again until the server is back."""
        end, unknown = 0.0, False
        while True:
            try:
                return self._charge_once(order)
            except (AccountRenamedError, CorruptLedger):
                raise
            except LedgerError as error:
                unknown |= isinstance(error, OutcomeUnknown)
                lost = isinstance(error, OutcomeUnknown) or (isinstance(error, _UnreachableError) and error.broke)
                away = lost or (isinstance(error, _UnreachableError) and end > 0)
                end = end or time.monotonic() + RETURN
                if not away or time.monotonic() > end:
                    if unknown:  # whatever this error says of its attempt, another one may have charged
                        raise OutcomeUnknown(_unknown(self.where, error.__cause__ or error)) from error
                    raise
            time.sleep(0.1)

    def _charge_once(self, order: ChargeOrder) -> ChargeEntry:
        self._here()
        queue = self._queues.setdefault(order.account, Queue(self._serve))
        answer: ChargeEntry = queue.put(QueuedWork(order, writes=True))
        return answer

    def _serve(self, asks: list[QueuedWork]) -> None:
        """Charges to one account that wait at the same time are one transaction."""
        orders = [ask.what for ask in asks]
        try:
            for ask, answer in zip(asks, self.write(lambda page: self._charged(page, orders)), strict=True):
                ask.answer(answer)
        except BaseException as problem:
            for ask in asks:
                ask.answer(self._told(problem))
            if not isinstance(problem, Exception):
                raise

    def _told(self, problem: BaseException) -> BaseException:
        """One of its own for each who waits. An interrupt is the leader's alone: the others ask again."""
        if not isinstance(problem, Exception):
            return OutcomeUnknown(_unknown(self.where, problem))
        told = copy(problem)
        told.__cause__ = problem.__cause__
        return told

    def _charged(self, page: Page, orders: Sequence[ChargeOrder]) -> list[ChargeEntry | TacitError]:
        raw = cast(Raw, page.connection.connection.driver_connection)
        now = 0

        def execute(statements: Sequence[Statement]) -> Sequence[Sequence[Any]]:
            """Send them together, and ask for the time after them: one round trip."""
            nonlocal now
            try:
                with raw.pipeline():
                    sent = [raw.execute(text.replace("?", "%s").encode(), values) for text, values in statements]
                    looked = raw.execute(CLOCK.encode())
                ((now, fsync),) = looked.fetchall()
            except psycopg.Error as error:
                if raw.closed:
                    page.connection.invalidate()
                raise DBAPIError(None, None, error, connection_invalidated=raw.closed) from error
            if fsync != "on":  # since the connection was made
                raise LedgerError(_unsafe(self.where))
            return [cursor.fetchall() if cursor.description else () for cursor in sent]

        return charge(execute, orders, clock=lambda: now, seen=page.seen, heads=page.heads, lock=" FOR UPDATE")

    def write(self, work: Callable[[Page], T]) -> T:
        return self._work(work, locks=True)

    def read(self, work: Callable[[Page], T]) -> T:
        return self._work(work, locks=False)

    def _work(self, work: Callable[[Page], T], *, locks: bool) -> T:
        self._here()
        broke = False
        for left in reversed(range(TRIES)):
            committing = False
            try:
                with self._engine.connect() as connection:
                    if not locks:  # one state for all statements, and no lock
                        connection.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)
                    with connection.begin() as transaction:
                        page = Page(connection, ledger=self.ledger, clock=_clock, locks=locks, seen=dict(self._known))
                        answer = work(page)
                        committing = locks
                        with _answered(cast(Raw, connection.connection.driver_connection), connection.info, self.where):
                            transaction.commit()
                    self._known |= page.heads
                    return answer
            except DBAPIError as error:
                state = getattr(error.orig, "sqlstate", None)
                silent = isinstance(error.orig, psycopg.OperationalError) and state is None
                broken = error.connection_invalidated or silent
                broke |= error.connection_invalidated
                if left and (state in AGAIN or (error.connection_invalidated and not committing)):
                    continue  # nothing of it was written
                failure = _failure(error.orig, self.where, broken=broken, committing=committing)
                if isinstance(failure, _UnreachableError):
                    failure.broke = broke
                raise failure from error
            except PoolTimeout as error:
                raise LedgerError(
                    f"all connections to {self.where} are in use, and nothing was charged: ask again later"
                ) from error
        raise AssertionError("unreachable")

    def glance(self, people: str, holders: Sequence[str]) -> Standing | None:
        return None

    def answered(self, people: str, scopes: tuple[str, str], program: str, version: str) -> bool | None:
        return None

    def ready(self) -> None:
        def written(page: Page) -> bool:
            return bool(page.connection.execute(text("SHOW transaction_read_only")).scalar_one() == "off")

        if not self.write(written):
            raise LedgerError(f"the database of {self.where} can only be read: connect to the one that takes charges")

    def suspects(self, page: Page) -> list[str]:
        """None: the server keeps its own books whole."""
        return []

    def trust(self) -> None:
        """Nothing to do: there is no watermark outside of the server."""

    def close(self) -> None:
        self._closed = True
        if os.getpid() == self._pid:
            self._engine.dispose()

    def _here(self) -> None:
        if self._closed:
            raise LedgerError(f"the ledger {self.where} was closed: open it again")
        if os.getpid() != self._pid:
            with self._guard:
                if os.getpid() != self._pid:
                    _inherited.append(self._engine)
                    self._fresh()


class _UnreachableError(LedgerError):
    """No connection could be made, so nothing was done; `broke` says that there was one when the call began."""

    broke = False


_inherited: list[Any] = []  # connections of a parent process: never closed here, which would end them for the parent


def _address(url: str) -> URL:
    try:
        found = make_url(url)
    except (ArgumentError, ValueError) as error:  # ValueError: a port that is no number
        several = "; several servers are ?host=one,two&port=5432,5432&target_session_attrs=read-write after the name"
        raise LedgerError(
            f"this is no address of a database: write postgresql://user@host/name{several} ({error})"
        ) from None
    return found.set(drivername="postgresql+psycopg")


def _engine(url: URL, where: str) -> Engine:
    engine = create_engine(
        url,
        connect_args=HANGING,
        isolation_level="READ COMMITTED",
        pool_size=CONNECTIONS,
        max_overflow=0,
        pool_use_lifo=True,
    )

    @event.listens_for(engine, "connect")
    def connected(raw: Any, record: Any) -> None:
        _ready(raw.driver_connection if hasattr(raw, "driver_connection") else raw, record.info, where)

    return engine


def _ready(raw: Raw, info: dict[Any, Any], where: str) -> None:
    """Settle how this connection commits, and refuse a server that cannot keep what it commits."""
    warnings: list[str] = []
    raw.add_notice_handler(lambda said: warnings.append(str(said.severity_nonlocalized)))
    row = raw.execute(SETTINGS.encode()).fetchone()
    assert row is not None
    info["warnings"], info["mirrored"] = warnings, row[-1]
    try:
        with _answered(raw, info, where):
            if info["mirrored"]:
                raw.execute(BARRIER.encode())
            if not raw.autocommit:
                raw.commit()
    except OutcomeUnknown as error:  # nothing was asked of it yet
        raise _UnreachableError(_unreachable(where, _still())) from error
    if row[0] != "on":
        raise LedgerError(_unsafe(where))
    if row[1] != "UTF8":
        raise LedgerError(f"{where} stores text as {row[1]}: create the database for the ledger with ENCODING 'UTF8'")
    if row[2] < 120000:
        raise LedgerError(f"{where} is PostgreSQL {row[2] // 10000}: a ledger needs 12 or newer")


@contextmanager
def _answered(raw: Raw, info: dict[Any, Any], where: str) -> Iterator[None]:
    """Around a commit: `OutcomeUnknown` if the server gave up to wait for its standby, and if we do, after a while.

    A wait is ended by hanging up. To cancel it would leave the commit standing here, for others to read, and not there.
    """
    warnings, late = info["warnings"], threading.Event()
    warnings.clear()
    timer = threading.Timer(STANDBY, _hang_up, (raw, late)) if info["mirrored"] else None
    if timer is not None:
        timer.daemon = True
        timer.start()
    try:
        yield
    except (DBAPIError, psycopg.Error) as error:
        if late.is_set():
            raise OutcomeUnknown(_unknown(where, _still())) from error
        raise
    finally:
        if timer is not None:
            timer.cancel()
    if "WARNING" in warnings:
        raise OutcomeUnknown(_unknown(where, "the wait for its standby was cancelled there"))


def _still() -> str:
    return f"its standby has not confirmed a commit for {STANDBY:g} s"


def _hang_up(raw: Raw, late: threading.Event) -> None:
    late.set()
    with suppress(OSError, psycopg.Error), socket.socket(fileno=os.dup(raw.fileno())) as line:
        line.shutdown(socket.SHUT_RDWR)


def _open(connection: Connection, create: bool) -> tuple[str, dict[int, tuple[int, bytes]]]:
    """The ledger's name, and the newest entry of each account, by the account's number."""
    connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": MIGRATING})
    name = migrate(connection, now=_clock(connection), create=create)
    torn = connection.execute(TORN).scalar()
    if torn is not None:
        who = f'of "{torn}"' if torn else "of its list of accounts"
        raise CorruptLedger(
            f"the newest entries {who} do not hang together: the ledger was altered or damaged. {ADVICE}"
        )
    heads = connection.execute(text("SELECT id, seq, head FROM tacit_accounts WHERE seq > 0"))
    return name, {row.id: (row.seq, bytes(row.head)) for row in heads}


def _clock(connection: Connection) -> int:
    return int(connection.exec_driver_sql(CLOCK).scalar_one())


def _failure(error: Any, where: str, *, broken: bool, committing: bool) -> LedgerError:
    """What to tell a caller: whether something may have been charged, and what to do."""
    state = getattr(error, "sqlstate", None) or ""
    if broken or (state[:2] in ("08", "57") and state != "57014"):  # the connection broke, or the server goes down
        return OutcomeUnknown(_unknown(where, error)) if committing else _UnreachableError(_unreachable(where, error))
    if state == "23505":
        return CorruptLedger(
            f"{where} has entries beyond the newest one that its account knows of: it was altered. {ADVICE}"
        )
    causes = {
        "55P03": f"the account was locked for {PATIENCE}: look for a transaction left open, and ask again",
        "57014": "the server stopped the statement (statement_timeout, or somebody cancelled it): ask again",
        "42501": f"{_first_line(error)}: ask the curator for the rights of a ledger's role",
        "25006": "it is read-only: connect to the primary server",
        "53100": "its disk is full: make room and ask again",
    }
    cause = causes.get(state, f"{_first_line(error)} ({state})")
    return LedgerError(f"the ledger {where} cannot be used now, and nothing was charged: {cause}")


def _first_line(error: Any) -> str:
    return str(error).partition("\n")[0]


def _unreachable(where: str, error: Any) -> str:
    return f"the ledger {where} cannot be reached now: {_first_line(error)}. Ask again with the same key, later"


def _unknown(where: str, error: Any) -> str:
    return (
        f"the connection to {where} broke in the middle ({_first_line(error)}), so it is not known whether anything "
        "was charged: ask again with the same key, which never charges twice"
    )


def _unsafe(where: str) -> str:
    return f"{where} runs with fsync = off and would forget charges in a crash: set fsync = on there, and reload"
