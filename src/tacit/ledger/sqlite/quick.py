"""A look at an account beside the line: what a quote needs, in one statement, while others write.

SQLite lets readers see the last commit while a transaction is under way, so nobody waits for the disk here. A look
decides nothing: only the charge does, in its own transaction.
"""

import sqlite3
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

from tacit.base import CorruptLedger
from tacit.ledger.charge import read_account, standing_of
from tacit.ledger.receipt import Standing
from tacit.ledger.sqlite.file import connection, rows_of

__all__ = ["QuickReader"]

T = TypeVar("T")
ANSWERED = (
    "SELECT 1 FROM tacit_answers JOIN tacit_accounts ON tacit_accounts.id = tacit_answers.account "
    "WHERE people = ? AND scope IN (?, ?) AND program = ? AND version = ? LIMIT 1"
)


class QuickReader:
    """A connection of its own that only reads. Closed before a fork, as all of them."""

    def __init__(self, path: Path) -> None:
        self._path, self._lock = path, threading.Lock()
        self._raw: sqlite3.Connection | None = None
        self._may = False

    def allow(self) -> None:
        """The store is open and was checked."""
        self._may = True

    def standing(self, people: str, holders: Sequence[str], clock: Callable[[], int]) -> Standing | None:
        """The account with these balances; None if that cannot be told in this way."""

        def read(raw: sqlite3.Connection) -> Standing | None:
            found = read_account(rows_of(raw), people, holders)
            return None if found is None else standing_of(*found, max(clock(), found[0].time))

        return self._look(read)

    def answered(self, people: str, scopes: tuple[str, str], program: str, version: str) -> bool | None:
        """Whether an answer to this program on this version of the data is stored; None if that cannot be told."""
        values = (people, *scopes, program, version)
        return self._look(lambda raw: raw.execute(ANSWERED, values).fetchone() is not None)

    def _look(self, work: Callable[[sqlite3.Connection], T]) -> T | None:
        """What is found in one state of the book; None if anything is wrong, which the long way says."""
        with suppress(sqlite3.Error, CorruptLedger, ValueError), self._lock:
            if not self._may:
                return None
            if self._raw is None:
                self._raw = connection(self._path, "ro", patience=0.05)
            raw = self._raw
            raw.execute("BEGIN")
            try:
                return work(raw)
            finally:
                raw.execute("COMMIT")
        return None

    def close(self) -> None:
        with self._lock, suppress(sqlite3.Error):
            self._may = False
            if self._raw is not None:
                self._raw.close()
            self._raw = None
