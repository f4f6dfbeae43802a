"""Clocks that go back, run ahead or disagree: times never decrease, windows roll once, and no reset can be provoked."""

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any

import pytest

from support.books import UNIT, account, amount, cost, opened, program, terms
from support.hammer import FULL, Nursery, begin_book, nursery, spent_units, whole
from tacit.base import OverBudget
from tacit.ledger import REGISTRY, Ledger
from tacit.ledger.sqlite import store as module
from tacit.ledger.sqlite.store import SqliteStore

__all__ = ["nursery"]

HOUR = 3600 * 10**6
START = 10**15


class Clock:
    """Shows what it is told to."""

    def __init__(self, now: int = START) -> None:
        self.now = now

    def __call__(self) -> int:
        return self.now


@contextmanager
def timed(path: Path, clock: Clock) -> Iterator[Ledger]:
    with Ledger(SqliteStore(path, clock=clock)) as ledger:
        yield ledger


def charge(ledger: Ledger, key: object, units: int = 1, total: int = 10**6) -> bool:
    """Whether it was granted."""
    try:
        ledger.charge(account(total=total), cost(units), program(), str(key))
    except OverBudget:
        return False
    return True


def windows(ledger: Ledger, period: int) -> list[int]:
    """What was spent in each window, read from the entries alone, after checking that they tell a possible story."""
    log = list(ledger.log("patients"))
    start, place, last, sums = log[0].time, 0, 0, [0]
    for entry in log:
        assert entry.time >= last, "time went back"
        last, body = entry.time, json.loads(entry.body)
        now = (entry.time - start) // period
        if entry.kind == "reset":
            sums.append(0)
            assert body["window"] == len(sums), "windows are counted one by one"
            assert now > place, "a window was reset before it ended"
            place = now
        elif entry.kind == "charge":
            assert now == place, "a charge outside of its window"
            sums[-1] += int(body["spend"]) // UNIT
    standing = ledger.standing("patients")
    dataset = standing.balance("dataset")
    assert dataset is not None
    assert dataset.spent == amount(sum(sums))  # a reset hides nothing
    if standing.window == len(sums):
        assert dataset.window_spent == amount(sums[-1])
    return sums


