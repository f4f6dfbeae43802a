"""What is left of the budget for one analyst."""

from collections.abc import Sequence
from fractions import Fraction

from tacit.ledger import Standing
from tacit.loss import Cost
from tacit.policy import DATASET, Amount, Limit, Policy
from tacit.policy.decide import holder_of, least_price, limits_of

__all__ = ["binding", "least_of", "rest"]


def binding(policy: Policy, analyst: str) -> tuple[Limit, ...]:
    """Every limit that this analyst's questions count for."""
    return limits_of(policy, *holder_of(policy, analyst))


def least_of(policy: Policy, analyst: str) -> Fraction:
    """The least that a question of this analyst costs."""
    return least_price(policy, holder_of(policy, analyst)[1])


def rest(standing: Standing, limits: Sequence[Limit], amount: Amount) -> tuple[Cost, bool]:
    """The least that would be left under any limit after `amount`, and whether all of them allow it."""
    left, enough = [], not standing.sealed
    for limit in limits:
        balance = standing.balance(limit.holder)
        pairs = [(limit.total, amount if balance is None else balance.window_spent + amount)]
        if balance is not None:
            pairs.append((balance.limit, balance.window_spent + amount))
            if limit.holder == DATASET and standing.lifetime is not None:
                pairs.append((standing.lifetime, balance.spent + amount))
        enough &= all(spent.fits(most) for most, spent in pairs)
        left += [spent.left(most) for most, spent in pairs]
    least = Amount(min(one.spend for one in left), min(one.delta for one in left))
    return least.cost(standing.currency, relation=standing.relation, unit=standing.unit), enough
