"""How many requests one caller may make in a minute."""

import threading
from collections import OrderedDict
from collections.abc import Callable
from time import monotonic

from sqlalchemy import BigInteger, Column, Table, Text, case, delete, func, select

from tacit.server.db import State, metadata, now
from tacit.server.problem import HttpProblem

__all__ = ["RateLimit", "SharedRateLimit", "rates"]

MOST = 50_000  # callers that are remembered


class RateLimit:
    """A bucket for each caller, filled evenly: `per_minute` requests, and as many at once after a minute of silence.

    It is in this process's memory: the limit of a service that is one process.
    """

    def __init__(
        self, per_minute: int, clock: Callable[[], float] = monotonic, *, told: str = "at most {} requests a minute"
    ) -> None:
        self.per_minute, self._clock, self._lock = per_minute, clock, threading.Lock()
        self._told = told.format(per_minute)  # what the limit is
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()  # what is left, and when that was so

    def take(self, caller: str) -> None:
        """Count a request; a `HttpProblem` if there were too many."""
        seconds = self._wait(caller)
        if seconds is not None:
            wait = max(1, round(seconds + 0.5))
            detail = f"wait {wait} s: {self._told}"
            raise HttpProblem(429, "rate", "Too many requests", detail, {"Retry-After": str(wait)})

    def _wait(self, caller: str) -> float | None:
        """Count a request, or say in how many seconds one will be let through: a refused one is not counted."""
        with self._lock:
            time = self._clock()
            left, before = self._buckets.pop(caller, (float(self.per_minute), time))
            left = min(float(self.per_minute), left + (time - before) * self.per_minute / 60) - 1
            self._buckets[caller] = (left + 1 if left < 0 else left, time)
            if len(self._buckets) > MOST:
                self._buckets.popitem(last=False)
            return -left * 60 / self.per_minute if left < 0 else None


MINUTE = 60_000_000  # µs

rates = Table(
    "tacit_rates",
    metadata,
    Column("what", Text, primary_key=True),
    Column("caller", Text, primary_key=True),
    Column("full", BigInteger, nullable=False),  # when the bucket is full again; from then on the row means nothing
)


class SharedRateLimit(RateLimit):
    """The same as `RateLimit`, for all workers together."""

    def __init__(self, state: State, what: str, per_minute: int, *, told: str = "at most {} requests a minute") -> None:
        super().__init__(per_minute, told=told)
        self.state, self.what, self._swept = state, what, 0

    def _wait(self, caller: str) -> float | None:
        time, each = now(), MINUTE // self.per_minute
        made = self.state.insert(rates).values(what=self.what, caller=caller, full=time + each)
        # more than a minute ahead it cannot be, unless a clock was set back: then it counts for nothing
        there = case((rates.c.full > time + MINUTE, time), (rates.c.full < time, time), else_=rates.c.full)
        order = made.on_conflict_do_update(
            index_elements=[rates.c.what, rates.c.caller],
            set_={"full": there + each},
            where=there + each <= time + MINUTE,
        ).returning(rates.c.full)
        wait = None
        with self.state.writing() as connection:
            if connection.execute(order).first() is None:
                mine = (rates.c.what == self.what) & (rates.c.caller == caller)
                full = connection.execute(select(func.max(rates.c.full)).where(mine)).scalar_one()
                wait = (full + each - time - MINUTE) / 1_000_000
        with self._lock:
            due = time - self._swept >= MINUTE
            self._swept = time if due else self._swept
        if due:  # once a minute, remove who was silent for long
            self.state.change(delete(rates).where(rates.c.full < time))
        return wait
