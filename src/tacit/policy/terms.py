"""A policy's limits in whole numbers: for one analyst, and for the ledger."""

from datetime import timedelta
from fractions import Fraction
from typing import TYPE_CHECKING

from tacit.policy.account import DATASET, Amount, Limit, Terms, analyst_holder, group_holder
from tacit.policy.analyst import ANYBODY, Analyst

if TYPE_CHECKING:
    from tacit.policy.model import Policy

__all__ = ["least_price", "limits_of", "terms"]

LOOKS = 1000  # questions that the smallest limit allows, where no least price was declared


def limits_of(policy: "Policy", name: str, analyst: Analyst) -> tuple[Limit, ...]:
    """Everything that binds this analyst: the dataset's limit, the groups', the analyst's own."""
    groups = [policy.groups[group].bound(group_holder(group), policy.privacy) for group in analyst.groups]
    return (_dataset(policy), *groups, analyst.bound(analyst_holder(name), policy.privacy))


def least_price(policy: "Policy", analyst: Analyst) -> Fraction:
    """The least that a question of this analyst costs: what was declared, or a thousandth of the smallest limit."""
    privacy = policy.privacy
    people = [*(policy.groups[group] for group in analyst.groups), analyst]
    declared = [least for least in (privacy.least, *(each.least for each in people)) if least is not None]
    if declared:
        return max(declared)
    smallest = min([privacy.budget, *(each.limit for each in people if each.limit is not None)])
    return min(
        smallest / LOOKS, *(most for most in (smallest, privacy.each, *(p.each for p in people)) if most is not None)
    )


def terms(policy: "Policy") -> Terms:
    """What the ledger records. "*" has no line: whoever comes under it gets one at the first question."""
    privacy = policy.privacy
    groups = [group.bound(group_holder(name), privacy) for name, group in policy.groups.items()]
    named = [
        analyst.bound(analyst_holder(name), privacy) for name, analyst in policy.analysts.items() if name != ANYBODY
    ]
    return Terms(
        people=policy.dataset.identity,
        currency=privacy.currency,
        relation=privacy.relation,
        unit=privacy.unit,
        delta=privacy.delta,
        limits=(_dataset(policy), *groups, *named),
        period=None if privacy.reset is None else privacy.reset // timedelta(microseconds=1),
        lifetime=privacy.ever,
        policy=policy.hash,
    )


def _dataset(policy: "Policy") -> Limit:
    privacy = policy.privacy
    each = None if privacy.each is None else Amount.at_most(privacy.each, privacy.own_delta, privacy.currency)
    return Limit(holder=DATASET, total=privacy.total, each=each)
