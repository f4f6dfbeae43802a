"""Many analysts at once, each with a connection and no pause between requests: what came back, and how long it took.

Requests are bytes made beforehand and answers are barely read, so that the clients, which share the machine with the
service, take little of it.
"""

import asyncio
import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from time import perf_counter

__all__ = ["Request", "Seen", "load", "request"]

LENGTH = b"content-length: "


@dataclass(frozen=True)
class Request:
    """What is sent, and what it is counted as."""

    kind: str
    data: bytes


@dataclass
class Seen:
    """Seconds by kind of request, and how many came back with which status."""

    times: dict[str, list[float]] = field(default_factory=dict)
    statuses: Counter[tuple[str, int]] = field(default_factory=Counter)
    broken: list[str] = field(default_factory=list)
    seconds: float = 0.0

    def percentile(self, kind: str, share: float) -> float:
        found = sorted(self.times[kind])
        return found[min(len(found) - 1, int(share * len(found)))]

    def rate(self) -> float:
        return sum(map(len, self.times.values())) / self.seconds

    def errors(self) -> int:
        """Whatever is neither an answer nor a refusal by the budget."""
        return len(self.broken) + sum(n for (_, status), n in self.statuses.items() if status not in (200, 403))


def request(kind: str, path: str, token: str, body: object) -> Request:
    """A POST of JSON."""
    data = json.dumps(body).encode()
    head = f"POST {path} HTTP/1.1\r\nhost: bench\r\nauthorization: Bearer {token}\r\ncontent-type: application/json\r\n"
    return Request(kind, f"{head}content-length: {len(data)}\r\n\r\n".encode() + data)


def load(port: int, analysts: list[Iterator[Request]], seconds: float, *, pause: float = 0.0) -> Seen:
    """Everybody asks for so long, one request after another, each `pause` seconds after the answer before it."""
    import uvloop

    return uvloop.run(_load(port, analysts, seconds, pause))


async def _load(port: int, analysts: list[Iterator[Request]], seconds: float, pause: float) -> Seen:
    seen = Seen()
    links = [await asyncio.open_connection("127.0.0.1", port) for _ in analysts]
    began = perf_counter()
    each = enumerate(zip(analysts, links, strict=True))
    # people do not begin in the same millisecond: the first requests are spread over one pause
    waits = ((place * pause / len(analysts), wishes, link) for place, (wishes, link) in each)
    await asyncio.gather(
        *(_analyst(wishes, *link, began + seconds, pause, seen, wait=wait) for wait, wishes, link in waits)
    )
    seen.seconds = perf_counter() - began
    for _, writer in links:
        writer.close()
    return seen


async def _analyst(
    wishes: Iterator[Request],
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    end: float,
    pause: float,
    seen: Seen,
    *,
    wait: float,
) -> None:
    await asyncio.sleep(wait)
    try:
        for wish in wishes:
            began = perf_counter()
            if began >= end:
                return
            writer.write(wish.data)
            head = await reader.readuntil(b"\r\n\r\n")
            at = head.index(LENGTH) + len(LENGTH)
            await reader.readexactly(int(head[at : head.index(b"\r", at)]))
            seen.times.setdefault(wish.kind, []).append(perf_counter() - began)
            seen.statuses[wish.kind, int(head[9:12])] += 1
            await asyncio.sleep(pause)
    except (OSError, EOFError, ValueError) as error:
        seen.broken.append(type(error).__name__)
