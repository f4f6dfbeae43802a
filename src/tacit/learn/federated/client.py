"""A device that takes part: it answers each stage of each round of one plan once, in order, whatever the server says.

What it has answered is on its disk before it answers, under a lock: a device that was started again, or in two
processes at a time, says nothing twice. Two answers to one stage are what a lying server needs (secure-sum.md).
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from fcntl import LOCK_EX, flock
from pathlib import Path
from typing import Any

from tacit.base import Aborted, InputError
from tacit.base.private_file import open_private, settle
from tacit.learn.federated.federation import Federation
from tacit.learn.federated.masked_client import STAGES, MaskedClient
from tacit.learn.federated.terms import ClientKey, Message

__all__ = ["Client"]

ORDER = ("vector", *STAGES)  # a plan has either the first or the others
LINE = 60  # characters of the state file, which is written in one piece


class Client:
    """The device at `place`. `key` signs for it, where the server may lie.

    `state` is a file in which it keeps the last stage that it answered; without one it remembers for as long as it
    lives.
    """

    def __init__(
        self,
        plan: Federation,
        place: int,
        *,
        key: ClientKey | None = None,
        state: Path | None = None,
    ) -> None:
        self.plan, self.place = plan, place
        self._key, self._state = key, state
        self._answered = (0, 0)  # the last round, and the stage in it
        self._masked: MaskedClient | None = None
        with self._locked():
            pass  # refuses the state of another plan now

    @contextmanager
    def _locked(self) -> Iterator[int | None]:
        """The state file for this process alone, its content read."""
        if self._state is None:
            yield None
            return
        new = not self._state.exists()
        file = open_private(self._state, os.O_RDWR)
        try:
            flock(file, LOCK_EX)
            if new:
                settle(self._state.parent)
            if text := os.pread(file, LINE, 0):
                self._answered = max(self._answered, self._read(text))
            yield file
        finally:
            os.close(file)

    def _read(self, text: bytes) -> tuple[int, int]:
        said = text.decode("ascii", "replace").split()
        own = len(text) == LINE and len(said) == 3 and said[0] == self.plan.run_name.hex()
        if not own or not said[1].isdigit() or said[2] not in ORDER:
            raise InputError(f"{self._state} is not of this plan, or was cut short: a device has one for each plan")
        return int(said[1]), ORDER.index(said[2])

    def _begin(self, number: int, stage: str) -> None:
        """Remember a stage, durably, before anything of it is said."""
        with self._locked() as file:
            last, _ = self._answered
            first = stage in ("keys", "vector")
            if first and (type(number) is not int or not last < number <= self.plan.rounds):
                raise Aborted(
                    f"round {number!r} is not to come: a device takes part in each of {self.plan.rounds} rounds once, "
                    f"in order, and the last was {last}"
                )
            at = number, ORDER.index(stage)
            if not first and (self._masked is None or number != last or at <= self._answered):
                raise Aborted(f"{stage!r} of round {number!r} was asked for out of turn")
            if file is not None:
                os.pwrite(file, f"{self.plan.run_name.hex()} {number:>15} {stage:<10}\n".encode(), 0)
                os.fsync(file)
            self._answered = at

    @property
    def last(self) -> int:
        """The round it took part in last."""
        return self._answered[0]

    def secrets(self) -> bytes:
        """Where it is in that round, for a device whose program starts anew for each message. It holds secrets: it
        stays on the device."""
        return b"" if self._masked is None else self._masked.secrets()

    def remember(self, last: int, secrets: bytes) -> None:
        """Go on behind a round, or within it."""
        self._answered = max(self._answered, (last, 0))
        if secrets and last == self.last > 0:
            self._masked = MaskedClient(self.plan.terms(last), self.place, key=self._key)
            self._masked.restore(secrets)

    def answer(self, number: int, stage: str, message: Message, vector: Any = None) -> dict[str, Any]:
        """What to send back. `vector`, a list of numbers or a function that makes it, is looked at for the upload."""
        if stage not in ORDER or (stage == "vector") == (self.plan.cohort.noise == "distributed"):
            raise Aborted(f"{stage!r} is no stage of this plan, whose noise is {self.plan.cohort.noise}")
        self._begin(number, stage)
        if stage == "vector":
            return {"vector": self._encoded(number, vector).tobytes()}
        if stage == "keys":
            self._masked = MaskedClient(self.plan.terms(number), self.place, key=self._key)
        assert self._masked is not None  # checked where the stage began
        words = self._encoded(number, vector) if stage == "upload" else None
        return self._masked.answer(stage, message, words)

    def _encoded(self, number: int, vector: Any) -> Any:
        given = vector() if callable(vector) else vector
        if given is None:
            raise InputError("a vector is to be uploaded: pass vector=…")
        name = self.plan.terms(number).bound()
        return self.plan.cohort.encode(given, sigma=self.plan.share, name=name)
