"""Places at an engine: so many questions run at once, each with an instance of its own, and nobody takes them all.

An instance is whatever runs one statement after another and can run out of memory without harm to the others: a
database in memory, a connection, a thread. It is opened when it is first needed, and closed when something went wrong
in it, so that nothing stays broken.
"""

import threading
from collections.abc import Callable
from contextlib import suppress
from time import monotonic
from typing import Generic, Protocol, TypeVar

from tacit.base import EngineError
from tacit.engine.engine import failing_closed
from tacit.engine.watch import STUCK, Limits, Stopped, Watch

__all__ = ["Instance", "Seats"]

WAIT = 0.1  # seconds between two looks whether somebody who waits for a place still wants it
PATIENCE = 10.0  # seconds that closing waits for questions to stop


class Instance(Protocol):
    """What a place is: it can be interrupted from another thread, and closed."""

    def interrupt(self) -> None: ...

    def share(self) -> float | None:
        """How far the statement is that runs, from 0 to 1, where that is known."""
        ...

    def sound(self) -> bool:
        """Whether it can be used again after a failure."""
        ...

    def close(self) -> None: ...


T = TypeVar("T", bound=Instance)
R = TypeVar("R")


class Seats(Generic[T]):
    """The places, the first of them open. `more` opens another; it may fail, and is asked again the next time. Where
    there is no `more`, the first is all there is."""

    def __init__(self, limits: Limits, first: T, more: Callable[[], T] | None) -> None:
        self.limits, self._more = limits, more
        self._door = threading.Condition()
        self._free = [first]
        self._waiting: list[Watch] = []
        self._busy: dict[Watch, float] = {}  # since when
        self._closed = False

    def run(self, work: Callable[[T], R], watch: Watch | None = None) -> R:
        """What `work` makes of an instance, for one question. A failure is `work`'s own; `Stopped` if it was."""
        watch = Watch() if watch is None else watch
        self._enter(watch)
        try:
            return self._work(work, watch)
        finally:
            self._free_place(watch)

    def _free_place(self, watch: Watch) -> None:
        with self._door:
            del self._busy[watch]
            self._door.notify_all()

    def _work(self, work: Callable[[T], R], watch: Watch) -> R:
        watch.ran = True
        if watch.spent >= self.limits.seconds or watch.late:
            raise EngineError  # its other parts, or waiting, took all the time there is
        instance = self._instance()
        good = False
        try:
            with watch.guarded(instance.interrupt, seconds=self.limits.seconds, share=instance.share):
                found = work(instance)
            good = True
        except Exception:
            if not watch.stopped:
                raise
        finally:
            self._leave(instance, good=good)
        if watch.stopped:
            raise Stopped
        return found

    def _instance(self) -> T:
        with self._door:
            if self._free:
                return self._free.pop()
        if self._more is None:
            raise EngineError  # what there was is broken
        return failing_closed(self._more)

    def _leave(self, instance: T, *, good: bool) -> None:
        """Keep it for the next question if it is as good as new."""
        if not good:
            try:
                good = instance.sound()
            except Exception:
                good = False
        with self._door:
            if good and not self._closed and len(self._free) + len(self._busy) < self.limits.at_once + 1:
                self._free.append(instance)
                return
        with suppress(Exception):
            instance.close()

    # --- whose turn it is

    def _enter(self, watch: Watch) -> None:
        with self._door:
            self._waiting.append(watch)
            try:
                while self._next() is not watch:
                    self._door.wait(WAIT)
                    if watch.stopped:
                        raise Stopped
                    if self._closed or watch.late:
                        raise EngineError
                if watch.stopped:
                    raise Stopped
                self._busy[watch] = monotonic()
            finally:
                self._waiting.remove(watch)
                self._door.notify_all()

    def _next(self) -> Watch | None:
        """Who goes in next: of those whose owner has the fewest places, and not too many, who waited longest."""
        if self._closed or len(self._busy) >= self.limits.at_once:
            return None
        held = [watch.owner for watch in self._busy]
        fit = [watch for watch in self._waiting if not watch.owner or held.count(watch.owner) < self.limits.each]
        return min(fit, key=lambda watch: held.count(watch.owner), default=None)

    @property
    def busy(self) -> bool:
        """Whether any question runs."""
        return bool(self._busy)

    def check(self) -> None:
        """Raise if no place will be free: every one is held by a question that does not end, although it should."""
        late = monotonic() - STUCK
        with self._door:
            ends = [watch.end(since, self.limits.seconds) for watch, since in self._busy.items()]
            stuck = sum(end < late for end in ends) >= self.limits.at_once
        if stuck or self._closed:
            raise EngineError

    # --- without a question

    def look(self, work: Callable[[T], R]) -> R:
        """What `work` sees that is no question, without waiting for those: with a spare instance if none is free."""
        with self._door:
            if self._closed:
                raise EngineError
            instance = self._free.pop() if self._free and self._more is not None else None
        if self._more is None:
            return self.run(work)  # there is only one
        instance, good = self._more() if instance is None else instance, False
        try:
            found = work(instance)
            good = True
        finally:
            self._leave(instance, good=good)
        return found

    def cancel(self) -> None:
        """Stop every question that runs or waits."""
        with self._door:
            every = [*self._busy, *self._waiting]
        for watch in every:
            watch.stop()

    def close(self) -> None:
        """Stop what runs, and let go of everything."""
        with self._door:
            self._closed = True
            self._door.notify_all()
        self.cancel()
        with self._door:
            self._door.wait_for(lambda: not self._busy, timeout=PATIENCE)
            free, self._free = self._free, []
        for instance in free:
            with suppress(Exception):
                instance.close()
