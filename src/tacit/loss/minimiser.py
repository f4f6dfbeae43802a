"""The loss of perturbing an objective: the minimiser of a sum of convex losses, with a random slope added to it.

One unit more tilts the slope by at most ζ and bends the objective in one direction by at most λ. Of the random slope
only what lies along the unit's own row matters, a normal number, and its size alone, since the tilt may go either way:
the loss is at most j + s²/2 + s·|N(0, 1)|, s = ζ/σ, j = log(1 + λ/Δ) (docs/theory/perturbed-objective.md).
"""

from dataclasses import dataclass
from fractions import Fraction
from math import nextafter, pi, sqrt
from typing import ClassVar

import numpy as np

from tacit.base import special
from tacit.loss.lattice import LatticePair
from tacit.loss.pair import Pair
from tacit.loss.part import Part

__all__ = ["MinimiserPart"]

STEPS = 256  # of the lattice that |N| is rounded up to, in one standard deviation
REACH = 38  # deviations beyond which 1e-300 more than covers everything


class _EitherWay(LatticePair):
    """A bound on the loss that holds for one who comes and for one who goes."""

    @property
    def swapped(self) -> Pair:
        return self


@dataclass(frozen=True)
class MinimiserPart(Part):
    """`tilt` is s², `bend` is j."""

    kind: ClassVar[str] = "minimiser"

    tilt: Fraction
    bend: Fraction

    @property
    def attained(self) -> bool:
        return False

    def pair(self) -> Pair:
        """P-masses of the bound on the loss, rounded up; what they leave of Q is told apart from P surely."""
        places = np.arange(1, REACH * STEPS + 1)
        below = special.ndtr(-(places - 1) / STEPS)
        p = 2 * (below - special.ndtr(-places / STEPS)) * (1 + 1e-12)
        unit = Fraction(nextafter(sqrt(self.tilt), 2.0**1000)) / STEPS
        offset = nextafter(float(self.bend + self.tilt / 2), 2.0**1000)
        q = float((p * np.exp(-(places * float(unit) + offset))).sum())
        return _EitherWay.at(places, unit, p, offset=offset, only_p=1e-300, only_q=max(0.0, 1 - q))

    @property
    def rho(self) -> Fraction:
        """j + s²/2 + s·√(2/π): the divergence of an order α is below it times α."""
        return self.bend + self.tilt / 2 + Fraction(sqrt(float(self.tilt) * 2 / pi) * (1 + 1e-12))

    def renyi(self, order: float) -> float:
        """j + αs²/2 + log(2Φ((α − 1)s))/(α − 1)."""
        s = sqrt(self.tilt)
        two = float(special.log_ndtr((order - 1) * s)) + 0.6931471805599454
        return (float(self.bend) + order * float(self.tilt) / 2 + two / (order - 1)) * (1 + 1e-12)
