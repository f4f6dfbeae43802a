"""The columns that what follows the noise is computed from: the keys of each group and its aggregates."""

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from tacit.plan.expression import Column, Expression
from tacit.plan.operation import Held, evaluate
from tacit.plan.operation_kind import held
from tacit.plan.price import Priced
from tacit.plan.recipe import Recipe
from tacit.session.estimate import Array, Estimate, Noisy, estimate, value_of, width
from tacit.session.release import Released

__all__ = ["LARGEST", "Ends", "Frame", "plain"]

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
