"""Aggregates over the rows of one unit inside a subquery: exact, so that the order of rows does not matter.

Sums add whole numbers of a step. |q| ≤ 2^40 a row, and the sum is clamped to ±2^52, so it is an exact double in every
engine; times or over the step it is one IEEE operation. Results are clamped to their facts.
"""

from fractions import Fraction
from math import floor

from tacit.base import InputError
from tacit.engine.dialect import Dialect
from tacit.engine.expression import expression_sql
from tacit.engine.scan import inward
from tacit.engine.steps import LARGEST_STEPS, scaled_sql, steps_sql
from tacit.engine.words import Words, words_of
from tacit.plan.facts import Facts, Type
from tacit.plan.node import SubAggregate

__all__ = ["subaggregate_sql"]

LARGEST_SUM = 2**52


def subaggregate_sql(aggregate: SubAggregate, dialect: Dialect) -> str:
    words = words_of(dialect)
    if aggregate.argument is None:
        if aggregate.function != "count":
            raise InputError(f"{aggregate.function} in a subquery needs an argument")
        return _within(words.to_double("COUNT(*)"), aggregate.facts, words)
    value = expression_sql(aggregate.argument, dialect)
    match aggregate.function:
        case "count":
            return _within(words.to_double(f"COUNT({value})"), aggregate.facts, words)
        case "min" | "max":
            return _extreme(aggregate, value, words)
        case "sum":
            return _within(_sum(aggregate, value, words), aggregate.facts, words)
        case "avg":
            mean = (
                f"({_sum(aggregate, value, words)} / NULLIF({words.to_double(f'COUNT({value})')}, {words.number(0.0)}))"
            )
            return _within(mean, aggregate.facts, words)


def _extreme(aggregate: SubAggregate, value: str, words: Words) -> str:
    name = aggregate.function.upper()
    if aggregate.facts.type is Type.BOOLEAN and words.dialect == "postgres":
        name = "BOOL_AND" if name == "MIN" else "BOOL_OR"
    return f"{name}({value})"


def _sum(aggregate: SubAggregate, value: str, words: Words) -> str:
    assert aggregate.argument is not None
    facts = aggregate.argument.facts
    if not facts.type.numeric or not facts.bounded:
        raise InputError(
            f"{aggregate.function} in a subquery needs a number with bounds: {facts.why or 'declare them'}"
        )
    low, high = Fraction(facts.low), Fraction(facts.high)  # type: ignore[arg-type]  # numbers
    step = _step(facts, max(abs(low), abs(high)))
    least, most = (floor(end / step + Fraction(1, 2)) for end in (low, high))
    total = words.sum(steps_sql(value, step=step, offset=0, low=least, high=most, words=words))
    clamped = f"CAST(GREATEST(LEAST({total}, {LARGEST_SUM}), {-LARGEST_SUM}) AS BIGINT)"
    # over no values a sum is NULL, which GREATEST would pass over
    return f"CASE WHEN COUNT({value}) > 0 THEN {scaled_sql(words.to_double(clamped), step, words)} END"


def _step(facts: Facts, largest: Fraction) -> Fraction:
    """The declared step, one for integers, else a power of two that makes the most of 2^40 steps."""
    step = Fraction(1) if facts.type is Type.INTEGER else facts.step
    if step is not None and largest / step < LARGEST_STEPS:
        return step
    power = Fraction(1, 2**40)
    while largest / power >= LARGEST_STEPS:
        power *= 2
    return power


def _within(sql: str, facts: Facts, words: Words) -> str:
    if not facts.type.numeric or (facts.low is None and facts.high is None):
        return sql
    low, high = inward(
        None if facts.low is None else Fraction(facts.low),  # type: ignore[arg-type]  # a number
        None if facts.high is None else Fraction(facts.high),  # type: ignore[arg-type]  # a number
    )
    cases = [] if low is None else [f"WHEN {sql} < {words.number(low)} THEN {words.number(low)}"]
    cases += [] if high is None else [f"WHEN {sql} > {words.number(high)} THEN {words.number(high)}"]
    return f"CASE {' '.join(cases)} ELSE {sql} END"
