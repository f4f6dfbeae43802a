"""Sums and means over the rows of one unit, inside a subquery: exact, so that the order of rows does not matter.

Sums add whole numbers of a step. |q| ≤ 2^40 a row, and the sum is clamped to ±2^52, so it is an exact double in every
engine; times or over the step it is one IEEE operation. Results are clamped to their facts. With `over` it is a window.
"""

from fractions import Fraction
from math import floor

from tacit.base import InputError
from tacit.engine.dialect import Dialect
from tacit.engine.steps import LARGEST_STEPS, scaled_sql, steps_sql
from tacit.engine.stored import inward
from tacit.plan.expression import Expression
from tacit.plan.facts import Facts, Type

__all__ = ["mean_sql", "sum_sql", "within_facts", "zeroless_sql"]

LARGEST_SUM = 2**52


def sum_sql(value: str, facts: Facts, dialect: Dialect, over: str = "") -> str:
    """The sum of a value with these facts as a double; NULL over no values."""
    if not facts.type.numeric or not facts.bounded:
        raise InputError(f"a sum in a subquery needs a number with bounds: {facts.why or 'declare them'}")
    low, high = Fraction(facts.low), Fraction(facts.high)  # type: ignore[arg-type]  # numbers
    step = _step(facts, max(abs(low), abs(high)))
    least, most = (floor(end / step + Fraction(1, 2)) for end in (low, high))
    total = dialect.sum(steps_sql(value, step=step, offset=0, low=least, high=most, dialect=dialect)) + over
    clamped = f"CAST(GREATEST(LEAST({total}, {LARGEST_SUM}), {-LARGEST_SUM}) AS BIGINT)"
    # over no values a sum is NULL, which GREATEST would pass over
    return f"CASE WHEN COUNT({value}){over} > 0 THEN {scaled_sql(dialect.to_double(clamped), step, dialect)} END"


def mean_sql(value: str, facts: Facts, dialect: Dialect, over: str = "") -> str:
    """The mean, from the exact sum."""
    count = dialect.to_double(f"COUNT({value}){over}")
    return f"({sum_sql(value, facts, dialect, over)} / NULLIF({count}, {dialect.number(0.0)}))"


def _step(facts: Facts, largest: Fraction) -> Fraction:
    """The declared step, one for integers, else a power of two that makes the most of 2^40 steps."""
    step = Fraction(1) if facts.type is Type.INTEGER else facts.step
    if step is not None and largest / step < LARGEST_STEPS:
        return step
    power = Fraction(1, 2**40)
    while largest / power >= LARGEST_STEPS:
        power *= 2
    return power


def within_facts(sql: str, facts: Facts, dialect: Dialect) -> str:
    """The number, or the bound of its facts that it passes."""
    if not facts.type.numeric or (facts.low is None and facts.high is None):
        return sql
    low, high = inward(facts.low, facts.high)
    cases = [] if low is None else [f"WHEN {sql} < {dialect.number(low)} THEN {dialect.number(low)}"]
    cases += [] if high is None else [f"WHEN {sql} > {dialect.number(high)} THEN {dialect.number(high)}"]
    return f"CASE {' '.join(cases)} ELSE {sql} END"


def zeroless_sql(sql: str, value: Expression, dialect: Dialect) -> str:
    """Adding zero makes one of the two zeros of doubles, which are equal and which DISTINCT might tell apart."""
    return f"({sql} + {dialect.number(0.0)})" if value.facts.type.numeric else sql
