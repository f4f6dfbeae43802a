"""Roots, logarithms and powers, with a value everywhere: NULL outside the domain, the largest double beyond doubles.

Square roots are the same to the last bit in every engine. The others may differ in the last digits between C libraries
and Java's, so a row may, very rarely, fall on the other side of a rounding in another engine. Ranges allow for it.
"""

from collections.abc import Callable
from fractions import Fraction
from math import exp, floor, fmod, inf, log, log10, sqrt

from tacit.plan.facts import Facts
from tacit.plan.operation_kind import Arguments, Operation, any_null, takes
from tacit.plan.operation_number import NUMBER
from tacit.plan.operation_range import LARGEST, End, ends, is_whole, number_facts, outward, size_of, why_of

__all__ = ["EXP_HIGH", "EXP_LOW", "LN_2", "OPERATIONS", "POWER_LIMIT", "POWER_STEEP", "POWER_TINY"]

LN_2 = 0.6931471805599453  # log2 is ln divided by it, everywhere
EXP_LOW, EXP_HIGH = -708.0, 709.0  # beyond: 0, and the largest double
POWER_LIMIT = 700.0  # the same for y·ln|x|
POWER_TINY = 1e-290  # exponents nearer to 0 give 1
POWER_STEEP = 1e20  # exponents beyond are even, and give 0, 1 or the largest double


def _sqrt_facts(arguments: Arguments) -> Facts:
    (x,) = arguments
    low, high = ends(x.facts)
    root = [end if end == inf else Fraction(sqrt(max(end, Fraction(0)))) for end in (low, high)]
    return number_facts(root[0], root[1], nullable=low < 0 or x.facts.nullable, why=x.facts.why)


def _log_facts(log_of: Callable[[float], float]) -> Callable[[Arguments], Facts]:
    def facts(arguments: Arguments) -> Facts:
        (x,) = arguments
        low, high = ends(x.facts)
        smallest, largest = 5e-324, LARGEST  # of what a double can be
        bottom = log_of(min(max(float(low), smallest), largest))
        top = log_of(max(min(float(high), largest), smallest))
        return number_facts(*outward(bottom, top), nullable=low <= 0 or x.facts.nullable)

    return facts


def _exp(x: float) -> float:
    return 0.0 if x < EXP_LOW else LARGEST if x > EXP_HIGH else exp(x)


def _exp_facts(arguments: Arguments) -> Facts:
    (x,) = arguments
    low, high = ends(x.facts)
    bottom, top = outward(_exp(float(low)), inf if high > EXP_HIGH else _exp(float(high)))
    return number_facts(max(bottom, Fraction(0)), top, nullable=x.facts.nullable, why=x.facts.why)


def _power(x: float, y: float) -> float | None:
    if x == 0:
        return None if y < 0 else 1.0 if y == 0 else 0.0
    if x < 0 and y != floor(y):
        return None
    if abs(y) < POWER_TINY:
        return 1.0
    if abs(y) > POWER_STEEP:
        return 1.0 if abs(x) == 1 else LARGEST if (abs(x) > 1) == (y > 0) else 0.0
    size = y * log(abs(x))
    if size > POWER_LIMIT:
        return -LARGEST if x < 0 and fmod(y, 2) != 0 else LARGEST
    if size < -POWER_LIMIT:
        return 0.0
    return x * x if y == 2 else x * x * x if y == 3 else float(x**y)  # as it is written for constants


def _power_facts(arguments: Arguments) -> Facts:
    (a, b), (c, d) = (ends(argument.facts) for argument in arguments)
    whole = is_whole(arguments[1].facts)
    low: End = Fraction(0) if a >= 0 else -inf
    high: End = inf
    if size_of(a, b, c, d) < inf:
        sizes = [_power(float(x), float(y)) or 0.0 for x in (a, b) for y in (c, d)]
        if a > 0:  # monotone in each, so the corners hold the ends
            low, high = _spread(min(sizes), max(sizes))
        elif a == 0 and c >= 0:  # 0^0 is 1
            low, high = _spread(0.0, max(1.0, *sizes))
        elif whole and c == d and c >= 0:
            low, high = _spread(0.0 if int(c) % 2 == 0 else min(sizes), max(1.0, *sizes))
    nullable = any_null(arguments) or (a <= 0 <= b and c < 0) or (a < 0 and not whole)
    return number_facts(low, high, nullable=nullable, why=why_of(arguments, "bound the base and the exponent"))


def _spread(low: float, high: float) -> tuple[End, End]:
    """Outward, and on to the jumps at both ends of what `_power` computes."""
    low = 0.0 if 0 < low < exp(-POWER_LIMIT) * 1.001 else low
    return outward(low, LARGEST if high > exp(POWER_LIMIT) * 0.999 else high)


def _positive(log_of: Callable[[float], float]) -> Callable[[float], float | None]:
    return lambda x: log_of(x) if x > 0 else None


def _log2(x: float) -> float:
    return log(x) / LN_2


OPERATIONS = (
    Operation(
        name="sqrt",
        about="the square root; NULL of what is negative",
        fit=takes("sqrt", NUMBER),
        facts=_sqrt_facts,
        value=lambda x: sqrt(x) if x >= 0 else None,
    ),
    *(
        Operation(
            name=name,
            about=f"the {words} logarithm; NULL of what is not positive",
            fit=takes(name, NUMBER),
            facts=_log_facts(log_of),
            value=_positive(log_of),
            exact=False,
        )
        for name, words, log_of in (("ln", "natural", log), ("log10", "decimal", log10), ("log2", "binary", _log2))
    ),
    Operation(
        name="exp",
        about="e^x; 0 below -708 and the largest double above 709",
        fit=takes("exp", NUMBER),
        facts=_exp_facts,
        value=_exp,
        exact=False,
    ),
    Operation(
        name="power",
        about="x^y; NULL of 0 to a negative power and of a negative number to a power that is not whole",
        fit=takes("power", NUMBER, NUMBER),
        facts=_power_facts,
        value=_power,
        exact=False,
    ),
)
