"""Clients of a ledger in processes of their own, which can be killed at any point.

A nursery is a fresh interpreter that has imported the ledger and opened none. Each client is a fork of it: a process
as separate as any, without the second that an import takes. Parent and client talk in lines of JSON over a socket;
what a client wrote before it was killed can still be read, so it is known what it was told by the ledger.
"""

import atexit
import json
import os
import select
import signal
import socket
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn, Self

import pytest

from support.books import account, cost, opened, program, terms
from tacit.base import CorruptLedger, LedgerError, OverBudget, TacitError
from tacit.ledger import Ledger, Receipt
from tacit.ledger.postgres import PostgresStore
from tacit.ledger.sqlite import SqliteStore, wall_clock
from tacit.ledger.verify import verify
from tacit.policy.account import DATASET

__all__ = ["FULL", "PATIENCE", "Client", "Nursery", "begin_book", "nursery", "nursery_of_tests", "spent_units", "whole"]

FULL = os.environ.get("TACIT_TESTS") == "full"
PATIENCE = 60.0  # seconds without a word after which a client is said to hang
Message = dict[str, Any]


# --- the side of the test


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
        command = [sys.executable, __file__, str(theirs.fileno())]
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


# --- the side of the client


class Work:
    """What one client does, until its parent hangs up."""

    def __init__(self, line: socket.socket) -> None:
        self._line, self._lines = line, line.makefile("r")
        self._ledger: Ledger | None = None
        self._receipts: dict[str, Receipt] = {}
        self.say(pid=os.getpid())

    @property
    def ledger(self) -> Ledger:
        assert self._ledger is not None
        return self._ledger

    def say(self, **message: Any) -> None:
        self._line.sendall(json.dumps(message).encode() + b"\n")

    def run(self) -> None:
        for text in self._lines:
            task = json.loads(text)
            try:
                act: Callable[[Message], None] = getattr(self, task.pop("do"))
                act(task)
            except TacitError as error:
                self.say(error=_kind(error), text=str(error))

    def open(self, task: Message) -> None:
        """Open the ledger; `ahead` shifts this client's clock, `room` bounds its files, `user` is whom it runs as."""
        if task.get("user") is not None:
            os.setgroups([])
            os.setgid(task["user"])
            os.setuid(task["user"])
        if "ahead" in task:
            ahead = task["ahead"]
            self._ledger = Ledger(SqliteStore(Path(task["where"]), clock=lambda: wall_clock() + ahead))
        else:
            self._ledger = Ledger.open(task["where"])
        self.say(ready=True)

    def room(self, task: Message) -> None:
        """No file may grow beyond so many bytes, or any may again."""
        import resource

        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        most = task["bytes"] or resource.RLIM_INFINITY
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, resource.RLIM_INFINITY))
        self.say(room=task["bytes"])

    def _charge(self, task: Message, key: str) -> Receipt:
        people, analyst, total = task.get("people", "patients"), task.get("analyst", "alice"), task.get("total", 10**6)
        payer = account(analyst, people, total, limit=task.get("limit", total))
        self._wait(task)
        return self.ledger.charge(payer, cost(task.get("cost", 1)), program(), key)

    def _wait(self, task: Message) -> None:
        """For the moment when all begin: the monotonic clock is the same for all processes."""
        time.sleep(max(0.0, task.pop("start", 0) - time.monotonic()))

    def grab(self, task: Message) -> None:
        """Charge one unit after another until refused."""
        made: list[int] = []
        with suppress(OverBudget):
            while len(made) < task.get("most", 10**6):
                made.append(self._charge(task, f"{os.getpid()} {len(made)}").seq)
        self.say(made=made)

    def stream(self, task: Message) -> None:
        """Charge and say so, again and again, until told to stop or so many were made. Refusals are tried again."""
        for number in range(task.get("most", 10**6)):
            key = f"{task['name']} {number}"
            self.say(tried=key)
            receipt = self._patiently(task, key)
            self.say(got=key, seq=receipt.seq, digest=receipt.digest.hex())
            if select.select([self._line], [], [], 0)[0]:
                break
        self.say(done=True)

    def stop(self, _: Message) -> None:
        self.say(stopped=True)

    def _patiently(self, task: Message, key: str) -> Receipt:
        end = time.monotonic() + PATIENCE
        while True:
            try:
                return self._charge(task, key)
            except LedgerError as error:
                if isinstance(error, CorruptLedger) or time.monotonic() > end:
                    raise
                self.say(error=_kind(error), text=str(error), key=key)
                time.sleep(0.05)

    def charge(self, task: Message) -> None:
        """One charge; its receipt stays for `void`, `begin` and `keep`."""
        receipt = self._receipts[task["key"]] = self._charge(task, task["key"])
        self.say(seq=receipt.seq, digest=receipt.digest.hex(), replayed=receipt.replayed, time=receipt.time)

    def void(self, task: Message) -> None:
        self.ledger.void(self._receipts[task["key"]])
        self.say(void=True)

    def begin(self, task: Message) -> None:
        self.ledger.begin(self._receipts[task["key"]])
        self.say(begun=True)

    def keep(self, task: Message) -> None:
        self._wait(task)
        kept = self.ledger.keep(self._receipts[task["key"]], task["release"].encode(), version="v1")
        self.say(kept=kept.release.decode())

    def apply(self, task: Message) -> None:
        made = self.ledger.apply(terms(task.get("people", "patients"), task["total"]))
        self.say(entries=len(made))

    def churn(self, task: Message) -> None:
        """Charge and take back, so many times; whatever the others leave no room for is passed over."""
        voided = 0
        for number in range(task["most"]):
            with suppress(OverBudget):
                self.ledger.void(self._charge(task, f"{os.getpid()} {number}"))
                voided += 1
        self.say(voided=voided)

    def die(self, task: Message) -> None:
        """Charge, and be killed at the `at`-th call or return of any function in it; how many there are if none."""
        events = 0

        def watch(_: FrameType, __: str, ___: Any) -> None:
            nonlocal events
            events += 1
            if events == task["at"]:
                os.kill(os.getpid(), signal.SIGKILL)

        sys.setprofile(watch)
        try:
            receipt = self._charge(task, task["key"])
        finally:
            sys.setprofile(None)
        self.say(got=task["key"], seq=receipt.seq, digest=receipt.digest.hex(), events=events)


def _kind(error: TacitError) -> str:
    return type(error).__name__


def _live(line: socket.socket) -> NoReturn:
    """The whole life of a client."""
    with suppress(BrokenPipeError, ConnectionResetError):
        try:
            Work(line).run()
        except BaseException:
            line.sendall(json.dumps({"broke": traceback.format_exc()}).encode() + b"\n")
    os._exit(0)


def _serve(control: socket.socket) -> None:
    """Fork a client for every socket that comes in."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the system buries the dead
    while True:
        word, files, _, _ = socket.recv_fds(control, 1, 1)
        if not word:
            return
        if os.fork() == 0:
            control.close()
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            _live(socket.socket(fileno=files[0]))
        os.close(files[0])


if __name__ == "__main__":
    assert PostgresStore  # imported before anybody is forked
    _serve(socket.socket(fileno=int(sys.argv[1])))
