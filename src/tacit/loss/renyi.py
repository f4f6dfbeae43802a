"""Rényi differential privacy: a bound on the divergence at each of many orders, added order by order."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from math import cosh, exp, expm1, floor, inf, isnan, log, log1p, sinh, sqrt
from typing import Any, Self

import numpy as np
from scipy.special import gammaln, logsumexp

from tacit.base import InputError, LossError, Number, Relation, exact, non_negative, round_up, show, whole
from tacit.loss.derived import Reversed
from tacit.loss.interval import Interval
from tacit.loss.loss import ACCURACY, Loss
from tacit.loss.part import (
    DiscreteLaplacePart,
    DiscreteNormal,
    Normal,
    Part,
    Poisson,
    PoissonReplace,
    ResponsePart,
    WithoutReplacement,
)
from tacit.loss.pld import PLD, probability
from tacit.loss.zcdp import ZCDP

__all__ = ["ORDERS", "RDP", "renyi_divergence"]

SUMMED = 2**12  # orders up to which binomial sums are carried out
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
        """The curve of zCDP (ρα) or of a list of mechanisms; a part with a δ brings its δ as slack."""
        if isinstance(loss, RDP):
            return loss
        if isinstance(loss, ZCDP):
            rho = loss.rho
            return cls(ORDERS, [rho * order for order in ORDERS], loss.slack, **loss.neighbours)
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
            return inf if part.bound is None else _response(float(part.bound), order)
        return renyi_divergence(part, order)

    curve = RDP.from_function(at)
    return curve.orders, curve.values


def renyi_divergence(part: Part, order: float) -> float:
    """A bound on D_α of one mechanism, in the worse direction, that is exact wherever a closed form is known.

    It is said of the neighbours that the part is about: a sample of fixed size, say, of a unit that is replaced.
    """
    if not order > 1:
        raise InputError(f"order must be greater than 1, not {order}")
    if part.slack:
        return inf
    pure = inf if part.bound is None else _response(float(part.bound), order)
    if isinstance(part, ResponsePart):
        return pure
    if isinstance(part, Reversed):
        return renyi_divergence(part.base, order)
    if isinstance(part, Normal | DiscreteNormal):
        return float(part.rho) * order  # exact for Normal; Canonne, Kamath and Steinke 2020, Theorem 4 for the lattice
    if isinstance(part, DiscreteLaplacePart):
        return min(pure, _discrete_laplace(part, order))
    if isinstance(part, Poisson):
        return min(pure, _sampled(part, order))
    if isinstance(part, PoissonReplace):
        return _sampled_replace(part, order)
    return min(pure, part.renyi(order))


def _response(epsilon: float, order: float) -> float:
    """Randomised response, the largest D_α of any ε-DP mechanism: log(cosh((α − ½)ε)/cosh(ε/2))/(α − 1)."""
    if order * epsilon > 600:
        ratio = log1p(exp(-(2 * order - 1) * epsilon)) - log1p(exp(-epsilon))
        return min(epsilon, epsilon + ratio / (order - 1))
    rise = 2 * sinh(order * epsilon / 2) * sinh((order - 1) * epsilon / 2) / cosh(epsilon / 2)
    return min(epsilon, log1p(rise) / (order - 1))


def _discrete_laplace(part: DiscreteLaplacePart, order: float) -> float:
    """Σ over the lattice in closed form; as the scale grows it becomes the Laplace curve of Mironov (2017)."""
    if part.shift.denominator != 1 or not part.shift:
        return inf if part.shift else 0.0
    r, k = 1 / float(part.scale), int(part.shift)
    u = (2 * order - 1) * r
    between = -expm1(-r) * exp(-u) * expm1(-u * (k - 1)) / expm1(-u)  # the steps strictly between the centres
    log_moment = (order - 1) * k * r + log((1 + exp(-u * k) + between) / (1 + exp(-r)))
    return max(0.0, log_moment + 4e-16 * (4 + order * k * r)) / (order - 1)


def _sampled(part: Poisson, order: float) -> float:
    """A mechanism on a sample; never more than the mechanism itself, by joint quasi-convexity."""
    base: Part = part
    rate, fixed = Fraction(1), False
    while isinstance(base, Poisson):  # a sample of a sample
        rate, fixed = rate * base.rate, fixed or isinstance(base, WithoutReplacement)
        base = base.base
    without = renyi_divergence(base, order)
    if not isinstance(base, Normal | DiscreteNormal | ResponsePart | DiscreteLaplacePart):
        return without
    log_moment = _sampled_log_moment(base, rate, order)
    if fixed:
        # Without replacement the hockey stick is that of ((1−q)Q + qP, Q) at e^ε ≥ 1 and that of the swapped pair below
        # (Zhu, Dong and Wang 2022). A moment minus 1 is an integral of it over both, so it is at most the two together.
        log_moment = log_moment + log(2) if log_moment > 30 else log1p(2 * expm1(log_moment))
    return min(without, log_moment / (order - 1))


def _sampled_log_moment(base: Part, rate: Fraction, order: float) -> float:
    """log E_Q[(1 − q + q·P/Q)^α] at whole orders, and its chord in between (it is convex in α, and 0 at 1).

    This is D(mixture ‖ Q). It is also the worse direction when an exchange of P and Q preserves the pair (Mironov,
    Talwar and Zhang 2019, Theorem 5), as here. The expansion holds for any pair; with a Gaussian it is their exact sum.
    """
    return _between_whole(lambda n: _binomial(base, rate, n), order)


def _between_whole(log_moment: Callable[[int], float], order: float) -> float:
    """A log-moment at any order by the chord between whole ones; ∞ where those would be too long to sum."""
    low = floor(order)
    if low + 1 > SUMMED:
        return inf
    first = log_moment(low)
    return first if low == order else first + (order - low) * (log_moment(low + 1) - first)


def _log_choose(n: int, k: Any) -> Any:
    return gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1)


def _rounded(order: int) -> float:
    """A factor for what the log-gamma functions may be off."""
    return 1 + 1e-13 + 4e-15 * order * log(order)


@lru_cache(maxsize=2**16)
def _binomial(base: Part, rate: Fraction, order: int) -> float:
    """log Σ_l C(α, l)(1 − q)^(α−l) q^l e^((l−1)·D_l); as the weights add to 1, what is summed is the excess over 1."""
    if order < 2:
        return 0.0
    l, q = np.arange(2, order + 1), float(rate)  # noqa: E741  (the index of the papers)
    moments = _log_moments(base, 1 << order.bit_length())[: order - 1]
    if not moments[-1]:
        return 0.0
    weights = _log_choose(order, l) + (order - l) * log1p(-q) + l * log(q)
    excess = float(logsumexp(weights + moments + np.log(-np.expm1(-moments))))
    return float(np.logaddexp(0.0, excess)) * _rounded(order)


@lru_cache(maxsize=64)
def _log_moments(base: Part, most: int) -> Any:
    """(l − 1)·D_l for l = 2 … most."""
    return np.array([(index - 1) * renyi_divergence(base, index) for index in range(2, most + 1)])


def _sampled_replace(part: PoissonReplace, order: float) -> float:
    """P = (1−q)N(0) + qN(m) against Q = (1−q)N(0) + qN(−m), m = μ/2: the least of three bounds.

    By joint convexity; in two steps by way of N(0); and by E_Q[(P/Q)^α] = Σ_k C(α, k) q^k ∫ D^k/Q^(k−1) with
    D = N(m) − N(−m), where Q ≥ (1−q)N(0), ∫ D²/N(0) = 2(e^(m²) − e^(−m²)) and ∫ |D|^k/N(0)^(k−1) ≤ 2e^(k(k−1)m²/2).
    """
    moment = order * (order - 1) * float(part.square) / 2
    q, half = float(part.rate), Normal(part.square / 4)
    joint = moment + log(q + (1 - q) * exp(-moment)) if moment > 30 else log1p(q * expm1(moment))
    step = Poisson(half, part.rate)
    two = 2 * order / (2 * order - 1) * renyi_divergence(step, 2 * order - 1) + renyi_divergence(step, 2 * order)
    return min(joint / (order - 1), two, _between_whole(lambda n: _opposite(part, n), order) / (order - 1))


@lru_cache(maxsize=2**14)
def _opposite(part: PoissonReplace, order: int) -> float:
    if order < 2:
        return 0.0
    k, q, square = np.arange(2, order + 1), float(part.rate), float(part.square) / 4
    powers = log(2) + k * (k - 1) * (square / 2)
    powers[0] = log(2) + square + log(-expm1(-2 * square))
    logs = _log_choose(order, k) + k * log(q) - (k - 1) * log1p(-q) + powers
    return float(np.logaddexp(0.0, logsumexp(logs))) * _rounded(order)
