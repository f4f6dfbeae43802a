"""Whether whoever asked is still there: work for somebody who hung up is stopped.

The socket itself is looked at. What was sent and not yet read would hide that the connection has ended: an event loop
reads no further while a request is being answered.
"""

import asyncio
import select
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from tacit.engine import Watch

__all__ = ["asking", "hung_up"]

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
