"""Measures as sums of whole numbers over rows, per group, or per unit and group.

Magnitudes: a row is at most 2^40 steps, so sums over fewer than 2^56 rows stay below 2^96, which every engine's sum of
64-bit integers holds (HUGEINT 2^127, NUMERIC without end, DECIMAL(29,0) of DECIMAL(19,0) 2^96).
"""

from dataclasses import dataclass
from functools import cached_property

from tacit.base import InputError
from tacit.engine.rows import Rows
from tacit.engine.steps import LARGEST_STEPS, steps_sql
from tacit.plan.bounded import Measure
from tacit.plan.expression import Expression

__all__ = ["Measured"]


@dataclass(frozen=True)
class Measured:
    """Measures of kinds "sum" and "units" over given rows, with the values they need."""

    rows: Rows
    measures: tuple[Measure, ...]

    @cached_property
    def values(self) -> tuple[Expression, ...]:
        return tuple(dict.fromkeys(measure.value for measure in self.measures if measure.value is not None))

    def select(self, *, unit: bool) -> str:
        return self.rows.select([self.rows.value(value) for value in self.values], unit=unit)

    def _name(self, measure: Measure) -> str:
        assert measure.value is not None
        return f"x{self.values.index(measure.value)}"

    def counted(self, measure: Measure) -> str:
        """How many rows count, where each counts the same."""
        return "COUNT(*)" if measure.value is None else f"COUNT({self._name(measure)})"

    def total(self, measure: Measure) -> str:
        """The sum over rows, as wide as it gets."""
        if _even(measure):
            return self._times(self.counted(measure), measure.high)
        return f"COALESCE({self.rows.words.sum(self._steps(measure))}, 0)"

    def clamped(self, measure: Measure, limit: int) -> str:
        """The same as a 64-bit integer within ±limit."""
        if _even(measure) and measure.high:
            # so many rows pass the limit: more need not be multiplied
            most = limit // abs(measure.high) + 1
            total = f"LEAST({self.counted(measure)}, {most}) * {measure.high}"
        else:
            total = self.total(measure)
        return f"CAST(GREATEST(LEAST({total}, {limit}), {-limit}) AS BIGINT)"

    def present(self, measure: Measure) -> str:
        """Of kind "units", over the rows of one unit in one group."""
        if measure.value is None:
            return f"CAST({measure.high} AS BIGINT)"
        return f"CAST(CASE WHEN {self.counted(measure)} > 0 THEN {measure.high} ELSE 0 END AS BIGINT)"

    def _times(self, sql: str, factor: int) -> str:
        if factor == 1:
            return sql
        kind = "DECIMAL(20, 0)" if self.rows.dialect == "spark" else self.rows.words.wide
        return f"CAST({sql} AS {kind}) * {factor}"

    def _steps(self, measure: Measure) -> str:
        assert measure.value is not None
        facts = measure.value.facts
        if not facts.type.numeric or not facts.bounded:
            raise InputError(f"measure {measure.name!r} adds a value without bounds: {facts.why or 'declare them'}")
        return steps_sql(
            self._name(measure),
            step=measure.step,
            offset=measure.offset,
            low=measure.low,
            high=measure.high,
            words=self.rows.words,
            within=self.rows.ends(measure.value),
        )


def _even(measure: Measure) -> bool:
    """Whether each row that counts counts the same."""
    if max(abs(measure.low), abs(measure.high)) > LARGEST_STEPS:
        raise InputError(f"measure {measure.name!r} has rows of more than 2^40 steps: use a coarser step")
    if measure.value is None and measure.low != measure.high:
        raise InputError(f"measure {measure.name!r} has no value, so each row counts the same: make low and high equal")
    return measure.low == measure.high
