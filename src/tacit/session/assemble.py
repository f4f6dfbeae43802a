"""Stage 9: from noisy measures to the table that was asked for: aggregates, HAVING, ORDER BY, LIMIT."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cmp_to_key, partial
from math import isfinite
from typing import Any

import numpy as np
import pyarrow as pa

from tacit.plan.expression import Column, Expression
from tacit.plan.facts import Type
from tacit.plan.operation import Held, evaluate
from tacit.plan.price import Priced
from tacit.plan.question import Order
from tacit.plan.recipe import Recipe
from tacit.session.estimate import Array, Estimate, Noisy, estimate, value_of, width
from tacit.session.release import Released

__all__ = ["Answer", "assemble"]

Ends = tuple[list[float | None], list[float | None]]


@dataclass(frozen=True)
class Answer:
    """The table, and for each column of noisy numbers its interval."""

    table: pa.Table
    intervals: dict[str, Ends]


def assemble(priced: Priced, released: Sequence[Released], *, confidence: float = 0.95) -> Answer:
    """All of the question that comes after the noise."""
    question, main = priced.question, released[0]
    names = [key.name for key in question.keys]
    frame = _Frame(priced, released, confidence)
    count = len(main.groups)
    rows = [dict(zip(names, map(_held, group), strict=True)) for group in main.groups]
    for name, found in frame.columns.items():
        for row, value in zip(rows, found, strict=True):
            row[name] = value
    order = list(range(count))
    if question.having is not None:
        order = [i for i in order if evaluate(question.having, rows[i]) is True]
    outputs = {name: [evaluate(expression, row) for row in rows] for name, expression in question.output}
    ends = {name: frame.ends(expression, rows) for name, expression in question.output}
    if question.order:
        sorts = [[evaluate(by.expression, row) for row in rows] for by in question.order]
        order.sort(key=cmp_to_key(partial(_compare, question.order, sorts)))
    if question.distinct:
        order = _different(order, outputs)
    stop = None if question.limit is None else question.offset + question.limit
    order = order[question.offset : stop]
    types = {name: None if frame.lists(expression) else _arrow(expression) for name, expression in question.output}
    columns = [pa.array([_out(outputs[name][i], kind) for i in order], kind) for name, kind in types.items()]
    table = pa.table(columns, names=[name for name, _ in question.output])
    kept = {name: found for name, found in ends.items() if found is not None}
    return Answer(
        table, {name: ([low[i] for i in order], [high[i] for i in order]) for name, (low, high) in kept.items()}
    )


class _Frame:
    """The aggregates of each group, and how the noise of each measure moves an expression of them."""

    def __init__(self, priced: Priced, released: Sequence[Released], confidence: float) -> None:
        self.priced, self.released, self.confidence = priced, released, confidence
        self.recipes = {recipe.name: recipe for recipe in priced.planned.recipes}
        self.estimates: dict[str, Estimate] = {}
        self.columns: dict[str, list[Held]] = {}
        for recipe in priced.planned.recipes:
            if recipe.function == "quantile":
                self.estimates[recipe.name] = self._quantile(recipe)
            elif recipe.function in ("mode", "histogram"):
                self.columns[recipe.name] = self._listed(recipe)
                continue
            else:
                self.estimates[recipe.name] = estimate(recipe, released[0].measures, confidence=confidence)
            self.columns[recipe.name] = _floats(self.estimates[recipe.name].values)

    def _quantile(self, recipe: Recipe) -> Estimate:
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
        return Estimate(values, np.minimum(low, values), np.maximum(high, values))

    def _listed(self, recipe: Recipe) -> list[Held]:
        """A histogram as a list of noisy counts in the order of its values; a mode as the value of the largest."""
        part = self.released[recipe.part]
        noisy = part.measures[recipe.inputs[0]].values
        groups: dict[Any, list[tuple[Any, float]]] = {key: [] for key in self.released[0].groups}
        for key, count in zip(part.groups, noisy.tolist(), strict=True):
            groups[key[:-1]].append((key[-1], count))
        found: list[Any] = []
        for listed in groups.values():
            if recipe.function == "histogram":
                found.append([max(0, round(count)) for _, count in listed])
                continue
            best = sorted(listed, key=lambda pair: -pair[1])
            top = [_held(value) for value, _ in best if value is not None][: recipe.top or 1]
            found.append(top if recipe.top else next(iter(top), None))
        return found

    def lists(self, expression: Expression) -> bool:
        """Whether a column holds lists: a histogram, or the most frequent values."""
        recipe = self.recipes.get(expression.name) if isinstance(expression, Column) else None
        return recipe is not None and (recipe.function == "histogram" or recipe.top is not None)

    def ends(self, expression: Expression, rows: list[dict[str, Held]]) -> Ends | None:
        """The interval of an output column: an aggregate's own, or by the slope of the expression in each measure."""
        if isinstance(expression, Column):
            own = self.estimates.get(expression.name)
            return None if own is None else (_floats(own.low), _floats(own.high))
        used = [part.name for part in expression.walk() if isinstance(part, Column) and part.name in self.estimates]
        if not used or not expression.facts.type.numeric:
            return None
        smooth = [name for name in used if self.recipes[name].function != "quantile"]
        if len(smooth) < len(used):
            return None  # the noise of a quantile has no slope
        measures = self.released[0].measures
        inputs = {name for aggregate in used for name in self.recipes[aggregate].inputs}
        base = _array(evaluate(expression, row) for row in rows)
        slopes = []
        for name in sorted(inputs):
            up, down = (self._moved(expression, rows, used, measures, name, sign) for sign in (1, -1))
            slopes.append(np.abs(up - down) / 2)
        half = width(slopes, next(iter(measures.values())).kind, self.confidence)
        return _floats(base - half), _floats(base + half)

    def _moved(
        self,
        expression: Expression,
        rows: list[dict[str, Held]],
        used: list[str],
        measures: Mapping[str, Noisy],
        name: str,
        sign: int,
    ) -> Array:
        """The expression with one measure moved by a tenth of its noise, ten times as far from where it was."""
        moved = {}
        for aggregate in used:
            recipe = self.recipes[aggregate]
            inputs = [measures[other].values for other in recipe.inputs]
            if name in recipe.inputs:
                place = recipe.inputs.index(name)
                inputs[place] = inputs[place] + sign * STEP * measures[name].size
            moved[aggregate] = _floats(value_of(recipe, inputs))
        found = [evaluate(expression, {**row, **{a: moved[a][i] for a in used}}) for i, row in enumerate(rows)]
        return _array(found) / STEP


