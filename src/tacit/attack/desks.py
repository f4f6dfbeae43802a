"""Two desks that count and add up rows in SQL: one that only refuses small groups, and tacit's."""

from dataclasses import dataclass, field
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.compute as pc

from tacit.base import InputError, Refused
from tacit.session import Session

__all__ = ["Condition", "Desk", "GuardedDesk", "PrivateDesk", "equals"]


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


class Desk(Protocol):
    """SELECT COUNT(*), SUM(column) FROM table WHERE condition; no condition is the whole table."""

    asked: list[str]

    def ask(self, condition: Condition | None = None) -> tuple[float, float]:
        """The count and the sum."""
        ...


@dataclass
class GuardedDesk:
    """Exact answers about groups of at least `least` rows that leave out at least `least`; the rest is refused.

    That was the rule of statistical offices in the 1970s (query-set-size control). The answers are those that a
    database gives to the SQL in `asked`, computed with Arrow.
    """

    table: pa.Table
    column: str
    least: int
    name: str = "data"
    asked: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        if self.column not in self.table.column_names:
            raise InputError(f'there is no column "{self.column}"; there are {", ".join(self.table.column_names)}')
        if self.least < 1:
            raise InputError("least must be at least 1: the size of the smallest group that is answered")

    def ask(self, condition: Condition | None = None) -> tuple[float, float]:
        self.asked.append(_sql(self.column, self.name, condition))
        rows = self.table if condition is None else self.table.filter(condition.expression)
        if rows.num_rows < self.least or (condition is not None and len(self.table) - rows.num_rows < self.least):
            raise Refused(f"the group, or what it leaves out, has fewer than {self.least} rows")
        return rows.num_rows, pc.sum(rows.column(self.column)).as_py()


@dataclass
class PrivateDesk:
    """The same questions to tacit, each with `epsilon`; no group is too small to ask about."""

    session: Session
    column: str
    epsilon: float
    name: str = "data"
    asked: list[str] = field(default_factory=list)

    def ask(self, condition: Condition | None = None) -> tuple[float, float]:
        self.asked.append(_sql(self.column, self.name, condition))
        row = self.session.ask(self.asked[-1], epsilon=self.epsilon).table.to_pylist()[0]
        return float(row["n"]), float(row["total"])


def _sql(column: str, table: str, condition: Condition | None) -> str:
    question = f'SELECT COUNT(*) AS n, SUM("{column}") AS total FROM "{table}"'
    return question if condition is None else f"{question} WHERE {condition.sql}"
