"""What is left of the budget for one analyst."""

from collections.abc import Sequence

from tacit.base import Denied
from tacit.ledger import Standing
from tacit.loss import Cost
from tacit.policy import DATASET, Amount, Limit, Policy
from tacit.policy.analyst import ANYBODY, name_of
from tacit.policy.terms import limits_of

__all__ = ["binding", "rest"]


def binding(policy: Policy, analyst: str) -> tuple[Limit, ...]:
    """Every limit that this analyst's questions count for."""
    name = name_of(analyst)
    holder = policy.analysts.get(name) or policy.analysts.get(ANYBODY)
    if holder is None:
        raise Denied(f'analyst "{name}" is not in the policy of "{policy.dataset.name}"')
    return limits_of(policy, name, holder)


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
