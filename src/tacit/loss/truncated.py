"""Any loss as δ-approximate zCDP: the top δ of the privacy loss is cut off, and what is left has a ρ.

A finished program that only its loss curve describes, such as training on random batches, enters an account in ρ by
this. Statement and proof: docs/theory/truncated-zcdp.md.
"""

from fractions import Fraction
from itertools import pairwise
from math import exp, inf, log
from typing import Any

import numpy as np

from tacit.base import LossError, Number, between
from tacit.loss.loss import Loss

__all__ = ["truncated_rho"]

Point = tuple[Fraction, Fraction]
Floats = np.ndarray[Any, np.dtype[np.float64]]
POINTS = 96  # at which the curve is looked at: twice as many lower ρ by less than a thousandth
ACCURACY = 1e-3  # of each point
KEPT = 8  # the curve is followed down to δ/KEPT, the rest is cut off for certain
ORDERS = 1 + np.geomspace(1e-4, 1e5, 6000)  # neighbouring ones differ by less than 0.4 %
ROUNDING = 1e-13  # more than doubles lose in a sum of a few hundred positive terms and in its logarithm
OUTWARD = 1 + 1e-12


def truncated_rho(loss: Loss, delta: Number) -> Fraction:
    """A ρ for which this loss is δ-approximate ρ-zCDP (Bun and Steinke 2016, Definition 8.1), rounded up."""
    cut = between(delta, "delta", 0, 1)
    top = loss.epsilon(cut / KEPT, accuracy=ACCURACY).upper
    if not 0 < top < inf:
        if top == 0:
            return Fraction(0)
        raise LossError(f"at delta = {float(cut / KEPT):g} this loss has no finite epsilon: choose a larger delta")
    if top > 500:
        raise LossError("this loss is so large that its curve cannot be followed in doubles: choose a larger delta")
    atoms, out = _pair(_curve(loss, top))
    ends = [(ratio, mass) for ratio, mass in atoms if ratio > 1]
    while ends and out + _both(*ends[-1]) <= cut:  # a symmetric cut leaves out as much of Q as of P
        out += _both(*ends.pop())
    if out > cut:
        raise LossError(f"delta = {float(cut):g} is too small to cut this loss: choose a larger delta")
    reach = ends[-1][0] if ends else Fraction(1)
    return _rho([(ratio, mass) for ratio, mass in atoms if 1 / reach <= ratio <= reach], 1 - out)


def _curve(loss: Loss, top: float) -> list[Point]:
    """Points (e^ε, δ) on or above the privacy curve, from ε = 0 to about `top`, none higher than the one before."""
    found: list[Point] = []
    ratios = [Fraction(exp(top * place / (POINTS - 1))) for place in range(POINTS)]
    places = [Fraction(max(0.0, log(ratio) * (1 - 1e-15) - 1e-300)) for ratio in ratios]
    for ratio, at in zip(ratios, loss.curve(places, accuracy=ACCURACY), strict=True):
        if not at.rigorous:
            raise LossError(
                "this curve is an approximation, which a ledger cannot hold: use a loss with a proven bound"
            )
        found.append((ratio, min(Fraction(at.upper), found[-1][1] if found else Fraction(1))))
    return found


def _pair(curve: list[Point]) -> tuple[list[Point], Fraction]:
    """The symmetric pair (P, Q) whose curve is the lower hull of these points and their mirror images: likelihood
    ratios, ascending, each with its mass under P; and the mass of P where Q has none."""
    mirrored = [(1 / ratio, 1 - 1 / ratio + value / ratio) for ratio, value in curve[:0:-1]]
    hull: list[Point] = []
    for point in ((Fraction(0), Fraction(1)), *mirrored, *curve):
        while len(hull) > 1 and _slope(hull[-2], hull[-1]) >= _slope(hull[-1], point):
            hull.pop()
        hull.append(point)
    slopes = [_slope(one, two) for one, two in pairwise(hull)] + [Fraction(0)]
    bends = [after - before for before, after in pairwise(slopes)]  # masses under Q
    return [(ratio, ratio * bend) for (ratio, _), bend in zip(hull[1:], bends, strict=True)], hull[-1][1]


def _slope(one: Point, two: Point) -> Fraction:
    return (two[1] - one[1]) / (two[0] - one[0])


def _both(ratio: Fraction, mass: Fraction) -> Fraction:
    """What a cut takes from P at a ratio and at its inverse, where P has Q's mass of the ratio."""
    return mass + mass / ratio


def _rho(inside: list[Point], left: Fraction) -> Fraction:
    """sup D_α/α over α > 1 of the pair under the condition. D grows with α, so between two orders the larger one's D
    over the smaller order bounds it; beyond the last order D is at most the largest loss."""
    losses = np.array([log(ratio) for ratio, _ in inside])
    masses = np.array([float(mass) for _, mass in inside])
    largest = max(0.0, float(losses.max()))
    exponents = np.outer(ORDERS - 1, losses)
    peaks = exponents.max(axis=1)
    sums = np.log((masses * np.exp(exponents - peaks[:, None])).sum(axis=1)) + peaks
    divergences: Floats = np.minimum(np.maximum(sums - log(left) + ROUNDING, 0.0) / (ORDERS - 1), largest)
    divergences = np.maximum.accumulate(divergences)
    below = np.concatenate([[1.0], ORDERS[:-1]])
    return Fraction(max(float((divergences / below).max()), largest / float(ORDERS[-1])) * OUTWARD)
