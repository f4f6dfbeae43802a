"""A plan in words for people, and as plain data for programs that are stored."""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from datetime import date, datetime
from enum import Enum
from fractions import Fraction
from typing import Any

from tacit.base import InputError
from tacit.plan.expression import Call, Column, Constant, Expression
from tacit.plan.facts import Facts, Value
from tacit.plan.node import Node, scans_of
from tacit.plan.question import Aggregate

__all__ = ["SIGNS", "describe", "show_aggregate", "show_expression", "show_value"]

NAMELESS: Mapping[str, str] = {}
SIGNS = {"add": "+", "subtract": "-", "multiply": "*", "divide": "/", "modulo": "%", "eq": "=", "ne": "<>", "lt": "<",
         "le": "<=", "gt": ">", "ge": ">=", "and": "and", "or": "or"}  # fmt: skip


SPELLED = {"quantile": "QUANTILE", "mode": "MODE", "histogram": "HISTOGRAM", "var_samp": "VARIANCE",
           "stddev_samp": "STDDEV", "count_distinct": "COUNT", "sum_distinct": "SUM"}  # fmt: skip


def show_aggregate(aggregate: Aggregate, source: Node, called: Mapping[str, str] = NAMELESS) -> str:
    """An aggregate as SQL has it, about: by what it means and not by how it was written. Columns are called as in their
    tables, or as they are `called`."""
    names = {column.name: column.column for scan in scans_of(source) for column in scan.columns} | {**called}
    arguments = [show_expression(argument, names) for argument in aggregate.arguments]
    function = SPELLED.get(aggregate.function, aggregate.function.upper())
    match aggregate.function:
        case "count" if not arguments:
            return "COUNT(*)"
        case "count_units":
            unit = names.get(source.unit or "", "*")
            return f"COUNT(DISTINCT {unit})" + (f" FILTER (WHERE {arguments[0]} IS NOT NULL)" if arguments else "")
        case "count_distinct" | "sum_distinct":
            arguments[0] = f"DISTINCT {arguments[0]}"
        case "quantile" if aggregate.fraction == Fraction(1, 2):
            function = "MEDIAN"
        case "quantile":
            arguments.append(show_value(aggregate.fraction))
    more = [aggregate.cap, aggregate.top, aggregate.cells]
    return f"{function}({', '.join([*arguments, *(str(each) for each in more if each is not None)])})"


def show_expression(expression: Expression, names: Mapping[str, str] = NAMELESS) -> str:
    """An expression on one line; `names` are what columns are called."""
    if isinstance(expression, Column):
        return names.get(expression.name, expression.name)
    if isinstance(expression, Constant):
        return show_value(expression.value)
    name = getattr(expression, "operation", "?")
    parts = [show_expression(part, names) for part in expression.parts]
    return f"({f' {SIGNS[name]} '.join(parts)})" if name in SIGNS else f"{name}({', '.join(parts)})"


def show_value(value: Value) -> str:
    """A constant as SQL has it."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case str():
            return "'" + value.replace("'", "''") + "'"
        case date():
            return value.isoformat()
        case Fraction() if value.denominator != 1:
            near = float(value)
            return f"{near:g}" if Fraction(f"{near:g}") == value else str(value)
    return str(value)


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
            if _described(field.metadata.get("described", True), getattr(thing, field.name))
        }
        return {"is": type(thing).__name__.lower(), **found}
    raise InputError(f"a plan has no {type(thing).__name__} in it")


def _described(said: bool | str, value: Any) -> bool:
    """Whether a field is a part of a plan's identity: always, never, or if there is something in it."""
    return value not in (None, (), False) if said == "if given" else bool(said)
