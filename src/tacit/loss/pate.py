"""What a vote of teachers costs (PATE): bounds that hold for any votes, and smaller ones that depend on the votes.

One unit belongs to one teacher's data, so it can move one vote from one class to another. The data-dependent bounds
are themselves secret: they are small when the teachers agree, so publishing them says how far the teachers agreed. They
come as `DataDependent`, which is not a `Loss` and cannot be charged or added to one. To publish one, its smooth
sensitivity must be bounded and noise added (Papernot et al. 2018); that is not done here.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import erfc, exp, expm1, inf, log, log1p, sqrt

import numpy as np

from tacit.base import InputError, Number, Relation, positive
from tacit.loss.concentrated import ZCDP
from tacit.loss.loss import Interval
from tacit.loss.part import ResponsePart, renyi_divergence
from tacit.loss.pld import Pure
from tacit.loss.renyi import RDP

__all__ = ["DataDependent", "gnmax", "gnmax_given_votes", "lnmax", "lnmax_given_votes"]


@dataclass(frozen=True)
class DataDependent:
    """A Rényi curve that holds for the data at hand only, and is as secret as they are.

    It bounds the divergence of M(D) from M(D') for this D and every neighbour D'. Sums are over queries to these data.
    """

    curve: RDP

    def epsilon(self, delta: Number) -> Interval:
        """For people who may see the data: what the votes happened to cost. Not to be published as it is."""
        return self.curve.epsilon(delta)

    def __add__(self, other: object) -> "DataDependent":
        if not isinstance(other, DataDependent):
            return NotImplemented
        total = self.curve + other.curve
        assert isinstance(total, RDP)  # a sum of Rényi curves is one
        return DataDependent(total)

    @staticmethod
    def total(several: Iterable["DataDependent"]) -> "DataDependent":
        """The sum over many queries."""
        first, *rest = several
        for each in rest:
            first = first + each
        return first


def gnmax(sigma: Number, *, relation: Relation = Relation.ADD_REMOVE, unit: str = "row") -> ZCDP:
    """The class with most votes after noise N(0, σ²) on each count: D_α ≤ α/σ² (Papernot et al. 2018, Proposition 8).

    A moved vote changes two counts by one: l2 sensitivity √2. Discrete Gaussian noise costs the same.
    """
    return ZCDP(1 / positive(sigma, "sigma", toward="down") ** 2, relation=relation, unit=unit)


def lnmax(scale: Number, *, relation: Relation = Relation.ADD_REMOVE, unit: str = "row") -> Pure:
    """The class with most votes after Laplace noise of `scale` on each count: 2/scale-DP (Papernot et al. 2017)."""
    return Pure(2 / positive(scale, "scale", toward="down"), relation=relation, unit=unit)


def gnmax_given_votes(
    votes: Sequence[int],
    sigma: Number,
    *,
    lattice: bool = False,
    relation: Relation = Relation.ADD_REMOVE,
    unit: str = "row",
) -> DataDependent:
    """GNMax on these votes (Papernot et al. 2018, Theorem 6 with the orders of Proposition 10); `lattice` for discrete
    Gaussian noise.

    With q ≥ Pr[not the plurality], μ₂ = σ√(log 1/q), μ₁ = μ₂ + 1, ε_i = μ_i/σ², and α ≤ μ₁, μ₂ > 1,
    q ≤ e^((μ₂−1)ε₂)/(μ₁/(μ₁−1)·μ₂/(μ₂−1))^μ₂: D_α ≤ log((1 − q)·A^(α−1) + q·B^(α−1))/(α − 1), where
    A = (1 − q)/(1 − (q·e^ε₂)^((μ₂−1)/μ₂)) and B = e^ε₁/q^(1/(μ₁−1)). Otherwise α/σ².
    """
    s = float(positive(sigma, "sigma", toward="down"))

    def tail(gap: float) -> float:
        # the difference of two noises: normal of variance 2σ², or sub-Gaussian with that parameter on the lattice
        return exp(-((gap / (2 * s)) ** 2)) if lattice else erfc(gap / (2 * s)) / 2

    log_q = _log_failure([tail(gap) for gap in _gaps(votes)])
    return DataDependent(RDP.from_function(lambda a: _gnmax(a, log_q, s * s), relation=relation, unit=unit))


def _gnmax(order: float, log_q: float, variance: float) -> float:
    independent = order / variance
    if log_q >= 0 or log_q == -inf:
        return independent
    second = sqrt(variance * -log_q)
    first = second + 1
    if second <= 1 or order > first:
        return independent
    one, two = first / variance, second / variance
    most = (second - 1) * two - second * (log1p(1 / (first - 1)) + log1p(1 / (second - 1)))
    if log_q > most or log_q + two >= 0:
        return independent
    right = log1p(-exp(log_q))
    log_a = right - log(-expm1((log_q + two) * (1 - 1 / second)))
    log_b = one - log_q / (first - 1)
    moment = float(np.logaddexp(right + (order - 1) * log_a, log_q + (order - 1) * log_b))
    return min(independent, max(0.0, moment + 1e-15) / (order - 1))


def lnmax_given_votes(
    votes: Sequence[int], scale: Number, *, relation: Relation = Relation.ADD_REMOVE, unit: str = "row"
) -> DataDependent:
    """LNMax on these votes (Papernot et al. 2017, Theorem 3 and Lemma 4), continuous Laplace noise of `scale` = 1/γ.

    q ≤ Σ (2 + γ·gap)/(4e^(γ·gap)). With ε = 2γ and q ≤ 1/(e^ε + 1),
    D_α ≤ log((1 − q)((1 − q)/(1 − e^ε·q))^(α−1) + q·e^(ε(α−1)))/(α − 1); otherwise that of any ε-DP mechanism.
    """
    gamma = 1 / float(positive(scale, "scale", toward="down"))
    log_q = _log_failure([(2 + gamma * gap) / 4 * exp(-gamma * gap) for gap in _gaps(votes)])
    pure = ResponsePart(Fraction(2 * gamma * (1 + 1e-15)))

    def at(order: float) -> float:
        independent, e = renyi_divergence(pure, order), 2 * gamma
        if log_q > -e - log1p(exp(-e)) or log_q == -inf:
            return independent
        right = log1p(-exp(log_q))
        log_a = right - log(-expm1(e + log_q))
        moment = float(np.logaddexp(right + (order - 1) * log_a, log_q + (order - 1) * e))
        return min(independent, max(0.0, moment + 1e-15) / (order - 1))

    return DataDependent(RDP.from_function(at, relation=relation, unit=unit))


def _gaps(votes: Sequence[int]) -> list[float]:
    """How far each other class is behind the plurality."""
    counts = [int(count) for count in votes]
    if len(counts) < 2 or min(counts) < 0 or any(count != given for count, given in zip(counts, votes, strict=True)):
        raise InputError("votes must be whole numbers of at least 0, for two classes or more")
    ahead = max(counts)
    counts.remove(ahead)
    return [float(ahead - count) for count in counts]


def _log_failure(tails: list[float]) -> float:
    """log q by the union bound, rounded up; no more than what equal chances would give."""
    total = min(sum(tails) * (1 + 1e-12), len(tails) / (len(tails) + 1))
    return log(total) if total > 0 else -700.0
