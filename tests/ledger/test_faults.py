"""Damaged files, power cuts, full disks and missing rights: a SQLite ledger never shows less than it acknowledged.

It opens with all of it, or refuses and says what to do. What opening does not look at, `verify` finds.
"""

import os
import stat
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from itertools import count
from pathlib import Path
from random import Random

import pytest

from support.books import account, cost, opened, program
from support.breakage import BREAKAGES, PAGE, Book, Breakage, Files, cut_off, flipped, mixed, opened_book, small_disk
from support.hammer import FULL, Nursery, begin_book, nursery, spent_units, whole
from tacit.base import CorruptLedger, LedgerError
from tacit.ledger import Ledger
from tacit.ledger.verify import verify

__all__ = ["nursery"]

TIMES = 40 if FULL else 4
NOBODY = 65534  # the user without rights


@pytest.fixture
def book(tmp_path: Path) -> Iterator[Book]:
    with opened_book(tmp_path / "ledger.db") as made:
        yield made


@pytest.fixture
def folders(tmp_path: Path) -> Iterator[Path]:
    """Names of new folders."""
    return (tmp_path / f"copy {number}" for number in count())


def spent(path: Path) -> dict[str, int]:
    with opened(path) as ledger:
        return {people: spent_units(ledger, people) for people in ledger.people()}


def enough(path: Path, acknowledged: dict[str, int]) -> bool:
    """True: it opens and shows all that was acknowledged. False: it refuses, and says what to do."""
    found, text = {}, ""
    try:
        found = spent(path)
    except CorruptLedger as refusal:
        text = str(refusal)
    if text:
        assert "newest copy" in text or "begin anew" in text
        return False
    assert found.keys() == acknowledged.keys()
    assert all(found[people] >= units for people, units in acknowledged.items())
    return True


# --- damage


@pytest.mark.parametrize("breakage", BREAKAGES, ids=lambda breakage: breakage.__name__)
def test_damaged_it_refuses_or_has_everything(book: Book, folders: Iterator[Path], breakage: Breakage) -> None:
    old = book.files()
    book.charge(times=5)
    book.fold()
    book.charge("staff", 2)  # the log begins anew
    book.charge(times=7)
    now, chance = book.files(), Random(breakage.__name__)
    assert enough(now.put(next(folders)), book.acknowledged)
    for _ in range(TIMES):
        path = breakage(now, old, chance).put(next(folders))
        if enough(path, book.acknowledged):
            with opened(path) as ledger:
                for people in book.acknowledged:
                    usable(ledger, people)


def usable(ledger: Ledger, people: str) -> None:
    """One more charge works, or is refused because of damage that nobody looked at before."""
    before = spent_units(ledger, people)
    try:
        ledger.charge(account(people=people, total=10**6), cost(1), program(), "after the damage")
    except CorruptLedger:
        return
    assert spent_units(ledger, people) == before + 1


LOST = {"log_cut", "log_removed", "log_of_before", "all_but_marks_of_before", "mark_removed", "mark_garbled"}


@pytest.mark.parametrize(
    "breakage", [one for one in BREAKAGES if one.__name__ in LOST], ids=lambda breakage: breakage.__name__
)
def test_what_is_readable_can_be_adopted_and_that_is_recorded(
    book: Book, folders: Iterator[Path], breakage: Breakage
) -> None:
    old = book.files()
    book.charge(times=5)
    damaged = breakage(book.files(), old, Random(1))
    path = damaged.put(next(folders))
    assert not enough(path, book.acknowledged)
    with Ledger.open(path, adopt="the disk broke") as ledger:
        *_, entry = ledger.log("")
        assert '"why":"the disk broke"' in entry.body
        assert entry.kind == "adopt"
        usable(ledger, "patients")
    with opened(path) as ledger:
        usable(ledger, "staff")
    whole(path)


