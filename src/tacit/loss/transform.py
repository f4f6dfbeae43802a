"""Pairs made of pairs: the other direction, a sample of the units, a group or a replaced unit on a Gaussian sample, the
symmetric pair."""

from dataclasses import dataclass
from fractions import Fraction
from math import exp, expm1, inf, log, log1p, sqrt

import numpy as np

from tacit.base import special
from tacit.loss.pair import UNIT, Cells, Floats, Pair, cells_of, normal_masses
from tacit.loss.quadrature import Mixture

__all__ = ["MixturePair", "ReplacedGaussian", "Sampled", "Swapped", "Symmetric"]


@dataclass(frozen=True)
class Swapped(Pair):
    """(Q, P) for a pair (P, Q): L changes sign, masses change places."""

    base: Pair

    def cells(self, edges: Floats) -> Cells:
        c = self.base.cells(-edges[::-1])
        p, q, p_error, q_error = c.q[::-1], c.p[::-1], c.q_error[::-1], c.p_error[::-1]
        power, far = (
            np.exp(np.minimum(edges, 700.0)),
            edges > 700,
        )  # e^left of all cells but the first, e^right likewise
        excess, excess_error, deficit, deficit_error = p.copy(), p_error.copy(), np.zeros_like(p), np.zeros_like(p)
        # q − p·e^left = e^left·(q·e^(−left) − p), and −left is the right end of the base's cell
        excess[1:] = np.where(far, p[1:], power * c.deficit[::-1][1:])  # p where the product has left the doubles
        excess_error[1:] = np.where(far, p_error[1:], power * c.deficit_error[::-1][1:])
        deficit[:-1], deficit_error[:-1] = power * c.excess[::-1][:-1], power * c.excess_error[::-1][:-1]
        return Cells(p, q, p_error, q_error, excess, excess_error, deficit, deficit_error)

    def reach(self, tail: float) -> tuple[float, float]:
        low, high = self.base.reach(tail)
        return -high, -low

    @property
    def leaks(self) -> tuple[float, float]:
        return self.base.leaks[1], self.base.leaks[0]

    @property
    def anchor(self) -> float | None:
        return None if self.base.anchor is None else -self.base.anchor

    @property
    def square(self) -> float | None:
        return self.base.square

    @property
    def mixture(self) -> Mixture | None:
        return None if self.base.mixture is None else self.base.mixture.swapped

    @property
    def swapped(self) -> Pair:
        return self.base


@dataclass(frozen=True)
class Sampled(Pair):
    """((1 − rate)·Q + rate·P, Q): each record takes part with probability `rate`, and P is the world with the record.

    (Zhu, Dong and Wang 2022, Theorem 11.) L becomes log(1 + rate·(e^L − 1)), and the excess over a cell's left end is
    rate times the base's, so small differences stay accurate.
    """

    base: Pair
    rate: float
    without: float | None = None  # 1 − rate, where that is known more exactly

    def cells(self, edges: Floats) -> Cells:
        r, keep = self.rate, self._keep
        # e^edge = 1 − r + r·e^s; no mass lies below log(1 − r), where s is −∞. Either form is right to a few units of
        # e^edge, so that an edge is displaced by no more than that.
        lifted = np.where(edges < -0.5, np.exp(np.minimum(edges, 0.0)) - keep, np.expm1(np.minimum(edges, 700.0)) + r)
        possible = lifted > 0
        inner = np.log(lifted[possible] / r)
        b = self.base.cells(inner)
        empty = int((~possible).sum())

        def pad(x: Floats) -> Floats:
            return np.concatenate([np.zeros(empty), x])

        p, p_error, q = keep * b.q + r * b.p, keep * b.q_error + r * b.p_error, b.q.copy()
        excess, excess_error = r * b.excess, r * b.excess_error
        # the first cell with mass starts below log(1 − r), by −lifted in e^L; what only Q produces lies there
        gap, alone = float(-lifted[empty - 1]) if empty else keep, self.base.leaks[1]
        excess[0], excess_error[0] = excess[0] + gap * (b.q[0] + alone), excess_error[0] + gap * b.q_error[0]
        p[0], q[0] = p[0] + keep * alone, q[0] + alone
        deficit = r * b.deficit
        if len(inner):
            deficit[0] += alone * float(lifted[empty])
        parts = (p, q, p_error + 4 * UNIT * p, b.q_error, excess, excess_error, deficit, r * b.deficit_error)
        return Cells(*(pad(part) for part in parts))

    @property
    def _keep(self) -> float:
        return float(1 - Fraction(self.rate)) if self.without is None else self.without

    def reach(self, tail: float) -> tuple[float, float]:
        low, high = self.base.reach(tail)
        if self.base.leaks[1]:
            low = -inf
        return log(self._keep + self.rate * exp(low)), self._outer(high)

    @property
    def anchor(self) -> float | None:
        return None if self.base.anchor is None else self._outer(self.base.anchor)

    @property
    def mixture(self) -> Mixture | None:
        return None if self.base.mixture is None else self.base.mixture.sampled(self.rate, self._keep)

    def _outer(self, loss: float) -> float:
        if loss > 700:
            return loss + log(self.rate)
        return log1p(self.rate * expm1(loss))

    @property
    def leaks(self) -> tuple[float, float]:
        return self.rate * self.base.leaks[0], self.base.leaks[1] if self.rate == 1 else 0.0


