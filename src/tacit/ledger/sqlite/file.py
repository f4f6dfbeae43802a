"""The file of an open ledger, and the log, the marks and the lock beside it.

Are they the ones that were opened, as they were left? SQLite does not look. If somebody removes the log, or puts other
files in their place, it goes on writing into what nobody will ever read again.
"""

import _thread
import fcntl
import os
import sqlite3
import struct
import threading
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.parse import quote

from sqlalchemy import Connection, text
from sqlalchemy.exc import DBAPIError

from tacit.base import CorruptLedger, LedgerError, OutcomeUnknown, TacitError
from tacit.base.private_file import FILE, open_private
from tacit.ledger.chain import REGISTRY, digest, lost
from tacit.ledger.charge import Execute
from tacit.policy.account import DATASET, analyst_holder

__all__ = [
    "ADVICE", "PATIENCE", "SETTINGS", "OpenFile", "Turnstile", "Watermark", "check", "connection", "failure",
    "heads_of", "nothing_missing", "rows_of", "still_there",
]  # fmt: skip

ADVICE = (
    "Entries may have been lost, and with them privacy that was spent. Put the newest copy of the ledger back, with "
    "the files beside it. If this copy is meant to be used: `tacit ledger adopt`, which records that it was"
)

PATIENCE = 30.0  # seconds to wait for other processes, whether they stand in line or not
SETTINGS = (
    "synchronous = FULL",
    "fullfsync = ON",
    "checkpoint_fullfsync = ON",
    "foreign_keys = ON",
    "temp_store = MEMORY",
)


class _Raw(sqlite3.Connection):
    """A connection whose transactions are ours alone: SQLAlchemy works inside them and neither begins nor ends one."""

    def commit(self) -> None:
        pass

    def rollback(self) -> None:
        pass


def connection(path: Path, mode: str, *, patience: float | None = None) -> sqlite3.Connection:
    return sqlite3.connect(
        f"file:{quote(str(path))}?mode={mode}",
        uri=True,
        factory=_Raw,
        isolation_level=None,
        check_same_thread=False,
        timeout=PATIENCE if patience is None else patience,
        cached_statements=256,
    )


def rows_of(raw: sqlite3.Connection) -> Execute:
    """How `charge.py` asks this connection."""
    return lambda statements: [raw.execute(text, values).fetchall() for text, values in statements]


class OpenFile:
    """What was opened, by its number in the file system, and when it was last written."""

    def __init__(self, path: Path, where: str) -> None:
        self._file, self._log, self._where = str(path), f"{path}-wal", where
        file, log = self._looked()
        self._inodes, self.written = _inodes(file, log), _written(file)

    def check(self) -> "os.stat_result":
        """The file as it is now; an error if it, or its log, is another than the one that was opened."""
        try:
            file, log = self._looked()
            same = _inodes(file, log) == self._inodes
        except FileNotFoundError:
            same = False
        if not same:
            raise CorruptLedger(
                f"{self._where}, or the log beside it, was removed or replaced while it was open, so nothing was "
                "charged: put all of its files back as they were, or ask again to use them as they are now"
            )
        return file

    def unchanged(self) -> bool:
        """The same, and whether it is as it was left. Others write it at each of their checkpoints; so does whoever
        copies an older state over it."""
        before, self.written = self.written, _written(self.check())
        return before == self.written

    def left(self) -> bool:
        """As it is now is how we leave it; whether our own commit has written it."""
        before, self.written = self.written, _written(os.stat(self._file))  # noqa: PTH116
        return before != self.written

    def _looked(self) -> tuple[os.stat_result, os.stat_result]:
        return os.stat(self._file), os.stat(self._log)  # noqa: PTH116 - pathlib takes three times as long


def _inodes(*files: os.stat_result) -> list[tuple[int, int]]:
    return [(file.st_dev, file.st_ino) for file in files]


def _written(file: os.stat_result) -> bytes:
    """When, and how large it was then. The log is what most commits write."""
    return b"%d %d" % (file.st_mtime_ns, file.st_size)


HEADS = "SELECT id, people, seq, head FROM tacit_accounts"
TAIL = "SELECT seq, time, body, digest FROM tacit_entries WHERE account = :account ORDER BY seq DESC LIMIT 2"
AT = "SELECT digest FROM tacit_entries WHERE account = :account AND seq = :seq"
NEWEST = """SELECT a.id, a.people, a.seq, a.head, e.digest FROM tacit_accounts a
LEFT JOIN tacit_entries e ON e.account = a.id AND e.seq = a.seq"""
COUNTED = "SELECT people, seq, (SELECT count(*) FROM tacit_entries e WHERE e.account = a.id) FROM tacit_accounts a"
SPENT = "SELECT account, holder, spent_spend, spent_delta FROM tacit_balances"


