"""The exact audit: where every outcome and its probability can be listed, nothing has to be sampled.

For laws P and Q and an event S, ε ≥ log((P(S) − δ)/Q(S)); the best S holds the outcomes with P > e^ε·Q. So δ(ε) is
convex and piecewise linear in e^ε, and Newton's method finds where it passes δ in finitely many steps. Whatever S it
ends with, S attains the ε that is reported, which is rounded down. Proofs: docs/theory/exact-audit.md.
"""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from itertools import chain
from math import exp, fsum, inf, log, log1p
from typing import Any, Literal

import numpy as np

from tacit.base import InputError, Number, non_negative
from tacit.loss import Approx, Loss, Pure
from tacit.mechanism import Example

__all__ = ["DELTAS", "NEGLIGIBLE", "ExactAudit", "Exactly", "Point", "audit_exact", "exact"]

Floats = np.ndarray[Any, np.dtype[np.float64]]
Side = Literal["left", "right"]

NEGLIGIBLE = 1e-280  # where a listed tail ends for one neighbour and goes on for the other
ROUNDING = 1e-9  # relative error of a probability that was computed in floating point
SLACK = 1e-6  # the same of a delta, a small difference of such probabilities
DELTAS = (1e-2, 1e-5, 1e-9)  # where a claim that is a whole curve is looked at
DOWN = 1 - 2.0**-49  # more than the roundings of one logarithm of one quotient of two correctly rounded sums


@dataclass(frozen=True, kw_only=True, eq=False)
class Exactly:
    """What two listed laws lose: the least ε at `delta` over both directions, and which outcome loses most.

    `left` and `right` are the ε of each direction, by the side that is the likelier; `epsilon` is the larger one and
    `likelier` its side. `outcome` has the largest ratio of probabilities in that direction.
    """

    delta: float
    left: float
    right: float
    outcome: Hashable
    outcomes: tuple[Hashable, ...] = field(repr=False)
    laws: tuple[Floats, Floats] = field(repr=False)

    @property
    def epsilon(self) -> float:
        """The least ε for which the two laws are (ε, δ)-close, to a few units in the last place, rounded down."""
        return max(self.left, self.right)

    @property
    def likelier(self) -> Side:
        """The neighbour under which the worst event is the likelier."""
        return "left" if self.left >= self.right else "right"

    def divergence(self, epsilon: Number) -> float:
        """The hockey-stick divergence: the least δ for which the two laws are (ε, δ)-close, rounded down."""
        at = inf if epsilon == inf else float(non_negative(epsilon, "epsilon"))
        p, q = self.laws
        return max(_delta(p, q, at), _delta(q, p, at))


def exact(left: Mapping[Any, float], right: Mapping[Any, float], *, delta: Number = 0) -> Exactly:
    """Compare two output laws, each a probability for every outcome.

    Outcomes that neither law gives more than `NEGLIGIBLE` are left out: lists of probabilities end somewhere, and where
    one goes on a little longer than the other there is no event that anybody could ever see.
    """
    slack = float(non_negative(delta, "delta"))
    outcomes = tuple(dict.fromkeys(chain(left, right)))
    p, q = _law(left, outcomes, "left"), _law(right, outcomes, "right")
    seen = np.maximum(p, q) > NEGLIGIBLE
    outcomes = tuple(outcome for outcome, keep in zip(outcomes, seen.tolist(), strict=True) if keep)
    p, q = p[seen], q[seen]
    there, back = _epsilon(p, q, slack), _epsilon(q, p, slack)
    worst = outcomes[int(np.argmax(_ratios(p, q) if there >= back else _ratios(q, p)))]
    return Exactly(delta=slack, left=there, right=back, outcome=worst, outcomes=outcomes, laws=(p, q))


def _law(law: Mapping[Any, float], outcomes: tuple[Hashable, ...], name: str) -> Floats:
    found = np.fromiter((law.get(outcome, 0.0) for outcome in outcomes), np.float64, len(outcomes))
    if not (found >= 0).all():  # NaN too
        raise InputError(f"the {name} law has a probability that is negative or not a number")
    total = fsum(found.tolist())
    if not abs(total - 1) <= ROUNDING:
        raise InputError(f"the {name} law is no distribution: its probabilities sum to {total}")
    return found


def _ratios(p: Floats, q: Floats) -> Floats:
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        return np.where(p > 0, p / q, 0.0)


