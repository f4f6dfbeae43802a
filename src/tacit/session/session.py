"""The desk: one analyst, one dataset, and the nine stages of a question in their order. The only orchestrator.

The charge is durable before anything runs; what was drawn is durable before anybody sees it. So a crash between two
stages costs at most an answer that nobody saw, and asking again does not pay again.
"""

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import replace
from fractions import Fraction
from hashlib import sha256
from math import ceil
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from tacit.base import EngineError, InputError, LedgerError, Number, PolicyError, TacitError
from tacit.engine import Engine, open_engine
from tacit.engine.engine import Progress
from tacit.ledger import Kept, Ledger, Receipt, Standing
from tacit.ledger.checkpoint import Signer
from tacit.loss import Cost
from tacit.noise import Rng
from tacit.plan.bounded import LARGEST, Bounded, Clip
from tacit.plan.price import Priced
from tacit.policy import Amount, Grant, Limit, Policy, load
from tacit.session.answer import Release
from tacit.session.assemble import assemble
from tacit.session.certificate import Certificate
from tacit.session.notes import facts_of, notes_of
from tacit.session.offer import CONFIDENCE, Offer
from tacit.session.plans import Plan, Plans
from tacit.session.quote import Quote
from tacit.session.release import Released, choose_bound, release, unmeasured
from tacit.session.rest import binding, rest
from tacit.session.stored import Stored
from tacit.sql import Catalog
from tacit.sql.text import sql_text

__all__ = ["Session"]

FAILED = b"failed"