def test_a_flipped_bit_anywhere_is_seen_by_opening_or_by_verify(book: Book, folders: Iterator[Path]) -> None:
    """Pages have no checksums, so opening cannot see all of it: whatever makes the sums wrong, verify finds."""
    book.fold()
    files, chance = book.files(), Random(3)
    assert files.book is not None
    noticed = 0
    for _ in range(5 * TIMES):
        path = replace(files, book=flipped(files.book, chance), log=None).put(next(folders))
        try:
            found = spent(path)
        except LedgerError:
            noticed += 1
            continue
        try:
            good = verify(path).ok
        except LedgerError:
            good = False
        noticed += not good
        assert not good or found == book.acknowledged
    assert noticed


# --- power cuts


def recovered(path: Path, book: Book, in_flight: tuple[str, str] | None = None) -> None:
    """After a power cut it opens, whole, with all that was acknowledged; what was in flight is charged once."""
    found, least = spent(path), book.acknowledged
    if in_flight is None:
        assert found == least
    else:
        people, key = in_flight
        more = {**least, people: least[people] + 1}
        assert found in (least, more)
        with opened(path) as ledger:
            receipt = ledger.charge(account(people=people, total=10**6), cost(1), program(), key)
            assert receipt.replayed == (found == more)
        assert spent(path) == more
    whole(path)


def test_power_fails_in_the_middle_of_a_commit(book: Book, folders: Iterator[Path]) -> None:
    before, acknowledged = book.files(), dict(book.acknowledged)
    key = book.charge()
    after, book.acknowledged = book.files(), acknowledged
    assert before.log is not None
    assert after.log is not None
    assert before.book == after.book
    for seed in range(2 * TIMES):
        log = mixed(before.log, after.log, Random(seed))
        recovered(replace(before, log=log).put(next(folders)), book, ("patients", key))


def test_power_fails_while_the_log_is_folded_into_the_book(book: Book, folders: Iterator[Path]) -> None:
    before = book.files()
    book.fold()
    after = book.files()
    assert before.book is not None
    assert after.book is not None
    assert (before.log, before.book == after.book) == (after.log, False)
    for seed in range(TIMES):
        for unit in (512, PAGE):
            torn = mixed(before.book, after.book, Random(seed), unit=unit)
            recovered(replace(before, book=torn).put(next(folders)), book)


def test_power_fails_while_the_log_begins_anew(book: Book, folders: Iterator[Path]) -> None:
    book.fold()
    before, acknowledged = book.files(), dict(book.acknowledged)
    key = book.charge("staff")
    after, book.acknowledged = book.files(), acknowledged
    assert before.log is not None
    assert after.log is not None
    assert before.log[:32] != after.log[:32]
    assert before.book == after.book
    for seed in range(2 * TIMES):
        log = cut_off(before.log, after.log, Random(seed))
        recovered(replace(before, log=log).put(next(folders)), book, ("staff", key))


def test_marks_that_lag_behind_after_a_power_cut_do_no_harm(book: Book, folders: Iterator[Path]) -> None:
    marks = []
    for people in ("patients", "staff", "patients"):
        marks.append(book.files().mark)
        book.charge(people)
    for mark in marks:
        recovered(replace(book.files(), mark=mark).put(next(folders)), book)


def test_files_copied_while_somebody_charges(nursery: Nursery, tmp_path: Path, folders: Iterator[Path]) -> None:
    """Such a copy may be of no moment at all. It refuses, or has what was acknowledged before, or verify says so."""
    path, chance, heard = tmp_path / "ledger.db", Random(7), 0
    begin_book(path)
    client = nursery.client(path).ask("stream", name="k")
    endings = ["", "-wal", ".mark"]
    kept = 0
    for _ in range(60 if FULL else 8):
        heard += sum("got" in message for message in [*client.waiting(), *client.until("got")])
        chance.shuffle(endings)
        parts: dict[str, bytes] = {}
        for ending in endings:
            parts[ending] = path.with_name(path.name + ending).read_bytes()
            time.sleep(chance.choice([0, 0, 0.01]))
        copy = Files(parts[""], parts["-wal"], parts[".mark"]).put(next(folders))
        try:
            found = spent(copy)["patients"]
        except CorruptLedger:
            continue
        kept += 1
        assert found >= heard or not verify(copy).ok
    client.ask("stop")
    heard += sum("got" in message for message in client.until("stopped"))
    with opened(path) as ledger:
        assert spent_units(ledger) == heard
    assert kept


