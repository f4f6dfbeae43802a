"""Bytes to and from one client, within limits: how large a message is, how long it takes, how long nothing comes; and
the counters that this door shares with the other one."""

import asyncio
import ssl
import struct
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from tacit.base import TacitError
from tacit.server.http.guard import hung_up
from tacit.server.http.rate import RateLimit
from tacit.server.ops.log import Metrics
from tacit.server.problem import Fault, HttpProblem, kind_of
from tacit.server.wire.message import Opening, broken, read_opening
from tacit.server.wire.statement import Ask, Browse, Copy, Declare, Explain, Statement

__all__ = ["WireLimits", "WireLink", "WireTally"]


@dataclass(frozen=True, kw_only=True)
class WireLimits:
    """What one server gives its clients: counts, bytes and seconds."""

    connections: int = 256
    address: int = 64  # connections of one address
    each: int = 24  # connections of one person: fewer than threads, so that nobody can take them all
    threads: int = 256  # most of them wait: for a place at an engine, or for a clock
    message: int = 1 << 20
    startup_message: int = 10_000
    statements: int = 500  # prepared ones, and portals, of one connection
    startup: float = 10.0  # from the first byte to the end of authentication
    within: float = 30.0  # from the first byte of a message to its last, and for a client to take what is sent
    idle: float = 3600.0  # between two messages


LABELS: dict[type, str] = {Ask: "question", Browse: "catalogued"}  # in metrics, where they are not the class's name
QUESTIONS: dict[type, str] = {Ask: "asked", Copy: "asked", Declare: "asked", Explain: "quoted"}


@dataclass(frozen=True)
class WireTally:
    """Statements of a person, failures of an address, and metrics. Nothing in them depends on data."""

    rate: RateLimit
    failures: RateLimit
    metrics: Metrics

    def statement(self, who: str, dataset: str, statement: Statement) -> None:
        """One more of this person's; a `Fault` if there were too many."""
        _take(self.rate, who, fatal=False)
        kind = QUESTIONS.get(type(statement))
        if kind is not None:
            self.metrics.question(dataset, kind)

    def ended(self, statement: Statement, error: BaseException | None) -> None:
        """How a statement ended."""
        status = 200 if error is None else 500
        if isinstance(error, Fault | TacitError):
            status = error.status if isinstance(error, Fault) else kind_of(error).status
        kind = type(statement)
        self.metrics.request("WIRE", LABELS.get(kind) or kind.__name__.lower(), status)

    def refused(self, address: str) -> None:
        """Somebody at this address could not say who they are."""
        _take(self.failures, address, fatal=True)


def _take(rate: RateLimit, caller: str, *, fatal: bool) -> None:
    try:
        rate.take(caller)
    except HttpProblem as problem:
        raise Fault("53400", str(problem), fatal=fatal) from None


HEAD = 5
CHUNK = 1 << 16


class WireLink:
    """One client."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, limits: WireLimits) -> None:
        self._reader, self._writer, self.limits = reader, writer, limits
        self._waiting = bytearray()

    # --- in

    async def opening(self) -> Opening:
        """A first message, which has no tag."""
        (size,) = struct.unpack("!i", await self._reader.readexactly(4))
        if not 8 <= size <= self.limits.startup_message:
            raise broken("the first message has an impossible length")
        return read_opening(await self._reader.readexactly(size - 4))

    async def frame(self, most: int | None = None) -> tuple[bytes, bytes]:
        """The next message, not yet read. Whoever sends nothing, or too slowly, or too much, is told and put out."""
        try:
            async with asyncio.timeout(self.limits.idle):
                tag = await self._reader.readexactly(1)
        except TimeoutError:
            raise Fault("57P05", "nothing came for too long: connect again", fatal=True) from None
        try:
            async with asyncio.timeout(self.limits.within):
                (size,) = struct.unpack("!i", await self._reader.readexactly(HEAD - 1))
                if size < HEAD - 1:
                    raise broken("a message has an impossible length")
                if size > (self.limits.message if most is None else most):
                    raise Fault("54000", "a message is too large", fatal=True)
                data = await self._reader.readexactly(size - HEAD + 1)
        except TimeoutError:
            raise Fault("08P01", "a message took too long to come", fatal=True) from None
        return tag, data

    @property
    def address(self) -> str:
        """Where the client is; one that has no address is like all others without."""
        place = self._writer.get_extra_info("peername")
        return str(place[0]) if isinstance(place, tuple) and place else "?"

    @property
    def gone(self) -> bool:
        """Whether the client has ended the connection, read to the end or not."""
        return hung_up(self._writer.transport)

    # --- out

    def put(self, data: bytes) -> None:
        """To be sent with the next flush."""
        self._waiting += data

    async def put_all(self, parts: list[bytes]) -> None:
        """The same for much: it is sent as it fills."""
        for part in parts:
            self._waiting += part
            if len(self._waiting) > CHUNK:
                await self.flush()

    async def flush(self) -> None:
        data, self._waiting = bytes(self._waiting), bytearray()
        self._writer.write(data)
        async with asyncio.timeout(self.limits.within):
            await self._writer.drain()

    async def encrypt(self, context: ssl.SSLContext) -> None:
        """Go on in TLS. Bytes that came before it are not taken for encrypted ones: they end the connection."""
        transport: Any = self._writer.transport  # of a socket, by asyncio or by uvloop
        transport.pause_reading()
        early = asyncio.ensure_future(self._reader.read(1))
        await asyncio.wait([early], timeout=0.001)
        if early.done():
            raise broken("bytes came before encryption began")
        early.cancel()
        with suppress(asyncio.CancelledError):
            await early
        self._writer.write(b"S")
        await self._writer.start_tls(context)

    def refuse_encryption(self) -> None:
        self._writer.write(b"N")

    async def close(self, last: bytes = b"") -> None:
        """Say the last words, if anybody listens."""
        with suppress(OSError, RuntimeError, TimeoutError):
            if last and not self._writer.is_closing():
                self.put(last)
                async with asyncio.timeout(1):
                    await self.flush()
        self._writer.close()
        with suppress(OSError, RuntimeError, TimeoutError, asyncio.CancelledError):
            async with asyncio.timeout(1):
                await self._writer.wait_closed()
