"""Where a stream is: one SQLite file for its owner alone, beside the ledger. A tick is two commits, each on disk.

The first holds whose events the tick has, the second its noisy number: noise is drawn between them, and shown after. So
a process that dies leaves either no tick, or one whose data are fixed and whose noise nobody saw; that one is finished
before any other. The file holds true counts and who was seen when: it is private.
"""

import os
import sqlite3
from collections.abc import Iterable
from contextlib import closing, suppress
from hashlib import blake2b
from pathlib import Path
from types import TracebackType
from typing import Self

from tacit.base import InputError, LedgerError
from tacit.base.private_file import open_private, private_folder
from tacit.noise import rng_or_default

__all__ = ["StreamState"]

TABLES = """
CREATE TABLE about (receipt TEXT NOT NULL, salt BLOB NOT NULL);
CREATE TABLE ticks (step INTEGER PRIMARY KEY, true INTEGER NOT NULL, noisy TEXT);
CREATE TABLE seen (unit BLOB PRIMARY KEY, last INTEGER NOT NULL, turns INTEGER NOT NULL) WITHOUT ROWID;
"""
GONE = (
    "what this stream had released is not where it was, so it cannot go on: with fresh noise the same events would be "
    "told twice. Put the file back, or begin a stream of another name, which pays again"
)


class StreamState:
    """One stream's file. `begin` makes it, for a charge that is new; `resume` opens it and nothing else."""

    def __init__(self, book: sqlite3.Connection, salt: bytes) -> None:
        self._book, self._salt = book, salt

    @classmethod
    def begin(cls, path: Path, receipt: str) -> "StreamState":
        """A new file; an error if there is one."""
        private_folder(path.parent)
        try:
            os.close(open_private(path, os.O_WRONLY | os.O_EXCL))
        except FileExistsError:
            raise LedgerError(f"{path.name} is there already: a stream begins with none") from None
        book = _connected(path)
        salt = rng_or_default(None).read(32)
        with book:
            book.executescript("BEGIN;" + TABLES)
            book.execute("INSERT INTO about VALUES (?, ?)", (receipt, salt))
        _settled(path.parent)
        return cls(book, salt)

    @classmethod
    def resume(cls, path: Path, receipt: str) -> "StreamState":
        """The file of this receipt, or an error: it is never begun anew."""
        if not path.exists():
            raise InputError(GONE)
        book: sqlite3.Connection | None = None
        found, salt = None, b""
        with suppress(sqlite3.DatabaseError):
            book = _connected(path)
            (found, salt) = book.execute("SELECT receipt, salt FROM about").fetchone() or (None, b"")
        if book is None or found != receipt:
            if book is not None:
                book.close()
            raise InputError(GONE)
        return cls(book, bytes(salt))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._book.close()

    # --- a tick

    def commit(self, step: int, units: Iterable[str], *, times: int, separation: int) -> int:
        """Fix whose events tick `step` has: each unit once, at most `times` in all, at least `separation` ticks apart.
        On disk when this returns; how many there are."""
        taken = 0
        with self._book:
            for unit in set(units):
                name = blake2b(unit.encode(), key=self._salt, digest_size=16).digest()
                row = self._book.execute("SELECT last, turns FROM seen WHERE unit = ?", (name,)).fetchone()
                if row is not None and (row[1] >= times or step - row[0] < separation):
                    continue  # more than was declared: it does not count, and nobody is told
                turns = 1 if row is None else row[1] + 1
                self._book.execute("INSERT OR REPLACE INTO seen VALUES (?, ?, ?)", (name, step, turns))
                taken += 1
            self._book.execute("INSERT INTO ticks VALUES (?, ?, NULL)", (step, taken))
        return taken

    def release(self, step: int, noisy: int) -> None:
        """Keep the noisy number of a tick that has none. On disk when this returns, and only then may it be shown."""
        with self._book:
            changed = self._book.execute(
                "UPDATE ticks SET noisy = ? WHERE step = ? AND noisy IS NULL", (str(noisy), step)
            )
            if changed.rowcount != 1:
                raise LedgerError(f"tick {step} of this stream was released before")

    def true_counts(self) -> list[int]:
        """Private."""
        return [row[0] for row in self._book.execute("SELECT true FROM ticks ORDER BY step")]

    def released(self) -> list[int]:
        """The noisy numbers so far, in order."""
        rows = self._book.execute("SELECT noisy FROM ticks WHERE noisy IS NOT NULL ORDER BY step")
        return [int(row[0]) for row in rows]


def _connected(path: Path) -> sqlite3.Connection:
    book = sqlite3.connect(path, check_same_thread=False, timeout=1.0)
    try:
        # the journal has the rights of the file itself
        with closing(book.execute("PRAGMA journal_mode = DELETE")), closing(book.execute("PRAGMA synchronous = EXTRA")):
            return book
    except sqlite3.DatabaseError:
        book.close()
        raise


def _settled(folder: Path) -> None:
    """The name of a new file is on disk."""
    place = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(place)
    finally:
        os.close(place)
