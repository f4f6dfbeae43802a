"""`/v1/datasets/…/meaning`: a price in words: odds, beliefs and tests instead of a bare number."""

from decimal import Decimal
from fractions import Fraction
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query
from fastapi.responses import JSONResponse

from tacit.base import InputError
from tacit.loss import ZCDP, Approx, Loss, Meaning, Pure
from tacit.policy import Policy
from tacit.server.asked import Positive
from tacit.server.identify import Serving, allowed
from tacit.server.people import Identity

__all__ = ["meaning_of", "router"]

router = APIRouter(prefix="/v1/datasets", tags=["ask"])

Looks = Annotated[Identity, Depends(allowed("look"))]
Slack = Annotated[Decimal, Query(ge=0, lt=1, max_digits=45, decimal_places=30, description="What a quote has as δ.")]
Prior = Annotated[Decimal, Query(gt=0, lt=1, max_digits=20, decimal_places=20, description="What somebody believed.")]


@router.get("/{dataset}/meaning")
def meaning(
    dataset: str,
    who: Looks,
    service: Serving,
    epsilon: Annotated[Positive | None, Query()] = None,
    rho: Annotated[Positive | None, Query()] = None,
    delta: Slack = Decimal(0),
    prior: Prior = Decimal("0.5"),
) -> JSONResponse:
    """What spending so much, as `epsilon` or `rho`, means for one person in the data. Nothing is looked at."""
    policy = service.desk.opened(who, dataset).policy
    found = meaning_of(policy, epsilon=_exactly(epsilon), rho=_exactly(rho), delta=Fraction(delta), prior=prior)
    return JSONResponse({**found.json(), "words": str(found).splitlines()[1:]})


def meaning_of(
    policy: Policy, *, epsilon: Fraction | None, rho: Fraction | None, delta: Fraction, prior: Decimal
) -> Meaning:
    """The meaning of one release that costs so much, stated at the policy's delta where there is a choice."""
    if (epsilon is None) == (rho is None):
        raise InputError("meaning takes one of epsilon and rho: say how much is spent")
    privacy = policy.privacy
    near: dict[str, Any] = {"relation": privacy.relation, "unit": privacy.unit}
    loss: Loss
    if epsilon is not None:
        loss = Approx(epsilon, delta, **near) if delta else Pure(epsilon, **near)
        return loss.meaning(prior, delta=delta)
    assert rho is not None
    loss = ZCDP(rho, delta=delta, **near)
    return loss.meaning(prior, delta=max(privacy.delta, 2 * delta) or Fraction(1, 10**6))


def _exactly(value: Decimal | None) -> Fraction | None:
    return None if value is None else Fraction(value)
