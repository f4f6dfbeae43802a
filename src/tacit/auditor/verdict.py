"""What an audit says: a lower bound on ε, the event that shows it, and whether the claim stands."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from math import floor, isfinite, log
from pathlib import Path
from typing import Any, Literal

import numpy as np

from tacit.auditor.certify import Form
from tacit.auditor.events import Event, Score
from tacit.auditor.outputs import Outputs, exact_number, spelled
from tacit.base import TacitError

__all__ = ["Densities", "Status", "Verdict", "densities"]

BARS = 48
SHOWN = 24  # shapes with a bar of their own
TRIM = 0.002  # share of outputs in each tail that the picture leaves to its outermost bar


@dataclass(frozen=True)
class Densities:
    """Bars over `axis`: label, shares of outputs under both neighbours, and the share of the bar that is in the event.

    A bar over numbers also has the ends `low` and `high`.
    """

    axis: str
    bars: tuple[Mapping[str, Any], ...]

    def json(self) -> dict[str, Any]:
        """The same as plain data."""
        return {"axis": self.axis, "bars": [dict(bar) for bar in self.bars]}


def densities(left: Outputs, right: Outputs, event: Event, numeric: Score | None) -> Densities:
    """Over the event's own score, else over `numeric`, else over shapes."""
    score = event.score or numeric
    inside = np.concatenate([event.contains(left), event.contains(right)])
    if score is not None:
        values = np.concatenate([score.of(left), score.of(right)])
        known = np.isfinite(values)
        if np.unique(values[known]).size > 1:
            return _numeric(score.words, values, known, inside, len(left))
    return _named(left, right, inside)


def _numeric(axis: str, values: Any, known: Any, inside: Any, first: int) -> Densities:
    distinct = np.unique(values[known])
    if len(distinct) <= BARS and np.array_equal(distinct, np.rint(distinct)):
        edges = np.concatenate([distinct - 0.5, [distinct[-1] + 0.5]])
        edges[1:-1] = (distinct[1:] + distinct[:-1]) / 2
    else:
        low, high = np.quantile(values[known], [TRIM, 1 - TRIM])
        edges = np.linspace(low, high, BARS + 1) if high > low else np.array([low - 0.5, low + 0.5])
    bars = len(edges) - 1
    places = np.clip(np.searchsorted(edges, values, side="right") - 1, 0, bars - 1)
    side = np.arange(len(values)) < first
    counts = [np.bincount(places[part & known], minlength=bars) for part in (side, ~side)]
    marked = np.bincount(places[known & inside], minlength=bars)
    middles = (exact_number(float(f"{middle:.6g}")) for middle in (edges[1:] + edges[:-1]) / 2)
    rows = _bars(middles, counts, (first, len(values) - first), marked)
    ends = ({"low": float(low), "high": float(high)} for low, high in pairwise(edges))
    return Densities(axis, tuple(row | end for row, end in zip(rows, ends, strict=True)))


def _named(left: Outputs, right: Outputs, inside: Any) -> Densities:
    both = Outputs.joined([left, right])
    side = np.arange(len(both)) < len(left)
    count = len(both.shapes)
    kinds = (both.kinds, both.kinds[side], both.kinds[inside])
    totals, first, marked = (np.bincount(each, minlength=count) for each in kinds)
    top = np.argsort(-totals, kind="stable")[:SHOWN]
    rest = np.setdiff1d(np.arange(count), top)
    groups = [[int(i)] for i in top] + ([rest.tolist()] if len(rest) else [])
    labels = [spelled(both.shapes[int(i)]) for i in top] + (["everything else"] if len(rest) else [])
    *counts, held = ([each[group].sum() for group in groups] for each in (first, totals - first, marked))
    return Densities("the output", tuple(_bars(labels, counts, (len(left), len(right)), held)))


def _bars(labels: Iterable[str], counts: Any, sizes: tuple[int, int], inside: Any) -> Iterator[dict[str, Any]]:
    """A bar for each label: its count under either neighbour, of so many outputs, and how many are in the event."""
    for label, first, second, marked in zip(labels, *counts, inside, strict=True):
        yield {
            "label": label,
            "first": float(first) / max(1, sizes[0]),
            "second": float(second) / max(1, sizes[1]),
            "inside": float(marked) / max(1, int(first + second)),
        }


