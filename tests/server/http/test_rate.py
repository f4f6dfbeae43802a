"""Buckets, with a clock of our own."""

import pytest

from tacit.server.http import rate as limits
from tacit.server.http.rate import RateLimit
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
    monkeypatch.setattr(limits, "MOST", 10)
    rate = RateLimit(1, Clock())
    for number in range(100):
        rate.take(str(number))
    assert len(rate._buckets) == 10
