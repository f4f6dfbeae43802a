"""Events: sets of outputs, in words and as a test that can be put to fresh outputs.

Most are built from a *score*, a number for each output: the output itself, one coordinate, the count of yeses, what a
classifier says. Over a score there are thresholds, intervals, single values, and unions of bins chosen by likelihood
ratio. Whether an output lies in an event depends on that output alone, not on its batch.

A classifier guesses which neighbour an output came from, by logistic regression on steps of every score. Its log-odds
are a score like any other: it looks at many coordinates at once, which single thresholds cannot.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import floor, log10
from typing import Any

import numpy as np
from scipy.special import expit

from tacit.auditor.outputs import Bools, Floats, Outputs, Shape, exact_number, spelled
from tacit.base import InputError

__all__ = [
    "Event",
    "Score",
    "above",
    "among",
    "below",
    "between",
    "bins",
    "bit_events",
    "both",
    "classifier",
    "cuts",
    "equals",
    "grain",
    "shaped",
]

SHOWN = 6  # parts of an event that are spelled out
POINTS = 160  # thresholds tried over one score

Ints = np.ndarray[Any, np.dtype[np.int64]]
Test = Callable[[Floats], Bools]


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


def _over(score: Score, words: str, test: Test) -> Event:
    return Event(f"{score.words} {words}", lambda outputs: test(score.of(outputs)), score)


def above(score: Score, cut: float) -> Event:
    return _over(score, f"is at least {exact_number(cut)}", lambda values: values >= cut)


def below(score: Score, cut: float) -> Event:
    return _over(score, f"is at most {exact_number(cut)}", lambda values: values <= cut)


def between(score: Score, low: float, high: float) -> Event:
    words = f"lies in [{exact_number(low)}, {exact_number(high)}]"
    return _over(score, words, lambda values: (values >= low) & (values <= high))


def equals(score: Score, value: float) -> Event:
    return _over(score, f"is exactly {exact_number(value)}", lambda values: values == value)


def bins(score: Score, edges: Floats, chosen: Bools) -> Event:
    """The union of the chosen half-open bins [edges[i − 1], edges[i]); the first and the last are unbounded."""
    ends = ["−∞", *map(exact_number, edges), "∞"]
    turns = np.flatnonzero(np.diff(np.concatenate([[False], chosen, [False]])))  # where a run begins, where it ends
    words = [f"[{ends[a]}, {ends[b]})".replace("[−∞", "(−∞") for a, b in turns.reshape(-1, 2)]
    return _over(
        score,
        f"lies in {_listed(words)}",
        lambda values: chosen[np.searchsorted(edges, values, side="right")] & ~np.isnan(values),
    )


def among(score: Score, values: Sequence[float] | Floats) -> Event:
    chosen = np.sort(np.asarray(values, dtype=float))
    return _over(score, f"is {_one_of(list(map(exact_number, chosen)))}", lambda each: np.isin(each, chosen))


def shaped(shapes: Iterable[Shape]) -> Event:
    """The output has one of these shapes: for outputs without numbers, that is one of these values."""
    chosen = frozenset(shapes)
    words = f"the output is {_one_of(sorted(map(spelled, chosen)))}"
    return Event(words, lambda outputs: outputs.of_shape(chosen))


def both(first: Event, second: Event) -> Event:
    return Event(
        f"{first.words}, and {second.words}",
        lambda outputs: first.contains(outputs) & second.contains(outputs),
        second.score or first.score,
    )


def _one_of(words: Sequence[str]) -> str:
    return f"{'one of ' if len(words) > 1 else ''}{_listed(words)}"


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


NEVER, SMALLEST = 2000, -2000  # grain of 0, a multiple of everything, and its exponent
BITS = 53
SURE = 3.5  # standard deviations by which the grain must differ between the sides, beyond what the sizes do
DOUBT = 2.5  # the same, for judging the ratio of a candidate
MOST = 12  # events


def grain(values: Floats) -> tuple[Ints, Ints]:
    """For each finite double the largest g with value = integer × 2^g, and the least e with |value| < 2^e."""
    parts, exponents = np.frexp(values)
    whole = np.ldexp(parts, BITS).astype(np.int64)
    _, lowest = np.frexp((whole & -whole).astype(np.float64))
    zero = whole == 0
    place = exponents.astype(np.int64)
    return np.where(zero, NEVER, place + lowest - 1 - BITS), np.where(zero, SMALLEST, place)


def bit_events(left: Floats, right: Floats) -> list[tuple[str, Test]]:
    """Events that the bits of outputs of two neighbours suggest, each with its words; none for doubles that are sound.

    An event is listed only if its grain is surely spread differently on the two sides, given its size: otherwise its
    grain adds nothing to a threshold. What is listed is a suggestion, to be put to fresh outputs.
    """
    sides = [_finite(left), _finite(right)]
    found: list[tuple[str, Test]] = []
    if any(_negative_zero(side).any() for side in sides):
        found.append(("the output is −0", _negative_zero))
    if min(len(side) for side in sides) == 0:
        return found
    grains, sizes = zip(*(grain(side) for side in sides), strict=True)
    steps = np.unique(np.concatenate(grains))
    limits = np.unique(np.concatenate(sizes))
    if len(steps) < 2:
        return found
    tables = [_table(g, e, steps, limits) for g, e in zip(grains, sizes, strict=True)]
    totals = np.array([len(side) for side in sides], dtype=np.float64)
    ranked: dict[tuple[float, float], tuple[float, int, int, bool, bool]] = {}  # by counts: one of those that agree
    for small in (True, False):
        for fine in (True, False):
            inside, parents = zip(*(_counts(table, small, fine) for table in tables), strict=True)
            sure = _differs(inside, parents)
            for likelier in (0, 1):
                scores = np.where(sure, _judged(inside[likelier], inside[1 - likelier], totals, likelier), -np.inf)
                for row, column in zip(*_highest(scores), strict=True):
                    counts = float(inside[0][row, column]), float(inside[1][row, column])
                    ranked.setdefault(counts, (float(scores[row, column]), int(row), int(column), small, fine))
    best = sorted(ranked.values(), key=lambda entry: -entry[0])[:MOST]
    return found + [_event(int(steps[s]), int(limits[e]), small, fine) for _, s, e, small, fine in best]


def _finite(values: Any) -> Floats:
    found = np.asarray(values)
    if found.ndim != 1 or found.dtype.kind not in "fiu":
        raise InputError("the bits of outputs can be looked at for a list of numbers only")
    doubles = found.astype(np.float64)
    return doubles[np.isfinite(doubles)]


def _table(grains: Ints, sizes: Ints, steps: Ints, limits: Ints) -> Floats:
    """How many outputs have each grain (rows) and each exponent (columns)."""
    cells = np.searchsorted(steps, grains) * len(limits) + np.searchsorted(limits, sizes)
    return np.bincount(cells, minlength=len(steps) * len(limits)).reshape(len(steps), len(limits)).astype(np.float64)


def _counts(table: Floats, small: bool, fine: bool) -> tuple[Floats, Floats]:
    """Outputs in each candidate, and in its size range whatever the grain.

    `small`: exponent at most that of the column, else above. `fine`: grain below that of the row, else at least.
    """
    by_size = np.cumsum(table, axis=1)
    if not small:
        by_size = by_size[:, -1:] - by_size
    up_to = np.cumsum(by_size, axis=0)
    parent = np.broadcast_to(up_to[-1:], up_to.shape)
    below = up_to - by_size
    return (below if fine else parent - below), parent


def _differs(inside: tuple[Floats, ...], parents: tuple[Floats, ...]) -> Any:
    """Whether the share of the candidate within its size range is surely not the same on both sides."""
    first, second = (np.maximum(parent, 1.0) for parent in parents)
    pooled = (inside[0] + inside[1]) / (first + second)
    spread = np.sqrt(pooled * (1 - pooled) * (1 / first + 1 / second))
    apart = np.abs(inside[0] / first - inside[1] / second)
    return (parents[0] > 0) & (parents[1] > 0) & (apart > SURE * spread)


def _judged(k: Floats, m: Floats, totals: Floats, likelier: int) -> Floats:
    """The logarithm of a cautious ratio of the two shares; −inf where nothing is left of it."""
    low = (k - DOUBT * np.sqrt(k) - 1) / totals[likelier]
    high = (m + DOUBT * np.sqrt(m) + DOUBT**2 / 2) / totals[1 - likelier]
    return np.where(low > 0, np.log(np.maximum(low, 1e-300) / high), -np.inf)


def _highest(scores: Floats) -> tuple[Ints, Ints]:
    """Rows and columns of the highest scores above 0."""
    order = np.argsort(-scores, axis=None, kind="stable")[: MOST * scores.shape[1]]
    rows, columns = np.unravel_index(order[scores.flat[order] > 0], scores.shape)
    return rows, columns


def _event(step: int, limit: int, small: bool, fine: bool) -> tuple[str, Test]:
    def test(values: Floats) -> Bools:
        finite = np.isfinite(values)
        grains, sizes = grain(np.where(finite, values, 0.0))
        return np.asarray(finite & ((sizes <= limit) == small) & ((grains < step) == fine))

    size = f"{'below' if small else 'at least'} 2^{limit} in size" if limit > SMALLEST else "0" if small else "not 0"
    zero = "not 0" if fine else "0"
    bits = zero if step == NEVER else f"{'no' if fine else 'a'} multiple of 2^{step}"
    return f"the output is {size} and {bits}", test


def _negative_zero(values: Floats) -> Bools:
    return np.asarray((values == 0) & np.signbit(values))


STEPS = 6  # thresholds a score is cut at
ROWS = 10_000  # outputs a side that a fit looks at
FEATURES = 200
RIDGE = 3.0
NAMED = 4  # weights that are put in words


def classifier(left: Outputs, right: Outputs, scores: Sequence[Score], parts: Sequence[Event]) -> Score | None:
    """log-odds that an output came from the first neighbour, fitted on both samples; None if nothing varies."""
    left, right = left.part(slice(ROWS)), right.part(slice(ROWS))
    steps = [(score, _edges(score.of(left), score.of(right))) for score in scores]
    steps = [(score, edges) for score, edges in steps if len(edges)]
    parts = list(parts)
    total = sum(len(edges) for _, edges in steps) + len(parts)
    if not total or not len(left) or not len(right):
        return None
    if total > FEATURES:  # many coordinates: fewer steps for each
        steps = [(score, edges[len(edges) // 2 : len(edges) // 2 + 1]) for score, edges in steps][:FEATURES]
        parts = parts[:FEATURES]

    def table(outputs: Outputs) -> Floats:
        columns = [(score.of(outputs)[:, None] >= edges[None, :]).astype(float) for score, edges in steps]
        columns += [event.contains(outputs).astype(float)[:, None] for event in parts]
        return np.concatenate([np.ones((len(outputs), 1)), *columns], axis=1)

    rows = np.concatenate([table(left), table(right)])
    truth = np.concatenate([np.ones(len(left)), np.zeros(len(right))])
    # multiples of 1/1024 add up exactly in any order, so an output's score does not depend on its batch
    weights = np.round(_fitted(rows, truth) * 1024) / 1024
    names = [f"{score.words} from {edge:.4g}" for score, edges in steps for edge in edges]
    names += [event.words for event in parts]
    heavy = np.argsort(-np.abs(weights[1:]), kind="stable")[:NAMED]
    said = "; ".join(f"{names[i]} ({weights[1 + i]:+.2f})" for i in heavy.tolist())
    return Score(f"the log-odds of a classifier (most weight on: {said})", lambda outputs: table(outputs) @ weights)


def _edges(x: Floats, y: Floats) -> Floats:
    """Cut points between the quantiles of both sides together; every value where there are few."""
    pooled = np.concatenate([x[np.isfinite(x)], y[np.isfinite(y)]])
    distinct = np.unique(pooled)
    if len(distinct) <= 2 * STEPS:
        return distinct[1:] if len(pooled) == len(x) + len(y) else distinct
    return np.unique(np.quantile(pooled, np.linspace(0, 1, STEPS + 1)[1:-1]))


def _fitted(rows: Floats, truth: Floats) -> Floats:
    """Ridge-penalised logistic regression."""
    from scipy.optimize import minimize  # takes long to import

    penalty = np.full(rows.shape[1], RIDGE)
    penalty[0] = 1e-6

    def cost(weights: Floats) -> tuple[float, Floats]:
        odds = rows @ weights
        value = np.logaddexp(0, odds).sum() - truth @ odds + (penalty * weights**2).sum() / 2
        return float(value), rows.T @ (expit(odds) - truth) + penalty * weights

    return minimize(cost, np.zeros(rows.shape[1]), jac=True, method="L-BFGS-B").x
