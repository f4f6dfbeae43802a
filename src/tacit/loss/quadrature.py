"""Moments of the loss between mixtures of normal distributions, exact but for rounding.

With densities φ(x)·A(x) and φ(x)·B(x), where A(x) = Σ a_j·e^(c_j·x − c_j²/2) and B alike, E[e^(zL)] is the integral of
φ·A^(1+z)·B^(−z), which is analytic in a strip around the real line: there the trapezoidal rule converges
exponentially (docs/theory/pld.md). Its nodes are then as good as a finite list of outcomes. On a lattice of noise the
nodes are the lattice itself, or coarser where both sums agree with the integral.
"""

from dataclasses import dataclass
from math import inf, log, pi

import numpy as np

from tacit.loss.pair import UNIT, Floats

__all__ = ["Mixture", "Nodes", "nodes"]

DIGITS = 42.0  # the rule is off by less than e^−42 of the moment
TAIL = 9.5  # how fast the logarithm of the integrand falls beyond the last node, at least
PLACES = np.linspace(0.02, 1.0, 50)  # shares of the widest strip that are tried
WIDEST = 9.0
ROOM = 2**22  # nodes of all mixtures together
FINEST = 1 / 2000  # deviations between the points of a lattice that is listed


@dataclass(frozen=True)
class Mixture:
    """P = Σ p_j·N(c_j, 1) against Q = Σ q_j·N(c_j, 1); or the same of discrete Gaussians, on points `spacing` apart."""

    centres: tuple[float, ...]
    p: tuple[float, ...]
    q: tuple[float, ...]
    spacing: float = 0.0

    @property
    def swapped(self) -> "Mixture":
        """(Q, P)."""
        return Mixture(self.centres, self.q, self.p, self.spacing)

    @property
    def width(self) -> float:
        """Between its first centre and its last."""
        return max(self.centres) - min(self.centres)

    @property
    def fine(self) -> bool:
        """Whether it lies on a lattice of more points than can be cut into cells."""
        return 0 < self.spacing < FINEST

    def sampled(self, rate: float, keep: float) -> "Mixture":
        """P replaced by keep·Q + rate·P."""
        mixed = tuple(keep * q + rate * p for p, q in zip(self.p, self.q, strict=True))
        return Mixture(self.centres, mixed, self.q, self.spacing)


@dataclass(frozen=True)
class Nodes:
    """One row for each mixture: losses, logarithms of P's masses, what those may be off by, and the rule's error."""

    losses: Floats
    log_p: Floats
    blur: Floats
    doubt: Floats
    error: Floats


def nodes(mixtures: list[Mixture], theta: float, frequency: float) -> Nodes | None:
    """Nodes that are right for E[e^(zL)], Re z = θ, |Im z| ≤ frequency; nothing if they would be too many.

    All mixtures have as many centres.
    """
    c = np.array([m.centres for m in mixtures])
    p, q = np.array([m.p for m in mixtures]), np.array([m.q for m in mixtures])
    spacing = np.array([m.spacing for m in mixtures])
    a_low, a_high = _range(c, p)
    b_low, b_high = _range(c, q)
    whole = np.maximum(a_high, b_high) - np.minimum(a_low, b_low)
    step = _step(whole, a_high - a_low, b_high - b_low, theta, frequency)
    exact = spacing > step
    step = np.where(exact, spacing, step)
    powers = ((1 + theta, a_low, a_high, p), (-theta, b_low, b_high, q))
    left, right = _end(powers, c, -1), _end(powers, c, 1)
    first = np.floor(left / step)
    size = float((np.ceil(right / step) - first).max()) + 1
    if not size * len(mixtures) < ROOM:
        return None
    x = (first[:, None] + np.arange(int(size))) * step[:, None]
    return _nodes(x, step, c, p, q)


def _range(c: Floats, weights: Floats) -> tuple[Floats, Floats]:
    live = weights > 0
    return np.where(live, c, inf).min(axis=1), np.where(live, c, -inf).max(axis=1)


Power = tuple[
    float, Floats, Floats, Floats
]  # of a sum, with the least and the greatest of its centres, and its weights


