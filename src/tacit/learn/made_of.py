"""What a plan takes from the policy: the table that rows in memory were made of, and the δ of an account paid in ε."""

from fractions import Fraction
from typing import Any

from tacit.base import InputError, Number
from tacit.base.number import positive
from tacit.policy.account import Currency

__all__ = ["own_delta", "table_of_data"]


def table_of_data(policy: Any, table: str | None) -> str:
    """The one that is named, or the only one there is."""
    if table is not None:
        if table not in policy.tables:
            raise InputError(f"the policy has no table {table!r}: there are {', '.join(map(repr, policy.tables))}")
        return table
    if len(policy.tables) != 1:
        raise InputError("whose data is this? Say table=, the policy's table that it was made of")
    return str(next(iter(policy.tables)))


def own_delta(policy: Any, delta: Number | None) -> Fraction | None:
    """Where people pay in ε, a Gaussian program is one (ε, δ)-DP mechanism: at the δ that is named, or a tenth of the
    dataset's. Elsewhere it needs none."""
    if policy.privacy.currency is not Currency.EPSILON:
        return None
    return Fraction(policy.privacy.delta) / 10 if delta is None else positive(delta, "delta", toward="decimal")
