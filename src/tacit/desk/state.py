"""How far a long job is: one file under its receipt, replaced whole, readable by its owner alone.

Beside it lie a lock, held while the job runs, and a note by which another process asks it to stop.
"""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from hashlib import sha256
from json import dumps, loads
from pathlib import Path
from time import time_ns
from typing import Any

from tacit.base import InputError, LedgerError
from tacit.base.private_file import open_private, private_folder, settle
from tacit.engine import Stopped
from tacit.engine.source.copies import state_folder
from tacit.ledger import Receipt
from tacit.policy import Policy

__all__ = ["JobState", "SavedJob", "jobs_folder", "saved_jobs"]

VERSION = 2
LOCK, NOTE = ".lock", ".stop"  # how the files beside a state end


def jobs_folder(policy: Policy) -> Path:
    """Where jobs of a dataset save how far they are: the state folder of its ledger."""
    return state_folder(str(policy.ledger()), policy.folder) / "jobs"


class JobState:
    """What a job saved last. Where that is damaged, was discarded, or is of another receipt, the job does not go on:
    begun anew, it would draw a second time what its charge pays for once.

    A job that never asks for it touches no file. From the first question on, one process alone has it.
    """

    def __init__(self, folder: Path, receipt: Receipt, name: str = "") -> None:
        self._receipt = receipt.digest.hex()
        self._about = {"people": receipt.people, "analyst": receipt.analyst, "entry": receipt.seq, "key": receipt.key}
        self._about["name"] = name
        self._lock: int | None = None
        self._over = False
        self.path = folder / f"{self._receipt}.state"

    def save(self, state: bytes, done: float | None = None) -> None:
        """On disk when this returns, whole or not at all."""
        self.hold()
        head = {"version": VERSION, "receipt": self._receipt, "sha256": sha256(state).hexdigest(), "done": done}
        fresh = self.path.with_suffix(f".{os.getpid()}")
        with self._writing():
            try:
                with os.fdopen(open_private(fresh, os.O_WRONLY | os.O_TRUNC), "wb") as file:
                    file.write(dumps(head | self._about | {"saved": time_ns() // 1000}).encode() + b"\n")
                    file.write(state)
                    file.flush()
                    os.fsync(file.fileno())
                fresh.replace(self.path)
            except OSError:
                fresh.unlink(missing_ok=True)
                raise
            settle(self.path.parent)

    def load(self) -> bytes | None:
        """What was saved last; None if nothing was. An error where it is not whole."""
        self.hold()
        return self._stored()

    def _stored(self) -> bytes | None:
        try:
            line, _, state = self.path.read_bytes().partition(b"\n")
        except FileNotFoundError:
            return None
        except OSError as error:
            raise LedgerError(f"what this job saved cannot be read: {error.strerror}") from None
        head = _head(line)
        if head.get("receipt") != self._receipt or head.get("sha256") != sha256(state).hexdigest():
            raise InputError(
                f"what this job (entry {self._about['entry']} of the ledger) saved was discarded, or its file is "
                "damaged, so it cannot go on: what it drew would be drawn a second time, and that is not paid for. Its "
                "charge stands; run it under another name, which pays again"
            )
        return state

    @property
    def stop_wanted(self) -> bool:
        """Whether another process asked this job to stop."""
        return self._lock is not None and self.path.with_suffix(NOTE).exists()

    def forget(self) -> None:
        """The job is done: what it saved is not needed any more."""
        if self._lock is not None:
            _remove(self.path)
        self.let_go()

    def let_go(self) -> None:
        """The job runs no more: another process may go on with it. What its thread still saves ends that instead."""
        self._over = True
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def hold(self) -> None:
        """Be the only process that runs this job. A wish to stop it that is older has been granted."""
        if self._over:
            raise Stopped
        if self._lock is not None:
            return
        while self._lock is None:
            with self._writing():
                private_folder(self.path.parent)
                lock = open_private(self.path.with_suffix(LOCK), os.O_RDWR)
            if not _locked(lock, fcntl.LOCK_EX):
                os.close(lock)
                entry = self._about["entry"]
                raise InputError(
                    f"this job (entry {entry} of the ledger) runs in another process: wait for it, or stop it with "
                    f"`tacit job stop {entry}`; nothing is paid twice"
                )
            if os.fstat(lock).st_nlink:
                self._lock = lock
            else:  # whoever had it was done at this moment, and took the file away
                os.close(lock)
        with suppress(OSError):
            self.path.with_suffix(NOTE).unlink(missing_ok=True)
        self._stored()  # known before the job runs: an error of its run may be stored as its outcome

    @contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise LedgerError(f"how far this job is could not be saved: {error.strerror}") from None


@dataclass(frozen=True, kw_only=True)
class SavedJob:
    """A job that saved how far it is and did not end: who pays for it, by which ledger entry and idempotency key, its
    name, which share is `done`, when that was `saved` (µs), and whether it is `running`."""

    people: str
    analyst: str
    entry: int
    key: str
    name: str
    done: float | None
    saved: int
    running: bool
    path: Path

    def json(self) -> dict[str, Any]:
        """Everything but the place of its file."""
        return {name: value for name, value in asdict(self).items() if name != "path"}

    def chart(self) -> Any:
        """Released numbers that the job saved for whoever watches it; None where it saved none."""
        with suppress(OSError, ValueError):
            _, _, state = self.path.read_bytes().partition(b"\n")
            if state.startswith(b'{"chart":'):
                return loads(state)["chart"]
        return None

    def stop(self) -> None:
        """Ask a job that runs to stop; it does so when it next saves, or tells how far it is."""
        os.close(open_private(self.path.with_suffix(NOTE), os.O_WRONLY))

    def discard(self) -> None:
        """Delete what a job saved. What was charged stays charged, and the job does not run again under it: an empty
        file says so."""
        if self.running:
            raise InputError(f"job {self.entry} is running: stop it first")
        os.close(open_private(self.path, os.O_WRONLY | os.O_TRUNC))


def saved_jobs(folder: Path, people: str | None = None) -> list[SavedJob]:
    """Jobs that saved something and did not end, of one dataset's people or of all, in the order they were charged."""
    found = []
    for path in folder.glob("*.state"):
        head: dict[str, Any] = {}
        with suppress(OSError), path.open("rb") as file:  # else it ended at this moment
            head = _head(file.readline())
        if head and people in (None, head["people"]):
            about = {name: head[name] for name in ("people", "analyst", "entry", "key", "name", "done", "saved")}
            found.append(SavedJob(**about, running=_running(path), path=path))
    return sorted(found, key=lambda job: (job.people, job.entry))


def _running(path: Path) -> bool:
    try:
        lock = os.open(path.with_suffix(LOCK), os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        return not _locked(lock, fcntl.LOCK_SH)
    finally:
        os.close(lock)


def _locked(file: int, how: int) -> bool:
    try:
        fcntl.flock(file, how | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _remove(path: Path) -> None:
    for each in (path, path.with_suffix(NOTE), path.with_suffix(LOCK)):
        with suppress(OSError):
            each.unlink(missing_ok=True)


def _head(line: bytes) -> dict[str, Any]:
    try:
        head = loads(line)
    except ValueError:
        return {}
    return head if isinstance(head, dict) and head.get("version") == VERSION else {}
