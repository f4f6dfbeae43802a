"""Aggregates from noisy measures, each with an interval that covers the noise: arithmetic on released numbers only.

How wide that will be is told before anything is paid for, by the same rules.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, reduce
from math import inf, log, sqrt
from statistics import NormalDist
from typing import Any

import numpy as np

from tacit.base import InputError
from tacit.desk.coverage import Coverage
from tacit.desk.quote import Expected
from tacit.desk.show import margin
from tacit.mechanism import BinnedQuantiles
from tacit.plan.bounded import Recipe
from tacit.plan.expression import Column, Expression
from tacit.plan.node import Project
from tacit.plan.price import PricedPlan
from tacit.plan.profile import CONFIDENCE
from tacit.plan.profiled import Missing
from tacit.plan.question import LoweredQuestion
from tacit.plan.released import ReleasedTable, Totals, Windows
from tacit.sql.fitted import level_tables, sizes_of
from tacit.sql.stored import Array, Noisy
from tacit.sql.threshold import ROUNDS, depth, edge

__all__ = ["NoisyEstimate", "estimate", "expected", "lost_in_all", "stretch", "value_of", "width", "with_loss"]

TYPICAL = 1000  # rows in a group, to give ratios a number
CHOSEN = "which is chosen privately"
MOST_SCALES = 12  # of Laplace noises whose sum has a closed form that doubles can hold
CHERNOFF = np.geomspace(0.01, 0.99, 64)


ALONE = 0.8  # of the risk, for the noise of an answer where that of a profile is of another kind


@dataclass(frozen=True)
class NoisyEstimate:
    """A number per group and an interval round it. NaN where the noise left nothing to say."""

    values: Array
    low: Array
    high: Array


def estimate(recipe: Recipe, measures: Mapping[str, Noisy], *, confidence: float = 0.95) -> NoisyEstimate:
    """The aggregate and its interval. Clipping and suppression are not noise: they are warned about elsewhere."""
    inputs = [measures[name] for name in recipe.inputs]
    raw = value_of(recipe, [noisy.values for noisy in inputs])
    if recipe.function == "avg":
        return _ratio(recipe, inputs, raw, confidence)
    if recipe.function.startswith("stddev"):  # through the variance, whose noise is nearer to symmetric
        variance = replace(recipe, function=recipe.function.replace("stddev", "var"))
        found = estimate(variance, measures, confidence=confidence)
        return NoisyEstimate(np.sqrt(found.values), np.sqrt(found.low), np.sqrt(found.high))
    half = _margin(recipe, inputs, confidence)
    centre = np.rint(raw) if recipe.whole else raw
    return _within(recipe, raw, _lower(recipe, inputs, centre - half, confidence), centre + half)


def with_loss(
    recipe: Recipe, measures: Mapping[str, Noisy], missing: Missing, confidence: float
) -> tuple[NoisyEstimate, Coverage] | None:
    """A total and an interval that covers it also without clipping: its noise, what clipping took, and its uncertainty.
    None where what may lie beyond the profile is more than such an interval can carry.

    The truth is the clipped total and a loss between two linear forms of the profile's counts, which are independent
    of the noise. Each end is off by the noise and by that of its own form.
    """
    inputs = [measures[name] for name in recipe.inputs]
    raw, loss = value_of(recipe, [noisy.values for noisy in inputs]), missing.loss
    slopes = _slopes(recipe, inputs)
    least = float(np.min(width(slopes, inputs[0].kind, max(confidence, CONFIDENCE)), initial=inf))
    if not loss.carried(least, confidence):
        return None

    def far(noise: tuple[float, ...]) -> Array:
        return _together(slopes, inputs[0].kind, noise, loss.kind, confidence)

    below, above = raw + loss.low - far(loss.low_noise), raw + loss.high + far(loss.high_noise)
    shown = raw + loss.likely if missing.shape == "exact" else raw
    room = 0.5 if recipe.whole else 0.0  # what is shown is rounded, and the truth is whole
    own = float(np.max(width(slopes, inputs[0].kind, confidence), initial=0.0))
    covers = Coverage(of="truth", missing=(loss.low, loss.high), noise=own, given=loss.given)
    return _within(recipe, shown, below - room, above + room), covers


def lost_in_all(missing: Missing, confidence: float) -> tuple[float, float]:
    """What all groups together may be missing."""
    loss = missing.loss
    if not loss.high_noise:
        return min(loss.low, 0.0), loss.high
    half = float(width([np.array([size]) for size in loss.high_noise], loss.kind, confidence)[0])
    return (-(loss.high + half) if missing.shape == "either" else 0.0), loss.high + half


def _lower(recipe: Recipe, inputs: list[Noisy], low: Array, confidence: float) -> Array:
    """The lower end of an interval, or a lower one where a number is seen only because it passed a threshold."""
    if inputs[0].least is None or recipe.function != "count":
        return low
    return np.minimum(low, value_of(recipe, [inputs[0].values - depth(inputs[0], confidence)]))


def stretch(noisy: Noisy, confidence: float) -> Array:
    """By how much the threshold that a number passed makes its interval longer."""
    if noisy.least is None:
        return np.ones_like(noisy.values)
    plain = width([np.full_like(noisy.values, noisy.size)], noisy.kind, confidence)
    return np.maximum(1.0, depth(noisy, confidence) / plain)


def _together(slopes: list[Array], kind: str, noise: tuple[float, ...], other: str, confidence: float) -> Array:
    """How far the noise of an answer and that of a profile go together."""
    if not noise:
        return width(slopes, kind, confidence)
    sizes = [np.full_like(slopes[0], size) for size in noise]
    if kind == other:
        return width([*slopes, *sizes], kind, confidence)
    risk = 1 - confidence
    return width(slopes, kind, 1 - ALONE * risk) + width(sizes, other, 1 - (1 - ALONE) * risk)


def _margin(recipe: Recipe, inputs: list[Noisy], confidence: float) -> Array:
    """The half-width that is shown, before an answer and on it: a whole number is rounded, so it moves by ½ at most."""
    slopes = _slopes(recipe, inputs)
    if recipe.function != "count":  # which has a lower end of its own
        slopes[0] = slopes[0] * stretch(inputs[0], confidence)
    half = width(slopes, inputs[0].kind, confidence)
    if not recipe.whole:
        return half
    exact = recipe.half == 1 and len(recipe.inputs) == 1  # whole steps with whole noise: nothing is rounded
    return np.ceil((half if exact else half + 0.5) * (1 - 1e-9))  # doubles round too


def expected(priced: PricedPlan, confidence: float = 0.95) -> list[Expected]:
    """The noise in each column of the answer that has any, before anything is paid for."""
    recipes = {recipe.name: recipe for recipe in priced.recipes}
    found = []
    for name, (expression, made) in _origins(priced.question).items():
        if isinstance(expression, Column) and expression.name in recipes:
            error, words = _expected(priced, recipes[expression.name], confidence)
            found.append(Expected(column=name, error=error, words=words))
        elif made & recipes.keys():
            found.append(Expected(column=name, error=None, words="follows from the columns it is made of"))
    return found


Origin = tuple[Expression | None, frozenset[str]]
"""What a column of the answer is as it stands, if it was passed on; and the keys and aggregates it is made of."""


def _origin(value: Expression, known: Mapping[str, Origin] | None = None) -> Origin:
    names = [part.name for part in value.walk() if isinstance(part, Column)]
    if known is None:
        return value, frozenset(names)
    whole = known[value.name][0] if isinstance(value, Column) else None
    return whole, frozenset[str]().union(*(known[name][1] for name in names))


def _origins(question: LoweredQuestion) -> dict[str, Origin]:
    """Of each column of the answer."""
    if question.after is None:
        return {name: _origin(value) for name, value in question.output}
    known: dict[str, Origin] = {}
    for node in reversed(list(question.after.walk())):  # leaves first
        if isinstance(node, ReleasedTable):
            output = dict(question.measured[node.number].output)
            known |= {each.name: _origin(output[each.column]) for each in node.columns if each.column in output}
        made: dict[str, Sequence[Expression]] = {}
        if isinstance(node, Windows):
            made = {call.name: call.expressions for call in node.calls}
        if isinstance(node, Totals):
            made = {each.name: [each.argument] if each.argument is not None else [] for each in node.totals}
        known |= {
            name: (None, frozenset[str]().union(*(_origin(value, known)[1] for value in values)))
            for name, values in made.items()
        }
        if isinstance(node, Project):
            known |= {name: _origin(value, known) for name, value in node.columns}
        if isinstance(node, Totals):
            known |= {name: _origin(value, known) for name, value in node.keys}
    return {name: known[name] for name in question.after.schema}


def _expected(priced: PricedPlan, recipe: Recipe, confidence: float) -> tuple[float | None, str]:
    step, clip = priced.noise_in(recipe)
    mechanism, person = step.mechanism, priced.program.unit
    if isinstance(mechanism, BinnedQuantiles):
        if clip.bound is None:
            times = _short(2 * float(mechanism.margin))
            return None, f"an interval as wide in rank as {times} times what one {person} may count, {CHOSEN}"
        ranks = 2 * float(mechanism.margin) / recipe.half  # each row counts `half` steps
        return None, f"an interval about {_short(ranks)} rows wide in rank"
    if clip.bound is None:  # such noise is in units of the bound
        times = _short(mechanism.half_width(confidence))
        return None, f"± {times} times what one {person} may count, {CHOSEN}"
    noisy = Noisy(np.zeros(1), mechanism.family, float(mechanism.magnitude))
    part = priced.parts[recipe.part]
    (measure,) = [each for each in part.measures if each.name == recipe.inputs[0]]
    tables = level_tables(part, measure)
    if tables is not None:  # one size for each level
        noisy = Noisy(np.zeros(len(tables.sets)), noisy.kind, sizes_of(tables, noisy.size))
    if recipe.function in ("count", "histogram", "mode", "sum"):
        errors = _margin(recipe, [noisy] * len(recipe.inputs), confidence)
        least, most = margin(float(errors.min())), margin(float(errors.max()))
        words = f"± {most}" if least == most else f"± {least} to {most}, by grouping"
        return float(errors.max()), words
    if recipe.function == "avg":
        size = np.array([np.max(noisy.size) * float(recipe.step)])
        error = float(width([size, size], noisy.kind, confidence)[0]) / TYPICAL
        few = margin(error * 10)
        return None, f"about ± {margin(error)} where a group has {TYPICAL:,} rows, ± {few} for {TYPICAL // 10}"
    return None, "depends on the number of rows in the group; the answer says how much"


def _short(value: float) -> str:
    return f"{value:,.3g}" if value < 1000 else f"{value:,.0f}"


def _within(recipe: Recipe, raw: Array, low: Array, high: Array) -> NoisyEstimate:
    """Kept to what the truth can be, which only narrows an interval where the truth is not."""
    floor = -np.inf if recipe.low is None else float(recipe.low)
    ceiling = np.inf if recipe.high is None else float(recipe.high)
    shown = np.clip(raw, floor, ceiling)
    if recipe.whole:
        shown = np.rint(shown)
        low, high = np.floor(low), np.ceil(high)
    low = np.clip(np.where(np.isnan(low), floor, low), floor, ceiling)
    high = np.clip(np.where(np.isnan(high), ceiling, high), floor, ceiling)
    return NoisyEstimate(shown, low, high)


def value_of(recipe: Recipe, inputs: list[Array]) -> Array:
    """The aggregate as a smooth function of its measures."""
    step, half = float(recipe.step), float(recipe.half)
    reach, middle = step * half, float(recipe.middle)
    with np.errstate(divide="ignore", invalid="ignore"):
        if recipe.function == "count":
            return inputs[0] / half
        if recipe.function == "sum":
            if len(inputs) == 1:
                return inputs[0] * step
            return inputs[1] * step + middle * inputs[0] / half
        count = np.where(inputs[0] > 0, inputs[0], np.nan)
        first = inputs[1] / count
        if recipe.function == "avg":
            return middle + reach * first
        if recipe.function.startswith(("var", "stddev")):
            found = _variance(first, inputs[2] / count, reach)
            rows = inputs[0] / half
            if recipe.function.endswith("samp"):
                found = found * np.where(rows > 1, rows / (rows - 1), np.nan)
            return np.sqrt(np.maximum(found, 0)) if recipe.function.startswith("stddev") else found
        second, both = inputs[2] / count, inputs[3] / count
        other = float(recipe.other_step) * half
        if recipe.function == "corr":
            spread = _variance(first, inputs[4] / count, 1.0) * _variance(second, inputs[5] / count, 1.0)
            return (both - first * second) / np.sqrt(np.where(spread > 0, spread, np.nan))
        found = reach * other * (both - first * second)
        if recipe.function == "covar_samp":
            rows = inputs[0] / half
            return found * np.where(rows > 1, rows / (rows - 1), np.nan)
        if recipe.function == "covar_pop":
            return found
    raise InputError(f"there is no recipe for {recipe.function!r}")


def _variance(first: Array, squares: Array, reach: float) -> Array:
    """Below zero where the noise is larger than the truth; `_within` puts that right when all is done."""
    return np.asarray(reach**2 * (squares + 0.5 - first**2))


def _slopes(recipe: Recipe, inputs: list[Noisy]) -> list[Array]:
    """By how much one size of noise in each measure moves the aggregate: exactly of counts and sums, which are linear,
    and else by central differences."""
    each: list[float] = []
    if recipe.function == "sum":
        of_rows = [abs(float(recipe.middle)) / recipe.half] if len(inputs) > 1 else []
        each = [*of_rows, float(recipe.step)]
    elif recipe.function in ("count", "histogram", "mode"):
        each = [1 / recipe.half]
    if each:
        return [np.full_like(noisy.values, by * noisy.size) for by, noisy in zip(each, inputs, strict=False)]
    values = [noisy.values for noisy in inputs]
    found = []
    for place, noisy in enumerate(inputs):
        up, down = list(values), list(values)
        shift = noisy.size * 1e-3
        up[place], down[place] = values[place] + shift, values[place] - shift
        found.append(np.abs(value_of(recipe, up) - value_of(recipe, down)) / 2e-3)
    return found


def width(slopes: list[Array], kind: str, confidence: float) -> Array:
    """The half-width that a sum of independent noises of these sizes stays within."""
    if kind == "gaussian":
        with np.errstate(over="ignore"):  # an interval without ends
            total: Array = np.sqrt(np.sum([slope**2 for slope in slopes], axis=0))
        return NormalDist().inv_cdf(0.5 + confidence / 2) * total
    if len(slopes) == 1:
        return log(1 / (1 - confidence)) * slopes[0]
    return _laplace_width(np.array(slopes), confidence)


def _laplace_width(scales: Array, confidence: float) -> Array:
    """For Laplace noises of different scales α, Pr[|Σ| > t] = Σᵢ e^(−t/αᵢ) Πⱼ αᵢ²/(αᵢ² − αⱼ²), solved by bisection.

    The formula is a partial fraction of the characteristic function; equal scales are moved apart by some thousandths,
    upward, which widens the answer by as little. Of more than MOST_SCALES the terms would cancel beyond what doubles
    hold, and Chernoff's bound serves: Pr[|Σ| > t] ≤ 2 e^(−st) Πᵢ 1/(1 − s²αᵢ²) for every s below 1/max α.
    """
    count = len(scales)
    if count > MOST_SCALES:
        largest = scales.max(axis=0) + 1e-300
        shares = scales / largest
        tried = ((log(2 / (1 - confidence)) - np.log1p(-((s * shares) ** 2)).sum(axis=0)) / s for s in CHERNOFF)
        return np.asarray(largest * reduce(np.minimum, tried))
    total = np.sqrt((scales**2).sum(axis=0)) + 1e-300
    spaced = np.sort(np.maximum(scales / total, 1e-4), axis=0)
    for i in range(1, count):
        spaced[i] = np.maximum(spaced[i], spaced[i - 1] * 1.01)
    square = spaced**2
    weights = np.ones_like(spaced)
    for i in range(count):
        for j in range(count):
            if i != j:
                weights[i] *= square[i] / (square[i] - square[j])

    low, high = np.zeros_like(total), np.full_like(total, 2 * log(1 / (1 - confidence)) * sqrt(count))
    for _ in range(ROUNDS):
        middle = (low + high) / 2
        outside = (weights * np.exp(-middle / spaced)).sum(axis=0)
        wide = outside > 1 - confidence
        low, high = np.where(wide, middle, low), np.where(wide, high, middle)
    return np.asarray(high * total)


def _ratio(recipe: Recipe, inputs: list[Noisy], raw: Array, confidence: float) -> NoisyEstimate:
    """Fieller's interval: every average t for which the noise explains first − t·count.

    In units of `reach` the truth t is in −most..most, and first − t·count has noise of sizes 1 and |t|. `most` is 1
    where values are measured from the middle of their range, and more where they are from a typical value. The noise of
    a count that passed a threshold counts as so much longer. Where the count is within reach of its own noise nothing
    is known, and the interval is the whole range.
    """
    count, first = inputs[0].values, inputs[1].values
    size = inputs[0].size  # the same in both
    reach, middle = float(recipe.step) * recipe.half, float(recipe.middle)
    most = max([1.0, *(abs(float(end) - middle) / reach for end in (recipe.low, recipe.high) if end is not None)])
    longer = stretch(inputs[0], confidence)
    if inputs[0].kind == "gaussian":
        vague, low, high = _gaussian_ratio(
            count, first, NormalDist().inv_cdf(0.5 + confidence / 2) * size, most, longer
        )
    else:
        vague, low, high = _laplace_ratio(count, first, size, confidence, most, longer)
    low, high = np.where(vague, -most, np.clip(low, -most, most)), np.where(vague, most, np.clip(high, -most, most))
    return _within(recipe, raw, middle + reach * low, middle + reach * high)


def _gaussian_ratio(
    count: Array, first: Array, far: float | Array, most: float, longer: Array
) -> tuple[Any, Array, Array]:
    """The roots of (first − t·count)² = far²·(1 + t²·longer²)."""
    vague = count <= far * np.sqrt(longer**2 + 1 / most**2)
    square = np.where(vague, 1.0, count**2 - (far * longer) ** 2)
    spread = far * np.sqrt(np.where(vague, 0.0, count**2 + longer**2 * (first**2 - far**2)))
    return vague, (first * count - spread) / square, (first * count + spread) / square


def _laplace_ratio(
    count: Array, first: Array, size: float | Array, confidence: float, most: float, longer: Array
) -> tuple[Any, Array, Array]:
    """By bisection, on a table of how far two noises of sizes 1 and |t| go together: t times as far as 1/|t| and 1."""
    grid, reach = _pairs(confidence)

    def far(t: Any) -> Array:
        there = np.abs(t) * longer
        larger = np.maximum(there, 1.0)
        return np.asarray(size * larger * np.interp(np.minimum(there, 1.0) / larger, grid, reach))

    vague = count <= far(most) / most
    with np.errstate(divide="ignore", invalid="ignore"):
        centre = np.clip(np.where(count > 0, first / count, 0.0), -most, most)
    high = edge(lambda t: t * count - first <= far(t), centre, np.full_like(centre, most))
    low = edge(lambda t: first - t * count <= far(t), centre, np.full_like(centre, -most))
    return vague, low, high


@lru_cache(maxsize=16)
def _pairs(confidence: float) -> tuple[Array, Array]:
    """Half-widths for two noises of sizes 1 and t, on a grid of t; lines between them are no lower than the curve."""
    grid = np.linspace(0, 1, 513)
    return grid, width([np.ones_like(grid), grid], "laplace", confidence)
