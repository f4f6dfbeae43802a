"""Jobs: states, limits, workers that are gone, and the end of the service."""

import asyncio
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from time import sleep
from typing import Any

import pytest
from sqlalchemy import insert, select, update

from tacit.base import Refused
from tacit.engine import Watch
from tacit.server.ask import jobs as module
from tacit.server.ask.datasets import Cancelled
from tacit.server.ask.jobs import Jobs, QuestionPool, QueuedQuestion
from tacit.server.auth.people import Identity
from tacit.server.db import State, jobs, now
from tacit.server.problem import HttpProblem

ANA, BEN = Identity("ana", "analyst"), Identity("ben", "analyst")


@pytest.fixture
def work(state: State) -> Iterator[Jobs]:
    found = Jobs(state, at_once=2, tells=True)
    yield found
    found.close(0)


def ended(work: Jobs, name: str) -> QueuedQuestion:
    for _ in range(500):
        found = work.find(ANA, name)
        if found.state not in ("queued", "running"):
            return found
        sleep(0.01)
    raise AssertionError("the job does not end")


def test_a_job_says_how_it_ended(work: Jobs) -> None:
    def refused(_: Watch) -> str:
        raise Refused("not so")

    def broken(_: Watch) -> str:
        raise RuntimeError("patient 4711")

    assert ended(work, work.start(ANA, "clinic", lambda _: "its release")).release == "its release"
    failed = ended(work, work.start(ANA, "clinic", refused))
    assert failed.state == "failed"
    assert failed.problem is not None
    assert failed.problem["detail"] == "not so"
    fault = ended(work, work.start(ANA, "clinic", broken))
    assert fault.problem is not None
    assert "4711" not in str(fault.problem)
    assert len(work.listed(ANA)) == 3
    assert work.listed(BEN) == []


def test_progress_is_told_only_where_times_may_be(state: State) -> None:
    for tells in (True, False):
        work, hold, begun = Jobs(state, at_once=1, tells=tells), threading.Event(), threading.Event()

        def half(watch: Watch, hold: threading.Event = hold, begun: threading.Event = begun) -> str:
            watch.share = 0.5
            begun.set()
            hold.wait(10)
            return "done"

        name = work.start(ANA, "clinic", half)
        assert begun.wait(10)
        assert work.find(ANA, name).share == (0.5 if tells else None)
        hold.set()
        work.close(10)


def test_progress_is_written_down_for_other_workers_and_later(state: State, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "BEAT", 0)
    monkeypatch.setattr(module, "OFTEN", 0.01)
    work, elsewhere = (Jobs(state, at_once=1, tells=True) for _ in range(2))
    hold = threading.Event()

    def halfway(watch: Watch) -> str:
        watch.tell(0.5)
        hold.wait(30)
        return "its release"

    name = work.start(ANA, "clinic", halfway)
    for _ in range(500):
        if elsewhere.find(ANA, name).share is not None:
            break
        sleep(0.01)
    assert elsewhere.find(ANA, name).share == 0.5
    hold.set()
    assert ended(elsewhere, name).share is None
    work.close(1)
    elsewhere.close(0)


def test_what_is_queued_and_cancelled_is_never_begun(work: Jobs) -> None:
    hold, ran = threading.Event(), threading.Event()
    first = [work.start(ANA, "clinic", lambda _: str(hold.wait(10))) for _ in range(2)]

    def late(_: Watch) -> str:
        ran.set()
        return "ran"

    waiting = work.start(ANA, "clinic", late)
    assert work.cancel(ANA, waiting).state == "cancelled"
    hold.set()
    for name in first:
        ended(work, name)
    work.close(10)
    assert not ran.is_set()
    assert work.find(ANA, waiting).state == "cancelled"


def test_a_cancelled_job_stays_so_although_its_work_ends(work: Jobs) -> None:
    hold, begun = threading.Event(), threading.Event()

    def slow(_: Watch) -> str:
        begun.set()
        hold.wait(10)
        return "too late"

    name = work.start(ANA, "clinic", slow)
    assert begun.wait(10)
    with pytest.raises(HttpProblem):
        work.cancel(BEN, name)
    work.cancel(ANA, name)
    hold.set()
    work.close(10)
    found = work.find(ANA, name)
    assert (found.state, found.release) == ("cancelled", None)


