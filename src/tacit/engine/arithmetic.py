"""Arithmetic as SQL. PostgreSQL raises an error where a double overflows or underflows, so what can is tested before.

The tests are exact: scaled by powers of two, they ask whether the rounded result would leave the doubles. (A product
within a 2^-52nd of 2^-1075, half the smallest double, may be 0 in PostgreSQL and that double elsewhere.)
"""

from fractions import Fraction
from math import exp, inf

from tacit.engine.writer import Render, Writer
from tacit.plan.expression import Call, Constant
from tacit.plan.facts import WHOLE, Facts, Type
from tacit.plan.operation.kind import whole_constant
from tacit.plan.operation.number import POWER_LIMIT, POWER_STEEP, POWER_TINY
from tacit.plan.operation.range import LARGEST, ends, size_of

__all__ = ["RENDERS", "nearest_sql"]

TINY = Fraction(1, 2**1000)  # products and quotients from here on are normal


def _largest(facts: Facts) -> Fraction | float:
    """How large values can be in size."""
    return min(size_of(*ends(facts)), Fraction(WHOLE if facts.type is Type.INTEGER else LARGEST))


def _smallest(facts: Facts) -> Fraction:
    """How small in size what is not 0 can be. Of steps only whole ones are relied on: reading enforces no other."""
    low, high = ends(facts)
    away = max(low, -high)
    whole = Fraction(1) if facts.type is Type.INTEGER else Fraction(0)
    return max(whole, Fraction(away) if 0 < away < inf else Fraction(0), Fraction(5e-324))


def _saturated(w: Writer, sql: str) -> str:
    """An infinity becomes the largest double; NULL stays."""
    top, bottom = w.number(LARGEST), w.number(-LARGEST)
    return w.let([sql], lambda p: f"(CASE WHEN {p} > {top} THEN {top} WHEN {p} < {bottom} THEN {bottom} ELSE {p} END)")


def _sum(w: Writer, call: Call, arguments: list[str]) -> str:
    n, sign, more, less = w.number, *(("+", ">", "<") if call.operation == "add" else ("-", "<", ">"))
    a, b = (argument.facts for argument in call.arguments)
    plain = f" {sign} ".join(arguments)
    if _largest(a) + _largest(b) <= LARGEST:
        return f"({plain})"
    if w.dialect.total:
        return _saturated(w, f"({plain})")
    return w.let(
        arguments,
        lambda x, y: (
            f"(CASE WHEN LEAST(ABS({x}), ABS({y})) < {n(1)} THEN {x} {sign} {y}"
            f" WHEN ABS({x} * {n(0.5)} {sign} {y} * {n(0.5)}) <= {n(LARGEST / 2)} THEN {x} {sign} {y}"
            f" WHEN {x} > {n(0)} AND {y} {more} {n(0)} THEN {n(LARGEST)}"
            f" WHEN {x} < {n(0)} AND {y} {less} {n(0)} THEN -{n(LARGEST)} END)"
        ),
    )


def _multiply(w: Writer, call: Call, arguments: list[str]) -> str:
    a, b = (argument.facts for argument in call.arguments)
    over = _largest(a) * _largest(b) > LARGEST
    under = _smallest(a) * _smallest(b) < TINY
    plain = f"({arguments[0]} * {arguments[1]})"
    if w.dialect.total:
        return _saturated(w, plain) if over else plain
    return w.let(arguments, lambda x, y: _guarded_product(w, x, y, over, under)) if over or under else plain


def _guarded_product(w: Writer, x: str, y: str, over: bool, under: bool) -> str:
    n = w.number
    arms = [f"WHEN {x} = {n(0)} OR {y} = {n(0)} THEN {x} * {y}"]
    if over:
        scaled = f"ABS(({x} * {n(2.0**-600)}) * ({y} * {n(2.0**-450)}))"
        arms.append(
            f"WHEN ABS({x}) >= {n(1)} AND ABS({y}) >= {n(1)} THEN"
            f" CASE WHEN {scaled} <= {n(LARGEST * 2.0**-1000 * 2.0**-50)} THEN {x} * {y}"
            f" WHEN ({x} > {n(0)}) = ({y} > {n(0)}) THEN {n(LARGEST)} ELSE {n(-LARGEST)} END"
        )
    if under:
        scaled = f"ABS(({x} * {n(2.0**540)}) * ({y} * {n(2.0**540)}))"
        arms.append(
            f"WHEN ABS({x}) < {n(1)} AND ABS({y}) < {n(1)} AND LEAST(ABS({x}), ABS({y})) < {n(2.0**-500)} THEN"
            f" CASE WHEN {scaled} > {n(32)} THEN {x} * {y} ELSE {n(0)} END"
        )
    return f"(CASE {' '.join(arms)} ELSE {x} * {y} END)"


def _divide(w: Writer, call: Call, arguments: list[str]) -> str:
    a, b = (argument.facts for argument in call.arguments)
    over = _largest(a) / _smallest(b) > LARGEST
    under = _smallest(a) / Fraction(_largest(b) or 1) < TINY
    low, high = ends(b)
    plain, zero = f"({arguments[0]} / {arguments[1]})", not (low > 0 or high < 0)
    if w.dialect.total:
        if zero:
            plain = w.let(arguments, lambda x, y: f"(CASE WHEN {y} <> {w.number(0)} THEN {x} / {y} END)")
        return _saturated(w, plain) if over else plain
    if not (zero or over or under):
        return plain
    return w.let(arguments, lambda x, y: _guarded_quotient(w, x, y, over, under))


