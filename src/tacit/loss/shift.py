"""The loss of one number with discrete Gaussian noise, known exactly."""

from dataclasses import dataclass
from fractions import Fraction

from tacit.base import Number, exact, whole
from tacit.loss.approx import probability
from tacit.loss.gauss import lattice_gaussian_delta, solve_epsilon
from tacit.loss.interval import Interval
from tacit.loss.loss import Loss
from tacit.loss.zcdp import ZCDP

__all__ = ["GaussianShift"]


@dataclass(frozen=True, kw_only=True)
class GaussianShift(Loss):
    """Discrete Gaussian noise of parameter σ² = `variance` on one number that one unit moves by at most `shift` steps.

    Its (ε, δ) curve is exact: smaller shifts are covered because the discrete Gaussian is log-concave, so the best tests
    are thresholds for every shift and their power grows with it. Combined with anything else it is taken at its zCDP,
    shift²/2σ² (Canonne, Kamath and Steinke 2020, Theorem 4).
    """

    variance: Fraction
    shift: Fraction

    def delta(self, epsilon: Number) -> Interval:
        return lattice_gaussian_delta(self.variance, self.shift, float(exact(epsilon, "epsilon")))

    def epsilon(self, delta: Number) -> Interval:
        target = float(probability(delta))
        if self.shift == 0:
            return Interval(0.0, 0.0)
        if target == 0:
            return self.zcdp().epsilon(0)
        upper = solve_epsilon(lambda e: lattice_gaussian_delta(self.variance, self.shift, e).upper, target)
        lower = solve_epsilon(lambda e: lattice_gaussian_delta(self.variance, self.shift, e).lower, target)
        return Interval.around(upper, lower=min(lower, upper) * (1 - 1e-12))

    def grouped(self, size: int) -> "GaussianShift":
        k = whole(size, "size", least=1)
        return GaussianShift(variance=self.variance, shift=k * self.shift, relation=self.relation, unit=self.unit)

    def zcdp(self) -> ZCDP:
        return ZCDP(self.shift**2 / (2 * self.variance), relation=self.relation, unit=self.unit)

    def _plus(self, other: Loss) -> Loss:
        return self.zcdp() + (other.zcdp() if isinstance(other, GaussianShift) else other)
