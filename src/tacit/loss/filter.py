"""Spending by an analyst who chooses each question, and how much to spend on it, after seeing the earlier answers.

A `Filter` has a limit set in advance and refuses what would pass it. Every rule here has one form: each mechanism costs
an amount of some currency and a δ of its own, and both totals stay below limits from which (ε, δ)-DP of the whole
interaction follows, however adaptive. docs/theory/adaptive-composition.md has the theorems and their proofs.

method      amount of a mechanism     the whole interaction is                    source
"sum"       ε                         (Σε, Σδ)-DP                                 Rogers, Roth, Ullman, Vadhan 2016
"advanced"  ε²                        (√(2V·log(1/δ')) + V/2, δ' + Σδ)-DP, V = Σε²  Whitehouse, Ramdas, Rogers, Wu 2023
"zcdp"      ρ                         Σδ-approximate Σρ-zCDP                      Feldman, Zrnic 2021; Whitehouse et al.
"rdp"       Rényi divergence of one   Rényi divergence of that order ≤ Σ, and Σδ  Feldman, Zrnic 2021
            fixed order
"gdp"       μ²                        √Σμ²-GDP, and Σδ                            Smith, Thakurta 2022

An `Odometer` has no limit: it says at any time what was spent so far.
"""

from collections.abc import Callable
from fractions import Fraction
from math import inf, log, log1p, pi, sqrt
from typing import Literal, NamedTuple

from tacit.base import ExhaustedError, InputError, LossError, Relation, same_neighbours
from tacit.base.number import Number, between, exact, positive, show
from tacit.loss.concentrated import ZCDP
from tacit.loss.cost import Cost, charge_of, cost_of
from tacit.loss.gauss import gaussian_delta
from tacit.loss.loss import Loss
from tacit.loss.mu import pure_mu_squared
from tacit.loss.part import ResponsePart, renyi_divergence
from tacit.loss.pld import PLD, probability
from tacit.loss.renyi import RDP

__all__ = ["Filter", "Odometer", "Reading", "Spent"]

Method = Literal["sum", "advanced", "zcdp", "rdp", "gdp"]
METHODS = ("sum", "advanced", "zcdp", "rdp", "gdp")
CURRENCY = {"sum": "epsilon", "advanced": "epsilon²", "zcdp": "rho", "rdp": "Rényi divergence", "gdp": "mu²"}
DOWN = 1 - 1e-9  # limits found in floating point are taken this much lower


class Spent(NamedTuple):
    """An amount of the filter's currency, and of δ beside it."""

    amount: Fraction
    delta: Fraction