Status = Literal["pass", "violated", "inconclusive"]
LONGEST = 200  # characters of a neighbour that are shown


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """The outcome of an audit of the claim (`claimed`, `delta`)-DP.

    `epsilon` is the certified lower bound: with probability at least `confidence` over the fresh outputs the mechanism
    is not (ε, δ)-DP for any ε below it. 0 means that nothing was shown.

    - violated: `epsilon` > `claimed`. A mechanism that keeps its claim is called so with probability at most
      1 − `confidence`.
    - pass: not violated, and the audit had power. Say *double* for twice the claimed ε, or 0.1 more where that is more.
      Either something was certified and, had its event carried double, "violated" would have been said with probability
      ≥ 95 % (`detectable`, the least loss of which that is true, is at most double); or it would for every event that
      carries double and has a probability of at least 1/8, if the search finds it (`rarest`, the least such
      probability, is at most 1/8). No proof of privacy: other events, or other neighbours, may show more.
    - inconclusive: not violated, and the outputs were too few for that.

    `counts` are (outputs in the event, outputs drawn) of the first neighbour and of the second, fresh ones only.
    """

    status: Status
    target: str
    claimed: float
    delta: float
    epsilon: float
    confidence: float
    event: str
    likelier: Literal["first", "second"]
    counts: tuple[tuple[int, int], tuple[int, int]]
    form: Form
    detectable: float
    rarest: float
    neighbours: tuple[Any, Any]
    pairs: int
    samples: int
    densities: Densities

    @property
    def estimate(self) -> float | None:
        """log((p − δ)/q) as counted on fresh outputs, without any allowance for chance; None where q is 0."""
        (inside, drawn), (m, size) = self.counts if self.likelier == "first" else self.counts[::-1]
        if not drawn or not m:
            return None
        margin = inside / drawn - self.delta
        return log(margin / (m / size)) if margin > 0 else None

    def __str__(self) -> str:
        claim = f"ε = {self.claimed:.4g}" + (f" at δ = {self.delta:.3g}" if self.delta else "")
        (k, n), (m, size) = self.counts
        shown = f"at least {floor(self.epsilon * 10**4) / 10**4:.4f} with {self.confidence:.4g} confidence"
        lines = [
            {
                "violated": f"violated: {self.target} claims {claim}, but its ε is {shown}",
                "pass": f"pass: {self.target} claims {claim}; no violation found, its ε is {shown}",
                "inconclusive": f"inconclusive: {self.target} claims {claim}; its ε is {shown}, and "
                f"{self.samples} samples a side are too few to show a violation",
            }[self.status],
            f"event: {self.event}",
            f"seen {k} times in {n} under the first neighbour and {m} in {size} under the second",
        ]
        if self.status == "pass" and not self.epsilon:
            lines.append(
                f"twice the claim, on an event of probability {self.rarest:.3g} or more, would have been shown"
            )
        elif isfinite(self.detectable):
            lines.append(f"on such an event a loss of {self.detectable:.4g} or more would have been shown")
        if self.pairs > 1:
            first, second = map(_shown, self.neighbours)
            lines.append(f"the most telling of {self.pairs} pairs of neighbours: {first} and {second}")
        return "\n".join(lines)

    def json(self) -> dict[str, Any]:
        """Everything, as JSON has it; an infinite number is null."""
        return vars(self) | {
            "counts": [{"inside": k, "drawn": n} for k, n in self.counts],
            "detectable": self.detectable if isfinite(self.detectable) else None,
            "neighbours": [_shown(side) for side in self.neighbours],
            "densities": self.densities.json(),
        }

    def plot(self, path: Path | str | None = None) -> Any:
        """Both output laws, the event shaded, claimed against certified ε: an Altair chart, with `path` also a file."""
        try:
            from tacit.plot.page import page, write
            from tacit.plot.privacy import audit
        except ImportError as missing:
            raise TacitError(
                f"plot() needs {missing.name}, which is not installed: pip install 'tacit[plot]'"
            ) from missing
        chart = audit(
            self.densities.bars,
            claimed=self.claimed,
            certified=self.epsilon,
            estimate=self.estimate,
            axis=self.densities.axis,
            title=(f"{self.target}: {self.status}", self.event),
        )
        if path is not None:
            write(page([[chart]], title="Audit", subtitle=str(self).splitlines()[0]), Path(path))
        return chart


def _shown(side: Any) -> str:
    text = repr(side)
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"
