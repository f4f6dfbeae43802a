"""What a vote of teachers costs (PATE): bounds that hold for any votes, and smaller ones that depend on the votes.

One unit belongs to one teacher's data, so it can move one vote from one class to another. The data-dependent bounds
are themselves secret: they are small when the teachers agree, so publishing them says how far the teachers agreed. They
come as `DataDependent`, which is not a `Loss` and cannot be charged or added to one. To publish one, its smooth
sensitivity must be bounded and noise added (Papernot et al. 2018): `tacit.learn.agreement` does that.

Votes are one list, a count for each class, or one such row for each query; all queries are priced at once.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from math import exp, log1p
from typing import Any

import numpy as np

from tacit.base import InputError, Number, Relation, positive, round_up, special
from tacit.base.number import exact
from tacit.loss.concentrated import ZCDP
from tacit.loss.loss import Interval
from tacit.loss.part import ResponsePart, renyi_divergence
from tacit.loss.pld import Pure, probability
from tacit.loss.renyi import ORDERS, RDP

__all__ = [
    "DataDependent",
    "Floats",
    "confident_failure",
    "confident_given_votes",
    "gaps",
    "gnmax",
    "gnmax_curve",
    "gnmax_given_votes",
    "gnmax_tail",
    "lnmax",
    "lnmax_curve",
    "lnmax_given_votes",
    "lnmax_tail",
    "log_failure",
]

Floats = np.ndarray[Any, np.dtype[np.float64]]
FLOOR = -700.0  # no log q is taken to be lower: below, doubles underflow, and a bound of 0 would be wrong
SLACK = 1e-12  # relative, what sums and functions in floating point may be off by, taken generously


@dataclass(frozen=True)
class DataDependent:
    """A Rényi curve that holds for the data at hand only, and is as secret as they are.

    It bounds the divergence of M(D) from M(D') for this D and every neighbour D'. Sums are over queries to these data.
    `delta` is where `float()` reads it.
    """

    curve: RDP
    delta: Fraction | None = None

    def epsilon(self, delta: Number | None = None) -> Interval:
        """For people who may see the data: what the votes happened to cost. Not to be published as it is."""
        at = self.delta if delta is None else probability(delta)
        if at is None:
            raise InputError("say at which delta: epsilon(1e-6)")
        return self.curve.epsilon(at)

    def __float__(self) -> float:
        return float(self.epsilon())

    def __repr__(self) -> str:
        return "<DataDependent: as secret as the data>"

    def __add__(self, other: object) -> "DataDependent":
        if not isinstance(other, DataDependent):
            return NotImplemented
        total = self.curve + other.curve
        assert isinstance(total, RDP)  # a sum of Rényi curves is one
        return DataDependent(total, self.delta)

    @staticmethod
    def total(several: Iterable["DataDependent"]) -> "DataDependent":
        """The sum over many queries."""
        first, *rest = several
        for each in rest:
            first = first + each
        return first


# --- for any votes


def gnmax(sigma: Number, *, relation: Relation = Relation.ADD_REMOVE, unit: str = "row") -> ZCDP:
    """The class with most votes after noise N(0, σ²) on each count: D_α ≤ α/σ² (Papernot et al. 2018, Proposition 8).

    A moved vote changes two counts by one: l2 sensitivity √2. Discrete Gaussian noise costs the same.
    """
    return ZCDP(1 / positive(sigma, "sigma", toward="down") ** 2, relation=relation, unit=unit)


def lnmax(scale: Number, *, relation: Relation = Relation.ADD_REMOVE, unit: str = "row") -> Pure:
    """The class with most votes after Laplace noise of `scale` on each count: 2/scale-DP (Papernot et al. 2017)."""
    return Pure(2 / positive(scale, "scale", toward="down"), relation=relation, unit=unit)


# --- for these votes: how likely the plurality is not to win, and what that costs


def gaps(votes: Any) -> Floats:
    """How far each other class is behind the plurality, the nearest first; one row for each query."""
    counts = np.atleast_2d(np.asarray(votes))
    if counts.ndim != 2 or counts.shape[1] < 2 or counts.dtype.kind not in "iuf":
        raise InputError("votes must be whole numbers of at least 0, for two classes or more")
    if counts.size and not (np.isfinite(counts).all() and (counts >= 0).all() and (counts == np.floor(counts)).all()):
        raise InputError("votes must be whole numbers of at least 0, for two classes or more")
    behind = counts.max(axis=1, keepdims=True) - counts
    return np.asarray(np.sort(behind, axis=1)[:, 1:], dtype=np.float64)


def gnmax_tail(behind: Floats, sigma: float, *, lattice: bool) -> Floats:
    """A bound on the chance that a class so far behind wins: Pr[N(0, 2σ²) ≥ gap]; on the lattice, where the difference
    of two noises is sub-Gaussian with parameter 2σ², exp(−gap²/4σ²)."""
    scaled = behind / (2 * sigma)
    return np.asarray(np.exp(-(scaled**2)) if lattice else special.erfc(scaled) / 2)


def lnmax_tail(behind: Floats, gamma: float, *, lattice: bool) -> Floats:
    """The same for Laplace noise of scale 1/γ: (2 + γ·gap)/(4e^(γ·gap)); on the lattice Pr[X − Y ≥ gap] in closed form,
    with r = e^−γ: r^gap·((1 − r)gap + (1 + r²)/(1 + r) + r)/(1 + r)²."""
    if not lattice:
        return np.asarray((2 + gamma * behind) / 4 * np.exp(-gamma * behind))
    r = exp(-gamma)
    inner = -np.expm1(-gamma) * behind + (1 + r * r) / (1 + r) + r
    return np.asarray(np.exp(-gamma * behind) * inner / (1 + r) ** 2)


def log_failure(tails: Floats) -> Floats:
    """log q for each row by the union bound, rounded up; no more than what equal chances would give."""
    rivals = tails.shape[-1]
    total = np.minimum(tails.sum(axis=-1) * (1 + SLACK), rivals / (rivals + 1))
    return np.asarray(np.maximum(np.log(np.maximum(total, 1e-320)), FLOOR))


def gnmax_curve(log_q: Floats, sigma: float, orders: Floats) -> Floats:
    """D_α for each log q (rows) and order (columns): Papernot et al. 2018, Theorem 6 with the orders of Proposition 10.

    With μ₂ = σ√(log 1/q), μ₁ = μ₂ + 1, ε_i = μ_i/σ², and α ≤ μ₁, μ₂ > 1, q ≤ e^((μ₂−1)ε₂)/(μ₁/(μ₁−1)·μ₂/(μ₂−1))^μ₂:
    D_α ≤ log((1 − q)·A^(α−1) + q·B^(α−1))/(α − 1), where A = (1 − q)/(1 − (q·e^ε₂)^((μ₂−1)/μ₂)) and
    B = e^ε₁/q^(1/(μ₁−1)). Otherwise α/σ².
    """
    variance = sigma * sigma
    found = np.tile(orders / variance, (len(log_q), 1))
    second = np.sqrt(variance * -log_q)
    some = np.flatnonzero((second > 1) & (log_q < 0))
    log_q, second = log_q[some], second[some]
    first = second + 1
    one, two = first / variance, second / variance
    most = (second - 1) * two - second * (np.log1p(1 / (first - 1)) + np.log1p(1 / (second - 1)))
    holds = (log_q <= most) & (log_q + two < 0)
    some, log_q, first, second, one, two = (each[holds] for each in (some, log_q, first, second, one, two))
    right = np.log1p(-np.exp(log_q))
    log_a = right - np.log(-np.expm1((log_q + two) * (1 - 1 / second)))
    log_b = one - log_q / (first - 1)
    better = _moments(log_q, right, log_a, log_b, orders)
    within = orders <= first[:, None]
    found[some] = np.where(within, np.minimum(found[some], better), found[some])
    return found


def lnmax_curve(log_q: Floats, gamma: float, orders: Floats) -> Floats:
    """The same for LNMax (Papernot et al. 2017, Theorem 3): with ε = 2γ and q ≤ 1/(e^ε + 1),
    D_α ≤ log((1 − q)((1 − q)/(1 − e^ε·q))^(α−1) + q·e^(ε(α−1)))/(α − 1); otherwise that of any ε-DP mechanism."""
    pure, e = ResponsePart(Fraction(2 * gamma * (1 + 1e-15))), 2 * gamma
    found = np.tile([renyi_divergence(pure, float(order)) for order in orders], (len(log_q), 1))
    some = np.flatnonzero(log_q <= -e - log1p(exp(-e)))
    log_q = log_q[some]
    right = np.log1p(-np.exp(log_q))
    log_a = right - np.log(-np.expm1(e + log_q))
    found[some] = np.minimum(found[some], _moments(log_q, right, log_a, np.full(len(log_q), e), orders))
    return found


def _moments(log_q: Floats, right: Floats, log_a: Floats, log_b: Floats, orders: Floats) -> Floats:
    """log((1 − q)A^(α−1) + qB^(α−1))/(α − 1)."""
    above = orders - 1
    with np.errstate(under="ignore"):
        moment = np.logaddexp(right[:, None] + above * log_a[:, None], log_q[:, None] + above * log_b[:, None])
    return np.asarray(np.maximum(0.0, moment + 1e-15) / above)


def _summed(curve: Callable[[Floats, Floats], Floats], log_q: Floats, about: dict[str, Any]) -> DataDependent:
    """All queries together; equal ones are priced once."""
    if not len(log_q):
        return DataDependent(RDP(ORDERS, [0] * len(ORDERS), **about))
    distinct, times = np.unique(log_q, return_counts=True)
    orders = np.array([float(order) for order in ORDERS])
    total = times @ curve(distinct, orders)
    values = [round_up(value * (1 + SLACK), bits=52) if value else Fraction(0) for value in total.tolist()]
    return DataDependent(RDP(ORDERS, values, **about))


def gnmax_given_votes(
    votes: Any,
    sigma: Number,
    *,
    lattice: bool = False,
    relation: Relation = Relation.ADD_REMOVE,
    unit: str = "row",
) -> DataDependent:
    """GNMax on these votes, as `gnmax_curve` has it; `lattice` for discrete Gaussian noise."""
    s = float(positive(sigma, "sigma", toward="down"))
    log_q = log_failure(gnmax_tail(gaps(votes), s, lattice=lattice))
    return _summed(lambda q, orders: gnmax_curve(q, s, orders), log_q, {"relation": relation, "unit": unit})


def lnmax_given_votes(
    votes: Any,
    scale: Number,
    *,
    lattice: bool = False,
    relation: Relation = Relation.ADD_REMOVE,
    unit: str = "row",
) -> DataDependent:
    """LNMax on these votes, Laplace noise of `scale` = 1/γ, as `lnmax_curve` has it; `lattice` for discrete noise."""
    gamma = 1 / float(positive(scale, "scale", toward="down"))
    log_q = log_failure(lnmax_tail(gaps(votes), gamma, lattice=lattice))
    return _summed(lambda q, orders: lnmax_curve(q, gamma, orders), log_q, {"relation": relation, "unit": unit})


def confident_failure(most: Floats, sigma: float, threshold: float, *, lattice: bool) -> Floats:
    """log q of a check «most votes + noise ≥ threshold»: the chance of its less likely outcome, rounded up.

    On the lattice, Pr[Z ≥ m] is at most e^(−m²/2σ²), and at most that of a normal beyond m − 1 (Canonne et al. 2020).
    """
    if not lattice:
        total = special.ndtr(-np.abs(threshold - most) / sigma)
    else:
        to_pass = np.ceil(threshold - most)  # what the noise must reach at least
        steps = np.where(to_pass > 0, to_pass, 1 - to_pass)  # of the less likely side
        total = np.minimum(np.exp(-(steps**2) / (2 * sigma * sigma)), special.ndtr(-(steps - 1) / sigma))
    total = np.minimum(total * (1 + SLACK), 0.5)
    return np.asarray(np.maximum(np.log(np.maximum(total, 1e-320)), FLOOR))


def confident_given_votes(
    votes: Any,
    sigma: Number,
    threshold: Number,
    *,
    lattice: bool = False,
    relation: Relation = Relation.ADD_REMOVE,
    unit: str = "row",
) -> DataDependent:
    """The checks of Confident-GNMax on these votes: noise N(0, σ²) on the most votes, sensitivity 1, D_α ≤ α/2σ².

    It is the bound of GNMax at σ√2, with the chance of the less likely outcome as q (Papernot et al. 2018, §4.3): that
    theorem takes any mechanism with D_α ≤ α/σ'² for every α, and any outcome.
    """
    s = float(positive(sigma, "sigma", toward="down"))
    counts = np.atleast_2d(np.asarray(votes))
    gaps(counts)  # refuses what are no votes
    most = counts.max(axis=1).astype(np.float64)
    log_q = confident_failure(most, s, float(exact(threshold, "threshold")), lattice=lattice)
    wide = s * 2**0.5 * (1 - 1e-15)
    return _summed(lambda q, orders: gnmax_curve(q, wide, orders), log_q, {"relation": relation, "unit": unit})