class Filter:
    """A limit of (ε, δ)-DP for one adaptive interaction.

    `spend` before each mechanism runs; it raises `ExhaustedError`, and nothing changes, if the limit would be passed.
    `slack` is the part of δ kept for the δ's of the mechanisms themselves (with "sum" all of δ is); the rest pays for
    the conversion. `order` is the Rényi order of method "rdp", by default the one that admits the most Gaussian noise.
    """

    def __init__(
        self,
        *,
        epsilon: Number,
        delta: Number = 0,
        method: Method = "sum",
        slack: Number = 0,
        order: Number | None = None,
        relation: Relation = Relation.ADD_REMOVE,
        unit: str = "row",
    ) -> None:
        _known(method)
        self.epsilon, self.delta = positive(epsilon, "epsilon", toward="decimal"), probability(delta)
        self.method, self.relation, self.unit = method, Relation.from_json(relation), unit
        if order is not None and method != "rdp":
            raise InputError(f"order belongs to method='rdp', not to {method!r}")
        own = self.delta if method == "sum" else probability(slack)
        if method != "sum" and own >= self.delta:
            raise InputError(
                f"method {method!r} needs some delta for its conversion beside slack = {show(own)}, but delta is "
                f"{show(self.delta)}: raise delta, lower slack, or use method='sum'"
            )
        self.order: Fraction | None = None
        target = (float(self.epsilon) * (1 - 1e-15), float(self.delta - own) * (1 - 1e-15))
        if method == "rdp":
            chosen = _best_order(*target) if order is None else float(exact(order, "order"))
            self.order = Fraction(chosen)
        self.limit = Spent(self._limit(*target), own)
        self.spent = Spent(Fraction(0), Fraction(0))

    def _limit(self, epsilon: float, delta: float) -> Fraction:
        if self.method == "sum":
            return self.epsilon
        if self.method == "advanced":
            root = sqrt(2 * log(1 / delta))  # V/2 + root·√V = ε, solved for V
            return Fraction((2 * epsilon / (root + sqrt(root * root + 2 * epsilon))) ** 2 * DOWN)
        if self.method == "rdp":
            assert self.order is not None
            return Fraction(_rdp_limit(float(self.order), epsilon, delta))
        if self.method == "zcdp":
            return Fraction(_largest(lambda rho: ZCDP(Fraction(rho)).epsilon(Fraction(delta)).upper <= epsilon))
        return Fraction(_largest(lambda square: gaussian_delta(sqrt(square), epsilon) <= delta * (1 - 1e-11)))

    def price(self, loss: Loss | Cost) -> Spent:
        """What this loss would cost here."""
        same_neighbours((self.relation, self.unit), (loss.relation, loss.unit))
        if self.method == "rdp":
            assert self.order is not None
            return _renyi(loss, float(self.order))
        epsilon, rho, square, delta = charge_of(loss)
        if self.method == "gdp" and square is None and epsilon is not None:
            square = pure_mu_squared(epsilon)
        if self.method == "gdp" and square is not None:
            return Spent(square, delta)
        if self.method == "zcdp" and rho is not None:
            return Spent(rho, delta)
        if self.method == "sum" and epsilon is not None:
            return Spent(epsilon, delta)
        if self.method == "advanced" and epsilon is not None:
            if isinstance(loss, PLD):  # each of the mechanisms squared, not their sum
                squares = [count * part.bound**2 for part, count in loss.parts if part.bound is not None]
                return Spent(sum(squares, Fraction(0)), delta)
            return Spent(epsilon**2, delta)
        raise LossError(_no_price(self.method))

    def fits(self, loss: Loss | Cost) -> bool:
        """Whether `spend` would accept this loss now."""
        amount, delta = self.price(loss)
        return self.spent.amount + amount <= self.limit.amount and self.spent.delta + delta <= self.limit.delta

    def spend(self, loss: Loss | Cost) -> None:
        """Pay for a mechanism that is about to run, or raise and leave everything as it was."""
        amount, delta = self.price(loss)
        total = Spent(self.spent.amount + amount, self.spent.delta + delta)
        if total.amount > self.limit.amount:
            raise ExhaustedError(
                f"this needs {show(amount)} of {CURRENCY[self.method]} and only {show(self.left.amount)} of "
                f"{show(self.limit.amount)} is left: ask for less, or open a new budget"
            )
        if total.delta > self.limit.delta:
            hint = "raise delta" if self.method == "sum" else "build the filter with a larger slack"
            raise ExhaustedError(
                f"this needs {show(delta)} of delta and only {show(self.left.delta)} of {show(self.limit.delta)} is "
                f"left for the mechanisms' own: {hint}, or use mechanisms without one"
            )
        self.spent = total

    @property
    def left(self) -> Spent:
        """What is left of the limit."""
        return Spent(self.limit.amount - self.spent.amount, self.limit.delta - self.spent.delta)

    def __repr__(self) -> str:
        return (
            f"Filter(epsilon={show(self.epsilon)}, delta={show(self.delta)}, method={self.method!r}: "
            f"spent {show(self.spent.amount)} of {show(self.limit.amount)} {CURRENCY[self.method]})"
        )


class Reading(NamedTuple):
    """Except with probability `delta`, the privacy loss so far was never above the `epsilon` read at that time."""

    epsilon: float
    delta: Fraction


class Odometer:
    """What an adaptive interaction without a limit has spent so far, readable at every moment.

    `spent` is the plain sum. A smaller ε with a δ is not read off by converting that sum: the moment of reading is
    chosen by someone who saw the answers, and a bound for one fixed moment can be wrong at the moment they pick.
    `reading` is uniform in time. For every λ > 0, exp(λL − λ(1 + λ)ρ) is a supermartingale in the privacy loss L and
    the ρ spent so far, so by Ville's inequality L < (1 + λ)ρ + log(1/δ)/λ at all times at once, but for a chance δ. The
    δ is shared among such lines, tuned for ρ = `rho`·2^j in weights ∝ 1/(|j| + 1)², and the least one is read: tightest
    when about `rho` has been spent. (The method of Whitehouse, Ramdas, Rogers and Wu 2023, with a simpler stitching.)
    """

    def __init__(
        self,
        *,
        delta: Number | None = None,
        rho: Number = Fraction(1, 8),
        relation: Relation = Relation.ADD_REMOVE,
        unit: str = "row",
    ) -> None:
        self.delta = None if delta is None else between(delta, "delta", 0, 1)
        self.rho = positive(rho, "rho", toward="decimal")
        self.spent = Cost.zero(relation=Relation.from_json(relation), unit=unit)

    def spend(self, loss: Loss | Cost) -> None:
        """Note a mechanism that is about to run."""
        self.spent = self.spent + (loss if isinstance(loss, Cost) else cost_of(loss))

    @property
    def reading(self) -> Reading:
        """(ε, δ) so far: the sum of ε, or where `delta` was given in advance the reading by ρ if that is less.

        μ-GDP is μ²/2-zCDP, so a sum of μ² is read as the ρ that it implies.
        """
        found = inf if self.spent.epsilon is None else float(self.spent.epsilon) * (1 + 1e-15)
        by_rho = inf
        square = self.spent.mu_squared
        known = [rho for rho in (self.spent.rho, None if square is None else square / 2) if rho is not None]
        if self.delta is not None and known:
            by_rho = _time_uniform(float(min(known)), float(self.rho), float(self.delta))
        if self.delta is not None and by_rho < found:
            return Reading(by_rho, self.delta + self.spent.delta)
        if found == inf:
            raise LossError("no epsilon adds up here; a rho reads as one at a delta: build Odometer(delta=...)")
        return Reading(found, self.spent.delta)


