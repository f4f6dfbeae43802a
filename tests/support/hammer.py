"""Clients of a ledger in processes of their own, which can be killed at any point.

A nursery is a fresh interpreter that has imported the ledger and opened none. Each client is a fork of it: a process
as separate as any, without the second that an import takes. Parent and client talk in lines of JSON over a socket;
what a client wrote before it was killed can still be read, so it is known what it was told by the ledger.
"""

import atexit
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, Self

import pytest

from support import client
from support.books import account, cost, opened, program, terms
from support.client import PATIENCE, Message
from tacit.ledger import Ledger
from tacit.ledger.verify import verify
from tacit.policy.account import DATASET

__all__ = ["FULL", "Client", "Nursery", "Told", "begin_book", "nursery", "nursery_of_tests", "spent_units", "whole"]

FULL = os.environ.get("TACIT_TESTS") == "full"


class Client:
    """One process. It answers tasks in order; its settings are given when it starts."""

    def __init__(self, line: socket.socket) -> None:
        self._line, self._rest = line, b""
        line.settimeout(PATIENCE)
        self.pid = int(self.answer()["pid"])

    def ask(self, do: str, **task: Any) -> Self:
        """Give it something to do; `answer` has what it says."""
        self._line.sendall(json.dumps({"do": do, **task}).encode() + b"\n")
        return self

    def answer(self) -> Message:
        """The next thing it says. One that hangs, is dead or broke by itself fails the test."""
        found = self.heard()
        assert found is not None, "a client died"
        return found

    def heard(self) -> Message | None:
        """The same; None when it is dead and everything it said was heard."""
        while b"\n" not in self._rest:
            if not self._receive():
                return None  # what was said in half was not said
        text, _, self._rest = self._rest.partition(b"\n")
        found: Message = json.loads(text)
        assert "broke" not in found, found["broke"]
        return found

    def _receive(self) -> bool:
        try:
            part = self._line.recv(1 << 16)
        except TimeoutError:
            raise AssertionError("a client hangs") from None
        except ConnectionResetError:
            part = b""
        self._rest += part
        return bool(part)

    def waiting(self) -> list[Message]:
        """What it has said and nobody heard yet; to be asked when there is something to hear."""
        assert self._receive(), "a client died"
        return [self.answer() for _ in range(self._rest.count(b"\n"))]

    def last_words(self) -> list[Message]:
        """Everything it said until it died."""
        return list(iter(self.heard, None))

    def until(self, word: str) -> list[Message]:
        """What it says, up to and with the first message that has this word."""
        found = [self.answer()]
        while word not in found[-1]:
            found.append(self.answer())
        return found

    def kill(self) -> None:
        with suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)

    def close(self) -> None:
        self._line.close()

    def fileno(self) -> int:
        return self._line.fileno()


class Nursery:
    """Starts clients. `dismiss` ends those that are left."""

    def __init__(self) -> None:
        self._control, theirs = socket.socketpair()
        folders = [str(Path(__file__).parent.parent), *filter(None, [os.environ.get("PYTHONPATH")])]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(folders)}
        command = [sys.executable, "-m", client.__name__, str(theirs.fileno())]
        with theirs:
            self._process = subprocess.Popen(command, pass_fds=[theirs.fileno()], env=environment)
        self._clients: list[Client] = []

    def client(self, where: str | Path | None = None, **settings: Any) -> Client:
        """A new process, with the ledger open if a place is given."""
        mine, theirs = socket.socketpair()
        with theirs:
            socket.send_fds(self._control, [b"+"], [theirs.fileno()])
        made = Client(mine)
        self._clients.append(made)
        if where is not None:
            assert made.ask("open", where=str(where), **settings).answer() == {"ready": True}
        return made

    def clients(self, count: int, where: str | Path) -> list[Client]:
        """The same many times, which open the ledger all at once."""
        made = [self.client().ask("open", where=str(where)) for _ in range(count)]
        assert all(one.answer() == {"ready": True} for one in made)
        return made

    def dismiss(self) -> None:
        while self._clients:
            client = self._clients.pop()
            client.kill()
            client.close()

    def close(self) -> None:
        self.dismiss()
        self._control.close()
        self._process.wait(PATIENCE)


@cache
def nursery_of_tests() -> Nursery:
    """The nursery of this test process, closed with it."""
    made = Nursery()
    atexit.register(made.close)
    return made


@pytest.fixture
def nursery() -> Iterator[Nursery]:
    """Clients for one test, all gone after it. A test module imports this by name."""
    yield nursery_of_tests()
    nursery_of_tests().dismiss()


def begin_book(where: str | Path, people: str = "patients", total: int = 10**6, **declared: Any) -> None:
    """An account to charge to."""
    with opened(where, terms(people, total, **declared)):
        pass


def spent_units(ledger: Ledger, people: str = "patients", holder: str = DATASET) -> int:
    """What a holder has spent, ever, in whole ε."""
    balance = ledger.standing(people).balance(holder)
    assert balance is not None
    units, rest = divmod(balance.spent.spend, 10**12)
    assert rest == 0
    return units


def whole(where: str | Path) -> None:
    """Every chain verifies, and every balance is the sum of its entries."""
    report = verify(where)
    assert report.findings == ()


class Told:
    """What clients tried, and what the ledger acknowledged to them."""

    def __init__(self) -> None:
        self.tried: set[str] = set()
        self.got: dict[str, tuple[int, str]] = {}

    def hear(self, messages: Iterable[Message]) -> None:
        for message in messages:
            if "tried" in message:
                self.tried.add(message["tried"])
            elif "got" in message:
                self.got[message["got"]] = (message["seq"], message["digest"])

    @property
    def in_flight(self) -> set[str]:
        """Tried, and nobody knows: the reply was not heard."""
        return self.tried - set(self.got)

    def check(self, ledger: Ledger, people: str = "patients") -> set[str]:
        """All that was acknowledged is there as it was, nothing is there that nobody tried; the keys in the book."""
        found = {}
        for entry in ledger.log(people):
            if entry.kind == "charge":
                key = json.loads(entry.body)["key"]
                assert key not in found, "one key, two charges"
                found[key] = (entry.seq, entry.digest.hex())
        assert self.got.items() <= found.items()
        assert found.keys() <= self.tried
        assert len(self.got) <= spent_units(ledger, people) == len(found) <= len(self.tried)
        return set(found)

    def retry(self, ledger: Ledger, people: str = "patients") -> None:
        """Ask again for what was in flight: each is charged once, whether it was before or not."""
        before = self.check(ledger, people)
        for key in sorted(self.in_flight):
            receipt = ledger.charge(account(people=people, total=10**6), cost(1), program(), key)
            assert receipt.replayed == (key in before)
            self.got[key] = (receipt.seq, receipt.digest.hex())
        assert self.check(ledger, people) == self.tried