STEP = 0.01


def _floats(values: Array) -> list[Any]:
    return [value if isfinite(value) else None for value in values.tolist()]


def _array(values: Iterable[Held]) -> Array:
    return np.array([np.nan if value is None else float(value) for value in values])  # type: ignore[arg-type]


def _held(value: Any) -> Held:
    """A key as expressions hold it: every number is a double."""
    return float(value) if isinstance(value, int | Fraction | Decimal) and not isinstance(value, bool) else value


def _compare(order: Sequence[Order], sorts: list[list[Held]], a: int, b: int) -> int:
    for by, values in zip(order, sorts, strict=True):
        x, y = values[a], values[b]
        if x is None or y is None:
            if (x is None) != (y is None):
                return (1 if x is None else -1) * (1 if by.nulls == "last" else -1)
            continue
        if x != y:
            less = x < y  # type: ignore[operator]  # one column, one type
            return (-1 if less else 1) * (-1 if by.descending else 1)
    return a - b


def _different(order: list[int], outputs: Mapping[str, list[Held]]) -> list[int]:
    seen: set[Any] = set()
    kept = []
    for i in order:
        row = tuple(str(values[i]) for values in outputs.values())
        if row not in seen:
            seen.add(row)
            kept.append(i)
    return kept


def _arrow(expression: Expression) -> pa.DataType | None:
    kinds: dict[Type, Callable[[], pa.DataType]] = {
        Type.BOOLEAN: pa.bool_,
        Type.INTEGER: pa.int64,
        Type.NUMBER: pa.float64,
        Type.TEXT: pa.string,
        Type.DATE: pa.date32,
    }
    if expression.facts.type is Type.TIMESTAMP:
        return pa.timestamp("us")
    return kinds[expression.facts.type]()


def _out(value: Any, kind: pa.DataType | None) -> Any:
    if value is None or isinstance(value, list):
        return value
    if kind == pa.int64():
        return round(value)
    return value
