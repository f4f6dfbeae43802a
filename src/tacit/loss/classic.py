"""Composition as the textbooks have it: for comparison, for intuition, and for exact answers where there are some."""

from collections import Counter
from collections.abc import Callable, Iterable
from fractions import Fraction
from functools import cache, lru_cache
from itertools import combinations
from math import exp, expm1, inf, log, log1p, sqrt, tanh
from typing import Any

import numpy as np

from tacit.base import InputError, LossError, Number, Relation, RelationError, between, non_negative, positive, whole
from tacit.loss.concentrated import ZCDP
from tacit.loss.gauss import gaussian_epsilon
from tacit.loss.loss import Interval, Loss
from tacit.loss.mu import range_mu_squared
from tacit.loss.part import Normal
from tacit.loss.pld import GDP, PLD, Approx, Pure, probability
from tacit.loss.renyi import RDP
from tacit.loss.sampling import log_choose

__all__ = [
    "advanced",
    "basic",
    "bounded_range_delta",
    "bounded_range_epsilon",
    "bounded_range_zcdp",
    "clt_epsilon",
    "clt_sampled_gaussian_epsilon",
    "optimal_delta",
    "optimal_epsilon",
    "parallel",
    "worst",
]


def basic(epsilon: Number, delta: Number = 0, *, count: int) -> tuple[float, float]:
    """(kε, kδ) of k mechanisms, also adaptive ones (Dwork et al. 2006)."""
    k = whole(count, "count", least=1)
    return float(k * _epsilon(epsilon)), min(1.0, float(k * probability(delta)))


def advanced(epsilon: Number, delta: Number = 0, *, count: int, spare: Number) -> tuple[float, float]:
    """(ε√(2k log(1/spare)) + kε(e^ε − 1), kδ + spare) (Dwork, Rothblum and Vadhan 2010, Theorem III.3)."""
    k, e, d = whole(count, "count", least=1), float(_epsilon(epsilon)), probability(delta)
    left = between(spare, "spare", 0, 1)
    value = inf if e > 700 else e * sqrt(2 * k * log(1 / float(left))) + k * e * expm1(e)
    return value * (1 + 1e-15), min(1.0, float(k * d + left))


def optimal_delta(epsilon: Number, delta: Number = 0, *, count: int, at: Number) -> Interval:
    """The least δ at which k mechanisms of (ε, δ)-DP are (at, δ)-DP together: exact, no proof can do better.

    Kairouz, Oh and Viswanath (2015, Theorem 3.3) for at = (k − 2i)ε; in between, the same sum: with probability
    (1 − δ)^k nothing leaks, and then Σ_l C(k, l)·(e^((k−l)ε) − e^(at + lε))+ / (1 + e^ε)^k. Every term is positive.
    """
    k, e, d = whole(count, "count", least=1), float(_epsilon(epsilon)), float(probability(delta))
    target = float(non_negative(at, "at", toward="down"))
    losses, masses = _responses(e, k)
    first = int(np.searchsorted(losses, target, side="right"))
    shown = float(np.dot(masses[first:], -np.expm1(target - losses[first:])))
    error = 1e-15 * (40 + 8 * k * log(k + 1))  # of the log-gamma functions
    return _within(-expm1(k * log1p(-d)) + (1 - d) ** k * shown, error)


def optimal_epsilon(epsilon: Number, delta: Number = 0, *, count: int, target: Number) -> Interval:
    """The least ε at which k mechanisms of (ε, δ)-DP are (ε, target)-DP together."""
    goal = float(probability(target))
    k, e = whole(count, "count", least=1), float(_epsilon(epsilon))
    return _inverted(lambda at: optimal_delta(epsilon, delta, count=k, at=at), goal, k * e)


def bounded_range_delta(epsilon: Number, *, count: int, at: Number) -> Interval:
    """The δ at `at` of k exponential mechanisms chosen in advance (not adaptively), each of range ε: exact.

    The loss of such a mechanism spans at most ε, so it is worst when it takes two values t and t − ε, 0 ≤ t ≤ ε. With
    all k at one t, δ = Σ_i C(k, i) p^(k−i) (1 − p)^i (e^(kt − iε) − e^at)+, p = (e^−t − e^−ε)/(1 − e^−ε), and the worst
    t is one of (at + (l + 1)ε)/(k + 1), l = 0 … k (Dong, Durfee and Rogers 2020).
    """
    k, e = whole(count, "count", least=1), float(positive(epsilon, "epsilon", toward="decimal"))
    target = float(non_negative(at, "at", toward="down"))
    best, i = 0.0, np.arange(k + 1)
    choose = log_choose(k, i)
    for t in sorted({min(e, (target + (index + 1) * e) / (k + 1)) for index in range(k + 1)}):
        losses = k * t - i * e
        shown = losses > target
        p = exp(-t) * -expm1(t - e) / -expm1(-e)  # of the loss t, in the world without the unit
        rest = -expm1(-t) / -expm1(-e)
        if p <= 0 or not shown.any():
            continue
        logs = choose + (k - i) * log(p) + i * log(rest) + losses
        best = max(best, float(np.sum(np.exp(logs[shown]) * -np.expm1(target - losses[shown]))))
    return _within(best, 1e-15 * (100 + 8 * k * (log(k + 1) + e + 1)))


