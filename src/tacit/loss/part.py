"""One mechanism's privacy loss as data: what a program is a list of.

A part knows its dominating pair, from which everything can be computed, and what closed forms it has: ε, δ, ρ.
It is a frozen value that goes to JSON and back, so that a ledger can recompute what was spent when a proof improves.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass, fields
from fractions import Fraction
from math import exp, expm1, inf, log, log1p, sqrt
from typing import Any, ClassVar

import numpy as np

from tacit.base import InputError, LossError
from tacit.loss.grid import LatticePair
from tacit.loss.pair import Atoms, DiscreteLaplacePair, GaussianPair, Pair, ReplacedGaussian
from tacit.loss.transform import Sampled, Symmetric

__all__ = [
    "DiscreteLaplacePart",
    "DiscreteNormal",
    "Normal",
    "Part",
    "Poisson",
    "PoissonReplace",
    "ResponsePart",
    "WithoutReplacement",
    "part_from_json",
]

ZERO = Fraction(0)
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

    def renyi(self, order: float) -> float:
        """Rényi divergence of the given order, in the worse direction; ∞ where no closed form is known."""
        return inf if self.rho is None or self.slack else float(self.rho) * order

    def grouped(self, size: int) -> "Part":
        """For so many units that all come, all go, or are all replaced."""
        raise LossError(f"the loss of {self.kind} has no form for groups: convert it to (epsilon, delta) first")

    def reversed(self) -> "Part":
        """With the two neighbours exchanged: what one unit costs that goes where another comes."""
        from tacit.loss.derived import Reversed  # which is itself a Part

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
    return tuple(_read(item) for item in value) if isinstance(value, list) else Fraction(value)


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
        return LatticePair.at(np.array([-1, 1]), self.epsilon, np.array([flip, keep]), only_p=leak, only_q=leak)

    @property
    def bound(self) -> Fraction:
        return self.epsilon

    @property
    def slack(self) -> Fraction:
        return self.delta

    def renyi(self, order: float) -> float:
        e, a = float(self.epsilon), order
        if self.delta:
            return inf
        # log(p^a q^(1−a) + q^a p^(1−a)) with p/q = e^ε
        return max(0.0, (a * e - log1p(exp(e)) + log1p(exp((1 - 2 * a) * e))) / (a - 1)) if a < inf else e

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
        p[0], p[-1] = edge, exp(-rate * steps) * edge
        return LatticePair.at(steps - 2 * z, 1 / self.scale, p)

    @property
    def bound(self) -> Fraction:
        return self.shift / self.scale

    @property
    def reached(self) -> Fraction:
        return int(self.shift) / self.scale

    def renyi(self, order: float) -> float:
        return ResponsePart(self.bound).renyi(order)

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
        k, double = int(self.shift), 2 * float(self.variance)  # values on a lattice move by whole steps
        reach = int(39 * sqrt(self.variance)) + 2
        z = np.arange(-reach, reach + 1)
        w = np.exp(-z * z / double)
        beyond = 1e-300  # more than lies outside 39 σ
        return LatticePair.at(-z, k / self.variance, w / w.sum(), offset=k * k / double, only_p=beyond, only_q=beyond)

    @property
    def rho(self) -> Fraction:
        return self.shift**2 / (2 * self.variance)

    def grouped(self, size: int) -> "DiscreteNormal":
        return DiscreteNormal(self.variance, size * self.shift)


@dataclass(frozen=True)
class Poisson(Part):
    """Each unit takes part with probability `rate`, independently; stated for add/remove (Zhu, Dong and Wang 2022)."""

    kind: ClassVar[str] = "poisson"
    lopsided: ClassVar[bool] = True

    base: Part
    rate: Fraction

    def pair(self) -> Pair:
        base, rate = self.base.pair(), float(self.rate)
        if not isinstance(base, Atoms):
            return Sampled(base, rate, float(1 - self.rate))
        mixed = (1 - rate) * base.q + rate * base.p  # finitely many outcomes stay so, at other losses
        with np.errstate(over="ignore"):
            losses = np.where(base.losses > 1, base.losses + np.log(rate + (1 - rate) * np.exp(-base.losses)), 0.0)
            losses = np.where(base.losses > 1, losses, np.log1p(rate * np.expm1(np.minimum(base.losses, 1))))
        ends = {"only_p": rate * base.only_p, "only_q": 0.0}
        if base.only_q:  # outputs that only the world without the unit has: there L is log(1 − rate)
            losses, mixed = np.append(losses, log1p(-rate)), np.append(mixed, (1 - rate) * base.only_q)
        if len(losses) == 2:  # two outcomes are a lattice of their own
            order = np.argsort(losses)
            low, high = losses[order]
            return LatticePair.at(np.array([0, 1]), Fraction(high - low), mixed[order], offset=float(low), **ends)
        return Atoms(losses, mixed, **ends)

    @property
    def bound(self) -> Fraction | None:
        """log(1 + rate·(e^ε − 1)), rounded up."""
        base = self.base.bound
        return None if base is None else min(base, Fraction(self._amplified(float(base)) * (1 + 1e-14)))

    @property
    def reached(self) -> Fraction | None:
        base = self.base.reached
        return None if base is None else min(base, Fraction(self._amplified(float(base)) * (1 - 1e-14)))

    def _amplified(self, e: float) -> float:
        rate = float(self.rate)
        return e + log(rate + (1 - rate) * exp(-e)) if e > 1 else log1p(rate * expm1(e))

    @property
    def slack(self) -> Fraction:
        return self.rate * self.base.slack

    @property
    def attained(self) -> bool:
        return self.base.attained

    @property
    def replace_only(self) -> bool:
        return self.base.replace_only

    def grouped(self, size: int) -> Part:
        if size == 1:
            return self
        if isinstance(self.base, Normal):
            from tacit.loss.derived import SampledGroup  # which is itself a Part

            return SampledGroup(self.base.square, self.rate, Fraction(size))
        if self.bound is not None:
            return ResponsePart(self.bound, self.slack).grouped(size)
        return super().grouped(size)

    def replaced(self) -> Part:
        """One that comes or goes moves the value by μ at most: the old vector and the new are both that long."""
        if isinstance(self.base, Normal):
            return PoissonReplace(4 * self.base.square, self.rate)
        return super().replaced()


@dataclass(frozen=True)
class WithoutReplacement(Poisson):
    """A fixed share `rate` of the units is drawn; stated for replace.

    H(ε) of the sample is at most that of ((1 − rate)·Q + rate·P, Q) for ε ≥ 0, in both orders of the neighbours
    (Balle, Barthe and Gaboardi 2018; Zhu, Dong and Wang 2022). Different outcomes may take the two orders, so only the
    pair made symmetric dominates under composition.
    """

    kind: ClassVar[str] = "without_replacement"
    lopsided: ClassVar[bool] = False

    @property
    def attained(self) -> bool:
        return False

    @property
    def replace_only(self) -> bool:
        return True

    def grouped(self, size: int) -> Part:
        if size == 1 or self.bound is None:
            return self if size == 1 else Part.grouped(self, size)
        return ResponsePart(self.bound, self.slack).grouped(size)

    def pair(self) -> Pair:
        pair = super().pair()
        if not isinstance(pair, Atoms):
            return Symmetric(pair)
        above = pair.losses > 0
        up, p, q = pair.losses[above], pair.p[above], pair.q[above]
        rest = max(0.0, 1 - float(p.sum() + q.sum()) - pair.only_p)
        masses = np.concatenate([q, [rest], p])
        if len(up) == 1:
            unit = Fraction(float(up[0]))
            return LatticePair.at(np.array([-1, 0, 1]), unit, masses, only_p=pair.only_p, only_q=pair.only_p)
        return Atoms(np.concatenate([-up, [0.0], up]), masses, pair.only_p, pair.only_p)


@dataclass(frozen=True)
class PoissonReplace(Part):
    """Poisson-sampled Gaussian under replace: the unit's vector, at most μ/2 standard deviations long, becomes its
    opposite. (1 − rate)·N(0) + rate·N(±μ/2); `square` is μ². No other two vectors of that length are told apart better
    (docs/theory/amplification.md, from Kahane's inequality)."""

    kind: ClassVar[str] = "poisson_replace"

    square: Fraction
    rate: Fraction

    @property
    def replace_only(self) -> bool:
        return True

    def pair(self) -> Pair:
        return ReplacedGaussian(sqrt(self.square) / 2 * (1 + 2e-16), float(self.rate))
