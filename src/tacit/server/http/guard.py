"""The outermost layer: headers on every response, a line in the log, and nothing of an unexpected error gets out."""

import asyncio
import logging
import select
import sys
import traceback
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tacit.engine import Watch
from tacit.server.ops.log import Metrics, event, outcome_of
from tacit.server.problem import HttpProblem, response

__all__ = ["Guard", "asking", "hung_up"]

POLICY = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; connect-src 'self'; "
POLICY += "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
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
    """Wraps the whole application."""

    def __init__(self, app: ASGIApp, *, metrics: Metrics, secure: bool) -> None:
        self.app, self.metrics = app, metrics
        found = dict(HEADERS)
        if secure:
            found["strict-transport-security"] = "max-age=31536000"
        self.headers = [(name.encode(), value.encode()) for name, value in found.items()]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        status = 0

        async def dressed(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                own = {name for name, _ in message["headers"]}
                message["headers"] = [*message["headers"], *(h for h in self.headers if h[0] not in own)]
            await send(message)

        scope.setdefault("state", {})
        try:
            await self.app(scope, receive, dressed)
        except Exception as error:
            event("fault", level=logging.ERROR, error=type(error).__name__, at=_place(error))
            if not status:
                await response(FAULT, key=scope["state"].get("key"))(scope, receive, dressed)
        finally:
            self._note(scope, status)

    def _note(self, scope: Scope, status: int) -> None:
        route = getattr(scope.get("route"), "path", "unknown")
        method = scope["method"] if scope["method"] in METHODS else "other"
        self.metrics.request(method, route, status)
        who: Any = scope["state"].get("who")
        if not scope["state"].get("unlogged"):  # by a route whose requests may not be known by their time
            event("request", method=method, route=route, outcome=outcome_of(status), who=who)


METHODS = {"GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH"}
FAULT = HttpProblem(
    500,
    "internal",
    "The service failed",
    "ask again with the same Idempotency-Key, which is never charged twice: this is a fault of the service",
)


def _place(error: BaseException) -> str:
    """The line of code an error came from: its message might hold anything."""
    frames = traceback.extract_tb(error.__traceback__ or sys.exc_info()[2])
    return "?" if not frames else f"{frames[-1].name}:{frames[-1].lineno}"


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
    looking = asyncio.ensure_future(_look(gone, watch))
    try:
        yield
    except asyncio.CancelledError:
        watch.stop()
        raise
    finally:
        looking.cancel()


async def _look(gone: Callable[[], bool], watch: Watch) -> None:
    while not gone():
        await asyncio.sleep(OFTEN)
    watch.stop()
