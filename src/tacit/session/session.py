"""The desk: one analyst, one dataset, and the nine stages of a question in their order. The only orchestrator.

The charge is durable before anything runs; what was drawn is durable before anybody sees it. So a crash between two
stages costs at most an answer that nobody saw. Asked again under the same key, the question is answered under that
charge. A key that nobody chose follows from the question and the version of the data: where data have no version
(PostgreSQL, tables of a Spark catalog) it is another one each time, and asking again without a key pays again.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from pathlib import Path
from types import TracebackType
from typing import Any, Self, Unpack

from tacit.base import InputError, LedgerError, PolicyError, SourceError, TacitError
from tacit.desk.certificate.certificate import Certificate
from tacit.desk.clock import Clock
from tacit.desk.key import ChargeKey, charge_key
from tacit.desk.quote import Quote
from tacit.desk.release import Release
from tacit.engine import Engine, Limits, Stopped, Watch, claims_of, open_engine
from tacit.engine.check import check_units
from tacit.engine.watch import Progress
from tacit.ledger import Ledger, Receipt, Standing, StoredRelease
from tacit.ledger.charge import remaining_budget
from tacit.ledger.checkpoint import Signer
from tacit.loss import Cost
from tacit.plan.bounded import Bounded
from tacit.plan.price import Priced
from tacit.policy import Amount, Grant, Limit, Policy, load
from tacit.policy.decide import holder_of, least_price, limits_of
from tacit.sql import Catalog
from tacit.sql.constants import sql_text
from tacit.sql.hints import facts_of
from tacit.sql.noise import Released, Stored, choose_bound, release, unmeasured, with_bound
from tacit.sql.offer import Offer, Terms
from tacit.sql.plans import Plan, Plans
from tacit.sql.shown import shown

__all__ = ["Session"]

FAILED = b"failed"
UNREACHED = "cannot be reached now: nothing was charged, and nothing was looked at"
STOPS = 3  # times that a question may be stopped before it has failed: each look at the clock would be free


class Session:
    """Questions of one analyst. Thread safe as far as its engine is; close it, or use it as a context.

    `limits` are of each question, for the engine that is opened here. `progress` is told how far a query is that takes
    more than two seconds.
    """

    def __init__(
        self,
        policy: Policy | str | Path,
        analyst: str,
        *,
        ledger: Ledger | None = None,
        engine: Engine | None = None,
        limits: Limits | None = None,
        progress: Progress | None = None,
    ) -> None:
        self.path = None if isinstance(policy, Policy) else Path(policy)
        self._read = self._stamp()  # before the file is read: a change in between is seen at the next question
        self.policy = policy if isinstance(policy, Policy) else load(policy)
        self._catalog = Catalog.from_policy(self.policy)
        self._plans = Plans()
        self._claimed: dict[tuple[str, ...], str] = {}  # by tables, the version that was claimed last
        self._lent = False  # to an analyst, who is not told where data lies
        self._progress, self._stops = progress, Counter[int]()
        self.analyst = analyst
        self._own_ledger, self._own_engine = ledger is None, engine is None
        self.ledger = Ledger.open(self.policy.ledger()) if ledger is None else ledger
        try:
            if engine is not None:
                check_units(self.policy, engine)
            self.engine = open_engine(self.policy, limits=limits) if engine is None else engine
            self._account(self.policy)
        except BaseException:
            if self._own_engine and hasattr(self, "engine"):
                self.engine.close()
            if self._own_ledger:
                self.ledger.close()
            raise

    def _account(self, policy: Policy) -> None:
        """Open the account of a dataset that is new to the ledger, and claim its data. Later changes of limits are
        recorded by the curator alone, with `tacit ledger apply`; until then the smaller limit binds."""
        claims, people = claims_of(policy, self.engine), policy.dataset.identity
        if people not in self.ledger.people():
            self.ledger.apply(policy.terms(), claims)
        else:
            self.ledger.claim(people, claims)

    def _claim(self, tables: Sequence[str], version: str) -> None:
        """The same for data that is new since: nobody pays twice for one, nor reads what is another account's."""
        place = tuple(sorted(tables))
        if self._claimed.get(place) == version:
            return
        try:
            self.ledger.claim(self.policy.dataset.identity, claims_of(self.policy, self.engine, tables))
        except PolicyError:
            if not self._lent:
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

    def close(self) -> None:
        if self._own_engine:
            self.engine.close()
        if self._own_ledger:
            self.ledger.close()

    def for_analyst(self, analyst: str, catalog: Catalog) -> "Session":
        """The same desk for another analyst, to whom names mean what `catalog` says. It owns nothing to be closed.

        Only of a session that was given a `Policy`: one that reads a file would read what names mean from it again.
        """
        if self.path is not None:
            raise InputError("this session reads its policy from a file: open one with the policy itself")
        other = copy(self)
        other.analyst, other._catalog = analyst, catalog
        other._own_ledger = other._own_engine = False
        other._lent = True
        return other

    def certificate(
        self, release: Release, *, key: Signer | Path | str | None = None, sql: str | None = None
    ) -> Certificate:
        """How a release of this dataset was made, with its place in the ledger; signed with `key`, if there is one."""
        return release.certificate(ledger=self.ledger, key=key, sql=sql)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Session({self.policy.dataset.name!r}, analyst={self.analyst!r})"

    # --- the policy as it is now

    def _stamp(self) -> tuple[int, ...] | None:
        if self.path is None:
            return None
        try:
            found = self.path.stat()
        except OSError:
            return ()  # load says what is wrong
        return found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino

    def _current(self) -> tuple[Policy, Catalog]:
        """The policy as its file says now: a limit that was lowered binds the next question."""
        stamp = self._stamp()
        if self.path is not None and stamp != self._read:
            fresh = load(self.path)
            if _places(fresh) != _places(self.policy):
                raise PolicyError(
                    f"{self.path.name}: names other tables, people or another ledger than when this session was "
                    "opened: open a new one"
                )
            check_units(fresh, self.engine)
            self._account(fresh)  # its units may have changed
            self.policy, self._catalog, self._read = fresh, Catalog.from_policy(fresh), stamp
        return self.policy, self._catalog

    # --- the stages before the data

    def _planned(self, sql: Any, offer: Offer, dialect: str | None) -> tuple[Plan, Grant]:
        policy, catalog = self._current()
        least = least_price(policy, holder_of(policy, self.analyst)[1])
        plan = self._plans.plan(sql_text(sql), dialect, offer, policy, catalog, least=least)
        return plan, policy.decide(self.analyst, plan.priced.program)

    def quote(
        self,
        sql: Any,
        *,
        dialect: str | None = None,
        **terms: Unpack[Terms],
    ) -> Quote:
        """What `ask` with the same arguments would cost, the error to expect, and what would be left. Free."""
        return self.quoting(sql, dialect=dialect, **terms)()

    def quoting(
        self,
        sql: Any,
        *,
        dialect: str | None = None,
        **terms: Unpack[Terms],
    ) -> Callable[[], Quote]:
        """The same to be taken again and again, while the policy is what it is: each time with what is left then."""
        plan, grant = self._planned(sql, Offer.of(**terms), dialect)
        privacy = plan.policy.privacy
        cost = grant.amount.cost(privacy.currency, relation=privacy.relation, unit=privacy.unit)

        def quote() -> Quote:
            left, enough = self._rest(plan.policy, grant.account.limits, grant.amount)
            return plan.quote(cost, left, enough)

        return quote

    def basis(
        self,
        sql: Any,
        *,
        dialect: str | None = None,
        **terms: Unpack[Terms],
    ) -> tuple[tuple[str, ...], str]:
        """The tables that an answer would be made from, and the version of their data now."""
        plan, _ = self._planned(sql, Offer.of(**terms), dialect)
        return tuple(plan.priced.program.tables), self._version(plan.priced)

    def key(
        self,
        sql: Any,
        *,
        dialect: str | None = None,
        **terms: Unpack[Terms],
    ) -> ChargeKey:
        """The name that `ask` without a key would give its charge now. Given to `ask`, it lets a question that was cut
        off be asked again without paying again, also where the data have no version."""
        plan, grant = self._planned(sql, Offer.of(**terms), dialect)
        version = self._version(plan.priced)
        answered = self.ledger.answered(grant.account, plan.priced.program, version)
        return ChargeKey(charge_key(plan.priced, version), answered, versioned=self._version(plan.priced) == version)

    def left(self) -> Cost:
        """What this analyst may still spend: the least that any limit leaves."""
        policy, _ = self._current()
        return self._rest(policy, limits_of(policy, *holder_of(policy, self.analyst)), Amount(0))[0]

    def _rest(self, policy: Policy, limits: Sequence[Limit], amount: Amount) -> tuple[Cost, bool]:
        found = self.ledger.glance(policy.dataset.identity, [limit.holder for limit in limits])
        return remaining_budget(found, limits, amount)

    def standing(self) -> Standing:
        """Where the dataset's account stands, all holders."""
        return self.ledger.standing(self.policy.dataset.identity)

    # --- the whole way

    def ask(
        self,
        sql: Any,
        *,
        key: str | None = None,
        dialect: str | None = None,
        watch: Watch | None = None,
        **terms: Unpack[Terms],
    ) -> Release:
        """The answer, after it is paid for. The same program on the same data is answered from the store, free, also
        with another confidence, which only touches what was released.

        `key` names the charge: the same key never pays twice. Left out, it follows from the question and the version
        of the data, so that a retry after a crash is free too; data without a version (PostgreSQL, tables of a Spark
        catalog) have a new one at each look, and there a retry is free only with a key. `watch` can stop the question
        from another thread; it then ends with `Stopped`.
        """
        watch = Watch(progress=self._progress) if watch is None else watch
        offer = Offer.of(**terms)
        plan, grant = self._planned(sql, offer, dialect)
        priced, policy = plan.priced, plan.policy
        version = self._version(priced)
        self._claim(priced.program.tables, version)
        known = self.ledger.recall(grant.account, priced.program, version)
        if known is not None:
            return shown(known, plan, cached=True)
        if watch.stopped:
            raise Stopped
        name = key if key is not None else charge_key(priced, version)
        receipt = self.ledger.charge(grant.account, grant.cost, priced.program, name)
        clock = Clock.from_now(policy.privacy.deadline)
        if receipt.replayed and (kept := self.ledger.kept(receipt)) is not None:
            return shown(kept, plan, cached=True)
        with clock.telling():
            self.ledger.begin(receipt)
            kept = self._kept(priced, policy, grant, receipt, version, clock, watch)
            return shown(kept, plan, cached=False)

    def _version(self, priced: Priced) -> str:
        stale: SourceError | None = None  # says which table, and what its curator does, and no value
        try:
            return self.engine.version(priced.program.tables)
        except SourceError as error:
            stale = error
        except Exception:
            pass  # left first, so that no other error is behind this one
        if stale is not None:
            raise stale
        raise TacitError(f"the data {UNREACHED}")

    def _kept(
        self, priced: Priced, policy: Policy, grant: Grant, receipt: Receipt, version: str, clock: Clock, watch: Watch
    ) -> StoredRelease:
        """Run, and store what came of it before anybody sees it; a failure, which may depend on the data, as such."""
        try:
            found = clock.attempt(lambda: self._attempt(priced, policy, grant, receipt, watch), watch)
        except Stopped:
            self._stops[receipt.seq] += 1
            if self._stops[receipt.seq] >= STOPS:
                self._keep(receipt, FAILED, version, "failure")
            raise
        if found is None:
            return self._keep(receipt, FAILED, version, "failure")
        data, after = found
        # data that changed on the way belong to neither version: the charge finds the answer, another question does not
        return self._keep(receipt, data, version if after == version else f"{version} {after}", "answer")

    def _keep(self, receipt: Receipt, data: bytes, version: str, kind: str) -> StoredRelease:
        try:
            return self.ledger.keep(receipt, data, version=version, kind=kind)
        except LedgerError:
            pass
        raise LedgerError(
            "the answer could not be stored, so it is not shown; the charge stands: ask again with "
            f"key={receipt.key!r}, which does not pay twice"
        )

    def _version_after(self, priced: Priced) -> str:
        try:
            return self.engine.version(priced.program.tables)
        except Exception:
            return "unknown"

    def _attempt(
        self, priced: Priced, policy: Policy, grant: Grant, receipt: Receipt, watch: Watch
    ) -> tuple[bytes, str] | None:
        """Stages 7 and 8 as bytes, and the version of the data after them; None if anything at all goes wrong. Errors
        end here: they may hold data."""
        try:
            parts, bounds = [], {}
            for number, part in enumerate(priced.planned.parts):
                bounds[number] = self._filled(priced, number, part, receipt, watch)
                parts.append(self._part(priced, number, bounds[number], receipt, watch))
            facts = facts_of(priced, policy, grant, receipt, bounds)
            return Stored(parts=tuple(parts), facts=facts).to_bytes(), self._version_after(priced)
        except Exception:
            return None

    def _part(self, priced: Priced, number: int, bounded: Bounded, receipt: Receipt, watch: Watch) -> Released:
        empty = unmeasured(bounded)
        if empty is not None:
            return empty
        return release(priced, number, bounded, self.engine.run(bounded, watch), receipt)

    def _filled(self, priced: Priced, number: int, part: Bounded, receipt: Receipt, watch: Watch) -> Bounded:
        """The part with every bound that was left open chosen, by its own paid step."""
        filled = part
        for place, task in enumerate(priced.tasks):
            if task.kind == "choose" and task.part == number and task.clip is not None:
                units = self.engine.norms(part, task.clip, part.clips[task.clip].edges, watch)
                filled = with_bound(filled, task.clip, choose_bound(priced, place, part, units, receipt))
        return filled


def _places(policy: Policy) -> Mapping[str, Any]:
    """What a session opens, and so cannot change under it."""
    tables = {name: policy.where(name) for name in policy.tables}
    dataset = policy.dataset
    return {"people": dataset.identity, "engine": dataset.engine, "ledger": policy.ledger(), "tables": tables}
