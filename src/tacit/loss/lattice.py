"""Dominating pairs whose losses lie on a lattice, so that composing them discretises nothing."""

from dataclasses import dataclass
from fractions import Fraction
from math import gcd, lcm
from typing import Any

import numpy as np

from tacit.loss.grid import Masses
from tacit.loss.pair import Atoms, Floats, Pair

__all__ = ["LatticePair", "common_lattice"]

Ints = np.ndarray[Any, np.dtype[np.int64]]

SPREAD = 2**21  # positions a common lattice may have


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
    ) -> "LatticePair":
        losses = np.asarray(positions * float(unit) + offset, dtype=np.float64)
        return cls(losses, p, only_p, only_q, positions, unit, offset)

    @property
    def swapped(self) -> Pair:
        assert self.positions is not None
        return LatticePair.at(
            -self.positions, self.unit, self.q, offset=-self.offset, only_p=self.only_q, only_q=self.only_p
        )

    def on(self, unit: Fraction) -> Masses:
        """Its masses on a lattice that its own is a multiple of."""
        assert self.positions is not None
        scaled = self.positions * int(self.unit / unit)
        first = int(scaled.min())
        p = np.bincount(scaled - first, weights=self.p).astype(np.float64)
        return Masses(float(unit), first, p, self.offset, self.only_p)


def common_lattice(pairs: list[Pair]) -> Fraction | None:
    """The coarsest unit of which all the pairs' units are multiples, if all have one and it is not too fine."""
    units = [pair.unit for pair in pairs if isinstance(pair, LatticePair)]
    if len(units) < len(pairs):
        return None
    denominator = lcm(*(unit.denominator for unit in units))
    common = Fraction(gcd(*(int(unit * denominator) for unit in units)), denominator)
    widest = max(float(np.ptp(pair.losses)) for pair in pairs if isinstance(pair, LatticePair))
    return common if widest < SPREAD * common else None