@pytest.mark.parametrize("seed", range(100 if FULL else 8))
def test_a_clock_that_jumps_about(tmp_path: Path, seed: int) -> None:
    chance, clock, path = Random(seed), Clock(), tmp_path / "ledger.db"
    lifetime = chance.choice([None, 12])
    with timed(path, clock) as ledger:
        ever = None if lifetime is None else amount(lifetime)
        ledger.apply(terms(total=4, period=HOUR, lifetime=ever))
        for key in range(60):
            step = chance.choice([1, HOUR // 7, HOUR // 2, HOUR - 1, HOUR, 5 * HOUR])
            clock.now += step if chance.random() < 0.6 else -step
            charge(ledger, key, chance.choice([1, 2, 3]))
        sums = windows(ledger, HOUR)
        assert max(sums) <= 4
        assert len(sums) > 1
        if lifetime is not None:
            assert sum(sums) <= lifetime
    whole(path)


def test_no_reset_is_provoked_by_going_back_and_forth(tmp_path: Path) -> None:
    clock = Clock()
    with timed(tmp_path / "ledger.db", clock) as ledger:
        ledger.apply(terms(total=2, period=HOUR))
        assert charge(ledger, "a", 2)
        for now in (START - 10 * HOUR, START, START + HOUR - 1, 0, START - 1, START + HOUR - 1):
            clock.now = now
            assert not charge(ledger, f"at {now}")
        clock.now = START + HOUR
        assert charge(ledger, "b", 2)
        for now in (START + HOUR - 1, START + HOUR, START, START + 2 * HOUR - 1):  # over the same line again
            clock.now = now
            assert not charge(ledger, f"again at {now}")
        assert windows(ledger, HOUR) == [2, 2]


def test_a_clock_far_ahead_costs_windows_and_gives_none(tmp_path: Path) -> None:
    clock, path = Clock(), tmp_path / "ledger.db"
    with timed(path, clock) as ledger:
        ledger.apply(terms(total=2, period=HOUR))
        charge(ledger, "a", 2)
        clock.now += 1000 * HOUR
        assert charge(ledger, "b", 2)
        assert not charge(ledger, "c")
    for later in (1, 500, 999):  # the right time again: the window that was opened early stays
        clock.now = START + later * HOUR
        with timed(path, clock) as ledger:
            assert not charge(ledger, f"after {later}")
    clock.now = START + 1001 * HOUR
    with timed(path, clock) as ledger:
        assert charge(ledger, "d", 2)
        assert windows(ledger, HOUR) == [2, 2, 2]
    whole(path)


def test_everything_else_is_dated_after_what_is_there(tmp_path: Path) -> None:
    clock, path = Clock(), tmp_path / "ledger.db"
    with timed(path, clock) as ledger:
        ledger.apply(terms())
        first = ledger.charge(account(), cost(1), program(), "a")
        second = ledger.charge(account(), cost(1), program(), "b")
        clock.now -= 100 * HOUR
        ledger.apply(terms("staff"))  # not before the list of accounts it is entered in
        ledger.apply(terms(total=50))
        ledger.void(first)
        ledger.keep(second, b"x", version="1")
        ledger.rename("staff", "crew")
        ledger.seal("patients", "the end")
        ledger.adopt("moved")
        for people in (REGISTRY, "patients", "crew"):
            assert {entry.time for entry in ledger.log(people)} == {START}
    whole(path)


def test_processes_whose_clocks_disagree(nursery: Nursery, tmp_path: Path) -> None:
    """One is a day behind, one is right, one is an hour ahead: together they have the windows of the fastest."""
    path = tmp_path / "ledger.db"
    begin_book(path, total=6, period=HOUR)
    offsets = {"slow": -24 * HOUR, "right": 0, "fast": HOUR}
    clients = {name: nursery.client(path, ahead=ahead) for name, ahead in offsets.items()}
    granted: dict[str, list[bool]] = {name: [] for name in clients}
    for name in ("slow", "right", "slow", "fast", "right", "slow", "fast", "right", "slow", "right", "fast"):
        answer = clients[name].ask("charge", key=str(len(granted[name])), analyst=name, total=6, cost=2).answer()
        assert "seq" in answer or answer["error"] == "OverBudget"
        granted[name].append("seq" in answer)
    with opened(path) as ledger:
        assert windows(ledger, HOUR) == [6, 6]
    assert granted == {
        "slow": [True, True, True, False],
        "right": [True, True, False, False],
        "fast": [True, False, False],
    }
    whole(path)


def test_windows_that_end_while_many_charge(nursery: Nursery, where: str) -> None:
    """Both stores, on their real clocks: however many stand at the end of a window, it ends once."""
    period, last = 150_000, 12 if FULL else 4
    begin_book(where, total=5, period=period, lifetime=amount(5 * last - 2))
    clients = nursery.clients(6, where)
    for number, client in enumerate(clients):
        client.ask("insist", name=str(number), total=5)
    with opened(where) as ledger:
        end = time.monotonic() + 60
        while ledger.standing("patients").window <= last and time.monotonic() < end:
            time.sleep(0.02)
        for client in clients:
            client.ask("stop")
        made = sum(client.until("made")[-1]["made"] for client in clients)
        sums = windows(ledger, period)
        assert sum(sums) == made == spent_units(ledger)
        assert max(sums) <= 5
        assert len(sums) > 1
        assert sum(sums) <= 5 * last - 2
    whole(where)


def test_the_clock_of_a_client_of_a_server_does_not_matter(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(*_: Any) -> int:
        return 0

    with opened(database, terms(total=2, period=HOUR)) as ledger:
        before = ledger.charge(account(total=2), cost(1), program(), "a")
        for name in ("time", "time_ns"):
            monkeypatch.setattr(time, name, wrong)
        monkeypatch.setattr(module, "time_ns", wrong)
        after = ledger.charge(account(total=2), cost(1), program(), "b")
        assert after.time >= before.time > START
        ledger.apply(terms("staff"))
        assert next(ledger.log("staff")).time >= after.time
    monkeypatch.undo()
    with opened(database) as ledger:
        ahead = ledger.standing("patients").window
        assert not charge(ledger, "c", total=2)
        assert ahead == 1
    whole(database)
