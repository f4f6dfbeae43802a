"""What a Python user holds: one analyst, one dataset. It plans, and the desk does the rest.

A policy that was given as a file is read again when the file changes: a limit that was lowered binds the next job.
"""

from collections.abc import Callable, Collection, Sequence
from contextlib import nullcontext
from copy import copy
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, Unpack, overload

from tacit.base import InputError, PolicyError
from tacit.base.bar import progress_bar
from tacit.base.former import former_names
from tacit.desk import Desk, IdempotencyKey, Job, OwnJob, Quote, Release, Run, TableRelease
from tacit.desk.certificate.certificate import Certificate
from tacit.engine import Engine, Limits, Watch, open_engine
from tacit.engine.connect import check_units
from tacit.engine.watch import Progress
from tacit.ledger import Ledger, Standing
from tacit.ledger.charge import remaining_budget
from tacit.ledger.checkpoint import Signer
from tacit.loss import Cost
from tacit.plan.node import Scan
from tacit.policy import Amount, Grant, Limit, Policy
from tacit.policy.decide import holder_of, least_price, limits_of
from tacit.policy.read import PolicyFile
from tacit.program import Program
from tacit.sql import Catalog
from tacit.sql.explain import Explanation, explain
from tacit.sql.job import Plans, Query
from tacit.sql.offer import Offer, OfferTerms
from tacit.sql.parse import sql_text
from tacit.sql.profile import ProfileJob, profile_jobs, profiles_in

if TYPE_CHECKING:
    from tacit.census import Census, CensusTerms, Spine
    from tacit.synth import FamilyPlan, Synthesis
    from tacit.synth.face import FamilyTerms, SynthesisTerms

__all__ = ["Session"]

REMEMBERED = 1000  # jobs whose grants are


