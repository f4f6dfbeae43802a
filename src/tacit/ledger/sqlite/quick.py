"""A look at an account beside the line: what a quote needs, in one statement, while others write.

SQLite lets readers see the last commit while a transaction is under way, so nobody waits for the disk here. A look
decides nothing: only the charge does, in its own transaction.
"""

import sqlite3
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from urllib.parse import quote

from tacit.base import CorruptLedger
from tacit.ledger.charge import read_account, read_balances, standing_of
from tacit.ledger.receipt import Standing
from tacit.ledger.sqlite.file import rows_of

__all__ = ["QuickReader"]

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
        try:
            with self._lock:
                if not self._may:
                    return None
                raw = self._raw if self._raw is not None else self._open()
                raw.execute("BEGIN")
                try:
                    row = read_account(rows_of(raw), "people = ?", people)
                    if row is None:
                        return None
                    held = read_balances(rows_of(raw), row.id, holders)
                finally:
                    raw.execute("COMMIT")
            return standing_of(row, held, max(clock(), row.time))
        except (sqlite3.Error, CorruptLedger, ValueError):
            return None  # the long way says what is wrong

    def answered(self, people: str, scopes: tuple[str, str], program: str, version: str) -> bool | None:
        """Whether an answer to this program on this version of the data is stored; None if that cannot be told."""
        try:
            with self._lock:
                if not self._may:
                    return None
                raw = self._raw if self._raw is not None else self._open()
                return raw.execute(ANSWERED, (people, *scopes, program, version)).fetchone() is not None
        except sqlite3.Error:
            return None  # the long way says what is wrong

    def _open(self) -> sqlite3.Connection:
        self._raw = sqlite3.connect(
            f"file:{quote(str(self._path))}?mode=ro",
            uri=True,
            isolation_level=None,
            check_same_thread=False,
            timeout=0.05,
        )
        return self._raw

    def close(self) -> None:
        with self._lock, suppress(sqlite3.Error):
            self._may = False
            if self._raw is not None:
                self._raw.close()
            self._raw = None
