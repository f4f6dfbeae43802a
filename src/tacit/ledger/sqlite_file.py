"""The file of an open ledger, and the log beside it: are they the ones that were opened, and as they were left?

SQLite does not look. If somebody removes the log, or puts other files in their place, it goes on writing into what
nobody will ever read again.
"""

import os
import sqlite3
from pathlib import Path
from urllib.parse import quote

from tacit.base import CorruptLedger

__all__ = ["PATIENCE", "SETTINGS", "OpenFile", "connection"]

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


def connection(path: Path, mode: str) -> sqlite3.Connection:
    return sqlite3.connect(
        f"file:{quote(str(path))}?mode={mode}",
        uri=True,
        factory=_Raw,
        isolation_level=None,
        check_same_thread=False,
        timeout=PATIENCE,
        cached_statements=256,
    )


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