def still_there(raw: sqlite3.Connection, known: dict[int, tuple[int, bytes]]) -> None:
    """The newest entry of each account is there, and not before the newest one that this process has seen."""
    for number, people, seq, head, newest in raw.execute(NEWEST):
        at, mark = known.get(number, (0, b""))
        if (seq and newest != head) or seq < at or (at and seq == at and head != mark):
            raise lost(people)


def nothing_missing(raw: sqlite3.Connection) -> None:
    """No entry between the first and the newest is gone, and analysts have spent together what the dataset has.

    An older file under a newer log is a mixture of both: the newest entries are as they should be, and others are not.
    """
    for people, seq, count in raw.execute(COUNTED).fetchall():
        if seq != count:
            raise lost(people)
    totals: dict[int, list[int]] = {}
    for account, holder, spend, delta in raw.execute(SPENT):
        sign = 1 if holder == DATASET else -1 if holder.startswith(analyst_holder("")) else 0
        total = totals.setdefault(account, [0, 0])
        total[0] += sign * int(spend)
        total[1] += sign * int(delta)
    if any(any(total) for total in totals.values()):
        raise CorruptLedger(f"what analysts have spent is not what the dataset has: the ledger was altered. {ADVICE}")


def heads_of(connection: Connection) -> dict[int, tuple[int, bytes]]:
    """The newest entry of every account, by the account's number."""
    return {row.id: (row.seq, row.head) for row in connection.execute(text(HEADS))}


def check(connection: Connection, marked: dict[int, tuple[int, bytes]], *, strict: bool) -> list[str]:
    """Each account's newest entries hang together and the book reaches as far as it was known to.

    The people of whom the latter does not hold; if `strict` they are an error. The former always is.
    """
    changed, left = [], dict(marked)
    for row in connection.execute(text(HEADS)).all():
        _hangs_together(connection, row)
        number, seq, head = row.id, row.seq, row.head
        at, known = left.pop(number, (0, b""))
        if (
            at > seq
            or (at == seq and at and known != head)
            or (at < seq and at and _digest(connection, number, at) != known)
        ):
            changed.append(row.people)
    lost = [number for number, (seq, _) in left.items() if seq]
    if strict and (changed or lost):
        who = ", ".join(f'"{people}"' for people in changed if people != REGISTRY) or "its list of accounts"
        raise CorruptLedger(
            f"this ledger has lost or changed entries of {who}, which it is known to have had. {ADVICE}"
        )
    return [people for people in changed if people != REGISTRY]


def _digest(connection: Connection, account: int, seq: int) -> bytes | None:
    found = connection.execute(text(AT), {"account": account, "seq": seq}).scalar()
    return None if found is None else bytes(found)


def _hangs_together(connection: Connection, row: Any) -> None:
    tail = connection.execute(text(TAIL), {"account": row.id}).all()
    good = (not tail) if not row.seq else bool(tail) and (tail[0].seq, tail[0].digest) == (row.seq, row.head)
    if good and len(tail) == 2:
        last, before = tail
        good = (
            last.seq == before.seq + 1 and digest(before.digest, last.seq, last.time, last.body.encode()) == last.digest
        )
    if not good:
        name = f'"{row.people}"' if row.people else "its list of accounts"
        raise CorruptLedger(
            f"the newest entries of {name} do not hang together: the ledger was altered or damaged. {ADVICE}"
        )


def _unreadable(problem: BaseException) -> bool:
    """Whether SQLite found its pages in order, and rows in them that no ledger wrote."""
    if isinstance(problem, sqlite3.OperationalError):
        return str(problem).startswith(("no such table", "no such column", "Could not decode"))
    return isinstance(problem, TypeError | ValueError | AttributeError | LookupError)


def failure(problem: BaseException, where: str, *, committing: bool) -> BaseException:
    """What to tell a caller whose transaction failed: whether something may have been charged, and what to do."""
    if isinstance(problem, TacitError):
        return type(problem)(*problem.args)
    if isinstance(problem, DBAPIError) and problem.orig is not None:
        problem = problem.orig
    code = getattr(problem, "sqlite_errorcode", 0) & 0xFF
    if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB) or _unreadable(problem):
        return CorruptLedger(f"{where} is damaged, or not a ledger ({problem}). {ADVICE}")
    certain = not committing or code in (sqlite3.SQLITE_FULL, sqlite3.SQLITE_BUSY)
    if not certain:
        return OutcomeUnknown(
            f"{where} failed while it committed ({problem}), so it is not known whether anything was charged: "
            "ask again with the same key, which never charges twice"
        )
    causes = {
        sqlite3.SQLITE_FULL: "the disk is full: make room and ask again",
        sqlite3.SQLITE_BUSY: "another program holds it: close that program, or wait, and ask again",
        sqlite3.SQLITE_READONLY: "it cannot be written: check the rights of the file and its folder",
        sqlite3.SQLITE_CANTOPEN: "it cannot be opened: check that the path is a file, and the rights of its folder",
    }
    cause = causes.get(code) or f"{type(problem).__name__}: {problem}"
    return LedgerError(f"the ledger {where} cannot be used now, and nothing was charged: {cause}")


