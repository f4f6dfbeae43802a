"""A ledger's files as values: taken while it is open, damaged on purpose, and written elsewhere to be opened again.

`BREAKAGES` are things that happen to files. The functions below them put together what a disk may hold after a power
cut: of everything written since the last time it was forced to the disk, any part, sector by sector.
"""

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path
from random import Random
from subprocess import run

from support.books import account, cost, opened, program, terms
from tacit.ledger import Ledger
from tacit.ledger.sqlite.store import SqliteStore

__all__ = ["BREAKAGES", "PAGE", "Book", "Breakage", "Files", "cut_off", "flipped", "mixed", "opened_book", "small_disk"]

SECTOR, PAGE = 512, 4096
LOG_HEADER = 32


@dataclass(frozen=True)
class Files:
    """What lies on the disk: the database, its log and its marks. None is a file that is not there."""

    book: bytes | None
    log: bytes | None
    mark: bytes | None

    @classmethod
    def at(cls, path: Path) -> "Files":
        """As they are now; nobody must be writing unless the test is about that."""
        return cls(*(read(path.with_name(path.name + ending)) for ending in ("", "-wal", ".mark")))

    def put(self, folder: Path) -> Path:
        """Write them to a new folder; the path of the ledger there."""
        folder.mkdir()
        path = folder / "ledger.db"
        for ending, content in (("", self.book), ("-wal", self.log), (".mark", self.mark)):
            if content is not None:
                path.with_name(path.name + ending).write_bytes(content)
        return path


def read(path: Path) -> bytes | None:
    return path.read_bytes() if path.exists() else None


@dataclass
class Book:
    """A ledger in use, and what it acknowledged so far. Some of it is in the database, some in the log alone."""

    path: Path
    ledger: Ledger
    acknowledged: dict[str, int] = field(default_factory=lambda: {"patients": 0, "staff": 0})
    numbers: Iterator[int] = field(default_factory=count)

    def charge(self, people: str = "patients", times: int = 1) -> str:
        """Charge so often; the last key."""
        for number in (next(self.numbers) for _ in range(times)):
            key = f"key {number}"
            self.ledger.charge(account(people=people, total=10**6), cost(1), program(), key)
            self.acknowledged[people] += 1
        return key

    def fold(self) -> None:
        """Copy the log into the database, as SQLite does by itself when it has grown long; the log stays."""
        store = self.ledger.store
        assert isinstance(store, SqliteStore)
        assert store._raw is not None
        store._raw.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()

    def files(self) -> Files:
        return Files.at(self.path)


@contextmanager
def opened_book(path: Path) -> Iterator[Book]:
    """Two accounts with some charges, of which the newest are in the log alone."""
    with opened(path, terms("patients", 10**6), terms("staff", 10**6)) as ledger:
        book = Book(path, ledger)
        book.charge("staff", 10)
        book.charge("patients", 30)
        book.fold()
        book.charge("staff", 3)
        book.charge("patients", 12)
        yield book


# --- what happens to files; `old` are those of an earlier day

Breakage = Callable[[Files, Files, Random], Files]


def log_cut(now: Files, _: Files, chance: Random) -> Files:
    assert now.log is not None
    return replace(now, log=now.log[: chance.randrange(len(now.log))])


def log_flipped(now: Files, _: Files, chance: Random) -> Files:
    return replace(now, log=flipped(now.log, chance))


def log_removed(now: Files, _: Files, __: Random) -> Files:
    return replace(now, log=None)


def log_of_before(now: Files, old: Files, _: Random) -> Files:
    return replace(now, log=old.log)


def book_cut(now: Files, _: Files, chance: Random) -> Files:
    assert now.book is not None
    return replace(now, book=now.book[: chance.randrange(len(now.book))])


