"""A plan as text that is the same for the same plan and for no other: its identity in the ledger and the cache."""

from dataclasses import fields, is_dataclass
from datetime import date, datetime
from enum import Enum
from fractions import Fraction
from typing import Any

from tacit.base import InputError
from tacit.plan.expression import Call, Column, Constant
from tacit.plan.facts import Facts

__all__ = ["describe"]


def describe(thing: Any) -> Any:
    """Plain data: expressions as one line of text, everything else as objects that name their kind."""
    match thing:
        case None | bool() | str():
            return thing
        case Enum():
            return thing.value
        case int():
            return thing
        case Fraction():
            return str(thing)
        case datetime() | date():
            return thing.isoformat()
        case Column() | Constant() | Call():
            return _line(thing)
        case Facts():
            known = {name: getattr(thing, name) for name in ("type", "low", "high", "step", "domain", "nullable")}
            return {name: describe(value) for name, value in known.items() if value is not None}
        case tuple() | list():
            return [describe(item) for item in thing]
    if is_dataclass(thing):
        found = {field.name: describe(getattr(thing, field.name)) for field in fields(thing)}
        return {"is": type(thing).__name__.lower(), **found}
    raise InputError(f"a plan has no {type(thing).__name__} in it")


def _line(expression: Any) -> str:
    match expression:
        case Column():
            return _quoted(expression.name, '"')
        case Constant():
            value = expression.value
            kind = "null" if value is None else type(value).__name__.lower()
            text = "" if value is None else value.isoformat() if isinstance(value, date) else str(value)
            return f"{kind}:{_quoted(text, chr(39))}:{expression.facts.type}"
        case _:
            return f"{expression.operation}({', '.join(_line(part) for part in expression.parts)})"


def _quoted(text: str, mark: str) -> str:
    return mark + text.replace("\\", "\\\\").replace(mark, "\\" + mark) + mark
