"""Arithmetic on doubles. What engines disagree on is fixed here: division is always real division, x/0 is NULL."""

from collections.abc import Callable
from fractions import Fraction
from math import ceil, floor, fmod, inf, isinf, trunc

from tacit.base import InputError
from tacit.plan.facts import WHOLE, Facts, Type, exact_step
from tacit.plan.operation_kind import Arguments, Fit, Operation, Part, any_null, takes, whole_constant
from tacit.plan.operation_range import (
    LARGEST,
    End,
    common_step,
    dyadic,
    ends,
    is_whole,
    number_facts,
    outward,
    size_of,
    step_of,
    times,
    why_of,
)

__all__ = ["MOST_DIGITS", "NUMBER", "OPERATIONS", "rounded", "saturated"]

Cut = Callable[[float | Fraction], int]

MOST_DIGITS = 15
NUMBER = Part(what="a number", types=frozenset({Type.INTEGER, Type.NUMBER}))
DIGITS = Part(
    what=f"a constant whole number of digits from -{MOST_DIGITS} to {MOST_DIGITS}",
    types=frozenset({Type.INTEGER}),
    fixed=True,
    allows=lambda value: isinstance(value, int) and abs(value) <= MOST_DIGITS,
)


def saturated(x: float) -> float:
    """x, or the largest double with its sign."""
    return (LARGEST if x > 0 else -LARGEST) if isinf(x) else x


def _add_facts(arguments: Arguments) -> Facts:
    (a, b), (c, d) = (ends(argument.facts) for argument in arguments)
    return _sum(arguments, a + c, b + d)


def _subtract_facts(arguments: Arguments) -> Facts:
    (a, b), (c, d) = (ends(argument.facts) for argument in arguments)
    return _sum(arguments, a - d, b - c)


def _sum(arguments: Arguments, low: End, high: End) -> Facts:
    whole = all(is_whole(argument.facts) for argument in arguments)
    step = common_step(step_of(argument.facts) for argument in arguments)
    exact = all(exact_step(argument.facts) for argument in arguments)
    step = None if step is not None and dyadic(step) and not exact else step
    return number_facts(low, high, whole=whole, step=step, nullable=any_null(arguments), why=why_of(arguments))


def _multiply_facts(arguments: Arguments) -> Facts:
    x, y = (argument.facts for argument in arguments)
    if arguments[0] == arguments[1]:  # a square is not negative
        a, b = ends(x)
        low: End = Fraction(0) if a <= 0 <= b else min(times(a, a), times(b, b))
        high: End = max(times(a, a), times(b, b))
    else:
        corners = [times(a, b) for a in ends(x) for b in ends(y)]
        low, high = min(corners), max(corners)
    steps = step_of(x), step_of(y)
    step = None if steps[0] is None or steps[1] is None else steps[0] * steps[1]
    if step is not None and dyadic(step) and not (exact_step(x) and exact_step(y)):
        step = None
    whole = is_whole(x) and is_whole(y)
    return number_facts(low, high, whole=whole, step=step, nullable=any_null(arguments), why=why_of(arguments))


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


def _divide_facts(arguments: Arguments) -> Facts:
    x, y = (argument.facts for argument in arguments)
    a, b = ends(y)
    low, high = _quotients(x, y)
    if a <= 0 <= b and exact_step(y) is None:  # the divisor comes as near to 0 as it likes, from a side not known
        ends_x = ends(x)
        low, high = (-inf, inf) if ends_x != (0, 0) else (Fraction(0), Fraction(0))
    near = "the divisor can come near 0: keep it away with GREATEST, or bound the quotient with CLAMP"
    zero = a <= 0 <= b
    return number_facts(low, high, nullable=zero or any_null(arguments), why=why_of(arguments, near))


def _div_facts(arguments: Arguments) -> Facts:
    x, y = (argument.facts for argument in arguments)
    low, high = _quotients(x, y)
    a, b = ends(y)
    nullable = a <= 0 <= b or any_null(arguments)
    return number_facts(_cut(low), _cut(high), whole=True, nullable=nullable, why=why_of(arguments))


def _cut(end: End) -> End:
    return end if isinstance(end, float) else Fraction(trunc(end))


def _div(x: float, y: float) -> float | None:
    return None if y == 0 else _whole(x / y, trunc)


def _modulo_facts(arguments: Arguments) -> Facts:
    x, y = (argument.facts for argument in arguments)
    (a, b), (c, d) = ends(x), ends(y)
    size = max(min(size_of(c, d), Fraction(WHOLE)) - 1, Fraction(0))
    low, high = max(min(a, Fraction(0)), -size), min(max(b, Fraction(0)), size)
    nullable = c <= 0 <= d or size_of(a, b, c, d) > WHOLE or any_null(arguments)
    return number_facts(low, high, whole=True, nullable=nullable)


def _modulo(x: float, y: float) -> float | None:
    return None if y == 0 or max(abs(x), abs(y)) > WHOLE else fmod(x, y)


