"""Long questions: asked now, answered later; watched and stopped by whoever asked, and by nobody else.

A job's state is in the service's database, so that every worker can tell it and the limits are the whole service's; it
runs in the worker that took it. To stop a job gives nothing back: what was charged stays charged. Each job has a key
that names its charge, and the same question asked again under that key does not pay again.
"""

import asyncio
import json
import os
import socket
import threading
from collections import Counter
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar

from sqlalchemy import ColumnElement, Connection, Row, insert, select, update

from tacit.base import TacitError
from tacit.engine import Watch
from tacit.server.ask.datasets import Cancelled
from tacit.server.auth.people import Identity
from tacit.server.auth.tokens import short_name
from tacit.server.db import State, jobs, locked, now
from tacit.server.http.guard import asking
from tacit.server.problem import FAULT, HttpProblem, problem_of

__all__ = ["Jobs", "QuestionPool", "QueuedQuestion"]

OPEN = ("queued", "running")
MOST = 20  # open jobs of one person, in all workers together
OFTEN = 0.5  # seconds between looks at what others cancelled
BEAT = 5_000_000  # µs between two signs of life
LOST = 60_000_000  # µs without one, after which a worker of another machine is taken for dead
LOCK = 0x7AC1_7001  # while jobs are counted


@dataclass(frozen=True, kw_only=True)
class QueuedQuestion:
    """A job as its owner may see it. `share` and `words` are how far it is, or was when its worker was lost, where that
    is told; `title` is what it makes, of one that is no question."""

    id: str
    dataset: str
    state: str  # queued, running, done, failed, cancelled, lost
    created: int
    release: str | None
    problem: dict[str, Any] | None
    key: str | None = None  # names the charge
    share: float | None = None
    words: str | None = None
    title: str | None = None

    def json(self) -> dict[str, Any]:
        told = {"idempotency_key": self.key, "key": self.key, "progress": self.share, "problem": self.problem}
        told |= {"progress_words": self.words, "title": self.title}
        told["release"] = None if self.release is None else f"/v1/releases/{self.release}"
        known = {name: value for name, value in told.items() if value is not None}
        return {"id": self.id, "dataset": self.dataset, "state": self.state, "created": self.created, **known}


