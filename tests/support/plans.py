"""Paired fixtures: queries and what they are lowered to, as text, in one file of SQL.

A case is a comment with its name, the query, and comments with the expected plan or refusal:

    -- name: counts by ward
    SELECT ward, COUNT(*) FROM visits GROUP BY ward;
    -- > from scan "visits" (unit unit_1)
    …
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from support.clinic import CLINIC
from tacit.base import Refused
from tacit.plan.combined import Levels, Match, Stack, UnitWindows
from tacit.plan.describe import show_expression, show_value
from tacit.plan.facts import Facts, Value
from tacit.plan.node import Filter, Group, Join, Node, Project, Scan
from tacit.plan.price import PricedPlan
from tacit.plan.question import Aggregate, LoweredQuestion, Order
from tacit.plan.released import DistinctRows, Page, ReleasedTable, Totals, Windows
from tacit.plan.window import WindowCall, WindowFrame
from tacit.session import Session
from tacit.sql import parse
from tacit.sql.lower import lower

__all__ = ["Case", "answer", "priced_by", "read", "show"]

NAME, DIALECT, EXPECTED = "-- name: ", "-- dialect: ", "-- > "


@dataclass(frozen=True, kw_only=True)
class Case:
    name: str
    query: str
    expected: str
    dialect: str | None = None


def read(path: Path) -> list[Case]:
    """The cases of a file, in order."""
    cases: list[Case] = []
    for block in path.read_text().split(NAME)[1:]:
        name, *lines = block.splitlines()
        dialect = next((line.removeprefix(DIALECT) for line in lines if line.startswith(DIALECT)), None)
        expected = [line.removeprefix(EXPECTED) for line in lines if line.startswith(EXPECTED)]
        query = "\n".join(line for line in lines if not line.startswith((DIALECT, EXPECTED))).strip()
        cases.append(Case(name=name, query=query, expected="\n".join(expected), dialect=dialect))
    return cases


def answer(query: str, dialect: str | None = None) -> str:
    """The plan of a query as text, or the refusal."""
    try:
        return show(lower(parse(query, dialect), CLINIC))
    except Refused as error:
        return f"refused: {error}"


def priced_by(session: Session, sql: str, **offer: Any) -> PricedPlan:
    """The plan and program that a session would charge for this question."""
    return session.job(sql, **offer).priced


def show(question: LoweredQuestion) -> str:
    """The question, readable; the same text for equal questions."""
    lines = [f"from {line}" if i == 0 else f"  {line}" for i, line in enumerate(_source(question.source))]
    lines += [f"key {key.name} = {show_expression(key.expression)} {show_facts(key.facts)}" for key in question.keys]
    lines += [f"aggregate {a.name} = {_aggregate(a)}" for a in question.aggregates]
    lines += [f'output "{name}" = {show_expression(value)}' for name, value in question.output]
    if question.having is not None:
        lines.append(f"having {show_expression(question.having)}")
    lines += [f"order {_order(order)}" for order in question.order]
    lines += ["distinct"] if question.distinct else []
    lines += [f"limit {question.limit}"] if question.limit is not None else []
    lines += [f"offset {question.offset}"] if question.offset else []
    said = {name: getattr(question.options, name) for name in ("epsilon", "rho", "delta", "max_groups")}
    lines += [f"option {name} = {value}" for name, value in said.items() if value is not None]
    lines += ["present"] if question.present else []
    for number, beside in enumerate(question.beside, 2):
        lines += [f"beside {number}", *(f"  {line}" for line in show(beside).splitlines())]
    if question.after is not None:
        lines += [f"after {line}" if i == 0 else f"  {line}" for i, line in enumerate(_source(question.after))]
    return "\n".join(lines)


def _order(order: Order) -> str:
    way = "descending" if order.descending else "ascending"
    return f"{show_expression(order.expression)} {way}, nulls {order.nulls}"


def _window(call: WindowCall) -> str:
    arguments = ", ".join(map(show_expression, call.arguments))
    said = [f"by {', '.join(map(show_expression, call.partition))}"] if call.partition else []
    said += [f"order {_order(each)}" for each in call.order]
    frame = call.frame
    if frame != WindowFrame():
        ends = ["all" if end is None else str(end) for end in (frame.first, frame.last)]
        said.append(f"{'range' if frame.peers else 'rows'} {' to '.join(ends)}")
    return f"{call.name} = {call.function}({arguments}) [{'; '.join(said)}]"


def _source(node: Node) -> list[str]:
    """The node's own line, and those of what is below it, further in."""
    match node:
        case ReleasedTable():
            return [f"answer {node.number + 1}", *(f'  {each.name} = "{each.column}"' for each in node.columns)]
        case Windows() | UnitWindows():
            return ["windows", *(f"  {_window(call)}" for call in node.calls), *_inside(node.below)]
        case Totals():
            keys = [f"  by {name} = {show_expression(value)}" for name, value in node.keys]
            totals = [
                f"  {each.name} = {each.function}({'*' if each.argument is None else show_expression(each.argument)})"
                for each in node.totals
            ]
            return ["totals", *keys, *totals, *_inside(node.below)]
        case Page():
            said = [_order(each) for each in node.order]
            said += [f"limit {node.limit}"] if node.limit is not None else []
            said += [f"offset {node.offset}"] if node.offset else []
            return [f"page {'; '.join(said)}", *_inside(node.below)]
        case DistinctRows():
            return ["distinct", *_inside(node.below)]
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
        case Match():
            on = " and ".join(f"{show_expression(a)} = {show_expression(b)}" for a, b in node.on)
            return [f"{node.name} = {node.kind} on {on}", *_inside(node.left), *_inside(node.right)]
        case Stack():
            columns = [f"  {each.name} = {', '.join(each.sources)} {show_facts(each.facts)}" for each in node.columns]
            return [f"stack (unit {node.unit})", *columns, *(line for part in node.parts for line in _inside(part))]
        case Levels():
            keys = [f"  {name} = {show_expression(value)}" for name, value in node.keys]
            return [f"levels {node.level} of {', '.join(map(str, node.sets))}", *keys, *_inside(node.below)]
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


def show_facts(facts: Facts) -> str:
    """Type, range, step, number of known values, and ? where NULL can occur."""
    ends = "" if facts.low is None and facts.high is None else f" {_end(facts.low)}..{_end(facts.high)}"
    step = f" step {facts.step}" if facts.step is not None else ""
    known = f" of {len(facts.domain)}" if facts.domain is not None else ""
    return f"[{facts.type}{ends}{step}{known}{'?' if facts.nullable else ''}]"


def _end(value: Value) -> str:
    return "" if value is None else show_value(value)
