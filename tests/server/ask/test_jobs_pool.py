"""Questions have threads of their own, and nobody has all of them."""

import asyncio
import threading

import pytest

from tacit.engine import Watch
from tacit.server.ask import jobs as asking
from tacit.server.ask.jobs import QuestionPool
from tacit.server.problem import HttpProblem


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


def test_one_person_has_only_so_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asking, "EACH", 2)
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