@dataclass(frozen=True)
class ReplacedGaussian(Pair):
    """(1 − rate)·N(0, 1) + rate·N(±mu, 1): a sampled vector of length mu replaced by its opposite."""

    mu: float
    rate: float

    def cells(self, edges: Floats) -> Cells:
        x = self._inverse(edges)
        parts = [normal_masses(x - centre, np.abs(x) + self.mu) for centre in (0.0, self.mu, -self.mu)]
        (zero, zero_error), (plus, plus_error), (minus, minus_error) = parts
        r = self.rate
        p, q = (1 - r) * zero + r * plus, (1 - r) * zero + r * minus
        return cells_of(edges, p, q, (1 - r) * zero_error + r * plus_error, (1 - r) * zero_error + r * minus_error)

    def _inverse(self, loss: Floats) -> Floats:
        """x with L(x) = loss: v = e^(μx) is the positive root of c·v² + (1 − rate)(1 − e^l)·v − c·e^l."""
        c, b, ratio = self.rate * np.exp(-(self.mu**2) / 2), (1 - self.rate) * -np.expm1(loss), np.exp(loss)
        root = np.sqrt(b * b + 4 * c * c * ratio)
        v = np.where(b > 0, 2 * c * ratio / (root + np.abs(b)), (root + np.abs(b)) / (2 * c))
        return np.asarray(np.log(v) / self.mu)

    def reach(self, tail: float) -> tuple[float, float]:
        x = self.mu + sqrt(-2 * log(tail))
        top, bottom = (
            log1p(self.rate * expm1(self.mu * x - self.mu**2 / 2)),
            log1p(self.rate * expm1(-self.mu * x - self.mu**2 / 2)),
        )
        return bottom - top, top - bottom

    @property
    def symmetric(self) -> bool:
        return True

    @property
    def mixture(self) -> Mixture:
        r = self.rate
        return Mixture((0.0, self.mu, -self.mu), (1 - r, r, 0.0), (1 - r, 0.0, r))


@dataclass(frozen=True)
class MixturePair(Pair):
    """P = Σ_j weights[j]·N(j·mu, 1) against Q = N(0, 1). L rises with x, so cells of L are intervals of x."""

    mu: float
    weights: tuple[float, ...]

    def cells(self, edges: Floats) -> Cells:
        possible = edges > log(self.weights[0])
        x = self._inverse(edges[possible])
        empty = int((~possible).sum())
        q, q_error = normal_masses(x, np.abs(x))
        p, p_error = np.zeros_like(q), np.zeros_like(q)
        for j, weight in enumerate(self.weights):
            mass, error = normal_masses(x - j * self.mu, np.abs(x) + j * self.mu)
            p, p_error = p + weight * mass, p_error + weight * error

        def pad(values: Floats) -> Floats:
            return np.concatenate([np.zeros(empty), values])

        return cells_of(edges, pad(p), pad(q), pad(p_error + 8e-16 * p), pad(q_error))

    def _loss(self, x: Floats) -> Floats:
        j = np.arange(len(self.weights))
        with np.errstate(divide="ignore"):
            logs = np.log(self.weights) - j * j * (self.mu**2 / 2)
        return np.asarray(special.logsumexp(x[:, None] * (j * self.mu) + logs, axis=1))

    def _inverse(self, loss: Floats) -> Floats:
        """x with L(x) = loss, by halving a bracket to the last place."""
        low, high = np.full(len(loss), -60.0), np.full(len(loss), 60.0 + len(self.weights) * self.mu)
        for _ in range(62):
            middle = (low + high) / 2
            below = self._loss(middle) < loss
            low, high = np.where(below, middle, low), np.where(below, high, middle)
        return np.asarray(low)

    def reach(self, tail: float) -> tuple[float, float]:
        z = sqrt(-2 * log(tail))
        low, high = self._loss(np.array([-z, z + (len(self.weights) - 1) * self.mu]))
        return float(low), float(high) if high < inf else 700.0

    @property
    def mixture(self) -> Mixture:
        places = range(len(self.weights))
        return Mixture(tuple(j * self.mu for j in places), self.weights, tuple(float(j == 0) for j in places))


