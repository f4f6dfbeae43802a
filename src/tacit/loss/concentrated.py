"""Concentrated differential privacy in its three forms, and the ways between them.

ρ-zCDP (Bun and Steinke 2016): D_α ≤ ρα for every α > 1.
Mean-concentrated DP (Dwork and Rothblum 2016): the loss L has mean at most μ, and L minus its mean is sub-Gaussian of
parameter τ: E[e^(λ(L − E L))] ≤ e^(λ²τ²/2) for every real λ.
(ξ, ρ)-zCDP (Bun and Steinke 2016): D_α ≤ ξ + ρα for every α > 1.
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from math import exp, inf, log, log1p, sqrt, tanh

from tacit.base import LossError, Number, Relation, exact, non_negative, round_up, show, whole
from tacit.loss.gauss import gaussian_delta, gaussian_epsilon
from tacit.loss.loss import ACCURACY, Interval, Loss
from tacit.loss.pld import GDP, PLD, probability, total_if_known

__all__ = ["ZCDP", "MeanConcentrated", "ShiftedZCDP"]


@dataclass(frozen=True, init=False)
class ZCDP(Loss):
    """ρ-zCDP, or δ-approximate ρ-zCDP when `slack` > 0: Rényi divergence at most ρα for every order α > 1.

    With `mu_squared` it is also (δ-approximate) μ-GDP, from which (ε, δ) follows more sharply.
    Conversion to (ε, δ) minimises over α the bound of Canonne, Kamath and Steinke (2020), Proposition 12. Any α gives
    a valid bound, so the upper end is rigorous however well the search does. The lower end is the Gaussian mechanism
    that costs exactly ρ: no conversion can promise less than it needs.
    """

    rho: Fraction
    slack: Fraction
    mu_squared: Fraction | None

    def __init__(
        self,
        rho: Number,
        *,
        delta: Number = 0,
        mu_squared: Number | None = None,
        relation: Relation = Relation.ADD_REMOVE,
        unit: str = "row",
    ) -> None:
        super().__init__(relation=relation, unit=unit)
        object.__setattr__(self, "rho", non_negative(rho, "rho", toward="decimal"))
        known = None if mu_squared is None else non_negative(mu_squared, "mu_squared", toward="decimal")
        object.__setattr__(self, "mu_squared", known)
        object.__setattr__(self, "slack", probability(delta))

    def epsilon(self, delta: Number, *, accuracy: float = ACCURACY) -> Interval:
        target, rho = probability(delta), float(self.rho)
        if target < self.slack or (target == self.slack and rho > 0):
            return Interval(inf, inf)
        if rho == 0:
            return Interval(0.0, 0.0)
        left = float((target - self.slack) / (1 - self.slack))

        def at(u: float) -> float:  # α = 1 + e^u
            alpha = 1 + exp(u)
            return alpha * rho - log1p(exp(u)) + u - (log(left) + log(alpha)) / exp(u)

        upper = max(0.0, _least(at, log(sqrt(log(1 / left) / rho) + 1e-9)))
        if self.mu_squared is not None:
            upper = min(upper, gaussian_epsilon(sqrt(self.mu_squared) * (1 + 1e-15), left) * (1 + 1e-12))
        return Interval.around(upper, lower=min(upper, gaussian_epsilon(sqrt(2 * rho), left) * (1 - 1e-9)))

    def delta(self, epsilon: Number, *, accuracy: float = ACCURACY) -> Interval:
        eps, rho, slack = float(non_negative(epsilon, "epsilon", toward="down")), float(self.rho), float(self.slack)
        if rho == 0:
            return Interval.around(slack)

        def at(u: float) -> float:  # log δ
            excess, log_alpha = exp(u), log1p(exp(u))
            return excess * ((1 + excess) * rho - eps) + excess * (u - log_alpha) - log_alpha

        low = gaussian_delta(sqrt(2 * rho), eps)
        upper = min(1.0, exp(min(0.0, _least(at, log(max(eps / rho, 1e-3)))))) * (1 + 1e-12)
        if self.mu_squared is not None:
            upper = min(upper, GDP(sqrt(self.mu_squared) * (1 + 1e-15)).delta(epsilon).upper)
        return Interval.around(slack + (1 - slack) * upper, lower=slack + (1 - slack) * min(low, upper))

    def grouped(self, size: int) -> "ZCDP":
        """k²ρ (Bun and Steinke 2016, Proposition 1.9)."""
        k = whole(size, "size", least=1)
        if self.slack and k > 1:
            raise LossError("approximate zCDP has no group form here: convert to (epsilon, delta) first, then group")
        square = None if self.mu_squared is None else k * k * self.mu_squared
        return ZCDP(k * k * self.rho, delta=self.slack, mu_squared=square, **self.neighbours)

    @classmethod
    def implied_by(cls, loss: PLD) -> "ZCDP":
        """What a list of mechanisms costs in zCDP: (ε, δ)-DP implies δ-approximate ε²/2, Gaussians have their own ρ."""
        rho = Fraction(0)
        for part, count in loss.parts:
            if part.rho is None:
                raise LossError(f"{part.kind} has no zCDP bound here, so it cannot be added to one: use RDP or PLD")
            rho += part.rho * count
        squares = [None if part.mu_squared is None else count * part.mu_squared for part, count in loss.parts]
        return cls(rho, delta=loss.slack, mu_squared=total_if_known(squares), **loss.neighbours)

    def _plus(self, other: Loss) -> Loss:
        if isinstance(other, PLD) and all(part.rho is not None for part, _ in other.parts):
            other = ZCDP.implied_by(other)
        if isinstance(other, PLD):  # a part without a ρ, such as a sampled Gaussian, still has a Rényi curve
            return _curve(other) + self
        if not isinstance(other, ZCDP):
            return other + self
        slack = self.slack + other.slack
        if slack >= 1:
            raise LossError("delta reaches 1: nothing is guaranteed any more")
        square = total_if_known([self.mu_squared, other.mu_squared])
        return ZCDP(self.rho + other.rho, delta=slack, mu_squared=square, **self.neighbours)


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
        return _curve(other) + self


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
        return ShiftedZCDP(self.mean - self.square / 2, self.square / 2, **self.neighbours)

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


def _curve(loss: Loss) -> Loss:
    """The Rényi curve of a loss that has no ρ."""
    from tacit.loss.renyi import RDP  # which is implied by these forms too

    return RDP.implied_by(loss)


def _least(function: Callable[[float], float], centre: float) -> float:
    from scipy.optimize import minimize_scalar  # takes long to import

    found = minimize_scalar(function, bounds=(centre - 12, centre + 12), method="bounded", options={"xatol": 1e-10})
    return float(found.fun)
