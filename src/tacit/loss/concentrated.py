"""The two other forms of concentrated differential privacy, and the ways between them and zCDP.

Mean-concentrated DP (Dwork and Rothblum 2016): the loss L has mean at most μ, and L minus its mean is sub-Gaussian of
parameter τ: E[e^(λ(L − E L))] ≤ e^(λ²τ²/2) for every real λ.
(ξ, ρ)-zCDP (Bun and Steinke 2016): D_α ≤ ξ + ρα for every α > 1.
"""

from dataclasses import dataclass
from fractions import Fraction
from math import exp, sqrt, tanh

from tacit.base import LossError, Number, Relation, exact, non_negative, round_up, show, whole
from tacit.loss.interval import Interval
from tacit.loss.loss import ACCURACY, Loss
from tacit.loss.pld import PLD
from tacit.loss.renyi import ORDERS, RDP
from tacit.loss.zcdp import ZCDP

__all__ = ["MeanConcentrated", "ShiftedZCDP"]


@dataclass(frozen=True, init=False)
class ShiftedZCDP(Loss):
    """(ξ, ρ)-zCDP: D_α ≤ ξ + ρα for every α > 1. ξ may be negative; (ε, 0) is the same as ε-DP."""

    xi: Fraction
    rho: Fraction

    def __init__(self, xi: Number, rho: Number, *, relation: Relation = Relation.ADD_REMOVE, unit: str = "row") -> None:
        super().__init__(relation=relation, unit=unit)
        object.__setattr__(self, "xi", exact(xi, "xi", toward="decimal"))
        object.__setattr__(self, "rho", non_negative(rho, "rho", toward="decimal"))
        if self.xi + self.rho < 0:
            raise LossError(f"xi = {show(self.xi)} is below -rho: no divergence is negative, so this cannot be meant")

    def epsilon(self, delta: Number, *, accuracy: float = ACCURACY) -> Interval:
        """ξ later than ρ-zCDP gets there: the conversion of D_α ≤ ξ + ρα is that of ρα, moved by ξ."""
        inner = ZCDP(self.rho, **self.neighbours).epsilon(delta)
        return Interval(0.0, max(0.0, inner.upper + float(self.xi)) * (1 + 1e-15))

    def delta(self, epsilon: Number, *, accuracy: float = ACCURACY) -> Interval:
        moved = non_negative(epsilon, "epsilon", toward="down") - self.xi
        inner = ZCDP(self.rho, **self.neighbours).delta(max(Fraction(0), moved))
        return Interval(0.0, inner.upper if moved >= 0 else 1.0)

    def grouped(self, size: int) -> "ShiftedZCDP":
        """(ξ·k·(1 + 1/2 + … + 1/k), k²ρ) (Bun and Steinke 2016, §5); a negative ξ is given up."""
        k = whole(size, "size", least=1)
        harmonic = sum((Fraction(1, i) for i in range(1, k + 1)), Fraction(0))
        xi = self.xi if k == 1 else max(Fraction(0), self.xi) * k * harmonic
        return ShiftedZCDP(xi, k * k * self.rho, **self.neighbours)

    def zcdp(self) -> ZCDP:
        """ρ-zCDP where ξ ≤ 0. As D_α ≤ ξ + ρα ≤ (ξ + ρ)α for α ≥ 1, a positive ξ is simply added."""
        return ZCDP(self.rho + max(Fraction(0), self.xi), **self.neighbours)

    def rdp(self) -> RDP:
        """The same at the usual orders."""
        values = [max(Fraction(0), self.xi + self.rho * order) for order in ORDERS]
        return RDP(ORDERS, values, **self.neighbours)

    def mean_concentrated(self) -> "MeanConcentrated":
        """(ξ + ρ, τ) with τ² = O(ξ + 2ρ): Bun and Steinke 2016, §4, with a constant worked out here.

        For ξ ≥ 0 let X = L − E L and c = ξ + max(ξ, ρ). The two directions give log E e^(±λX) ≤ cλ + ρλ² for λ ≥ 0.
        For |λ| ≥ s/2 that is at most λ²(2c/s + ρ). Below, e^(λx) ≤ 1 + λx + ½λ²x²e^|λx| and
        x²e^|λx| ≤ (8/s²)·(e^(sx) + e^(−sx)) give λ²·(8/s²)·e^(cs + ρs²). The best s is searched for.
        """
        from scipy.optimize import minimize_scalar  # takes long to import

        xi, rho = max(0.0, float(self.xi)), float(self.rho)
        c = xi + max(xi, rho)
        if c == 0:
            return MeanConcentrated(0, 0, **self.neighbours)

        def square(log_s: float) -> float:
            s = exp(log_s)
            return max(2 * (2 * c / s + rho), 16 / s**2 * exp(min(600.0, c * s + rho * s * s)))

        found = minimize_scalar(square, bounds=(-20.0, 20.0), method="bounded")
        tau_squared = round_up(square(float(found.x)) * (1 + 1e-12))
        return MeanConcentrated(max(Fraction(0), self.xi) + self.rho, tau_squared, **self.neighbours)

    def _plus(self, other: Loss) -> Loss:
        if isinstance(other, ZCDP) and not other.slack:
            other = ShiftedZCDP(0, other.rho, **other.neighbours)
        if isinstance(other, MeanConcentrated):
            other = other.shifted()
        if isinstance(other, ShiftedZCDP):
            return ShiftedZCDP(self.xi + other.xi, self.rho + other.rho, **self.neighbours)
        return self.rdp() + RDP.implied_by(other)


