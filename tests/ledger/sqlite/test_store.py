"""What SQLite's store promises beside the common rules: order, forks, crashes, damage, full disks, clocks."""

import json
import os
import resource
import shutil
import signal
import sqlite3
import subprocess
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path
from stat import S_IMODE
from typing import Any

import pytest

from support.books import account, amount, cost, opened, program, terms
from tacit.base import CorruptLedger, LedgerError, OutcomeUnknown, OverBudget
from tacit.ledger import Ledger
from tacit.ledger.queue import QueuedWork
from tacit.ledger.sqlite.file import Turnstile
from tacit.ledger.sqlite.store import SqliteStore
from tacit.ledger.store import Page
from tacit.policy.account import DATASET, Amount

DAY = 86_400 * 10**6


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "ledger.db"


def charge(ledger: Ledger, key: object, epsilon: int = 1, analyst: str = "alice") -> int:
    return ledger.charge(account(analyst, total=10**6), cost(epsilon), program(), str(key)).seq


def spent(ledger: Ledger) -> tuple[Amount, Amount]:
    """Ever, and in the window."""
    balance = ledger.standing("patients").balance(DATASET)
    assert balance is not None
    return balance.spent, balance.window_spent


@contextmanager
def bare(path: Path) -> Iterator[sqlite3.Connection]:
    """The database without the ledger around it."""
    with closing(sqlite3.connect(path, isolation_level=None)) as raw:
        yield raw


def copied(path: Path, to: Path) -> Path:
    """The ledger's files as they are now, log and mark included."""
    to.mkdir()
    for file in path.parent.glob(f"{path.name}*"):
        shutil.copy(file, to)
    return to / path.name


# --- settings


def test_commits_are_forced_to_the_disk(path: Path) -> None:
    store = SqliteStore(path)
    raw = store._raw
    assert raw is not None
    found = [raw.execute(f"PRAGMA {name}").fetchone()[0] for name in ("journal_mode", "synchronous", "foreign_keys")]
    assert found == ["wal", 2, 1]
    store.close()


# --- clocks and windows


class Clock:
    def __init__(self) -> None:
        self.now = 10**15

    def __call__(self) -> int:
        return self.now


@contextmanager
def timed(path: Path, **declared: Any) -> Iterator[tuple[Ledger, Clock]]:
    clock = Clock()
    with Ledger(SqliteStore(path, clock=clock)) as ledger:
        ledger.apply(terms(total=2, **declared))
        yield ledger, clock


def test_time_never_goes_back(path: Path) -> None:
    with timed(path) as (ledger, clock):
        charge(ledger, "a")
        clock.now -= DAY
        charge(ledger, "b")
        times = [entry.time for entry in ledger.log("patients")]
        assert times == sorted(times)
        assert times[-1] == clock.now + DAY


def test_a_window_resets_by_an_entry_and_the_lifetime_stays(path: Path) -> None:
    with timed(path, period=DAY) as (ledger, clock):
        start = clock.now
        charge(ledger, "a", 2)
        clock.now = start + DAY - 1
        with pytest.raises(OverBudget):
            charge(ledger, "b")
        clock.now = start + DAY
        assert spent(ledger) == (amount(2), Amount(0))
        charge(ledger, "b")
        assert [json.loads(e.body) for e in ledger.log("patients") if e.kind == "reset"] == [
            {"kind": "reset", "window": 2}
        ]
        assert spent(ledger) == (amount(3), amount(1))
        clock.now = start + 4 * DAY + 5  # windows stay where the opening put them
        charge(ledger, "c", 2)
        standing = ledger.standing("patients")
        assert (standing.window, standing.window_end) == (3, start + 5 * DAY)
        assert spent(ledger) == (amount(5), amount(2))


def test_a_clock_far_ahead_opens_one_window_and_holds_it(path: Path) -> None:
    with timed(path, period=DAY) as (ledger, clock):
        charge(ledger, "a", 2)
        clock.now += 100 * DAY
        charge(ledger, "b", 2)
        clock.now -= 100 * DAY
        with pytest.raises(OverBudget):
            charge(ledger, "c")


