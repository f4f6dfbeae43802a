"""Measures as sums of whole numbers over rows, per group, or per unit and group.

Magnitudes: a row is at most 2^40 steps, so sums over fewer than 2^56 rows stay below 2^96, which every engine's sum of
64-bit integers holds (HUGEINT 2^127, NUMERIC without end, DECIMAL(29,0) of DECIMAL(19,0) 2^96).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from tacit.base import InputError
from tacit.engine.rows import Rows
from tacit.engine.spread import Spread, spread_of
from tacit.engine.steps import LARGEST_STEPS, steps_sql
from tacit.engine.words import Words
from tacit.plan.bounded import Measure, Presence
from tacit.plan.expression import Call, Column, Constant, Expression

__all__ = ["Measured", "distinct_sql", "presence_proposal", "presence_weight"]


@dataclass(frozen=True)
class Measured:
    """Measures of kinds "sum" and "units" over given rows, with the values they need."""

    rows: Rows
    measures: tuple[Measure, ...]

    @cached_property
    def spreads(self) -> Mapping[str, Spread]:
        """Measures that are added up as spreads, by name."""
        found = {measure.name: spread_of(measure, self.rows) for measure in self.measures}
        return {name: spread for name, spread in found.items() if spread is not None}

    @cached_property
    def values(self) -> tuple[Expression | Spread, ...]:
        found = (self._value(measure) for measure in self.measures)
        return tuple(dict.fromkeys(value for value in found if value is not None))

    def _value(self, measure: Measure) -> Expression | Spread | None:
        """What a measure is made of. Rows with a value are those with a spread of it."""
        if measure.name in self.spreads:
            return self.spreads[measure.name]
        column = _there(measure)
        return next((s for s in self.spreads.values() if column is not None and s.column == column), measure.value)

    def select(self, *, unit: bool) -> str:
        """Rows with what measures are made of, as `x0 x1 …`."""
        words = self.rows.words
        if not self.spreads:
            return self.rows.select([self.rows.value(v) for v in self.values if not isinstance(v, Spread)], unit=unit)
        read: list[str] = []
        made = [*(["u"] if unit and self.rows.has_unit else []), *self.rows.keys]
        for i, value in enumerate(self.values):
            at = len(read)
            if isinstance(value, Spread):
                read += [value.raw, value.steps]
                made.append(f"{value.sql(f'x{at}', f'x{at + 1}', words)} AS x{i}")
            else:
                read.append(self.rows.value(value))
                made.append(f"x{at} AS x{i}")
        return f"SELECT {', '.join(made)} FROM ({self.rows.select(read, unit=unit)}) AS q"

    def _name(self, measure: Measure) -> str:
        value = self._value(measure)
        assert value is not None
        return f"x{self.values.index(value)}"

    def counted(self, measure: Measure) -> str:
        """How many rows count, where each counts the same."""
        return "COUNT(*)" if measure.value is None else f"COUNT({self._name(measure)})"

    def total(self, measure: Measure) -> str:
        """The sum over rows, as wide as it gets."""
        if _even(measure):
            return self._times(self.counted(measure), measure.high)
        if measure.name in self.spreads:
            return self.spreads[measure.name].total(self._name(measure))
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


def _there(measure: Measure) -> str | None:
    """The column of a measure that counts the rows in which it has a value."""
    match measure.value:
        case Call(
            operation="case",
            arguments=(
                Call(operation="is_not_null", arguments=(Column(name=name),)),
                Constant(value=int() | Fraction()),
                Constant(value=None),
            ),
        ) if measure.low == measure.high:
            return name
        case _:
            return None


def _even(measure: Measure) -> bool:
    """Whether each row that counts counts the same."""
    if max(abs(measure.low), abs(measure.high)) > LARGEST_STEPS:
        raise InputError(f"measure {measure.name!r} has rows of more than 2^40 steps: use a coarser step")
    if measure.value is None and measure.low != measure.high:
        raise InputError(f"measure {measure.name!r} has no value, so each row counts the same: make low and high equal")
    return measure.low == measure.high


def distinct_sql(rows: Rows, measure: Measure) -> str:
    """SELECT of the keys and the number of different values, as `n`."""
    if measure.value is None:
        raise InputError(f"measure {measure.name!r} counts different values and has no value to count")
    keys = ", ".join(rows.keys)
    by = f" GROUP BY {keys}" if keys else ""
    keys = f"{keys}, " if keys else ""
    seen = rows.select((rows.key(measure.value),), where=rows.there(measure.value))
    if not rows.has_unit:
        return f"SELECT {keys}COUNT(DISTINCT x0) AS n FROM ({seen}) AS s{by}"
    if measure.cap is None or measure.cap < 1:
        raise InputError(f"measure {measure.name!r} needs a cap: how many different values one unit may add")
    order = ", ".join(f"{name} NULLS FIRST" for name in ("x0", *rows.keys))
    pairs = f"SELECT DISTINCT u, {keys}x0 FROM ({seen}) AS s"
    ranked = f"SELECT {keys}x0, ROW_NUMBER() OVER (PARTITION BY u ORDER BY {order}) AS place FROM ({pairs}) AS p"
    return f"SELECT {keys}COUNT(DISTINCT x0) AS n FROM ({ranked}) AS d WHERE place <= {measure.cap}{by}"


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