def _end(powers: tuple[Power, Power], c: Floats, side: int) -> Floats:
    """Where the integrand has begun to fall for good: beyond, its logarithm has a slope of at least TAIL·√κ.

    That slope is Σ power·(log sum)' − x. A sum's (log sum)' rises, between its least and its greatest centre; for a
    power above 0 we take that centre, for one below 0 the place itself. κ bounds how fast the slope can turn inward.
    """
    plain, bend = np.zeros(len(c)), np.ones(len(c))
    for power, low, high, _ in powers:
        plain = plain + max(power, 0.0) * (high if side > 0 else low)
        bend = bend + max(-power, 0.0) * (high - low) ** 2 / 4
    wanted = TAIL * np.sqrt(bend)
    turned = [(power, low, high, weights) for power, low, high, weights in powers if power < 0]
    near = plain + side * wanted + sum(power * (low if side > 0 else high) for power, low, high, _ in turned)
    far = plain + side * wanted + sum(power * (high if side > 0 else low) for power, low, high, _ in turned)
    if not turned:
        return np.asarray(near)
    inner, outer = (
        (np.minimum(near, far), np.maximum(near, far)) if side > 0 else (np.maximum(near, far), np.minimum(near, far))
    )
    for _ in range(50):
        x = (inner + outer) / 2
        slope = plain - x + sum(power * _slope(x, c, weights) for power, _, _, weights in turned)
        falls = -side * slope >= wanted
        inner, outer = np.where(falls, inner, x), np.where(falls, x, outer)
    return np.asarray(outer)


def _slope(x: Floats, c: Floats, weights: Floats) -> Floats:
    """The derivative of log Σ w_j·e^(c_j·x − c_j²/2)."""
    with np.errstate(divide="ignore"):
        exponents = c * x[:, None] - c * c / 2 + np.log(weights)
    w = np.exp(exponents - exponents.max(axis=1)[:, None])
    return np.asarray((w * c).sum(axis=1) / w.sum(axis=1))


def _step(whole: Floats, above: Floats, below: Floats, theta: float, frequency: float) -> Floats:
    """The widest step whose error is e^−DIGITS of the moment, by the best a in
    2·e^(a²/2 + |y|·a·C)·cos(a·C_A/2)^min(0, 1 + θ)·cos(a·C_B/2)^min(0, −θ)/(e^(2πa/h) − 1)."""
    top = np.minimum(WIDEST, 0.95 * pi / np.maximum(np.maximum(above, below), 1e-12))
    a = top[:, None] * PLACES
    cost = DIGITS + log(4) + a * a / 2 + frequency * a * whole[:, None]
    cost += min(0.0, 1 + theta) * np.log(np.cos(a * above[:, None] / 2))
    cost += min(0.0, -theta) * np.log(np.cos(a * below[:, None] / 2))
    return np.asarray((2 * pi * a / cost).max(axis=1))


def _nodes(x: Floats, step: Floats, c: Floats, p: Floats, q: Floats) -> Nodes:
    furthest = np.abs(c).max(axis=1)[:, None]
    size = furthest * np.abs(x) + furthest * furthest
    # of a sum's logarithm: where a term counts, its weight's own is no larger than `size` and a little
    own = UNIT * (8 + c.shape[1]) * (2 + size)
    log_a = log_b = np.full_like(x, -inf)
    apart, apart_error = np.zeros_like(x), np.zeros_like(x)
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        for j in range(c.shape[1]):
            centre = c[:, j][:, None]
            t = centre * x - centre * centre / 2
            if p[:, j].any():
                log_a = np.logaddexp(log_a, t + np.log(p[:, j])[:, None])
            if q[:, j].any():
                log_b = np.logaddexp(log_b, t + np.log(q[:, j])[:, None])
            more, rise = (p[:, j] - q[:, j])[:, None], np.expm1(t)
            apart = apart + more * rise
            t_error = np.abs(centre * x) + centre * centre  # of t, in units of 4u
            apart_error += np.abs(more) * ((4 + c.shape[1]) * np.abs(rise) + 4 * t_error * (1 + rise))
        below = np.exp(-log_b)
        ratio = apart * below
        near = np.abs(ratio) < 0.5
        losses = np.where(near, np.log1p(np.where(near, ratio, 0.0)), log_a - log_b)
        cancelled = 2 * (UNIT * apart_error * below + (own + 4 * UNIT) * np.abs(ratio))
    blur = np.where(near, cancelled, 2 * own) + 4 * UNIT * np.abs(losses)
    # Σ e^(−x²/2) over a lattice that is no coarser than one deviation, by Poisson's summation
    total = np.log(np.sqrt(2 * pi) / step * (1 + 2 * np.exp(-2 * (pi / step) ** 2)))
    log_p = -x * x / 2 + log_a - total[:, None]
    return Nodes(losses, log_p, blur, own + 2 * UNIT * x * x, np.full(len(x), 2e-18))
