"""A SQLite file for its owner alone, beside the ledger, that belongs to one charge and is never begun twice.

It holds what is private and what was told under that charge. What is committed is on disk. If it is gone the work that
it belongs to cannot go on: told again with fresh noise, the same data would be told twice.
"""

import os
import sqlite3
from contextlib import closing, suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from tacit.base import InputError, LedgerError
from tacit.base.private_file import open_private, private_folder, settle
from tacit.noise import rng_or_default

__all__ = ["PrivateBook"]

ABOUT = "CREATE TABLE about (receipt TEXT NOT NULL, salt BLOB NOT NULL);"
GONE = (
    "what was told under this charge is not where it was, so this cannot go on: with fresh noise the same data would "
    "be told twice. Put the file back, or begin anew under another name, which pays again"
)


class PrivateBook:
    """`begin` makes the file, for a charge that is new; `resume` opens it and nothing else. `salt` is its own."""

    tables = ""

    def __init__(self, book: sqlite3.Connection, salt: Any) -> None:
        self.book, self.salt = book, bytes(salt)

    @classmethod
    def begin(cls, path: Path, receipt: str) -> Self:
        """A new file; an error if there is one."""
        private_folder(path.parent)
        try:
            os.close(open_private(path, os.O_WRONLY | os.O_EXCL))
        except FileExistsError:
            raise LedgerError(f"{path.name} is there already, and this charge is new") from None
        book = _connected(path)
        salt = rng_or_default(None).read(32)
        with book:
            book.executescript("BEGIN;" + ABOUT + cls.tables)
            book.execute("INSERT INTO about VALUES (?, ?)", (receipt, salt))
        settle(path.parent)
        return cls(book, salt)

    @classmethod
    def resume(cls, path: Path, receipt: str) -> Self:
        """The file of this receipt, or an error: it is never begun anew."""
        if not path.exists():
            raise InputError(GONE)
        book: sqlite3.Connection | None = None
        about: Any = None
        with suppress(sqlite3.DatabaseError):
            book = _connected(path)
            about = book.execute("SELECT receipt, salt FROM about").fetchone()
        if book is None or about is None or about[0] != receipt:
            if book is not None:
                book.close()
            raise InputError(GONE)
        return cls(book, about[1])

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.book.close()


def _connected(path: Path) -> sqlite3.Connection:
    book = sqlite3.connect(path, check_same_thread=False, timeout=1.0)
    try:
        # the journal has the rights of the file itself
        with closing(book.execute("PRAGMA journal_mode = DELETE")), closing(book.execute("PRAGMA synchronous = EXTRA")):
            return book
    except sqlite3.DatabaseError:
        book.close()
        raise
