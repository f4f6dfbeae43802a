"""Which table of the policy rows in memory were made of: its people are protected, and its budget pays."""

from typing import Any

from tacit.base import InputError

__all__ = ["table_of_data"]


def table_of_data(policy: Any, table: str | None) -> str:
    """The one that is named, or the only one there is."""
    if table is not None:
        if table not in policy.tables:
            raise InputError(f"the policy has no table {table!r}: there are {', '.join(map(repr, policy.tables))}")
        return table
    if len(policy.tables) != 1:
        raise InputError("whose data is this? Say table=, the policy's table that it was made of")
    return str(next(iter(policy.tables)))
