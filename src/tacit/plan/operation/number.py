"""Arithmetic on doubles. What engines disagree on is fixed here: division is always real division, x/0 is NULL, and
there is a value everywhere: NULL outside a function's domain, the largest double beyond doubles.

Sums, products, quotients and square roots are the same to the last bit in every engine. Logarithms and powers may
differ in the last digits between C libraries and Java's, so a row may, very rarely, fall on the other side of a
rounding in another engine. Ranges allow for it.
"""

from collections.abc import Callable
from fractions import Fraction
from functools import partial
from math import ceil, exp, floor, fmod, inf, isinf, log, log10, nextafter, sqrt, trunc

from tacit.base import InputError
from tacit.plan.expression import Expression
from tacit.plan.facts import WHOLE, Facts, Type, exact_step
from tacit.plan.operation.kind import NUMBER, ArgumentKind, Arguments, Operation, any_null, takes, whole_constant
from tacit.plan.operation.range import (
    LARGEST,
    End,
    common_step,
    dyadic,
    ends,
    is_whole,
    number_facts,
    size_of,
    step_of,
    why_of,
)

__all__ = ["OPERATIONS", "POWER_LIMIT", "POWER_STEEP", "POWER_TINY", "rounded", "saturated"]

Cut = Callable[[float | Fraction], int]

MOST_DIGITS = 15
ULPS = 4  # by how much library functions may miss, generously
LN_2 = 0.6931471805599453  # log2 is ln divided by it, everywhere
EXP_LOW, EXP_HIGH = -708.0, 709.0  # beyond: 0, and the largest double
POWER_LIMIT = 700.0  # the same for y·ln|x|
POWER_TINY = 1e-290  # exponents nearer to 0 give 1
POWER_STEEP = 1e20  # exponents beyond are even, and give 0, 1 or the largest double
DIGITS = ArgumentKind(
    f"a constant whole number of digits from -{MOST_DIGITS} to {MOST_DIGITS}",
    (Type.INTEGER,),
    lambda value: isinstance(value, int) and abs(value) <= MOST_DIGITS,
)


def saturated(x: float) -> float:
    """x, or the largest double with its sign."""
    return (LARGEST if x > 0 else -LARGEST) if isinf(x) else x


def _times(a: End, b: End) -> End:
    """a·b for ends, where 0·∞ is 0: no value is infinite."""
    return Fraction(0) if a == 0 or b == 0 else a * b


def _outward(low: float, high: float, ulps: int = ULPS) -> tuple[End, End]:
    """A range that a library function, and another engine's, stays within."""
    for _ in range(ulps):
        low, high = nextafter(low, -inf), nextafter(high, inf)
    return (low if isinf(low) else Fraction(low)), (high if isinf(high) else Fraction(high))


def _sum_facts(x: Expression, y: Expression, *, minus: bool = False) -> Facts:
    (a, b), (c, d) = ends(x.facts), ends(y.facts)
    low, high = (a - d, b - c) if minus else (a + c, b + d)
    return _combined(x, y, low, high, common_step((step_of(x.facts), step_of(y.facts))))


def _combined(x: Expression, y: Expression, low: End, high: End, step: Fraction | None) -> Facts:
    """A sum or a product. Its step is kept where doubles hold it: exactly, or not at all."""
    if step is not None and dyadic(step) and not (exact_step(x.facts) and exact_step(y.facts)):
        step = None
    whole = is_whole(x.facts) and is_whole(y.facts)
    return number_facts(low, high, whole=whole, step=step, nullable=any_null(x, y), why=why_of(x, y))


def _multiply_facts(x: Expression, y: Expression) -> Facts:
    corners = [_times(a, b) for a in ends(x.facts) for b in ends(y.facts)]
    if x == y:  # a square is not negative
        a, b = ends(x.facts)
        corners = [_times(a, a), _times(b, b), *([Fraction(0)] if a <= 0 <= b else [])]
    steps = step_of(x.facts), step_of(y.facts)
    step = None if steps[0] is None or steps[1] is None else steps[0] * steps[1]
    return _combined(x, y, min(corners), max(corners), step)


def _quotients(x: Facts, y: Facts) -> tuple[End, End]:
    """The range of x/y over y that is not 0, which a step keeps away from 0."""
    step = exact_step(y)
    a, b = ends(y)
    sides: list[tuple[End, End]] = []
    if b > 0:
        sides.append((max(a, step or 0), b))
    if a < 0:
        sides.append((a, min(b, -(step or 0))))
    corners = [_over(n, d) for side in sides for n in ends(x) for d in side] or [Fraction(0)]
    return min(corners), max(corners)


def _over(n: End, d: End) -> End:
    if n == 0 or d in (inf, -inf):
        return Fraction(0) if n not in (inf, -inf) or d not in (inf, -inf) else n * (1 if d > 0 else -1)
    return n / d if d != 0 else inf if n > 0 else -inf


