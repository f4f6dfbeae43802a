"""What runs now: who asked which question of which dataset, and since when. Curators see it, and can stop it.

A question is known to the worker that runs it. One that takes longer than a moment is also written into the service's
database, where the other workers see it, and can write down the wish to stop it.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import BigInteger, Boolean, Column, Table, Text, delete, insert, select, update

from tacit.base import TacitError
from tacit.engine import Watch
from tacit.server.auth.tokens import short_name
from tacit.server.db import State, metadata, now

__all__ = ["RunningQuestion", "RunningQuestions"]

OFTEN = 0.5  # seconds between two looks at what others wish, and until a question is written down
LOST = 60_000_000  # µs without a sign of life, after which a worker is taken for dead
BEAT = 5_000_000  # µs between two signs of life

questions = Table(
    "tacit_running",
    metadata,
    Column("id", Text, primary_key=True),
    Column("process", Text, nullable=False),
    Column("dataset", Text, nullable=False, index=True),
    Column("owner", Text, nullable=False),
    Column("sql", Text, nullable=False),
    Column("since", BigInteger, nullable=False),
    Column("seen", BigInteger, nullable=False),
    Column("stop", Boolean, nullable=False),
    Column("key", Text),  # the hash of what a client of PostgreSQL's protocol has to say to stop it
)


@dataclass(frozen=True, kw_only=True)
class RunningQuestion:
    """One of them. `since` is in µs."""

    id: str
    dataset: str
    owner: str
    sql: str
    since: int
    watch: Watch | None = field(default=None, compare=False, repr=False)

    def json(self) -> dict[str, Any]:
        return {"id": self.id, "owner": self.owner, "sql": self.sql, "since": self.since}


class RunningQuestions:
    """Those of this worker, and sight of all others."""

    def __init__(self, state: State) -> None:
        self._state, self._process = state, short_name()
        self._lock, self._closing = threading.Lock(), threading.Event()
        self._mine: dict[str, RunningQuestion] = {}
        self._listener: threading.Thread | None = None

    @contextmanager
    def question(self, owner: str, dataset: str, sql: str, watch: Watch) -> Iterator[None]:
        """Known while the block runs."""
        made = RunningQuestion(id=short_name(), dataset=dataset, owner=owner, sql=sql, since=now(), watch=watch)
        with self._lock:
            self._mine[made.id] = made
            if self._listener is None or not self._listener.is_alive():
                self._listener = threading.Thread(target=self._listen, name="tacit-running", daemon=True)
                self._listener.start()
        try:
            yield
        finally:
            with self._lock:
                del self._mine[made.id]

    def listed(self, dataset: str | None) -> list[RunningQuestion]:
        """What runs in any worker, of one dataset or of all, the oldest first."""
        with self._lock:
            found = [each for each in self._mine.values() if dataset in (None, each.dataset)]
        q = questions.c
        query = select(q.id, q.dataset, q.owner, q.sql, q.since).where(
            q.process != self._process, q.seen > now() - LOST
        )
        query = query if dataset is None else query.where(q.dataset == dataset)
        found += [RunningQuestion(**row._mapping) for row in self._state.look(query)]
        return sorted(found, key=lambda each: each.since)

    def stop(self, dataset: str | None, name: str) -> RunningQuestion | None:
        """Stop one, here or wherever it runs, soon; None if there is none of that name."""
        found = next((each for each in self.listed(dataset) if each.id == name), None)
        if found is not None and found.watch is not None:
            found.watch.stop()
        elif found is not None:
            self._state.change(update(questions).where(questions.c.id == name).values(stop=True))
        return found

    def stop_by_key(self, key: str) -> bool:
        """Stop what another worker runs under this key; whether there is such a thing. Anybody may ask."""
        mine = questions.c.key == key
        if not self._state.look(select(questions.c.id).where(mine)):
            return False
        return self._state.change(update(questions).where(mine).values(stop=True)) > 0

    def _listen(self) -> None:
        """While something runs here: write down what takes long, and stop what others wish to be stopped."""
        written: set[str] = set()
        beat = now()
        while not self._closing.wait(OFTEN):
            with self._lock:
                mine = dict(self._mine)
                if not mine and not written:
                    self._listener = None
                    return
            with suppress(TacitError):  # the database is away: it is tried again
                written = self._write(mine, written)
                if written and now() - beat > BEAT:
                    own, beat = questions.c.process == self._process, now()
                    self._state.change(update(questions).where(own).values(seen=beat))
                    self._state.change(delete(questions).where(questions.c.seen < beat - 10 * LOST))  # of dead workers
                wished = select(questions.c.id).where(questions.c.process == self._process, questions.c.stop)
                for row in self._state.look(wished) if written else ():
                    watch = mine[row.id].watch if row.id in mine else None
                    if watch is not None:
                        watch.stop()
        with suppress(TacitError):
            self._state.change(delete(questions).where(questions.c.process == self._process))

    def _write(self, mine: dict[str, RunningQuestion], written: set[str]) -> set[str]:
        """Have the database know of those that run for a moment already, and of no others; their names."""
        time = now()
        over = written - mine.keys()
        new = [each for each in mine.values() if each.id not in written and time - each.since > OFTEN * 1e6]
        if over or new:
            with self._state.writing() as connection:
                connection.execute(delete(questions).where(questions.c.id.in_(over)))
                for each in new:
                    key = None if each.watch is None else each.watch.key or None
                    row = each.json() | {"dataset": each.dataset, "process": self._process, "key": key}
                    connection.execute(insert(questions).values(**row, seen=time, stop=False))
        return (written - over) | {each.id for each in new}

    def close(self) -> None:
        """Take what is written down of this worker away."""
        self._closing.set()
        if (listener := self._listener) is not None:
            listener.join()