# --- no room


def until_it_fails(ledger: Ledger, made: int) -> int:
    """Charge on from there until there is no room; the number of the one that failed."""
    for number in range(made, made + 10**4):
        try:
            ledger.charge(account(total=10**6), cost(1), program(), f"key {number}")
        except CorruptLedger:
            raise
        except LedgerError:
            return number
    raise AssertionError("there was room for everything")


def test_a_full_disk_charges_nothing_and_goes_on_with_room(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", "2m") as disk:
        if disk is None:
            pytest.skip("a small disk needs the right to mount one")
        path, ballast = disk / "ledger.db", disk / "ballast"
        ballast.write_bytes(bytes(600_000))
        begin_book(path)
        made = 0
        with opened(path) as ledger:
            for _ in range(3):
                made = until_it_fails(ledger, made)
                size = ballast.stat().st_size
                os.truncate(ballast, size - 200_000)
                ledger.charge(account(total=10**6), cost(1), program(), f"key {made}")  # the one that failed
                made += 1
                assert spent_units(ledger) == made
        ballast.unlink()
        assert spent(path) == {"patients": made}
        whole(path)


@pytest.mark.parametrize("room", [150_000, 163_840, 200_001, 262_143])
def test_a_file_that_may_not_grow_loses_nothing(nursery: Nursery, tmp_path: Path, room: int) -> None:
    """The write that does not fit fails in the middle, so that half of it is in the file."""
    path = tmp_path / "ledger.db"
    begin_book(path)
    client = nursery.client(path)
    client.ask("room", bytes=room).answer()
    made = 0
    while "seq" in (answer := client.ask("charge", key=f"key {made}").answer()):
        made += 1
    assert answer["error"] in ("LedgerError", "OutcomeUnknown")
    assert made > 5
    client.ask("room", bytes=0).answer()
    for number in range(made, made + 20):  # the one that failed, and more
        assert "seq" in client.ask("charge", key=f"key {number}").answer()
    with opened(path) as ledger:
        assert spent_units(ledger) == made + 20
    whole(path)


# --- no rights


@pytest.fixture
def shared_folder() -> Iterator[Path]:
    """A folder that others can come to, unlike those of pytest."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o777)
        yield folder


def locked(path: Path, *, folder: int, files: int) -> None:
    for file in path.parent.iterdir():
        file.chmod(files)
    path.parent.chmod(folder)


@pytest.mark.parametrize(
    ("folder", "files"),
    [(0o555, 0o444), (0o777, 0o444), (0o777, 0o000), (0o000, 0o666)],
    ids=["read-only", "read-only files", "secret files", "secret folder"],
)
def test_without_the_rights_nothing_is_charged(nursery: Nursery, shared_folder: Path, folder: int, files: int) -> None:
    """Root has all rights, so somebody else tries."""
    path = shared_folder / "ledger.db"
    begin_book(path)
    locked(path, folder=folder, files=files)
    client = nursery.client()
    user = NOBODY if os.geteuid() == 0 else None
    answer = client.ask("open", where=str(path), user=user).answer()
    if "ready" in answer:  # opening was enough for a reader
        answer = client.ask("charge", key="k").answer()
    assert answer["error"] == "LedgerError", answer
    assert "nothing was charged" in answer["text"]
    locked(path, folder=0o700, files=0o600)
    assert spent(path) == {"patients": 0}
    whole(path)


def test_rights_that_are_taken_away_while_it_is_open(nursery: Nursery, shared_folder: Path) -> None:
    path = shared_folder / "ledger.db"
    user = NOBODY if os.geteuid() == 0 else None
    client = nursery.client(path, user=user)
    client.ask("apply", total=100).answer()
    client.ask("charge", key="a").answer()
    locked(path, folder=stat.S_IRUSR | stat.S_IXUSR, files=stat.S_IRUSR)
    answer = client.ask("charge", key="b").answer()  # its files are open, so that it may still work
    assert "seq" in answer or answer["error"] == "LedgerError"
    locked(path, folder=0o777, files=0o666)
    client.ask("charge", key="b").answer()
    with opened(path) as ledger:
        assert spent_units(ledger) == 2
    whole(path)
