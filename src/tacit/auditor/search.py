"""The search for the event that shows the most: many candidates, judged by what they would certify.

Nothing here has to be right for a verdict to be: what is found is put to fresh outputs. It only has to be good. So
candidates are ranked by the bound on ε that the fresh outputs would certify if p and q were as bad as the searched ones
allow, not by the raw ratio, which rare events win by luck; and whatever is fitted (bins ordered by likelihood ratio, a
classifier) is fitted on one half of the outputs and judged on the other.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import inf, sqrt
from typing import Any

import numpy as np
from scipy.special import ndtri

from tacit.auditor import events
from tacit.auditor.events import Event, Score, classifier
from tacit.auditor.outputs import NUMBER, Bools, Floats, Outputs, Shape, spelled
from tacit.auditor.sequences import number_scores, part_events, shape_scores

__all__ = ["BestEvent", "Goal", "search"]

BINS = 64
VALUES = 256  # different outputs up to which each is a bin of its own
STARTS = 40  # ends of intervals tried
DOUBT = 0.005  # strict: the best of hundreds of candidates is partly luck
CONDITIONS = 6  # of a rule
TINY = 1e-300
BOLD = 0.3  # the doubt of a second look, when the first found nothing that promises a bound above 0
SIMPLE = 3.0  # an interval or a union must promise this/√n beyond a threshold

Build = Callable[[int], Event]


@dataclass(frozen=True, eq=False)
class BestEvent:
    """An event, the neighbour under which it is likelier (0 or 1), the bound it promises, and its two shares."""

    event: Event
    likelier: int
    bound: float
    p: float
    q: float


@dataclass(frozen=True, kw_only=True)
class Goal:
    """A bound on ε at `delta` from `fresh` outputs a side, with an error of `tail`; judging one may err by `doubt`."""

    fresh: int
    delta: float
    tail: float
    doubt: float = DOUBT

    def promised(self, likelier: Floats, n: int, other: Floats, size: int) -> Floats:
        """About the bound that is to be expected, if p and q are as bad as the counts allow."""
        p, q = _wilson(likelier / n, n, self.doubt)[0], _wilson(other / size, size, self.doubt)[1]
        margin, above = _wilson(p, self.fresh, self.tail / 2)[0] - self.delta, _wilson(q, self.fresh, self.tail / 2)[1]
        return np.where(margin > 0, np.log(np.maximum(margin, TINY)) - np.log(np.maximum(above, TINY)), -inf)


class Search:
    """The best event so far, between the outputs of two neighbours.

    `goal` says what will certify it. Within an event already chosen the outputs are those inside it, and `sizes` tells
    how many there were; `sides` are the neighbours under which an event may be the likelier.
    """

    def __init__(
        self,
        left: Outputs,
        right: Outputs,
        goal: Goal,
        *,
        sizes: tuple[int, int] | None = None,
        sides: tuple[int, ...] = (0, 1),
    ) -> None:
        self.left, self.right, self.goal, self._sides = left, right, goal, sides
        self._sizes = sizes or (len(left), len(right))
        self.simple = min(0.1, SIMPLE / sqrt(max(1, min(self._sizes))))
        everything = Event("the output is anything", lambda outputs: np.ones(len(outputs), dtype=np.bool_))
        self.best = BestEvent(everything, 0, -inf, 1.0, 1.0)

    def consider(self, build: Build, left: Any, right: Any, sizes: tuple[int, int], *, handicap: float = 0.0) -> None:
        """Candidates by their counts on both sides; `build(i)` makes the event of the i-th.

        With a `handicap` they must promise so much more than what is simpler.
        """
        counts = (np.asarray(left, dtype=float), np.asarray(right, dtype=float))
        for likelier in self._sides:
            k, n, m, size = counts[likelier], sizes[likelier], counts[1 - likelier], sizes[1 - likelier]
            if not len(k) or not n or not size:
                continue
            promised = self.goal.promised(k, n, m, size)
            best = int(np.argmax(promised))
            if promised[best] - handicap > self.best.bound:
                share, other = float(k[best] / n), float((m[best] + 0.5) / (size + 1))
                self.best = BestEvent(build(best), likelier, float(promised[best]) - handicap, share, other)

    def _among(self, left: Outputs | None, right: Outputs | None) -> tuple[Outputs, Outputs, tuple[int, int]]:
        """Other outputs than the search's own, if they are given."""
        if left is None or right is None:
            return self.left, self.right, self._sizes
        return left, right, (len(left), len(right))

    def listed(self, candidates: Sequence[Event], *, left: Outputs | None = None, right: Outputs | None = None) -> None:
        """Events as they are."""
        left, right, sizes = self._among(left, right)
        k = [int(event.contains(left).sum()) for event in candidates]
        m = [int(event.contains(right).sum()) for event in candidates]
        self.consider(lambda i: candidates[i], k, m, sizes)

    def thresholds(
        self, score: Score, *, intervals: bool = False, left: Outputs | None = None, right: Outputs | None = None
    ) -> None:
        """score ≥ t, score ≤ t, score = t and, on request, a ≤ score ≤ b."""
        left, right, sizes = self._among(left, right)
        x, y = score.of(left), score.of(right)
        x, y = np.sort(x[~np.isnan(x)]), np.sort(y[~np.isnan(y)])
        at = events.cuts(x, y)
        if not len(at):
            return
        less = [np.searchsorted(side, at, side="left") for side in (x, y)]
        up_to = [np.searchsorted(side, at, side="right") for side in (x, y)]
        self.consider(lambda i: events.above(score, at[i]), len(x) - less[0], len(y) - less[1], sizes)
        self.consider(lambda i: events.below(score, at[i]), up_to[0], up_to[1], sizes)
        self.consider(lambda i: events.equals(score, at[i]), up_to[0] - less[0], up_to[1] - less[1], sizes)
        if intervals and len(at) > 2:
            few = np.unique(np.linspace(0, len(at) - 1, STARTS).astype(int))
            i, j = (few[part] for part in np.triu_indices(len(few), 1))
            inside = [up_to[side][j] - less[side][i] for side in (0, 1)]
            self.consider(
                lambda c: events.between(score, at[i[c]], at[j[c]]), inside[0], inside[1], sizes, handicap=self.simple
            )

    def ratios(self, score: Score) -> None:
        """Unions of bins, or of single values, taken in the order of their likelihood ratio."""
        fit, judged = _halves(self.left, self.right)
        x, y, u, v = (_known(score.of(side)) for side in (*fit, *judged))
        pooled = np.concatenate([x, y])
        values = np.unique(pooled)
        if len(values) < 2:
            return
        if len(values) <= VALUES:
            cells = [np.searchsorted(values, side[np.isin(side, values)]) for side in (x, y, u, v)]
            self._nested(lambda inside: events.among(score, values[inside]), cells, len(values), judged)
            return
        shares = np.linspace(0, 1, int(np.clip(len(x) // 25, 2, BINS)) + 1)[1:-1]
        edges = np.unique(np.quantile(pooled, shares))
        cells = [np.searchsorted(edges, side, side="right") for side in (x, y, u, v)]
        self._nested(lambda inside: events.bins(score, edges, inside), cells, len(edges) + 1, judged)

    def shapes(self) -> None:
        """Single shapes, and unions of them in the order of their likelihood ratio."""
        names = tuple(dict.fromkeys((*self.left.shapes, *self.right.shapes)))
        if len(names) < 2:
            return
        place = {name: i for i, name in enumerate(names)}

        def codes(side: Outputs) -> Any:
            return np.array([place[name] for name in side.shapes], dtype=np.int64)[side.kinds]

        k, m = (np.bincount(codes(side), minlength=len(names)) for side in (self.left, self.right))
        self.consider(lambda i: events.shaped([names[i]]), k, m, (len(self.left), len(self.right)))
        fit, judged = _halves(self.left, self.right)
        self._nested(
            lambda chosen: events.shaped([name for name, inside in zip(names, chosen, strict=True) if inside]),
            [codes(side) for side in (*fit, *judged)],
            len(names),
            judged,
        )

    def _nested(self, build: Callable[[Bools], Event], cells: list[Any], count: int, judged: Sequence[Outputs]) -> None:
        """Starts of the order that cells have by their ratio in the first two sides, and rests, judged on the rest."""
        k, m, *tests = (np.bincount(side, minlength=count).astype(float) for side in cells)
        order = np.argsort(-np.log((k + 1) / (m + 1)), kind="stable")
        order = order[(k + m)[order] > 0]
        a, b = (np.cumsum(side[order]) for side in tests)
        sizes = len(judged[0]), len(judged[1])

        def chosen(part: Any) -> Event:
            inside = np.zeros(count, dtype=np.bool_)
            inside[part] = True
            return build(inside)

        self.consider(lambda i: chosen(order[: i + 1]), a, b, sizes, handicap=self.simple)
        self.consider(lambda i: chosen(order[i + 1 :]), (a[-1] - a)[:-1], (b[-1] - b)[:-1], sizes, handicap=self.simple)


def search(left: Outputs, right: Outputs, goal: Goal, *, bits: bool = True) -> BestEvent:
    """The event that promises the highest bound; with `bits`, also among those over the last bits of doubles."""
    scores = [*number_scores(left, right), *shape_scores(left, right)]
    parts = part_events(left, right)
    for doubt in (goal.doubt, BOLD):
        hunt = Search(left, right, replace(goal, doubt=doubt))
        hunt.shapes()
        for place, score in enumerate(scores):
            hunt.thresholds(score, intervals=place == 0)
        if scores:
            hunt.ratios(scores[0])
        hunt.listed(parts)
        if bits:
            _over_bits(hunt)
        if len(scores) + len(parts) > 1:
            _joint_events(hunt, scores, parts)
        if hunt.best.bound > 0:
            break
    return hunt.best


def _joint_events(hunt: Search, scores: Sequence[Score], parts: Sequence[Event]) -> None:
    """Events over several scores or parts at once: within one shape, rules, a classifier."""
    _within_shapes(hunt)
    fit, judged = _halves(hunt.left, hunt.right)
    for side in (0, 1):
        hunt.listed(_rules(fit, hunt.goal, side, scores, parts), left=judged[0], right=judged[1])
    weighed = classifier(fit[0], fit[1], scores, parts)
    if weighed is not None:
        hunt.thresholds(weighed, left=judged[0], right=judged[1])


def _rules(
    fit: tuple[Outputs, Outputs], goal: Goal, side: int, scores: Sequence[Score], parts: Sequence[Event]
) -> list[Event]:
    """Conditions joined by "and", each the best within those before it: `part 1 is None, and number 1 is at most 2`."""
    chain: list[Event] = []
    left, right = fit
    sizes, promised = (len(left), len(right)), -inf
    while len(chain) < CONDITIONS:
        step = Search(left, right, goal, sizes=sizes, sides=(side,))
        for score in scores:
            step.thresholds(score)
        step.listed(parts)
        if step.best.bound < promised + step.simple:
            break
        promised, found = step.best.bound, step.best.event
        chain.append(events.both(chain[-1], found) if chain else found)
        left, right = left.part(found.contains(left)), right.part(found.contains(right))
    return chain[1:]


def _within_shapes(hunt: Search) -> None:
    """Thresholds over a number, among outputs of one shape: `no, no, and then a number below 3`."""
    totals: Counter[Shape] = Counter()
    for side in (hunt.left, hunt.right):
        totals.update({shape: int((side.kinds == kind).sum()) for kind, shape in enumerate(side.shapes)})
    if len(totals) < 2:
        return
    width = max(hunt.left.width, hunt.right.width)
    for name, _ in totals.most_common(8):
        for place in range(min(width, 4)):
            only = _among_shape(name, place)
            sides = only.of(hunt.left), only.of(hunt.right)
            if sum(np.count_nonzero(~np.isnan(side)) for side in sides) > 20:
                hunt.thresholds(only)


def _among_shape(shape: Shape, place: int) -> Score:
    return Score(
        f"the output is {spelled(shape)} and its number {place + 1}",
        lambda outputs: np.where(outputs.of_shape([shape]), outputs.column(place), np.nan),
    )


def _over_bits(hunt: Search) -> None:
    """Events over the bits of floating-point numbers, where outputs are single doubles."""
    shapes = {*hunt.left.shapes, *hunt.right.shapes}
    if len(shapes) != 1 or next(iter(shapes)) not in {f"{NUMBER}float", f"{NUMBER}number"}:
        return
    found = events.bit_events(hunt.left.column(0), hunt.right.column(0))
    hunt.listed([Event(words, _over_column(test)) for words, test in found])


def _over_column(test: Callable[[Floats], Bools]) -> Callable[[Outputs], Bools]:
    return lambda outputs: test(outputs.column(0))


def _halves(left: Outputs, right: Outputs) -> tuple[tuple[Outputs, Outputs], tuple[Outputs, Outputs]]:
    even, odd = slice(0, None, 2), slice(1, None, 2)
    return (left.part(even), right.part(even)), (left.part(odd), right.part(odd))


def _known(values: Floats) -> Floats:
    return values[~np.isnan(values)]


def _wilson(share: Floats, n: int, tail: float) -> tuple[Floats, Floats]:
    """Wilson's interval: close to Clopper–Pearson's and much faster, which is enough to choose by."""
    z = float(-ndtri(tail))
    middle = share + z * z / (2 * n)
    half = z * np.sqrt(share * (1 - share) / n + (z / (2 * n)) ** 2)
    scale = 1 + z * z / n
    return np.maximum(0.0, (middle - half) / scale), np.minimum(1.0, (middle + half) / scale)
