"""Stage 9: from noisy measures to the table that was asked for: aggregates, HAVING, ORDER BY, LIMIT."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from tacit.plan.expression import Column, Expression
from tacit.plan.facts import Type
from tacit.plan.price import Priced
from tacit.plan.question import Order
from tacit.session.frame import LARGEST, Frame, plain
from tacit.session.release import Released

__all__ = ["Answer", "assemble"]

Rows = np.ndarray[Any, np.dtype[np.int64]]


@dataclass(frozen=True)
class Answer:
    """The table, and for each column of noisy numbers its interval."""

    table: pa.Table
    intervals: dict[str, tuple[list[float | None], list[float | None]]]


def assemble(priced: Priced, released: Sequence[Released], *, confidence: float = 0.95) -> Answer:
    """All of the question that comes after the noise."""
    question = priced.question
    frame = Frame(priced, released, confidence)
    rows = np.arange(frame.size)
    if question.having is not None:
        rows = rows[[value is True for value in frame.values(question.having)]]
    if question.order:
        ranks = [_ranks(frame.values(by.expression), by)[rows] for by in question.order]
        rows = rows[np.lexsort(ranks[::-1])]
    if question.distinct:
        rows = _different(rows, [frame.values(expression) for _, expression in question.output])
    stop = None if question.limit is None else question.offset + question.limit
    rows = rows[question.offset : stop]
    columns = [_column(frame, expression, rows) for _, expression in question.output]
    intervals = {}
    for name, expression in question.output:
        ends = frame.ends(expression)
        if ends is not None:
            intervals[name] = (plain(ends[0][rows]), plain(ends[1][rows]))
    return Answer(pa.table(columns, names=[name for name, _ in question.output]), intervals)


def _ranks(values: list[Any], by: Order) -> Rows:
    """Where each value stands in the order that was asked for; equal values stand together."""
    known = sorted({value for value in values if value is not None}, reverse=by.descending)
    place = {value: number for number, value in enumerate(known)}
    place[None] = len(known) if by.nulls == "last" else -1
    return np.fromiter((place[value] for value in values), np.int64, len(values))


def _different(rows: Rows, columns: list[list[Any]]) -> Rows:
    """The first of all rows that look alike."""
    seen: dict[tuple[str, ...], int] = {}
    for row in rows.tolist():
        seen.setdefault(tuple(str(values[row]) for values in columns), row)
    return np.fromiter(seen.values(), np.int64, len(seen))


def _column(frame: Frame, expression: Expression, rows: Rows) -> pa.Array:
    """An output column, of the type that its expression has."""
    if frame.lists(expression):
        values = frame.values(expression)
        return pa.array([values[row] for row in rows.tolist()])
    kind = ARROW[expression.facts.type]()
    if isinstance(expression, Column) and expression.name in frame.keys:
        number = frame.keys[expression.name]
        listed = [float(v) if kind == pa.float64() and v is not None else v for v in frame.groups.values[number]]  # type: ignore[arg-type]  # numbers
        return pa.array(listed, kind).take(pa.array(frame.groups.codes[number][rows]))
    values = frame.values(expression)
    found = [values[row] for row in rows.tolist()]
    if kind == pa.int64():
        found = [None if value is None else round(min(max(value, -LARGEST), LARGEST)) for value in found]
    return pa.array(found, kind)


ARROW: dict[Type, Callable[[], pa.DataType]] = {
    Type.BOOLEAN: pa.bool_,
    Type.INTEGER: pa.int64,
    Type.NUMBER: pa.float64,
    Type.TEXT: pa.string,
    Type.DATE: pa.date32,
    Type.TIMESTAMP: lambda: pa.timestamp("us"),
}
