"""Whether facts are true of rows, as an engine computes them."""

from collections.abc import Iterator
from datetime import date, datetime
from math import isfinite
from typing import Any

from support.databases import Family
from support.shop import Shop
from tacit.engine.dialect import DUCKDB
from tacit.engine.expression import expression_sql
from tacit.engine.relation import relation_sql
from tacit.engine.unit import StoredTable
from tacit.plan.expression import Expression
from tacit.plan.facts import Facts, Type
from tacit.plan.node import Node
from tacit.plan.question import LoweredQuestion

__all__ = ["check_facts", "nodes"]


def nodes(node: Node) -> Iterator[Node]:
    yield node
    for name in ("below", "left", "right"):
        if hasattr(node, name):
            yield from nodes(getattr(node, name))


def check_facts(question: LoweredQuestion, data: Family | Shop, version: str = "whole") -> None:
    """Every column of the rows that are asked about, and every key and argument."""
    source = data.relation(question.source, version)
    asked: list[Expression] = [key.expression for key in question.keys]
    asked += [argument for aggregate in question.aggregates for argument in aggregate.arguments]
    values = [(expression.facts, expression_sql(expression, DUCKDB)) for expression in asked]
    if not values:
        return
    engine = data.engine
    tables = {name: StoredTable(sql=sql, types=engine.columns(name)) for name, sql in engine._tables.items()}
    chosen = ", ".join(f"{sql} AS v{i}" for i, (_, sql) in enumerate(values))
    columns = data.engine._catalog.fetch(f"SELECT {chosen} FROM ({relation_sql(source, DUCKDB, tables)}) AS r")
    for (facts, sql), column in zip(values, columns, strict=True):
        for value in column.to_pylist():
            assert true_of(facts, value), (sql, facts, value)


def true_of(facts: Facts, value: Any) -> bool:
    """As `Facts` says: numbers are doubles, within the doubles of their bounds."""
    if value is None:
        return facts.nullable
    if facts.type.numeric:
        if not isinstance(value, float) or not isfinite(value):
            return False
        low, high = (None if end is None else float(end) for end in (facts.low, facts.high))  # type: ignore[arg-type]  # numbers
        if facts.type is Type.INTEGER and (value != int(value) or abs(value) > 2**53):
            return False
        inside = (low is None or low <= value) and (high is None or value <= high)
        domain = facts.domain
        return inside and (domain is None or value in {float(v) for v in domain if v is not None})  # type: ignore[arg-type]  # numbers
    if facts.type is Type.DATE and isinstance(value, datetime):
        return False
    kinds = {Type.TEXT: str, Type.BOOLEAN: bool, Type.DATE: date, Type.TIMESTAMP: datetime}
    if not isinstance(value, kinds[facts.type]):
        return False
    inside = (facts.low is None or facts.low <= value) and (facts.high is None or value <= facts.high)  # type: ignore[operator]  # of one type
    return inside and (facts.domain is None or value in facts.domain)
