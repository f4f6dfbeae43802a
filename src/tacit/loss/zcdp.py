"""Zero-concentrated differential privacy."""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from math import exp, inf, log, log1p, sqrt

from tacit.base import LossError, Number, Relation, non_negative, whole
from tacit.loss.gauss import gaussian_delta, gaussian_epsilon
from tacit.loss.interval import Interval
from tacit.loss.loss import ACCURACY, Loss
from tacit.loss.pld import PLD, probability

__all__ = ["ZCDP"]


@dataclass(frozen=True, init=False)
class ZCDP(Loss):
    """ρ-zCDP, or δ-approximate ρ-zCDP when `slack` > 0: Rényi divergence at most ρα for every order α > 1.

    Conversion to (ε, δ) minimises over α the bound of Canonne, Kamath and Steinke (2020), Proposition 12. Any α gives
    a valid bound, so the upper end is rigorous however well the search does. The lower end is the Gaussian mechanism
    that costs exactly ρ: no conversion can promise less than it needs.
    """

    rho: Fraction
    slack: Fraction

    def __init__(
        self, rho: Number, *, delta: Number = 0, relation: Relation = Relation.ADD_REMOVE, unit: str = "row"
    ) -> None:
        super().__init__(relation=relation, unit=unit)
        object.__setattr__(self, "rho", non_negative(rho, "rho", toward="decimal"))
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
        return Interval.around(slack + (1 - slack) * upper, lower=slack + (1 - slack) * min(low, upper))

    def grouped(self, size: int) -> "ZCDP":
        """k²ρ (Bun and Steinke 2016, Proposition 1.9)."""
        k = whole(size, "size", least=1)
        if self.slack and k > 1:
            raise LossError("approximate zCDP has no group form here: convert to (epsilon, delta) first, then group")
        return ZCDP(k * k * self.rho, delta=self.slack, relation=self.relation, unit=self.unit)

    @classmethod
    def implied_by(cls, loss: PLD) -> "ZCDP":
        """What a list of mechanisms costs in zCDP: (ε, δ)-DP implies δ-approximate ε²/2, Gaussians have their own ρ."""
        rho = Fraction(0)
        for part, count in loss.parts:
            if part.rho is None:
                raise LossError(f"{part.kind} has no zCDP bound here, so it cannot be added to one: use RDP or PLD")
            rho += part.rho * count
        return cls(rho, delta=loss.slack, **loss.neighbours)

    def _plus(self, other: Loss) -> Loss:
        if isinstance(other, PLD) and all(part.rho is not None for part, _ in other.parts):
            other = ZCDP.implied_by(other)
        if isinstance(other, PLD):  # a part without a ρ, such as a sampled Gaussian, still has a Rényi curve
            from tacit.loss.renyi import RDP

            return RDP.implied_by(other) + self
        if not isinstance(other, ZCDP):
            return other + self
        slack = self.slack + other.slack
        if slack >= 1:
            raise LossError("delta reaches 1: nothing is guaranteed any more")
        return ZCDP(self.rho + other.rho, delta=slack, **self.neighbours)


def _least(function: Callable[[float], float], centre: float) -> float:
    from scipy.optimize import minimize_scalar  # takes long to import

    found = minimize_scalar(function, bounds=(centre - 12, centre + 12), method="bounded", options={"xatol": 1e-10})
    return float(found.fun)
