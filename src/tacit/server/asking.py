"""Threads for questions that wait for an engine: apart from all others, so that a quote never stands behind them."""

import asyncio
import threading
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from tacit.engine import Watch
from tacit.server.hangup import asking
from tacit.server.problem import Problem

__all__ = ["Asking"]

T = TypeVar("T")
THREADS = 256  # most of them wait: for a place at an engine, or for a clock
EACH = 24  # of one person, so that nobody can take them all


class Asking:
    """A place for each question that is being answered."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(THREADS, thread_name_prefix="tacit-ask")
        self._lock = threading.Lock()
        self._inside: Counter[str] = Counter()

    async def run(self, who: str, work: Callable[[Watch], T], gone: Callable[[], bool]) -> T:
        """What `work` gives, in a thread. Its question is stopped when whoever asked is `gone`."""
        watch = Watch(owner=who)
        with self._lock:
            if self._inside[who] >= EACH:
                detail = f"{EACH} of your questions are being answered: wait for one, or send `Prefer: respond-async`"
                raise Problem(429, "asking", "Too many questions at once", detail, {"Retry-After": "2"})
            self._inside[who] += 1
        try:
            future = self._pool.submit(work, watch)
        except RuntimeError:
            self._left(who)
            raise Problem(503, "unavailable", "The service is stopping", "ask again in a moment") from None
        future.add_done_callback(lambda _: self._left(who))
        async with asking(gone, watch):
            return await asyncio.wrap_future(future)

    def _left(self, who: str) -> None:
        with self._lock:
            self._inside[who] -= 1
            if self._inside[who] <= 0:
                del self._inside[who]

    def close(self) -> None:
        """Let nobody else in. Those inside were stopped, and waited for, by the desk."""
        self._pool.shutdown(wait=False, cancel_futures=True)
