"""Ranges of numbers, computed so that they hold for doubles: each end is itself rounded as the engine rounds.

Rounding to nearest is monotone, so a result between two exact ends has its double between theirs.
"""

from collections.abc import Iterable
from fractions import Fraction
from math import ceil, floor, gcd, inf
from sys import float_info

from tacit.plan.expression import Expression
from tacit.plan.facts import WHOLE, Facts, Type, Value

__all__ = ["LARGEST", "End", "common_step", "dyadic", "ends", "is_whole", "number_facts", "size_of", "step_of",
           "why_of"]  # fmt: skip

LARGEST = float_info.max  # what is beyond becomes this, with its sign

End = Fraction | float
"""The end of a range: an exact number, or an infinity where there is none."""


def ends(facts: Facts) -> tuple[End, End]:
    """Between what doubles the values lie."""
    low, high = (end if end is None else _double(end) for end in (facts.low, facts.high))
    return -inf if low is None else low, inf if high is None else high


def _double(value: Value) -> End:
    assert isinstance(value, int | Fraction)  # of a number
    try:
        return Fraction(float(value))
    except OverflowError:
        return inf if value > 0 else -inf


def is_whole(facts: Facts) -> bool:
    """Whether every value is a whole number."""
    return facts.type is Type.INTEGER or (
        facts.type is Type.NUMBER and facts.step is not None and facts.step.denominator == 1
    )


def number_facts(
    low: End, high: End, *, whole: bool = False, step: Fraction | None = None, nullable: bool, why: str = ""
) -> Facts:
    """Facts of doubles that are the rounded results of exact ones in low..high; INTEGER where doubles hold them all."""
    bottom, top = (end if isinstance(end, float) else _double(end) for end in (low, high))
    bottom = -inf if bottom == -inf else min(bottom, Fraction(LARGEST))
    top = inf if top == inf else max(top, Fraction(-LARGEST))
    size = size_of(bottom, top)
    if whole:
        step = step if step is not None and step.denominator == 1 and size <= WHOLE else Fraction(1)
    elif step is not None and dyadic(step) and (size == inf or size > WHOLE * step):
        step = None
    integer = whole and size <= WHOLE
    return Facts(
        type=Type.INTEGER if integer else Type.NUMBER,
        low=None if isinstance(bottom, float) else ceil(bottom) if integer else bottom,
        high=None if isinstance(top, float) else floor(top) if integer else top,
        step=step,
        nullable=nullable,
        why="" if size < inf else why,
    )


def size_of(*ends: End) -> End:
    """How far from 0 the farthest is."""
    return max(max(end, -end) for end in ends)


def dyadic(step: Fraction) -> bool:
    """Whether doubles hold multiples of it exactly."""
    return step.denominator & (step.denominator - 1) == 0


def step_of(facts: Facts) -> Fraction | None:
    """The step, which of whole numbers is at least 1."""
    return facts.step or (Fraction(1) if facts.type is Type.INTEGER else None)


def common_step(steps: Iterable[Fraction | None]) -> Fraction | None:
    """The largest step of which all the others are multiples."""
    found: Fraction | None = None
    for step in steps:
        if step is None:
            return None
        found = step if found is None else _gcd(found, step)
    return found


def _gcd(a: Fraction, b: Fraction) -> Fraction:
    return Fraction(gcd(a.numerator * b.denominator, b.numerator * a.denominator), a.denominator * b.denominator)


def why_of(*arguments: Expression, otherwise: str = "") -> str:
    """What to declare so that the arguments have bounds."""
    return next((argument.facts.why for argument in arguments if argument.facts.why), otherwise)
