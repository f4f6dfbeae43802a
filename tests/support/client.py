"""What a client of a ledger does in a process of its own, told by `hammer.py`, and the nursery that it is born in.

Run as a program, with the number of a socket: for every socket that comes in through it, a client is forked.
"""

import json
import os
import resource
import select
import signal
import socket
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn

import tacit.ledger.postgres  # noqa: F401 - imported before anybody is forked
from support.books import account, cost, program, terms
from tacit.base import CorruptLedger, LedgerError, OverBudget, TacitError
from tacit.ledger import Ledger, Receipt
from tacit.ledger.sqlite.store import SqliteStore, wall_clock

__all__ = ["PATIENCE", "Message"]

PATIENCE = 60.0  # seconds after which something is said to hang
Message = dict[str, Any]


class Work:
    """What one client does, until its parent hangs up."""

    def __init__(self, line: socket.socket) -> None:
        self._line, self._rest = line, b""
        self._ledger: Ledger | None = None
        self._receipts: dict[str, Receipt] = {}
        self.say(pid=os.getpid())

    @property
    def ledger(self) -> Ledger:
        assert self._ledger is not None
        return self._ledger

    def say(self, **message: Any) -> None:
        self._line.sendall(json.dumps(message).encode() + b"\n")

    def _tasks(self) -> Iterator[Message]:
        while True:
            while b"\n" not in self._rest:
                part = self._line.recv(1 << 16)
                if not part:
                    return
                self._rest += part
            text, _, self._rest = self._rest.partition(b"\n")
            yield json.loads(text)

    def _more(self) -> bool:
        """Whether there is something else to do."""
        return bool(self._rest) or bool(select.select([self._line], [], [], 0)[0])

    def run(self) -> None:
        for task in self._tasks():
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
            if self._more():
                break
        self.say(done=True)

    def insist(self, task: Message) -> None:
        """Charge whenever there is something left, until told to stop."""
        made = number = 0
        while not self._more():
            number += 1
            try:
                self._charge(task, f"{task['name']} {number}")
                made += 1
            except OverBudget:
                time.sleep(0.005)
        self.say(made=made)

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
        """Charge, and be killed at the `at`-th call or return of any function in it.

        If it lives: how many there were, and which of them were of the functions that reach the disk or the server.
        """
        events, outside = 0, []

        def watch(frame: FrameType, event: str, function: Any) -> None:
            nonlocal events
            events += 1
            if events == task["at"]:
                os.kill(os.getpid(), signal.SIGKILL)
            name = function.__name__ if event.startswith("c_") else frame.f_code.co_name
            if name in ("execute", "pwrite", "_take", "append"):  # the last two stand around the call of the server
                outside.append(events)

        sys.setprofile(watch)
        try:
            receipt = self._charge(task, task["key"])
        finally:
            sys.setprofile(None)
        self.say(got=task["key"], seq=receipt.seq, digest=receipt.digest.hex(), events=events, outside=outside)
        if task["at"]:  # a driver that waits less often makes fewer calls: the end is as good a moment as any
            os.kill(os.getpid(), signal.SIGKILL)


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
    _serve(socket.socket(fileno=int(sys.argv[1])))
