"""Arithmetic as SQL. PostgreSQL raises an error where a double overflows or underflows, so what can is tested before.

The tests are exact: scaled by powers of two, they ask whether the rounded result would leave the doubles. (A product
within a 2^-52nd of 2^-1075, half the smallest double, may be 0 in PostgreSQL and that double elsewhere.)
"""

from fractions import Fraction
from math import inf

from tacit.engine.writer import Render, Writer
from tacit.plan.expression import Call
from tacit.plan.facts import WHOLE, Facts, Type
from tacit.plan.operation_kind import whole_constant
from tacit.plan.operation_range import LARGEST, ends, size_of

__all__ = ["RENDERS", "largest", "nearest_sql", "product_sql", "saturated", "smallest", "whole_sql"]

TINY = Fraction(1, 2**1000)  # products and quotients from here on are normal


def largest(facts: Facts) -> Fraction | float:
    """How large values can be in size."""
    return min(size_of(*ends(facts)), Fraction(WHOLE if facts.type is Type.INTEGER else LARGEST))


def smallest(facts: Facts) -> Fraction:
    """How small in size what is not 0 can be. Of steps only whole ones are relied on: reading enforces no other."""
    low, high = ends(facts)
    away = max(low, -high)
    whole = Fraction(1) if facts.type is Type.INTEGER else Fraction(0)
    return max(whole, Fraction(away) if 0 < away < inf else Fraction(0), Fraction(5e-324))


def saturated(w: Writer, sql: str) -> str:
    """An infinity becomes the largest double; NULL stays."""
    top, bottom = w.number(LARGEST), w.number(-LARGEST)
    return w.let([sql], lambda p: f"(CASE WHEN {p} > {top} THEN {top} WHEN {p} < {bottom} THEN {bottom} ELSE {p} END)")


def _sum(w: Writer, call: Call, arguments: list[str], sign: str) -> str:
    x, y = arguments
    a, b = (argument.facts for argument in call.arguments)
    if largest(a) + largest(b) <= LARGEST:
        return f"({x} {sign} {y})"
    if w.dialect != "postgres":
        return saturated(w, f"({x} {sign} {y})")
    half, top = w.number(0.5), w.number(LARGEST)
    more, less = (">", "<") if sign == "+" else ("<", ">")
    return w.let(
        [x, y],
        lambda x, y: (
            f"(CASE WHEN LEAST(ABS({x}), ABS({y})) < {w.number(1)} THEN {x} {sign} {y}"
            f" WHEN ABS({x} * {half} {sign} {y} * {half}) <= {w.number(LARGEST / 2)} THEN {x} {sign} {y}"
            f" WHEN {x} > {w.number(0)} AND {y} {more} {w.number(0)} THEN {top}"
            f" WHEN {x} < {w.number(0)} AND {y} {less} {w.number(0)} THEN -{top} END)"
        ),
    )


def product_sql(w: Writer, a: Facts, b: Facts, x: str, y: str) -> str:
    """x·y, of values with these facts."""
    over = largest(a) * largest(b) > LARGEST
    under = smallest(a) * smallest(b) < TINY
    if w.dialect != "postgres":
        return saturated(w, f"({x} * {y})") if over else f"({x} * {y})"
    if not over and not under:
        return f"({x} * {y})"
    return w.let([x, y], lambda x, y: _guarded_product(w, x, y, over, under))


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


def _multiply(w: Writer, call: Call, arguments: list[str]) -> str:
    a, b = (argument.facts for argument in call.arguments)
    return product_sql(w, a, b, *arguments)


def _divide(w: Writer, call: Call, arguments: list[str]) -> str:
    a, b = (argument.facts for argument in call.arguments)
    over = largest(a) / smallest(b) > LARGEST
    under = smallest(a) / Fraction(largest(b) or 1) < TINY
    low, high = ends(b)
    if low > 0 or high < 0:
        if w.dialect != "postgres" and over:
            return saturated(w, f"({arguments[0]} / {arguments[1]})")
        if not (w.dialect == "postgres" and (over or under)):
            return f"({arguments[0]} / {arguments[1]})"
    if w.dialect != "postgres":
        quotient = w.let(arguments[1:], lambda y: f"(CASE WHEN {y} <> {w.number(0)} THEN {arguments[0]} / {y} END)")
        return saturated(w, quotient) if over else quotient
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


def whole_sql(w: Writer, function: str, x: str) -> str:
    """FLOOR, CEIL or TRUNC of a double as a double; those from 2^52 on are whole already."""
    if w.dialect != "spark":
        return f"{function}({x})"
    limit, zero = w.number(WHOLE / 2), w.number(0)

    def body(x: str) -> str:
        inside = (
            f"CASE WHEN {x} < {zero} THEN CEIL({x}) ELSE FLOOR({x}) END" if function == "TRUNC" else f"{function}({x})"
        )
        return f"(CASE WHEN ABS({x}) < {limit} THEN CAST({inside} AS DOUBLE) ELSE {x} END)"

    return w.let([x], body)


def _whole(function: str) -> Render:
    return lambda w, call, arguments: whole_sql(w, function, arguments[0])


def _div(w: Writer, call: Call, arguments: list[str]) -> str:
    return w.let(
        arguments,
        lambda x, y: f"(CASE WHEN {y} <> {w.number(0)} THEN {whole_sql(w, 'TRUNC', f'({x} / {y})')} END)",
    )


def _modulo(w: Writer, call: Call, arguments: list[str]) -> str:
    limit = w.number(WHOLE)

    def body(x: str, y: str) -> str:
        rest = f"{x} % {y}"
        if w.dialect == "postgres":
            rest = f"CAST(CAST({x} AS bigint) % CAST({y} AS bigint) AS float8)"
        return f"(CASE WHEN {y} <> {w.number(0)} AND ABS({x}) <= {limit} AND ABS({y}) <= {limit} THEN {rest} END)"

    return w.let(arguments, body)


def nearest_sql(w: Writer, x: str) -> str:
    """x to the nearest whole number, half away from 0."""
    return w.let(
        [x, whole_sql(w, "TRUNC", x)],
        lambda x, cut: (
            f"(CASE WHEN ABS({x} - {cut}) < {w.number(0.5)} THEN {cut}"
            f" WHEN {x} > {w.number(0)} THEN {cut} + {w.number(1)} ELSE {cut} - {w.number(1)} END)"
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


def _sign(w: Writer, call: Call, arguments: list[str]) -> str:
    return f"CAST(SIGN({arguments[0]}) AS DOUBLE)" if w.dialect == "duckdb" else f"SIGN({arguments[0]})"


RENDERS: dict[str, Render] = {
    "add": lambda w, call, arguments: _sum(w, call, arguments, "+"),
    "subtract": lambda w, call, arguments: _sum(w, call, arguments, "-"),
    "multiply": _multiply,
    "divide": _divide,
    "div": _div,
    "modulo": _modulo,
    "negate": lambda w, call, arguments: f"(- {arguments[0]})",
    "abs": lambda w, call, arguments: f"ABS({arguments[0]})",
    "sign": _sign,
    "floor": _whole("FLOOR"),
    "ceil": _whole("CEIL"),
    "trunc": _whole("TRUNC"),
    "round": _round,
}
