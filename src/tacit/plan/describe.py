"""A question as text for people: one line for each table, filter, join, key, aggregate and column."""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from datetime import date, datetime
from enum import Enum
from fractions import Fraction
from typing import Any

from tacit.base import InputError
from tacit.plan.expression import Call, Column, Constant, Expression
from tacit.plan.facts import Facts, Value
from tacit.plan.node import Filter, Group, Join, Node, Project, Scan, scans_of
from tacit.plan.question import Aggregate, Question

__all__ = ["describe", "show", "show_aggregate", "show_expression", "show_facts", "show_value"]

NAMELESS: Mapping[str, str] = {}
SIGNS = {"add": "+", "subtract": "-", "multiply": "*", "divide": "/", "modulo": "%", "eq": "=", "ne": "<>", "lt": "<",
         "le": "<=", "gt": ">", "ge": ">=", "and": "and", "or": "or"}  # fmt: skip


def show(question: Question) -> str:
    """The question, readable; the same text for equal questions."""
    lines = [f"from {line}" if i == 0 else f"  {line}" for i, line in enumerate(_source(question.source))]
    lines += [f"key {key.name} = {show_expression(key.expression)} {show_facts(key.facts)}" for key in question.keys]
    lines += [f"aggregate {a.name} = {_aggregate(a)}" for a in question.aggregates]
    lines += [f'output "{name}" = {show_expression(value)}' for name, value in question.output]
    if question.having is not None:
        lines.append(f"having {show_expression(question.having)}")
    for order in question.order:
        way = "descending" if order.descending else "ascending"
        lines.append(f"order {show_expression(order.expression)} {way}, nulls {order.nulls}")
    lines += ["distinct"] if question.distinct else []
    lines += [f"limit {question.limit}"] if question.limit is not None else []
    lines += [f"offset {question.offset}"] if question.offset else []
    said = {name: getattr(question.options, name) for name in ("epsilon", "rho", "delta", "max_groups")}
    lines += [f"option {name} = {value}" for name, value in said.items() if value is not None]
    return "\n".join(lines)


def _source(node: Node) -> list[str]:
    """The node's own line, and those of what is below it, further in."""
    match node:
        case Scan():
            whose = f"unit {node.unit}" if node.unit is not None else "each row a unit" if node.private else "public"
            vouched = f", at most {node.rows_per_unit} rows per unit" if node.rows_per_unit is not None else ""
            columns = [
                f"{source.name} {show_facts(source.facts)}" for source in node.columns if source.name != node.unit
            ]
            return [f'scan "{node.table}" ({whose}{vouched})', *(f"  {column}" for column in columns)]
        case Filter():
            return [f"filter {show_expression(node.condition)}", *_inside(node.below)]
        case Project():
            columns = [f"  {name} = {show_expression(value)} {show_facts(value.facts)}" for name, value in node.columns]
            return ["project", *columns, *_inside(node.below)]
        case Group():
            keys = [f"  by {name} = {show_expression(value)}" for name, value in node.keys]
            made = [
                f"  {a.name} = {a.function}({'*' if a.argument is None else show_expression(a.argument)}) "
                f"{show_facts(a.facts)}"
                for a in node.aggregates
            ]
            return ["group by unit", *keys, *made, *_inside(node.below)]
        case Join():
            on = " and ".join(f"{show_expression(a)} = {show_expression(b)}" for a, b in node.on)
            return [
                f"{node.kind} join{' once' if node.unique else ''} on {on}",
                *_inside(node.left),
                *_inside(node.right),
            ]
    return [type(node).__name__.lower()]


def _inside(node: Node) -> list[str]:
    return [f"  {line}" for line in _source(node)]


def _aggregate(aggregate: Aggregate) -> str:
    arguments = ", ".join(show_expression(argument) for argument in aggregate.arguments) or "*"
    details = {
        "fraction": aggregate.fraction,
        "discrete": aggregate.discrete or None,
        "cap": aggregate.cap,
        "top": aggregate.top,
        "cells": aggregate.cells,
        "per group": None if aggregate.group_bounds is None else "..".join(map(str, aggregate.group_bounds)),
    }
    said = ", ".join(f"{name} {value}" for name, value in details.items() if value is not None)
    return f"{aggregate.function}({arguments})" + (f" [{said}]" if said else "")


SPELLED = {"quantile": "QUANTILE", "mode": "MODE", "histogram": "HISTOGRAM", "var_samp": "VARIANCE",
           "stddev_samp": "STDDEV", "count_distinct": "COUNT"}  # fmt: skip


def show_aggregate(aggregate: Aggregate, source: Node) -> str:
    """An aggregate as SQL has it, about: by what it means and not by how it was written. Columns are called as in their
    tables."""
    names = {column.name: column.column for scan in scans_of(source) for column in scan.columns}
    arguments = [show_expression(argument, names) for argument in aggregate.arguments]
    function = SPELLED.get(aggregate.function, aggregate.function.upper())
    match aggregate.function:
        case "count" if not arguments:
            return "COUNT(*)"
        case "count_units":
            unit = names.get(source.unit or "", "*")
            return f"COUNT(DISTINCT {unit})" + (f" FILTER (WHERE {arguments[0]} IS NOT NULL)" if arguments else "")
        case "count_distinct":
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


def show_facts(facts: Facts) -> str:
    """Type, range, step, number of known values, and ? where NULL can occur."""
    ends = "" if facts.low is None and facts.high is None else f" {_end(facts.low)}..{_end(facts.high)}"
    step = f" step {facts.step}" if facts.step is not None else ""
    known = f" of {len(facts.domain)}" if facts.domain is not None else ""
    return f"[{facts.type}{ends}{step}{known}{'?' if facts.nullable else ''}]"


def _end(value: Value) -> str:
    return "" if value is None else show_value(value)


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
            if field.metadata.get("described", True)
        }
        return {"is": type(thing).__name__.lower(), **found}
    raise InputError(f"a plan has no {type(thing).__name__} in it")
