"""Stage 9: from noisy measures to the table that was asked for: aggregates, HAVING, ORDER BY, LIMIT."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa

from tacit.base import cached_property
from tacit.desk.coverage import Coverage
from tacit.plan.bounded import Recipe
from tacit.plan.cells import cell_points
from tacit.plan.combined import assumed_in
from tacit.plan.expression import Column, Expression
from tacit.plan.facts import Type
from tacit.plan.operation import Held, evaluate, held
from tacit.plan.price import PricedPlan
from tacit.plan.profiled import Missing, lowest
from tacit.sql.after import ReleasedRows, after_release, held_column
from tacit.sql.estimate import NoisyEstimate, estimate, lost_in_all, stretch, value_of, width, with_loss
from tacit.sql.fitted import all_fitted
from tacit.sql.stored import Array, Noisy, NoisyPart
from tacit.sql.window_values import ranks

__all__ = ["LARGEST", "Answer", "Ends", "Frame", "assemble", "plain"]

Ends = tuple[Array, Array]
STEP = 0.01  # of the noise, to measure slopes by
LISTS = ("mode", "histogram")
LARGEST = 2.0**63 - 1024  # the last double that is a 64-bit integer


class Frame:
    """Columns by name, and how the noise of each measure moves an expression of them."""

    def __init__(
        self, priced: PricedPlan, released: Sequence[NoisyPart], confidence: float, missing: Sequence[Missing] = ()
    ) -> None:
        self.released, self.confidence, self.priced = released, confidence, priced
        self.missing = {each.aggregate: each for each in missing}
        self.coverage: dict[str, Coverage] = {}
        self.groups = released[0].groups
        self.size = len(self.groups)
        self.keys = {key.name: number for number, key in enumerate(priced.question.keys)}
        self.recipes = {recipe.name: released[recipe.part].measured(recipe) for recipe in priced.recipes}
        self.estimates = {
            name: self._quantile(recipe) if recipe.function == "quantile" else self._estimate(recipe)
            for name, recipe in self.recipes.items()
            if recipe.function not in LISTS
        }
        self.lists = {aggregate.name for aggregate in priced.question.aggregates if aggregate.is_list}
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
        of, _, end = name.rpartition(" ")
        if of in self.estimates:
            return plain(self.estimates[of].low if end == "low" else self.estimates[of].high)
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

    def _estimate(self, recipe: Recipe) -> NoisyEstimate:
        """An aggregate and its interval; `coverage` is told what that covers."""
        measures, part = self.released[0].measures, self.priced.parts[recipe.part]
        missing = self.missing.get(recipe.name)
        clip = next(clip for clip in part.clips if recipe.inputs[0] in clip.names)
        if missing is not None and not missing.grouped:
            whole = with_loss(recipe, measures, missing, self.confidence)
            if whole is not None:
                self.coverage[recipe.name] = whole[1]
                return whole[0]
            missing = None
        low = lowest(recipe, part) if recipe.function in ("count", "sum") else None
        capped = any(m.kind == "distinct" and m.name in recipe.inputs for m in part.measures)
        if capped and part.source.unit is not None:  # values beyond a unit's limit are only ever missing
            covers = Coverage(of="least" if low is not None and low >= 0 else "noise", grouped=bool(part.keys))
        elif clip.exempt and not any(assumed_in(part.source)):
            covers = Coverage(of="truth")
        else:
            covers = Coverage(of="noise" if low is None or low < 0 else "least", grouped=bool(part.keys))
        if missing is not None:
            covers = replace(covers, missing=lost_in_all(missing, self.confidence), given=missing.loss.given)
        self.coverage[recipe.name] = covers
        return estimate(recipe, measures, confidence=self.confidence)

    def above_zero(self, name: str) -> "Rows":
        """The groups in which a count is above zero for sure: at this confidence no other is among them."""
        sure = 1 - (1 - self.confidence) / max(1, self.size)
        found = estimate(self.recipes[name], self.released[0].measures, confidence=sure)
        return np.flatnonzero(found.low > 0)

    def covers(self, expression: Expression) -> Coverage:
        """What the interval of an output column covers."""
        if isinstance(expression, Column) and expression.name in self.coverage:
            return self.coverage[expression.name]
        used = {part.name for part in expression.walk() if isinstance(part, Column)} & self.coverage.keys()
        sure = all(self.coverage[name] == Coverage(of="truth") for name in used)  # clipped ones move together
        return Coverage(of="truth" if sure else "noise")

    def _quantile(self, recipe: Recipe) -> NoisyEstimate:
        """The cell that was drawn, and an interval of its own that covers the true quantile, whatever the data."""
        part = self.released[recipe.part]
        clip = next(clip for clip in self.priced.parts[recipe.part].clips if recipe.inputs[0] in clip.names)
        known = clip.exempt and not any(assumed_in(self.priced.parts[recipe.part].source))
        self.coverage[recipe.name] = Coverage(of="truth" if known else "noise")
        asked = {found.fraction for found in self.recipes.values() if found.inputs == recipe.inputs}
        place = sorted(order for order in asked if order is not None).index(recipe.fraction or Fraction(0))
        assert recipe.low is not None
        assert recipe.high is not None  # of a bounded value
        (pieces,) = [ranks.pieces for ranks in self.priced.parts[recipe.part].ranks if ranks.name in recipe.inputs]
        edges, middles = cell_points(pieces)
        cells, ends = part.quantiles[recipe.inputs[0]][:, place], part.ends[recipe.inputs[0]][:, place]
        values, low, high = (
            np.clip(found, float(recipe.low), float(recipe.high))
            for found in (middles[cells], edges[ends[:, 0]], edges[ends[:, 1] + 1])
        )
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
            slopes.append(np.abs(up - down) / (2 * STEP) * stretch(measures[name], self.confidence))
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
    """The table, and for each column of noisy numbers its interval and what that covers."""

    table: pa.Table
    intervals: dict[str, tuple[list[float | None], list[float | None]]]
    coverage: dict[str, Coverage]


def assemble(
    priced: PricedPlan, released: Sequence[NoisyPart], *, confidence: float = 0.95, missing: Sequence[Missing] = ()
) -> Answer:
    """All of the question that comes after the noise; `missing` is what clipping took, by profiles of these data."""
    found = all_fitted(priced.parts, released)
    answers = [_answer(plan, found[own], confidence, missing) for own, plan in priced.measured]
    after = priced.question.after
    if after is None:
        return answers[0]
    tables = [_rows_of(answer, plan) for answer, (_, plan) in zip(answers, priced.measured, strict=True)]
    made = after_release(after, tables)
    columns = [_typed(made.columns[name], facts.type) for name, facts in after.schema.items()]
    intervals = {
        name: ([_end(low) for low in ends[0]], [_end(high) for high in ends[1]]) for name, ends in made.ends.items()
    }
    return Answer(pa.table(columns, names=list(after.schema)), intervals, dict(made.covers))


def _rows_of(answer: Answer, priced: PricedPlan) -> ReleasedRows:
    """An answer as a table to compute with."""
    measured = {recipe.name for recipe in priced.recipes}
    noisy = [
        name
        for name, value in priced.question.output
        if any(isinstance(part, Column) and part.name in measured for part in value.walk())
    ]
    return ReleasedRows(
        size=len(answer.table),
        columns={name: held_column(answer.table[name].to_pylist()) for name in answer.table.column_names},
        noisy=frozenset(noisy),
        ends={name: ([*low], [*high]) for name, (low, high) in answer.intervals.items()},
        covers=answer.coverage,
    )


def _end(value: Held) -> float | None:
    return None if value is None else float(value)  # type: ignore[arg-type]  # a number


def _answer(priced: PricedPlan, released: Sequence[NoisyPart], confidence: float, missing: Sequence[Missing]) -> Answer:
    """The answer of one measured question."""
    question = priced.question
    frame = Frame(priced, released, confidence, missing)
    rows = np.arange(frame.size)
    if question.present:
        rows = rows[frame.above_zero(question.aggregates[0].name)]
    if question.having is not None:
        kept = frame.values(question.having)
        rows = np.array([row for row in rows.tolist() if kept[row] is True], np.int64)
    if question.order:
        found = [ranks(frame.values(by.expression), by)[rows] for by in question.order]
        rows = rows[np.lexsort(found[::-1])]
    if question.distinct:
        rows = _different(rows, [frame.values(expression) for _, expression in question.output])
    stop = None if question.limit is None else question.offset + question.limit
    rows = rows[question.offset : stop]
    columns = [_column(frame, expression, rows) for _, expression in question.output]
    intervals, coverage = {}, {}
    for name, expression in question.output:
        ends = frame.ends(expression)
        if ends is not None:
            intervals[name] = (plain(ends[0][rows]), plain(ends[1][rows]))
            coverage[name] = frame.covers(expression)
    return Answer(pa.table(columns, names=[name for name, _ in question.output]), intervals, coverage)


def _different(rows: Rows, columns: list[list[Any]]) -> Rows:
    """The first of all rows that look alike."""
    seen: dict[tuple[str, ...], int] = {}
    for row in rows.tolist():
        seen.setdefault(tuple(repr(values[row]) for values in columns), row)
    return np.fromiter(seen.values(), np.int64, len(seen))


def _column(frame: Frame, expression: Expression, rows: Rows) -> pa.Array:
    """An output column, of the type that its expression has."""
    if isinstance(expression, Column) and expression.name in frame.lists:
        values = frame.values(expression)
        return pa.array([values[row] for row in rows.tolist()])
    kind = ARROW[expression.facts.type]()
    if isinstance(expression, Column) and expression.name in frame.keys:
        number = frame.keys[expression.name]
        listed = [float(v) if kind == pa.float64() and v is not None else v for v in frame.groups.values[number]]  # type: ignore[arg-type]  # numbers
        return pa.array(listed, kind).take(pa.array(frame.groups.codes[number][rows]))
    values = frame.values(expression)
    return _typed([values[row] for row in rows.tolist()], expression.facts.type)


def _typed(values: list[Any], kind: Type) -> pa.Array:
    """Values as expressions hold them, in the type that they have."""
    if kind is Type.INTEGER:
        values = [None if value is None else round(min(max(value, -LARGEST), LARGEST)) for value in values]
    return pa.array(values, ARROW[kind]())


ARROW: dict[Type, Callable[[], pa.DataType]] = {
    Type.BOOLEAN: pa.bool_,
    Type.INTEGER: pa.int64,
    Type.NUMBER: pa.float64,
    Type.TEXT: pa.string,
    Type.DATE: pa.date32,
    Type.TIMESTAMP: lambda: pa.timestamp("us"),
}