def _guarded_quotient(w: Writer, x: str, y: str, over: bool, under: bool) -> str:
    n = w.number
    arms = [f"WHEN {y} = {n(0)} THEN NULL"]
    if over:
        arms.append(
            f"WHEN ABS({y}) < {n(1)} AND ABS({x}) > {n(2.0**-60)} THEN"
            f" CASE WHEN ABS({x}) * {n(2.0**-24)} < ABS({y}) * {n(2.0**1000)} THEN {x} / {y}"
            f" WHEN ({x} > {n(0)}) = ({y} > {n(0)}) THEN {n(LARGEST)} ELSE {n(-LARGEST)} END"
        )
    if under:
        arms.append(
            f"WHEN ABS({y}) >= {n(1)} AND ABS({x}) < {n(2.0**-40)} THEN"
            f" CASE WHEN {x} = {n(0)} OR ABS({x}) * {n(2.0**1000)} > ABS({y}) * {n(2.0**-75)} THEN {x} / {y}"
            f" ELSE {n(0)} END"
        )
    return f"(CASE {' '.join(arms)} ELSE {x} / {y} END)"


def _div(w: Writer, call: Call, arguments: list[str]) -> str:
    return w.let(
        arguments,
        lambda x, y: f"(CASE WHEN {y} <> {w.number(0)} THEN {w.operation('trunc', [f'({x} / {y})'])} END)",
    )


def nearest_sql(w: Writer, x: str) -> str:
    """x to the nearest whole number, half away from 0."""
    n = w.number
    return w.let(
        [x, w.operation("trunc", [x])],
        lambda x, cut: (
            f"(CASE WHEN ABS({x} - {cut}) < {n(0.5)} THEN {cut}"
            f" WHEN {x} > {n(0)} THEN {cut} + {n(1)} ELSE {cut} - {n(1)} END)"
        ),
    )


def _round(w: Writer, call: Call, arguments: list[str]) -> str:
    digits = whole_constant(call.arguments[1]) if len(arguments) == 2 else 0
    if digits == 0:
        return nearest_sql(w, arguments[0])
    scale = 10.0 ** abs(digits)
    power = w.number(scale)

    def up(x: str) -> str:
        limit = w.number(WHOLE / 2 / scale)
        return f"(CASE WHEN ABS({x}) >= {limit} THEN {x} ELSE {nearest_sql(w, f'({x} * {power})')} / {power} END)"

    def down(x: str) -> str:
        near, limit = w.number(scale / 4), w.number(WHOLE / 2)
        return (
            f"(CASE WHEN ABS({x}) < {near} THEN {w.number(0)} WHEN ABS({x} / {power}) >= {limit} THEN {x}"
            f" ELSE {nearest_sql(w, f'({x} / {power})')} * {power} END)"
        )

    return w.let(arguments[:1], up if digits > 0 else down)


def _power(w: Writer, call: Call, arguments: list[str]) -> str:
    base, exponent = call.arguments
    if isinstance(exponent, Constant) and exponent.value in (2, 3):
        n = 2 if exponent.value == 2 else 3
        return w.let(arguments[:1], lambda x: _times_itself(w, base.facts, x, n))
    return w.let(arguments, lambda x, y: _general_power(w, x, y))


def _times_itself(w: Writer, facts: Facts, x: str, n: int) -> str:
    """x·x or x·x·x, which neither overflows nor underflows between these ends."""
    low, high = exp(-POWER_LIMIT / n), exp(POWER_LIMIT / n)
    product = f"({' * '.join([x] * n)})"
    if _smallest(facts) > low and _largest(facts) < high:
        return product
    top = w.number(LARGEST) if n == 2 else f"SIGN({x}) * {w.number(LARGEST)}"
    return (
        f"(CASE WHEN ABS({x}) < {w.number(low)} THEN {w.number(0)}"
        f" WHEN ABS({x}) > {w.number(high)} THEN {top} ELSE {product} END)"
    )


def _general_power(w: Writer, x: str, y: str) -> str:
    n = w.number
    size = f"({y} * LN(ABS({x})))"
    parity = f"{y} * {n(0.5)} <> FLOOR({y} * {n(0.5)})"
    return (
        f"(CASE WHEN {x} IS NULL OR {y} IS NULL THEN NULL"
        f" WHEN {x} = {n(0)} THEN CASE WHEN {y} > {n(0)} THEN {n(0)} WHEN {y} = {n(0)} THEN {n(1)} END"
        f" WHEN {x} < {n(0)} AND ABS({y}) < {n(2.0**52)} AND {y} <> FLOOR({y}) THEN NULL"
        f" WHEN ABS({y}) < {n(POWER_TINY)} THEN {n(1)}"
        f" WHEN ABS({y}) > {n(POWER_STEEP)} THEN CASE WHEN ABS({x}) = {n(1)} THEN {n(1)}"
        f" WHEN (ABS({x}) > {n(1)}) = ({y} > {n(0)}) THEN {n(LARGEST)} ELSE {n(0)} END"
        f" WHEN {size} > {n(POWER_LIMIT)} THEN"
        f" CASE WHEN {x} < {n(0)} AND ABS({y}) < {n(2.0**53)} AND {parity} THEN {n(-LARGEST)} ELSE {n(LARGEST)} END"
        f" WHEN {size} < {n(-POWER_LIMIT)} THEN {n(0)} ELSE POWER({x}, {y}) END)"
    )


RENDERS: dict[str, Render] = {
    "add": _sum, "subtract": _sum, "multiply": _multiply, "divide": _divide, "div": _div, "round": _round,
    "power": _power,
}  # fmt: skip
