"""Sums of clamped steps without a branch for each row: how DuckDB adds up numbers almost as fast as without clamping.

With r = floor((x − c)/step + 1/2) − offset of a number x that was not clamped, and whole ends low ≤ high,
|r − low| − |r − high| + (low + high) = 2·clamp(r). So the sum of clamp(r) is half the sum of such spreads. IEEE
subtraction, multiplication, addition and floor keep the order of doubles, so clamping r to what the ends of x become is
the same, to the last unit, as clamping x and then taking steps.

Exactness: x is a number only up to `furthest`, whose steps are at most 2^50, and the ends are below 2^31, so every
difference is a whole double. Rows without a number were left out if the column cannot be NULL; else their spread is
NULL. Spreads up to 2^18 are added as doubles, and the sum is exact for fewer than 2^35 rows; wider ones are added as
integers.
"""

from dataclasses import dataclass
from fractions import Fraction

from tacit.engine.rows import Rows
from tacit.engine.scan import furthest
from tacit.engine.steps import divided_sql, factor, steps_of
from tacit.engine.words import Words
from tacit.plan.bounded import Measure
from tacit.plan.expression import Call, Column, Constant, Expression
from tacit.plan.facts import Type, exact_step

__all__ = ["Spread", "spread_of"]

SURE = 2.0**50
LARGEST_END = 2**31 - 1
AS_DOUBLES = 2**18


@dataclass(frozen=True, kw_only=True)
class Spread:
    """A measure over a column that was read and not clamped: `raw` is its SQL, `steps` that of r."""

    column: str
    raw: str
    steps: str
    furthest: float
    nullable: bool
    low: int  # of r
    high: int

    def sql(self, raw: str, steps: str, words: Words) -> str:
        """The spread of a row, given its columns; NULL where there is no finite value."""
        spread = f"ABS({steps} - {words.number(self.low)}) - ABS({steps} - {words.number(self.high)})"
        if self.low + self.high:
            spread += f" + {words.number(self.low + self.high)}"
        largest = 2 * max(abs(self.low), abs(self.high))
        if largest > AS_DOUBLES:
            spread = f"CAST({spread} AS {'INTEGER' if largest <= LARGEST_END else 'BIGINT'})"
        if not self.nullable:
            return spread
        least, most = words.number(-self.furthest), words.number(self.furthest)
        return f"CASE WHEN {raw} BETWEEN {least} AND {most} THEN {spread} END"

    def total(self, spread: str) -> str:
        """The sum of steps over rows, from a column of spreads: halving is exact."""
        return f"(CAST(COALESCE(SUM({spread}), 0) AS HUGEINT) // 2)"


def spread_of(measure: Measure, rows: Rows) -> Spread | None:
    """The form above where it holds: in DuckDB, over a column or a column less a constant, as it was read."""
    if rows.dialect != "duckdb" or measure.kind != "sum" or measure.low == measure.high:
        return None
    column, shift = _shifted(measure.value)
    ends = None if column is None or not column.facts.bounded else rows.ends(column)
    if column is None or ends is None or max(map(abs, ends)) > SURE or abs(shift) > SURE:
        return None
    if column.facts.type is Type.NUMBER and exact_step(column.facts) is not None:
        return None  # reading rounds it first
    raw = rows.raw(column)
    if raw is None or max(abs(measure.low), abs(measure.high)) > LARGEST_END:
        return None
    far = furthest(column.facts)
    if far > SURE or any(abs(steps_of(end - shift, measure.step, measure.offset)) > SURE for end in (-far, far)):
        return None
    low, high = (
        min(max(steps_of(end - shift, measure.step, measure.offset), measure.low), measure.high) for end in ends
    )
    moved = f"({raw} - {rows.words.number(shift)})" if shift else raw
    steps = divided_sql(moved, measure.step, rows.words)
    if not (column.facts.type is Type.INTEGER and shift.is_integer() and factor(measure.step)[0]):
        steps = f"FLOOR({steps} + {rows.words.number(0.5)})"  # else it is whole as it is
    if measure.offset:
        steps = f"({steps} - {rows.words.number(measure.offset)})"
    nullable = column.facts.nullable
    return Spread(column=column.name, raw=raw, steps=steps, furthest=far, nullable=nullable, low=low, high=high)


def _shifted(value: Expression | None) -> tuple[Column | None, float]:
    """A column and the constant that is taken from it."""
    if isinstance(value, Column):
        return value, 0.0
    if isinstance(value, Call) and value.operation == "subtract":
        column, constant = value.arguments
        if isinstance(column, Column) and isinstance(constant, Constant) and isinstance(constant.value, int | Fraction):
            return column, float(constant.value)
    return None, 0.0
