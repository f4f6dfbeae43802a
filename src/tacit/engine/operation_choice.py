"""Choices as SQL. LEAST and GREATEST leave NULLs out in every engine."""

from tacit.engine.operation_logic import binary
from tacit.engine.writer import Render, Writer
from tacit.plan.expression import Call
from tacit.plan.facts import Type

__all__ = ["RENDERS"]


def _case(w: Writer, call: Call, arguments: list[str]) -> str:
    pairs = zip(arguments[0:-1:2], arguments[1::2], strict=True)
    arms = " ".join(f"WHEN {condition} THEN {value}" for condition, value in pairs)
    return f"(CASE {arms} ELSE {arguments[-1]} END)"


def _switch(w: Writer, call: Call, arguments: list[str]) -> str:
    """As a searched CASE over a value that is named where it is long: engines write a simple CASE out like this, too,
    with the value once for each arm, so that nested ones would double it every time."""
    text = w.dialect == "postgres" and call.arguments[0].facts.type is Type.TEXT
    collated = ' COLLATE "C"' if text else ""
    pairs = list(zip(arguments[1:-1:2], arguments[2::2], strict=False))

    def body(x: str) -> str:
        arms = " ".join(f"WHEN ({x}{collated}) = {value} THEN {outcome}" for value, outcome in pairs)
        return f"(CASE {arms} ELSE {arguments[-1]} END)"

    return w.let(arguments[:1], body)


def _nullif(w: Writer, call: Call, arguments: list[str]) -> str:
    text = w.dialect == "postgres" and call.facts.type is Type.TEXT
    collated = ' COLLATE "C"' if text else ""
    return w.let(arguments[:1], lambda x: f"(CASE WHEN ({x}{collated}) = {arguments[1]} THEN NULL ELSE {x} END)")


def _extreme(w: Writer, call: Call, arguments: list[str]) -> str:
    if len(arguments) == 1:
        return arguments[0]
    return f"{call.operation.upper()}({', '.join(binary(w, call, arguments))})"


def _clamp(w: Writer, call: Call, arguments: list[str]) -> str:
    return w.let(
        arguments,
        lambda x, low, high: f"(CASE WHEN {x} < {low} THEN {low} WHEN {x} > {high} THEN {high} ELSE {x} END)",
    )


RENDERS: dict[str, Render] = {
    "case": _case,
    "switch": _switch,
    "if": _case,
    "coalesce": lambda w, call, arguments: f"COALESCE({', '.join(arguments)})",
    "nullif": _nullif,
    "least": _extreme,
    "greatest": _extreme,
    "clamp": _clamp,
}
