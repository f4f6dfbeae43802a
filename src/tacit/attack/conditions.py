"""A WHERE clause that is both SQL and a filter: what a tracker puts together from pieces."""

from dataclasses import dataclass
from typing import Any

import pyarrow.compute as pc

from tacit.base import InputError

__all__ = ["Condition", "equals"]


@dataclass(frozen=True)
class Condition:
    """Rows to ask about, as `sql` and as the same filter for Arrow. Joined with &, |, and negated with ~."""

    sql: str
    expression: Any

    def __and__(self, other: "Condition") -> "Condition":
        return Condition(f"({self.sql} AND {other.sql})", self.expression & other.expression)

    def __or__(self, other: "Condition") -> "Condition":
        return Condition(f"({self.sql} OR {other.sql})", self.expression | other.expression)

    def __invert__(self) -> "Condition":
        return Condition(f"NOT {self.sql}", ~self.expression)


def equals(column: str, value: str | int) -> Condition:
    """Rows whose `column` has this value."""
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise InputError(f'the value of "{column}" must be text or a whole number, not {type(value).__name__}')
    name = '"' + column.replace('"', '""') + '"'
    written = "'" + value.replace("'", "''") + "'" if isinstance(value, str) else str(value)
    return Condition(f"({name} = {written})", pc.field(column) == value)
