"""A cached property is computed once, keeps nothing locked, and shows its type."""

import os
import signal
import threading
from dataclasses import dataclass
from typing import assert_type

import pytest

from support.tree import SOURCE
from tacit.base import cached_property


@dataclass(frozen=True)
class Squares:
    numbers: tuple[int, ...]

    @cached_property
    def total(self) -> int:
        """Σ x²"""
        return sum(x * x for x in self.numbers)

    @cached_property
    def fails(self) -> int:
        raise ValueError("no")


def test_it_is_computed_once_and_belongs_to_one_object() -> None:
    three, four = Squares((1, 1, 1)), Squares((2,))
    assert_type(three.total, int)
    assert (three.total, four.total) == (3, 4)
    vars(three)["total"] = 5  # what was kept is read, and nothing is computed again
    assert (three.total, four.total) == (5, 4)
    assert three == Squares((1, 1, 1))
    assert Squares.total.__doc__ == "Σ x²"


def test_an_error_is_not_kept() -> None:
    squares = Squares(())
    for _ in range(2):
        with pytest.raises(ValueError, match="no"):
            _ = squares.fails
    assert "fails" not in vars(squares)


def test_threads_may_compute_at_once() -> None:
    both, found = threading.Barrier(2), list[int]()

    class Slow:
        @cached_property
        def value(self) -> int:
            both.wait(30)  # returns only if the other thread computes too: nobody waits for a lock
            return 7

    slow = Slow()
    threads = [threading.Thread(target=lambda: found.append(slow.value)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert found == [7, 7]


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")  # of Python 3.12, about what is tested
def test_a_child_forked_while_another_thread_computes_is_not_stuck() -> None:
    begun, go_on = threading.Event(), threading.Event()

    class Slow:
        def __init__(self, *, waits: bool) -> None:
            self.waits = waits

        @cached_property
        def value(self) -> int:
            begun.set()
            if self.waits:
                go_on.wait(60)
            return 7

    thread = threading.Thread(target=lambda: Slow(waits=True).value)
    thread.start()
    assert begun.wait(60)
    child = os.fork()
    if not child:
        signal.alarm(10)  # kills a child that waits for a lock
        os._exit(Slow(waits=False).value)
    _, status = os.waitpid(child, 0)
    go_on.set()
    thread.join(60)
    assert os.waitstatus_to_exitcode(status) == 7


def test_nothing_here_uses_the_one_with_the_lock() -> None:
    imports = [line for path in SOURCE.rglob("*.py") for line in path.read_text().splitlines() if "functools" in line]
    assert imports
    assert not [line for line in imports if "cached_property" in line]
