"""How much one caller may take of a service that is several processes: counted in the database that they share.

A row holds the moment at which the caller's bucket will be full again. To take one request moves it on by a minute
divided by the limit, unless it would then lie more than a minute ahead. That is one statement, so two workers never let
the same request through twice, and a worker that dies leaves nothing behind that has to be given back.
"""

import threading
from typing import Any

from sqlalchemy import BigInteger, Column, Table, Text, case, delete, func, select
from sqlalchemy.dialects import postgresql, sqlite

from tacit.server.limits import Rate
from tacit.server.state import State, metadata, now

__all__ = ["SharedRate", "rates"]

MINUTE = 60_000_000  # µs

rates = Table(
    "tacit_rates",
    metadata,
    Column("what", Text, primary_key=True),
    Column("caller", Text, primary_key=True),
    Column("full", BigInteger, nullable=False),  # when the bucket is full again; from then on the row means nothing
)


class SharedRate(Rate):
    """The same as `Rate`, for all workers together."""

    inline = False

    def __init__(self, state: State, what: str, per_minute: int, *, told: str = "at most {} requests a minute") -> None:
        super().__init__(per_minute, told=told)
        self.state, self.what, self._swept, self._sweeping = state, what, 0, threading.Lock()

    def _wait(self, caller: str) -> float | None:
        time, each = now(), MINUTE // self.per_minute
        made: Any = (sqlite if self.state.inline else postgresql).insert(rates)
        made = made.values(what=self.what, caller=caller, full=time + each)
        # more than a minute ahead it cannot be, unless a clock was set back: then it counts for nothing
        there = case((rates.c.full > time + MINUTE, time), (rates.c.full < time, time), else_=rates.c.full)
        order = made.on_conflict_do_update(
            index_elements=[rates.c.what, rates.c.caller],
            set_={"full": there + each},
            where=there + each <= time + MINUTE,
        ).returning(rates.c.full)
        with self.state.writing() as connection:
            if connection.execute(order).first() is not None:
                wait = None
            else:
                mine = (rates.c.what == self.what) & (rates.c.caller == caller)
                full = connection.execute(select(func.max(rates.c.full)).where(mine)).scalar_one()
                wait = (full + each - time - MINUTE) / 1_000_000
        self._sweep(time)
        return wait

    def _sweep(self, time: int) -> None:
        """Once a minute, remove who was silent for long."""
        with self._sweeping:
            if time - self._swept < MINUTE:
                return
            self._swept = time
        with self.state.writing() as connection:
            connection.execute(delete(rates).where(rates.c.full < time))
