"""One mechanism's privacy loss as data: what a program is a list of.

A part knows its dominating pair, from which everything can be computed, and what closed forms it has: ε, δ, ρ.
It is a frozen value that goes to JSON and back, so that a ledger can recompute what was spent when a proof improves.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass, fields
from fractions import Fraction
from math import cosh, exp, expm1, inf, log, log1p, sinh, sqrt
from typing import Any, ClassVar

import numpy as np

from tacit.base import InputError, LossError, exact
from tacit.loss.lattice import DiscreteGaussianPair, LatticePair
from tacit.loss.mu import lattice_mu_squared, pure_mu_squared, range_mu_squared
from tacit.loss.pair import DiscreteLaplacePair, GaussianPair, Pair

__all__ = [
    "DiscreteLaplacePart",
    "DiscreteNormal",
    "Normal",
    "Part",
    "RangePart",
    "ResponsePart",
    "Reversed",
    "part_from_json",
    "renyi_divergence",
    "response_divergence",
]

ZERO = Fraction(0)
SUMMED = 625  # variance from which a discrete Gaussian is no list of outcomes
LISTED = 2000  # steps of shift up to which a discrete Laplace is kept as a list of atoms


class Part(ABC):
    """The loss of one mechanism between two neighbours. Subclasses are frozen dataclasses of rationals and parts."""

    kind: ClassVar[str]
    known: ClassVar[dict[str, "type[Part]"]] = {}
    lopsided: ClassVar[bool] = False  # one that comes and one that goes are told apart by different pairs

    def __init_subclass__(cls) -> None:
        Part.known[cls.kind] = cls

    @abstractmethod
    def pair(self) -> Pair:
        """The dominating pair; P is the world with the unit."""

    @property
    def attained(self) -> bool:
        """Whether some mechanism and neighbours are exactly this pair, so that lower bounds on it mean something."""
        return True

    @property
    def replace_only(self) -> bool:
        """Whether it is said of a unit that is replaced, and of none that comes or goes."""
        return False

    @property
    def bound(self) -> Fraction | None:
        """The ε that holds with probability 1 − `slack`, if there is one."""
        return None

    @property
    def reached(self) -> Fraction | None:
        """The ε that some outcome has: `bound`, but for what a bound is rounded up by."""
        return self.bound

    @property
    def slack(self) -> Fraction:
        """The δ beside `bound`."""
        return ZERO

    @property
    def rho(self) -> Fraction | None:
        """The ρ of (slack-approximate) zCDP, if there is one. (ε, δ)-DP implies ε²/2 (Bun and Steinke 2016)."""
        return None if self.bound is None else self.bound**2 / 2

    @property
    def mu_squared(self) -> Fraction | None:
        """The μ² of (slack-approximate) Gaussian DP, if there is one; (ε, δ)-DP implies that of a pure ε."""
        return None if self.bound is None else pure_mu_squared(self.bound)

    def renyi(self, order: float) -> float:
        """A bound on the Rényi divergence of an order, in the worse direction; ∞ where no closed form is known.

        ρα is exact for a normal distribution, and holds on the lattice (Canonne, Kamath and Steinke 2020, Theorem 4).
        `renyi_divergence` also knows that of any ε-DP mechanism.
        """
        return inf if self.rho is None or self.slack else float(self.rho) * order

    def grouped(self, size: int) -> "Part":
        """For so many units that all come, all go, or are all replaced."""
        raise LossError(f"the loss of {self.kind} has no form for groups: convert it to (epsilon, delta) first")

    def reversed(self) -> "Part":
        """With the two neighbours exchanged: what one unit costs that goes where another comes."""
        return Reversed(self) if self.lopsided else self

    def replaced(self) -> "Part":
        """For one unit that is replaced, from what is known of one that comes or goes."""
        if not self.lopsided:
            return self.grouped(2)
        if self.bound is not None:
            return ResponsePart(self.bound, self.slack).grouped(2)
        raise LossError(
            f"the loss of {self.kind} has no form for a unit that is replaced: convert it to (epsilon, delta) first"
        )

    def json(self) -> dict[str, Any]:
        """Plain data with exact decimal or fractional strings."""
        return {"kind": self.kind} | {field.name: _plain(getattr(self, field.name)) for field in fields(self)}  # type: ignore[arg-type]  # every subclass is a dataclass


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return value.json() if isinstance(value, Part) else str(value)


def part_from_json(data: dict[str, Any]) -> Part:
    """The inverse of `Part.json`."""
    values = dict(data)
    kind = values.pop("kind", None)
    if kind not in Part.known:
        raise InputError(f"unknown kind of loss {kind!r}: this version knows {', '.join(sorted(Part.known))}")
    return Part.known[kind](**{name: _read(value) for name, value in values.items()})


def _read(value: Any) -> Any:
    if isinstance(value, dict):
        return part_from_json(value)
    return tuple(_read(item) for item in value) if isinstance(value, list) else exact(value, "a stored number")


@dataclass(frozen=True)
class ResponsePart(Part):
    """Randomised response with a leak: the worst (ε, δ)-DP mechanism there is (Kairouz, Oh and Viswanath 2015)."""

    kind: ClassVar[str] = "response"

    epsilon: Fraction
    delta: Fraction = ZERO

    def pair(self) -> Pair:
        leak, flipped = float(self.delta), exp(-float(self.epsilon))
        keep, flip = (1 - leak) / (1 + flipped), (1 - leak) * flipped / (1 + flipped)
        if not self.epsilon:
            return LatticePair.at(np.array([0]), Fraction(1), np.array([1 - leak]), only_p=leak, only_q=leak)
        p = np.array([flip, keep])
        return LatticePair.at(np.array([-1, 1]), self.epsilon, p, only_p=leak, only_q=leak, rare=p[::-1])

    @property
    def bound(self) -> Fraction:
        return self.epsilon

    @property
    def slack(self) -> Fraction:
        return self.delta

    def renyi(self, order: float) -> float:
        return inf if self.delta else response_divergence(float(self.epsilon), order)

    def grouped(self, size: int) -> "ResponsePart":
        """(kε, δ·(e^kε − 1)/(e^ε − 1))."""
        k, e = size, float(self.epsilon)
        if not self.delta or k == 1:
            return ResponsePart(k * self.epsilon, self.delta)
        factor = inf if k * e > 700 else expm1(k * e) / expm1(e) if e else float(k)
        slack = float(self.delta) * factor * (1 + 1e-12)
        if slack >= 1:
            raise LossError("delta reaches 1: nothing is guaranteed any more")
        return ResponsePart(k * self.epsilon, Fraction(slack))


@dataclass(frozen=True)
class RangePart(Part):
    """A choice by the exponential mechanism: ε-DP, and the losses of any two outcomes lie within ε of each other.

    That makes it cheaper than randomised response in ρ and μ² (Cesar and Rogers 2021; docs/theory/gaussian-dp.md).
    No single pair dominates all such choices closely, so its pair is that of any ε-DP mechanism.
    """

    kind: ClassVar[str] = "bounded_range"

    epsilon: Fraction

    def pair(self) -> Pair:
        return ResponsePart(self.epsilon).pair()

    @property
    def bound(self) -> Fraction:
        return self.epsilon

    @property
    def rho(self) -> Fraction:
        return self.epsilon**2 / 8

    @property
    def mu_squared(self) -> Fraction:
        return range_mu_squared(self.epsilon)

    def grouped(self, size: int) -> "RangePart":
        return RangePart(size * self.epsilon)


@dataclass(frozen=True)
class Normal(Part):
    """A normal distribution moved by μ standard deviations; `square` is μ², which adds up."""

    kind: ClassVar[str] = "normal"

    square: Fraction

    @property
    def mu(self) -> float:
        return sqrt(self.square) * (1 + 2e-16)

    def pair(self) -> Pair:
        return GaussianPair(self.mu)

    @property
    def rho(self) -> Fraction:
        return self.square / 2

    @property
    def mu_squared(self) -> Fraction:
        return self.square

    def grouped(self, size: int) -> "Normal":
        return Normal(size * size * self.square)


@dataclass(frozen=True)
class DiscreteLaplacePart(Part):
    """Discrete Laplace noise of `scale` steps on numbers that move by `shift` steps together (l1): worst when one does
    (docs/theory/laplace.md)."""

    kind: ClassVar[str] = "discrete_laplace"

    scale: Fraction
    shift: Fraction

    def pair(self) -> Pair:
        steps = int(self.shift)  # values on a lattice move by whole steps
        if steps > LISTED:
            return DiscreteLaplacePair(float(self.scale), float(steps))
        rate = 1 / float(self.scale)
        edge = 1 / (1 + exp(-rate))  # P[Z ≤ 0]
        z = np.arange(steps + 1)
        p = np.exp(-rate * z) * (-expm1(-rate) * edge)
        p[0], p[-1] = (edge, exp(-rate * steps) * edge) if steps else (1.0, 1.0)
        return LatticePair.at(steps - 2 * z, 1 / self.scale, p, rare=p[::-1])

    @property
    def bound(self) -> Fraction:
        return self.shift / self.scale

    @property
    def reached(self) -> Fraction:
        return int(self.shift) / self.scale

    def renyi(self, order: float) -> float:
        """Σ over the lattice in closed form; as the scale grows it becomes the Laplace curve of Mironov (2017)."""
        if self.shift.denominator != 1 or not self.shift:
            return inf if self.shift else 0.0
        r, k = 1 / float(self.scale), int(self.shift)
        u = (2 * order - 1) * r
        between = -expm1(-r) * exp(-u) * expm1(-u * (k - 1)) / expm1(-u)  # the steps strictly between the centres
        log_moment = (order - 1) * k * r + log((1 + exp(-u * k) + between) / (1 + exp(-r)))
        return max(0.0, log_moment + 4e-16 * (4 + order * k * r)) / (order - 1)

    def grouped(self, size: int) -> "DiscreteLaplacePart":
        return DiscreteLaplacePart(self.scale, size * self.shift)


@dataclass(frozen=True)
class DiscreteNormal(Part):
    """Discrete Gaussian noise of parameter σ² = `variance` steps² on one number that moves by `shift` steps, or on
    several that move by so many together in l1 (docs/theory/laplace.md)."""

    kind: ClassVar[str] = "discrete_normal"

    variance: Fraction
    shift: Fraction

    def pair(self) -> Pair:
        pair = DiscreteGaussianPair(self.variance, int(self.shift))  # values on a lattice move by whole steps
        return pair if self.variance > SUMMED else pair.atoms

    @property
    def rho(self) -> Fraction:
        return self.shift**2 / (2 * self.variance)

    @property
    def mu_squared(self) -> Fraction:
        return self.shift**2 * lattice_mu_squared(self.variance)

    def grouped(self, size: int) -> "DiscreteNormal":
        return DiscreteNormal(self.variance, size * self.shift)


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

    @property
    def mu_squared(self) -> Fraction | None:
        return self.base.mu_squared

    def renyi(self, order: float) -> float:
        return self.base.renyi(order)

    def grouped(self, size: int) -> Part:
        return self.base.grouped(size).reversed()

    def replaced(self) -> Part:
        return self.base.replaced().reversed()


def renyi_divergence(part: Part, order: float) -> float:
    """A bound on D_α of one mechanism, in the worse direction, that is exact wherever a closed form is known.

    It is said of the neighbours that the part is about: a sample of fixed size, say, of a unit that is replaced.
    """
    if not order > 1:
        raise InputError(f"order must be greater than 1, not {order}")
    if part.slack:
        return inf
    closed = part.renyi(order)
    return closed if part.bound is None else min(response_divergence(float(part.bound), order), closed)


def response_divergence(epsilon: float, order: float) -> float:
    """Randomised response, the largest D_α of any ε-DP mechanism: log(cosh((α − ½)ε)/cosh(ε/2))/(α − 1)."""
    if order * epsilon > 600:
        ratio = log1p(exp(-(2 * order - 1) * epsilon)) - log1p(exp(-epsilon))
        return min(epsilon, epsilon + ratio / (order - 1))
    rise = 2 * sinh(order * epsilon / 2) * sinh((order - 1) * epsilon / 2) / cosh(epsilon / 2)
    return min(epsilon, log1p(rise) / (order - 1))
