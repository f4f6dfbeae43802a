"""Parts made of other parts: the neighbours exchanged, and a group of units under Poisson sampling."""

from dataclasses import dataclass
from fractions import Fraction
from math import comb, inf, log, sqrt
from typing import ClassVar

import numpy as np
from scipy.special import logsumexp

from tacit.loss.pair import Cells, Floats, Pair, cells_of, normal_masses
from tacit.loss.part import Part

__all__ = ["MixturePair", "Reversed", "SampledGroup"]


@dataclass(frozen=True)
class Reversed(Part):
    """Another part with its two neighbours exchanged."""

    kind: ClassVar[str] = "reversed"
    lopsided: ClassVar[bool] = True

    base: Part

    def pair(self) -> Pair:
        return self.base.pair().swapped

    def reversed(self) -> Part:
        return self.base

    @property
    def attained(self) -> bool:
        return self.base.attained

    @property
    def replace_only(self) -> bool:
        return self.base.replace_only

    @property
    def bound(self) -> Fraction | None:
        return self.base.bound

    @property
    def reached(self) -> Fraction | None:
        return self.base.reached

    @property
    def slack(self) -> Fraction:
        return self.base.slack

    @property
    def rho(self) -> Fraction | None:
        return self.base.rho

    def renyi(self, order: float) -> float:
        return self.base.renyi(order)

    def grouped(self, size: int) -> Part:
        return self.base.grouped(size).reversed()

    def replaced(self) -> Part:
        return self.base.replaced().reversed()


@dataclass(frozen=True)
class SampledGroup(Part):
    """Gaussian noise on a Poisson sample, for `size` units that all come or all go; `square` is μ² of one of them.

    J ~ Binomial(size, rate) of them take part, and their vectors add up to at most J times one: the sum is told from
    noise alone no better than N(Jμ, 1) from N(0, 1) (mixtures of Gaussians, Choquette-Choo et al. 2024; it follows from
    Kahane's inequality too, see docs/theory/amplification.md). Of groups of which some come and others go it says
    nothing: for one that goes where another comes there is `PoissonReplace`.
    """

    kind: ClassVar[str] = "sampled_group"
    lopsided: ClassVar[bool] = True

    square: Fraction
    rate: Fraction
    size: Fraction

    def pair(self) -> Pair:
        k = int(self.size)
        weights = tuple(float(comb(k, j) * self.rate**j * (1 - self.rate) ** (k - j)) for j in range(k + 1))
        return MixturePair(sqrt(self.square) * (1 + 2e-16), weights)

    def grouped(self, size: int) -> "SampledGroup":
        return SampledGroup(self.square, self.rate, size * self.size)


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
        return np.asarray(logsumexp(x[:, None] * (j * self.mu) + logs, axis=1))

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
