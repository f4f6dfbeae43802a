"""Parts on a sample of the units: Poisson sampling, a sample of fixed size, units replaced, groups; and their Rényi
divergences."""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import comb, exp, expm1, floor, inf, log, log1p, sqrt
from typing import Any, ClassVar

import numpy as np

from tacit.base import special
from tacit.loss.lattice import LatticePair
from tacit.loss.pair import UNIT, Atoms, Pair
from tacit.loss.part import DiscreteLaplacePart, DiscreteNormal, Normal, Part, ResponsePart, renyi_divergence
from tacit.loss.transform import MixturePair, ReplacedGaussian, Sampled, Symmetric

__all__ = ["Poisson", "PoissonReplace", "SampledGroup", "WithoutReplacement", "log_choose"]

SUMMED = 2**12  # orders up to which binomial sums are carried out


@dataclass(frozen=True)
class Poisson(Part):
    """Each unit takes part with probability `rate`, independently; stated for add/remove (Zhu, Dong and Wang 2022)."""

    kind: ClassVar[str] = "poisson"
    lopsided: ClassVar[bool] = True

    base: Part
    rate: Fraction

    def pair(self) -> Pair:
        base, rate, keep = self.base.pair(), float(self.rate), float(1 - self.rate)
        if not isinstance(base, Atoms):
            return Sampled(base, rate, keep)
        mixed = keep * base.q + rate * base.p  # finitely many outcomes stay so, at other losses
        with np.errstate(over="ignore", divide="ignore"):
            # e^L = 1 + rate·(e^l − 1), from the form in which nothing cancels
            more = rate * np.expm1(np.minimum(base.losses, 700.0))
            share = rate / (rate + keep * np.exp(-base.losses))  # dL/dl
            losses = np.where(more > -0.5, np.log1p(more), np.log(keep + rate * np.exp(np.minimum(base.losses, 0.0))))
            losses = np.where(base.losses > 700, base.losses + log(rate), losses)
        blur = 8 * UNIT * (np.abs(losses) + (more <= -0.5)) + share * (base.off + 2 * UNIT * np.abs(base.losses))
        breach = rate * base.only_p
        if base.only_q:  # outputs that only the world without the unit has: there L is log(1 − rate)
            losses, mixed = np.append(losses, log(keep)), np.append(mixed, keep * base.only_q)
            blur = np.append(blur, 2 * UNIT * (1 + abs(log(keep))))
        if len(losses) == 2:  # two outcomes are a lattice of their own
            order = np.argsort(losses)
            low, high = losses[order]
            step, off = Fraction(high - low), float(blur.max())
            return LatticePair.at(np.array([0, 1]), step, mixed[order], offset=float(low), only_p=breach, blur=off)
        return Atoms(losses, mixed, breach, blur=blur)

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
        return log1p(rate * expm1(e)) if e < 700 else e + log(rate + (1 - rate) * exp(-e))

    @property
    def slack(self) -> Fraction:
        return self.rate * self.base.slack

    @property
    def attained(self) -> bool:
        return self.base.attained

    @property
    def replace_only(self) -> bool:
        return self.base.replace_only

    def renyi(self, order: float) -> float:
        """Of a mechanism on a sample; never more than the mechanism itself, by joint quasi-convexity."""
        base: Part = self
        rate, fixed = Fraction(1), False
        while isinstance(base, Poisson):  # a sample of a sample
            rate, fixed = rate * base.rate, fixed or isinstance(base, WithoutReplacement)
            base = base.base
        without = renyi_divergence(base, order)
        if not isinstance(base, Normal | DiscreteNormal | ResponsePart | DiscreteLaplacePart):
            return without
        log_moment = _between_whole(lambda n: _binomial(base, rate, n), order)
        if fixed:
            # Without replacement the hockey stick is that of ((1−q)Q + qP, Q) at e^ε ≥ 1 and that of the swapped pair
            # below (Zhu, Dong and Wang 2022). A moment minus 1 is an integral of it over both, so at most the two.
            log_moment = log_moment + log(2) if log_moment > 30 else log1p(2 * expm1(log_moment))
        return min(without, log_moment / (order - 1))

    def grouped(self, size: int) -> Part:
        if size == 1:
            return self
        if isinstance(self.base, Normal):
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
        up, p, q, blur = pair.losses[above], pair.p[above], pair.q[above], pair.off[above]
        rest = max(0.0, 1 - float(p.sum() + q.sum()) - pair.only_p)
        masses = np.concatenate([q, [rest], p])
        if len(up) == 1:
            unit = Fraction(float(up[0]))
            leak, off = pair.only_p, float(blur[0])
            return LatticePair.at(np.array([-1, 0, 1]), unit, masses, only_p=leak, only_q=leak, blur=off)
        losses, blur = np.concatenate([-up, [0.0], up]), np.concatenate([blur, [0.0], blur])
        return Atoms(losses, masses, pair.only_p, pair.only_p, blur=blur)


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

    def renyi(self, order: float) -> float:
        """P = (1−q)N(0) + qN(m) against Q = (1−q)N(0) + qN(−m), m = μ/2: the least of three bounds.

        By joint convexity; in two steps by way of N(0); and by E_Q[(P/Q)^α] = Σ_k C(α, k) q^k ∫ D^k/Q^(k−1) with
        D = N(m) − N(−m), where Q ≥ (1−q)N(0), ∫ D²/N(0) = 2(e^(m²) − e^(−m²)) and
        ∫ |D|^k/N(0)^(k−1) ≤ 2e^(k(k−1)m²/2).
        """
        moment, q = order * (order - 1) * float(self.square) / 2, float(self.rate)
        joint = moment + log(q + (1 - q) * exp(-moment)) if moment > 30 else log1p(q * expm1(moment))
        step = Poisson(Normal(self.square / 4), self.rate)
        two = 2 * order / (2 * order - 1) * renyi_divergence(step, 2 * order - 1) + renyi_divergence(step, 2 * order)
        return min(joint / (order - 1), two, _between_whole(lambda n: _opposite(self, n), order) / (order - 1))


