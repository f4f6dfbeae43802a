"""What runs now: seen in every worker, stopped from any, and gone when it is over."""

import threading
from collections.abc import Callable, Iterator
from time import monotonic, sleep

import pytest

from tacit.engine import Watch
from tacit.server.ask import running as module
from tacit.server.ask.running import RunningQuestions
from tacit.server.db import State


@pytest.fixture
def here(state: State, monkeypatch: pytest.MonkeyPatch) -> Iterator[RunningQuestions]:
    monkeypatch.setattr(module, "OFTEN", 0.05)
    found = RunningQuestions(state)
    yield found
    found.close()


def until(holds: Callable[[], object]) -> None:
    end = monotonic() + 60
    while not holds():
        assert monotonic() < end
        sleep(0.01)


def test_a_question_is_known_while_it_runs(here: RunningQuestions) -> None:
    with here.question("ana", "clinic", "SELECT 1", Watch()):
        (found,) = here.listed("clinic")
        assert (found.owner, found.sql, found.dataset) == ("ana", "SELECT 1", "clinic")
        assert here.listed("elsewhere") == []
    assert here.listed("clinic") == []


def test_another_worker_sees_and_stops_it(here: RunningQuestions, state: State) -> None:
    there, watch = RunningQuestions(state), Watch()
    with here.question("ana", "clinic", "SELECT 1", watch):
        until(lambda: there.listed("clinic"))
        (found,) = there.listed("clinic")
        assert (found.owner, found.watch) == ("ana", None)
        assert there.stop("elsewhere", found.id) is None
        assert there.stop("clinic", "another") is None
        assert not watch.stopped
        assert there.stop("clinic", found.id) == found
        until(lambda: watch.stopped)
    until(lambda: not there.listed("clinic"))
    there.close()


def test_here_it_is_stopped_at_once_and_alone(here: RunningQuestions) -> None:
    one, two = Watch(), Watch()
    with here.question("ana", "clinic", "SELECT 1", one), here.question("ben", "clinic", "SELECT 2", two):
        anas = next(each for each in here.listed("clinic") if each.owner == "ana")
        assert here.stop("clinic", anas.id) is not None
        assert (one.stopped, two.stopped) == (True, False)


def test_a_worker_that_died_is_not_shown(here: RunningQuestions, state: State, monkeypatch: pytest.MonkeyPatch) -> None:
    there = RunningQuestions(state)
    with here.question("ana", "clinic", "SELECT 1", Watch()):
        until(lambda: there.listed("clinic"))
        monkeypatch.setattr(module, "LOST", -1)
        assert there.listed("clinic") == []
    there.close()


def test_the_end_takes_away_what_was_written(state: State, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "OFTEN", 0.05)
    here, there, over = RunningQuestions(state), RunningQuestions(state), threading.Event()

    def work() -> None:
        with here.question("ana", "clinic", "SELECT 1", Watch()):
            over.wait(60)

    thread = threading.Thread(target=work)
    thread.start()
    until(lambda: there.listed("clinic"))
    here.close()
    assert there.listed("clinic") == []
    over.set()
    thread.join()
    there.close()
