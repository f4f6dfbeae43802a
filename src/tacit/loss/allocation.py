"""Random allocation: each record is used in exactly `uses` of `steps` steps, chosen at random (balls in bins).

One use among t steps of Gaussian noise: with the record the outputs are a mixture P = (1/t)·Σ N(μ·e_i, I), without it
Q = N(0, I), and dP/dQ is X = the mean of t independent e^(μz − μ²/2). In both directions δ is the mean of a convex
function of X, E_Q[(X − e^ε)+] and E_Q[(1 − e^ε·X)+], so a law of X that is spread with its mean kept bounds both from
above. Several uses: a random k-subset is one step out of each part of a random partition, so k uses of t steps cost at
most k times one use of ⌊t/k⌋ steps. Adaptive steps reduce to this pair too. Proofs: docs/theory/amplification.md.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import exp, expm1, inf, lgamma, log, log2, pi, sqrt
from typing import ClassVar

import numpy as np

from tacit.base import InputError, LossError, Number, Relation, RelationError, positive, special, whole
from tacit.loss.labels import spread
from tacit.loss.pair import UNIT, Atoms, Floats, GaussianPair, Pair
from tacit.loss.part import Normal, Part
from tacit.loss.pld import PLD

__all__ = ["Allocated", "allocated", "allocation_renyi"]

LEAK = 1e-11  # probability that may fall outside a window: it is counted as a breach
HOPELESS = 1e-7  # with so much of it the noise is too small for amplification to be shown here
STRONGEST = 4.0  # μ beyond which that is always so
MOST = 10**5  # steps; more are counted as this many, which is valid because more steps hide better
RELATIVE = 1e-12  # error of the mass of a cell
CELLS = 40  # grid points a standard deviation of one e^(μz − μ²/2)
LARGEST = 2**22  # points of a sum's grid
LONGEST = 2**20  # and of the grid of one term
ATOMS = 8000  # of the pair that is composed further


@dataclass(frozen=True)
class Allocated(Part):
    """One use of a record in one of `steps` steps with Gaussian noise, `square` = μ² = (sensitivity/σ)²; add/remove."""

    kind: ClassVar[str] = "allocated"
    lopsided: ClassVar[bool] = True

    square: Fraction
    steps: Fraction

    def pair(self) -> Pair:
        return _pair(self)

    @property
    def attained(self) -> bool:
        return False

    @property
    def rho(self) -> Fraction:
        """No amplification: a mixture is never easier to tell apart than its worst component."""
        return self.square / 2

    @property
    def mu_squared(self) -> Fraction:
        """The same: whoever also saw the choice would see one Gaussian."""
        return self.square


def allocated(loss: PLD, *, steps: int, uses: int = 1) -> PLD:
    """The loss when a record takes part in exactly `uses` of `steps` Gaussian steps of `loss` each, chosen uniformly.

    The choice is made for each record independently of the others and kept secret. Stated for add/remove.
    """
    t, k = whole(steps, "steps", least=1), whole(uses, "uses", least=1)
    if k > t:
        raise InputError(f"uses must be at most steps: a record cannot be used {k} times in {t} steps")
    if loss.relation is not Relation.ADD_REMOVE:
        raise RelationError("random allocation is stated here for add_remove: restate the loss for that relation")
    parts = [part for part, _ in loss.parts]
    if len(parts) != 1 or not isinstance(parts[0], Normal):
        raise LossError("random allocation is known here for Gaussian noise only: use Poisson sampling for other noise")
    if t // k == 1:
        return PLD.of(((parts[0], k),), **loss.neighbours)
    return PLD.of(((Allocated(parts[0].square, Fraction(t // k)), k),), **loss.neighbours)


def allocation_renyi(mu: Number, *, steps: int, order: int) -> float:
    """Rényi divergence of P from Q (record against no record) of an integer order, exactly.

    E_Q[X^α] = t^−α·Σ over (i_1, …, i_α) of exp(μ²·#{j < l: i_j = i_l}), which is t^−α·α! times the coefficient of x^α
    in (Σ_k x^k·e^(μ²k(k−1)/2)/k!)^t. All terms are positive, so nothing cancels. The opposite direction, Q from P, is
    not covered by it.
    """
    shift, t, a = float(positive(mu, "mu")), whole(steps, "steps", least=1), whole(order, "order", least=2)
    k = np.arange(a + 1)
    series = shift * shift * k * (k - 1) / 2 - np.array([lgamma(i + 1) for i in k])
    total: Floats | None = None
    power, left = series, t
    while left:
        if left & 1:
            total = power if total is None else _product(total, power)
        power, left = _product(power, power), left >> 1
    assert total is not None  # t ≥ 1 has a bit set
    return (float(total[a]) + lgamma(a + 1) - a * log(t)) / (a - 1) * (1 + 1e-12)


def _product(a: Floats, b: Floats) -> Floats:
    """Logarithms of the coefficients of a product of series."""
    return np.array([np.logaddexp.reduce(a[: i + 1] + b[i::-1]) for i in range(len(a))])


@lru_cache(maxsize=64)
def _pair(part: Allocated) -> Pair:
    mu, t = sqrt(part.square) * (1 + 1e-15), min(MOST, int(part.steps))
    if t == 1 or mu > STRONGEST:
        return GaussianPair(mu)
    one = _one(mu, t)
    law = _sum(one, t)
    leak_q, leak_p = t * one.cut_q + law.outside, one.cut_p + (t - 1) * one.cut_q + law.outside
    # P = x·Q: each mass from the transform whose error is not magnified
    x = law.sums / t
    p, q = np.where(x > 1, law.p, x * law.q), law.q
    live = x > 0
    leak_q += float(q[~live].sum()) * (1 + t * RELATIVE)
    if max(leak_p, leak_q) > HOPELESS:
        return GaussianPair(mu)
    losses = np.log(x[live])
    points = np.linspace(float(losses[0]), float(losses[-1]), ATOMS)
    total = spread(losses, p[live], points) * (1 + t * RELATIVE)
    return Atoms(points, total, leak_p, leak_q)


@dataclass(frozen=True)
class One:
    """The law of V = e^(μz − μ²/2) spread over 0, h, 2h, … with its mean kept; `cut_q`, `cut_p` lie beyond the last.

    Every mass is a sum of positive terms, right to a relative error of RELATIVE, and so is what t of them make.
    """

    step: float
    q: Floats
    cut_q: float
    cut_p: float

    def log_moments(self, s: float) -> tuple[float, float]:
        """log E[e^(sV)] and log E[V·e^(sV)]."""
        v = np.flatnonzero(self.q) * self.step
        exponents = s * v + np.log(self.q[self.q > 0])
        top = float(exponents.max())
        w = np.exp(exponents - top)
        return top + log(float(w.sum())), top + log(float(np.dot(w, v)) + 1e-300)


def _one(mu: float, steps: int) -> One:
    deviation = sqrt(expm1(min(mu * mu, 100.0)))
    # beyond the last point lies a V of the t that P has, or Q, with probability LEAK at most (or what fits the grid)
    far = max(-float(special.ndtri(LEAK / steps)), mu - float(special.ndtri(LEAK)))
    top = exp(min(700.0, mu * far - mu * mu / 2))
    step = min(deviation / 4, max(deviation / CELLS * min(1.0, steps / 16), top / LONGEST))
    size = int(min(float(LONGEST), max(8.0, top / step))) + 1
    edges = np.arange(1, size + 1) * step
    z = (np.log(edges) + mu * mu / 2) / mu
    q = np.zeros(size + 1)
    below = float(special.ndtr(z[0] - mu)) / step
    q[0], q[1] = max(0.0, float(special.ndtr(z[0])) - below), below
    width = np.diff(z)
    for node, weight in zip(*np.polynomial.legendre.leggauss(16), strict=True):
        past, ahead = width * (1 + node) / 2, width * (1 - node) / 2
        density = np.exp(-((z[:-1] + past) ** 2) / 2) * (weight * width / (2 * sqrt(2 * pi) * step))
        q[1:-1] += density * edges[1:] * -np.expm1(-mu * ahead)
        q[2:] += density * edges[:-1] * np.expm1(mu * past)
    return One(step, q, float(special.ndtr(-z[-1])), float(special.ndtr(mu - z[-1])))


@dataclass(frozen=True)
class Sum:
    """The law of a sum of t, with (`p`) and without (`q`) the record; `outside` is missing or wrong in either."""

    sums: Floats
    p: Floats
    q: Floats
    outside: float


def _sum(one: One, t: int) -> Sum:
    from scipy.fft import irfft, next_fast_len, rfft  # takes long to import

    first = max(0, int(_tail(one, t, -1) / one.step))
    last = min(int(_tail(one, t, 1) / one.step), t * (len(one.q) - 1))
    size = next_fast_len(last + 2 - first, real=True)
    if size > LARGEST:
        raise LossError("random allocation over so many steps needs too fine a grid: use Poisson sampling instead")
    where = np.arange(len(one.q))
    plain = rfft(np.bincount(where % size, weights=one.q, minlength=size))
    biased = rfft(np.bincount(where % size, weights=one.q * where * one.step, minlength=size))
    fewer = plain ** (t - 1)
    q, p = irfft(plain * fewer, size), irfft(biased * fewer, size)
    # a coefficient is off by at most c·log2(size) units of Σ|w| = 1, a power n of it by n·|F|^(n−1) times that, so by
    # Parseval the masses are off by that times the norm of the law of t − 2 terms; then come the power and the way back
    unit = 16 * UNIT * log2(size)
    norm = sqrt(2 * float(np.sum(np.abs(plain) ** (2 * t - 4))) / size)
    error = (unit * (t + 2) + 64 * t * UNIT) * norm
    return Sum(
        (first + np.arange(size, dtype=np.float64)) * one.step,
        np.maximum(0.0, np.roll(p, -(first % size))),
        np.maximum(0.0, np.roll(q, -(first % size))),
        3 * LEAK + error * sqrt(size),
    )


def _tail(one: One, t: int, sign: int) -> float:
    """A level that the sum of t passes (above, or with sign = −1 below) with probability LEAK under Q and under P.

    Chernoff: P[S ≥ x] ≤ E[e^(sS)]·e^(−sx), and under P the moment is E_Q[S·e^(sS)]/t.
    """
    v = np.arange(len(one.q)) * one.step
    variance = float(np.dot(one.q, (v - 1) ** 2))
    best = inf
    for factor in np.geomspace(1e-6, 12, 32):
        s = sign * float(factor) / sqrt(t * variance)
        plain, weighted = one.log_moments(s)
        moment = max(t * plain, (t - 1) * plain + weighted)
        best = min(best, (moment - log(LEAK)) / abs(s))
    return sign * best
