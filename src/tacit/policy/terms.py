"""A policy's limits in whole numbers: for one analyst, and for the ledger."""

from collections.abc import Mapping
from datetime import timedelta
from typing import TYPE_CHECKING

from tacit.policy.account import DATASET, Amount, Limit, Terms, analyst_holder, group_holder
from tacit.policy.analyst import ANYBODY, Analyst
from tacit.policy.source import filled, identity, is_file, located

if TYPE_CHECKING:
    from tacit.policy.model import Policy

__all__ = ["limits_of", "terms"]


def limits_of(policy: "Policy", name: str, analyst: Analyst) -> tuple[Limit, ...]:
    """Everything that binds this analyst: the dataset's limit, the groups', the analyst's own."""
    groups = [policy.groups[group].bound(group_holder(group), policy.privacy) for group in analyst.groups]
    return (_dataset(policy), *groups, analyst.bound(analyst_holder(name), policy.privacy))


def terms(policy: "Policy", environment: Mapping[str, str] | None = None) -> Terms:
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
        sources=_sources(policy, environment),
        period=None if privacy.reset is None else privacy.reset // timedelta(microseconds=1),
        lifetime=privacy.ever,
        policy=policy.hash,
    )


def _dataset(policy: "Policy") -> Limit:
    privacy = policy.privacy
    each = None if privacy.each is None else Amount.at_most(privacy.each, privacy.own_delta, privacy.currency)
    return Limit(holder=DATASET, total=privacy.total, each=each)


def _sources(policy: "Policy", environment: Mapping[str, str] | None) -> tuple[str, ...]:
    """The places of protected tables. A public table may be shared between datasets about different people."""
    texts = set()
    for table in policy.tables.values():
        if table.private:
            own = table.source
            texts.add(own if own is not None and (is_file(own) or "${" in own) else policy.dataset.source)
    if not policy.tables:
        texts.add(policy.dataset.source)
    places = [located(filled(text, environment), policy.folder) for text in texts if text is not None]
    return tuple(sorted({identity(place) for place in places}))