def test_one_person_has_only_so_many(work: Jobs, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST", 2)
    hold = threading.Event()
    for _ in range(2):
        work.start(ANA, "clinic", lambda _: str(hold.wait(10)))
    with pytest.raises(HttpProblem, match="open jobs"):
        work.start(ANA, "clinic", lambda _: "one more")
    work.start(BEN, "clinic", lambda _: "of another")
    hold.set()


def test_a_job_of_a_worker_that_is_gone_is_lost(work: Jobs, state: State) -> None:
    name = work.start(ANA, "clinic", lambda _: "done")
    ended(work, name)
    gone = subprocess.run([sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True, check=True)
    host = socket.gethostname()
    for process, told in (
        (f"{host}:{int(gone.stdout)}:x", "lost"),
        (f"{host}:{os.getpid()}:of our number before us", "lost"),
        (f"{host}:{os.getppid()}:x", "running"),
        (f"elsewhere:{int(gone.stdout)}:x", "running"),
        (work.process, "running"),
    ):
        with state.writing() as connection:
            connection.execute(update(jobs).values(state="running", process=process))
        assert work.find(ANA, name).state == told


def put(state: State, process: str, count: int, **values: Any) -> None:
    """Jobs of ana that another worker has."""
    with state.writing() as connection:
        for number in range(count):
            row = {
                "id": f"{process} {number}",
                "owner": "ana",
                "dataset": "clinic",
                "state": "running",
                "created": now(),
            }
            connection.execute(insert(jobs).values(**row, process=process, **values))


def started(work: Jobs) -> list[str]:
    """As many jobs of ana as are let in, each of which waits to be stopped."""

    def until_stopped(watch: Watch) -> str:
        while not watch.stopped:
            sleep(0.005)
        raise Cancelled("stopped")

    found: list[str] = []
    with suppress(HttpProblem):
        found.extend(work.start(ANA, "clinic", until_stopped) for _ in range(40))
    return found


def test_open_jobs_of_all_workers_count_and_those_of_the_dead_do_not(work: Jobs, state: State) -> None:
    gone = subprocess.run([sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True, check=True)
    put(state, "elsewhere:1:a", 5, seen=now())
    put(state, "elsewhere:1:silent", 20, seen=now() - module.LOST - 1)
    put(state, f"{socket.gethostname()}:{int(gone.stdout)}:killed", 20, seen=now())
    put(state, f"{socket.gethostname()}:{os.getppid()}:its number is another process's now", 20, seen=1)
    assert len(started(work)) == module.MOST - 5


def test_two_workers_that_take_jobs_at_once_take_no_more_than_one_person_may_have(state: State) -> None:
    workers = [Jobs(state, at_once=1, tells=True) for _ in range(3)]
    with ThreadPoolExecutor(3) as pool:
        taken = list(pool.map(started, workers))
    for worker in workers:
        worker.close(0)
    assert sum(len(names) for names in taken) == module.MOST


def test_only_so_many_run_at_once_in_all_workers_together(state: State) -> None:
    workers = [Jobs(state, at_once=2, tells=True) for _ in range(2)]
    lock, most, inside, ended = threading.Lock(), 0, 0, 0

    def busy(_: Watch) -> str:
        nonlocal most, inside, ended
        with lock:
            inside += 1
            most = max(most, inside)
        sleep(0.05)
        with lock:
            inside -= 1
            ended += 1
        return "done"

    for number in range(8):
        workers[number % 2].start(ANA, "clinic", busy)
    for _ in range(1000):
        if ended == 8:
            break
        sleep(0.01)
    for worker in workers:
        worker.close(10)
    assert (most, ended) == (2, 8)


def test_a_worker_gives_signs_of_life_while_it_has_jobs(
    work: Jobs, state: State, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "BEAT", 0)
    monkeypatch.setattr(module, "OFTEN", 0.02)
    (name,) = started(work)[:1]
    with state.writing() as connection:
        connection.execute(update(jobs).where(jobs.c.id == name).values(seen=1))
    for _ in range(500):
        with state.reading() as connection:
            if connection.execute(select(jobs.c.seen).where(jobs.c.id == name)).scalar_one() > 1:
                return
        sleep(0.01)
    raise AssertionError("there was no sign of life")


def test_the_end_stops_what_runs_and_drops_what_waits(state: State) -> None:
    work = Jobs(state, at_once=1, tells=True)
    begun = threading.Event()

    def until_stopped(watch: Watch) -> str:
        begun.set()
        while not watch.stopped:
            sleep(0.005)
        raise Cancelled("stopped")

    running = work.start(ANA, "clinic", until_stopped)
    waiting = work.start(ANA, "clinic", lambda _: "never")
    assert begun.wait(10)
    work.close(0.05)
    assert [work.find(ANA, name).state for name in (running, waiting)] == ["cancelled", "cancelled"]


def test_what_is_cancelled_in_another_worker_is_stopped_here(work: Jobs, state: State) -> None:
    begun = threading.Event()

    def slow(watch: Watch) -> str:
        begun.set()
        for _ in range(3000):
            if watch.stopped:
                raise Cancelled("stopped")
            sleep(0.01)
        return "too late"

    elsewhere = Jobs(state, at_once=1, tells=True)
    name = work.start(ANA, "clinic", slow)
    assert begun.wait(30)
    watch = work._watches[name]
    assert elsewhere.cancel(ANA, name).state == "cancelled"
    for _ in range(3000):
        if watch.stopped:
            break
        sleep(0.01)
    assert watch.stopped
    elsewhere.close(0)
    assert work.find(ANA, name).state == "cancelled"


def here() -> bool:
    return False


def test_the_answer_and_the_error_come_back() -> None:
    def broken(_: Watch) -> None:
        raise ValueError("so it is")

    async def both(found: QuestionPool) -> str:
        with pytest.raises(ValueError, match="so it is"):
            await found.run("ana", broken, here)
        return await found.run("ana", lambda _: threading.current_thread().name, here)

    found = QuestionPool()
    assert asyncio.run(both(found)).startswith("tacit-ask")
    assert not found._inside
    found.close()


def test_one_person_has_only_so_many_places(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "EACH", 2)
    hold = threading.Event()

    async def crowd(found: QuestionPool) -> None:
        going = [asyncio.ensure_future(found.run("ana", lambda _: hold.wait(60), here)) for _ in range(2)]
        await asyncio.sleep(0)
        with pytest.raises(HttpProblem, match="2 of your questions") as refused:
            await found.run("ana", lambda _: True, here)
        assert refused.value.status == 429
        assert await found.run("ben", lambda _: True, here)
        hold.set()
        assert await asyncio.gather(*going) == [True, True]
        assert await found.run("ana", lambda _: True, here)

    found = QuestionPool()
    asyncio.run(crowd(found))
    found.close()


def test_whoever_gives_up_leaves_their_place_when_the_work_ends() -> None:
    hold, begun, seen = threading.Event(), threading.Event(), list[Watch]()

    def work(watch: Watch) -> None:
        seen.append(watch)
        begun.set()
        hold.wait(60)

    async def gone(found: QuestionPool) -> None:
        going = asyncio.ensure_future(found.run("ana", work, here))
        await asyncio.to_thread(begun.wait, 60)
        going.cancel()
        with pytest.raises(asyncio.CancelledError):
            await going
        assert found._inside["ana"] == 1
        assert seen[0].stopped
        hold.set()
        while found._inside:
            await asyncio.sleep(0.01)

    found = QuestionPool()
    asyncio.run(gone(found))
    found.close()


def test_who_is_gone_is_worked_for_no_more() -> None:
    left = threading.Event()

    def work(watch: Watch) -> bool:
        left.set()
        return watch.wait(lambda: watch.stopped, until=None)

    found = QuestionPool()
    assert asyncio.run(found.run("ana", work, left.is_set))
    found.close()


def test_after_the_end_nobody_is_let_in() -> None:
    found = QuestionPool()
    found.close()
    with pytest.raises(HttpProblem) as refused:
        asyncio.run(found.run("ana", lambda _: True, here))
    assert refused.value.status == 503
    assert not found._inside
