"""Engines of which somebody else's questions have every place, or whose questions do not end by themselves."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tacit.engine import Watch

__all__ = ["ENDLESS", "all_taken", "endless"]

ENDLESS = "SELECT SUM(a.range * b.range) FROM range(10000000) a, range(10000000) b"


@contextmanager
def all_taken(engine: Any, *, but: int = 0) -> Iterator[None]:
    """Whoever asks meanwhile waits. `but` places are taken already."""
    seats = engine._seats
    held = [Watch() for _ in range(seats.limits.at_once - but)]
    for watch in held:
        seats._enter(watch)
    try:
        yield
    finally:
        for watch in held:
            seats._free_place(watch)


@contextmanager
def endless(engine: Any, *, only: str = "") -> Iterator[threading.Semaphore]:
    """Statements with `only` in them keep a DuckDB busy until somebody interrupts it; released whenever one begins."""
    begun = threading.Semaphore(0)

    def read(instance: Any, statement: str) -> Any:
        if only in statement:
            begun.release()
            return instance.fetch(ENDLESS)
        return instance.fetch(statement)

    engine._read = read
    try:
        yield begun
    finally:
        del engine._read
