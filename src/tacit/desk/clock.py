"""When the end of a question is told: as soon as it is there, or at one moment that was fixed before anything ran.

On a clock, an answer and a failure look alike until that moment, and come at it. What is not finished a little before
it, so that there is time to store it, has failed. Only whoever asks can end a question sooner, by stopping it, and is
told so at once: whether it was finished by then shows in nothing.
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from time import monotonic, sleep
from typing import TypeVar

from tacit.engine import Stopped, Watch

__all__ = ["Clock"]

T = TypeVar("T")
SHARE, LEAST, MOST = 0.1, 0.1, 2.0  # of the deadline that is kept for storing, and what that is in seconds


@dataclass(frozen=True)
class Clock:
    """One question's: `moment` is when its end is told, in `monotonic` seconds; None is as soon as there is one."""

    moment: float | None = None
    margin: float = 0.0

    @classmethod
    def from_now(cls, deadline: timedelta | None) -> "Clock":
        if deadline is None:
            return cls()
        seconds = deadline.total_seconds()
        return cls(monotonic() + seconds, min(max(seconds * SHARE, LEAST), MOST))

    @property
    def cut(self) -> float | None:
        """When it must be finished."""
        return None if self.moment is None else self.moment - self.margin

    def attempt(self, work: Callable[[], T | None], watch: Watch) -> T | None:
        """What `work` gives, in a thread of its own, at the cut if there is one; None if it is not finished by then.

        `Stopped` as soon as it is, whatever became of the work. An answer that was ready waits for the cut, since until
        then it can be stopped, and must look as if it had not been ready.
        """
        found: list[T | None] = []
        over = threading.Event()
        watch.until = self.cut

        def run() -> None:
            try:
                found.append(work())
            except Stopped:
                pass  # whoever asked knows
            finally:
                over.set()
                watch.wake()

        threading.Thread(target=run, name="tacit-question", daemon=True).start()
        try:
            if self.cut is None:
                watch.wait(lambda: over.is_set() or watch.abandoned, until=None)
            else:
                watch.wait(lambda: False, until=self.cut)
        except BaseException:  # of whoever waits: Ctrl-C
            watch.stop()
            raise
        if watch.stopped:
            raise Stopped
        return found[0] if found else None

    @contextmanager
    def telling(self) -> Iterator[None]:
        """What is told after this block, result or error, is told at the moment. A stop is told at once."""
        try:
            yield
        except Exception:
            self._wait()
            raise
        self._wait()

    def _wait(self) -> None:
        if self.moment is not None:
            sleep(max(0.0, self.moment - monotonic()))
