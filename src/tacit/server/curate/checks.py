"""Is a ledger whole? Walked in the background, since a long one takes minutes; the result is kept with its time."""

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

from sqlalchemy import BigInteger, Column, Integer, Table, Text, insert, select, update

from tacit.base import TacitError
from tacit.ledger.verify import verify
from tacit.server.auth.people import Identity
from tacit.server.auth.tokens import short_name
from tacit.server.db import Number, State, metadata, now

__all__ = ["Checks", "checks"]

LOST = 120_000_000  # µs without a sign of life

checks = Table(
    "tacit_checks",
    metadata,
    Column("number", Number, primary_key=True, autoincrement=True),
    Column("id", Text, nullable=False, unique=True),
    Column("dataset", Text, nullable=False, index=True),
    Column("who", Text, nullable=False),
    Column("started", BigInteger, nullable=False),
    Column("seen", BigInteger, nullable=False),  # the last sign of life
    Column("state", Text, nullable=False),  # running, whole, damaged, failed
    Column("entries", Integer, nullable=False),
    Column("total", Integer, nullable=False),
    Column("report", Text),  # JSON
)


class Checks:
    """Verifications of this worker, and the results of all."""

    def __init__(self, state: State) -> None:
        self.state = state
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="tacit-check")
        self._lock, self._closing = threading.Lock(), False

    def start(self, who: Identity, dataset: str, where: str) -> dict[str, Any]:
        """Begin to check a ledger, unless somebody's check of it is running."""
        with self._lock:
            last = self.last(dataset)
            if last is not None and last["state"] == "running":
                return last
            name, time = short_name(), now()
            values: dict[str, Any] = {"id": name, "dataset": dataset, "who": who.name, "started": time, "seen": time}
            self.state.change(insert(checks).values(state="running", entries=0, total=0, **values))
            self._pool.submit(self._run, name, where)
        return self.last(dataset) or {}

    def _run(self, name: str, where: str) -> None:
        counted = 0

        def tick(more: int) -> None:
            nonlocal counted
            counted += more
            if self._closing:
                raise _Halt
            self._note(name, entries=counted)

        with suppress(TacitError):  # the service's own database is away: the check will look lost
            try:
                report = verify(where, begin=lambda total: self._note(name, total=total), tick=tick)
            except Exception:  # of the ledger's database too: what it says may hold addresses
                self._note(name, state="failed")
                return
            told = {"findings": report.json()["findings"][:100], "more": report.more, "charges": report.charges}
            told["heads"] = [{"people": head["people"], "seq": head["seq"]} for head in report.json()["heads"]]
            ended = {"state": "whole" if report.ok else "damaged", "entries": report.entries}
            self._note(name, **ended, report=json.dumps(told))

    def _note(self, name: str, **values: Any) -> None:
        self.state.change(update(checks).where(checks.c.id == name).values(seen=now(), **values))

    def last(self, dataset: str) -> dict[str, Any] | None:
        """The newest check of a dataset's ledger."""
        query = select(checks).where(checks.c.dataset == dataset).order_by(checks.c.number.desc()).limit(1)
        row = self.state.find(query)
        if row is None:
            return None
        lost = row.state == "running" and now() - row.seen > LOST
        found = {"id": row.id, "who": row.who, "started": row.started, "entries": row.entries, "total": row.total}
        found |= {"ended": None if row.state == "running" else row.seen, "state": "lost" if lost else row.state}
        return found | ({"findings": [], "more": 0} if row.report is None else json.loads(row.report))

    def close(self) -> None:
        """Leave off what runs; those that wait never begin."""
        self._closing = True
        self._pool.shutdown(wait=True, cancel_futures=True)


class _Halt(Exception):  # noqa: N818 - says what is the case
    """The service ends."""
