"""Dominating pairs: two distributions P, Q whose hockey-stick curve bounds that of a mechanism on any two neighbours.

With L = log dP/dQ, δ(ε) = E_P[(1 − e^(ε−L))+]. A pair is known through the masses that P and Q give to cells of L, with
bounds on their rounding errors; everything else (discretisation, composition, conversion) is done on those.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from math import expm1, inf, log, log1p, sqrt
from typing import Any

import numpy as np
from scipy.special import ndtr

__all__ = [
    "Atoms",
    "Cells",
    "DiscreteLaplacePair",
    "GaussianPair",
    "LaplacePair",
    "Pair",
    "ReplacedGaussian",
    "Sampled",
    "Swapped",
]

Floats = np.ndarray[Any, np.dtype[np.float64]]

UNIT = 2.0**-53


@dataclass(frozen=True)
class Cells:
    """Masses of P and Q in consecutive cells of L, the first reaching to −∞ and the last to +∞ (infinity excluded).

    `excess[i]` = p − q·e^left ≥ 0 and `deficit[i]` = q·e^right − p ≥ 0, which are differences of nearly equal numbers
    and so come with bounds on their own errors.
    """

    p: Floats
    q: Floats
    p_error: Floats
    q_error: Floats
    excess: Floats
    excess_error: Floats
    deficit: Floats
    deficit_error: Floats


class Pair(ABC):
    """A dominating pair (P, Q), in this order."""

    @abstractmethod
    def cells(self, edges: Floats) -> Cells:
        """Masses of (−∞, e0], (e0, e1], …, (em, ∞) for increasing edges of L."""

    @abstractmethod
    def reach(self, tail: float) -> tuple[float, float]:
        """Bounds that L leaves with probability at most `tail` on either side, under P and under Q."""

    @property
    def leaks(self) -> tuple[float, float]:
        """P[L = ∞] and Q[L = −∞]: outputs that only one of the two can produce."""
        return 0.0, 0.0

    @property
    def anchor(self) -> float | None:
        """A loss that has a mass of its own and should lie on the grid, if there is one."""
        return None

    @property
    def swapped(self) -> "Pair":
        """(Q, P): the guarantee in the other direction."""
        return Swapped(self)

    @property
    def symmetric(self) -> bool:
        """Whether (Q, P) has the same curve as (P, Q)."""
        return False


def _cells(edges: Floats, p: Floats, q: Floats, p_error: Floats, q_error: Floats) -> Cells:
    with np.errstate(over="ignore", invalid="ignore"):
        left, right = np.exp(np.append(-inf, edges)), np.exp(np.append(edges, inf))
        deficit, deficit_error = q * right - p, q_error * right + p_error
    deficit[-1], deficit_error[-1] = 0.0, 0.0
    return Cells(p, q, p_error, q_error, p - q * left, p_error + q_error * left, deficit, deficit_error)


def _normal_masses(z: Floats) -> tuple[Floats, Floats]:
    """Masses of a standard normal between the points z (and beyond them), each from the tail where it is smaller.

    The normal distribution function is taken to be right to (8 + 2z²) units in the last place.
    """
    below, above = np.concatenate([[0.0], ndtr(z), [1.0]]), np.concatenate([[1.0], ndtr(-z), [0.0]])
    relative = np.concatenate([[0.0], (8 + 2 * z * z) * UNIT, [0.0]])
    left = np.concatenate([z < 0, [False]])  # cells whose right end is below the mean
    mass = np.where(left, below[1:] - below[:-1], above[:-1] - above[1:])
    error = np.where(left, below[1:] * relative[1:], above[:-1] * relative[:-1])
    return mass, error + UNIT * mass


@dataclass(frozen=True)
class GaussianPair(Pair):
    """Normal distributions of equal variance whose means differ by `mu` standard deviations: L ~ N(±μ²/2, μ²)."""

    mu: float

    def cells(self, edges: Floats) -> Cells:
        p, p_error = _normal_masses(edges / self.mu - self.mu / 2)
        q, q_error = _normal_masses(edges / self.mu + self.mu / 2)
        return _cells(edges, p, q, p_error, q_error)

    def reach(self, tail: float) -> tuple[float, float]:
        z = sqrt(-2 * log(tail))  # Pr[N > z] ≤ exp(−z²/2)
        return self.mu * (self.mu / 2 - z), self.mu * (self.mu / 2 + z)

    @property
    def symmetric(self) -> bool:
        return True


@dataclass(frozen=True)
class LaplacePair(Pair):
    """Laplace distributions whose centres differ by `epsilon` scales: L is ±ε with atoms, and spread in between."""

    epsilon: float

    def cells(self, edges: Floats) -> Cells:
        e = self.epsilon
        inside, over = np.clip(edges, -e, e), edges >= e
        under = edges < -e
        p_below = np.where(over, 1.0, np.where(under, 0.0, np.exp((inside - e) / 2) / 2))
        q_above = np.where(over, 0.0, np.where(under, 1.0, np.exp(-(inside + e) / 2) / 2))
        p = np.diff(np.concatenate([[0.0], p_below, [1.0]]))
        q = -np.diff(np.concatenate([[1.0], q_above, [0.0]]))
        error = np.full_like(p, 4 * UNIT)
        return _cells(edges, p, q, error * np.append(p_below, 1.0), error * np.insert(q_above, 0, 1.0))

    def reach(self, tail: float) -> tuple[float, float]:
        return -self.epsilon, self.epsilon

    @property
    def anchor(self) -> float:
        return self.epsilon

    @property
    def symmetric(self) -> bool:
        return True


@dataclass(frozen=True)
class DiscreteLaplacePair(Pair):
    """Discrete Laplace distributions of `scale` steps, `shift` steps apart, when those are too many to list.

    L(z) = (shift − 2z)/scale between the centres, so cells of L are ranges of z with closed-form masses.
    """

    scale: float
    shift: float

    def cells(self, edges: Floats) -> Cells:
        rate, k = 1 / self.scale, self.shift
        at_most, over, under = np.ceil((k - edges * self.scale) / 2), edges >= k * rate, edges < -k * rate
        at_most = np.clip(at_most, 1, k)  # L ≤ edge exactly when z is at least this
        edge = 1 / (1 + np.exp(-rate))
        p_below = np.where(over, 1.0, np.where(under, 0.0, np.exp(-rate * at_most) * edge))
        q_above = np.where(over, 0.0, np.where(under, 1.0, np.exp(-rate * (k - at_most + 1)) * edge))
        p, q = np.diff(np.concatenate([[0.0], p_below, [1.0]])), -np.diff(np.concatenate([[1.0], q_above, [0.0]]))
        error = np.full_like(p, 8 * UNIT)
        return _cells(edges, p, q, error * np.append(p_below, 1.0), error * np.insert(q_above, 0, 1.0))

    def reach(self, tail: float) -> tuple[float, float]:
        return -self.shift / self.scale, self.shift / self.scale

    @property
    def anchor(self) -> float:
        return self.shift / self.scale

    @property
    def symmetric(self) -> bool:
        return True


@dataclass(frozen=True)
class ReplacedGaussian(Pair):
    """(1 − rate)·N(0, 1) + rate·N(±mu, 1): a sampled vector of length mu replaced by its opposite."""

    mu: float
    rate: float

    def cells(self, edges: Floats) -> Cells:
        x = self._inverse(edges)
        parts = [_normal_masses(x - centre) for centre in (0.0, self.mu, -self.mu)]
        (zero, zero_error), (plus, plus_error), (minus, minus_error) = parts
        r = self.rate
        p, q = (1 - r) * zero + r * plus, (1 - r) * zero + r * minus
        return _cells(edges, p, q, (1 - r) * zero_error + r * plus_error, (1 - r) * zero_error + r * minus_error)

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


@dataclass(frozen=True, eq=False)
class Atoms(Pair):
    """Finitely many values `losses` of L with P-masses `p`; where L is infinite lie `only_p` and `only_q`."""

    losses: Floats
    p: Floats
    only_p: float = 0.0
    only_q: float = 0.0

    @property
    def q(self) -> Floats:
        """Q-masses, p·e^−L."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.exp(np.log(self.p) - self.losses))

    def cells(self, edges: Floats) -> Cells:
        where = np.searchsorted(edges, self.losses, side="left")
        left = np.append(-inf, edges)[where]
        right = np.append(edges, inf)[where]
        size = len(edges) + 1

        def add(x: Floats) -> Floats:
            return np.bincount(where, weights=x, minlength=size).astype(np.float64)

        excess, deficit = (
            self.p * -np.expm1(left - self.losses),
            self.p * np.expm1(np.minimum(right - self.losses, 700)),
        )
        deficit[right == inf] = 0.0
        p, q = add(self.p), add(self.q)
        excess, deficit = add(excess), add(deficit)
        tiny = 8 * UNIT
        return Cells(p, q, tiny * p, tiny * q, excess, tiny * excess, deficit, tiny * deficit)

    def reach(self, tail: float) -> tuple[float, float]:
        return float(self.losses.min()), float(self.losses.max())

    @property
    def leaks(self) -> tuple[float, float]:
        return self.only_p, self.only_q


