"""The server: it takes connections, keeps within its limits, and passes on requests to stop."""

import asyncio
import hmac
import logging
import ssl as tls
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from itertools import count
from typing import Any

from tacit.server.ask.datasets import Datasets
from tacit.server.ask.shelf import Shelf
from tacit.server.auth.people import People
from tacit.server.auth.tokens import random_bytes
from tacit.server.problem import Fault, fault_of
from tacit.server.wire import message as reply
from tacit.server.wire.conversation import Conversation
from tacit.server.wire.enter import Call, enter, first_message
from tacit.server.wire.link import WireLimits, WireLink, WireTally
from tacit.server.wire.message import Cancel

__all__ = ["serve_wire"]

LIMITS = WireLimits()
LOOKS = (0.0, 0.6, 0.6)  # seconds before each look for a question elsewhere: it is written down after a moment
log = logging.getLogger("tacit.wire")


async def serve_wire(
    datasets: Datasets,
    people: People,
    *,
    shelf: Shelf,
    tally: WireTally,
    ssl: tls.SSLContext | None = None,
    limits: WireLimits = LIMITS,
    elsewhere: Callable[[str], bool] | None = None,
    **where: Any,
) -> asyncio.Server:
    """Serve PostgreSQL's protocol; `where` is `host` and `port`, or `sock`, a socket that listens. With `ssl`, TLS is
    the only way in. Releases are kept on `shelf`, and statements counted in `tally`. A request to stop what does not
    run here goes `elsewhere`, to the other workers.

    Closing the server lets nobody else in; whoever is inside is told when the event loop ends.
    """
    return await asyncio.start_server(_Wire(datasets, people, shelf, tally, ssl, limits, elsewhere).take, **where)


def key_of(number: int, secret: bytes) -> str:
    """What the other workers may know of the key of a connection."""
    return sha256(number.to_bytes(4) + secret).hexdigest()


def _caller(threads: int, name: str) -> Call:
    """What runs blocking work in threads of its own."""
    return partial(asyncio.get_running_loop().run_in_executor, ThreadPoolExecutor(threads, f"tacit-{name}"))


@dataclass
class _Wire:
    _datasets: Datasets
    _people: People
    _shelf: Shelf
    _tally: WireTally
    _ssl: tls.SSLContext | None
    _limits: WireLimits
    _elsewhere: Callable[[str], bool] | None

    def __post_init__(self) -> None:
        self._call = _caller(self._limits.threads, "wire")
        self._enter = _caller(4, "enter")  # never behind long questions
        self._stop = _caller(2, "stop")  # never behind what is to be stopped
        self._numbers = count(int.from_bytes(random_bytes(4)))  # other workers have others
        self._open, self._from = 0, Counter[str]()
        self._inside: dict[int, tuple[bytes, Conversation]] = {}

    async def take(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection, from its first byte to its last. Nothing that a client does gets further than this."""
        link = WireLink(reader, writer, self._limits)
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

    async def _talk(self, link: WireLink, address: str) -> None:
        if self._from[address] > 2 * self._limits.address:
            return
        try:
            async with asyncio.timeout(self._limits.startup):
                first = await first_message(link, self._ssl)
                if isinstance(first, Cancel):  # whether it meant anybody is not told
                    secret, other = self._inside.get(first.number, (b"", None))
                    if other is not None and hmac.compare_digest(secret, first.secret):
                        await self._stop(other.cancel)
                    elif self._elsewhere is not None:
                        await self._stop_elsewhere(self._elsewhere, key_of(first.number, first.secret))
                    return
                if self._open > self._limits.connections or self._from[address] > self._limits.address:
                    raise Fault("53300", "too many connections are open: try again in a moment", fatal=True)
                entered = await enter(link, first, self._datasets, self._people, self._shelf, self._tally, self._enter)
        except TimeoutError:
            raise Fault("08P01", "signing in took too long: connect again", fatal=True) from None
        number, secret = next(self._numbers) % (1 << 31), random_bytes(4)
        key = key_of(number, secret)
        conversation = Conversation(link, *entered, self._people, self._tally, self._call, key)
        mine = sum(other.name == conversation.name for _, other in self._inside.values())
        if mine >= self._limits.each:
            raise Fault("53300", f"close some of your connections: you have {mine} open, which is the most", fatal=True)
        self._inside[number] = secret, conversation
        link.put(reply.key_data(number, secret))
        try:
            await conversation.hold()
        finally:
            del self._inside[number]

    async def _stop_elsewhere(self, stop: Callable[[str], bool], key: str) -> None:
        for pause in LOOKS:
            await asyncio.sleep(pause)
            if await self._stop(partial(stop, key)):
                return
