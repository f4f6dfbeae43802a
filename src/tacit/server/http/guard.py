"""What surrounds every request: patience, size, headers on every response, a line in the log; and nothing of an
unexpected error gets out.

uvicorn's protocol waits for a request as long as it takes. Here the head of a request has its time and its size, so has
the body, and so has a client to take what is sent; and one address has so many connections and no more.
"""

import asyncio
import logging
import select
import sys
import traceback
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from tacit.engine import Watch
from tacit.server.ops.log import Metrics, event, outcome_of
from tacit.server.problem import FAULT, HttpProblem, response

__all__ = ["Guard", "PatientProtocol", "asking", "hung_up"]

POLICY = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; connect-src 'self'; "
POLICY += "form-action 'self'; frame-src 'self'; frame-ancestors 'none'; base-uri 'none'"
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "same-origin",  # with none, a form of ours would come from origin "null"
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    "cache-control": "no-store",
}


class Guard:
    """Wraps the whole application. A request whose body is larger than `most` bytes is refused: by what it says, and by
    what then comes."""

    def __init__(self, app: ASGIApp, *, metrics: Metrics, secure: bool, most: int) -> None:
        self.app, self.metrics, self.most = app, metrics, most
        found = dict(HEADERS)
        if secure:
            found["strict-transport-security"] = "max-age=31536000"
        self.headers = [(name.encode(), value.encode()) for name, value in found.items()]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        status = seen = 0

        async def counted() -> Message:
            nonlocal seen
            message = await receive()
            seen += len(message.get("body", b"")) if message["type"] == "http.request" else 0
            if seen > self.most:
                raise _TooLarge
            return message

        async def dressed(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                own = {name for name, _ in message["headers"]}
                message["headers"] = [*message["headers"], *(h for h in self.headers if h[0] not in own)]
            await send(message)

        scope.setdefault("state", {})
        try:
            said = dict(scope["headers"]).get(b"content-length", b"0")
            if not said.isdigit() or len(said) > 15 or int(said) > self.most:
                raise _TooLarge
            await self.app(scope, counted, dressed)
        except _TooLarge:
            if not status:
                detail = f"send less: a request may have at most {self.most:,} bytes"
                refusal = HttpProblem(413, "body", "The request is too large", detail, {"Connection": "close"})
                await response(refusal)(scope, receive, dressed)
        except Exception as error:
            event("fault", level=logging.ERROR, error=type(error).__name__, at=_place(error))
            if not status:
                await response(FAULT, key=scope["state"].get("key"))(scope, receive, dressed)
        finally:
            route = getattr(scope.get("route"), "path", "unknown")
            method = scope["method"] if scope["method"] in METHODS else "other"
            self.metrics.request(method, route, status)
            if not scope["state"].get("unlogged"):  # by a route whose requests may not be known by their time
                who = scope["state"].get("who")
                event("request", method=method, route=route, outcome=outcome_of(status), who=who)


METHODS = {"GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH"}


def _place(error: BaseException) -> str:
    """The line of code an error came from: its message might hold anything."""
    frames = traceback.extract_tb(error.__traceback__ or sys.exc_info()[2])
    return "?" if not frames else f"{frames[-1].name}:{frames[-1].lineno}"


class _TooLarge(BaseException):
    """Passes through every handler on its way out."""


# --- whoever asked is gone

OFTEN = 0.25  # seconds between two looks
ENDED = getattr(select, "POLLRDHUP", 0) | select.POLLHUP | select.POLLERR | select.POLLNVAL


def hung_up(transport: Any) -> bool:
    """Whether the other side of a connection has ended it."""
    link = transport.get_extra_info("socket")
    if transport.is_closing() or link is None:
        return bool(transport.is_closing())
    found = select.poll()
    found.register(link.fileno(), ENDED)
    return bool(found.poll(0))


@asynccontextmanager
async def asking(gone: Callable[[], bool], watch: Watch) -> AsyncIterator[None]:
    """While the block waits for its question: stop it when whoever asked is gone, or the service ends."""

    async def look() -> None:
        while not gone():
            await asyncio.sleep(OFTEN)
        watch.stop()

    looking = asyncio.ensure_future(look())
    try:
        yield
    except asyncio.CancelledError:
        watch.stop()
        raise
    finally:
        looking.cancel()


# --- patience

HEAD = 10.0  # seconds from the first byte of a request, or from the connection, to the end of its headers
BODY = 30.0  # from there to the end of its body
TAKING = 60.0  # for a client to take what is sent to it
HEAD_BYTES = 65_536

_places: Counter[tuple[int, str]] = Counter()  # open connections, by server and address


class PatientProtocol(HttpToolsProtocol):
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
        self.scope["state"]["gone"] = partial(hung_up, self.transport)  # see `asking`

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
