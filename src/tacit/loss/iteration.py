"""Amplification by iteration: noisy contractive steps of which only the last result is seen.

A record that matters in one step moves the state by at most s. Every later step shrinks distances by c ≤ 1 and adds
N(0, ζ²·I), so the shift can be paid for in portions a_0, …, a_r with Σ c^(r−j)·a_j = c^r·s, at α·a_j²/(2ζ²) of Rényi
divergence of order α each (Feldman, Mironov, Talwar and Thakurta 2018, Theorem 22). Portions in proportion to c^(r−j)
are the cheapest: ρ = (s²/2ζ²)·c^(2r)/(1 + c² + … + c^(2r)), which is zCDP as it holds for every order.
"""

from fractions import Fraction

from tacit.base import InputError, LossError, Number, Relation, between, non_negative, positive, show, whole
from tacit.loss.concentrated import ZCDP

__all__ = ["iterated", "noisy_contractions"]


def noisy_contractions(
    *,
    shift: Number,
    noise: Number,
    after: int,
    contraction: Number = 1,
    only_last_seen: bool,
    relation: Relation = Relation.REPLACE,
    unit: str = "row",
) -> ZCDP:
    """The loss of a record that moves one step's result by at most `shift` and is followed by `after` more steps.

    Each step, the record's own included, adds Gaussian noise of standard deviation `noise` to every coordinate. Before
    that, later steps map states at distance d to states at most `contraction`·d apart; after it, any step may project
    to a convex set.
    """
    s, zeta, r = positive(shift, "shift"), positive(noise, "noise", toward="down"), whole(after, "after")
    c = _factor(contraction)
    if only_last_seen is not True:
        raise LossError(
            "amplification by iteration holds only if nothing but the last state is ever seen: pass "
            "only_last_seen=True if that is so, else compose the steps"
        )
    return ZCDP((s / zeta) ** 2 / 2 * _left(c, r), relation=relation, unit=unit)


def _factor(contraction: Number) -> Fraction:
    """A factor in (0, 1]."""
    return Fraction(1) if contraction == 1 else between(contraction, "contraction", 0, 1, toward="up")


def _left(c: Fraction, after: int) -> Fraction:
    """c^(2r)/(1 + c² + … + c^(2r)), rounded up; 1/(r + 1) for c = 1."""
    if c == 1:
        return Fraction(1, after + 1)
    # 1/(1 + c^−2 + … + c^−2r): past a few thousand terms more of them would only help
    growth, total, term = float(1 / (c * c)) * (1 - 1e-15), 0.0, 1.0
    for _ in range(min(after, 100_000) + 1):
        total += term
        term *= growth
        if total > 1e250:
            break
    return min(Fraction(1, after + 1), Fraction(1 / (total * (1 - 1e-9))))


def iterated(
    *,
    lipschitz: Number,
    smoothness: Number,
    step: Number,
    sigma: Number,
    after: int,
    convex: bool,
    only_last_seen: bool,
    strong_convexity: Number = 0,
    relation: Relation = Relation.REPLACE,
    unit: str = "row",
) -> ZCDP:
    """Projected noisy stochastic gradient descent w ← Π(w − step·(∇f(w, x) + N(0, sigma²·I))), last w released.

    For a record used in one step and followed by `after` steps on other records: ρ = 2L²/(σ²·(after + 1)) under replace
    (Feldman et al. 2018, Theorem 23) and a quarter of that under add/remove, where the record's gradient is left out.
    Every f(·, x) must be convex, `lipschitz`-Lipschitz and `smoothness`-smooth on the set, and step ≤ 2/smoothness.
    With `strong_convexity` m > 0 and step ≤ 2/(smoothness + m) a step contracts by 1 − step·m, and more is hidden.
    """
    length, beta = positive(lipschitz, "lipschitz"), positive(smoothness, "smoothness")
    eta, m = positive(step, "step"), non_negative(strong_convexity, "strong_convexity", toward="down")
    noise = positive(sigma, "sigma", toward="down")
    if convex is not True:
        raise LossError(
            "amplification by iteration needs every loss to be convex: a gradient step on another is no contraction. "
            "Pass convex=True if they are, else compose the steps"
        )
    if m > beta:
        raise InputError("strong_convexity cannot exceed smoothness")
    if eta > 2 / (beta + m):
        limit = "2/smoothness" if m == 0 else "2/(smoothness + strong_convexity)"
        raise InputError(
            f"step must be at most {limit} = {show(2 / (beta + m))}: a longer gradient step is no contraction"
        )
    apart = 2 if Relation(relation) is Relation.REPLACE else 1
    contraction = 1 - eta * m
    if contraction <= 0:  # smoothness = strong_convexity and step = 1/m: a step forgets its start
        contraction = Fraction(1, 10**6)
    return noisy_contractions(
        shift=apart * eta * length,
        noise=eta * noise,
        after=after,
        contraction=contraction,
        only_last_seen=only_last_seen,
        relation=relation,
        unit=unit,
    )
