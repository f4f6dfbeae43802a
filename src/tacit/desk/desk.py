"""The desk: the only orchestrator. Decide, recall, charge, begin, run, keep, show, in this order for every trade.

The charge is durable before anything runs; what was drawn is durable before anybody sees it. So a crash between two
stages costs at most a release that nobody saw. Asked for again under the same key, a job runs under that charge. A key
that nobody chose follows from the program and the version of the data: where data have no version (PostgreSQL, tables
of a Spark catalog) it is another one each time, and asking again without a key pays again.
"""

from collections import Counter
from collections.abc import Sequence
from hashlib import sha256
from typing import NamedTuple

from tacit.base import EngineError, LedgerError, PolicyError, SourceError, TacitError
from tacit.desk.clock import Clock
from tacit.desk.job import Job, Run
from tacit.desk.release import Release
from tacit.desk.state import JobState, jobs_folder
from tacit.engine import Engine, Stopped, Watch, claims_of
from tacit.ledger import Ledger, Receipt, StoredRelease
from tacit.policy import Grant, Policy
from tacit.program import Program

__all__ = ["Desk", "IdempotencyKey"]

FAILED = b"failed"
UNREACHED = "cannot be reached now: nothing was charged, and nothing was looked at"


class IdempotencyKey(NamedTuple):
    """What a charge is called; whether its job has a release in the store, so that asking for it is free; and whether
    the data have a version, without which the name is another one at each look."""

    name: str
    answered: bool
    versioned: bool


