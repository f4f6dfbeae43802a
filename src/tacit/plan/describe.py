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
            return thing.line
        case Facts():
            known = {name: getattr(thing, name) for name in ("type", "low", "high", "step", "domain", "nullable")}
            return {name: describe(value) for name, value in known.items() if value is not None}
        case tuple() | list():
            return [describe(item) for item in thing]
    if is_dataclass(thing):
        found = {
            field.name: describe(getattr(thing, field.name))
            for field in fields(thing)
            if field.metadata.get("described", True)
        }
        return {"is": type(thing).__name__.lower(), **found}
    raise InputError(f"a plan has no {type(thing).__name__} in it")
