"""HTTP with an end to patience: who sends a byte now and then, or never reads, does not keep a place for long.

uvicorn's protocol waits for a request as long as it takes. Here the head of a request has its time and its size, so has
the body, and so has a client to take what is sent; and one address has so many connections and no more.
"""

import asyncio
from collections import Counter
from functools import partial
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from tacit.server.http.guard import hung_up

__all__ = ["BODY", "HEAD", "HEAD_BYTES", "TAKING", "Patient"]

HEAD = 10.0  # seconds from the first byte of a request, or from the connection, to the end of its headers
BODY = 30.0  # from there to the end of its body
TAKING = 60.0  # for a client to take what is sent to it
HEAD_BYTES = 65_536

_places: Counter[tuple[int, str]] = Counter()  # open connections, by server and address


class Patient(HttpToolsProtocol):
    """One connection. The application's lifespan says how many of one address are let in: `connections`, 0 for any."""

    _late: asyncio.TimerHandle | None = None
    _stuck: asyncio.TimerHandle | None = None
    _place: tuple[int, str] | None = None
    _head = 0  # bytes since the last message ended
    _within = False  # headers were read, the body was not

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        address = self.client[0] if self.client else "?"
        most = int(self.app_state.get("connections", 0))
        self._place = (id(self.server_state), address)
        _places[self._place] += 1
        if most and _places[self._place] > most:
            transport.abort()
            return
        self._wait(HEAD)

    def connection_lost(self, exc: Exception | None) -> None:
        self._wait(None)
        self.resume_writing()
        if self._place is not None:
            _places[self._place] -= 1
            if _places[self._place] <= 0:
                del _places[self._place]
            self._place = None
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if not self._within:
            self._head += len(data)
            if self._late is None:
                self._wait(HEAD)
        super().data_received(data)
        if not self._within and self._head > HEAD_BYTES and not self.transport.is_closing():
            self.transport.abort()

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self.scope["state"]["gone"] = partial(hung_up, self.transport)  # see `Asking`

    def on_headers_complete(self) -> None:
        self._within = True
        self._wait(BODY)
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        self._within, self._head = False, 0
        self._wait(None)
        super().on_message_complete()

    def pause_writing(self) -> None:
        super().pause_writing()
        if self._stuck is None:
            self._stuck = self.loop.call_later(TAKING, self.transport.abort)

    def resume_writing(self) -> None:
        if self._stuck is not None:
            self._stuck.cancel()
            self._stuck = None
        super().resume_writing()

    def _wait(self, seconds: float | None) -> None:
        """Give up after so many seconds from now, or not at all."""
        if self._late is not None:
            self._late.cancel()
        self._late = None if seconds is None else self.loop.call_later(seconds, self.transport.abort)