class Session:
    """Questions of one analyst. Thread safe as far as its engine is; close it, or use it as a context.

    `progress` is told how far a query is that takes more than two seconds.
    """

    def __init__(
        self,
        policy: Policy | str | Path,
        analyst: str,
        *,
        ledger: Ledger | None = None,
        engine: Engine | None = None,
        progress: Progress | None = None,
    ) -> None:
        self.path = None if isinstance(policy, Policy) else Path(policy)
        self._read = self._stamp()  # before the file is read: a change in between is seen at the next question
        self.policy = policy if isinstance(policy, Policy) else load(policy)
        self._catalog = Catalog.from_policy(self.policy)
        self._plans = Plans()
        self.analyst = analyst
        self._own_ledger, self._own_engine = ledger is None, engine is None
        self.ledger = Ledger.open(self.policy.ledger()) if ledger is None else ledger
        try:
            self._account()
            self.engine = open_engine(self.policy, progress=progress) if engine is None else engine
        except BaseException:
            if self._own_ledger:
                self.ledger.close()
            raise

    def _account(self) -> None:
        """Open the account of a dataset that is new to the ledger. Later changes of limits are recorded by the curator
        alone, with `tacit ledger apply`; until then the smaller limit binds."""
        if self.policy.dataset.identity not in self.ledger.people():
            self.ledger.apply(self.policy.terms())

    def close(self) -> None:
        if self._own_engine:
            self.engine.close()
        if self._own_ledger:
            self.ledger.close()

    def for_analyst(self, analyst: str, catalog: Catalog, engine: Engine) -> "Session":
        """The same desk for another analyst, to whom names mean what `catalog` says. It owns nothing to be closed.

        Only of a session that was given a `Policy`: one that reads a file would read what names mean from it again.
        """
        if self.path is not None:
            raise InputError("this session reads its policy from a file: open one with the policy itself")
        other = copy(self)
        other.analyst, other._catalog, other.engine = analyst, catalog, engine
        other._own_ledger = other._own_engine = False
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
            self.policy, self._catalog, self._read = fresh, Catalog.from_policy(fresh), stamp
        return self.policy, self._catalog

    # --- the stages before the data

    def _planned(self, sql: Any, offer: Offer, dialect: str | None) -> tuple[Plan, Grant]:
        policy, catalog = self._current()
        plan = self._plans.plan(sql_text(sql), dialect, offer, policy, catalog)
        return plan, policy.decide(self.analyst, plan.priced.program)

    def quote(
        self,
        sql: Any,
        *,
        epsilon: Number | None = None,
        rho: Number | None = None,
        error: Number | None = None,
        confidence: Number = CONFIDENCE,
        dialect: str | None = None,
    ) -> Quote:
        """What `ask` with the same arguments would cost, the error to expect, and what would be left. Free."""
        return self.quoting(sql, epsilon=epsilon, rho=rho, error=error, confidence=confidence, dialect=dialect)()

    def quoting(
        self,
        sql: Any,
        *,
        epsilon: Number | None = None,
        rho: Number | None = None,
        error: Number | None = None,
        confidence: Number = CONFIDENCE,
        dialect: str | None = None,
    ) -> Callable[[], Quote]:
        """The same to be taken again and again, while the policy is what it is: each time with what is left then."""
        plan, grant = self._planned(sql, Offer.of(epsilon, rho, error, confidence), dialect)
        privacy = plan.policy.privacy
        cost = grant.amount.cost(privacy.currency, relation=privacy.relation, unit=privacy.unit)

        def quote() -> Quote:
            left, enough = self._rest(plan.policy, grant.account.limits, grant.amount)
            return Quote(
                cost=cost, expected=plan.expected, left=left, enough=enough, notes=plan.notes, priced=plan.priced
            )

        return quote

    def basis(
        self,
        sql: Any,
        *,
        epsilon: Number | None = None,
        rho: Number | None = None,
        error: Number | None = None,
        confidence: Number = CONFIDENCE,
        dialect: str | None = None,
    ) -> tuple[tuple[str, ...], str]:
        """The tables that an answer would be made from, and the version of their data now."""
        plan, _ = self._planned(sql, Offer.of(epsilon, rho, error, confidence), dialect)
        return tuple(plan.priced.program.tables), self._version(plan.priced)

    def left(self) -> Cost:
        """What this analyst may still spend: the least that any limit leaves."""
        policy, _ = self._current()
        return self._rest(policy, binding(policy, self.analyst), Amount(0))[0]

    def _rest(self, policy: Policy, limits: Sequence[Limit], amount: Amount) -> tuple[Cost, bool]:
        found = self.ledger.glance(policy.dataset.identity, [limit.holder for limit in limits])
        return rest(found, limits, amount)

    def standing(self) -> Standing:
        """Where the dataset's account stands, all holders."""
        return self.ledger.standing(self.policy.dataset.identity)

    # --- the whole way

    def ask(
        self,
        sql: Any,
        *,
        epsilon: Number | None = None,
        rho: Number | None = None,
        error: Number | None = None,
        confidence: Number = CONFIDENCE,
        key: str | None = None,
        dialect: str | None = None,
        rng: Rng | None = None,
    ) -> Release:
        """The answer, after it is paid for. The same program on the same data is answered from the store, free, also
        with another confidence, which only touches what was released.

        `key` names the charge: the same key never pays twice. Left out, it follows from the question and the version
        of the data, so that a retry after a crash is free too. `rng` is for tests.
        """
        offer = Offer.of(epsilon, rho, error, confidence)
        plan, grant = self._planned(sql, offer, dialect)
        priced, policy = plan.priced, plan.policy
        version = self._version(priced)
        known = self.ledger.recall(grant.account, priced.program, version)
        if known is not None:
            return _shown(known, priced, policy, offer.confidence, cached=True)
        name = key if key is not None else _key(priced, version)
        receipt = self.ledger.charge(grant.account, grant.cost, priced.program, name)
        if receipt.replayed and (kept := self.ledger.kept(receipt)) is not None:
            return _shown(kept, priced, policy, offer.confidence, cached=True)
        self.ledger.begin(receipt)
        kept = self._kept(priced, policy, grant, receipt, version, rng)
        return _shown(kept, priced, policy, offer.confidence, cached=False)

    def _version(self, priced: Priced) -> str:
        try:
            return self.engine.version(priced.program.tables)
        except Exception:
            pass  # left first, so that no other error is behind this one
        raise TacitError("the data cannot be reached now: nothing was charged, and nothing was looked at")

    def _kept(
        self, priced: Priced, policy: Policy, grant: Grant, receipt: Receipt, version: str, rng: Rng | None
    ) -> Kept:
        """Run, and store what came of it before anybody sees it; a failure, which may depend on the data, as such."""
        found = self._attempt(priced, policy, grant, receipt, rng)
        kind, data = ("failure", FAILED) if found is None else ("answer", found)
        after = version if found is None else self._version_after(priced)
        # data that changed on the way belong to neither version: the charge finds the answer, another question does not
        state = version if after == version else f"{version} {after}"
        try:
            return self.ledger.keep(receipt, data, version=state, kind=kind)
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

    def _attempt(self, priced: Priced, policy: Policy, grant: Grant, receipt: Receipt, rng: Rng | None) -> bytes | None:
        """Stages 7 and 8 as bytes; None if anything at all goes wrong. Errors end here: they may hold data."""
        try:
            parts, bounds = [], {}
            for number, part in enumerate(priced.planned.parts):
                bounds[number] = self._filled(priced, number, part, receipt, rng)
                parts.append(self._part(priced, number, bounds[number], receipt, rng))
            facts = facts_of(priced, policy, grant, receipt, bounds)
            return Stored(parts=tuple(parts), facts=facts).to_bytes()
        except Exception:
            return None

    def _part(self, priced: Priced, number: int, bounded: Bounded, receipt: Receipt, rng: Rng | None) -> Released:
        empty = unmeasured(bounded)
        if empty is not None:
            return empty
        return release(priced, number, bounded, self.engine.run(bounded), receipt, rng)

    def _filled(self, priced: Priced, number: int, part: Bounded, receipt: Receipt, rng: Rng | None) -> Bounded:
        """The part with every bound that was left open chosen, by its own paid step."""
        clips = list(part.clips)
        for place, task in enumerate(priced.tasks):
            if task.kind == "choose" and task.part == number and task.clip is not None:
                clip = clips[task.clip]
                units = self.engine.norms(part, task.clip, clip.edges)
                chosen = choose_bound(priced, place, part, units, receipt, rng)
                clips[task.clip] = replace(clip, bound=Fraction(chosen))
                if clip.by_rows:
                    clips = [_in_rows(other, chosen / clip.row) for other in clips]
        return replace(part, clips=tuple(clips))


