"""A ledger in one SQLite file, for one machine.

WAL with synchronous = FULL: a commit has reached the disk when it returns. All threads of a process share one
connection and are served in order, many in one transaction; processes take turns at a lock. A connection never crosses
a fork: it is closed before, and opened again where it is needed.
"""

import os
import shutil
import sqlite3
import threading
import weakref
from collections import ChainMap
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from pathlib import Path
from stat import S_IMODE
from time import time_ns
from typing import Any, TypeVar

from sqlalchemy import create_engine
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import StaticPool

from tacit.base import CorruptLedger, LedgerError, TacitError
from tacit.base.private_file import FILE, open_private, settle
from tacit.ledger.charge import ChargeEntry, ChargeOrder, charge
from tacit.ledger.migrate import migrate
from tacit.ledger.queue import Queue, QueuedWork
from tacit.ledger.receipt import Standing
from tacit.ledger.sqlite.file import (
    ADVICE,
    PATIENCE,
    SETTINGS,
    OpenFile,
    Turnstile,
    Watermark,
    check,
    connection,
    failure,
    heads_of,
    nothing_missing,
    rows_of,
    still_there,
)
from tacit.ledger.sqlite.quick import QuickReader
from tacit.ledger.store import Page

__all__ = ["SqliteStore"]

T = TypeVar("T")
ROOM = 1 << 24  # bytes that must be free for charges to go on
SHORT = 3000  # ms that a look waits for the lock


def wall_clock() -> int:
    """µs since 1970, as this machine has it."""
    return time_ns() // 1000


def _beside(path: Path, ending: str) -> Path:
    return path.with_name(path.name + ending)


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