def _divide_facts(x: Expression, y: Expression) -> Facts:
    a, b = ends(y.facts)
    low, high = _quotients(x.facts, y.facts)
    zero = a <= 0 <= b
    if zero and exact_step(y.facts) is None:  # the divisor comes as near to 0 as it likes, from a side not known
        low, high = (-inf, inf) if ends(x.facts) != (0, 0) else (Fraction(0), Fraction(0))
    near = "the divisor can come near 0: keep it away with GREATEST, or bound the quotient with CLAMP"
    return number_facts(low, high, nullable=zero or any_null(x, y), why=why_of(x, y, otherwise=near))


def _div_facts(x: Expression, y: Expression) -> Facts:
    low, high = (_cut(end, trunc) for end in _quotients(x.facts, y.facts))
    a, b = ends(y.facts)
    return number_facts(low, high, whole=True, nullable=a <= 0 <= b or any_null(x, y), why=why_of(x, y))


def _cut(end: End, cut: Cut) -> End:
    return end if isinstance(end, float) else Fraction(cut(end))


def _modulo_facts(x: Expression, y: Expression) -> Facts:
    (a, b), (c, d) = ends(x.facts), ends(y.facts)
    size = max(min(size_of(c, d), Fraction(WHOLE)) - 1, Fraction(0))
    low, high = max(min(a, Fraction(0)), -size), min(max(b, Fraction(0)), size)
    nullable = c <= 0 <= d or size_of(a, b, c, d) > WHOLE or any_null(x, y)
    return number_facts(low, high, whole=True, nullable=nullable)


def _wholes(name: str, arguments: Arguments) -> Arguments:
    arguments = takes(NUMBER, NUMBER)(name, arguments)
    if not all(is_whole(argument.facts) or argument.facts.domain == () for argument in arguments):
        raise InputError(f"{name} is for whole numbers: use FLOOR or ROUND on its arguments first")
    return arguments


def _same(x: Facts, low: End, high: End) -> Facts:
    return number_facts(low, high, whole=is_whole(x), step=x.step, nullable=x.nullable, why=x.why)


def _negate_facts(x: Expression) -> Facts:
    low, high = ends(x.facts)
    return _same(x.facts, -high, -low)


def _abs_facts(x: Expression) -> Facts:
    low, high = ends(x.facts)
    return _same(x.facts, max(low, -high, Fraction(0)), max(-low, high))


def _sign_facts(x: Expression) -> Facts:
    low, high = (Fraction((end > 0) - (end < 0)) for end in ends(x.facts))
    return number_facts(low, high, whole=True, nullable=x.facts.nullable)


def _whole(x: float, cut: Cut) -> float:
    return float(cut(x)) if abs(x) < WHOLE / 2 else x


def _cut_to(name: str, where: str, cut: Cut) -> Operation:
    def facts(x: Expression) -> Facts:
        low, high = (_cut(end, cut) for end in ends(x.facts))
        return number_facts(low, high, whole=True, nullable=x.facts.nullable, why=x.facts.why)

    about, sql = f"the next whole number {where}", f"{name.upper()}({{x}})"
    return Operation(name, about, takes(NUMBER), facts, lambda x: _whole(x, cut), sql)


def rounded(x: float, digits: float = 0.0) -> float:
    """Half away from zero, in steps of doubles that every engine takes alike: scale, round, scale back."""
    if digits == 0:
        if abs(x) >= WHOLE / 2:
            return x
        cut = float(trunc(x))
        return cut + (1.0 if x > 0 else -1.0) if abs(x - cut) >= 0.5 else cut
    power = 10.0 ** abs(int(digits))
    if digits > 0:
        return x if abs(x) >= WHOLE / 2 / power else rounded(x * power) / power
    if abs(x) < power / 4:
        return 0.0
    return x if abs(x / power) >= WHOLE / 2 else rounded(x / power) * power


def _round_facts(x: Expression, given: Expression | None = None) -> Facts:
    digits = 0 if given is None else whole_constant(given)
    low, high = (end if isinstance(end, float) else rounded(float(end), digits) for end in ends(x.facts))
    bottom, top = _outward(low, high) if digits else _outward(low, high, ulps=0)
    step = Fraction(10) ** -digits if digits >= 0 or size_of(bottom, top) <= WHOLE else None
    whole = digits <= 0 or is_whole(x.facts)
    return number_facts(bottom, top, whole=whole, step=step, nullable=x.facts.nullable, why=x.facts.why)


def _sqrt_facts(x: Expression) -> Facts:
    low, high = ends(x.facts)
    bottom, top = (end if end == inf else Fraction(sqrt(max(end, Fraction(0)))) for end in (low, high))
    return number_facts(bottom, top, nullable=low < 0 or x.facts.nullable, why=x.facts.why)


