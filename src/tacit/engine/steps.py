"""A row's value as a whole number of steps: from here on nothing is ever rounded again but on purpose."""

from fractions import Fraction
from math import floor

from tacit.base import InputError
from tacit.engine.dialect import Dialect

__all__ = ["LARGEST_STEPS", "divided_sql", "factor", "scaled_sql", "steps_of", "steps_sql"]

LARGEST_STEPS = 2**40
NARROW = 2**31


def steps_sql(
    value: str,
    *,
    step: Fraction,
    offset: int,
    low: int,
    high: int,
    dialect: Dialect,
    within: tuple[float, float] | None = None,
) -> str:
    """floor(value/step + 1/2) − offset clamped to low..high, as an integer; NULL where the value is.

    `within` are the ends of a range that the value is known to lie in to the last bit. Rounded multiplication, addition
    and floor never change the order of two doubles, so if the ends need no clamping, nothing between them does.
    """
    if step <= 0 or low > high or max(abs(low), abs(high)) > LARGEST_STEPS or abs(offset) > LARGEST_STEPS:
        raise InputError(f"a row must be at most 2^40 steps of a positive size, and {low}..{high} of {step} are not")
    divided = divided_sql(value, step, dialect)
    shift = f" - {dialect.number(float(offset))}" if offset else ""
    # whole doubles need no rounding: FLOOR is left out only where the engine's own cast would round otherwise
    steps = f"(FLOOR({divided} + {dialect.number(0.5)}){shift})"
    # sums of narrow integers are the fastest that DuckDB has
    kind = "INTEGER" if max(abs(low), abs(high)) < NARROW and dialect.columnar else "BIGINT"
    if within is not None and all(low <= steps_of(end, step, offset) <= high for end in within):
        return f"CAST({steps} AS {kind})"
    least, most = dialect.number(float(low)), dialect.number(float(high))
    return (
        f"CASE WHEN {steps} BETWEEN {least} AND {most} THEN CAST({steps} AS {kind}) "
        f"WHEN {steps} < {least} THEN {low} WHEN {steps} > {most} THEN {high} END"
    )


def steps_of(value: float, step: Fraction, offset: int) -> int:
    """What `steps_sql` makes of a double before it clamps, in the same IEEE operations."""
    whole, by = factor(step)
    divided = value * by if whole else value / by
    return floor(divided + 0.5) - offset


def scaled_sql(steps: str, step: Fraction, dialect: Dialect) -> str:
    """So many steps as a double: the inverse, in one IEEE operation where step or its inverse is whole."""
    inverse, by = factor(step)
    return f"({steps} / {dialect.number(by)})" if inverse else f"({steps} * {dialect.number(by)})"


def divided_sql(value: str, step: Fraction, dialect: Dialect) -> str:
    """value/step in one IEEE operation; what is below a quarter of a step may be zero."""
    inverse, by = factor(step)
    if by == 1:
        return value
    if inverse:
        return f"{value} * {dialect.number(by)}"
    quotient = f"{value} / {dialect.number(by)}"
    if by > 1 and not dialect.total:  # where a quotient too small for a double is an error
        return f"CASE WHEN ABS({value}) < {dialect.number(by / 4)} THEN {dialect.number(0.0)} ELSE {quotient} END"
    return quotient


def factor(step: Fraction) -> tuple[bool, float]:
    """Whether to multiply by the inverse, and the number. A whole inverse makes 0.07 seven hundredths, exactly."""
    inverse = step.numerator == 1 and step.denominator <= 2**53
    number = float(step.denominator) if inverse else float(step)
    if number <= 0:
        raise InputError(f"a step of {step} is too small for a double")
    return inverse, number