def book_cut_at_a_page(now: Files, _: Files, chance: Random) -> Files:
    assert now.book is not None
    return replace(now, book=now.book[: chance.randrange(1, len(now.book) // PAGE) * PAGE])


def book_and_log_cut(now: Files, old: Files, chance: Random) -> Files:
    return replace(book_cut_at_a_page(now, old, chance), log=None)


def book_header_garbled(now: Files, _: Files, chance: Random) -> Files:
    assert now.book is not None
    size = chance.choice([16, 100, 1000])
    return replace(now, book=chance.randbytes(size) + now.book[size:])


def book_page_zeroed(now: Files, _: Files, chance: Random) -> Files:
    assert now.book is not None
    start = chance.randrange(len(now.book) // PAGE) * PAGE
    return replace(now, book=now.book[:start] + bytes(PAGE) + now.book[start + PAGE :])


def book_page_zeroed_without_log(now: Files, old: Files, chance: Random) -> Files:
    return replace(book_page_zeroed(now, old, chance), log=None)


def book_of_before(now: Files, old: Files, _: Random) -> Files:
    return replace(now, book=old.book)


def book_removed(now: Files, _: Files, __: Random) -> Files:
    return replace(now, book=None)


def book_emptied(now: Files, _: Files, __: Random) -> Files:
    return replace(now, book=b"")


def all_but_marks_of_before(now: Files, old: Files, _: Random) -> Files:
    return replace(old, mark=now.mark)


def mark_removed(now: Files, _: Files, __: Random) -> Files:
    return replace(now, mark=None)


def mark_garbled(now: Files, _: Files, chance: Random) -> Files:
    return replace(now, mark=chance.randbytes(chance.choice([1, 64, 300])))


def mark_flipped(now: Files, _: Files, chance: Random) -> Files:
    return replace(now, mark=flipped(now.mark, chance))


def mark_cut(now: Files, _: Files, chance: Random) -> Files:
    assert now.mark is not None
    return replace(now, mark=now.mark[: chance.randrange(len(now.mark))])


def flipped(content: bytes | None, chance: Random) -> bytes:
    """With one bit changed somewhere."""
    assert content
    changed = bytearray(content)
    changed[chance.randrange(len(changed))] ^= 1 << chance.randrange(8)
    return bytes(changed)


BREAKAGES: tuple[Breakage, ...] = (
    *(log_cut, log_flipped, log_removed, log_of_before),
    *(book_cut, book_cut_at_a_page, book_and_log_cut, book_header_garbled, book_page_zeroed),
    *(book_page_zeroed_without_log, book_of_before, book_removed, book_emptied, all_but_marks_of_before),
    *(mark_removed, mark_garbled, mark_flipped, mark_cut),
)


# --- what a power cut leaves


def mixed(before: bytes, after: bytes, chance: Random, *, unit: int = SECTOR) -> bytes:
    """Some parts written already, others not yet; the end of a file that grew may be missing or full of zeros."""
    share = chance.random()
    parts = []
    for start in range(0, len(after), unit):
        old = before[start : start + unit]
        new = after[start : start + unit]
        parts.append(new if chance.random() < share else old.ljust(len(new), b"\0"))
    whole = b"".join(parts)
    return whole[: chance.randint(len(before), len(whole))] if len(before) < len(whole) else whole


def cut_off(before: bytes, after: bytes, chance: Random) -> bytes:
    """A log that was begun anew while the power went: SQLite forces its header to the disk before the rest."""
    stage = chance.randrange(3)
    if stage == 0:
        return before
    header = after[:LOG_HEADER]
    if stage == 1:
        return header + before[LOG_HEADER:]
    return header + mixed(before[LOG_HEADER:], after[LOG_HEADER:], chance)


@contextmanager
def small_disk(folder: Path, size: str) -> Iterator[Path | None]:
    """A disk of its own with little room, or None where mounting one is not allowed."""
    folder.mkdir()
    command = shutil.which("mount")
    if command is None or run([command, "-t", "tmpfs", "-o", f"size={size}", "tacit", folder], check=False).returncode:
        yield None
        return
    try:
        yield folder
    finally:
        run(["umount", folder], check=True)
