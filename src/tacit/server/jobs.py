"""Long questions: asked now, answered later; watched and stopped by whoever asked, and by nobody else.

A job's state is in the service's database, so that every worker can tell it; it runs in the worker that took it. To
stop a job gives nothing back: what was charged stays charged, and the same question asked again is answered under that
charge.
"""

import json
import os
import socket
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Row, func, insert, select, update

from tacit.base import TacitError
from tacit.server.desk import Cancelled
from tacit.server.opened import Watch
from tacit.server.people import Identity
from tacit.server.problem import Problem, problem_of
from tacit.server.state import State, jobs, now
from tacit.server.tokens import short_name

__all__ = ["Job", "Jobs"]

OPEN = ("queued", "running")
MOST = 20  # open jobs of one person
OFTEN = 0.5  # seconds between looks at what others cancelled
BROKEN = {
    "type": "urn:tacit:problem:internal",
    "title": "The service failed",
    "status": 500,
    "detail": "this is a fault of the service; asking again with the same Idempotency-Key never pays twice",
}


@dataclass(frozen=True, kw_only=True)
class Job:
    """A job as its owner may see it. `share` is how far it is, where that is told at all."""

    id: str
    dataset: str
    state: str  # queued, running, done, failed, cancelled, lost
    created: int
    release: str | None
    problem: dict[str, Any] | None
    share: float | None = None


class Jobs:
    """The jobs of this worker, and sight of all others. `tells` says whether progress is told."""

    def __init__(self, state: State, *, at_once: int, tells: bool) -> None:
        self.state, self.tells = state, tells
        self.process = f"{socket.gethostname()}:{os.getpid()}:{short_name()}"
        self._pool = ThreadPoolExecutor(at_once, thread_name_prefix="tacit-job")
        self._watches: dict[str, Watch] = {}
        self._running: set[Future[None]] = set()
        self._lock = threading.Lock()
        self._listener: threading.Thread | None = None
        self._closing = threading.Event()

    def start(self, who: Identity, dataset: str, work: Callable[[Watch], str]) -> str:
        """Take a question; `work` answers it and names the release. The job's name."""
        name, watch = short_name(), Watch()
        with self.state.writing() as connection:
            mine = (jobs.c.owner == who.name) & jobs.c.state.in_(OPEN) & (jobs.c.process == self.process)
            if connection.execute(select(func.count()).select_from(jobs).where(mine)).scalar_one() >= MOST:
                raise Problem(429, "jobs", "Too many questions at once", f"you have {MOST} open jobs: wait for one")
            values = {"id": name, "owner": who.name, "dataset": dataset, "state": "queued", "created": now()}
            connection.execute(insert(jobs).values(process=self.process, **values))
        with self._lock:
            self._watches[name] = watch
            if self._listener is None or not self._listener.is_alive():
                self._listener = threading.Thread(target=self._listen, name="tacit-jobs", daemon=True)
                self._listener.start()
            future = self._pool.submit(self._run, name, watch, work)
            self._running.add(future)
            future.add_done_callback(self._running.discard)
        return name

    def _listen(self) -> None:
        """While something runs here: stop what was cancelled in another worker, which can only write it down."""
        while not self._closing.wait(OFTEN):
            with self._lock:
                mine = dict(self._watches)
                if not mine:
                    self._listener = None
                    return
            gone = select(jobs.c.id).where(jobs.c.process == self.process, jobs.c.state == "cancelled")
            with suppress(TacitError), self.state.reading() as connection:
                for name in connection.execute(gone.where(jobs.c.id.in_(list(mine)))).scalars():
                    mine[name].stop()

    def _run(self, name: str, watch: Watch, work: Callable[[Watch], str]) -> None:
        try:
            if not self._move(name, ("queued",), state="running"):
                return
            self._move(name, OPEN, **self._outcome(watch, work))
        except TacitError:
            pass  # the database is away: the job will look lost, and the same key finds the answer
        finally:
            with self._lock:
                self._watches.pop(name, None)

    def _outcome(self, watch: Watch, work: Callable[[Watch], str]) -> dict[str, Any]:
        try:
            return {"state": "done", "release": work(watch)}
        except Cancelled:
            return {"state": "cancelled"}
        except TacitError as error:
            return {"state": "failed", "problem": json.dumps(problem_of(error))}
        except Exception:
            return {"state": "failed", "problem": json.dumps(BROKEN)}

    def _move(self, name: str, before: tuple[str, ...], **values: Any) -> bool:
        """Change a job that is in one of these states; whether it was."""
        with self.state.writing() as connection:
            found = connection.execute(update(jobs).where(jobs.c.id == name, jobs.c.state.in_(before)).values(**values))
            return bool(found.rowcount)

    def find(self, who: Identity, name: str) -> Job:
        """A job of this person's own."""
        with self.state.reading() as connection:
            row = connection.execute(select(jobs).where(jobs.c.id == name, jobs.c.owner == who.name)).one_or_none()
        if row is None:
            raise Problem(404, "no-job", "There is no such job", "there is no job of this name that is yours")
        return self._seen(row)

    def listed(self, who: Identity, *, limit: int = 100) -> list[Job]:
        """This person's newest jobs."""
        query = select(jobs).where(jobs.c.owner == who.name).order_by(jobs.c.number.desc()).limit(limit)
        with self.state.reading() as connection:
            return [self._seen(row) for row in connection.execute(query)]

    def cancel(self, who: Identity, name: str) -> Job:
        """Stop a job that is not done. Nothing is given back."""
        self.find(who, name)
        self._move(name, OPEN, state="cancelled")
        watch = self._watches.get(name)
        if watch is not None:
            watch.stop()
        return self.find(who, name)

    def _seen(self, row: "Row[Any]") -> Job:
        watch = self._watches.get(row.id)
        state = "lost" if row.state in OPEN and self._dead(row.process) else row.state
        return Job(
            id=row.id,
            dataset=row.dataset,
            state=state,
            created=row.created,
            release=row.release,
            problem=None if row.problem is None else json.loads(row.problem),
            share=watch.share if watch is not None and self.tells else None,
        )

    def _dead(self, process: str) -> bool:
        """Whether the worker that had a job is known to be gone; of other machines nothing is known."""
        host, pid, _ = process.rsplit(":", 2)
        if host != socket.gethostname() or process == self.process:
            return False
        if int(pid) == os.getpid():
            return True  # it had our number before us
        try:
            os.kill(int(pid), 0)
        except ProcessLookupError:
            return True
        except PermissionError:
            return False
        return False

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
        listener = self._listener
        if listener is not None:
            listener.join()
        with suppress(TacitError), self.state.writing() as connection:
            mine = (jobs.c.process == self.process) & jobs.c.state.in_(OPEN)
            connection.execute(update(jobs).where(mine).values(state="cancelled"))
