"""The server: it takes connections, keeps within its limits, and passes on requests to stop."""

import asyncio
import hmac
import logging
import ssl as tls
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from socket import socket
from typing import Any

from tacit.server.ask.datasets import Datasets
from tacit.server.ask.shelf import Shelf
from tacit.server.auth.people import People
from tacit.server.auth.tokens import random_bytes
from tacit.server.wire import message as reply
from tacit.server.wire.conversation import Conversation
from tacit.server.wire.enter import enter, first_message
from tacit.server.wire.fault import Fault, fault_of
from tacit.server.wire.link import Link, WireLimits
from tacit.server.wire.message import Cancel
from tacit.server.wire.tally import WireTally

__all__ = ["WireLimits", "serve_wire"]

log = logging.getLogger("tacit.wire")


async def serve_wire(
    datasets: Datasets,
    people: People,
    *,
    host: str | None = None,
    port: int | None = None,
    sock: socket | None = None,
    ssl: tls.SSLContext | None = None,
    limits: WireLimits | None = None,
    shelf: Shelf | None = None,
    tally: WireTally | None = None,
) -> asyncio.Server:
    """Serve PostgreSQL's protocol at this address, or at a socket that listens. With `ssl`, TLS is the only way in.
    Releases are kept on `shelf`, and statements counted in `tally`.

    Closing the server lets nobody else in; whoever is inside is told when the event loop ends.
    """
    server = _Wire(datasets, people, ssl, limits or WireLimits(), shelf, tally)
    if sock is not None:
        return await asyncio.start_server(server.take, sock=sock)
    return await asyncio.start_server(server.take, host, port)


class _Wire:
    def __init__(
        self,
        datasets: Datasets,
        people: People,
        ssl: tls.SSLContext | None,
        limits: WireLimits,
        shelf: Shelf | None,
        tally: WireTally | None,
    ) -> None:
        self._tally, self._from = tally, Counter[str]()
        self._datasets, self._people, self._ssl, self._limits, self._shelf = datasets, people, ssl, limits, shelf
        self._pool = ThreadPoolExecutor(limits.threads, thread_name_prefix="tacit-wire")
        self._entering = ThreadPoolExecutor(4, thread_name_prefix="tacit-enter")  # never behind long questions
        self._stopping = ThreadPoolExecutor(2, thread_name_prefix="tacit-stop")  # never behind what is to be stopped
        self._numbers = count(1)
        self._open = 0
        self._inside: dict[int, tuple[bytes, Conversation]] = {}

    async def _call(self, work: Callable[[], Any]) -> Any:
        return await asyncio.get_running_loop().run_in_executor(self._pool, work)

    async def _enter(self, work: Callable[[], Any]) -> Any:
        return await asyncio.get_running_loop().run_in_executor(self._entering, work)

    async def take(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection, from its first byte to its last. Nothing that a client does gets further than this."""
        link = Link(reader, writer, self._limits)
        last = b""
        address = link.address
        self._open += 1
        self._from[address] += 1
        try:
            if self._open <= 2 * self._limits.connections:  # some for requests to stop, and to tell others why not
                await self._talk(link, address)
        except Fault as fault:
            last = reply.response(Fault(fault.state, fault.message, fault.hint, fatal=True))
        except asyncio.CancelledError:
            last = reply.response(Fault("57P01", "the server is stopping: connect again in a moment", fatal=True))
        except (OSError, EOFError, TimeoutError):
            pass  # the client is gone, or as good as gone
        except Exception as error:
            log.error("a connection ended by %s", type(error).__name__)
            last = reply.response(fault_of(error))
        finally:
            self._open -= 1
            self._from[address] -= 1
            if not self._from[address]:
                del self._from[address]
            await link.close(last)

    async def _talk(self, link: Link, address: str) -> None:
        if self._from[address] > 2 * self._limits.address:
            return
        try:
            async with asyncio.timeout(self._limits.startup):
                first = await first_message(link, self._ssl)
                if isinstance(first, Cancel):
                    await self._cancel(first)
                    return
                if self._open > self._limits.connections or self._from[address] > self._limits.address:
                    raise Fault("53300", "too many connections are open: try again in a moment", fatal=True)
                entered = await enter(link, first, self._datasets, self._people, self._enter, self._shelf, self._tally)
        except TimeoutError:
            raise Fault("08P01", "signing in took too long: connect again", fatal=True) from None
        conversation = Conversation(link, entered, self._people, self._call, self._tally)
        mine = sum(other.name == conversation.name for _, other in self._inside.values())
        if mine >= self._limits.each:
            raise Fault("53300", f"close some of your connections: you have {mine} open, which is the most", fatal=True)
        number, secret = next(self._numbers) % (1 << 31), random_bytes(4)
        self._inside[number] = secret, conversation
        link.put(reply.key_data(number, secret))
        try:
            await conversation.hold()
        finally:
            del self._inside[number]

    async def _cancel(self, request: Cancel) -> None:
        """Whether the request meant anybody is not told."""
        secret, conversation = self._inside.get(request.number, (b"", None))
        if conversation is not None and hmac.compare_digest(secret, request.secret):
            await asyncio.get_running_loop().run_in_executor(self._stopping, conversation.cancel)
