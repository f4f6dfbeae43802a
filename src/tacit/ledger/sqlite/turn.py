"""Standing in line: threads of one process are served together, processes one after another.

Threads: whoever finds nobody leading leads, serves everything that waits in one go (one transaction, one write to
disk), and hands the lead to the first of those who came meanwhile. Processes: a lock of the operating system, whose
queue the kernel keeps and which is let go when its holder dies.
"""

import _thread
import fcntl
import os
import threading
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tacit.base.private_file import FILE, open_private

__all__ = ["Queue", "QueuedWork", "Turnstile"]

NOTE = 64  # bytes
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


class Turnstile:
    """One process at a time. Not to be used across a fork: close it before, open another after."""

    def __init__(self, path: Path, *, mode: int = FILE) -> None:
        self._file = open_private(path, os.O_RDWR, mode=mode)

    def enter(self, patience: float) -> bool:
        """Wait for our turn, but not longer than so many seconds. After False, close this and open another."""
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return _Porter(os.dup(self._file)).wait(patience)
        return True

    def leave(self) -> None:
        fcntl.flock(self._file, fcntl.LOCK_UN)

    def note(self, text: bytes) -> None:
        """Leave a word for whoever has the next turn, in place of the one before."""
        os.pwrite(self._file, text.ljust(NOTE), 0)

    def noted(self) -> bytes:
        return os.pread(self._file, NOTE, 0).rstrip()

    def close(self) -> None:
        os.close(self._file)


class _Porter:
    """A thread that waits in the kernel's queue, so that whoever sent it can give up: that wait has no end itself."""

    def __init__(self, file: int) -> None:
        self._file = file  # shares its lock with the file it was copied from
        self._decision = threading.Lock()
        self._given_up = False
        self._entered = threading.Lock()
        self._entered.acquire()
        _thread.start_new_thread(self._stand, ())  # threading.Thread would wait for the thread to start: twice the time

    def wait(self, patience: float) -> bool:
        try:
            if self._entered.acquire(timeout=patience):
                return True
        except BaseException:
            self._give_up()
            raise
        return not self._give_up()

    def _give_up(self) -> bool:
        """Whether that was in time: the porter may have got the turn at this very moment."""
        with self._decision:
            self._given_up = not self._entered.acquire(blocking=False)
            return self._given_up

    def _stand(self) -> None:
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX)
            with self._decision:
                if self._given_up:
                    fcntl.flock(self._file, fcntl.LOCK_UN)
                else:
                    self._entered.release()
        finally:
            os.close(self._file)