def bounded_range_epsilon(epsilon: Number, *, count: int, target: Number) -> Interval:
    """The least ε at which k exponential mechanisms of range ε, chosen in advance, are (ε, target)-DP together."""
    goal = float(probability(target))
    k, e = whole(count, "count", least=1), float(positive(epsilon, "epsilon", toward="decimal"))
    return _inverted(lambda at: bounded_range_delta(epsilon, count=k, at=at), goal, k * e)


def bounded_range_zcdp(
    epsilon: Number, *, count: int = 1, relation: Relation = Relation.ADD_REMOVE, unit: str = "row"
) -> ZCDP:
    """k·ε²/8-zCDP of k exponential mechanisms of range ε, also adaptive ones (Cesar and Rogers 2021), and their μ²."""
    e, k = _epsilon(epsilon), whole(count, "count", least=1)
    return ZCDP(k * e**2 / 8, mu_squared=k * range_mu_squared(e), relation=relation, unit=unit)


def clt_epsilon(epsilon: Number, *, count: int, target: Number) -> Interval:
    """What the central limit theorem suggests for k mechanisms of ε-DP: an approximation, not a bound.

    The loss of k randomised responses has mean ±k·ε·tanh(ε/2) and variance k(ε² − mean²): read as a Gaussian shift.
    """
    k, e = whole(count, "count", least=1), float(positive(epsilon, "epsilon", toward="decimal"))
    mean = e * tanh(e / 2)
    return _approximation(2 * sqrt(k) * mean / sqrt(e * e - mean * mean), target)


def clt_sampled_gaussian_epsilon(sigma: Number, *, rate: Number, steps: int, target: Number) -> Interval:
    """What the central limit theorem suggests for Poisson-sampled Gaussian steps: an approximation, not a bound.

    μ = q√(T(e^(1/σ²) − 1)) (Bu, Dong, Long and Su 2020). It can be too low: 2.32 for a run that needs 2.38.
    """
    q, s = float(between(rate, "rate", 0, 1)), float(positive(sigma, "sigma"))
    return _approximation(q * sqrt(whole(steps, "steps", least=1) * expm1(1 / s**2)), target)


def parallel(
    losses: Iterable[Loss], *, relation: Relation = Relation.ADD_REMOVE, within: Iterable[Loss] | None = None
) -> Loss:
    """The loss of mechanisms that each see one part of the data, the parts being disjoint.

    Which part a unit falls in must be fixed in advance as a function of that unit's data alone. `losses` are the parts'
    guarantees for adding or removing one unit of the part. Under add/remove one part pays: the largest. Under replace a
    unit may leave one part and enter another, so two parts pay, each its own direction; or it stays and changes, which
    costs `within` (the parts' guarantees for replace), or where that is not given what two units cost, one of which
    goes and one of which comes.
    """
    counts = Counter(losses)
    parts = list(counts)
    counted = Relation(relation)
    given = list(within) if within is not None else None
    if not parts:
        raise InputError("losses must not be empty: pass the loss of each part")
    if any(loss.relation is not Relation.ADD_REMOVE for loss in parts):
        raise RelationError(
            "parallel composition rests on what each part promises when a unit enters or leaves it: pass losses with "
            "relation='add_remove', and guarantees for replace inside a part as within=[...]"
        )
    if len({loss.unit for loss in parts + (given or [])}) > 1:
        raise RelationError("the losses speak of different units: state them all for one")
    if counted is Relation.ADD_REMOVE:
        if given is not None:
            raise InputError("within belongs to relation='replace': under add_remove no unit changes inside its part")
        return worst(parts)
    if given is not None and any(loss.relation is not Relation.REPLACE for loss in given):
        raise RelationError("within must hold guarantees with relation='replace'")
    moves = [*combinations(parts, 2), *((loss, loss) for loss in parts if counts[loss] > 1)]
    changes = given if given is not None else [_replaced(loss) for loss in parts]
    return worst([_restated(goes + _reversed(comes)) for goes, comes in moves] + changes)


