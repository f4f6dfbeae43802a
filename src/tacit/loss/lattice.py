"""Finite pairs whose losses lie on a lattice, and sums of few enough outcomes to list them all."""

from dataclasses import dataclass
from fractions import Fraction
from math import expm1, gcd, lcm, log1p, sqrt
from typing import Any

import numpy as np

from tacit.base import cached_property
from tacit.loss.pair import UNIT, Atoms, Cells, Floats, GaussianPair, Pair, dot
from tacit.loss.quadrature import Mixture

__all__ = ["DiscreteGaussianPair", "LatticePair", "Outcomes", "common_lattice", "outcomes"]

Ints = np.ndarray[Any, np.dtype[np.int64]]


@dataclass(frozen=True, eq=False)
class LatticePair(Atoms):
    """Atoms at positions·unit + offset with an exact `unit`."""

    positions: Ints | None = None
    unit: Fraction = Fraction(1)
    offset: float = 0.0

    @classmethod
    def at(
        cls,
        positions: Ints,
        unit: Fraction,
        p: Floats,
        *,
        offset: float = 0.0,
        only_p: float = 0.0,
        only_q: float = 0.0,
        rare: Floats | None = None,
        blur: float = 0.0,
    ) -> "LatticePair":
        """`blur` is what a loss may be off by besides what these numbers are rounded by."""
        steps: Floats = np.asarray(positions * float(unit), dtype=np.float64)
        off = 4 * UNIT * (np.abs(steps) + abs(offset)) + blur
        return cls(steps + offset, p, only_p, only_q, rare, off, positions, unit, offset)

    @property
    def swapped(self) -> Pair:
        assert self.positions is not None
        found = super().swapped
        assert isinstance(found, Atoms)
        return LatticePair(**vars(found), positions=-self.positions, unit=self.unit, offset=-self.offset)

    @property
    def coarsest(self) -> tuple[Fraction, float]:
        """The widest unit of all its losses, and one of them."""
        assert self.positions is not None
        return self.unit * int(np.gcd.reduce(self.positions - self.positions[0])), float(self.losses[0])


@dataclass(frozen=True)
class DiscreteGaussianPair(Pair):
    """Discrete Gaussians of parameter σ² = `variance`, `shift` steps apart."""

    variance: Fraction
    shift: int

    @property
    def listable(self) -> bool:
        """Whether its outcomes are few enough to be listed."""
        return 80 * sqrt(self.variance) + self.shift < LISTED

    @cached_property
    def atoms(self) -> LatticePair:
        """All outcomes within 39 σ."""
        k, double = self.shift, 2 * float(self.variance)
        reach = int(39 * sqrt(self.variance)) + 2
        z = np.arange(-reach, reach + 1)
        total = float(np.exp(-z * z / double).sum())
        if k * k > 500 * double:  # so far apart that doubles hold no mass of Q's in P's reach
            z = np.unique(np.concatenate([z, z + k]))
        p, q = (np.exp(-((z - centre) ** 2) / double) / total for centre in (0, k))
        ends = {"only_p": 1e-300, "only_q": 1e-300}  # more than lies outside
        return LatticePair.at(-z, k / self.variance, p, offset=k * k / double, **ends, rare=q)

    def cells(self, edges: Floats) -> Cells:
        return self.atoms.cells(edges)

    def reach(self, tail: float) -> tuple[float, float]:
        """Discrete Gaussians have no heavier tails than others (Canonne, Kamath and Steinke 2020)."""
        return GaussianPair(self.shift / sqrt(self.variance) * (1 + 1e-12)).reach(tail)

    @property
    def leaks(self) -> tuple[float, float]:
        return 1e-300, 1e-300

    @property
    def symmetric(self) -> bool:
        return True

    @property
    def mixture(self) -> Mixture:
        spacing = 1 / sqrt(self.variance)
        return Mixture((0.0, self.shift * spacing), (1.0, 0.0), (0.0, 1.0), spacing)


def common_lattice(pairs: list[Pair]) -> Fraction | None:
    """The coarsest unit of which all the pairs' units are multiples, if all have one."""
    units = [pair.coarsest[0] for pair in pairs if isinstance(pair, LatticePair)]
    if len(units) < len(pairs):
        return None
    denominator = lcm(*(unit.denominator for unit in units))
    return Fraction(gcd(*(int(unit * denominator) for unit in units)), denominator) or None


LISTED = 2**17  # outcomes of all terms together
SPAN = 2**12  # lattice positions of one term after all its repetitions


class Outcomes:
    """All values of the summed loss, right to `blur`, with their probabilities, each right to a relative `error`."""

    def __init__(self, losses: Floats, p: Floats, infinite: float, *, blur: float, error: float) -> None:
        order = np.argsort(losses)
        self._losses, self._p = losses[order], p[order]
        self._infinite, self._blur, self._error = infinite, blur, error

    def delta(self, epsilon: float, sign: int) -> float:
        """δ(ε), rounded up (sign = 1) or down (−1)."""
        epsilon -= sign * (self._blur + 4 * UNIT * abs(epsilon))
        first = int(np.searchsorted(self._losses, epsilon, side="right"))
        total = dot(self._p[first:], -np.expm1(epsilon - self._losses[first:])) + self._infinite
        return min(1.0, max(0.0, total * (1 + sign * self._error)))


def outcomes(terms: list[tuple[int, Pair]]) -> Outcomes | None:
    """The list of outcomes if every term is a finite pair and the list is short; else None."""
    losses, p = np.zeros(1), np.ones(1)
    infinite, operations, blur = 0.0, 64.0, 0.0
    for count, pair in terms:
        if not isinstance(pair, Atoms) or (part := _repeated(pair, count)) is None:
            return None
        if len(part[0]) * len(losses) > LISTED:
            return None
        losses, p = (losses[:, None] + part[0]).ravel(), (p[:, None] * part[1]).ravel()
        infinite += count * log1p(-pair.leaks[0])
        operations += 8 if count == 1 else 8 * count.bit_length() * len(part[0])
        operations += 8 * count * float(np.abs(np.log(pair.p[pair.p > 0])).max(initial=0.0))
        blur += count * float(pair.off.max())
    blur *= 1 + len(terms)  # each partial sum is rounded by less than its terms may be off
    return Outcomes(losses, p, -expm1(infinite), blur=blur, error=operations * UNIT)


def _repeated(pair: Atoms, count: int) -> tuple[Floats, Floats] | None:
    """The atoms of `count` independent copies. Sums of products of non-negative numbers: no cancellation."""
    if count == 1:
        return pair.losses, pair.p
    if not isinstance(pair, LatticePair) or pair.positions is None:
        return None
    first, span = int(pair.positions.min()), int(np.ptp(pair.positions))
    if span * count > SPAN:
        return None
    step: Any = np.bincount(pair.positions - first, weights=pair.p)
    total: Any = np.ones(1)
    for bit in bin(count)[2:]:
        total = np.convolve(total, total)
        if bit == "1":
            total = np.convolve(total, step)
    places = count * first + np.arange(len(total))
    live = total > 0
    return places[live] * float(pair.unit) + count * pair.offset, total[live]
