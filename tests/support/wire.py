"""A server of PostgreSQL's protocol over a small clinic, with real tokens, in a thread of its own."""

import asyncio
import hmac
import os
import socket
import ssl
import struct
import subprocess
import threading
from base64 import b64decode, b64encode
from hashlib import pbkdf2_hmac, sha256
from pathlib import Path
from typing import Any, Self

import psycopg
import pyarrow as pa
from pyarrow.parquet import write_table

from tacit.server.ask.datasets import Datasets
from tacit.server.ask.shelf import Shelf
from tacit.server.auth.people import People
from tacit.server.db import State
from tacit.server.http.rate import RateLimit
from tacit.server.ops.log import Metrics
from tacit.server.wire import WireLimits, WireTally, serve_wire

__all__ = ["SIZE", "Clinic", "Raw", "Served", "text"]

POLICY = """\
[dataset]
name = "clinic"
ledger = "clinic.ledger"

[privacy]
unit = "patient"
currency = "epsilon"
budget = 100.0
delta = 1e-6

[tables.visits]
source = "visits.parquet"
unit_column = "patient_id"
clip_rows = 1

[tables.visits.columns.patient_id]
type = "integer"

[tables.visits.columns.cost]
type = "decimal"
bounds = [0, 50]
step = "0.01"
nullable = false
clip = 50

[tables.visits.columns.age]
type = "integer"
bounds = [0, 100]
nullable = false
clip = 100

[tables.visits.columns.ward]
type = "text"
group_keys = ["east", "west"]

[tables.visits.columns.day]
type = "date"
bounds = [2023-01-01, 2023-12-31]

[tables.visits.columns.urgent]
type = "boolean"
nullable = false

[tables.visits.columns.note]
type = "text"
hidden = true

[tables.payroll]
source = "visits.parquet"
unit_column = "patient_id"
clip_rows = 1

[tables.payroll.columns.age]
type = "integer"

[tables.wards]
source = "wards.parquet"
public = true

[tables.wards.columns.ward]
type = "text"
group_keys = ["east", "west"]

[analysts.ana]
limit = 60.0
tables = ["visits"]

[analysts.bob]
limit = 0.5
tables = ["visits"]
"""
SIZE = 4000
LIMITS = WireLimits()


class Clinic:
    """The files, the desk and the people: ana and bob may ask, eve is in no policy, cleo is the curator."""

    def __init__(self, folder: Path) -> None:
        numbers = range(SIZE)
        rows = {
            "patient_id": list(numbers),
            "cost": [float(number % 50) for number in numbers],
            "age": [number % 100 for number in numbers],
            "ward": ["west" if number % 4 == 0 else "east" for number in numbers],
            "day": pa.array([number % 365 + 19358 for number in numbers], pa.date32()),
            "urgent": [number % 2 == 0 for number in numbers],
            "note": ["secret"] * SIZE,
        }
        write_table(pa.table(rows), folder / "visits.parquet")
        write_table(pa.table({"ward": ["east", "west"]}), folder / "wards.parquet")
        (folder / "tacit.toml").write_text(POLICY)
        self.people = People(State(folder / "state.db"))
        self.tokens = {}
        for name, role in (("ana", "analyst"), ("bob", "analyst"), ("eve", "analyst"), ("cleo", "curator")):
            self.people.add(name, role)
            self.tokens[name] = self.people.issue(name)
        self.shelf = Shelf(self.people.state)
        self.datasets = Datasets([folder / "tacit.toml"])

    def close(self) -> None:
        self.datasets.close()
        self.people.state.close()