def _in_rows(clip: Clip, rows: Fraction) -> Clip:
    """A clip that goes by rows, bounded to so many, if it has no bound yet."""
    if not clip.by_rows or clip.bound is not None:
        return clip
    return replace(clip, bound=min(Fraction(LARGEST), Fraction(ceil(rows * clip.row))))


def _shown(kept: Kept, priced: Priced, policy: Policy, confidence: float, *, cached: bool) -> Release:
    """Stage 9, on what is stored: the same way for a new answer and an old one."""
    if kept.kind == "failure":
        raise EngineError
    try:
        stored = Stored.from_bytes(kept.release)
        answer = assemble(priced, stored.parts, confidence=confidence)
        return Release(
            table=answer.table,
            intervals=answer.intervals,
            confidence=confidence,
            notes=notes_of(priced, policy, stored.parts),
            facts=stored.facts,
            cached=cached,
        )
    except Exception:
        pass
    raise EngineError


def _key(priced: Priced, version: str) -> str:
    """The name of a charge that was given none: the same question about the same data has the same."""
    return sha256(f"{priced.program.hash} {version}".encode()).hexdigest()[:40]


def _places(policy: Policy) -> Mapping[str, Any]:
    """What a session opens, and so cannot change under it."""
    tables = {name: policy.where(name) for name in policy.tables}
    dataset = policy.dataset
    return {"people": dataset.identity, "engine": dataset.engine, "ledger": policy.ledger(), "tables": tables}