@dataclass(frozen=True, init=False)
class MeanConcentrated(Loss):
    """(μ, τ)-mCDP: `mean` is μ and `square` is τ². Both add up (Dwork and Rothblum 2016, Theorem 3.4)."""

    mean: Fraction
    square: Fraction

    def __init__(
        self, mean: Number, square: Number, *, relation: Relation = Relation.ADD_REMOVE, unit: str = "row"
    ) -> None:
        super().__init__(relation=relation, unit=unit)
        object.__setattr__(self, "mean", non_negative(mean, "mean", toward="decimal"))
        object.__setattr__(self, "square", non_negative(square, "square", toward="decimal"))

    @classmethod
    def implied_by(cls, loss: PLD) -> "MeanConcentrated":
        """ε-DP is (ε·tanh(ε/2), ε)-mCDP.

        The mean is a divergence, so it is largest for randomised response, where it is ε·tanh(ε/2) (never more than
        the ε(e^ε − 1)/2 of Dwork and Rothblum, Theorem 3.5). L lies in [−ε, ε], so Hoeffding's lemma gives τ = ε.
        """
        epsilon = loss.bound
        if loss.slack:
            raise LossError("mean-concentrated DP has no delta: it follows from pure guarantees only")
        if not epsilon:
            return cls(0, 0, **loss.neighbours)
        mean = round_up(float(epsilon) * tanh(float(epsilon) / 2) * (1 + 1e-14), bits=52)
        return cls(min(mean, epsilon, epsilon**2 / 2), epsilon**2, **loss.neighbours)

    def shifted(self) -> ShiftedZCDP:
        """(μ − τ²/2, τ²/2)-zCDP (Bun and Steinke 2016, §4): put λ = α − 1 in the definition."""
        xi = max(self.mean - self.square / 2, -self.square / 2)
        return ShiftedZCDP(xi, self.square / 2, **self.neighbours)

    @property
    def tau(self) -> float:
        return sqrt(self.square)

    def epsilon(self, delta: Number, *, accuracy: float = ACCURACY) -> Interval:
        return self.shifted().epsilon(delta)

    def delta(self, epsilon: Number, *, accuracy: float = ACCURACY) -> Interval:
        return self.shifted().delta(epsilon)

    def grouped(self, size: int) -> "MeanConcentrated":
        """By way of (ξ, ρ)-zCDP and back, which costs a constant factor in τ."""
        return self if whole(size, "size", least=1) == 1 else self.shifted().grouped(size).mean_concentrated()

    def _plus(self, other: Loss) -> Loss:
        if isinstance(other, MeanConcentrated):
            return MeanConcentrated(self.mean + other.mean, self.square + other.square, **self.neighbours)
        return self.shifted() + other