@dataclass(frozen=True)
class Symmetric(Pair):
    """The pair whose curve is the base's for ε ≥ 0 and which looks the same in both directions.

    Where a bound holds for ε ≥ 0 and for both orders of the neighbours, but the two orders may be taken by different
    outcomes of one mechanism, neither (P, Q) nor (Q, P) dominates alone. This does: L > 0 is kept, mirrored to −L with
    the roles of P and Q exchanged, and what is left lies at L = 0.
    """

    base: Pair

    def cells(self, edges: Floats) -> Cells:
        fine = np.unique(np.concatenate([edges, -edges, [0.0]]))
        c = self.base.cells(fine)
        zero = int(np.searchsorted(fine, 0.0)) + 1  # cells from here on lie above 0
        up = [part[zero:] for part in (c.p, c.q, c.p_error, c.q_error, c.excess, c.excess_error, c.deficit)]
        p, q, p_error, q_error, excess, excess_error, deficit = up
        deficit_error = c.deficit_error[zero:]
        # the mirrored cell of (a, b] is [−b, −a): its ends are e^−b and e^−a
        low, high = np.exp(-np.append(fine[zero:], inf))[::-1], np.exp(-fine[zero - 1 :])[::-1]
        with np.errstate(invalid="ignore"):
            under = np.where(low > 0, low * deficit[::-1], q[::-1]), np.where(low > 0, low * deficit_error[::-1], 0.0)
        rest = max(0.0, 1 - float(p.sum() + q.sum()) - self.base.leaks[0])
        down = [q[::-1].copy(), p[::-1].copy(), q_error[::-1].copy(), p_error[::-1].copy()]
        down += [*under, high * excess[::-1], high * excess_error[::-1]]
        slack = float(p_error.sum() + q_error.sum()) + 16 * UNIT
        for part, mass in ((0, rest), (1, rest), (2, slack), (3, slack)):
            down[part][-1] += mass
        step = 1 - float(low[-1])
        down[4][-1] += rest * step
        down[5][-1] += slack * step
        both = [np.concatenate([d, u]) for d, u in zip(down, [*up, deficit_error], strict=True)]
        return _merged(Cells(*both), fine, edges)

    def reach(self, tail: float) -> tuple[float, float]:
        high = max(self.base.reach(tail)[1], 0.0)
        return -high, high

    @property
    def leaks(self) -> tuple[float, float]:
        return self.base.leaks[0], self.base.leaks[0]

    @property
    def anchor(self) -> float | None:
        return self.base.anchor

    @property
    def symmetric(self) -> bool:
        return True


def _merged(c: Cells, fine: Floats, edges: Floats) -> Cells:
    """Cells of `edges` from cells of the finer `fine`: masses add, and so do differences once their ends agree."""
    places = np.searchsorted(edges, np.append(fine, inf), side="left")  # the coarse cell of each fine one
    left, right = np.exp(np.append(-inf, fine)), np.exp(np.append(fine, inf))
    coarse_left, coarse_right = np.exp(np.append(-inf, edges))[places], np.exp(np.append(edges, inf))[places]
    with np.errstate(invalid="ignore"):
        more = np.where(coarse_right < inf, coarse_right - right, 0.0)
    last = coarse_right == inf

    def add(x: Floats) -> Floats:
        finite = np.where(np.isfinite(x), x, 0.0)
        return np.bincount(places, weights=finite, minlength=len(edges) + 1).astype(np.float64)

    shift = left - coarse_left
    return Cells(
        p=add(c.p),
        q=add(c.q),
        p_error=add(c.p_error),
        q_error=add(c.q_error),
        excess=add(c.excess + c.q * shift),
        excess_error=add(c.excess_error + c.q_error * shift),
        deficit=add(np.where(last, 0.0, c.deficit + c.q * more)),
        deficit_error=add(np.where(last, 0.0, c.deficit_error + c.q_error * more)),
    )
