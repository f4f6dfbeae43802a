"""Events: sets of outputs, in words and as a test that can be put to fresh outputs.

Most are built from a *score*, a number for each output: the output itself, one coordinate, the count of yeses, what a
classifier says. Over a score there are thresholds, intervals, single values, and unions of bins chosen by likelihood
ratio. Whether an output lies in an event depends on that output alone, not on its batch.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import floor, log10

import numpy as np

from tacit.auditor.outputs import Bools, Floats, Outputs, Shape, exact_number, spelled

__all__ = ["Event", "Score", "above", "among", "below", "between", "bins", "both", "cuts", "equals", "shaped"]

SHOWN = 6  # parts of an event that are spelled out
POINTS = 160  # thresholds tried over one score


@dataclass(frozen=True, eq=False)
class Score:
    """A number for each output; NaN puts the output outside every event over this score."""

    words: str
    of: Callable[[Outputs], Floats]


@dataclass(frozen=True, eq=False)
class Event:
    """A set of outputs. `score` is what a picture of it has on its axis; without one it shows shapes or values."""

    words: str
    contains: Callable[[Outputs], Bools]
    score: Score | None = None


def above(score: Score, cut: float) -> Event:
    """score ≥ cut"""
    return Event(f"{score.words} is at least {exact_number(cut)}", lambda outputs: score.of(outputs) >= cut, score)


def below(score: Score, cut: float) -> Event:
    """score ≤ cut"""
    return Event(f"{score.words} is at most {exact_number(cut)}", lambda outputs: score.of(outputs) <= cut, score)


def between(score: Score, low: float, high: float) -> Event:
    """low ≤ score ≤ high"""

    def contains(outputs: Outputs) -> Bools:
        values = score.of(outputs)
        inside: Bools = (values >= low) & (values <= high)
        return inside

    return Event(f"{score.words} lies in [{exact_number(low)}, {exact_number(high)}]", contains, score)


def equals(score: Score, value: float) -> Event:
    """score = value, to the last bit"""
    return Event(f"{score.words} is exactly {exact_number(value)}", lambda outputs: score.of(outputs) == value, score)


def bins(score: Score, edges: Floats, chosen: Bools) -> Event:
    """The union of the chosen half-open bins [edges[i − 1], edges[i]); the first and the last are unbounded."""

    def contains(outputs: Outputs) -> Bools:
        values = score.of(outputs)
        inside: Bools = chosen[np.searchsorted(edges, values, side="right")] & ~np.isnan(values)
        return inside

    ends = ["−∞", *map(exact_number, edges), "∞"]
    words, start = [], None
    for place, inside in enumerate([*chosen.tolist(), False]):
        if inside and start is None:
            start = place
        if not inside and start is not None:
            words.append(f"[{ends[start]}, {ends[place]})".replace("[−∞", "(−∞"))
            start = None
    return Event(f"{score.words} lies in {_listed(words)}", contains, score)


def among(score: Score, values: Sequence[float]) -> Event:
    """score is one of these numbers"""
    chosen = np.sort(np.asarray(values, dtype=float))
    words = f"{score.words} is {'one of ' if len(chosen) > 1 else ''}{_listed([exact_number(v) for v in chosen])}"
    return Event(words, lambda outputs: np.isin(score.of(outputs), chosen), score)


def shaped(shapes: Iterable[Shape]) -> Event:
    """The output has one of these shapes: for outputs without numbers, that is one of these values."""
    chosen = frozenset(shapes)
    listed = sorted(spelled(shape) for shape in chosen)
    words = f"the output is {'one of ' if len(listed) > 1 else ''}{_listed(listed)}"
    return Event(words, lambda outputs: outputs.of_shape(chosen))


def both(first: Event, second: Event) -> Event:
    """The outputs that lie in both."""

    def contains(outputs: Outputs) -> Bools:
        inside: Bools = first.contains(outputs) & second.contains(outputs)
        return inside

    return Event(f"{first.words}, and {second.words}", contains, second.score or first.score)


def _listed(words: Sequence[str]) -> str:
    if len(words) <= SHOWN:
        return " or ".join(words)
    return " or ".join(words[:SHOWN]) + f" or {len(words) - SHOWN} more"


def cuts(left: Floats, right: Floats) -> Floats:
    """Thresholds worth trying: quantiles of both sides together, and far into each of the four tails.

    Where the values are not whole they are rounded to about a thousandth of their spread, to be readable; that moves a
    threshold, never the count of what lies beyond it.
    """
    pooled = np.sort(np.concatenate([left[np.isfinite(left)], right[np.isfinite(right)]]))
    if not len(pooled):
        return pooled
    distinct = np.unique(pooled)
    if len(distinct) <= POINTS:
        return distinct
    places = np.linspace(0, len(pooled) - 1, POINTS).astype(int)
    found = [pooled[places]]
    for side in (left, right):
        ordered = np.sort(side[np.isfinite(side)])
        ranks = np.unique(np.minimum(2 ** np.arange(1, 16) // 2, max(len(ordered) - 1, 0)))
        if len(ordered):
            found += [ordered[ranks], ordered[len(ordered) - 1 - ranks]]
    values = np.unique(np.concatenate(found))
    spread = float(pooled[len(pooled) * 3 // 4] - pooled[len(pooled) // 4])
    if spread > 0 and not np.array_equal(distinct, np.rint(distinct)):
        digits = 3 - floor(log10(spread))
        if abs(digits) < 300:
            values = np.unique(np.round(values, digits))
    return values
