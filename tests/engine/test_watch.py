"""A question on its way: stops, time, and engines that do not listen."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from time import monotonic, sleep

import pytest

from tacit.base import EngineError, InputError
from tacit.engine import Limits, Stopped, Watch
from tacit.engine.watch import GIB, MIB, Seats, size


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


@pytest.mark.parametrize(
    ("text", "found"),
    [("500MB", 500 * MIB), ("2GB", 2 * GIB), ("1.5 GiB", 3 * GIB // 2), ("4096", 4096), (4096, 4096), ("1k", 1024)],
)
def test_sizes_are_written_as_people_do(text: str | int, found: int) -> None:
    assert size(text, "memory") == found


@pytest.mark.parametrize("text", ["", "much", "-1GB", "1PB", True, "1,5GB", "nan"])
def test_what_is_no_size_is_refused(text: str | int) -> None:
    with pytest.raises(InputError, match="memory is a size"):
        size(text, "memory")


@pytest.mark.parametrize(
    "wrong",
    [{"seconds": 0}, {"seconds": float("nan")}, {"at_once": 0}, {"memory": 1}, {"disk": -1}],
)
def test_limits_that_make_no_sense_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(InputError):
        Limits(**wrong)  # type: ignore[arg-type]  # one of several


def test_defaults_leave_room_for_the_rest_of_the_house() -> None:
    few, many = Limits(), Limits(at_once=8)
    assert 0 < few.seconds <= 3600
    assert many.bytes_of_memory * 8 <= few.bytes_of_memory * 2
    assert many.bytes_of_disk() * 8 <= few.bytes_of_disk() * 8
    assert (few.each, many.each) == (1, 4)
    assert few.threads >= many.threads >= 1


class Place:
    """An instance that counts."""

    opened = 0

    def __init__(self) -> None:
        type(self).opened += 1
        self.number, self.closed = type(self).opened, False
        self.interrupted = threading.Event()

    def interrupt(self) -> None:
        self.interrupted.set()

    def share(self) -> float | None:
        return 0.5

    def sound(self) -> bool:
        return False

    def close(self) -> None:
        self.closed = True


@pytest.fixture
def places() -> Iterator[Callable[[int], Seats[Place]]]:
    Place.opened = 0
    made: list[Seats[Place]] = []

    def make(at_once: int) -> Seats[Place]:
        made.append(Seats(Limits(at_once=at_once, seconds=60), Place(), Place))
        return made[-1]

    yield make
    for seats in made:
        seats.close()


@contextmanager
def held(seats: Seats[Place], *owners: str) -> Iterator[list[Watch]]:
    """Questions of these owners that run until the end of the block."""
    over, begun, watches, threads = threading.Event(), threading.Semaphore(0), [], []

    def work(_: Place) -> None:
        begun.release()
        over.wait(30)

    def run(watch: Watch) -> None:
        with suppress(Stopped):
            seats.run(work, watch)

    for owner in owners:
        watches.append(Watch(owner=owner))
        threads.append(threading.Thread(target=run, args=(watches[-1],)))
        threads[-1].start()
        assert begun.acquire(timeout=30)
    try:
        yield watches
    finally:
        over.set()
        for thread in threads:
            thread.join()


def started(
    seats: Seats[Place], owner: str, into: list[str], then: Callable[[], object] = lambda: None
) -> threading.Thread:
    before = len(seats._waiting)

    def work(_: Place) -> None:
        into.append(owner)
        then()

    thread = threading.Thread(target=lambda: seats.run(work, Watch(owner=owner)))
    thread.start()
    while len(seats._waiting) == before:
        sleep(0.001)
    return thread


def test_instances_are_opened_when_needed_and_used_again(places: Callable[[int], Seats[Place]]) -> None:
    seats = places(3)
    assert [seats.run(lambda place: place.number) for _ in range(3)] == [1, 1, 1]
    with held(seats, "ana"):
        assert seats.run(lambda place: place.number) == 2
    assert Place.opened == 2


def test_one_person_never_has_all_places(places: Callable[[int], Seats[Place]]) -> None:
    seats, done = places(4), list[str]()
    with held(seats, "ana", "ana"):
        third = started(seats, "ana", done)
        seats.run(lambda _: done.append("ben"), Watch(owner="ben"))
        assert done == ["ben"]
    third.join()
    assert done == ["ben", "ana"]


def test_who_has_fewest_places_goes_in_first(places: Callable[[int], Seats[Place]]) -> None:
    seats, done = places(4), list[str]()
    with held(seats, "zoe"), held(seats, "zoe"):
        with held(seats, "ana", "otto"):
            both = threading.Barrier(2)  # two are in at once, so the first two are those who were let in first
            threads = [started(seats, owner, done, lambda: both.wait(30)) for owner in ("ana", "ben", "ana", "cora")]
            assert done == []
        for thread in threads:
            thread.join()
    assert sorted(done[:2]) != ["ana", "ana"]


def test_a_failure_is_its_own_and_its_instance_is_gone(places: Callable[[int], Seats[Place]]) -> None:
    seats, seen = places(2), list[Place]()

    def broken(place: Place) -> None:
        seen.append(place)
        raise MemoryError

    with held(seats, "ben") as (ben,):
        with pytest.raises(MemoryError):
            seats.run(broken, Watch(owner="ana"))
        assert seen[0].closed
        assert not ben.stopped
    assert seats.run(lambda place: place.closed) is False


def test_who_stops_ends_without_a_failure_and_alone(places: Callable[[int], Seats[Place]]) -> None:
    seats, mine = places(2), Watch(owner="ana")

    def until_interrupted(place: Place) -> None:
        mine.stop()
        assert place.interrupted.wait(30)
        raise RuntimeError("interrupted")

    with held(seats, "ben") as (ben,):
        with pytest.raises(Stopped):
            seats.run(until_interrupted, mine)
        assert not ben.stopped
        again = Watch()
        again.stop()
        with pytest.raises(Stopped):
            seats.run(lambda _: "never", again)


def test_time_is_a_failure(places: Callable[[int], Seats[Place]]) -> None:
    seats, late = places(1), Watch()
    late.spent = 61
    with pytest.raises(EngineError):
        seats.run(lambda _: "never", late)


def test_an_instance_that_cannot_be_opened_leaves_its_place(places: Callable[[int], Seats[Place]]) -> None:
    seats = places(1)
    seats._free.clear()
    failing = [True]

    def opening() -> Place:
        if failing:
            failing.pop()
            raise OSError
        return Place()

    seats._more = opening
    with pytest.raises(EngineError):
        seats.run(lambda _: None)
    assert seats.run(lambda _: "well") == "well"


def test_places_that_are_held_for_too_long_are_told(
    places: Callable[[int], Seats[Place]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tacit.engine.watch.STUCK", 0.0)
    seats = places(2)
    with held(seats, "ana") as (ana,):
        ana.stop()
        sleep(0.01)
        seats.check()  # another is free
        with held(seats, "ben") as (ben,):
            seats.check()  # busy is not stuck
            ben.stop()
            sleep(0.01)
            with pytest.raises(EngineError):
                seats.check()
    seats.check()


def test_closing_stops_what_runs_and_who_waits(places: Callable[[int], Seats[Place]]) -> None:
    seats, outcome = places(1), list[str]()

    def work(place: Place) -> None:
        place.interrupted.wait(30)

    def ask() -> None:
        try:
            seats.run(work, Watch())
        except (Stopped, EngineError):
            outcome.append("ended")

    threads = [threading.Thread(target=ask) for _ in range(2)]
    for thread in threads:
        thread.start()
    while not (seats._busy and seats._waiting):
        sleep(0.001)
    seats.close()
    for thread in threads:
        thread.join()
    assert outcome == ["ended", "ended"]
    with pytest.raises(EngineError):
        seats.check()
