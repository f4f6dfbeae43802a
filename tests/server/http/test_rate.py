"""Limits of one process and of several workers: exact however many take at once, and soon forgotten."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import func, select, update

from tacit.server.db import State, now
from tacit.server.http import rate as module
from tacit.server.http.rate import RateLimit, SharedRateLimit, rates
from tacit.server.problem import HttpProblem


class Clock:
    def __init__(self) -> None:
        self.time = 0.0

    def __call__(self) -> float:
        return self.time


def taken(rate: RateLimit, caller: str, times: int) -> int:
    """How many of so many requests were let through."""
    count = 0
    for _ in range(times):
        try:
            rate.take(caller)
            count += 1
        except HttpProblem:
            pass
    return count


def test_a_bucket_fills_evenly_and_not_beyond_its_size() -> None:
    clock = Clock()
    rate = RateLimit(60, clock)
    assert taken(rate, "ana", 100) == 60
    assert taken(rate, "ben", 1) == 1
    clock.time += 5
    assert taken(rate, "ana", 100) == 5
    clock.time += 3600
    assert taken(rate, "ana", 100) == 60


def test_who_is_refused_is_told_how_long_to_wait() -> None:
    clock = Clock()
    rate = RateLimit(6, clock)
    taken(rate, "ana", 6)
    with pytest.raises(HttpProblem) as told:
        rate.take("ana")
    assert told.value.status == 429
    clock.time += int(told.value.headers["Retry-After"])
    rate.take("ana")


def test_only_so_many_callers_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST", 10)
    rate = RateLimit(1, Clock())
    for number in range(100):
        rate.take(str(number))
    assert len(rate._buckets) == 10


class WallClock:
    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.time = now()
        monkeypatch.setattr(module, "now", lambda: self.time)

    def on(self, seconds: float) -> None:
        self.time += int(seconds * 1_000_000)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> WallClock:
    return WallClock(monkeypatch)


def test_workers_share_one_bucket_that_fills_evenly(state: State, clock: WallClock) -> None:
    first, second = SharedRateLimit(state, "requests", 60), SharedRateLimit(state, "requests", 60)
    assert taken(first, "ana", 40) + taken(second, "ana", 40) == 60
    assert taken(second, "ben", 1) == 1
    clock.on(5)
    assert taken(first, "ana", 3) + taken(second, "ana", 10) == 5
    clock.on(3600)
    assert taken(second, "ana", 100) == 60
    assert taken(SharedRateLimit(state, "failures", 60), "ana", 3) == 3  # another limit is another bucket


def test_however_many_take_at_once_no_more_than_the_limit_get_through(state: State, clock: WallClock) -> None:
    workers = [SharedRateLimit(state, "requests", 30) for _ in range(6)]
    with ThreadPoolExecutor(6) as pool:
        assert sum(pool.map(lambda rate: taken(rate, "ana", 15), workers)) == 30


def test_who_is_refused_by_all_workers_is_told_how_long_to_wait(state: State, clock: WallClock) -> None:
    rate = SharedRateLimit(state, "requests", 6)
    taken(rate, "ana", 6)
    with pytest.raises(HttpProblem) as told:
        rate.take("ana")
    assert told.value.status == 429
    clock.on(int(told.value.headers["Retry-After"]))
    rate.take("ana")


def test_who_was_silent_is_forgotten(state: State, clock: WallClock) -> None:
    rate = SharedRateLimit(state, "failures", 60)
    for number in range(20):
        rate.take(str(number))
    clock.on(120)
    rate.take("a new one")
    with state.reading() as connection:
        assert connection.execute(select(func.count()).select_from(rates)).scalar_one() == 1


def test_a_clock_that_was_set_back_locks_nobody_out(state: State, clock: WallClock) -> None:
    rate = SharedRateLimit(state, "requests", 60)
    rate.take("ana")
    with state.writing() as connection:
        connection.execute(update(rates).values(full=clock.time + 10**12))
    assert taken(rate, "ana", 100) == 60
