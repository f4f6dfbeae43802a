"""Dominating pairs: two distributions P, Q whose hockey-stick curve bounds that of a mechanism on any two neighbours.

With L = log dP/dQ, δ(ε) = E_P[(1 − e^(ε−L))+]. A pair is known through the masses that P and Q give to cells of L, with
bounds on their rounding errors; everything else (discretisation, composition, conversion) is done on those.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from math import inf, log, sqrt
from typing import TYPE_CHECKING, Any

import numpy as np

from tacit.base import special

if TYPE_CHECKING:
    from tacit.loss.quadrature import Mixture

__all__ = [
    "Atoms",
    "Cells",
    "DiscreteLaplacePair",
    "GaussianPair",
    "Pair",
    "cells_of",
    "dot",
    "normal_masses",
]

Floats = np.ndarray[Any, np.dtype[np.float64]]

UNIT = 2.0**-53
FAINT = 1e-290  # a mass below it has too few digits left to be multiplied by e^−L


def dot(a: Floats, b: Floats) -> float:
    """Σ a·b by pairwise summation in one thread: a threaded library's product is slower here, and less exact."""
    return float((a * b).sum())


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
        """A loss that has a mass of its own and should be the end of a cell, if there is one."""
        return None

    @property
    def square(self) -> float | None:
        """μ², if these are two normal distributions of equal variance."""
        return None

    @property
    def mixture(self) -> "Mixture | None":
        """The two as mixtures of normal distributions of equal variance, if they are."""
        return None

    @property
    def swapped(self) -> "Pair":
        """(Q, P): the guarantee in the other direction."""
        from tacit.loss.transform import Swapped  # which is itself a Pair

        return Swapped(self)

    @property
    def symmetric(self) -> bool:
        """Whether (Q, P) has the same curve as (P, Q)."""
        return False


def cells_of(edges: Floats, p: Floats, q: Floats, p_error: Floats, q_error: Floats) -> Cells:
    """Cells from masses and their errors alone: the differences are taken as they come."""
    # beyond e^700 a q that matters has underflowed: the excess is then p, which is never too little
    powers = np.exp(np.minimum(edges, 700.0))
    left, right = np.append(0.0, powers), np.append(powers, 0.0)
    deficit, deficit_error = q * right - p, q_error * right + p_error
    deficit[-1], deficit_error[-1] = 0.0, 0.0
    return Cells(p, q, p_error, q_error, p - q * left, p_error + q_error * left, deficit, deficit_error)


def normal_masses(z: Floats, size: Floats) -> tuple[Floats, Floats]:
    """Masses of a standard normal between the points z (and beyond them), each from the tail where it is smaller.

    The normal distribution function is taken to be right to (20 + 3z²) units in the last place (measured: half of
    that), and z, a difference of numbers up to `size`, to that many units, which weigh 1 + |z| (the hazard).
    """
    below, above = np.concatenate([[0.0], special.ndtr(z), [1.0]]), np.concatenate([[1.0], special.ndtr(-z), [0.0]])
    relative = np.concatenate([[0.0], (20 + 3 * z * z + (1 + np.abs(z)) * 2 * size) * UNIT, [0.0]])
    left = np.concatenate([z < 0, [False]])  # cells whose right end is below the mean
    mass = np.where(left, below[1:] - below[:-1], above[:-1] - above[1:])
    low, high = below * relative, above * relative
    error = np.where(left, low[1:] + low[:-1], high[:-1] + high[1:])
    return mass, error + UNIT * mass


@dataclass(frozen=True)
class GaussianPair(Pair):
    """Normal distributions of equal variance whose means differ by `mu` standard deviations: L ~ N(±μ²/2, μ²)."""

    mu: float

    def cells(self, edges: Floats) -> Cells:
        size = np.abs(edges / self.mu) + self.mu / 2
        p, p_error = normal_masses(edges / self.mu - self.mu / 2, size)
        q, q_error = normal_masses(edges / self.mu + self.mu / 2, size)
        return cells_of(edges, p, q, p_error, q_error)

    def reach(self, tail: float) -> tuple[float, float]:
        z = sqrt(-2 * log(tail))  # Pr[N > z] ≤ exp(−z²/2)
        return -self.mu * (self.mu / 2 + z), self.mu * (self.mu / 2 + z)

    @property
    def symmetric(self) -> bool:
        return True

    @property
    def square(self) -> float:
        return self.mu * self.mu

    @property
    def mixture(self) -> "Mixture":
        from tacit.loss.quadrature import Mixture

        return Mixture((0.0, self.mu), (0.0, 1.0), (1.0, 0.0))


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
        error = np.full_like(p, (8 + 2 * k * rate) * UNIT)
        return cells_of(edges, p, q, error * np.append(p_below, 1.0), error * np.insert(q_above, 0, 1.0))

    def reach(self, tail: float) -> tuple[float, float]:
        return -self.shift / self.scale, self.shift / self.scale

    @property
    def anchor(self) -> float:
        return self.shift / self.scale

    @property
    def symmetric(self) -> bool:
        return True


@dataclass(frozen=True, eq=False)
class Atoms(Pair):
    """Finitely many values `losses` of L with P-masses `p`; where L is infinite lie `only_p` and `only_q`.

    `rare` has the Q-masses, where they are known by themselves: p·e^−L says nothing once p has left the doubles. Masses
    are right to 8 + 8·|log p| units, losses to `blur`, which is 8 units of theirs if nothing is said.
    """

    losses: Floats
    p: Floats
    only_p: float = 0.0
    only_q: float = 0.0
    rare: Floats | None = None
    blur: Floats | None = None

    @property
    def q(self) -> Floats:
        """Q-masses, p·e^−L; what P hardly ever produces may be nearly all of Q."""
        if self.rare is not None:
            return self.rare
        with np.errstate(divide="ignore"):
            return np.asarray(np.exp(np.log(self.p) - self.losses))

    @property
    def off(self) -> Floats:
        """What each loss may be off by."""
        return 8 * UNIT * np.abs(self.losses) if self.blur is None else self.blur

    @property
    def swapped(self) -> Pair:
        return Atoms(-self.losses, self.q, self.only_q, self.only_p, self.p, self.blur)

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
        if self.rare is not None:  # q·e^right − p
            deficit = np.where(self.p > FAINT, deficit, self.rare * np.exp(np.minimum(right, 700.0)))
        deficit[right == inf] = 0.0
        p, q = add(self.p), add(self.q)
        with np.errstate(divide="ignore", invalid="ignore"):
            tiny = UNIT * (8 + len(self.p) + np.where(self.p > 0, 8 * np.abs(np.log(self.p)), 0.0))
        errors = [add(tiny * x) for x in (self.p, self.q, excess, deficit)]
        excess, deficit = add(excess), add(deficit)
        return Cells(p, q, errors[0], errors[1], excess, errors[2], deficit, errors[3])

    def reach(self, tail: float) -> tuple[float, float]:
        return float(self.losses.min()), float(self.losses.max())

    @property
    def leaks(self) -> tuple[float, float]:
        return self.only_p, self.only_q