SIZE = 64
RECORD = struct.Struct(">QQ32s")
MAGIC = b"tacit mark 1\0"


def _sealed(content: bytes) -> bytes:
    return content + sha256(content).digest()[:16]


def _header(ledger: str) -> bytes:
    return _sealed(RECORD.pack(0, 0, sha256(MAGIC + ledger.encode()).digest()))


class Watermark:
    """How far the book had come: a small file beside it, against copies that were cut short or put back.

    A database can lose its newest entries and still be well-formed: a torn log, a truncated file, yesterday's copy. So
    after each commit the newest entry of the account is noted here as well. The note is not forced to the disk, so it
    may lag behind the book after a power cut; it never runs ahead of it.

    One record of 64 bytes per account, at 64 × its number: number, seq, digest, checksum. The first one names the
    ledger. Written and read only by whoever holds the ledger's turnstile.
    """

    def __init__(self, path: Path, *, mode: int = FILE) -> None:
        self.path = path
        self._file = open_private(path, os.O_RDWR, mode=mode)

    @property
    def empty(self) -> bool:
        return os.fstat(self._file).st_size == 0

    def read(self, ledger: str) -> dict[int, tuple[int, bytes]]:
        """The newest entry known of each account, by number; damaged notes, or another ledger's, are an error."""
        data = b""
        while part := os.pread(self._file, 1 << 20, len(data)):
            data += part
        if data[:SIZE] != _header(ledger):
            raise CorruptLedger(f"{self.path} is missing or of another ledger. {ADVICE}")
        found = {}
        for start in range(SIZE, len(data), SIZE):
            record = data[start : start + SIZE]
            if not any(record):
                continue  # an account whose first note was not written before a crash
            number, seq, digest = RECORD.unpack_from(record.ljust(SIZE, b"\0"))
            if record != _sealed(record[: RECORD.size]) or number * SIZE != start:
                raise CorruptLedger(f"{self.path} is damaged. {ADVICE}")
            found[number] = (seq, digest)
        return found

    def write(self, number: int, seq: int, digest: bytes) -> None:
        """Note an entry that was committed. A failure only lets the note lag."""
        os.pwrite(self._file, _sealed(RECORD.pack(number, seq, digest)), number * SIZE)

    def rewrite(self, ledger: str, heads: dict[int, tuple[int, bytes]]) -> None:
        """Begin anew with these entries, durably."""
        os.ftruncate(self._file, 0)
        os.pwrite(self._file, _header(ledger), 0)
        for number, head in heads.items():
            self.write(number, *head)
        os.fsync(self._file)

    def close(self) -> None:
        os.close(self._file)


NOTE = 64  # bytes


class Turnstile:
    """One process at a time, by a lock of the operating system: the kernel keeps its queue, and lets it go when its
    holder dies. Not to be used across a fork: close it before, open another after.
    """

    def __init__(self, path: Path, *, mode: int = FILE) -> None:
        self._file = open_private(path, os.O_RDWR, mode=mode)

    def enter(self, patience: float) -> bool:
        """Wait for our turn, but not longer than so many seconds. After False, close this and open another."""
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return _Porter(os.dup(self._file)).wait(patience)
        return True

    def leave(self) -> None:
        fcntl.flock(self._file, fcntl.LOCK_UN)

    def note(self, text: bytes) -> None:
        """Leave a word for whoever has the next turn, in place of the one before."""
        os.pwrite(self._file, text.ljust(NOTE), 0)

    def noted(self) -> bytes:
        return os.pread(self._file, NOTE, 0).rstrip()

    def close(self) -> None:
        os.close(self._file)


class _Porter:
    """A thread that waits in the kernel's queue, so that whoever sent it can give up: that wait has no end itself."""

    def __init__(self, file: int) -> None:
        self._file = file  # shares its lock with the file it was copied from
        self._decision = threading.Lock()
        self._given_up = False
        self._entered = threading.Lock()
        self._entered.acquire()
        _thread.start_new_thread(self._stand, ())  # threading.Thread would wait for the thread to start: twice the time

    def wait(self, patience: float) -> bool:
        try:
            if self._entered.acquire(timeout=patience):
                return True
        except BaseException:
            self._give_up()
            raise
        return not self._give_up()

    def _give_up(self) -> bool:
        """Whether that was in time: the porter may have got the turn at this very moment."""
        with self._decision:
            self._given_up = not self._entered.acquire(blocking=False)
            return self._given_up

    def _stand(self) -> None:
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX)
            with self._decision:
                if self._given_up:
                    fcntl.flock(self._file, fcntl.LOCK_UN)
                else:
                    self._entered.release()
        finally:
            os.close(self._file)
