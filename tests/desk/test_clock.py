"""Answers on a clock: one moment for answers and failures alike, and stops that say nothing."""

import threading
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import pytest

from support.hospital import BrokenEngine, hospital
from support.seats import all_taken, endless
from tacit.base import Denied, EngineError, Refused
from tacit.desk.clock import Clock
from tacit.engine import Limits, Stopped, Watch
from tacit.session import Session
from tacit.sql.job import Query

SECONDS = 1.0
COUNT = "SELECT COUNT(*) AS n FROM visits"


def on_a_clock(place: Path) -> Path:
    place.write_text(place.read_text().replace("[privacy]\n", '[privacy]\ndeadline = "1 second"\n'))
    return place


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    with Session(on_a_clock(hospital(tmp_path)), "ana", limits=Limits(at_once=2)) as found:
        yield found


def took(action: Any) -> float:
    began = monotonic()
    action()
    return monotonic() - began


def test_a_new_answer_comes_at_its_moment_and_an_old_one_at_once(session: Session) -> None:
    seen = session.ask(COUNT, rho=1)
    assert not seen.cached
    assert took(lambda: session.ask(f"{COUNT} WHERE age > 7", rho=1)) >= SECONDS
    began = monotonic()
    again = session.ask(COUNT, rho=1)
    assert again.cached
    assert again.value() == seen.value()
    assert monotonic() - began < SECONDS


def test_a_refusal_before_the_charge_comes_at_once(session: Session) -> None:
    for sql, rho in (("SELECT * FROM visits", 1), (COUNT, 41)):
        began = monotonic()
        with pytest.raises((Refused, Denied)):
            session.ask(sql, rho=rho)
        assert monotonic() - began < SECONDS


def test_a_failure_comes_at_the_same_moment(tmp_path: Path) -> None:
    with Session(on_a_clock(hospital(tmp_path)), "ana", engine=BrokenEngine()) as session:
        began = monotonic()
        with pytest.raises(EngineError):
            session.ask(COUNT, rho=1)
        assert monotonic() - began >= SECONDS


def test_what_is_not_finished_fails_at_that_moment_and_for_good(session: Session) -> None:
    with endless(session.engine):
        began = monotonic()
        with pytest.raises(EngineError):
            session.ask(COUNT, rho=1)
        assert monotonic() - began >= SECONDS
    seats: Any = session.engine
    while seats._seats.busy:  # the engine was told, too
        sleep(0.01)
    began = monotonic()
    with pytest.raises(EngineError):  # there is nothing to be gained by asking again
        session.ask(COUNT, rho=1)
    assert monotonic() - began < SECONDS
    assert session.ask(f"{COUNT} WHERE age > 8", rho=1).value() is not None


def test_waiting_for_others_counts(session: Session) -> None:
    with all_taken(session.engine):
        began = monotonic()
        with pytest.raises(EngineError):
            session.ask(COUNT, rho=1)
        assert monotonic() - began >= SECONDS


def test_nothing_is_stored_before_the_moment_is_near(monkeypatch: pytest.MonkeyPatch, session: Session) -> None:
    """Else a second question, or a stop, would tell when the first was ready."""
    keeping = threading.Event()
    keep = session.ledger.keep

    def noted(*given: Any, **more: Any) -> Any:
        keeping.set()
        return keep(*given, **more)

    monkeypatch.setattr(session.ledger, "keep", noted)
    began = monotonic()
    thread = threading.Thread(target=lambda: session.ask(COUNT, rho=1))
    thread.start()
    assert keeping.wait(60)
    assert monotonic() - began >= SECONDS * 0.89
    thread.join()


@pytest.mark.parametrize("busy", [False, True])
def test_a_stop_is_told_at_once_and_looks_the_same_whether_it_was_ready(
    monkeypatch: pytest.MonkeyPatch, session: Session, busy: bool
) -> None:
    watch, ready = Watch(), threading.Event()
    run = Query.run

    def noted(*given: Any) -> Any:
        found = run(*given)
        ready.set()
        return found

    monkeypatch.setattr(Query, "run", noted)
    seen: list[str] = []

    def ask() -> None:
        try:
            session.ask(COUNT, rho=1, watch=watch)
        except Stopped:
            seen.append("stopped")

    thread = threading.Thread(target=ask)
    if busy:
        with endless(session.engine) as begun:
            thread.start()
            assert begun.acquire(timeout=60)
            watch.stop()
            thread.join()
    else:
        thread.start()
        assert ready.wait(60)
        watch.stop()
        thread.join()
    assert seen == ["stopped"]
    before = session.left()
    began = monotonic()
    again = session.ask(COUNT, rho=1)
    assert not again.cached  # it was not stored, although it was ready
    assert monotonic() - began >= SECONDS
    assert session.left() == before


def test_on_a_clock_no_progress_is_told(monkeypatch: pytest.MonkeyPatch, session: Session) -> None:
    monkeypatch.setattr("tacit.engine.watch.PATIENCE", 0.05)
    told: list[float] = []
    watch = Watch(progress=told.append)
    with endless(session.engine), pytest.raises(EngineError):
        session.ask(COUNT, rho=1, watch=watch)
    assert told == []
    assert watch.share is None


def test_without_a_clock_an_answer_comes_when_it_is_there() -> None:
    found = Clock.from_now(None)
    assert found.attempt(lambda: "it", Watch()) == "it"
    assert found.cut is None
    late = Clock.from_now(timedelta(seconds=100))
    assert late.margin == 2.0
    assert late.cut is not None
    assert Clock.from_now(timedelta(seconds=1)).margin == 0.1


def test_ctrl_c_stops_the_work(monkeypatch: pytest.MonkeyPatch) -> None:
    watch, ended = Watch(), threading.Event()

    def interrupted(*given: Any, **more: Any) -> bool:
        raise KeyboardInterrupt

    def work() -> None:
        while not watch.stopped:
            sleep(0.01)
        ended.set()

    monkeypatch.setattr(watch, "wait", interrupted)
    with pytest.raises(KeyboardInterrupt):
        Clock().attempt(work, watch)
    assert ended.wait(60)
