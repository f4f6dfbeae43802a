"""A ledger in PostgreSQL, for many processes and machines. The server's clock is everybody's clock.

A charge is one call of a function on the server, in a transaction of its own (`postgres_charge.py`); everything else
runs as a transaction that locks the account's row first. A commit has reached the disk when it returns:
`synchronous_commit` is on whatever the server's default says, and a server without fsync is refused.
"""

import os
import threading
import time
from collections.abc import Callable, Sequence
from json import loads
from typing import Any, TypeVar

from sqlalchemy import Connection, Engine, create_engine, event, text
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError

from tacit.base import CorruptLedger, Denied, LedgerError, OutcomeUnknown
from tacit.ledger.migrate import migrate
from tacit.ledger.page import Page, lost
from tacit.ledger.postgres.charge import ASK, CHARGE, FORMER
from tacit.ledger.receipt import Standing
from tacit.ledger.store import Charged, Moved, Order, over
from tacit.policy.account import Amount, Limit

try:
    import psycopg
    from psycopg.errors import error_from_result
    from psycopg.pq import ConnStatus, ExecStatus, Format
except ModuleNotFoundError as missing:
    raise LedgerError("a ledger in PostgreSQL needs psycopg: pip install 'tacit[postgres]'") from missing

__all__ = ["PostgresStore"]

T = TypeVar("T")
Raw = psycopg.Connection[Any]
STATEMENT = b"tacit_charge"
PATIENCE = "10s"  # to wait for the lock of an account
HANGING = {"connect_timeout": 10, "tcp_user_timeout": 60_000, "keepalives_idle": 30}  # a silent network is noticed
RETURN = 10.0  # seconds to wait for a server that went away in the middle of a charge
TRIES = 5  # of a transaction that lost a race and left nothing behind
MIGRATING = 0x7461636974  # the name of a lock: one at a time creates the tables
AGAIN = ("40001", "40P01", "23505")  # serialization failure, deadlock, somebody else was first
SETTINGS = f"""
SELECT current_setting('fsync'), current_setting('server_encoding'), current_setting('server_version_num')::int,
    set_config('client_encoding', 'UTF8', false),
    set_config('lock_timeout', '{PATIENCE}', false),
    set_config('default_transaction_isolation', 'read committed', false),
    set_config('synchronous_commit', CASE current_setting('synchronous_commit')
        WHEN 'remote_apply' THEN 'remote_apply' ELSE 'on' END, false)
"""
ADVICE = "Restore the newest backup of the database, and look at both with `tacit ledger verify`"
CLOCK = text("SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint")
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
        self._idle: list[Raw] = []  # for charges; each in use by one thread at a time
        self._guard = threading.Lock()

    # --- the hot path

    def charge(self, order: Order) -> Charged:
        """One round trip. If the connection breaks in it, the same key is asked once more on a new one."""
        try:
            return self._ask(order)
        except OutcomeUnknown:
            self._drop_idle()
        end = time.monotonic() + RETURN
        while True:
            try:
                return self._ask(order)
            except (Moved, CorruptLedger):
                raise
            except LedgerError as error:  # whatever it says of this attempt, the first one may have charged
                if time.monotonic() > end or not isinstance(error, OutcomeUnknown | _UnreachableError):
                    raise OutcomeUnknown(_unknown(self.where, error.__cause__ or error)) from error
            time.sleep(0.1)

    def _ask(self, order: Order) -> Charged:
        answer = self._call(order, None)
        if answer == b'["first"]':
            bodies = "{" + ",".join(_quoted(order.limit_body(limit)) for limit in order.limits) + "}"
            answer = self._call(order, bodies)
        if len(answer) == 48 and answer[:1] == b"\0":
            seq, at = int.from_bytes(answer[:8], "big"), int.from_bytes(answer[8:16], "big")
            self._known[order.account] = (seq, answer[16:])
            return Charged(seq, at, answer[16:], False, order.body)
        status, *rest = loads(answer)
        if status == "replayed":
            seq, at, mark, body = rest
            return Charged(seq, at, bytes.fromhex(mark), True, body)
        if status == "over":
            who, held_to, spend, delta = rest
            raise over(order, who, which=held_to, left=Amount(max(0, int(spend)), max(0, int(delta))))
        if status == "sealed":
            raise Denied(f'the account of "{order.people}" is sealed: nothing can be charged to it any more')
        if status == "moved":
            raise Moved(f'this ledger has no account for "{order.people}": apply its policy first')
        if status == "lost":
            raise lost(order.people)
        if status == "unsafe":
            raise LedgerError(_unsafe(self.where))
        raise LedgerError(f"{self.where} gave an answer that this release does not know: {status}")

    def _call(self, order: Order, limit_bodies: str | None) -> bytes:
        """Ask the function through libpq itself: the driver's own loop would cost a third of a charge."""
        amount, limits, seen = order.amount, order.limits, self._known.get(order.account)
        ordinary = all(limit.each is None or amount.fits(limit.each) for limit in limits)
        values: Any = (  # the stubs do not know that None is NULL
            b"%d" % order.account,
            order.people.encode(),
            order.analyst.encode(),
            order.key.encode(),
            b"%d" % amount.spend,
            b"%d" % amount.delta,
            ("{" + ",".join([_quoted(limit.holder) for limit in limits]) + "}").encode(),
            ("{" + ",".join([_numbers(limit) for limit in limits]) + "}").encode(),
            b"t" if ordinary else b"f",
            order.body.encode(),
            None if limit_bodies is None else limit_bodies.encode(),
            *((None, None) if seen is None else (b"%d" % seen[0], b"\\x" + seen[1].hex().encode())),
        )
        self._here()
        raw = self._take()
        link = raw.pgconn
        try:
            result = link.exec_prepared(STATEMENT, values, None, Format.BINARY)
            if result.status == ExecStatus.TUPLES_OK:
                answer = result.get_value(0, 0)
                self._idle.append(raw)  # appending to and popping from a list are atomic
                if self._closed:  # by another thread meanwhile
                    self._drop_idle()
                return answer or b""
            problem: psycopg.Error = error_from_result(result)
        except psycopg.Error as error:
            problem = error
        except BaseException:
            raw.close()  # interrupted: nobody knows what still comes on this connection
            raise
        broken = link.status != ConnStatus.OK
        raw.close()
        raise _failure(problem, self.where, broken=broken, committing=True) from problem

    def _take(self) -> Raw:
        try:
            return self._idle.pop()
        except IndexError:
            pass
        arguments, options = self._engine.dialect.create_connect_args(self._url)
        try:
            raw: Raw = psycopg.connect(*arguments, **{**HANGING, **options}, autocommit=True)
        except psycopg.Error as error:
            raise _UnreachableError(_unreachable(self.where, error)) from error
        try:
            _ready(raw, self.where)
            result = raw.pgconn.prepare(STATEMENT, ASK)
            if result.status != ExecStatus.COMMAND_OK:
                raise error_from_result(result)
        except psycopg.Error as error:
            broken = raw.pgconn.status != ConnStatus.OK
            raw.close()
            raise _failure(error, self.where, broken=broken, committing=False) from error
        except BaseException:
            raw.close()
            raise
        return raw

    # --- everything else

    def write(self, work: Callable[[Page], T]) -> T:
        return self._work(work, locks=True)

    def read(self, work: Callable[[Page], T]) -> T:
        return self._work(work, locks=False)

    def _work(self, work: Callable[[Page], T], *, locks: bool) -> T:
        self._here()
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
                        transaction.commit()
                    self._known |= page.heads
                    return answer
            except DBAPIError as error:
                state = getattr(error.orig, "sqlstate", None)
                silent = isinstance(error.orig, psycopg.OperationalError) and state is None
                broken = error.connection_invalidated or silent
                if left and (state in AGAIN or (error.connection_invalidated and not committing)):
                    continue  # nothing of it was written
                raise _failure(error.orig, self.where, broken=broken, committing=committing) from error
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
            self._drop_idle()
            self._engine.dispose()

    def _drop_idle(self) -> None:
        while self._idle:
            try:
                self._idle.pop().close()
            except IndexError:
                return

    def _here(self) -> None:
        if self._closed:
            raise LedgerError(f"the ledger {self.where} was closed: open it again")
        if os.getpid() != self._pid:
            with self._guard:
                if os.getpid() != self._pid:
                    _inherited.append((self._engine, self._idle))
                    self._fresh()