class Jobs:
    """The jobs of this worker, and sight of all others. `at_once` of them run in all workers together; `tells` says
    whether progress is told."""

    _here: ClassVar[set[str]] = set()  # names of this very process

    def __init__(self, state: State, *, at_once: int, tells: bool) -> None:
        self.state, self.at_once, self.tells = state, at_once, tells
        self.process = f"{socket.gethostname()}:{os.getpid()}:{short_name()}"
        self._here.add(self.process)
        self._pool = ThreadPoolExecutor(at_once, thread_name_prefix="tacit-job")
        self._watches, self._running = dict[str, Watch](), set[Future[None]]()
        self._lock, self._closing = threading.Lock(), threading.Event()
        self._listener: threading.Thread | None = None

    def start(
        self,
        who: Identity,
        dataset: str,
        work: Callable[[Watch], str],
        *,
        key: str | None = None,
        title: str | None = None,
    ) -> str:
        """Take a question; `work` answers it under `key` and names the release. The job's name. With a `title` it is a
        job that is no question: while one of that title and key is open, that one is meant."""
        name, watch, time = short_name(), Watch(), now()
        with self.state.writing() as connection:
            locked(connection, LOCK)
            if title is not None and (same := self._same(connection, who, dataset, key, title)) is not None:
                return same
            if self._open(connection, (jobs.c.owner == who.name) & jobs.c.state.in_(OPEN)) >= MOST:
                raise HttpProblem(429, "jobs", "Too many questions at once", f"you have {MOST} open jobs: wait for one")
            values = {"id": name, "owner": who.name, "dataset": dataset, "state": "queued", "created": time}
            connection.execute(insert(jobs).values(process=self.process, key=key, seen=time, title=title, **values))
        with self._lock:
            self._watches[name] = watch
            if self._listener is None or not self._listener.is_alive():
                self._listener = threading.Thread(target=self._listen, name="tacit-jobs", daemon=True)
                self._listener.start()
            future = self._pool.submit(self._run, name, watch, work)
            self._running.add(future)
            future.add_done_callback(self._running.discard)
        return name

    def _same(self, connection: Connection, who: Identity, dataset: str, key: str | None, title: str) -> str | None:
        """The open job under this key that makes the same."""
        mine = (jobs.c.owner == who.name) & (jobs.c.dataset == dataset) & (jobs.c.key == key) & (jobs.c.title == title)
        rows = connection.execute(select(jobs).where(mine & jobs.c.state.in_(OPEN)))
        return next((str(row.id) for row in rows if not self._lost(row.process, row.seen, row.created)), None)

    def known(self, who: Identity, dataset: str, key: str) -> bool:
        """Whether this person had a job under this key before, which may have been charged."""
        mine = (jobs.c.owner == who.name) & (jobs.c.dataset == dataset) & (jobs.c.key == key)
        return bool(self.state.look(select(jobs.c.id).where(mine).limit(1)))

    def _open(self, connection: Connection, which: ColumnElement[bool]) -> int:
        """How many of these jobs a worker that lives has. Call it `locked`, so that the number is still so."""
        rows = connection.execute(select(jobs.c.process, jobs.c.seen, jobs.c.created).where(which))
        return sum(not self._lost(*row) for row in rows)

    def _listen(self) -> None:
        """While something runs here: say so, and stop what was cancelled in another worker, which can only write it
        down."""
        told = 0
        while not self._closing.wait(OFTEN):
            with self._lock:
                mine = dict(self._watches)
                if not mine:
                    self._listener = None
                    return
            gone = select(jobs.c.id).where(jobs.c.id.in_(list(mine)), jobs.c.state == "cancelled")
            with suppress(TacitError):
                for row in self.state.look(gone):
                    mine[row.id].stop()
            if now() - told > BEAT:
                with suppress(TacitError), self.state.writing() as connection:
                    for name, watch in mine.items():
                        far = {"share": watch.share, "words": watch.words or None} if self.tells else {}
                        connection.execute(update(jobs).where(jobs.c.id == name).values(seen=now(), **far))
                    told = now()

    def _run(self, name: str, watch: Watch, work: Callable[[Watch], str]) -> None:
        try:
            with suppress(TacitError):  # the database is away: it will look lost, and the same key finds the answer
                if self._begun(name, watch):
                    try:
                        outcome = {"state": "done", "release": work(watch)}
                    except Cancelled:
                        outcome = {"state": "cancelled"}
                    except Exception as error:
                        problem = problem_of(error if isinstance(error, TacitError) else FAULT)
                        outcome = {"state": "failed", "problem": json.dumps(problem)}
                    self._move(name, **outcome)
        finally:
            with self._lock:
                self._watches.pop(name, None)

    def _begun(self, name: str, watch: Watch) -> bool:
        """Wait until the service has room for one more; whether the job is wanted then."""
        while not watch.stopped:
            with self.state.writing() as connection:
                locked(connection, LOCK)
                mine = update(jobs).where(jobs.c.id == name, jobs.c.state == "queued")
                if self._open(connection, jobs.c.state == "running") < self.at_once:
                    return bool(connection.execute(mine.values(state="running")).rowcount)
            self._closing.wait(OFTEN)
        return False

    def _move(self, name: str, **values: Any) -> None:
        """Change a job that has not ended."""
        self.state.change(update(jobs).where(jobs.c.id == name, jobs.c.state.in_(OPEN)).values(**values))

    def find(self, who: Identity, name: str) -> QueuedQuestion:
        """A job of this person's own."""
        row = self.state.find(select(jobs).where(jobs.c.id == name, jobs.c.owner == who.name))
        if row is None:
            raise HttpProblem(404, "no-job", "There is no such job", "you have no job with this id")
        return self._seen(row)

    def listed(self, who: Identity, *, limit: int = 100) -> list[QueuedQuestion]:
        """This person's newest jobs."""
        query = select(jobs).where(jobs.c.owner == who.name).order_by(jobs.c.number.desc()).limit(limit)
        return [self._seen(row) for row in self.state.look(query)]

    def cancel(self, who: Identity, name: str) -> QueuedQuestion:
        """Stop a job that is not done. Nothing is given back."""
        self.find(who, name)
        self._move(name, state="cancelled")
        watch = self._watches.get(name)
        if watch is not None:
            watch.stop()
        return self.find(who, name)

    def _seen(self, row: "Row[Any]") -> QueuedQuestion:
        watch = self._watches.get(row.id)
        share = row.share if watch is None or watch.share is None else watch.share
        state = "lost" if row.state in OPEN and self._lost(row.process, row.seen, row.created) else row.state
        words = row.words if watch is None or not watch.words else watch.words
        known = {name: row._mapping[name] for name in ("id", "dataset", "created", "release", "key", "title")}
        problem = None if row.problem is None else json.loads(row.problem)
        told = self.tells and state in (*OPEN, "lost")
        return QueuedQuestion(
            **known, state=state, problem=problem, share=share if told else None, words=words if told else None
        )

    def _lost(self, process: str, seen: int | None, created: int) -> bool:
        """Whether the worker that had a job is gone: its process is not on this machine any more, or it was silent for
        long. One that comes back is counted again."""
        host, pid, _ = process.rsplit(":", 2)
        if host == socket.gethostname() and process not in self._here:
            if int(pid) == os.getpid():
                return True  # it had our number before us
            try:
                os.kill(int(pid), 0)
            except ProcessLookupError:
                return True
            except OSError:
                pass  # we may not ask
        return (seen or created) < now() - LOST

    def close(self, grace: float) -> None:
        """Take nothing new, wait for what runs, then stop it. What was not begun was not charged."""
        self._pool.shutdown(wait=False, cancel_futures=True)
        with self._lock:
            running = list(self._running)
        wait(running, timeout=grace)
        for watch in list(self._watches.values()):
            watch.stop()
        self._pool.shutdown(wait=True)
        self._closing.set()
        if (listener := self._listener) is not None:
            listener.join()
        with suppress(TacitError):
            mine = (jobs.c.process == self.process) & jobs.c.state.in_(OPEN)
            self.state.change(update(jobs).where(mine).values(state="cancelled"))


T = TypeVar("T")
THREADS = 256  # most of them wait: for a place at an engine, or for a clock
EACH = 24  # of one person, so that nobody can take them all


class QuestionPool:
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
                raise HttpProblem(429, "asking", "Too many questions at once", detail, {"Retry-After": "2"})
            self._inside[who] += 1
        try:
            future = self._pool.submit(work, watch)
        except RuntimeError:
            self._left(who)
            raise HttpProblem(503, "unavailable", "The service is stopping", "ask again in a moment") from None
        future.add_done_callback(lambda _: self._left(who))
        async with asking(gone, watch):
            return await asyncio.wrap_future(future)

    def _left(self, who: str) -> None:
        with self._lock:
            self._inside[who] -= 1
            if self._inside[who] <= 0:
                del self._inside[who]

    def close(self) -> None:
        """Let nobody else in. Those inside were stopped, and waited for, by `Datasets`."""
        self._pool.shutdown(wait=False, cancel_futures=True)
