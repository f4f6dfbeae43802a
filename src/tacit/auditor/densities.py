"""Both output laws in a few bars, with the event marked: what the picture of an audit is drawn from."""

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from tacit.auditor.events import Event, Score
from tacit.auditor.outputs import Outputs, exact_number, spelled

__all__ = ["Densities", "densities"]

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

    def as_json(self) -> dict[str, Any]:
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
