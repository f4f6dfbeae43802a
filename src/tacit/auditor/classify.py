"""A classifier that guesses which neighbour an output came from: logistic regression on steps of every score.

Its log-odds are a score like any other. It looks at many coordinates at once, which single thresholds cannot.
"""

from collections.abc import Sequence

import numpy as np

from tacit.auditor.events import Event, Score
from tacit.auditor.outputs import Floats, Outputs

__all__ = ["classifier"]

STEPS = 6  # thresholds a score is cut at
ROWS = 10_000  # outputs a side that a fit looks at
FEATURES = 200
RIDGE = 3.0
ROUNDS = 10
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
    """Ridge-penalised logistic regression, by Newton's steps, each halved until it helps."""
    weights = np.zeros(rows.shape[1])
    penalty = np.full(rows.shape[1], RIDGE)
    penalty[0] = 1e-6

    def cost(candidate: Floats) -> float:
        odds = rows @ candidate
        return float(np.logaddexp(0, odds).sum() - truth @ odds + (penalty * candidate**2).sum() / 2)

    now = cost(weights)
    for _ in range(ROUNDS):
        chance = 1 / (1 + np.exp(-np.clip(rows @ weights, -30, 30)))
        slope = rows.T @ (chance - truth) + penalty * weights
        curve = (rows * (chance * (1 - chance))[:, None]).T @ rows + np.diag(penalty)
        step = np.linalg.solve(curve, slope)
        size = 1.0
        while cost(weights - size * step) > now and size > 1e-4:
            size /= 2
        weights = weights - size * step
        before, now = now, cost(weights)
        if before - now < 1e-6 * abs(before):
            break
    return weights
