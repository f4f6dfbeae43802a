"""Pure and approximate differential privacy."""

from dataclasses import dataclass
from fractions import Fraction
from math import exp, expm1, inf, log1p

from tacit.base import InputError, LossError, Number, Relation, exact, non_negative, show, whole
from tacit.loss.interval import Interval
from tacit.loss.loss import Loss

__all__ = ["Approx", "Pure", "probability"]


def probability(delta: Number) -> Fraction:
    """δ as an exact rational in [0, 1)."""
    value = exact(delta, "delta", toward="decimal")
    if not 0 <= value < 1:
        raise InputError(f"delta must lie in [0, 1), not {show(value)}")
    return value


@dataclass(frozen=True, init=False)
class Approx(Loss):
    """(ε, δ)-DP. `bound` is the ε and `slack` the δ that hold together.

    The worst such mechanism leaks with probability δ and otherwise answers by randomised response (Kairouz, Oh and
    Viswanath 2015), which gives the other points of the curve: δ(x) = δ + (1 − δ)(e^ε − e^x)/(1 + e^ε) for x < ε.
    """

    bound: Fraction
    slack: Fraction

    def __init__(
        self, epsilon: Number, delta: Number, *, relation: Relation = Relation.ADD_REMOVE, unit: str = "row"
    ) -> None:
        super().__init__(relation=relation, unit=unit)
        object.__setattr__(self, "bound", non_negative(epsilon, "epsilon", toward="decimal"))
        object.__setattr__(self, "slack", probability(delta))

    def delta(self, epsilon: Number) -> Interval:
        x, bound, slack = float(exact(epsilon, "epsilon")), float(self.bound), float(self.slack)
        if x >= bound:
            return Interval.around(slack)
        return Interval.around(slack + (1 - slack) * -expm1(x - bound) / (1 + exp(-bound)))

    def epsilon(self, delta: Number) -> Interval:
        target, bound = probability(delta), float(self.bound)
        if target < self.slack:
            return Interval(inf, inf)
        used = float((target - self.slack) / (1 - self.slack)) * (1 + exp(-bound))  # 1 − e^(x − ε)
        return Interval.around(max(0.0, bound + log1p(-used)) if used < 1 else 0.0)

    def grouped(self, size: int) -> "Approx":
        """(kε, δ·(e^kε − 1)/(e^ε − 1))."""
        k, bound = whole(size, "size", least=1), float(self.bound)
        if not self.slack:
            return self._like(k * self.bound, self.slack)
        factor = inf if k * bound > 700 else expm1(k * bound) / expm1(bound) if bound else float(k)
        return self._like(k * self.bound, self.slack if k == 1 else float(self.slack) * factor * (1 + 1e-12))

    def _plus(self, other: Loss) -> Loss:
        if isinstance(other, Approx):
            return self._like(self.bound + other.bound, self.slack + other.slack)
        return other + self  # the other kind knows how to weaken a pair

    def _like(self, bound: Fraction, slack: Fraction | float) -> "Approx":
        if slack >= 1:
            raise LossError("delta reaches 1: nothing is guaranteed any more")
        if slack == 0:
            return Pure(bound, relation=self.relation, unit=self.unit)
        return Approx(bound, slack, relation=self.relation, unit=self.unit)


class Pure(Approx):
    """ε-DP: no event is more than e^ε times as likely under one neighbour as under the other."""

    def __init__(self, epsilon: Number, *, relation: Relation = Relation.ADD_REMOVE, unit: str = "row") -> None:
        super().__init__(epsilon, 0, relation=relation, unit=unit)

    def __repr__(self) -> str:
        return f"Pure(epsilon={show(self.bound)}, relation={self.relation.value!r}, unit={self.unit!r})"