class Desk:
    """A ledger and an engine, and everything that is bought of them. `lent` is to analysts, who are not told where
    data lies. Thread safe as far as its engine is."""

    def __init__(self, ledger: Ledger, engine: Engine, *, lent: bool = False) -> None:
        self.ledger, self.engine, self.lent = ledger, engine, lent
        self._claimed: dict[tuple[str, ...], str] = {}  # by tables, the version that was claimed last
        self._stops = Counter[int]()

    def for_analysts(self) -> "Desk":
        """The same desk, of which whoever asks is told no places."""
        other = Desk(self.ledger, self.engine, lent=True)
        other._claimed, other._stops = self._claimed, self._stops
        return other

    def open_account(self, policy: Policy) -> None:
        """Open the account of a dataset that is new to the ledger, and claim its data. Later changes of limits are
        recorded by the curator alone, with `tacit ledger apply`; until then the smaller limit binds."""
        claims, people = claims_of(policy, self.engine), policy.dataset.identity
        if people not in self.ledger.people():
            self.ledger.apply(policy.terms(), claims)
        else:
            self.ledger.claim(people, claims)

    # --- before the charge

    def version(self, program: Program) -> str:
        """A text that differs whenever the data that a program reads may have changed."""
        stale: SourceError | None = None  # says which table, and what its curator does, and no value
        try:
            return self.engine.version(program.tables)
        except SourceError as error:
            stale = error
        except Exception:
            pass  # left first, so that no other error is behind this one
        if stale is not None:
            raise stale
        raise TacitError(f"the data {UNREACHED}")

    def idempotency_key(self, program: Program, grant: Grant, *, own: str = "") -> IdempotencyKey:
        """The name that a charge without a key would have now; `own` says which data a job brings itself."""
        tables = self.version(program)
        version = _version(tables, own)
        answered = self.ledger.answered(grant.account, program, version)
        return IdempotencyKey(_key(program, version), answered, versioned=self.version(program) == tables)

    def _claim(self, policy: Policy, tables: Sequence[str], version: str) -> None:
        """Claim data that is new since: nobody pays twice for one, nor reads what is another account's."""
        place = tuple(sorted(tables))
        if self._claimed.get(place) == version:
            return
        try:
            self.ledger.claim(policy.dataset.identity, claims_of(policy, self.engine, tables))
        except PolicyError:
            if not self.lent:
                raise
            problem = "is another account's in the ledger now: nothing was charged; its curator can put that right"
        except LedgerError:
            raise
        except Exception:
            problem = UNREACHED
        else:
            self._claimed[place] = version
            return
        raise TacitError(f"the data {problem}")

    # --- the whole way

    def spend(self, job: Job, policy: Policy, grant: Grant, *, key: str | None, watch: Watch) -> Release:
        """The release of a job, after it is paid for; see the head of this file for what is durable when."""
        program, own = job.program, job.own_data(policy)
        tables = self.version(program)
        self._claim(policy, program.tables, tables)
        version = _version(tables, own)
        known = self.ledger.recall(grant.account, program, version)
        if known is not None:
            return _shown(job, known, cached=True)
        if watch.stopped:
            raise Stopped
        name = key if key is not None else _key(program, version)
        receipt = self.ledger.charge(grant.account, grant.cost, program, name)
        clock = Clock.from_now(policy.privacy.deadline)
        if receipt.replayed and (kept := self.ledger.kept(receipt)) is not None:
            return _shown(job, kept, cached=True)
        steps = ", ".join(dict.fromkeys(step.name for step in program.steps))
        state = JobState(jobs_folder(policy), receipt, steps)
        run = Run(
            program=program, receipt=receipt, engine=self.engine, policy=policy, grant=grant, watch=watch, state=state
        )
        try:
            if job.saves:
                state.hold()  # else whoever comes second would find a failure of its own, which is stored
            with clock.telling():
                self.ledger.begin(receipt)
                kept = self._kept(job, run, version, own, clock)
                state.forget()
                return _shown(job, kept, cached=False)
        finally:
            state.let_go()

    def _kept(self, job: Job, run: Run, version: str, brought: str, clock: Clock) -> StoredRelease:
        """Run, and store what came of it before anybody sees it; a failure, which may depend on the data, as such."""
        own: list[Exception] = []  # of a curator's own code, which may go back to it

        def attempt() -> tuple[bytes, str] | None:
            try:
                return job.run(run), _version(self._version_after(run.program), brought)
            except Exception as error:
                if not job.scrubbed:
                    own.append(error)
                return None

        try:
            found = clock.attempt(attempt, run.watch)
        except Stopped:
            self._stops[run.receipt.seq] += 1
            if job.stops is not None and self._stops[run.receipt.seq] >= job.stops:
                self._keep(run.receipt, FAILED, version, "failure")
            raise
        if own:
            raise own[0]
        if found is None:
            return self._keep(run.receipt, FAILED, version, "failure")
        data, after = found
        # data that changed on the way belong to neither version: the charge finds the answer, another question does not
        return self._keep(run.receipt, data, version if after == version else f"{version} {after}", "answer")

    def _keep(self, receipt: Receipt, data: bytes, version: str, kind: str) -> StoredRelease:
        try:
            return self.ledger.keep(receipt, data, version=version, kind=kind)
        except LedgerError:
            pass
        raise LedgerError(
            "the answer could not be stored, so it is not shown; the charge stands: ask again with "
            f"idempotency_key={receipt.key!r}, which does not pay twice"
        )

    def _version_after(self, program: Program) -> str:
        try:
            return self.engine.version(program.tables)
        except Exception:
            return "unknown"


def _version(tables: str, own: str) -> str:
    """Of tables, and of what a job brought itself."""
    return tables if not own else sha256(f"{tables} {own}".encode()).hexdigest()


def _key(program: Program, version: str) -> str:
    """The name of a charge that was given none: the same program about the same data has the same."""
    return sha256(f"{program.hash} {version}".encode()).hexdigest()[:40]


def _shown(job: Job, kept: StoredRelease, *, cached: bool) -> Release:
    """What was kept, as a release; an `EngineError` for a failure, and for anything that goes wrong here."""
    if kept.kind == "failure":
        raise EngineError
    try:
        return job.show(kept.release, cached=cached)
    except Exception:
        pass
    raise EngineError
