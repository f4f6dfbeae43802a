"""Threads of one process that want the same thing done are served together.

Whoever finds nobody leading leads, serves everything that waits in one go (one transaction, one write to disk), and
hands the lead to the first of those who came meanwhile.
"""

import threading
from collections import deque
from collections.abc import Callable
from typing import Any

__all__ = ["Queue", "QueuedWork"]

TOGETHER = 256  # asks served at once, so that nobody waits for an endless transaction


class QueuedWork:
    """Something one thread wants done; `value` or `error` is its answer once it was served."""

    __slots__ = ("error", "promoted", "served", "value", "wake", "what", "writes")

    def __init__(self, what: Any, *, writes: bool) -> None:
        self.what, self.writes = what, writes
        self.value: Any = None
        self.error: BaseException | None = None
        self.served = self.promoted = False
        self.wake = threading.Lock()
        self.wake.acquire()

    def answer(self, what: Any) -> None:
        """Its answer, or the error that is its answer, in place of an earlier one."""
        self.error = what if isinstance(what, BaseException) else None
        self.value = None if self.error is not None else what


class Queue:
    """First come, first served, by `serve`, which is never run by two threads at once and answers every ask."""

    def __init__(self, serve: Callable[[list[QueuedWork]], None]) -> None:
        self._serve = serve
        self._door = threading.Lock()
        self._waiting: deque[QueuedWork] = deque()
        self._led = False

    def put(self, ask: QueuedWork) -> Any:
        """Wait until this is served; its answer."""
        with self._door:
            self._waiting.append(ask)
            leading, self._led = not self._led, True
        try:
            if not leading:
                ask.wake.acquire()
            if not ask.served:
                self._lead()
        except BaseException:  # interrupted from the keyboard: what waits behind must not wait forever
            self._desert(ask, leading)
            raise
        if ask.error is not None:
            raise ask.error
        return ask.value

    def _lead(self) -> None:
        batch: list[QueuedWork] = []
        try:
            with self._door:
                while self._waiting and len(batch) < TOGETHER:
                    batch.append(self._waiting.popleft())
            self._serve(batch)
        finally:
            for ask in batch:
                ask.served = True
                ask.wake.release()
            with self._door:
                self._promote()

    def _promote(self) -> None:
        self._led = bool(self._waiting)
        if self._led:
            self._waiting[0].promoted = True
            self._waiting[0].wake.release()

    def _desert(self, ask: QueuedWork, leading: bool) -> None:
        with self._door:
            if ask in self._waiting:  # nothing was done for it, and nothing will be
                self._waiting.remove(ask)
                if leading or ask.promoted:
                    self._promote()