def _wholes(name: str) -> Fit:
    numbers = takes(name, NUMBER, NUMBER)

    def fit(arguments: Arguments) -> Arguments:
        arguments = numbers(arguments)
        if not all(is_whole(argument.facts) or argument.facts.domain == () for argument in arguments):
            raise InputError(f"{name} is for whole numbers: use FLOOR or ROUND on its arguments first")
        return arguments

    return fit


def _negate_facts(arguments: Arguments) -> Facts:
    (x,) = arguments
    low, high = ends(x.facts)
    return _same(x.facts, -high, -low)


def _same(x: Facts, low: End, high: End) -> Facts:
    return number_facts(low, high, whole=is_whole(x), step=x.step, nullable=x.nullable, why=x.why)


def _abs_facts(arguments: Arguments) -> Facts:
    (x,) = arguments
    low, high = ends(x.facts)
    return _same(x.facts, max(low, -high, Fraction(0)), max(-low, high))


def _sign_facts(arguments: Arguments) -> Facts:
    (x,) = arguments
    low, high = ((0 if end == 0 else 1 if end > 0 else -1) for end in ends(x.facts))
    return number_facts(Fraction(low), Fraction(high), whole=True, nullable=x.facts.nullable)


def _whole(x: float, cut: Cut) -> float:
    return float(cut(x)) if abs(x) < WHOLE / 2 else x


def _cut_facts(cut: Cut) -> Callable[[Arguments], Facts]:
    def facts(arguments: Arguments) -> Facts:
        (x,) = arguments
        low, high = (end if isinstance(end, float) else Fraction(cut(end)) for end in ends(x.facts))
        return number_facts(low, high, whole=True, nullable=x.facts.nullable, why=x.facts.why)

    return facts


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


def _round_facts(arguments: Arguments) -> Facts:
    x = arguments[0].facts
    digits = whole_constant(arguments[1]) if len(arguments) == 2 else 0
    low, high = (end if isinstance(end, float) else rounded(float(end), digits) for end in ends(x))
    bottom, top = outward(low, high) if digits else (_exact(low), _exact(high))
    size = size_of(bottom, top)
    step = Fraction(10) ** -digits if digits >= 0 or size <= WHOLE else None
    whole = digits <= 0 or is_whole(x)
    return number_facts(bottom, top, whole=whole, step=step, nullable=x.nullable, why=x.why)


def _exact(x: float) -> End:
    return x if isinf(x) else Fraction(x)


OPERATIONS = (
    Operation(
        name="add",
        about="x + y",
        fit=takes("add", NUMBER, NUMBER),
        facts=_add_facts,
        value=lambda x, y: saturated(x + y),
    ),
    Operation(
        name="subtract",
        about="x - y",
        fit=takes("subtract", NUMBER, NUMBER),
        facts=_subtract_facts,
        value=lambda x, y: saturated(x - y),
    ),
    Operation(
        name="multiply",
        about="x * y",
        fit=takes("multiply", NUMBER, NUMBER),
        facts=_multiply_facts,
        value=lambda x, y: saturated(x * y),
    ),
    Operation(
        name="divide",
        about="x / y as real numbers, also of whole ones; NULL where y is 0",
        fit=takes("divide", NUMBER, NUMBER),
        facts=_divide_facts,
        value=lambda x, y: None if y == 0 else saturated(x / y),
    ),
    Operation(
        name="div",
        about="the quotient of whole numbers, cut toward 0; NULL where y is 0",
        fit=_wholes("div"),
        facts=_div_facts,
        value=_div,
    ),
    Operation(
        name="modulo",
        about="the remainder of div, with the sign of x; NULL where y is 0 or a number is beyond 2^53",
        fit=_wholes("modulo"),
        facts=_modulo_facts,
        value=_modulo,
    ),
    Operation(name="negate", about="-x", fit=takes("negate", NUMBER), facts=_negate_facts, value=lambda x: -x),
    Operation(name="abs", about="the size of x", fit=takes("abs", NUMBER), facts=_abs_facts, value=abs),
    Operation(
        name="sign",
        about="-1, 0 or 1",
        fit=takes("sign", NUMBER),
        facts=_sign_facts,
        value=lambda x: float((x > 0) - (x < 0)),
    ),
    Operation(
        name="floor",
        about="the next whole number below",
        fit=takes("floor", NUMBER),
        facts=_cut_facts(floor),
        value=lambda x: _whole(x, floor),
    ),
    Operation(
        name="ceil",
        about="the next whole number above",
        fit=takes("ceil", NUMBER),
        facts=_cut_facts(ceil),
        value=lambda x: _whole(x, ceil),
    ),
    Operation(
        name="trunc",
        about="the next whole number toward 0",
        fit=takes("trunc", NUMBER),
        facts=_cut_facts(trunc),
        value=lambda x: _whole(x, trunc),
    ),
    Operation(
        name="round",
        about="x to a constant number of digits, half away from 0; unchanged where a double has no such digits",
        fit=takes("round", NUMBER, DIGITS, least=1),
        facts=_round_facts,
        value=rounded,
    ),
)
