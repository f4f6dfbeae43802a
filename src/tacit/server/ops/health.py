"""Whether this worker can do its work: its database, and of every dataset the rules, the engine and the ledger.

Anybody may ask, so what is told is a few fixed words without names, and it is found out seldom: one look at a time, in
a thread of its own, however many ask.
"""

import asyncio
import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from time import monotonic

from tacit.server.ask.datasets import Datasets
from tacit.server.db import State
from tacit.server.ops.log import event

__all__ = ["Health"]

FRESH = 5.0  # seconds that a look is good for
PATIENCE = 2.0  # seconds that whoever asks waits for a new one
LATE = 30.0  # seconds after which a look that does not end is a finding of its own


class Health:
    """What is wrong: "database", "rules", "engine", "ledger"; "slow" if finding that out does not end."""

    def __init__(self, state: State, datasets: Datasets) -> None:
        self._state, self._datasets = state, datasets
        self._lock = threading.Lock()
        self._found: tuple[str, ...] = ("slow",)  # until it is known
        self._at = self._begun = float("-inf")
        self._looking = False

    async def reasons(self) -> tuple[str, ...]:
        """Why this worker cannot do its work; none if it can."""
        end = monotonic() + PATIENCE
        while not self._known() and monotonic() < end:
            await asyncio.sleep(0.02)
        with self._lock:
            if self._looking and monotonic() - self._begun > LATE:
                return ("slow",)
            return self._found

    def _known(self) -> bool:
        """Whether it was looked at lately; if not, have somebody look."""
        with self._lock:
            if monotonic() - self._at < FRESH:
                return True
            if not self._looking:
                self._looking, self._begun = True, monotonic()
                threading.Thread(target=self._look, name="tacit-health", daemon=True).start()
            return False

    def _look(self) -> None:
        found: tuple[str, ...] = ("slow",)
        try:
            found = tuple(dict.fromkeys(self._wrong()))
        finally:
            with self._lock:
                if found != self._found and found:
                    event("unhealthy", level=logging.WARNING, reasons=list(found))
                self._found, self._at, self._looking = found, monotonic(), False

    def _wrong(self) -> Iterator[str]:
        if not self._state.ready():
            yield "database"
        for name, opened in self._datasets.every():
            if opened is None:
                yield _noted(name, "rules")
            elif _fails(opened.engine.ready):
                yield _noted(name, "engine")
            elif _fails(opened.ledger.ready):
                yield _noted(name, "ledger")


def _noted(dataset: str, reason: str) -> str:
    event("dataset cannot be asked", level=logging.WARNING, dataset=dataset, reason=reason)
    return reason


def _fails(action: Callable[[], None]) -> bool:
    with suppress(Exception):
        action()
        return False
    return True