def _delta(p: Floats, q: Floats, epsilon: float) -> float:
    """P(S) − e^ε·Q(S) for the S where it is largest."""
    factor = exp(epsilon) if epsilon < 700 else inf  # beyond, only what is impossible under Q counts
    ratios = _ratios(p, q)
    inside = ratios > factor if factor < inf else np.isinf(ratios) & (q == 0)
    above, below = fsum(p[inside].tolist()), fsum(q[inside].tolist())
    taken = factor * below if below else 0.0
    return max(0.0, above - taken - 2.0**-50 * taken) * DOWN


def _epsilon(p: Floats, q: Floats, delta: float) -> float:
    """log((P(S) − δ)/Q(S)) for the S where it is largest, and at least 0."""
    ratios = _ratios(p, q)
    order = np.argsort(-ratios, kind="stable")
    p, q, ratios = p[order], q[order], ratios[order]
    if delta == 0:  # one outcome is enough, and Newton's steps would be many
        return _log(p[:1], q[:1], 0.0)
    # a first guess from plain running sums: how many outcomes of the highest ratios the best event has
    below, following = np.cumsum(q), np.append(ratios[1:], 0.0)
    gained = np.cumsum(p) - delta > np.where(below > 0, following, 0.0) * below
    size, best = int(np.argmax(gained)) + 1 if gained.any() else len(p), -inf
    while True:
        found = _log(p[:size], q[:size], delta)
        if not found > best:
            return max(0.0, best)
        best = found
        if best == inf:
            return inf
        size = int(np.searchsorted(-ratios, -exp(min(best, 709.0)), side="left"))


def _log(p: Floats, q: Floats, delta: float) -> float:
    """The logarithm of (ΣP − δ)/ΣQ from exactly rounded sums, rounded down; −inf where it does not exist."""
    above, below = p.tolist(), q.tolist()
    numerator, denominator = fsum([*above, -delta]), fsum(below)
    if numerator <= 0:
        return -inf
    if denominator == 0:
        return inf
    excess = fsum([*above, -delta, *(-each for each in below)])
    # log1p: no cancellation when the laws are nearly the same
    near = abs(excess) < denominator
    found = log1p(excess / denominator) if near else log(numerator) - log(denominator)
    return found * DOWN if found > 0 else found / DOWN


@dataclass(frozen=True, kw_only=True)
class Point:
    """One (ε, δ) of a claim beside what the laws lose."""

    claimed: float
    delta: float
    found: Exactly

    @property
    def violated(self) -> bool:
        """Whether the laws contradict the claim by more than the rounding errors of their probabilities."""
        if self.delta == 0:
            return self.found.epsilon > self.claimed * (1 + ROUNDING) + 1e-15
        return self.found.divergence(self.claimed) > self.delta * (1 + SLACK)


@dataclass(frozen=True, kw_only=True)
class ExactAudit:
    """A claim and what was found at each point where it was looked at."""

    example: Example
    points: tuple[Point, ...]

    @property
    def status(self) -> Literal["pass", "violated"]:
        """`violated` if any point is."""
        return "violated" if any(point.violated for point in self.points) else "pass"

    @property
    def worst(self) -> Point:
        """The point that is furthest above its claim, or least below."""
        return max(self.points, key=lambda point: (point.violated, point.found.epsilon - point.claimed))

    def __str__(self) -> str:
        point = self.worst
        found = point.found
        return (
            f"{self.status}: {type(self.example.mechanism).__name__} claims ε = {point.claimed:.6g} at δ = "
            f"{point.delta:.3g}, its laws lose {found.epsilon:.6g} (likelier on the {found.likelier}, most of all the "
            f"outcome {found.outcome!r})"
        )


def audit_exact(example: Example) -> ExactAudit:
    """Compare the laws of a mechanism on two neighbours with its claim, at every point where the claim is looked at."""
    left, right = example.mechanism.pmf(example.left), example.mechanism.pmf(example.right)
    points = tuple(
        Point(claimed=epsilon, delta=delta, found=exact(left, right, delta=delta))
        for epsilon, delta in _claimed(example.claim)
        if epsilon < inf
    )
    if not points:
        raise InputError(f"{example.claim} promises nothing at any delta of {DELTAS}, so there is nothing to audit")
    return ExactAudit(example=example, points=points)


def _claimed(claim: Loss) -> list[tuple[float, float]]:
    if isinstance(claim, Pure):
        return [(float(claim.bound), 0.0)]
    if isinstance(claim, Approx):
        return [(float(claim.bound), float(claim.slack))]
    return [(claim.epsilon(delta).upper, delta) for delta in DELTAS]