class Served:
    """The server as a context, and clients of it."""

    def __init__(self, clinic: Clinic, limits: WireLimits = LIMITS, context: ssl.SSLContext | None = None) -> None:
        self.clinic, self._limits, self._context = clinic, limits, context
        self.port = 0
        self._ready = threading.Event()

    async def _main(self) -> None:
        server = await serve_wire(
            self.clinic.datasets,
            self.clinic.people,
            host="127.0.0.1",
            port=0,
            ssl=self._context,
            limits=self._limits,
            shelf=self.clinic.shelf,
            tally=WireTally(RateLimit(10**9), RateLimit(10**9), Metrics()),
        )
        self._stop, self._loop = asyncio.Event(), asyncio.get_running_loop()
        self.port = server.sockets[0].getsockname()[1]
        self._ready.set()
        async with server:
            await self._stop.wait()

    def __enter__(self) -> Self:
        self._thread = threading.Thread(target=lambda: asyncio.run(self._main()))
        self._thread.start()
        assert self._ready.wait(20)
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(20)
        assert not self._thread.is_alive()

    def connect(self, name: str = "ana", *, autocommit: bool = True, **more: Any) -> "psycopg.Connection[Any]":
        """psycopg, with the person's token."""
        how = {"dbname": "clinic", "password": self.clinic.tokens[name].text, **more}
        return psycopg.connect(host="127.0.0.1", port=self.port, user=name, autocommit=autocommit, **how)

    def raw(self, name: str = "ana", *, options: str = "") -> "Raw":
        """A client that speaks the protocol byte by byte."""
        return Raw(self.port, name, self.clinic.tokens[name].text, options)

    def psql(self, *commands: str, name: str = "ana", **environment: str) -> "subprocess.CompletedProcess[str]":
        """psql itself, without anybody's settings."""
        arguments = [word for command in commands for word in ("-c", command)]
        return subprocess.run(
            ["psql", "-X", "-h", "127.0.0.1", "-p", str(self.port), "-U", name, "-d", "clinic", *arguments],
            env={**os.environ, "PGPASSWORD": self.clinic.tokens[name].text, "PGCONNECT_TIMEOUT": "20", **environment},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )


def text(value: str) -> bytes:
    return value.encode() + b"\0"


class Raw:
    """A connection by hand: what libpq never does can be done here, and no thread waits inside C."""

    def __init__(self, port: int, name: str, token: str, options: str = "") -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=30)
        pairs = {"user": name, "database": "clinic", "options": options}
        body = b"".join(text(key) + text(value) for key, value in pairs.items() if value) + b"\0"
        self.socket.sendall(struct.pack("!ii", len(body) + 8, 3 << 16) + body)
        self._prove(token)
        self.until(b"Z")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()

    def send(self, *messages: tuple[bytes, bytes]) -> None:
        self.socket.sendall(b"".join(tag + struct.pack("!i", len(body) + 4) + body for tag, body in messages))

    def read(self) -> tuple[bytes, bytes]:
        head = self._exactly(5)
        return head[:1], self._exactly(struct.unpack("!i", head[1:])[0] - 4)

    def until(self, tag: bytes) -> list[tuple[bytes, bytes]]:
        found = [self.read()]
        while found[-1][0] != tag:
            found.append(self.read())
        return found

    def said(self, *messages: tuple[bytes, bytes]) -> list[tuple[bytes, bytes]]:
        """What comes back for these, up to ReadyForQuery."""
        self.send(*messages)
        return self.until(b"Z")

    def _exactly(self, count: int) -> bytes:
        found = b""
        while len(found) < count:
            piece = self.socket.recv(count - len(found))
            if not piece:
                raise ConnectionError("closed")
            found += piece
        return found

    def _prove(self, token: str) -> None:
        tag, body = self.read()
        assert (tag, body[:4]) == (b"R", struct.pack("!i", 10))
        first = "n=,r=abcdefghijkl"
        start = b"n,," + first.encode()
        self.send((b"p", b"SCRAM-SHA-256\0" + struct.pack("!i", len(start)) + start))
        server = self.read()[1][4:].decode()
        nonce, salt, rounds = (part[2:] for part in server.split(","))
        salted = pbkdf2_hmac("sha256", token.encode(), b64decode(salt), int(rounds))
        key = hmac.digest(salted, b"Client Key", "sha256")
        last = f"c=biws,r={nonce}"
        signed = hmac.digest(sha256(key).digest(), f"{first},{server},{last}".encode(), "sha256")
        proof = b64encode(bytes(a ^ b for a, b in zip(key, signed, strict=True))).decode()
        self.send((b"p", f"{last},p={proof}".encode()))
        message = f"{first},{server},{last}".encode()
        expected = hmac.digest(hmac.digest(salted, b"Server Key", "sha256"), message, "sha256")
        tag, body = self.read()
        assert (tag, body[4:]) == (b"R", b"v=" + b64encode(expected)), body
