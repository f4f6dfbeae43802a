"""Rényi differential privacy: a bound on the divergence at each of many orders, added order by order."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import exp, expm1, inf, isnan, log, sqrt
from typing import Any, Self

import numpy as np

from tacit.base import (
    InputError,
    LossError,
    Number,
    Relation,
    cached_property,
    exact,
    non_negative,
    round_up,
    show,
    whole,
)
from tacit.loss.concentrated import ZCDP, MeanConcentrated, ShiftedZCDP
from tacit.loss.loss import ACCURACY, Interval, Loss
from tacit.loss.part import Part, renyi_divergence, response_divergence
from tacit.loss.pld import PLD, probability

__all__ = ["ORDERS", "RDP"]

GROUP = 2**12  # units in a group


def _orders() -> tuple[Fraction, ...]:
    near = {1 + Fraction(round(10 ** (3 + i / 24)), 10**6) for i in range(73)}  # 1.001 … 2, in steps of 10 %
    middle = {Fraction(n, 4) for n in range(8, 100)} | {Fraction(n) for n in range(25, 257)}
    far = {Fraction(round(256 * 1.04**i)) for i in range(1, 212)}  # … 10⁶, in steps of 4 %
    return tuple(sorted(near | middle | far))


ORDERS = _orders()


@dataclass(frozen=True, init=False)
class RDP(Loss):
    """The Rényi divergence of order orders[i] is at most values[i], for all neighbours, either way (Mironov 2017).

    With `slack` > 0 this holds outside events of that probability, as in approximate zCDP (Bun and Steinke 2016, §8).
    An order without a finite bound is left out. Conversions to (ε, δ) minimise over the orders; each order gives a
    valid bound, so the upper end is rigorous. The lower end is 0: a curve does not say what the mechanism attains.
    """

    orders: tuple[Fraction, ...]
    values: tuple[Fraction, ...]
    slack: Fraction

    def __init__(
        self,
        orders: Iterable[Number],
        values: Iterable[Number],
        slack: Number = 0,
        *,
        relation: Relation = Relation.ADD_REMOVE,
        unit: str = "row",
    ) -> None:
        super().__init__(relation=relation, unit=unit)
        object.__setattr__(self, "orders", tuple(exact(order, "orders", toward="decimal") for order in orders))
        object.__setattr__(self, "values", tuple(non_negative(value, "values") for value in values))
        object.__setattr__(self, "slack", probability(slack))
        if not self.orders or len(self.orders) != len(self.values):
            raise InputError("orders and values must be as many, at least one: pass the bound for each order")
        if self.orders[0] <= 1 or any(a >= b for a, b in zip(self.orders, self.orders[1:], strict=False)):
            raise InputError("orders must increase and be greater than 1")

    @classmethod
    def from_function(
        cls,
        curve: Callable[[float], float],
        *,
        orders: Iterable[Number] = ORDERS,
        slack: Number = 0,
        relation: Relation = Relation.ADD_REMOVE,
        unit: str = "row",
    ) -> Self:
        """The curve α ↦ `curve(α)` at each of the orders, rounded up; orders where it is infinite are left out."""
        kept = []
        for order in (exact(order, "orders", toward="decimal") for order in orders):
            value = float(curve(float(order)))
            if isnan(value) or value < 0:
                raise InputError(f"curve must be a number of at least 0, not {value} as at the order {show(order)}")
            if value < inf:
                kept.append((order, round_up(value * (1 + 1e-12), bits=52) if value else Fraction(0)))
        if not kept:
            raise LossError("no order has a finite Rényi divergence: state this loss as (epsilon, delta) instead")
        return cls([o for o, _ in kept], [v for _, v in kept], slack, relation=relation, unit=unit)

    @classmethod
    def implied_by(cls, loss: Loss) -> "RDP":
        """The curve of zCDP in any form or of a list of mechanisms; a part with a δ brings its δ as slack."""
        if isinstance(loss, RDP):
            return loss
        if isinstance(loss, MeanConcentrated):
            loss = loss.shifted()
        if isinstance(loss, ZCDP):
            return cls(ORDERS, [loss.rho * order for order in ORDERS], loss.slack, **loss.neighbours)
        if isinstance(loss, ShiftedZCDP):
            values = [max(Fraction(0), loss.xi + loss.rho * order) for order in ORDERS]
            return cls(ORDERS, values, **loss.neighbours)
        if not isinstance(loss, PLD):
            raise LossError(f"{type(loss).__name__} has no Rényi divergence here: use its epsilon(delta)")
        curves = [(dict(zip(*_curve(part), strict=True)), count) for part, count in loss.parts]
        orders = [order for order in ORDERS if all(order in curve for curve, _ in curves)]
        if not orders:
            raise LossError("no order has a finite Rényi divergence: ask this loss for epsilon(delta) itself")
        values = [sum((count * curve[order] for curve, count in curves), Fraction(0)) for order in orders]
        return cls(orders, values, loss.slack, **loss.neighbours)

    def epsilon(self, delta: Number, *, accuracy: float = ACCURACY) -> Interval:
        """min over α of ε(α) + log((α − 1)/α) − (log δ + log α)/(α − 1).

        (Canonne, Kamath and Steinke 2020, Proposition 12.)
        """
        target = probability(delta)
        if target <= self.slack:
            return Interval(0.0, 0.0 if target == self.slack and not any(self.values) else inf)
        left = float((target - self.slack) / (1 - self.slack))
        alpha, value = self._arrays
        found = value + np.log1p(-1 / alpha) - (log(left) + np.log(alpha)) / (alpha - 1)
        best = 0.0 if self._total_variation < left else max(0.0, float(found.min()))
        return Interval.around(best * (1 + 1e-13), lower=0.0) if best else Interval(0.0, 0.0)

    def delta(self, epsilon: Number, *, accuracy: float = ACCURACY) -> Interval:
        """min over α of exp((α − 1)(ε(α) − ε))·(1 − 1/α)^(α − 1)/α, the same bound solved for δ."""
        at = float(non_negative(epsilon, "epsilon", toward="down"))
        alpha, value = self._arrays
        logs = (alpha - 1) * (value - at + np.log1p(-1 / alpha)) - np.log(alpha)
        best = min(1.0, exp(min(0.0, float(logs.min()))), self._total_variation)
        slack = float(self.slack)
        return Interval.around(min(1.0, (slack + (1 - slack) * best) * (1 + 1e-12)), lower=0.0)

    @cached_property
    def _arrays(self) -> tuple[Any, Any]:
        return np.array([float(order) for order in self.orders]), np.array([float(value) for value in self.values])

    @property
    def _total_variation(self) -> float:
        """√(1 − e^−KL) (Bretagnolle and Huber 1979), as D_α ≥ KL."""
        return sqrt(-expm1(-float(min(self.values)))) * (1 + 1e-12)

    def at(self, order: float) -> float:
        """The bound at any order: (α − 1)·D_α is convex in α and 0 at 1, so below its chords. ∞ past the last order."""
        alpha, value = self._arrays
        right = int(np.searchsorted(alpha, order))
        if right == len(alpha):
            return inf
        a, a_value = (alpha[right - 1], value[right - 1]) if right else (1.0, 0.0)
        b, b_value = alpha[right], value[right]
        chord = ((b - order) * (a - 1) * a_value + (order - a) * (b - 1) * b_value) / ((b - a) * (order - 1))
        return float(min(chord, b_value)) * (1 + 1e-14)  # D_α grows with α

    def grouped(self, size: int) -> "RDP":
        """Groups of k: G_k(α) = kα/(kα − 1)·G_(k−1)((kα − 1)/(k − 1)) + D_kα (Bun and Steinke 2016, §5).

        Never above the 3^c·ε(2^c·α) of Mironov (2017, Proposition 2), and without its condition α ≥ 2.
        """
        k = whole(size, "size", least=1)
        if k == 1:
            return self
        if self.slack:
            raise LossError("approximate RDP has no group form here: convert to (epsilon, delta) first, then group")
        if k > GROUP:
            raise InputError(f"size must be at most {GROUP} here, not {k}: convert to zCDP or (epsilon, delta) first")

        def grouped(order: float) -> float:
            total, factor = 0.0, 1.0
            for j in range(k, 0, -1):
                total += factor * self.at(j * order)
                if j > 1:
                    factor *= j * order / (j * order - 1)
                    order = (j * order - 1) / (j - 1)
            return total

        return RDP.from_function(grouped, orders=self.orders, **self.neighbours)

    def _plus(self, other: Loss) -> Loss:
        """Order by order (Mironov 2017, Proposition 1), at the orders that both have."""
        right = RDP.implied_by(other)
        slack = self.slack + right.slack
        if slack >= 1:
            raise LossError("delta reaches 1: nothing is guaranteed any more")
        second = dict(zip(right.orders, right.values, strict=True))
        both = [(o, v + second[o]) for o, v in zip(self.orders, self.values, strict=True) if o in second]
        if not both:
            raise LossError("the two Rényi curves share no order: state both at the same orders, such as renyi.ORDERS")
        return RDP([o for o, _ in both], [v for _, v in both], slack, **self.neighbours)

    def __repr__(self) -> str:
        slack = f", slack={show(self.slack)}" if self.slack else ""
        return f"RDP({len(self.orders)} orders from {show(self.orders[0])} to {show(self.orders[-1])}{slack})"


@lru_cache(maxsize=256)
def _curve(part: Part) -> tuple[tuple[Fraction, ...], tuple[Fraction, ...]]:
    def at(order: float) -> float:
        # (ε, δ)-DP is ε-DP outside events of probability δ (Kairouz, Oh and Viswanath 2015, as a mixture)
        if part.slack:
            return inf if part.bound is None else response_divergence(float(part.bound), order)
        return renyi_divergence(part, order)

    curve = RDP.from_function(at)
    return curve.orders, curve.values
