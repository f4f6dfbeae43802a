"""Stage 9: from noisy measures to the table that was asked for: aggregates, HAVING, ORDER BY, LIMIT."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from tacit.plan.expression import Column, Expression
from tacit.plan.facts import Type
from tacit.plan.moments import Recipe
from tacit.plan.operation import Held, evaluate, held
from tacit.plan.price import Priced
from tacit.plan.question import Order
from tacit.sql.estimate import Array, Noisy, NoisyEstimate, estimate, value_of, width
from tacit.sql.noise import Released

__all__ = ["LARGEST", "Answer", "Ends", "Frame", "assemble", "plain"]

Ends = tuple[Array, Array]
STEP = 0.01  # of the noise, to measure slopes by
LISTS = ("mode", "histogram")
LARGEST = 2.0**63 - 1024  # the last double that is a 64-bit integer


class Frame:
    """Columns by name, and how the noise of each measure moves an expression of them."""

    def __init__(self, priced: Priced, released: Sequence[Released], confidence: float) -> None:
        self.released, self.confidence = released, confidence
        self.groups = released[0].groups
        self.size = len(self.groups)
        self.keys = {key.name: number for number, key in enumerate(priced.question.keys)}
        self.recipes = {recipe.name: recipe for recipe in priced.planned.recipes}
        self.estimates = {
            name: self._quantile(recipe)
            if recipe.function == "quantile"
            else estimate(recipe, released[0].measures, confidence=confidence)
            for name, recipe in self.recipes.items()
            if recipe.function not in LISTS
        }
        self._columns: dict[str, list[Any]] = {}

    def column(self, name: str) -> list[Any]:
        """A column as expressions hold it: every number is a double, what is not known is None."""
        if name not in self._columns:
            self._columns[name] = self._column(name)
        return self._columns[name]

    def _column(self, name: str) -> list[Any]:
        if name in self.keys:
            number = self.keys[name]
            values = [held(value) for value in self.groups.values[number]]
            return [values[code] for code in self.groups.codes[number].tolist()]
        if name in self.estimates:
            return plain(self.estimates[name].values)
        return self._listed(self.recipes[name])

    def values(self, expression: Expression) -> list[Held]:
        """An expression in every group."""
        return self.column(expression.name) if isinstance(expression, Column) else list(self._each(expression, {}))

    def _each(self, expression: Expression, instead: Mapping[str, list[Any]]) -> Iterator[Held]:
        names = sorted({part.name for part in expression.walk() if isinstance(part, Column)})
        columns = [instead[name] if name in instead else self.column(name) for name in names]
        if not names:
            return iter([evaluate(expression, {})] * self.size)
        return (evaluate(expression, dict(zip(names, row, strict=True))) for row in zip(*columns, strict=True))

    def lists(self, expression: Expression) -> bool:
        """Whether a column holds lists: a histogram, or the most frequent values."""
        recipe = self.recipes.get(expression.name) if isinstance(expression, Column) else None
        return recipe is not None and (recipe.function == "histogram" or recipe.top is not None)

    def _quantile(self, recipe: Recipe) -> NoisyEstimate:
        """The cell that was drawn, and an interval of its own that covers the true quantile, whatever the data."""
        part = self.released[recipe.part]
        asked = {found.fraction for found in self.recipes.values() if found.inputs == recipe.inputs}
        place = sorted(order for order in asked if order is not None).index(recipe.fraction or Fraction(0))
        assert recipe.low is not None
        assert recipe.high is not None  # of a bounded value
        first, step = float(recipe.middle), float(recipe.step)
        values = first + step * part.quantiles[recipe.inputs[0]][:, place]
        low, high = (first + step * part.ends[recipe.inputs[0]][:, place, end] for end in (0, 1))
        low, high = (np.clip(end, float(recipe.low), float(recipe.high)) for end in (low - step / 2, high + step / 2))
        values = np.clip(values, float(recipe.low), float(recipe.high))
        return NoisyEstimate(values, np.minimum(low, values), np.maximum(high, values))

    def _listed(self, recipe: Recipe) -> list[Any]:
        """A histogram as a list of noisy counts in the order of its values; a mode as the value of the largest."""
        part = self.released[recipe.part]
        values = [held(value) for value in part.groups.values[-1]]
        counts = part.measures[recipe.inputs[0]].values.reshape(self.size, len(values)) / recipe.half
        if recipe.function == "histogram":
            found: list[Any] = np.clip(np.rint(counts), 0, LARGEST).astype(np.int64).tolist()
            return found
        known = np.array([number for number, value in enumerate(values) if value is not None], dtype=np.int64)
        best = known[np.argsort(-counts[:, known], axis=1, kind="stable")[:, : recipe.top or 1]]
        top = [[values[number] for number in row] for row in best.tolist()]
        return top if recipe.top else [next(iter(row), None) for row in top]

    @cached_property
    def _kind(self) -> str:
        return next(iter(self.released[0].measures.values())).kind

    def ends(self, expression: Expression) -> Ends | None:
        """The interval of an output column: an aggregate's own, or by the slope of the expression in each measure."""
        if isinstance(expression, Column):
            own = self.estimates.get(expression.name)
            return None if own is None else (own.low, own.high)
        used = [part.name for part in expression.walk() if isinstance(part, Column) and part.name in self.estimates]
        if not used or not expression.facts.type.numeric:
            return None
        if any(self.recipes[name].function == "quantile" for name in used):
            return None  # the noise of a quantile has no slope
        measures = self.released[0].measures
        slopes = []
        for name in sorted({name for aggregate in used for name in self.recipes[aggregate].inputs}):
            up, down = (self._moved(expression, used, measures, name, sign) for sign in (1, -1))
            slopes.append(np.abs(up - down) / (2 * STEP))
        half = width(slopes, self._kind, self.confidence)
        base = _array(self.values(expression))
        return base - half, base + half

    def _moved(
        self, expression: Expression, used: list[str], measures: Mapping[str, Noisy], name: str, sign: int
    ) -> Array:
        """The expression with one measure moved by a hundredth of its noise."""
        moved = {}
        for aggregate in used:
            recipe = self.recipes[aggregate]
            inputs = [measures[other].values for other in recipe.inputs]
            if name in recipe.inputs:
                place = recipe.inputs.index(name)
                inputs[place] = inputs[place] + sign * STEP * measures[name].size
            moved[aggregate] = plain(value_of(recipe, inputs))
        return _array(self._each(expression, moved))


def plain(values: Array) -> list[Any]:
    """Numbers as a list, None where there is none."""
    listed: list[Any] = values.tolist()
    if np.isfinite(values).all():
        return listed
    return [value if fine else None for value, fine in zip(listed, np.isfinite(values).tolist(), strict=True)]


def _array(values: Iterator[Held] | list[Held]) -> Array:
    return np.array([np.nan if value is None else float(value) for value in values])  # type: ignore[arg-type]  # numbers


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
