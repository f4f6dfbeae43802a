"""Measures as sums of whole numbers over rows, per group, or per unit and group.

Magnitudes: a row is at most 2^40 steps, so sums over fewer than 2^56 rows stay below 2^96, which every engine's sum of
64-bit integers holds (HUGEINT 2^127, NUMERIC without end, DECIMAL(29,0) of DECIMAL(19,0) 2^96). Spark adds rows of at
most 2^20 steps in 64 bits, which hold fewer than 2^43 of them; more are an error there, never another number.

Where columns can be read a second time, sums of clamped steps need no branch for each row: they are then almost as fast
as without clamping. With r = floor((x − c)/step + 1/2) − offset of a number x that was not clamped, and whole ends
low ≤ high, |r − low| − |r − high| + (low + high) = 2·clamp(r). So the sum of clamp(r) is half the sum of such spreads.
IEEE subtraction, multiplication, addition and floor keep the order of doubles, so clamping r to what the ends of x
become is the same, to the last unit, as clamping x and then taking steps.

Exactness: x is a number only up to `furthest`, whose steps are at most 2^50, and the ends are below 2^31, so every
difference is a whole double. Rows without a number were left out if the column cannot be NULL; else their spread is
NULL. Spreads up to 2^18 are added as doubles, and the sum is exact for fewer than 2^35 rows; wider ones are added as
integers.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from tacit.base import InputError, cached_property
from tacit.engine.dialect import Dialect
from tacit.engine.rows import Rows
from tacit.engine.scan import furthest
from tacit.engine.steps import LARGEST_STEPS, divided_sql, factor, steps_of, steps_sql
from tacit.plan.bounded import Measure, Presence
from tacit.plan.expression import Call, Column, Constant, Expression
from tacit.plan.facts import Type, exact_step

__all__ = ["MeasureSums", "PartSums", "Spread", "distinct_sql", "presence_proposal", "presence_weight", "spread_of"]

SURE = 2.0**50
LARGEST_END = 2**31 - 1
AS_DOUBLES = 2**18
LARGEST_ONE = 2**30


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

    def sql(self, raw: str, steps: str, dialect: Dialect) -> str:
        """The spread of a row, given its columns; NULL where there is no finite value."""
        spread = f"ABS({steps} - {dialect.number(self.low)}) - ABS({steps} - {dialect.number(self.high)})"
        if self.low + self.high:
            spread += f" + {dialect.number(self.low + self.high)}"
        largest = 2 * max(abs(self.low), abs(self.high))
        if largest > AS_DOUBLES:
            spread = f"CAST({spread} AS {'INTEGER' if largest <= LARGEST_END else 'BIGINT'})"
        if not self.nullable:
            return spread
        least, most = dialect.number(-self.furthest), dialect.number(self.furthest)
        return f"CASE WHEN {raw} BETWEEN {least} AND {most} THEN {spread} END"

    def total(self, spread: str, dialect: Dialect) -> str:
        """The sum of steps over rows, from a column of spreads: halving is exact."""
        return dialect.halves[0].format(f"CAST(COALESCE(SUM({spread}), 0) AS {dialect.wide})", 2)


def spread_of(measure: Measure, rows: Rows) -> Spread | None:
    """The form above where it holds: over a column or a column less a constant, as it was read."""
    if not rows.dialect.columnar or measure.kind != "sum" or measure.low == measure.high:
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
    moved = f"({raw} - {rows.dialect.number(shift)})" if shift else raw
    steps = divided_sql(moved, measure.step, rows.dialect)
    if not (column.facts.type is Type.INTEGER and shift.is_integer() and factor(measure.step)[0]):
        steps = f"FLOOR({steps} + {rows.dialect.number(0.5)})"  # else it is whole as it is
    if measure.offset:
        steps = f"({steps} - {rows.dialect.number(measure.offset)})"
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


@dataclass(frozen=True)
class MeasureSums:
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
        dialect = self.rows.dialect
        if not self.spreads:
            return self.rows.select([self.rows.value(v) for v in self.values if not isinstance(v, Spread)], unit=unit)
        read: list[str] = []
        made = [*(["u"] if unit and self.rows.has_unit else []), *self.rows.keys]
        for i, value in enumerate(self.values):
            at = len(read)
            if isinstance(value, Spread):
                read += [value.raw, value.steps]
                made.append(f"{value.sql(f'x{at}', f'x{at + 1}', dialect)} AS x{i}")
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

    def part(self, measure: Measure) -> str:
        """What `PartSums` adds up."""
        return self.counted(measure) if _even(measure) else self.total(measure)

    def total(self, measure: Measure) -> str:
        """The sum over rows, as wide as it gets."""
        if _even(measure):
            rows, each = self.counted(measure), measure.high
            return rows if each == 1 else f"CAST({rows} AS {self.rows.dialect.counted}) * {each}"
        return self.added(measure)

    def added(self, measure: Measure) -> str:
        """The sum over rows of a measure of which they differ."""
        if measure.name in self.spreads:
            return self.spreads[measure.name].total(self._name(measure), self.rows.dialect)
        largest = max(abs(measure.low), abs(measure.high))
        return f"COALESCE({self.rows.dialect.sum(self._steps(measure), largest)}, 0)"

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
            dialect=self.rows.dialect,
            within=self.rows.ends(measure.value),
        )


class PartSums(MeasureSums):
    """The same over parts of the rows that were added up before, as `p0 p1 …`."""

    def _part(self, measure: Measure) -> str:
        return f"COALESCE(SUM(p{self.measures.index(measure)}), 0)"

    def counted(self, measure: Measure) -> str:
        return self._part(measure)

    def added(self, measure: Measure) -> str:
        return self._part(measure)


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
    """SELECT of the keys and the number of different values, or their sum in steps, as `n`."""
    if measure.value is None:
        raise InputError(f"measure {measure.name!r} counts different values and has no value to count")
    keys = "".join(f"{key}, " for key in rows.keys)
    seen = rows.select((rows.key(measure.value),), where=rows.there(measure.value))
    if not rows.has_unit:
        return _of_different(measure, rows, f"({seen}) AS s")
    if measure.cap is None or measure.cap < 1:
        raise InputError(f"measure {measure.name!r} needs a cap: how many different values one unit may add")
    order = ", ".join(f"{name} NULLS FIRST" for name in ("x0", *rows.keys))
    pairs = f"SELECT DISTINCT u, {keys}x0 FROM ({seen}) AS s"
    ranked = f"SELECT {keys}x0, ROW_NUMBER() OVER (PARTITION BY u ORDER BY {order}) AS place FROM ({pairs}) AS p"
    return _of_different(measure, rows, f"({ranked}) AS d WHERE place <= {measure.cap}")


def _of_different(measure: Measure, rows: Rows, source: str) -> str:
    by = f" GROUP BY {', '.join(rows.keys)}" if rows.keys else ""
    keys = "".join(f"{key}, " for key in rows.keys)
    if _even(measure):
        counted = "COUNT(DISTINCT x0)"
        return f"SELECT {keys}{counted if measure.high == 1 else f'{counted} * {measure.high}'} AS n FROM {source}{by}"
    assert measure.value is not None
    dialect = rows.dialect
    steps = steps_sql(
        dialect.to_double("x0"),
        step=measure.step,
        offset=measure.offset,
        low=measure.low,
        high=measure.high,
        dialect=dialect,
    )
    return f"SELECT {keys}COALESCE({dialect.sum(steps)}, 0) AS n FROM (SELECT DISTINCT {keys}x0 FROM {source}) AS v{by}"


def presence_proposal(presence: Presence, groups: str, dialect: Dialect) -> str:
    """The weight that doubles propose for a unit in so many groups."""
    if not 1 <= presence.one <= LARGEST_ONE:
        raise InputError(f"presence has from 1 to 2^30 steps of one, not {presence.one}")
    double = dialect.to_double(groups)
    under = f"SQRT({double})" if presence.norm == "l2" else double
    return f"CAST(FLOOR({dialect.number(float(presence.one))} / {under}) AS BIGINT)"


def presence_weight(presence: Presence, groups: str, proposal: str) -> str:
    """The weight, after the check in integers."""
    if presence.norm == "l1":
        return proposal
    return f"CASE WHEN {groups} * {proposal} * {proposal} > {presence.one**2} THEN {proposal} - 1 ELSE {proposal} END"