def worst(losses: Iterable[Loss]) -> Loss:
    """One loss that covers each of these, for the same neighbours: componentwise, or the higher of two Rényi curves."""
    several = list(dict.fromkeys(losses))
    if not several:
        raise InputError("losses must not be empty")
    about = several[0].neighbours
    if any(loss.neighbours != about for loss in several):
        raise RelationError("guarantees for different relations or units have no common bound: restate them first")
    if len(several) == 1:
        return several[0]
    lists = [loss for loss in several if isinstance(loss, PLD)]
    if len(lists) == len(several):
        if all(part.bound is not None for loss in lists for part, _ in loss.parts):
            bound, slack = max(loss.bound for loss in lists), max(loss.slack for loss in lists)
            return Approx(bound, slack, **about) if slack else Pure(bound, **about)
        if all(isinstance(loss, GDP) for loss in lists):
            squares = [part.square for loss in lists for part, _ in loss.parts if isinstance(part, Normal)]
            return PLD.of(((Normal(max(squares)), 1),), **about)
    zcdp = [loss for loss in several if isinstance(loss, ZCDP)]
    if len(zcdp) == len(several):
        return ZCDP(max(loss.rho for loss in zcdp), delta=max(loss.slack for loss in zcdp), **about)
    curves = [RDP.implied_by(loss) for loss in several]
    tables = [dict(zip(curve.orders, curve.values, strict=True)) for curve in curves]
    orders = [order for order in curves[0].orders if all(order in table for table in tables)]
    if not orders:
        raise LossError("these losses share no order of a Rényi curve: convert them to (epsilon, delta) first")
    values = [max(table[order] for table in tables) for order in orders]
    return RDP(orders, values, max(curve.slack for curve in curves), **about)


def _reversed(loss: Loss) -> Loss:
    """The same loss for the other order of the neighbours. Kinds that are not lists of pairs hold for both."""
    if not isinstance(loss, PLD):
        return loss
    return PLD.of(tuple((part.reversed(), count) for part, count in loss.parts), **loss.neighbours)


def _replaced(loss: Loss) -> Loss:
    """What one unit costs that is replaced, from what one costs that comes or goes."""
    if not isinstance(loss, PLD):
        return _restated(loss.grouped(2))
    about = {**loss.neighbours, "relation": Relation.REPLACE}
    return PLD.of(tuple((part.replaced(), count) for part, count in loss.parts), **about)


def _restated(loss: Loss) -> Loss:
    """The same numbers, said of replace: for what was derived from add/remove in two steps."""
    copy = object.__new__(type(loss))
    for name, value in vars(loss).items():
        object.__setattr__(copy, name, Relation.REPLACE if name == "relation" else value)
    return copy


def _epsilon(value: Number) -> Fraction:
    return non_negative(value, "epsilon", toward="decimal")


@lru_cache(maxsize=16)
def _responses(epsilon: float, count: int) -> tuple[Any, Any]:
    """The losses of k randomised responses, rising, and their probabilities where these are not below 1e-300."""
    flips = np.arange(count + 1)[::-1]
    logs = log_choose(count, flips) - flips * epsilon - count * log1p(exp(-epsilon))
    kept = logs > -690
    return epsilon * (count - 2.0 * flips[kept]), np.exp(logs[kept])


def _within(value: float, error: float) -> Interval:
    return Interval(max(0.0, value * (1 - error)), min(1.0, value * (1 + error)))


def _inverted(curve: Callable[[float], Interval], goal: float, most: float) -> Interval:
    """ε from a falling curve of δ that is least at `most`: one bisection for each end."""
    curve = cache(curve)  # the two bisections share most of their points
    if curve(most).lower > goal:
        return Interval(inf, inf)
    high = _crossing(lambda at: curve(at).upper > goal, most)[1] if curve(most).upper <= goal else inf
    return Interval(_crossing(lambda at: curve(at).lower > goal, most)[0], high)


def _crossing(above: Callable[[float], bool], most: float) -> tuple[float, float]:
    """Neighbouring ends of [0, most] at which a falling curve is above and is not above."""
    if not above(0.0):
        return 0.0, 0.0
    low, high = 0.0, most
    while high - low > 1e-12 * high:
        middle = (low + high) / 2
        if not low < middle < high:
            break
        low, high = (middle, high) if above(middle) else (low, middle)
    return low, high


def _approximation(mu: float, target: Number) -> Interval:
    value = gaussian_epsilon(mu, float(between(target, "target", 0, 1)))
    return Interval(value, value, rigorous=False)
