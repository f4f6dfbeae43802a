"""How somebody declares what is missing: a curator in the policy, the owner of one file as an argument."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

__all__ = ["by_arguments", "declare"]

_arguments = ContextVar("arguments", default=False)


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