class SqliteStore:
    """See `Store`. `trusting` opens a book that is older than the watermark, to adopt it."""

    def __init__(
        self, path: Path, *, create: bool = True, trusting: bool = False, clock: Callable[[], int] = wall_clock
    ) -> None:
        self.path = path.resolve()
        if not self.path.name or os.path.isdir(self.path):  # noqa: PTH112 - False, not an error, without the rights to look
            raise LedgerError(f"{path} is a folder: name the file of the ledger, such as {path / 'tacit.ledger'}")
        self.where = str(path)
        self.ledger = ""
        self._create, self._trusting, self._closed, self._clock = create, trusting, False, clock
        self._raw: sqlite3.Connection | None = None
        self._known: dict[int, tuple[int, bytes]] = {}
        self._fresh()
        with self._serving:
            self._connect()
        _stores.add(self)

    # --- the store

    def charge(self, order: ChargeOrder) -> ChargeEntry:
        answer: ChargeEntry = self._ask(order, writes=True)
        return answer

    def write(self, work: Callable[[Page], T]) -> T:
        answer: T = self._ask(work, writes=True)
        return answer

    def read(self, work: Callable[[Page], T]) -> T:
        answer: T = self._ask(work, writes=False)
        return answer

    def glance(self, people: str, holders: Sequence[str]) -> Standing | None:
        if os.getpid() != self._pid:
            return None
        try:
            self._file.check()
        except CorruptLedger:  # or it was closed a moment ago, and its log with it: the long way says which
            return None
        return self._glance.standing(people, holders, self._clock)

    def answered(self, people: str, scopes: tuple[str, str], program: str, version: str) -> bool | None:
        return None if os.getpid() != self._pid else self._glance.answered(people, scopes, program, version)

    def ready(self) -> None:
        """By the lock that a charge takes, and beside the line in which charges and reads wait."""
        try:
            with closing(connection(self.path, "rw")) as raw:
                raw.execute(f"PRAGMA busy_timeout = {SHORT}")
                raw.execute("BEGIN IMMEDIATE")
                raw.execute("ROLLBACK")
        except sqlite3.Error as problem:
            raise failure(problem, self.where, committing=False) from problem
        if shutil.disk_usage(self.path.parent).free < ROOM:
            raise LedgerError(f"there is no room on the disk of {self.where}: make some")

    def suspects(self, page: Page) -> list[str]:
        return check(page.connection, self._marked(), strict=False)

    def trust(self) -> None:
        with self._serving:
            self._ready()
            self._enter()
            try:
                self._known = heads_of(self._core)
                self._mark.rewrite(self.ledger, self._known)
                self._trusting = False
            finally:
                self._core.rollback()
                self._turnstile.leave()

    def close(self) -> None:
        with self._serving:
            self._closed = True
            self._disconnect()

    # --- standing in line

    def _ask(self, what: Any, *, writes: bool) -> Any:
        if os.getpid() != self._pid:  # forked behind Python's back, so that nothing was closed before
            raise LedgerError("this process was forked while the ledger was in use: open the ledger again in it")
        return self._queue.put(QueuedWork(what, writes=writes))

    def _fresh(self) -> None:
        self._pid = os.getpid()
        self._glance = QuickReader(self.path)
        self._serving = threading.Lock()  # held while the connection is used
        self._queue = Queue(self._serve)

    def _serve(self, asks: list[QueuedWork]) -> None:
        """Answer all of them in one transaction. Nobody is told anything before it is committed."""
        stage = "before"
        try:
            with self._serving:
                raw = self._ready()
                writing = any(ask.writes for ask in asks)
                heads: dict[int, tuple[int, bytes]] = {}
                try:
                    if writing:
                        self._enter()
                    unchanged = self._file.unchanged()
                    raw.execute("BEGIN IMMEDIATE" if writing else "BEGIN")
                    if not unchanged and self._known:
                        self._still_there(raw)
                    for ask in asks:
                        self._answer(raw, ask, heads)
                    stage = "committing"
                    raw.execute("COMMIT")
                    stage = "committed"
                    self._note(heads)
                    if writing:
                        if self._file.left():
                            self._turnstile.note(self._file.written)
                        self._turnstile.leave()
                except BaseException:
                    self._abandon()
                    raise
        except BaseException as problem:
            if stage != "committed":
                for ask in asks:
                    ask.value, ask.error = None, failure(problem, self.where, committing=stage == "committing")
            if not isinstance(problem, Exception):
                raise

    def _answer(self, raw: sqlite3.Connection, ask: QueuedWork, heads: dict[int, tuple[int, bytes]]) -> None:
        """Do one ask; a refusal leaves no trace and does not touch the others."""
        if isinstance(ask.what, ChargeOrder):
            try:
                (answer,) = charge(rows_of(raw), [ask.what], clock=self._clock, seen=self._known, heads=heads)
                ask.answer(answer)
            except TacitError as refusal:  # always before the first write
                ask.answer(refusal)
            return
        seen = ChainMap(heads, self._known)
        page = Page(self._core, ledger=self.ledger, clock=lambda _: self._clock(), locks=False, seen=seen)
        raw.execute("SAVEPOINT ask")
        try:
            ask.value = ask.what(page)
        except (sqlite3.Error, DBAPIError):
            raise
        except Exception as refusal:
            ask.error = refusal
            raw.execute("ROLLBACK TO ask")
        else:
            heads |= page.heads
        raw.execute("RELEASE ask")
        self._core.rollback()  # SQLAlchemy's own notion of a transaction; see _Raw

    def _note(self, heads: dict[int, tuple[int, bytes]]) -> None:
        self._known |= heads
        if not self._trusting:
            try:
                for number, (seq, digest) in heads.items():
                    self._mark.write(number, seq, digest)
            except OSError:
                pass  # a note that lags is allowed

    # --- the connection

    def _ready(self) -> sqlite3.Connection:
        if self._closed:
            raise LedgerError(f"the ledger {self.where} was closed: open it again")
        if self._raw is None:
            self._connect()
        assert self._raw is not None
        return self._raw

    def _connect(self) -> None:
        try:
            if not self.path.parent.is_dir():
                raise LedgerError(f"there is no folder {self.path.parent} for a ledger: create it first")
            self._turnstile = Turnstile(_beside(self.path, ".lock"), mode=self._mode())
            self._enter()
            try:
                self._open()
            finally:
                self._turnstile.leave()
            self._glance.allow()
        except BaseException as problem:
            self._disconnect()
            if isinstance(problem, Exception):
                raise failure(problem, self.where, committing=False) from problem
            raise

    def _open(self) -> None:
        """Connect, make the tables current, and check. The caller holds the turnstile."""
        blank = _size(self.path) == 0
        if blank and (_size(_beside(self.path, ".mark")) or _size(_beside(self.path, "-wal"))):
            raise CorruptLedger(
                f"the ledger {self.where} is gone, and files beside it show that there was one: put the newest copy "
                f"back. Only if its people's data are gone too, remove {self.path.name}* and begin anew"
            )
        if blank and (self.ledger or not self._create):
            raise LedgerError(
                f"there is no ledger at {self.where}: check the path, or create it with `tacit ledger apply`"
            )
        self._mark = Watermark(_beside(self.path, ".mark"), mode=self._mode())
        if blank:  # made here: SQLite would make it as the umask says, and gives its log the rights of the file
            os.close(open_private(self.path, os.O_RDWR))
        raw = self._raw = connection(self.path, "rw")
        if raw.execute("PRAGMA journal_mode = WAL").fetchone()[0] != "wal":
            raise LedgerError(
                f"{self.where} lies on a file system without shared memory: put the ledger on a local disk"
            )
        for setting in SETTINGS:
            raw.execute(f"PRAGMA {setting}")
        if self.path.stat().st_nlink != 1:
            raise LedgerError(f"{self.where} has a second name (a hard link), under which its log would not be found")
        self._engine = create_engine("sqlite://", creator=lambda: raw, poolclass=StaticPool)
        self._core = self._engine.connect()
        raw.execute("BEGIN IMMEDIATE")
        tables = raw.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
        unborn = tables == 0 and self._mark.empty  # also after a crash while it was created
        if tables == 0 and not unborn:
            raise CorruptLedger(f"the ledger {self.where} is empty, and it was not. {ADVICE}")
        name = migrate(self._core, now=self._clock(), create=unborn and self._create)
        if self.ledger not in ("", name):
            raise CorruptLedger(f"{self.where} is another ledger than the one that was open here. {ADVICE}")
        self.ledger = name
        heads = heads_of(self._core)
        fresh = self._mark.empty and not any(seq for seq, _ in heads.values())
        marked = {} if fresh else self._marked()
        for seen in (marked, self._known):  # by anybody, and by this process before it lost its connection
            check(self._core, seen, strict=not self._trusting)
        self._file = OpenFile(self.path, self.where)
        if self._turnstile.noted() != self._file.written and not self._trusting:
            nothing_missing(raw)
        raw.execute("COMMIT")
        self._core.rollback()
        self._file.left()
        self._turnstile.note(self._file.written)
        if fresh:
            self._mark.rewrite(name, {})  # after the tables are there: a mark without them would look like a loss
        self._known = {}
        if not self._trusting:
            self._note({number: head for number, head in heads.items() if marked.get(number) != head})
            self._known = heads
        if unborn:
            settle(self.path.parent)

    def _mode(self) -> int:
        """The rights of the files beside the ledger: its own, so that a group that shares it shares all of them."""
        try:
            return S_IMODE(self.path.stat().st_mode)
        except FileNotFoundError:
            return FILE

    def _marked(self) -> dict[int, tuple[int, bytes]]:
        try:
            return self._mark.read(self.ledger)
        except CorruptLedger:
            if not self._trusting:
                raise
            return {}

    def _enter(self) -> None:
        if not self._turnstile.enter(PATIENCE):
            raise LedgerError(
                f"another process has held the ledger {self.where} for {PATIENCE:g} seconds, and nothing was charged: "
                "look for one that hangs or was stopped, and ask again"
            )

    def _still_there(self, raw: sqlite3.Connection) -> None:
        """What we know of is in the file as it is now; one that was not written by a ledger is looked at closely."""
        raw.execute("PRAGMA shrink_memory")  # forgets pages that were read before
        still_there(raw, self._known)
        if self._turnstile.noted() != self._file.written:
            nothing_missing(raw)

    def _abandon(self) -> None:
        """After a failure inside a transaction nothing about the connection is believed: the next one checks again."""
        raw = self._raw
        if raw is not None:
            with suppress(sqlite3.Error):
                raw.execute("ROLLBACK")
        self._disconnect()

    def _disconnect(self) -> None:
        self._glance.close()
        if self._raw is not None:
            if getattr(self, "_core", None) is not None:
                self._core.close()
                self._engine.dispose()
            with suppress(sqlite3.Error):
                self._raw.close()
            self._raw = None
        for name in ("_mark", "_turnstile"):
            if (thing := self.__dict__.pop(name, None)) is not None:
                thing.close()


_stores: "weakref.WeakSet[SqliteStore]" = weakref.WeakSet()
_held: list[SqliteStore] = []


def _before_fork() -> None:
    """Finish what is under way and close: SQLite's locks and memory must not be shared with the child."""
    for store in list(_stores):
        store._serving.acquire()
        store._disconnect()
        _held.append(store)


def _after_in_parent() -> None:
    while _held:
        _held.pop()._serving.release()


def _after_in_child() -> None:
    while _held:
        _held.pop()._fresh()


os.register_at_fork(before=_before_fork, after_in_parent=_after_in_parent, after_in_child=_after_in_child)
