"""The groups of a question: how many there are, and keys whose values follow from their facts."""

from dataclasses import replace
from math import prod

from tacit.base import RefusalKind, Refused
from tacit.plan.bounded import Key
from tacit.plan.expression import Column
from tacit.plan.facts import domain_of

__all__ = ["MOST_GROUPS", "check_groups", "listable", "listed", "most_groups"]

MOST_GROUPS = 10**6
SOME = 10_000  # groups that are taken to be there where keys have no list of values


def most_groups(keys: tuple[Key, ...]) -> int:
    """The number of groups. Of keys that nobody listed only groups of many units are shown: some, however many keys."""
    listed = prod(len(key.values) for key in keys if key.values is not None)
    return listed if all(key.values is not None for key in keys) else max(listed, SOME)


def check_groups(keys: tuple[Key, ...]) -> None:
    if prod(len(key.values) for key in keys if key.values is not None) > MOST_GROUPS:
        raise Refused(
            f"these groups would be more than {MOST_GROUPS:,}: group by fewer or coarser keys, "
            "such as DATE_TRUNC('month', day)",
            kind=RefusalKind.LIMIT,
        )


def listable(key: Key) -> Key:
    """A key with its domain written out, where the facts make one."""
    facts = key.facts
    domain = domain_of(facts)
    if domain is None or facts.domain is not None:
        return key
    return replace(key, expression=replace(key.expression, facts=facts.but(domain=domain)))


def listed(keys: tuple[Key, ...]) -> tuple[Key, ...]:
    """Keys with their domains written out. Where that would be too many groups, the widest of the domains that nobody
    declared, but that follow from bounds or from what is computed, are left open: their groups are found privately."""
    found = [listable(key) for key in keys]
    while prod(len(key.values) for key in found if key.values is not None) > MOST_GROUPS:
        open_ones = [place for place, key in enumerate(keys) if found[place].values is not None and not _declared(key)]
        if not open_ones:
            break
        place = max(open_ones, key=lambda at: len(found[at].values or ()))
        expression = keys[place].expression
        found[place] = replace(keys[place], expression=replace(expression, facts=expression.facts.but(domain=None)))
    return tuple(found)


def _declared(key: Key) -> bool:
    return isinstance(key.expression, Column) and key.facts.domain is not None
