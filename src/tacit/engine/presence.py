"""Presence: each unit spreads a vector of ones over its k groups, scaled to norm one, on a lattice of `one` steps.

The weight in each group is ⌊one/k⌋ (l1), or the largest w that the doubles propose with k·w² ≤ one² (l2). The proposal
⌊one/√k⌋ is off by less than one step for one ≤ 2^30, and it is checked in integers, so one step back is enough.
⌊one/k⌋ is exact: a quotient that is not whole is 1/k away from being so, which is more than doubles round.
"""

from tacit.base import InputError
from tacit.engine.words import Words
from tacit.plan.bounded import Presence

__all__ = ["presence_proposal", "presence_weight"]

LARGEST_ONE = 2**30


def presence_proposal(presence: Presence, groups: str, words: Words) -> str:
    """The weight that doubles propose for a unit in so many groups."""
    if not 1 <= presence.one <= LARGEST_ONE:
        raise InputError(f"presence has from 1 to 2^30 steps of one, not {presence.one}")
    double = words.to_double(groups)
    under = f"SQRT({double})" if presence.norm == "l2" else double
    return f"CAST(FLOOR({words.number(float(presence.one))} / {under}) AS BIGINT)"


def presence_weight(presence: Presence, groups: str, proposal: str) -> str:
    """The weight, after the check in integers."""
    if presence.norm == "l1":
        return proposal
    return f"CASE WHEN {groups} * {proposal} * {proposal} > {presence.one**2} THEN {proposal} - 1 ELSE {proposal} END"