def test_a_lifetime_limit_is_never_refilled(path: Path) -> None:
    with timed(path, period=DAY, lifetime=amount(3)) as (ledger, clock):
        charge(ledger, "a", 2)
        clock.now += DAY
        with pytest.raises(OverBudget, match="has 1 epsilon left for its lifetime"):
            charge(ledger, "b", 2)
        charge(ledger, "b", 1)


def test_a_void_after_a_reset_leaves_the_new_window_alone(path: Path) -> None:
    with timed(path, period=DAY) as (ledger, clock):
        first = ledger.charge(account(), cost(1), program(), "a")
        clock.now += DAY
        charge(ledger, "b", 2)
        ledger.void(first)
        assert spent(ledger) == (amount(2), amount(2))


def test_another_period_moves_only_the_end_of_the_window(path: Path) -> None:
    with timed(path, period=DAY) as (ledger, clock):
        start = clock.now
        charge(ledger, "a", 2)
        clock.now += DAY // 2
        (entry,) = ledger.apply(terms(total=2, period=DAY // 3))
        assert json.loads(entry.body)["before"] == {"lifetime": None, "period": DAY}
        assert ledger.standing("patients").window_end == start + 2 * (DAY // 3)
        with pytest.raises(OverBudget):
            charge(ledger, "b")


def test_without_a_period_everything_counts_again(path: Path) -> None:
    with timed(path, period=DAY) as (ledger, clock):
        charge(ledger, "a", 2)
        clock.now += DAY
        charge(ledger, "b", 1)
        ledger.apply(terms(total=2))
        assert spent(ledger) == (amount(3), amount(3))
        with pytest.raises(OverBudget):
            charge(ledger, "c")


# --- standing in line


def test_waiting_threads_share_a_transaction(path: Path) -> None:
    with opened(path, terms()) as ledger, ThreadPoolExecutor(8) as pool:
        store = ledger.store
        assert isinstance(store, SqliteStore)
        served: list[int] = []
        charge(ledger, "first")
        serve = store._queue._serve

        def counted(asks: list[QueuedWork]) -> None:
            served.append(len(asks))
            serve(asks)

        store._queue._serve = counted
        with store._serving:  # nobody is served while we hold this, so all but the first wait in line
            waiting = [pool.submit(charge, ledger, key) for key in range(7)]
            refused = pool.submit(charge, ledger, "too much", 1000)
            while len(store._queue._waiting) < 7:
                time.sleep(0.001)
        assert sorted(done.result() for done in waiting) == list(range(5, 12))
        assert isinstance(refused.exception(), OverBudget)
        assert served == [1, 7]


def test_an_interrupted_leader_hands_the_lead_on(path: Path) -> None:
    def interrupted(_: object) -> None:
        raise KeyboardInterrupt

    with opened(path, terms()) as ledger:
        with pytest.raises(KeyboardInterrupt):
            ledger.store.write(interrupted)
        charge(ledger, "after")


def test_a_failing_write_is_taken_back_alone(path: Path) -> None:
    with opened(path, terms()) as ledger:

        def half(page: Page) -> None:
            page.append(page.account("patients"), [], sealed=1)
            raise InterruptedError("in the middle")

        with pytest.raises(InterruptedError):
            ledger.store.write(half)
        assert not ledger.standing("patients").sealed


def test_patience_with_a_process_that_hangs_has_an_end(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tacit.ledger.sqlite.store.PATIENCE", 0.2)
    with opened(path, terms()) as ledger:
        other = Turnstile(path.with_name("ledger.db.lock"))
        assert other.enter(1)
        with pytest.raises(LedgerError, match=r"held the ledger .* nothing was charged"):
            charge(ledger, "a")
        other.leave()
        assert charge(ledger, "a") == 4
        other.close()


def test_a_program_that_does_not_stand_in_line_is_waited_for(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tacit.ledger.sqlite.file.PATIENCE", 0.2)
    with opened(path, terms()) as ledger, bare(path) as raw:
        raw.execute("BEGIN IMMEDIATE")
        with pytest.raises(LedgerError, match="another program holds it"):
            charge(ledger, "a")
        raw.execute("ROLLBACK")
        assert charge(ledger, "a") == 4


# --- forks


def test_parent_and_child_go_on_after_a_fork(path: Path) -> None:
    with opened(path, terms()) as ledger:
        mine = ledger.charge(account(), cost(1), program(), "parent")
        child = os.fork()
        if child == 0:  # no pytest in here
            code = 1
            try:
                try:
                    ledger.void(mine)
                except LedgerError:
                    for key in range(20):
                        charge(ledger, f"child {key}")
                    ledger.begin(mine)
                    code = 0
            finally:
                os._exit(code)
        for key in range(20):
            charge(ledger, f"parent {key}")
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        with pytest.raises(LedgerError, match="began"):  # the child's copy of the receipt was used
            ledger.void(mine)
        assert spent(ledger)[0] == amount(41)


def test_a_fork_in_the_middle_of_other_threads_charges(path: Path) -> None:
    with opened(path, terms(total=10**4)) as ledger, ThreadPoolExecutor(3) as pool:
        once = program()

        def pay(key: str) -> int:
            return ledger.charge(account(total=10**6), cost(1), once, key).seq

        def many(name: int) -> list[int]:
            return [pay(f"{name} {key}") for key in range(60)]

        pay("first")  # Python 3.11 caches properties under a lock, which a fork in another thread would find held

        going = [pool.submit(many, name) for name in range(3)]
        codes = []
        for number in range(5):
            child = os.fork()
            if child == 0:
                code = 1
                try:
                    pay(f"child {number}")
                    code = 0
                finally:
                    os._exit(code)
            codes.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        assert codes == [0] * 5
        assert all(len(done.result()) == 60 for done in going)
        assert spent(ledger)[0] == amount(186)


# --- crashes and damage


def test_a_torn_log_is_noticed(path: Path, tmp_path: Path) -> None:
    with opened(path, terms()) as ledger:
        for key in range(3):
            charge(ledger, key)
        torn = copied(path, tmp_path / "copy")
    log = torn.with_name("ledger.db-wal")
    with log.open("r+b") as file:
        file.truncate(log.stat().st_size - 5000)
    with pytest.raises(CorruptLedger, match=r'lost or changed entries of "patients".*tacit ledger adopt'):
        Ledger.open(torn)


def fold_log(path: Path) -> None:
    with bare(path) as raw:
        raw.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def damage_header(path: Path) -> None:
    fold_log(path)
    with path.open("r+b") as file:
        file.write(b"rubbish" * 20)


def cut(path: Path) -> None:
    fold_log(path)
    with path.open("r+b") as file:
        file.truncate(path.stat().st_size // 2 // 4096 * 4096)


def remove_log(path: Path) -> None:
    path.with_name("ledger.db-wal").unlink()


def remove_mark(path: Path) -> None:
    path.with_name("ledger.db.mark").unlink()


def empty_mark(path: Path) -> None:
    path.with_name("ledger.db.mark").write_bytes(b"")


def damage_mark(path: Path) -> None:
    with path.with_name("ledger.db.mark").open("r+b") as file:
        file.seek(64 * 2 + 20)
        file.write(b"\xff")


def remove_book(path: Path) -> None:
    path.unlink()


def empty_book(path: Path) -> None:
    path.write_bytes(b"")
    path.with_name("ledger.db-wal").unlink(missing_ok=True)


def drop_entry(path: Path) -> None:
    with bare(path) as raw:
        raw.execute("DELETE FROM tacit_entries WHERE account = 2 AND seq = (SELECT max(seq) FROM tacit_entries)")


def drop_entries_neatly(path: Path) -> None:
    with bare(path) as raw:
        raw.execute("DELETE FROM tacit_entries WHERE account = 2 AND seq > 4")
        raw.execute(
            "UPDATE tacit_accounts SET seq = 4, head = (SELECT digest FROM tacit_entries WHERE seq = 4) WHERE id = 2"
        )


def drop_account(path: Path) -> None:
    with bare(path) as raw:
        for table in ("entries", "balances"):
            raw.execute(f"DELETE FROM tacit_{table} WHERE account = 2")
        raw.execute("DELETE FROM tacit_accounts WHERE id = 2")


def alter_entry(path: Path) -> None:
    with bare(path) as raw:
        raw.execute("UPDATE tacit_entries SET body = replace(body, 'charge', 'change') WHERE seq = 6")


def rubbish_balance(path: Path) -> None:
    with bare(path) as raw:
        raw.execute("UPDATE tacit_balances SET spent_spend = 'lots'")


DAMAGES = [damage_header, cut, remove_log, remove_mark, empty_mark, damage_mark, remove_book, empty_book]
DAMAGES += [drop_entry, drop_entries_neatly, drop_account, alter_entry]


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.__name__)
def test_a_damaged_ledger_refuses_to_open(path: Path, tmp_path: Path, damage: Callable[[Path], None]) -> None:
    with opened(path, terms()) as ledger:
        for key in range(3):
            charge(ledger, key)
        copy = copied(path, tmp_path / "copy")  # with its log: closing would fold that into the database
    damage(copy)
    with pytest.raises(CorruptLedger) as refusal:
        Ledger.open(copy)
    assert any(advice in str(refusal.value) for advice in ("newest copy", "begin anew"))
    with opened(path) as ledger:
        assert charge(ledger, "the other one is fine") == 7


def test_a_balance_that_is_no_number_is_refused(path: Path) -> None:
    with opened(path, terms()) as ledger:
        charge(ledger, "a")
        rubbish_balance(path)
        with pytest.raises(CorruptLedger, match="not a number"):
            charge(ledger, "b")
        with pytest.raises(CorruptLedger, match="not a number"):
            ledger.standing("patients")


def test_yesterdays_copy_is_refused_until_it_is_adopted(path: Path, tmp_path: Path) -> None:
    with opened(path, terms(), terms("others")) as ledger:
        charge(ledger, "a")
        old = copied(path, tmp_path / "copy")
        charge(ledger, "b")
    for file in ("ledger.db", "ledger.db-wal"):
        path.with_name(file).unlink(missing_ok=True)
        shutil.copy(old.with_name(file), path.parent)
    with pytest.raises(CorruptLedger, match='"patients"'):
        Ledger.open(path)
    with Ledger.open(path, adopt="the disk broke") as ledger:
        kinds = {people: [entry.kind for entry in ledger.log(people)][-1] for people in ("", "patients", "others")}
        assert kinds == {"": "adopt", "patients": "adopt", "others": "limit"}
        charge(ledger, "b")
    with opened(path) as ledger:
        charge(ledger, "c")


def test_a_lost_mark_can_be_adopted(path: Path) -> None:
    with opened(path, terms()):
        pass
    remove_mark(path)
    with pytest.raises(CorruptLedger):
        Ledger.open(path)
    with Ledger.open(path, adopt="it was lost in a move"):
        pass
    with opened(path) as ledger:
        charge(ledger, "a")


def test_a_ledger_that_is_replaced_while_open_is_noticed(path: Path, tmp_path: Path) -> None:
    with opened(path, terms()) as ledger:
        charge(ledger, "a")
        other = copied(path, tmp_path / "copy")
        charge(ledger, "b")
        shutil.move(other, path)
        with pytest.raises(CorruptLedger, match="replaced"):
            charge(ledger, "c")


def test_entries_that_vanish_while_open_are_noticed(path: Path) -> None:
    with opened(path, terms()) as ledger:
        for key in range(3):
            charge(ledger, key)
        drop_entries_neatly(path)
        with pytest.raises(CorruptLedger, match="gone"):
            charge(ledger, "next")


def test_something_else_is_not_taken_for_a_ledger(path: Path, tmp_path: Path) -> None:
    path.write_text("dear diary" * 100)
    with pytest.raises(CorruptLedger, match="not a ledger"):
        Ledger.open(path)
    other = tmp_path / "other.db"
    with bare(other) as raw:
        raw.execute("CREATE TABLE recipes (name TEXT)")
    with pytest.raises(LedgerError, match="no ledger"):
        Ledger.open(other)
    with pytest.raises(LedgerError, match="is a folder"):
        Ledger.open(tmp_path)
    with pytest.raises(LedgerError, match="no folder"):
        Ledger.open(tmp_path / "nowhere" / "ledger.db")
    with pytest.raises(LedgerError, match="no ledger"):
        Ledger.open(tmp_path / "new.db", create=False)
    assert not (tmp_path / "new.db").exists()


def test_a_second_name_of_the_file_is_refused(path: Path, tmp_path: Path) -> None:
    with opened(path, terms()):
        pass
    os.link(path, tmp_path / "second.db")
    with pytest.raises(LedgerError, match="hard link"):
        Ledger.open(path)


def test_a_symbolic_link_is_the_same_ledger(path: Path, tmp_path: Path) -> None:
    link = tmp_path / "link.db"
    link.symlink_to(path)
    with opened(path, terms()) as ledger, opened(link) as same:
        charge(ledger, "a")
        charge(same, "b")
        assert spent(ledger)[0] == amount(2)
    assert not (tmp_path / "link.db.lock").exists()


# --- no room


def until_refused(ledger: Ledger) -> tuple[int, LedgerError]:
    """How many charges were made before one could not be, and why."""
    for key in range(10**5):
        try:
            charge(ledger, key)
        except LedgerError as refusal:
            return key, refusal
    raise AssertionError("there was room for everything")


def test_a_full_database_charges_nothing(path: Path) -> None:
    with opened(path, terms(total=10**6)) as ledger:
        store = ledger.store
        assert isinstance(store, SqliteStore)
        assert store._raw is not None
        pages = store._raw.execute("PRAGMA page_count").fetchone()[0]
        store._raw.execute(f"PRAGMA max_page_count = {pages + 3}")
        done, refusal = until_refused(ledger)
        assert "nothing was charged: the disk is full" in str(refusal)
        assert spent(ledger)[0] == amount(done)
        charge(ledger, done)  # on a new connection, which has room


def test_no_room_for_the_log_loses_nothing(path: Path) -> None:
    """The size of files is limited in a child: writing the log fails in the middle of a commit."""
    with opened(path, terms(total=10**6)):
        pass
    child = os.fork()
    if child == 0:
        code = 1
        try:
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            with Ledger.open(path) as ledger:
                resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, resource.RLIM_INFINITY))
                done = 0
                try:
                    for key in range(1000):
                        charge(ledger, key)
                        done += 1
                except OutcomeUnknown as unsure:
                    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
                    charge(ledger, done)
                    path.with_name("done").write_text(f"{done + 1} {unsure}")
                    code = 0
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    told, message = path.with_name("done").read_text().split(maxsplit=1)
    assert "same key" in message
    with opened(path) as ledger:
        assert spent(ledger)[0] == amount(int(told))


def test_a_full_disk_charges_nothing(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = shutil.which("mount")
    if mount is None or subprocess.run([mount, "-t", "tmpfs", "-o", "size=1m", "tacit", disk], check=False).returncode:
        pytest.skip("a small disk needs the right to mount one")
    try:
        with opened(disk / "ledger.db", terms(total=10**6)) as ledger:
            done, _ = until_refused(ledger)
        moved = copied(disk / "ledger.db", tmp_path / "copy")
        with opened(moved) as ledger:
            assert spent(ledger)[0] == amount(done)
            charge(ledger, "more")
    finally:
        subprocess.run(["umount", disk], check=True)


@pytest.mark.parametrize("umask", [0o000, 0o777], ids=oct)
def test_a_ledger_and_the_files_beside_it_are_its_owners_alone(tmp_path: Path, umask: int) -> None:
    before = os.umask(umask)
    try:
        with Ledger.open(tmp_path / "tacit.ledger") as ledger:
            ledger.apply(terms())
            modes = {path.name: S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()}
    finally:
        os.umask(before)
    names = ("tacit.ledger", "tacit.ledger.lock", "tacit.ledger.mark", "tacit.ledger-shm", "tacit.ledger-wal")
    assert modes == dict.fromkeys(names, 0o600)


def test_what_was_opened_to_a_group_stays_so_with_the_files_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "tacit.ledger"
    Ledger.open(path).close()
    path.chmod(0o660)
    (tmp_path / "tacit.ledger.lock").unlink()
    with Ledger.open(path) as ledger:
        ledger.apply(terms())
        for ending in ("", ".lock", "-wal", "-shm"):
            assert S_IMODE((tmp_path / f"tacit.ledger{ending}").stat().st_mode) == 0o660
