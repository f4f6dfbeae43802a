"""What a worker remembers is bounded, and the oldest goes first."""

from typing import Any, cast

import pytest

from tacit.server import memory
from tacit.server.ask.opened import Basis, Opened
from tacit.server.memory import Answered, Memory


class Files:
    """A dataset whose data have a version."""

    def __init__(self, version: str) -> None:
        self.now = version

    def version(self, _: object) -> str:
        return self.now


def basis(opened: Files) -> Basis:
    return Basis(opened=cast(Opened, opened), tables=("visits",), version=opened.now)


def answer(size: int) -> Answered:
    return Answered(basis=basis(Files("1")), body=bytes(size), headers=())


def kept(found: Memory, *places: Any) -> list[bool]:
    return [found.find((place,)) is not None for place in places]


def test_an_answer_holds_for_the_same_rules_and_data() -> None:
    one, same = Files("1"), Files("1")
    rests = basis(one)
    assert rests.holds(cast(Opened, one))
    assert not rests.holds(cast(Opened, same))  # read again, so perhaps under other rules
    one.now = "2"
    assert not rests.holds(cast(Opened, one))


def test_the_oldest_goes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "MANY", 2)
    found = Memory()
    found.keep(("a",), answer(1))
    found.keep(("b",), answer(1))
    found.find(("a",))
    found.keep(("c",), answer(1))
    assert kept(found, "a", "b", "c") == [True, False, True]


def test_bytes_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "MOST", 10_000)
    found = Memory()
    for place in "abcd":
        found.keep((place,), answer(3000))
    assert kept(found, "a", "b", "c", "d") == [False, False, True, True]
    for _ in range(10):
        found.keep(("d",), answer(3000))  # in the same place, counted once
    assert kept(found, "c", "d") == [True, True]
    found.keep(("a long question" * 1000,), answer(1))
    assert found._bytes <= 10_000


def test_what_is_large_is_not_kept() -> None:
    found = Memory()
    found.keep(("a",), answer(memory.EACH))
    assert kept(found, "a") == [False]
    assert found._bytes == 0
