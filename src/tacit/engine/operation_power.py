"""Roots, logarithms and powers as SQL, kept within the domains where no engine raises an error."""

from math import exp

from tacit.engine.operation_number import largest, smallest
from tacit.engine.writer import Render, Writer
from tacit.plan.expression import Call, Constant
from tacit.plan.facts import Facts
from tacit.plan.operation_power import EXP_HIGH, EXP_LOW, LN_2, POWER_LIMIT, POWER_STEEP, POWER_TINY
from tacit.plan.operation_range import LARGEST, ends

__all__ = ["RENDERS"]


def _sqrt(w: Writer, call: Call, arguments: list[str]) -> str:
    if ends(call.arguments[0].facts)[0] >= 0:
        return f"SQRT({arguments[0]})"
    return w.let(arguments, lambda x: f"(CASE WHEN {x} >= {w.number(0)} THEN SQRT({x}) END)")


def _log(function: str, divisor: float | None = None) -> Render:
    def render(w: Writer, call: Call, arguments: list[str]) -> str:
        name = "LOG" if function == "LOG10" and w.dialect == "postgres" else function
        over = "" if divisor is None else f" / {w.number(divisor)}"
        return w.let(arguments, lambda x: f"(CASE WHEN {x} > {w.number(0)} THEN {name}({x}){over} END)")

    return render


def _exp(w: Writer, call: Call, arguments: list[str]) -> str:
    low, high = w.number(EXP_LOW), w.number(EXP_HIGH)
    return w.let(
        arguments,
        lambda x: (
            f"(CASE WHEN {x} < {low} THEN {w.number(0)} WHEN {x} > {high} THEN {w.number(LARGEST)} ELSE EXP({x}) END)"
        ),
    )


def _power(w: Writer, call: Call, arguments: list[str]) -> str:
    base, exponent = call.arguments
    if isinstance(exponent, Constant) and exponent.value in (2, 3):
        n = 2 if exponent.value == 2 else 3
        return w.let(arguments[:1], lambda x: _times_itself(w, base.facts, x, n))
    return w.let(arguments, lambda x, y: _general(w, x, y))


def _times_itself(w: Writer, facts: Facts, x: str, n: int) -> str:
    """x·x or x·x·x, which neither overflows nor underflows between these ends."""
    low, high = exp(-POWER_LIMIT / n), exp(POWER_LIMIT / n)
    product = f"({' * '.join([x] * n)})"
    if smallest(facts) > low and largest(facts) < high:
        return product
    top = w.number(LARGEST) if n == 2 else f"SIGN({x}) * {w.number(LARGEST)}"
    return (
        f"(CASE WHEN ABS({x}) < {w.number(low)} THEN {w.number(0)}"
        f" WHEN ABS({x}) > {w.number(high)} THEN {top} ELSE {product} END)"
    )


def _general(w: Writer, x: str, y: str) -> str:
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
    "sqrt": _sqrt,
    "ln": _log("LN"),
    "log10": _log("LOG10"),
    "log2": _log("LN", LN_2),
    "exp": _exp,
    "power": _power,
}
