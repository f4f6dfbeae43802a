"""What a market gave: an outcome in public, the plan it was made by, and the receipt, if it was charged."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Protocol

from tacit.base import InputError
from tacit.desk import Release, Spender
from tacit.loss import Loss
from tacit.noise import rng_or_default
from tacit.program import Program

__all__ = ["MarketPlan", "Sale", "sold"]


class MarketPlan(Protocol):
    """A mechanism with everything fixed but what people report."""

    @property
    def loss(self) -> Loss: ...

    @property
    def unit(self) -> str: ...

    def program(self, table: str | None = None) -> Program: ...


@dataclass(frozen=True, kw_only=True)
class Sale:
    """The public `outcome` of one run of a `plan`."""

    plan: Any
    outcome: Mapping[str, Any]
    release: Release | None = None

    @property
    def loss(self) -> Loss:
        found: Loss = self.plan.loss
        return found

    @property
    def price(self) -> Fraction:
        """Of a sale at one price."""
        return Fraction(self.outcome["price"])

    @property
    def truth(self) -> str:
        """What a false report is worth, in words."""
        return str(self.plan.truth)

    def json(self) -> dict[str, Any]:
        return {"outcome": dict(self.outcome), "truth": self.truth, "loss": self.loss.json()}


def sold(
    plan: MarketPlan,
    work: Callable[[], Mapping[str, Any]],
    *,
    session: Spender | None,
    table: str | None,
) -> Sale:
    """Run it: charged first, where there is a session."""
    if session is None:
        return Sale(plan=plan, outcome=dict(work()))
    if table is None:
        raise InputError("whose reports are these? Say table=…, the table of the policy that lists who took part")
    privacy = session.policy.privacy
    if privacy.relation is not plan.loss.relation or privacy.unit != plan.unit:
        raise InputError(
            f"the policy protects one {privacy.unit} by {privacy.relation.value}, and this market one {plan.unit} by "
            f"{plan.loss.relation.value}: truthful reports are about one in the place of another. Say unit=…, and give "
            'the policy relation = "replace"'
        )
    # other reports are another sale: without this the same plan would be answered from the store
    program = replace(
        plan.program(table), query={"sale": rng_or_default(None).read(16).hex(), **plan.program(table).query}
    )
    release = session.spend(program, lambda run: json.dumps(dict(work())))  # type: ignore[call-arg,arg-type]
    return Sale(plan=plan, outcome=json.loads(str(release.value())), release=release)