def _time_uniform(spent: float, tuned: float, delta: float) -> float:
    if spent == 0:
        return 0.0
    lines = []
    for j in range(-60, 61):
        bar = log((pi * pi / 3 - 1) * (abs(j) + 1) ** 2 / delta)  # Σ over all j of 1/(|j| + 1)² is π²/3 − 1
        slope = sqrt(bar / (tuned * 2.0**j))
        lines.append((1 + slope) * spent + bar / slope)
    return min(lines) * (1 + 1e-12)


def _known(method: str) -> None:
    if method.lower() in {"pld", "fdp", "f-dp", "tradeoff", "prv", "optimal"}:
        raise LossError(
            f"there is no filter by {method!r}: composing whole loss curves, and stopping when the composed curve "
            "would pass the limit, need not be private when the curves are chosen from earlier answers (two curves "
            "that cross let an analyst pick the worse one afterwards). Use method='zcdp' for Gaussian noise, 'sum' "
            "or 'advanced' for pure mechanisms, and cost_at(loss, delta) for a finished program"
        )
    if method not in METHODS:
        raise InputError(f"method must be one of {', '.join(map(repr, METHODS))}, not {method!r}")


def _no_price(method: str) -> str:
    return {
        "sum": "this loss has no epsilon to add: use method='zcdp', or cost_at(loss, delta) for a finished program",
        "advanced": "this loss has no epsilon, which the advanced rule needs: use method='zcdp'",
        "zcdp": "this loss has no rho: use cost_at(loss, delta) for a finished program",
        "gdp": "this loss is not known to be Gaussian DP: use method='zcdp', or cost_at(loss, delta) for a finished "
        "program",
    }[method]


def _rdp_limit(order: float, epsilon: float, delta: float) -> float:
    """The divergence of this order that still gives (ε, δ)-DP (Canonne, Kamath and Steinke 2020, Proposition 12)."""
    if not 1 < order < inf:
        raise InputError(f"order must be a finite number greater than 1, not {order}")
    limit = epsilon - log1p(-1 / order) + (log(delta) + log(order)) / (order - 1)
    limit -= 1e-12 * (abs(limit) + abs(log(delta)) / (order - 1) + 1)
    if limit <= 0:
        raise InputError(
            f"at order {order:g} no divergence gives epsilon = {epsilon:g} with delta = {delta:g}: "
            "raise the order, epsilon or delta"
        )
    return limit


def _best_order(epsilon: float, delta: float) -> float:
    """The order at which the most ρ fits; a plain search, for every order is valid."""

    def fit(order: float) -> float:
        return (epsilon - log1p(-1 / order) + (log(delta) + log(order)) / (order - 1)) / order

    return max((1 + 2 ** (k / 16) for k in range(-64, 400)), key=fit)


def _largest(fits: Callable[[float], bool]) -> float:
    """About the largest x for which a decreasing condition holds; it does hold at what is returned."""
    low, high = 0.0, 1.0
    while fits(high):
        low, high = high, 2 * high
    while high - low > 1e-10 * high:
        middle = (low + high) / 2
        if middle < 1e-300:
            raise InputError("epsilon and delta are so small that nothing fits: raise one of them")
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low * DOWN


def _renyi(loss: Loss | Cost, order: float) -> Spent:
    """The Rényi divergence of that order, in the worse direction, rounded up; what is left of a δ is spent as δ."""
    value, slack = inf, Fraction(0)
    if isinstance(loss, RDP):
        value, slack = loss.at(order), loss.slack
    elif isinstance(loss, PLD):
        pairs = [(ResponsePart(p.bound) if p.slack and p.bound is not None else p, count) for p, count in loss.parts]
        value = sum(count * renyi_divergence(part, order) for part, count in pairs)
        slack = loss.slack
    else:
        _, rho, _, slack = charge_of(loss)
        value = inf if rho is None else float(rho) * order
    if not value < inf:
        raise LossError(
            f"this loss has no Rényi divergence of order {order:g} here: use method='zcdp' or 'sum', "
            "and cost_at(loss, delta) for a finished program"
        )
    return Spent(Fraction(value * (1 + 1e-12)), slack)