@dataclass(frozen=True)
class SampledGroup(Part):
    """Gaussian noise on a Poisson sample, for `size` units that all come or all go; `square` is μ² of one of them.

    J ~ Binomial(size, rate) of them take part, and their vectors add up to at most J times one: the sum is told from
    noise alone no better than N(Jμ, 1) from N(0, 1) (mixtures of Gaussians, Choquette-Choo et al. 2024; it follows from
    Kahane's inequality too, see docs/theory/amplification.md). Of groups of which some come and others go it says
    nothing: for one that goes where another comes there is `PoissonReplace`.
    """

    kind: ClassVar[str] = "sampled_group"
    lopsided: ClassVar[bool] = True

    square: Fraction
    rate: Fraction
    size: Fraction

    def pair(self) -> Pair:
        k = int(self.size)
        weights = tuple(float(comb(k, j) * self.rate**j * (1 - self.rate) ** (k - j)) for j in range(k + 1))
        return MixturePair(sqrt(self.square) * (1 + 2e-16), weights)

    def grouped(self, size: int) -> "SampledGroup":
        return SampledGroup(self.square, self.rate, size * self.size)


def _between_whole(log_moment: Callable[[int], float], order: float) -> float:
    """A log-moment, which is convex in α and 0 at 1, at any order by the chord between whole ones; ∞ where those would
    be too long to sum."""
    low = floor(order)
    if low + 1 > SUMMED:
        return inf
    first = log_moment(low)
    return first if low == order else first + (order - low) * (log_moment(low + 1) - first)


def log_choose(n: int, k: Any) -> Any:
    """log C(n, k)."""
    return special.gammaln(n + 1) - special.gammaln(k + 1) - special.gammaln(n - k + 1)


def _rounded(order: int) -> float:
    """A factor for what the log-gamma functions may be off."""
    return 1 + 1e-13 + 4e-15 * order * log(order)


@lru_cache(maxsize=2**16)
def _binomial(base: Part, rate: Fraction, order: int) -> float:
    """log E_Q[(1 − q + q·P/Q)^α] = log Σ_l C(α, l)(1 − q)^(α−l) q^l e^((l−1)·D_l) at a whole order; as the weights add
    to 1, what is summed is the excess over 1.

    This is D(mixture ‖ Q). It is also the worse direction when an exchange of P and Q preserves the pair (Mironov,
    Talwar and Zhang 2019, Theorem 5), as here. The expansion holds for any pair; with a Gaussian it is their exact sum.
    """
    if order < 2:
        return 0.0
    l, q = np.arange(2, order + 1), float(rate)  # noqa: E741  (the index of the papers)
    moments = _log_moments(base, 1 << order.bit_length())[: order - 1]
    if not moments[-1]:
        return 0.0
    weights = log_choose(order, l) + (order - l) * log1p(-q) + l * log(q)
    excess = float(special.logsumexp(weights + moments + np.log(-np.expm1(-moments))))
    return float(np.logaddexp(0.0, excess)) * _rounded(order)


@lru_cache(maxsize=64)
def _log_moments(base: Part, most: int) -> Any:
    """(l − 1)·D_l for l = 2 … most."""
    return np.array([(index - 1) * renyi_divergence(base, index) for index in range(2, most + 1)])


@lru_cache(maxsize=2**14)
def _opposite(part: PoissonReplace, order: int) -> float:
    if order < 2:
        return 0.0
    k, q, square = np.arange(2, order + 1), float(part.rate), float(part.square) / 4
    powers = log(2) + k * (k - 1) * (square / 2)
    powers[0] = log(2) + square + log(-expm1(-2 * square))
    logs = log_choose(order, k) + k * log(q) - (k - 1) * log1p(-q) + powers
    return float(np.logaddexp(0.0, special.logsumexp(logs))) * _rounded(order)
