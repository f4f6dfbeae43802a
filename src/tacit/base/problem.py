"""What is wrong with a declaration, with its place, so that a form finds its field and a file its line; and how to say
what to declare: a curator does so in the policy, the owner of one file as an argument."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace

__all__ = ["Problem", "by_arguments", "declare"]

_arguments = ContextVar("arguments", default=False)


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong with a declaration, and where: `path` has the keys of the file that lead to it, such as
    ("tables", "visits", "columns", "age", "bounds"), or numbers in a list; `place` says in words what `text` does not.

    `short` is for whoever sees the key and its value beside it.
    """

    path: tuple[str | int, ...]
    text: str
    place: str = ""
    short: str = ""

    def __str__(self) -> str:
        return f"{self.place}: {self.text}" if self.place else self.text

    def within(self, place: str, *path: str) -> "Problem":
        """The same, found in a larger part."""
        words = f"{place}, {self.place}" if self.place else place
        return replace(self, path=(*path, *self.path), place=words)

    def of_file(self, name: str) -> "Problem":
        """The same, found in this file."""
        return replace(self, place=f"{name}: {self.place}" if self.place else name)


@contextmanager
def by_arguments() -> Iterator[None]:
    """Within it, remedies name arguments."""
    before = _arguments.set(True)
    try:
        yield
    finally:
        _arguments.reset(before)


def declare(policy: str, argument: str) -> str:
    """The remedy in the words of whoever is told of it."""
    return argument if _arguments.get() else policy
