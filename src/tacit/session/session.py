"""The desk: one analyst, one dataset, and the nine stages of a question in their order. The only orchestrator."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from tacit.base import EngineError, InputError, Number, OverBudget, Refused, between, positive
from tacit.engine import Engine, open_engine
from tacit.ledger import Ledger, Receipt, Standing
from tacit.loss import Cost
from tacit.noise import Rng, SecureRng
from tacit.plan.bounded import LARGEST, Bounded, Clip
from tacit.plan.price import Budget, Priced, price, rho_of
from tacit.plan.question import Question
from tacit.policy import Currency, Grant, Policy, load
from tacit.session.answer import Release
from tacit.session.assemble import assemble
from tacit.session.contribution import contribution_of
from tacit.session.expect import Expected, expected
from tacit.session.notes import facts_of, notes_of
from tacit.session.release import Released, choose_bound, release
from tacit.sql import Catalog, lower, parse

__all__ = ["Quote", "Session"]

CONFIDENCE = 0.95
FAILED = b"failed"


@dataclass(frozen=True, kw_only=True)
class Quote:
    """What a question would cost, and how well it would be answered. Free, and nothing is looked at."""

    cost: Cost
    expected: tuple[Expected, ...]
    left: Cost
    enough: bool
    notes: tuple[str, ...]
    priced: Priced

    def json(self) -> dict[str, Any]:
        return {
            "cost": self.cost.json(),
            "left": self.left.json(),
            "enough": self.enough,
            "expected": [{"column": e.column, "error": e.error, "words": e.words} for e in self.expected],
            "notes": list(self.notes),
        }


class Session:
    """Questions of one analyst. Thread safe as far as its engine is; close it, or use it as a context."""

    def __init__(
        self, policy: Policy | str | Path, analyst: str, *, ledger: Ledger | None = None, engine: Engine | None = None
    ) -> None:
        self.path = None if isinstance(policy, Policy) else Path(policy)
        self.policy = policy if isinstance(policy, Policy) else load(policy)
        self.analyst = analyst
        self._read = self._stamp()
        self._own_ledger, self._own_engine = ledger is None, engine is None
        self.ledger = Ledger.open(self.policy.ledger()) if ledger is None else ledger
        try:
            self._account()
            self.engine = open_engine(self.policy) if engine is None else engine
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

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _stamp(self) -> tuple[int, int] | None:
        if self.path is None:
            return None
        found = self.path.stat()
        return found.st_mtime_ns, found.st_size

    def _current(self) -> Policy:
        """The policy as its file says now: a limit that was lowered binds the next question."""
        if self.path is not None and self._stamp() != self._read:
            self.policy, self._read = load(self.path), self._stamp()
        return self.policy

    # --- the stages before the data

    def _question(self, sql: str, dialect: str | None) -> tuple[Question, Policy]:
        policy = self._current()
        return lower(parse(_sql(sql), dialect), Catalog.from_policy(policy)), policy

    def _priced(self, question: Question, policy: Policy, amount: Mapping[str, Any]) -> Priced:
        how: dict[str, Any] = {
            "relation": policy.privacy.relation,
            "unit": policy.privacy.unit,
            "contribution": contribution_of(policy, question),
        }
        if amount.get("error") is not None:
            return _for_error(question, policy, amount, how)
        return price(question, _budget(question, policy, amount), **how)

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
        question, policy = self._question(sql, dialect)
        amount = {"epsilon": epsilon, "rho": rho, "error": error, "confidence": confidence}
        priced = self._priced(question, policy, amount)
        grant = policy.decide(self.analyst, priced.program)
        left, enough = self._left(grant)
        return Quote(
            cost=grant.cost,
            expected=tuple(expected(priced, float(confidence))),
            left=left,
            enough=enough,
            notes=notes_of(priced, policy),
            priced=priced,
        )

    def _left(self, grant: Grant) -> tuple[Cost, bool]:
        """The least that would be left in any of the accounts that pay."""
        standing = self.standing()
        rests, enough = [], True
        for limit in grant.account.limits:
            balance = standing.balance(limit.holder)
            most = limit.total if balance is None else _less(limit.total, balance.limit)
            spent = grant.amount if balance is None else balance.window_spent + grant.amount
            enough &= spent.fits(most)
            rests.append(spent.left(most))
        least = min(rests, key=lambda rest: rest.spend)
        return least.cost(standing.currency, relation=standing.relation, unit=standing.unit), enough

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
        """The answer, after it is paid for. The same question at the same price is answered from the store, free.

        `key` makes a retry after a lost reply safe: the same key never pays twice, and gives the same answer.
        """
        question, policy = self._question(sql, dialect)
        amount = {"epsilon": epsilon, "rho": rho, "error": error, "confidence": confidence}
        priced = self._priced(question, policy, amount)
        grant = policy.decide(self.analyst, priced.program)
        version = self.engine.version(priced.program.tables)
        known = self.ledger.recall(grant.account, priced.program, version)
        if known is not None:
            return _shown(known.kind, known.release, cached=True)
        receipt = self.ledger.charge(grant.account, grant.cost, priced.program, key or _key())
        if receipt.replayed and (kept := self.ledger.kept(receipt)) is not None:
            return _shown(kept.kind, kept.release, cached=True)
        self.ledger.begin(receipt)
        try:
            answer = self._run(priced, policy, grant, receipt, float(between(confidence, "confidence", 0, 1)), rng)
        except Exception as failure:  # what failed may depend on the data: one constant failure, kept as the answer
            self.ledger.keep(receipt, FAILED, version=version, kind="failure")
            if isinstance(failure, EngineError):
                raise
            raise EngineError() from None
        kept = self.ledger.keep(receipt, answer.to_bytes(), version=version)
        return _shown(kept.kind, kept.release, cached=False)

    def _run(
        self, priced: Priced, policy: Policy, grant: Grant, receipt: Receipt, confidence: float, rng: Rng | None
    ) -> Release:
        parts, bounds = [], {}
        for number, part in enumerate(priced.planned.parts):
            filled = self._filled(priced, number, part, receipt, rng)
            bounds[number] = filled
            parts.append(release(priced, number, filled, self.engine.run(filled), receipt, rng))
        return self._answer(priced, policy, grant, receipt, parts, bounds, confidence)

    def _filled(self, priced: Priced, number: int, part: Bounded, receipt: Receipt, rng: Rng | None) -> Bounded:
        """The part with every bound that was left open chosen, by its own paid step."""
        clips = list(part.clips)
        for task, step in zip(priced.tasks, priced.program.steps, strict=True):
            if task.kind == "choose" and task.part == number and task.clip is not None:
                clip = clips[task.clip]
                units = self.engine.norms(part, task.clip, clip.edges)
                chosen = choose_bound(step, task, units, clip, receipt, rng)
                clips[task.clip] = replace(clip, bound=Fraction(chosen))
                if clip.by_rows:
                    clips = [_in_rows(other, chosen / clip.row) for other in clips]
        return replace(part, clips=tuple(clips))

    def _answer(
        self,
        priced: Priced,
        policy: Policy,
        grant: Grant,
        receipt: Receipt,
        parts: list[Released],
        bounds: Mapping[int, Bounded],
        confidence: float,
    ) -> Release:
        answer = assemble(priced, parts, confidence=confidence)
        return Release(
            table=answer.table,
            intervals=answer.intervals,
            confidence=confidence,
            notes=notes_of(priced, policy, parts),
            facts=facts_of(priced, policy, grant, receipt, bounds),
        )


def _in_rows(clip: Clip, rows: Fraction) -> Clip:
    """A clip that goes by rows, bounded to so many, if it has no bound yet."""
    if not clip.by_rows or clip.bound is not None:
        return clip
    return replace(clip, bound=min(Fraction(LARGEST), Fraction(ceil(rows * clip.row))))


def _shown(kind: str, release_: bytes, *, cached: bool) -> Release:
    if kind == "failure":
        raise EngineError()
    return Release.from_bytes(release_, cached=cached)


def _key() -> str:
    return bytes(SecureRng().read(16)).hex()


def _less(a: Any, b: Any) -> Any:
    return type(a)(min(a.spend, b.spend), min(a.delta, b.delta))


def _sql(question: Any) -> str:
    """SQL as text; an Ibis expression through its own."""
    if isinstance(question, str):
        return question
    if type(question).__module__.split(".")[0] == "ibis":
        import ibis

        return str(ibis.to_sql(question, dialect="duckdb"))
    raise InputError(f"ask in SQL, or with an Ibis expression, not with {type(question).__name__}")


def _budget(question: Question, policy: Policy, amount: Mapping[str, Any]) -> Budget:
    """What was offered, in the dataset's currency; the query's own options where nothing else was said."""
    options, privacy = question.options, policy.privacy
    offered = {name: amount.get(name) for name in ("epsilon", "rho") if amount.get(name) is not None}
    if not offered:
        offered = {name: value for name in ("epsilon", "rho") if (value := getattr(options, name)) is not None}
    if len(offered) != 1:
        raise Refused(
            f"say how much to spend, once: epsilon=… or rho=… (this dataset is paid for in {privacy.currency}), "
            "or error=… to be told the price of an accuracy"
        )
    ((name, value),) = offered.items()
    spend = positive(value, name, toward="decimal")
    if privacy.currency is Currency.EPSILON and name == "rho":
        raise Refused("this dataset is paid for in epsilon: offer epsilon=…")
    if privacy.currency is Currency.RHO and name == "epsilon":
        spend = rho_of(spend, options.delta if options.delta is not None else privacy.delta)
    share = min(Fraction(1), spend / privacy.budget)
    delta = privacy.own_delta * share if options.delta is None else min(options.delta, privacy.own_delta)
    return Budget(currency=privacy.currency.value, amount=spend, delta=delta)


def _for_error(question: Question, policy: Policy, amount: Mapping[str, Any], how: Mapping[str, Any]) -> Priced:
    """The least price at which every column's error is at most what was asked for."""
    if amount.get("epsilon") is not None or amount.get("rho") is not None:
        raise Refused("say either what to spend or the error to reach, not both")
    target, confidence = float(positive(amount["error"], "error")), float(amount["confidence"])
    currency = policy.privacy.currency.value

    def tried(spend: float) -> tuple[bool, Priced]:
        priced = price(question, _budget(question, policy, {currency: Fraction(spend)}), **how)
        errors = [found.error for found in expected(priced, confidence)]
        if not errors or any(error is None for error in errors):
            raise Refused(
                "an error can be asked for where it is known in advance: counts and sums with a declared clip. "
                "Ask with epsilon=… or rho=… and look at the quote"
            )
        return max(error for error in errors if error is not None) <= target, priced

    high = float(policy.privacy.budget)
    fits, found = tried(high)
    if not fits:
        raise OverBudget(f"an error of {target:g} would cost more than the whole budget of this dataset")
    low = high / 2**40
    for _ in range(60):
        middle = (low * high) ** 0.5
        fits, priced = tried(middle)
        if fits:
            high, found = middle, priced
        else:
            low = middle
        if high / low < 1.001:
            break
    return found
