"""Aggregates from noisy measures, each with an interval that covers the noise: arithmetic on released numbers only."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from math import log, sqrt
from typing import Any, Literal

import numpy as np
from scipy.special import ndtri

from tacit.base import InputError
from tacit.plan.moments import Recipe

__all__ = ["Noisy", "NoisyEstimate", "estimate", "margin_of", "value_of", "width"]

Array = np.ndarray[Any, np.dtype[np.float64]]
ROUNDS = 32  # of bisection: an end is found to 2^−32 of where it may be, and taken on the wide side


@dataclass(frozen=True)
class Noisy:
    """A released measure: one number per group, and the size of the noise in it (σ, or a Laplace scale)."""

    values: Array
    kind: Literal["gaussian", "laplace"]
    size: float


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
    half = margin_of(recipe, width(_slopes(recipe, inputs), inputs[0].kind, confidence))
    centre = np.rint(raw) if recipe.whole else raw
    return _within(recipe, raw, centre - half, centre + half)


def margin_of(recipe: Recipe, half: Array) -> Array:
    """The half-width that is shown, before an answer and on it: a whole number is rounded, so it moves by ½ at most."""
    if not recipe.whole:
        return half
    exact = recipe.half == 1 and len(recipe.inputs) == 1  # whole steps with whole noise: nothing is rounded
    return np.ceil((half if exact else half + 0.5) * (1 - 1e-9))  # slopes are known to some 1e-10


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
    """By how much one size of noise in each measure moves the aggregate, by central differences."""
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
        total: Array = np.sqrt(np.sum([slope**2 for slope in slopes], axis=0))
        return float(ndtri(0.5 + confidence / 2)) * total
    if len(slopes) == 1:
        return log(1 / (1 - confidence)) * slopes[0]
    return _laplace_width(np.array(slopes), confidence)


def _laplace_width(scales: Array, confidence: float) -> Array:
    """For Laplace noises of different scales α, Pr[|Σ| > t] = Σᵢ e^(−t/αᵢ) Πⱼ αᵢ²/(αᵢ² − αⱼ²), solved by bisection.

    The formula is a partial fraction of the characteristic function; equal scales are moved apart by some thousandths,
    upward, which widens the answer by as little.
    """
    count = len(scales)
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

    In units of half the range the truth t is in −1..1, and first − t·count has noise of sizes 1 and |t|. Where the
    count is within reach of its own noise nothing is known, and the interval is the whole range.
    """
    count, first = inputs[0].values, inputs[1].values
    size = inputs[0].size
    if inputs[0].kind == "gaussian":
        vague, low, high = _gaussian_ratio(count, first, float(ndtri(0.5 + confidence / 2)) * size)
    else:
        vague, low, high = _laplace_ratio(count, first, size, confidence)
    low, high = np.where(vague, -1.0, np.clip(low, -1, 1)), np.where(vague, 1.0, np.clip(high, -1, 1))
    reach, middle = float(recipe.step) * recipe.half, float(recipe.middle)
    return _within(recipe, raw, middle + reach * low, middle + reach * high)


def _gaussian_ratio(count: Array, first: Array, far: float) -> tuple[Any, Array, Array]:
    """The roots of (first − t·count)² = far²·(1 + t²)."""
    vague = count <= far * sqrt(2)
    square = np.where(vague, 1.0, count**2 - far**2)
    spread = far * np.sqrt(np.where(vague, 0.0, first**2 + square))
    return vague, (first * count - spread) / square, (first * count + spread) / square


def _laplace_ratio(count: Array, first: Array, size: float, confidence: float) -> tuple[Any, Array, Array]:
    """By bisection, on a table of how far two noises of sizes 1 and |t| go together."""
    grid, reach = _pairs(confidence)

    def far(t: Array) -> Array:
        return size * np.interp(np.abs(t), grid, reach)

    vague = count <= size * reach[-1]
    with np.errstate(divide="ignore", invalid="ignore"):
        centre = np.clip(np.where(count > 0, first / count, 0.0), -1, 1)
    high = _edge(lambda t: t * count - first <= far(t), centre, np.ones_like(centre))
    low = _edge(lambda t: first - t * count <= far(t), centre, -np.ones_like(centre))
    return vague, low, high


@lru_cache(maxsize=16)
def _pairs(confidence: float) -> tuple[Array, Array]:
    """Half-widths for two noises of sizes 1 and t, on a grid of t; lines between them are no lower than the curve."""
    grid = np.linspace(0, 1, 513)
    return grid, width([np.ones_like(grid), grid], "laplace", confidence)


def _edge(holds: Callable[[Array], Any], inside: Array, outside: Array) -> Array:
    """Where a condition that holds at `inside` stops on the way to `outside`, which is kept if it never does."""
    near, far = inside, outside
    done = holds(outside)
    for _ in range(ROUNDS):
        middle = (near + far) / 2
        good = holds(middle)
        near, far = np.where(good, middle, near), np.where(good, far, middle)
    return np.where(done, outside, far)
