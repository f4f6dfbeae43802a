"""The collector: many submissions become one transaction, and nobody is thanked before it is on disk.

Requests put what was sent on a heap and wait. One thread takes the whole heap, writes it, and wakes them all; meanwhile
the next heap grows. So the disk is waited for once for many, and a heap has no order that is worth knowing.
"""

import asyncio
import threading
from collections import defaultdict
from contextlib import suppress
from dataclasses import dataclass

from tacit.base import TacitError
from tacit.server.collect_invited import Refusal
from tacit.server.collect_store import Delivery, ReportStore
from tacit.server.problem import Problem
from tacit.server.state import Unavailable
from tacit.server.survey.body import impossible
from tacit.survey.survey import Survey

__all__ = ["Collector"]

LARGEST = 4096  # of a heap that is written at once
MOST = 50_000  # that may wait


@dataclass(frozen=True)
class _Sent:
    survey: Survey
    delivery: Delivery
    loop: asyncio.AbstractEventLoop
    done: "asyncio.Future[bool | Refusal]"


class Collector:
    """Takes submissions for a store. `close` writes what is waiting."""

    def __init__(self, store: ReportStore) -> None:
        self.store = store
        self._heap: list[_Sent] = []
        self._wake = threading.Condition()
        self._closed = False
        self._thread = threading.Thread(target=self._run, name="tacit-collector", daemon=True)
        self._thread.start()

    async def submit(self, survey: Survey, delivery: Delivery) -> bool | Refusal:
        """Wait until this is on disk; whether it was new, or why it is not admitted."""
        loop = asyncio.get_running_loop()
        sent = _Sent(survey, delivery, loop, loop.create_future())
        with self._wake:
            if self._closed:
                raise Unavailable("the service is ending: send the same again later")
            if len(self._heap) >= MOST:
                raise Problem(
                    503, "busy", "Too many at once", "send the same again in a few seconds", {"Retry-After": "5"}
                )
            self._heap.append(sent)
            self._wake.notify()
        return await sent.done

    def close(self) -> None:
        """Write what is waiting, and end."""
        with self._wake:
            self._closed = True
            self._wake.notify()
        self._thread.join()

    def _run(self) -> None:
        while True:
            with self._wake:
                self._wake.wait_for(lambda: self._heap or self._closed)
                heap, self._heap = self._heap[:LARGEST], self._heap[LARGEST:]
            if not heap:
                return
            by_survey: dict[str, list[_Sent]] = defaultdict(list)
            for sent in heap:
                by_survey[sent.survey.name].append(sent)
            for some in by_survey.values():
                self._write(some)

    def _write(self, some: list[_Sent]) -> None:
        survey = some[0].survey
        bad = impossible(survey, [sent.delivery for sent in some])
        for place, problem in bad.items():
            _tell([some[place]], problem)
        some = [sent for place, sent in enumerate(some) if place not in bad]
        try:
            new = self.store.add(survey, [sent.delivery for sent in some])
        except TacitError as error:
            _tell(some, error)
        except Exception:
            # whatever it is, those who wait are told that nothing was kept
            _tell(some, Unavailable("the store of reports failed: send the same again later"))
        else:
            _tell(some, new)


def _tell(some: list[_Sent], outcome: list[bool | Refusal] | TacitError) -> None:
    """Wake each loop once for all of its waiters."""
    by_loop: dict[asyncio.AbstractEventLoop, list[tuple[_Sent, bool | Refusal | TacitError]]] = defaultdict(list)
    for place, sent in enumerate(some):
        by_loop[sent.loop].append((sent, outcome if isinstance(outcome, TacitError) else outcome[place]))
    for loop, told in by_loop.items():
        with suppress(RuntimeError):  # that loop has ended, and nobody waits any more
            loop.call_soon_threadsafe(_wake, told)


def _wake(told: list[tuple[_Sent, bool | Refusal | TacitError]]) -> None:
    for sent, result in told:
        if sent.done.done():
            continue  # the caller went away; the report stays
        if isinstance(result, TacitError):
            sent.done.set_exception(result)
        else:
            sent.done.set_result(result)
