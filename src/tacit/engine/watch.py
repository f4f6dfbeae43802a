"""Questions at an engine: each with its watch and its limits, and so many at once, of whom nobody takes every place.

The wish to stop a question is only written down here, in no time; a thread beside the work sees it and interrupts. So
how long it takes to stop somebody's question tells nothing about whether it was still running.

A place is an instance: whatever runs one statement after another and can run out of memory without harm to the others,
a database in memory, a connection, a thread. It is opened when it is first needed, and closed when something went wrong
in it, so that nothing stays broken.
"""

import os
import re
import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from math import inf
from pathlib import Path
from tempfile import gettempdir
from time import monotonic
from typing import Generic, Protocol, TypeVar

from tacit.base import EngineError, InputError

__all__ = ["Instance", "Limits", "Progress", "Seats", "Stopped", "Watch", "size"]

Progress = Callable[[float], None]
"""Is told, from 0 to 1, how far a query is that takes more than two seconds."""

PATIENCE = 2.0  # seconds before progress is told
OFTEN = 0.2  # seconds between two looks at it, and between two interrupts: one may come just before a statement begins
WAIT = 0.1  # seconds between two looks whether somebody who waits for a place still wants it
CLOSING = 10.0  # seconds that closing waits for questions to stop
STUCK = 15.0  # seconds after its end that a question may take to notice it


class Stopped(BaseException):  # no Exception: those are stored as the answer of a charge
    """The question was stopped on its way. As after a crash, the charge stands and the same question can be asked
    again under it: nothing was drawn that anybody saw."""


class Watch:
    """Made by whoever asks, one for each question. `owner` is who shares places with others; `progress` is told; who
    has the `key` may stop it from elsewhere."""

    def __init__(self, *, owner: str = "", progress: Progress | None = None, key: str = "") -> None:
        self.owner, self._progress, self.key = owner, progress, key
        self.share: float | None = None
        self.words = ""  # how far a long job is, beside its share
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

    def tell(self, share: float | None) -> None:
        """How far it is, from 0 to 1."""
        if share is not None and self.until is None:  # on a clock nothing is told before its moment
            self.share = min(max(share, 0.0), 1.0)
            if self._progress is not None:
                self._progress(self.share)

    def say(self, words: str) -> None:
        """How far it is in words, which follow from no data."""
        if self.until is None:
            self.words = words
            self.tell(self.share)

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
                        self.tell(share())
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


KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30
LEAST = 32 * MIB  # less, and nothing runs
DISK = 8 * GIB
SIZE = re.compile(r"\s*(\d{1,15})(?:\.(\d))?\s*([kmgt]?)i?b?\s*", re.IGNORECASE)
UNITS = {"": 1, "k": KIB, "m": MIB, "g": GIB, "t": 1 << 40}
CGROUP = (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"))


@dataclass(frozen=True, kw_only=True)
class Limits:
    """Of each question: `seconds` of work, bytes of `memory` and of temporary `disk`; and how many run `at_once`.

    Memory and disk may be left out: then all questions together get half of the machine's memory, and at most a
    quarter of what is free where temporary files go. `shares` is how many engines like this one the machine has.
    """

    seconds: float = 600.0
    memory: int | None = None
    disk: int | None = None
    at_once: int = 1
    shares: int = 1

    def __post_init__(self) -> None:
        if not 0 < self.seconds <= 10**6:
            raise InputError(f"a question's time must be above 0 and at most a million seconds, not {self.seconds:g}")
        if not 1 <= self.at_once <= 1000:
            raise InputError(f"from 1 to 1000 questions can run at once, not {self.at_once}")
        if self.shares < 1:
            raise InputError(f"at least one engine shares the machine, not {self.shares}")
        if self.memory is not None and self.memory < LEAST:
            raise InputError(f"a question's memory must be at least {LEAST // MIB} MB, not {self.memory} bytes")
        if self.disk is not None and self.disk < 0:
            raise InputError(f"a question's temporary disk must be 0 bytes or more, not {self.disk}")

    @property
    def each(self) -> int:
        """How many of one person run at once: half, so that nobody can take every place."""
        return max(1, self.at_once // 2)

    @property
    def threads(self) -> int:
        """The processors that one question gets: two people who ask as much as they may share all of them."""
        return max(1, (os.cpu_count() or 1) // self.each)

    @property
    def bytes_of_memory(self) -> int:
        return self.memory if self.memory is not None else max(LEAST, _machine() // 2 // self.at_once // self.shares)

    def bytes_of_disk(self, folder: str | None = None) -> int:
        """The temporary disk of one question, in a folder on the disk that is meant."""
        if self.disk is not None:
            return self.disk
        return min(DISK, shutil.disk_usage(folder or gettempdir()).free // 4 // self.at_once // self.shares)


def size(text: str | int, what: str) -> int:
    """A number of bytes as people write it: 500MB, 2GB, 1.5 GiB; a thousand is 1024 here."""
    found = None if isinstance(text, bool) else SIZE.fullmatch(str(text))
    if found is None:
        raise InputError(f"{what} is a size, such as 500MB or 2GB, not {text!r}")
    whole, tenth, unit = found.groups()
    return (int(whole) * 10 + int(tenth or 0)) * UNITS[unit.lower()] // 10


def _machine() -> int:
    """The memory of this machine, or of the container that we are in."""
    found = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")] if hasattr(os, "sysconf") else []
    for file in CGROUP:
        try:
            found.append(int(file.read_text()))
        except (OSError, ValueError):
            continue  # there is none, or it says "max"
    return min(found, default=4 * GIB)


class Instance(Protocol):
    """What a place is: it can be interrupted from another thread, and closed."""

    def interrupt(self) -> None: ...

    def share(self) -> float | None:
        """How far the statement is that runs, from 0 to 1, where that is known."""
        return None

    def sound(self) -> bool:
        """Whether it can be used again after a failure."""
        ...

    def close(self) -> None:
        return None


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
        with suppress(Exception):  # an error raised in here would carry that one along
            if self._more is not None:
                return self._more()
        raise EngineError  # there can be no other, and what there was is broken

    def _leave(self, instance: T, *, good: bool) -> None:
        """Keep it for the next question if it is as good as new."""
        with suppress(Exception):
            good = good or instance.sound()
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
        if self._more is None:
            return self.run(work)  # there is only one
        with self._door:
            if self._closed:
                raise EngineError
            free = self._free.pop() if self._free else None
        instance, good = self._more() if free is None else free, False
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
            self._door.wait_for(lambda: not self._busy, timeout=CLOSING)
            free, self._free = self._free, []
        for instance in free:
            with suppress(Exception):
                instance.close()
