"""What a market gave: a billboard for everybody, and for each agent what it means to that agent alone.

The billboard is drawn privately from all reports and is what the ledger is charged for. What one agent is told follows
from the billboard and from that agent's own report, so all that others see stays private in it at the same price: the
billboard lemma (docs/theory/market.md).
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, Protocol

import numpy as np

from tacit.base import InputError, positive, whole
from tacit.base.number import Number
from tacit.desk import Release, Spender
from tacit.desk.show import digits
from tacit.loss import ZCDP, Approx, Loss, Pure
from tacit.noise import rng_or_default
from tacit.program import Program

__all__ = ["Billboard", "MarketPlan", "Sale", "Tell", "charged_program", "numbers", "promise", "sold"]

Tell = Callable[[float], None]  # how far a run is, from 0 to 1


class MarketPlan(Protocol):
    """A mechanism with everything fixed but what people report."""

    @property
    def loss(self) -> Loss:
        """What the billboard tells of one report, another being in its place."""
        ...

    @property
    def unit(self) -> str: ...

    @property
    def truth(self) -> str:
        """What a lie is worth, in words."""
        ...

    @property
    def absent(self) -> Any:
        """The report that counts for an agent who made none."""
        ...

    def program(self, table: str | None = None) -> Program: ...

    def read(self, reports: Any) -> Any:
        """The reports as an array, a row for each agent; an `InputError` that says what is wrong with them."""
        ...

    def play(self, reports: Any, tell: Tell) -> dict[str, Any]:
        """Draw what is for everybody to see, as plain data."""
        ...

    def advice(self, outcome: Mapping[str, Any], report: Any, agent: int) -> dict[str, Any]:
        """What the outcome means for whoever made this report, as plain data. It depends on no other report."""
        ...


def numbers(reports: Any, words: str) -> "np.ndarray[Any, np.dtype[np.float64]]":
    """Reports as an array, NaN for None; an `InputError` that says so where they are no numbers in equal rows."""
    try:
        return np.asarray(reports, dtype=np.float64)
    except (TypeError, ValueError):
        pass
    raise InputError(words)


def promise(loss: Loss) -> str:
    """What everybody else's view tells of one report, in words; where there is a δ, at twice that of the overflow."""
    slack = getattr(loss, "slack", Fraction(0))
    delta = 0 if isinstance(loss, Pure) else float(max(2 * slack, Fraction(1, 10**6)))
    bound = loss.bound if isinstance(loss, Pure) else Fraction(loss.epsilon(delta).upper)
    told = f" at δ = {delta:.3g}" if delta else ""
    return f"ε = {digits(bound)}{told} for one report in the place of another"


@dataclass(frozen=True, kw_only=True)
class Billboard:
    """The public `outcome` of one run of a `plan`."""

    plan: Any
    outcome: Mapping[str, Any]
    release: Release | None = None

    @property
    def loss(self) -> Loss:
        found: Loss = self.plan.loss
        return found

    @property
    def truth(self) -> str:
        """What a false report is worth, in words."""
        return str(self.plan.truth)

    def for_agent(self, report: Any, agent: int = 0) -> dict[str, Any]:
        """What one agent makes of it, from its own report alone. Agents are numbered from 0."""
        told: dict[str, Any] = self.plan.advice(self.outcome, self.plan.read([report])[0], whole(agent, "agent"))
        return told

    def coalition(self, agents: int, *, delta: Number | None = None) -> Loss:
        """What everybody else's view tells of the reports of so many agents together. A promise that has a δ of its own
        is first stated at `delta`, twice that if left out."""
        loss, many = self.loss, whole(agents, "agents", least=1)
        if isinstance(loss, ZCDP) and loss.slack and many > 1:
            at = 2 * loss.slack if delta is None else positive(delta, "delta")
            loss = Approx(loss.epsilon(at).upper, at, relation=loss.relation, unit=loss.unit)
        return loss.grouped(many)

    def json(self) -> dict[str, Any]:
        return {"outcome": dict(self.outcome), "truth": self.truth, "loss": self.loss.json()}


@dataclass(frozen=True, kw_only=True)
class Sale:
    """A billboard, and the sealed reports that `for_agent` needs: hold it where the reports may lie."""

    billboard: Billboard
    reports: Any = field(repr=False, compare=False)

    def for_agent(self, agent: int) -> dict[str, Any]:
        """What this agent is told, and nobody else."""
        if not 0 <= agent < len(self.reports):
            raise InputError(
                f"there are {len(self.reports):,} agents, numbered from 0: there is none of number {agent}"
            )
        told: dict[str, Any] = self.plan.advice(self.outcome, self.reports[agent], agent)
        return told

    @property
    def plan(self) -> Any:
        return self.billboard.plan

    @property
    def outcome(self) -> Mapping[str, Any]:
        return self.billboard.outcome

    @property
    def release(self) -> Release | None:
        return self.billboard.release

    @property
    def price(self) -> Fraction:
        """Of a sale at one price."""
        return Fraction(self.outcome["price"])


def charged_program(plan: MarketPlan, privacy: Any, table: str | None, name: str) -> Program:
    """The program of one sale, as it is charged to the people of `table`.

    `name` is this sale's own: other reports are another sale, and without it the same plan would be answered from the
    store.
    """
    if table is None:
        raise InputError("whose reports are these? Say table=…, the table of the policy that lists who took part")
    if privacy.relation is not plan.loss.relation or privacy.unit != plan.unit:
        raise InputError(
            f"the policy protects one {privacy.unit} by {privacy.relation.value}, and this market one {plan.unit} by "
            f"{plan.loss.relation.value}: truthful reports are about one in the place of another. Say unit=…, and give "
            'the policy relation = "replace"'
        )
    whole_ = plan.program(table)
    return replace(whole_, query={"sale": name, **whole_.query})


def sold(plan: MarketPlan, given: Any, *, session: Spender | None, table: str | None) -> Sale:
    """Run it: charged first, where there is a session. What is wrong with reports is told before that."""
    reports = plan.read(given)
    if session is None:
        return Sale(billboard=Billboard(plan=plan, outcome=plan.play(reports, lambda _: None)), reports=reports)
    program = charged_program(plan, session.policy.privacy, table, rng_or_default(None).read(16).hex())
    release = session.spend(program, lambda run: json.dumps(plan.play(reports, run.progress)))  # type: ignore[call-arg,arg-type]
    outcome = json.loads(str(release.value()))
    return Sale(billboard=Billboard(plan=plan, outcome=outcome, release=release), reports=reports)