class _UnreachableError(LedgerError):
    """No connection could be made, so this attempt did nothing."""


_inherited: list[Any] = []  # connections of a parent process: never closed here, which would end them for the parent


def _address(url: str) -> URL:
    try:
        found = make_url(url)
    except (ArgumentError, ValueError) as error:  # ValueError: a port that is no number
        raise LedgerError(f"this is no address of a database: write postgresql://user@host/name ({error})") from None
    return found.set(drivername="postgresql+psycopg")


def _engine(url: URL, where: str) -> Engine:
    engine = create_engine(
        url, connect_args=HANGING, isolation_level="READ COMMITTED", pool_size=2, max_overflow=30, pool_use_lifo=True
    )

    @event.listens_for(engine, "connect")
    def connected(raw: Any, _: Any) -> None:
        _ready(raw.driver_connection if hasattr(raw, "driver_connection") else raw, where)

    return engine


def _ready(raw: Raw, where: str) -> None:
    """Settle how this connection commits, and refuse a server that cannot keep what it commits."""
    row = raw.execute(SETTINGS.encode()).fetchone()
    if not raw.autocommit:
        raw.commit()
    assert row is not None
    if row[0] != "on":
        raise LedgerError(_unsafe(where))
    if row[1] != "UTF8":
        raise LedgerError(f"{where} stores text as {row[1]}: create the database for the ledger with ENCODING 'UTF8'")
    if row[2] < 120000:
        raise LedgerError(f"{where} is PostgreSQL {row[2] // 10000}: a ledger needs 12 or newer")


def _open(connection: Connection, create: bool) -> tuple[str, dict[int, tuple[int, bytes]]]:
    """The ledger's name, and the newest entry of each account, by the account's number."""
    connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": MIGRATING})
    name = migrate(connection, now=_clock(connection), create=create, extra=_functions)
    torn = connection.execute(TORN).scalar()
    if torn is not None:
        who = f'of "{torn}"' if torn else "of its list of accounts"
        raise CorruptLedger(
            f"the newest entries {who} do not hang together: the ledger was altered or damaged. {ADVICE}"
        )
    heads = connection.execute(text("SELECT id, seq, head FROM tacit_accounts WHERE seq > 0"))
    return name, {row.id: (row.seq, bytes(row.head)) for row in heads}


def _functions(connection: Connection) -> None:
    connection.exec_driver_sql(FORMER)
    connection.exec_driver_sql(CHARGE)


def _clock(connection: Connection) -> int:
    return int(connection.execute(CLOCK).scalar_one())


def _quoted(item: str) -> str:
    """An element of an array as PostgreSQL writes it."""
    return '"' + item.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _numbers(limit: Limit) -> str:
    total, each = limit.total, limit.each
    most = "NULL,NULL" if each is None else f"{each.spend},{each.delta}"
    return f"{total.spend},{total.delta},{most}"


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
        "42883": "its function for charges is missing: restore the whole backup, functions included",
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
