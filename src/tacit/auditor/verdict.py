"""What an audit says: a lower bound on ε, the event that shows it, and whether the claim stands."""

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
    """Shares of outputs under both neighbours, bar by bar, and the share of each bar that lies in the event.

    `places` holds the ends of numeric bars and is None where bars are named values.
    """

    axis: str
    labels: tuple[str, ...]
    places: tuple[tuple[float, float], ...] | None
    first: tuple[float, ...]
    second: tuple[float, ...]
    inside: tuple[float, ...]

    def bars(self) -> list[dict[str, Any]]:
        """One row for each bar, for a plot."""
        rows: list[dict[str, Any]] = []
        for i, label in enumerate(self.labels):
            row = {"label": label, "first": self.first[i], "second": self.second[i], "inside": self.inside[i]}
            if self.places is not None:
                row |= {"low": self.places[i][0], "high": self.places[i][1]}
            rows.append(row)
        return rows

    def json(self) -> dict[str, Any]:
        """The same as plain data."""
        return {"axis": self.axis, "bars": self.bars()}


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
    return Densities(
        axis,
        tuple(exact_number(float(f"{middle:.6g}")) for middle in (edges[1:] + edges[:-1]) / 2),
        tuple((float(a), float(b)) for a, b in pairwise(edges)),
        tuple((counts[0] / max(1, first)).tolist()),
        tuple((counts[1] / max(1, len(values) - first)).tolist()),
        tuple((marked / np.maximum(counts[0] + counts[1], 1)).tolist()),
    )


def _named(left: Outputs, right: Outputs, inside: Any) -> Densities:
    both = Outputs.joined([left, right])
    side = np.arange(len(both)) < len(left)
    count = len(both.shapes)
    totals = np.bincount(both.kinds, minlength=count)
    marked = np.bincount(both.kinds[inside], minlength=count)
    first = np.bincount(both.kinds[side], minlength=count)
    top = np.argsort(-totals, kind="stable")[:SHOWN]
    rest = np.setdiff1d(np.arange(count), top)
    groups = [[int(i)] for i in top] + ([rest.tolist()] if len(rest) else [])
    labels = [spelled(both.shapes[int(i)]) for i in top] + (["everything else"] if len(rest) else [])
    return Densities(
        "the output",
        tuple(labels),
        None,
        tuple(float(first[group].sum()) / max(1, len(left)) for group in groups),
        tuple(float((totals - first)[group].sum()) / max(1, len(right)) for group in groups),
        tuple(float(marked[group].sum()) / max(1.0, float(totals[group].sum())) for group in groups),
    )


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
        mine = self.counts[0 if self.likelier == "first" else 1]
        other = self.counts[1 if self.likelier == "first" else 0]
        if not mine[1] or not other[0]:
            return None
        margin = mine[0] / mine[1] - self.delta
        return log(margin / (other[0] / other[1])) if margin > 0 else None

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
        return {
            "status": self.status,
            "target": self.target,
            "claimed": self.claimed,
            "delta": self.delta,
            "epsilon": self.epsilon,
            "confidence": self.confidence,
            "event": self.event,
            "likelier": self.likelier,
            "counts": [{"inside": k, "drawn": n} for k, n in self.counts],
            "form": self.form,
            "detectable": self.detectable if isfinite(self.detectable) else None,
            "rarest": self.rarest,
            "neighbours": [_shown(side) for side in self.neighbours],
            "pairs": self.pairs,
            "samples": self.samples,
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
            self.densities.bars(),
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
