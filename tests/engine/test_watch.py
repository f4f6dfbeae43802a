"""A question on its way: stops, time, and engines that do not listen."""

import threading
from time import monotonic, sleep

import pytest

from tacit.engine import Watch


def test_work_is_interrupted_when_it_is_stopped_and_never_after_it_ended() -> None:
    watch, interrupted = Watch(), threading.Event()
    with watch.guarded(interrupted.set, seconds=60, share=lambda: None):
        watch.stop()
        assert interrupted.wait(10)
    watch, interrupted = Watch(), threading.Event()
    with watch.guarded(interrupted.set, seconds=60, share=lambda: None):
        pass
    watch.stop()
    assert not interrupted.wait(0.3)


def test_a_stop_is_written_down_and_does_not_wait_for_the_engine() -> None:
    watch = Watch()
    began = threading.Event()

    def slow() -> None:
        began.set()
        sleep(0.5)

    with watch.guarded(slow, seconds=60, share=lambda: None):
        before = monotonic()
        watch.stop()
        assert monotonic() - before < 0.4
        assert began.wait(10)


def test_all_parts_of_a_question_share_its_time() -> None:
    watch, interrupted = Watch(), threading.Event()
    watch.spent = 59.9
    with watch.guarded(interrupted.set, seconds=60, share=lambda: None):
        assert interrupted.wait(10)
    assert watch.spent > 59.9


def test_an_end_that_was_fixed_is_kept() -> None:
    watch, interrupted = Watch(), threading.Event()
    watch.until = monotonic() + 0.1
    with watch.guarded(interrupted.set, seconds=60, share=lambda: None):
        assert interrupted.wait(10)
    assert watch.late


def test_work_that_does_not_end_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tacit.engine.watch.STUCK", 0.1)
    watch = Watch()

    def deaf() -> None:
        raise RuntimeError("does not listen")

    with watch.guarded(deaf, seconds=0.01, share=lambda: None):
        assert watch.wait(lambda: watch.abandoned, until=monotonic() + 10)
