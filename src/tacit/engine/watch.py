"""One question on its way at an engine: whose it is, how far it is, and the wish to stop it.

A wish is only written down here, in no time; a thread beside the work sees it and interrupts. So how long it takes to
stop somebody's question tells nothing about whether it was still running.
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from math import inf
from time import monotonic

__all__ = ["Progress", "Stopped", "Watch"]

Progress = Callable[[float], None]
"""Is told, from 0 to 1, how far a query is that takes more than two seconds."""

PATIENCE = 2.0  # seconds before progress is told
OFTEN = 0.2  # seconds between two looks at it, and between two interrupts: one may come just before a statement begins
STUCK = 15.0  # seconds after its end that a question may take to notice it


class Stopped(BaseException):  # no Exception: those are stored as the answer of a charge
    """The question was stopped on its way. As after a crash, the charge stands and the same question can be asked
    again under it: nothing was drawn that anybody saw."""


class Watch:
    """Made by whoever asks, one for each question. `owner` is who shares places with others; `progress` is told."""

    def __init__(self, *, owner: str = "", progress: Progress | None = None) -> None:
        self.owner, self._progress = owner, progress
        self.share: float | None = None
        self.ran = False  # whether it got as far as the data
        self.spent = 0.0  # seconds that it had a place at the engine
        self.until: float | None = None  # when it has to be finished at the latest, in `monotonic` seconds
        self.abandoned = False  # whether an engine does not end it, although it was told to
        self._changed = threading.Condition()
        self.stopped_at = inf

    @property
    def stopped(self) -> bool:
        return self.stopped_at < inf

    @property
    def late(self) -> bool:
        return self.until is not None and monotonic() >= self.until

    def stop(self) -> None:
        """Do not begin with the data; interrupt it if that was begun. What was charged stays."""
        with self._changed:
            self.stopped_at = min(self.stopped_at, monotonic())
            self._changed.notify_all()

    def wake(self) -> None:
        """Have whoever waits look again."""
        with self._changed:
            self._changed.notify_all()

    def wait(self, over: Callable[[], bool], *, until: float | None) -> bool:
        """Until it is stopped, `over`, or so late; whether it is over."""
        with self._changed:
            left = None if until is None else until - monotonic()
            self._changed.wait_for(lambda: self.stopped or over(), timeout=left)
            return over()

    def _tell(self, share: float | None) -> None:
        if share is not None and self.until is None:  # on a clock nothing is told before its moment
            self.share = min(max(share, 0.0), 1.0)
            if self._progress is not None:
                self._progress(self.share)

    def end(self, began: float, seconds: float) -> float:
        """When work that began then has to be over."""
        end = min(began + max(0.0, seconds - self.spent), self.stopped_at)
        return end if self.until is None else min(end, self.until)

    @contextmanager
    def guarded(
        self, interrupt: Callable[[], None], *, seconds: float, share: Callable[[], float | None]
    ) -> Iterator[None]:
        """Work for this question: interrupted when it is stopped, or took longer than `seconds` in all.

        When this ends nothing is interrupted any more, so that nobody else's work is.
        """
        began, over = monotonic(), threading.Event()
        until = self.end(began, seconds)

        def guard() -> None:
            look = began + PATIENCE
            while not over.is_set() and not self.stopped and monotonic() < until:
                self.wait(over.is_set, until=min(until, look))
                if monotonic() >= look and not over.is_set():
                    with suppress(Exception):
                        self._tell(share())
                    look = monotonic() + OFTEN
            patience = monotonic() + STUCK
            while not over.is_set():
                with suppress(Exception):
                    interrupt()
                over.wait(OFTEN)
                if monotonic() > patience and not self.abandoned:
                    self.abandoned = True
                    self.wake()

        thread = threading.Thread(target=guard, name="tacit-guard", daemon=True)
        thread.start()
        try:
            yield
        finally:
            over.set()
            self.wake()
            thread.join()
            self.spent += monotonic() - began