class Session:
    """Questions of one analyst. Thread safe as far as its engine is; close it, or use it as a context.

    `limits` are of each question, for the engine that is opened here. `progress` is told how far a job is that takes
    more than two seconds; True shows a bar on standard error, where that is a terminal.
    """

    def __init__(
        self,
        policy: Policy | str | Path,
        analyst: str,
        *,
        ledger: Ledger | None = None,
        engine: Engine | None = None,
        limits: Limits | None = None,
        progress: Progress | bool = False,
    ) -> None:
        self._file: PolicyFile | None = None
        if not isinstance(policy, Policy):
            self._file = PolicyFile.read(Path(policy))
            policy = self._file.policy
        self.policy = policy
        self._catalog = Catalog.from_policy(self.policy)
        self._profile_jobs = profile_jobs(self.policy, self._catalog)
        self._plans = Plans()
        self._progress = progress
        self._grants: dict[int, tuple[Job, Policy, Grant]] = {}  # of the newest jobs
        self.analyst = analyst
        self._own_ledger, self._own_engine = ledger is None, engine is None
        self.ledger = Ledger.open(self.policy.ledger()) if ledger is None else ledger
        try:
            if engine is not None:
                check_units(self.policy, engine)
            self.engine = open_engine(self.policy, limits=limits) if engine is None else engine
            self.desk = Desk(self.ledger, self.engine)
            self.desk.open_account(self.policy)
        except BaseException:
            if self._own_engine and hasattr(self, "engine"):
                self.engine.close()
            if self._own_ledger:
                self.ledger.close()
            raise

    def close(self) -> None:
        if self._own_engine:
            self.engine.close()
        if self._own_ledger:
            self.ledger.close()

    def for_analyst(self, analyst: str, catalog: Catalog) -> "Session":
        """The same desk for another analyst, to whom names mean what `catalog` says. It owns nothing to be closed.

        Only of a session that was given a `Policy`: one that reads a file would read what names mean from it again.
        """
        if self._file is not None:
            raise InputError("this session reads its policy from a file: open one with the policy itself")
        other = copy(self)
        other.analyst, other._catalog, other._grants = analyst, catalog, {}
        other._own_ledger = other._own_engine = False
        other.desk = self.desk.for_analysts()
        return other

    @former_names(key="signing_key")
    def certificate(
        self, release: Release, *, signing_key: Signer | Path | str | None = None, sql: str | None = None
    ) -> Certificate:
        """How a release of this dataset was made, with its place in the ledger; signed, if there is a key."""
        return release.certificate(ledger=self.ledger, signing_key=signing_key, sql=sql)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Session({self.policy.dataset.name!r}, analyst={self.analyst!r})"

    # --- the policy as it is now

    def _current(self) -> tuple[Policy, Catalog]:
        """The policy as its file says now: a limit that was lowered binds the next question."""
        if self._file is not None and self._file.changed():
            fresh = PolicyFile.read(self._file.path)
            if fresh.places != self._file.places:
                raise PolicyError(
                    f"{fresh.path.name}: names other tables, people or another ledger than when this session was "
                    "opened: open a new one"
                )
            check_units(fresh.policy, self.engine)
            self.desk.open_account(fresh.policy)  # its units may have changed
            self.policy, self._catalog, self._file = fresh.policy, Catalog.from_policy(fresh.policy), fresh
            self._profile_jobs = profile_jobs(self.policy, self._catalog)
        return self.policy, self._catalog

    def scan(self, table: str, columns: Collection[str] | None = None) -> Scan:
        """A table as `Run.engine.rows` reads it, for code of the curator's own: declared columns, clamped and typed."""
        return self._current()[1].scan(table, columns)

    # --- jobs

    def job(self, sql: Any, *, dialect: str | None = None, **terms: Unpack[OfferTerms]) -> Query:
        """A question as a job: planned and priced, to be quoted and spent. Nothing is looked at."""
        return self._query(sql_text(sql), dialect, Offer.of(**terms))

    def _query(self, sql: str, dialect: str | None, offer: Offer) -> Query:
        policy, catalog = self._current()
        least = least_price(policy, holder_of(policy, self.analyst)[1])
        profiles = profiles_in(self.ledger, self._profile_jobs) if self._profile_jobs else {}
        return self._plans.plan(sql, dialect, offer, policy, catalog, least=least, profiles=profiles)

    def profile_job(self, table: str) -> ProfileJob:
        """The profile of a table, to be quoted and spent. It is the curator's, and the dataset's budget pays."""
        self._current()
        return self._profile_jobs.get(table) or ProfileJob(self.policy, self._catalog, table)

    def profile(self, table: str, *, watch: Watch | None = None) -> TableRelease:
        """Make the profile of a table that declares what one may cost: how many units have how many rows, and sums how
        large, with noise. Of the same data it is made once. Questions about the table then use it."""
        found = self.spend(self.profile_job(table), watch=watch)
        assert isinstance(found, TableRelease)
        return found

    def census(self, table: str, spine: "Spine", **terms: "Unpack[CensusTerms]") -> "Census":
        """Consistent tables of every place of a geography, to be quoted and released. Nothing is looked at yet.

        `queries` are sums of the cells with their weights ("total", "age*sex", "detail", which is all columns), the
        same at each level or by level; `levels` are the levels' own weights. `rho`, or `epsilon` with `delta`, is what
        it may cost. `invariants` are held exactly and are not protected. `zeros` are combinations that nobody can have,
        `recodes` coarser forms of columns, and `columns` more of them than queries name.
        """
        from tacit.census import plan_census

        self._current()
        return plan_census(self, table, spine, **terms)

    def _decided(self, job: Job) -> tuple[Job, Policy, Grant]:
        """The job under the policy as it is now, and leave to run it; decided once for each job."""
        policy, _ = self._current()
        if isinstance(job, Query) and job.policy is not policy:
            job = self._query(job.sql, job.dialect, job.offer)
        known = self._grants.get(id(job))
        if known is None or known[0] is not job or known[1] is not policy:
            if len(self._grants) >= REMEMBERED:
                self._grants.clear()
            grant = job.grant(policy) or policy.decide(self.analyst, job.program)
            known = self._grants[id(job)] = (job, policy, grant)
        return known

    def explain(self, sql: Any, *, dialect: str | None = None) -> Explanation:
        """How a question would be understood: units, joins, clips, keys, and what is done after the release. Free, and
        nothing has to be offered."""
        policy, catalog = self._current()
        profiles = profiles_in(self.ledger, self._profile_jobs) if self._profile_jobs else {}
        return explain(sql_text(sql), dialect, policy, catalog, profiles)

    @overload
    def quote(self, what: Job) -> Quote: ...

    @overload
    def quote(self, what: Any, *, dialect: str | None = None, **terms: Unpack[OfferTerms]) -> Quote: ...

    def quote(self, what: Any, *, dialect: str | None = None, **terms: Unpack[OfferTerms]) -> Quote:
        """What a job, or `ask` with the same arguments, would cost, the error to expect, and what would be left. Free,
        and nothing is looked at."""
        job = what if isinstance(what, Job) else self.job(what, dialect=dialect, **terms)
        job, policy, grant = self._decided(job)
        privacy = policy.privacy
        left, enough = self._rest(policy, grant.account.limits, grant.amount)
        return Quote(
            cost=grant.amount.cost(privacy.currency, relation=privacy.relation, unit=privacy.unit),
            expected=job.expected,
            left=left,
            enough=enough,
            notes=job.notes,
            columns=job.columns,
            hints=job.hints,
        )

    @overload
    def idempotency_key(self, what: Job) -> IdempotencyKey: ...

    @overload
    def idempotency_key(
        self, what: Any, *, dialect: str | None = None, **terms: Unpack[OfferTerms]
    ) -> IdempotencyKey: ...

    def idempotency_key(self, what: Any, *, dialect: str | None = None, **terms: Unpack[OfferTerms]) -> IdempotencyKey:
        """The key that the charge would have if none is given. Given, it lets a job that was cut off be asked for
        again without paying again, also where the data have no version."""
        job, _, grant = self._decided(what if isinstance(what, Job) else self.job(what, dialect=dialect, **terms))
        return self.desk.idempotency_key(job.program, grant, own=job.own_data(self.policy))

    @overload
    def spend(self, what: Query, *, idempotency_key: str | None = None, watch: Watch | None = None) -> TableRelease: ...

    @overload
    def spend(self, what: Job, *, idempotency_key: str | None = None, watch: Watch | None = None) -> Release: ...

    @overload
    def spend(
        self,
        what: Program,
        run: Callable[[Run], Any],
        *,
        kind: str | None = None,
        idempotency_key: str | None = None,
        watch: Watch | None = None,
    ) -> Release: ...

    @former_names(key="idempotency_key")
    def spend(
        self,
        what: Job | Program,
        run: Callable[[Run], Any] | None = None,
        *,
        kind: str | None = None,
        idempotency_key: str | None = None,
        watch: Watch | None = None,
    ) -> Release:
        """The release of a job, after it is paid for. Jobs come from `job`, from a trade, or are a program with code of
        one's own, which reads through the `Run` that it is given and returns what is to be released.

        Such code sees the data: it is the curator's, never an analyst's, and no service takes any. It cannot run
        without a receipt, and what it returns is kept before it is shown.
        """
        if isinstance(what, Program):
            if run is None:
                raise InputError("a program runs by code: spend(program, run), or session.job(sql) for a question")
            what = OwnJob(what, run, kind=kind)
        job, policy, grant = self._decided(what)
        with progress_bar("asking") if self._progress is True else nullcontext(self._progress or None) as tell:
            return self.desk.spend(job, policy, grant, key=idempotency_key, watch=watch or Watch(progress=tell))

    @former_names(key="idempotency_key")
    def ask(
        self,
        sql: Any,
        *,
        idempotency_key: str | None = None,
        dialect: str | None = None,
        watch: Watch | None = None,
        **terms: Unpack[OfferTerms],
    ) -> TableRelease:
        """The answer, after it is paid for. The same program on the same data is answered from the store, free, also
        with another confidence, which only touches what was released.

        `idempotency_key` names the charge: the same key never pays twice. Left out, it follows from the question and
        the version of the data, so that a retry after a crash is free too; data without a version (PostgreSQL, tables
        of a Spark catalog) have a new one at each look, and there a retry is free only with a key. `watch` can stop the
        question from another thread; it then ends with `Stopped`.
        """
        return self.spend(self.job(sql, dialect=dialect, **terms), idempotency_key=idempotency_key, watch=watch)

    def synthesise(self, table: str, **terms: Unpack["SynthesisTerms"]) -> "Synthesis":
        """A plan for a synthetic table: `quote` is free, `release` charges once; rows are then drawn for nothing.

        `pairs` are the sets of columns it is to be right about, all pairs if left out. `rows` is a public number of
        units; else it is measured. `bins`, `edges` and `private_edges` say how numbers and dates are divided,
        `impossible` and `follows` what cannot be. `delta` pays for finding the values of texts that nobody listed.
        """
        from tacit.synth.face import plan_table

        self._current()
        return plan_table(self, table, **terms)

    def synthesise_family(self, parents: str, children: str, **terms: Unpack["FamilyTerms"]) -> "FamilyPlan":
        """A plan for two related tables, such as patients and their visits: each parent is a unit with one row, of
        whose children at most `most` count. Children follow their parent's columns `given`; drawn keys match."""
        from tacit.synth.face import plan_family

        self._current()
        return plan_family(self, parents, children, **terms)

    # --- what was spent

    def left(self) -> Cost:
        """What this analyst may still spend: the least that any limit leaves."""
        policy, _ = self._current()
        return self._rest(policy, limits_of(policy, *holder_of(policy, self.analyst)), Amount(0))[0]

    def _rest(self, policy: Policy, limits: Sequence[Limit], amount: Amount) -> tuple[Cost, bool]:
        found = self.ledger.glance(policy.dataset.identity, [limit.holder for limit in limits])
        return remaining_budget(found, limits, amount)

    def left_for_curator(self) -> Cost:
        """What the whole dataset may still spend, on releases of its own."""
        policy, _ = self._current()
        return self._rest(policy, policy.terms().limits[:1], Amount(0))[0]

    def standing(self) -> Standing:
        """Where the dataset's account stands, all holders."""
        return self.ledger.standing(self.policy.dataset.identity)
