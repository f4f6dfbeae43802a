"""How far a long job is: one file under its receipt, replaced whole, readable by its owner alone."""

import os
from contextlib import suppress
from hashlib import sha256
from json import dumps, loads
from pathlib import Path
from typing import Any

from tacit.base import LedgerError
from tacit.base.private_file import open_private, private_folder
from tacit.engine.source.copies import state_folder
from tacit.ledger import Receipt
from tacit.policy import Policy

__all__ = ["JobState", "jobs_folder", "jobs_under_way"]

VERSION = 1


def jobs_folder(policy: Policy) -> Path:
    """Where jobs of a dataset save how far they are: the state folder of its ledger."""
    return state_folder(str(policy.ledger()), policy.folder) / "jobs"


class JobState:
    """What a job saved last. Of another receipt, or damaged, it is not used: the job begins anew, under its charge."""

    def __init__(self, folder: Path, receipt: Receipt) -> None:
        self._receipt = receipt.digest.hex()
        self._about = {"people": receipt.people, "analyst": receipt.analyst, "entry": receipt.seq, "key": receipt.key}
        self.path = folder / f"{self._receipt}.state"

    def save(self, state: bytes, done: float | None = None) -> None:
        """On disk when this returns, whole or not at all."""
        head = {"version": VERSION, "receipt": self._receipt, "sha256": sha256(state).hexdigest(), "done": done}
        fresh = self.path.with_suffix(f".{os.getpid()}")
        try:
            private_folder(self.path.parent)
            with os.fdopen(open_private(fresh, os.O_WRONLY | os.O_TRUNC), "wb") as file:
                file.write(dumps(head | self._about).encode() + b"\n")
                file.write(state)
                file.flush()
                os.fsync(file.fileno())
            fresh.replace(self.path)
            folder = os.open(self.path.parent, os.O_RDONLY)
            os.fsync(folder)
            os.close(folder)
        except OSError as error:
            with suppress(OSError):
                fresh.unlink()
            raise LedgerError(f"how far this job is could not be saved: {error.strerror}") from None

    def load(self) -> bytes | None:
        """What was saved last; None if nothing was, or if it is not whole."""
        head, state = _read(self.path)
        same = head.get("receipt") == self._receipt and head.get("sha256") == sha256(state).hexdigest()
        return state if same else None

    def forget(self) -> None:
        """The job is done: what it saved is not needed any more."""
        with suppress(OSError):
            self.path.unlink()


def jobs_under_way(folder: Path) -> list[dict[str, Any]]:
    """Jobs that saved something and did not end: who pays, under which key, and how far each is."""
    heads = [_read(path)[0] for path in sorted(folder.glob("*.state"))]
    return [{name: head[name] for name in ("people", "analyst", "entry", "key", "done")} for head in heads if head]


def _read(path: Path) -> tuple[dict[str, Any], bytes]:
    try:
        line, _, state = path.read_bytes().partition(b"\n")
        head = loads(line)
    except (OSError, ValueError):
        return {}, b""
    return (head, state) if isinstance(head, dict) and head.get("version") == VERSION else ({}, b"")