def _logarithm(name: str, kind: str, log_of: Callable[[float], float], sql: str) -> Operation:
    def facts(x: Expression) -> Facts:
        low, high = ends(x.facts)
        smallest, largest = 5e-324, LARGEST  # of what a double can be
        bottom = log_of(min(max(float(low), smallest), largest))
        top = log_of(max(min(float(high), largest), smallest))
        return number_facts(*_outward(bottom, top), nullable=low <= 0 or x.facts.nullable)

    about = f"the {kind} logarithm; NULL of what is not positive"
    sql = f"(CASE WHEN {{x}} > {{n[0]}} THEN {sql} END)"
    return Operation(name, about, takes(NUMBER), facts, lambda x: log_of(x) if x > 0 else None, sql, exact=False)


def _exp(x: float) -> float:
    return 0.0 if x < EXP_LOW else LARGEST if x > EXP_HIGH else exp(x)


def _exp_facts(x: Expression) -> Facts:
    low, high = ends(x.facts)
    bottom, top = _outward(_exp(float(low)), inf if high > EXP_HIGH else _exp(float(high)))
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


def _power_facts(x: Expression, y: Expression) -> Facts:
    (a, b), (c, d) = ends(x.facts), ends(y.facts)
    whole = is_whole(y.facts)
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
    nullable = any_null(x, y) or (a <= 0 <= b and c < 0) or (a < 0 and not whole)
    return number_facts(low, high, nullable=nullable, why=why_of(x, y, otherwise="bound the base and the exponent"))


def _spread(low: float, high: float) -> tuple[End, End]:
    """Outward, and on to the jumps at both ends of what `_power` computes."""
    low = 0.0 if 0 < low < exp(-POWER_LIMIT) * 1.001 else low
    return _outward(low, LARGEST if high > exp(POWER_LIMIT) * 0.999 else high)


OPERATIONS = (
    Operation("add", "x + y", takes(NUMBER, NUMBER), _sum_facts, lambda x, y: saturated(x + y)),
    Operation("subtract", "x - y", takes(NUMBER, NUMBER), partial(_sum_facts, minus=True),
              lambda x, y: saturated(x - y)),
    Operation("multiply", "x * y", takes(NUMBER, NUMBER), _multiply_facts, lambda x, y: saturated(x * y)),
    Operation("divide", "x / y as real numbers, also of whole ones; NULL where y is 0", takes(NUMBER, NUMBER),
              _divide_facts, lambda x, y: None if y == 0 else saturated(x / y)),
    Operation("div", "the quotient of whole numbers, cut toward 0; NULL where y is 0", _wholes, _div_facts,
              lambda x, y: None if y == 0 else _whole(x / y, trunc)),
    Operation("modulo", "the remainder of div, with the sign of x; NULL where y is 0 or a number is beyond 2^53",
              _wholes, _modulo_facts, lambda x, y: None if y == 0 or max(abs(x), abs(y)) > WHOLE else fmod(x, y),
              f"(CASE WHEN {{y}} <> {{n[0]}} AND ABS({{x}}) <= {{n[{WHOLE}]}} AND ABS({{y}}) <= {{n[{WHOLE}]}} "
              "THEN {x} % {y} END)"),
    Operation("negate", "-x", takes(NUMBER), _negate_facts, lambda x: -x, "(- {x})"),
    Operation("abs", "the size of x", takes(NUMBER), _abs_facts, abs, "ABS({x})"),
    Operation("sign", "-1, 0 or 1", takes(NUMBER), _sign_facts, lambda x: float((x > 0) - (x < 0)), "SIGN({x})"),
    _cut_to("floor", "below", floor),
    _cut_to("ceil", "above", ceil),
    _cut_to("trunc", "toward 0", trunc),
    Operation("round", "x to a constant number of digits, half away from 0; unchanged where a double has no such "
              "digits", takes(NUMBER, DIGITS, least=1), _round_facts, rounded),
    Operation("sqrt", "the square root; NULL of what is negative", takes(NUMBER), _sqrt_facts,
              lambda x: sqrt(x) if x >= 0 else None, "(CASE WHEN {x} >= {n[0]} THEN SQRT({x}) END)"),
    _logarithm("ln", "natural", log, "LN({x})"),
    _logarithm("log10", "decimal", log10, "LOG10({x})"),
    _logarithm("log2", "binary", lambda x: log(x) / LN_2, f"LN({{x}}) / {{n[{LN_2}]}}"),
    Operation("exp", "e^x; 0 below -708 and the largest double above 709", takes(NUMBER), _exp_facts, _exp,
              f"(CASE WHEN {{x}} < {{n[{EXP_LOW}]}} THEN {{n[0]}} WHEN {{x}} > {{n[{EXP_HIGH}]}} THEN {{n[{LARGEST}]}}"
              " ELSE EXP({x}) END)", exact=False),
    Operation("power", "x^y; NULL of 0 to a negative power and of a negative number to a power that is not whole",
              takes(NUMBER, NUMBER), _power_facts, _power, exact=False),
)  # fmt: skip