@dataclass(frozen=True)
class Swapped(Pair):
    """(Q, P) for a pair (P, Q): L changes sign, masses change places."""

    base: Pair

    def cells(self, edges: Floats) -> Cells:
        c = self.base.cells(-edges[::-1])
        p, q, p_error, q_error = c.q[::-1], c.p[::-1], c.q_error[::-1], c.p_error[::-1]
        left, right = np.exp(edges), np.exp(edges)  # of every cell but the first, and but the last
        excess, excess_error, deficit, deficit_error = p.copy(), p_error.copy(), np.zeros_like(p), np.zeros_like(p)
        # q − p·e^left = e^left·(q·e^(−left) − p), and −left is the right end of the base's cell
        excess[1:], excess_error[1:] = left * c.deficit[::-1][1:], left * c.deficit_error[::-1][1:]
        deficit[:-1], deficit_error[:-1] = right * c.excess[::-1][:-1], right * c.excess_error[::-1][:-1]
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

    def cells(self, edges: Floats) -> Cells:
        r = self.rate
        # e^edge = 1 − r + r·e^s; no mass lies below log(1 − r), where s is −∞
        lifted = np.expm1(edges) + r
        possible = lifted > 0
        inner = np.log(lifted[possible] / r)
        b = self.base.cells(inner)
        empty = int((~possible).sum())

        def pad(x: Floats) -> Floats:
            return np.concatenate([np.zeros(empty), x])

        p, p_error = (1 - r) * b.q + r * b.p, (1 - r) * b.q_error + r * b.p_error
        excess, excess_error = r * b.excess, r * b.excess_error
        # the first cell with mass starts below log(1 − r), by −lifted in e^L
        gap = float(-lifted[empty - 1]) if empty else 1 - r
        excess[0], excess_error[0] = excess[0] + gap * b.q[0], excess_error[0] + gap * b.q_error[0]
        parts = (p, b.q, p_error + 4 * UNIT * p, b.q_error, excess, excess_error, r * b.deficit, r * b.deficit_error)
        return Cells(*(pad(part) for part in parts))

    def reach(self, tail: float) -> tuple[float, float]:
        low, high = self.base.reach(tail)
        return log1p(self.rate * expm1(low)), self._outer(high)

    @property
    def anchor(self) -> float | None:
        return None if self.base.anchor is None else self._outer(self.base.anchor)

    def _outer(self, loss: float) -> float:
        if loss > 700:
            return loss + log(self.rate)
        return log1p(self.rate * expm1(loss))

    @property
    def leaks(self) -> tuple[float, float]:
        return self.rate * self.base.leaks[0], self.base.leaks[1] if self.rate == 1 else 0.0
