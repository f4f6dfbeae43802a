"""What can be bought: a program, how to run it under a receipt, and how to show what was kept of it."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Protocol, TypeVar

from tacit.base import InputError
from tacit.base.exact import Exact, opened
from tacit.desk.certificate.evidence import software
from tacit.desk.quote import Expected, Hint, Quote
from tacit.desk.release import Release, release_from_bytes, release_of
from tacit.desk.state import JobState
from tacit.engine import Engine, Stopped, Watch
from tacit.ledger import Receipt
from tacit.plan.node import Scan
from tacit.policy import Grant, Policy
from tacit.program import Program

__all__ = ["Job", "OwnJob", "Run", "Spender", "open_exact"]

T = TypeVar("T")


def open_exact(exact: Exact[T], program: Program, receipt: Receipt) -> T:
    """A true answer, for the receipt of the very program that is to add noise to it. The only way to open one."""
    if not isinstance(receipt, Receipt):
        raise InputError("nothing is released without a receipt: charge the program first")
    if receipt.program not in program.hashes:
        raise InputError("this receipt is for another program: charge the one that is to be released")
    return opened(exact)


@dataclass(frozen=True, kw_only=True, eq=False)
class Run:
    """A job at work: what it was paid with, what it may read, and where a long one saves how far it is."""

    program: Program
    receipt: Receipt
    engine: Engine
    policy: Policy
    grant: Grant
    watch: Watch
    state: JobState

    def open(self, exact: Exact[T]) -> T:
        """A true answer of the engine, which has been paid for."""
        return open_exact(exact, self.program, self.receipt)

    def save(self, state: bytes, done: float | None = None) -> None:
        """Keep how far a long job is, so that it goes on from here after a crash, and pays nothing again.

        It is on disk when this returns, and only then may anybody see anything of it: what was drawn since the last
        save is drawn anew after a crash. `done`, from 0 to 1, is shown as progress.
        """
        self.state.save(state, done)
        self.progress(done)

    def saved(self) -> bytes | None:
        """What was saved last under this receipt."""
        return self.state.load()

    def progress(self, done: float | None) -> None:
        """Tell whoever waits how far this is, from 0 to 1. A job that was stopped, here or by `tacit job stop`, ends
        now."""
        if self.state.stop_wanted:
            self.watch.stop()
        if self.watch.stopped:
            raise Stopped
        self.watch.tell(done)

    @property
    def facts(self) -> dict[str, Any]:
        """How a release was made and paid for, as plain data. `delta` is where the dataset states its promise; `whole`
        is the δ of a program that was priced as one finished mechanism."""
        receipt, privacy = self.receipt, self.policy.privacy
        whole = self.program.delta
        return {
            "dataset": self.policy.dataset.name,
            "people": receipt.people,
            "population": privacy.population,
            "analyst": receipt.analyst,
            "unit": privacy.unit,
            "relation": privacy.relation.value,
            "currency": privacy.currency.value,
            "delta": str(privacy.delta),
            "cost": self.grant.cost.json(),
            "policy": self.grant.policy,
            "program": receipt.program,
            "ledger": {"id": receipt.ledger, "entry": receipt.seq, "digest": receipt.digest.hex(), "key": receipt.key},
            "time": datetime.fromtimestamp(receipt.time / 1e6, UTC).isoformat(),
            "tables": list(self.program.tables),
            "steps": [step.json() for step in self.program.steps],
            "whole": None if whole is None else str(whole),
            "clips": [],
            "keys": {},
            "software": software(),
        }


class Job(ABC):
    """Something that can be bought. Its `program` is fixed before it reads anything, and is what is charged.

    `stops` is how often it may be stopped and asked for again under one charge: each is a free look at the clock.
    `scrubbed` says that an error of its run tells nothing and is stored as its outcome; of code that its own curator
    brought, who sees the data anyway, errors are passed on and it may run again. `saves` says that it saves how far it
    is: two of one charge do not run at once.
    """

    stops: int | None = 3
    scrubbed: bool = True
    saves: bool = False

    @property
    @abstractmethod
    def program(self) -> Program:
        """What will run."""

    @abstractmethod
    def run(self, run: Run) -> bytes:
        """Read, add noise, and give what is to be kept. Only released numbers may be in it."""

    @abstractmethod
    def show(self, kept: bytes, *, cached: bool) -> Release:
        """A release from what was kept, and from nothing else."""

    def own_data(self, policy: Policy) -> str:
        """A text that differs wherever data that the job brings itself differ, and tells nobody else anything of them:
        the same program on other data is another release. Empty where it reads tables of the policy alone."""
        del policy
        return ""

    def grant(self, policy: Policy) -> Grant | None:
        """Leave that does not depend on who asks, for what the dataset itself pays; None for everything else."""
        return None

    # --- for its quote

    @property
    def expected(self) -> tuple[Expected, ...]:
        """How large the noise will be, where that is known."""
        return ()

    @property
    def hints(self) -> tuple[Hint, ...]:
        """What declarations show of it."""
        return ()

    @property
    def notes(self) -> tuple[str, ...]:
        """What to know beside the price."""
        return ()

    @property
    def columns(self) -> tuple[tuple[str, str], ...]:
        """Names and types of the release's columns, where it is a table."""
        return ()


class OwnJob(Job):
    """A program with code of one's own: `work` is given the `Run`, and returns a table (Arrow), bytes, text, or what
    JSON holds. Whoever writes such code sees the data: it is the curator's, never an analyst's."""

    stops = None
    scrubbed = False

    def __init__(self, program: Program, work: Callable[[Run], Any], *, kind: str | None = None) -> None:
        self._program, self._work, self._kind = program, work, kind

    @property
    def program(self) -> Program:
        return self._program

    def run(self, run: Run) -> bytes:
        return release_of(self._work(run), kind=self._kind, facts=run.facts).to_bytes()

    def show(self, kept: bytes, *, cached: bool) -> Release:
        return release_from_bytes(kept, cached=cached)


class Spender(Protocol):
    """What a trade is given to buy with: a session, or anything that prices and charges as one does."""

    @property
    def policy(self) -> Policy:
        """Who is protected, and how."""
        ...

    def scan(self, table: str, columns: Collection[str] | None = None) -> Scan:
        """A table of the policy as the engine reads it, as far as whoever spends may know it."""
        ...

    def quote(self, job: Job, /) -> Quote:
        """What it would cost, and what would be left. Free."""
        ...

    def spend(self, job: Job, /, *, idempotency_key: str | None = None, watch: Watch | None = None) -> Release:
        """The release, after it is paid for."""
        ...
