"""What was answered before and to whom, in this worker's memory: nothing here is needed, and all of it is released."""

import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

from tacit.desk import ChargeKey
from tacit.server.ask.opened import Basis, Opened
from tacit.session import Quote

__all__ = ["Answered", "Memory", "Quoted"]

MOST = 32 << 20  # bytes in all
EACH = 1 << 20  # of one answer with its question
MANY = 20_000


@dataclass(frozen=True, kw_only=True)
class Answered:
    """An answer that was released to one person, as it is sent again."""

    basis: Basis
    body: bytes
    headers: tuple[tuple[bytes, bytes], ...]

    @property
    def size(self) -> int:
        return len(self.body)


@dataclass(frozen=True, kw_only=True)
class Quoted:
    """A quote under these rules; `take` looks up what is left each time, and `key` the name of the charge."""

    opened: Opened
    take: Callable[[], Quote]
    key: Callable[[], ChargeKey]

    @property
    def size(self) -> int:
        return 10_000  # of its plan, about


class Memory:
    """By person, role and the bytes of the request. The oldest is forgotten first. Safe to share between threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._held: OrderedDict[tuple[object, ...], Answered | Quoted] = OrderedDict()
        self._bytes = 0

    def keep(self, place: tuple[object, ...], found: Answered | Quoted) -> None:
        """Remember this, unless it is large."""
        size = _size(place, found)
        if size > EACH:
            return
        with self._lock:
            self._forget(place)
            self._held[place] = found
            self._bytes += size
            while self._bytes > MOST or len(self._held) > MANY:
                self._forget(next(iter(self._held)))

    def find(self, place: tuple[object, ...]) -> Answered | Quoted | None:
        """What was kept at this place."""
        with self._lock:
            found = self._held.get(place)
            if found is not None:
                self._held.move_to_end(place)
            return found

    def _forget(self, place: tuple[object, ...]) -> None:
        found = self._held.pop(place, None)
        if found is not None:
            self._bytes -= _size(place, found)


def _size(place: tuple[object, ...], found: Answered | Quoted) -> int:
    return found.size + sum(len(part) for part in place if isinstance(part, str | bytes)) + 500
