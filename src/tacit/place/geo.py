"""A place on Earth, reported with planar Laplace noise in its tangent plane."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import exp, log, log1p
from typing import Any, ClassVar, Self

import numpy as np

from tacit.base import InputError, Number, Relation, Sensitivity, positive
from tacit.loss import Pure
from tacit.mechanism import Example, Mechanism
from tacit.mechanism.planar import radius_within
from tacit.noise import Rng, planar_laplaces, rng_or_default
from tacit.place.earth import RADIUS, checked, walked
from tacit.place.grid import Grid

__all__ = ["ROUNDING", "GeoLaplace", "slack_of"]

FINE = 20  # the noise has 2^20 steps to a cell of the grid
ROUNDING = (
    5e-8  # metres that doubles can misplace a point by: 4e-9 measured on the way, and about as much twice in the grid
)


@dataclass(frozen=True, kw_only=True)
class GeoLaplace(Mechanism):
    """A report of (latitude, longitude) whose chance falls by e^−(ε·distance), `epsilon` being per metre.

    Guarantee: pure ε·d + `slack` between true places at distance d along the sphere (geo-indistinguishability, Andrés
    et al. 2013). `slack` covers what rounding to the grid can tell, and is far below a thousandth. The mean distance
    of a report from the truth is 2/ε metres; north and east it spreads by √3/ε.
    """

    theory: ClassVar[str] = "planar-laplace"

    epsilon: Fraction
    grid: Grid = field(default_factory=Grid)

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", positive(self.epsilon, "epsilon", toward="decimal"))
        cells = 1 / (float(self.epsilon) * self.grid.metres)
        if cells < 4:
            raise InputError(
                f"the noise is {1 / float(self.epsilon):g} m wide, which cells of {self.grid.metres:.3g} m would show "
                "through: take a finer grid, or a smaller epsilon (it is per metre)"
            )
        if cells > 2**20:
            raise InputError(
                f"the noise is {1 / float(self.epsilon) / 1000:g} km wide, too much for cells of "
                f"{self.grid.metres:.3g} m: take a coarser grid, or a larger epsilon (it is per metre)"
            )

    @classmethod
    def protecting(cls, *, radius: Number, factor: Number = 2, grid: Grid | None = None) -> Self:
        """No report makes a place within `radius` metres more than `factor` times as likely as the true one.

        ε is log(factor)/radius, less what the rounding may add.
        """
        within, times = positive(radius, "radius"), float(positive(factor, "factor"))
        if times <= 1:
            raise InputError("factor must be above 1: 2 lets a report double the odds of a place nearby")
        chosen = grid or Grid()
        wide = cls(epsilon=Fraction(log(times)) / within, grid=chosen)
        return cls(epsilon=Fraction((log(times) - 2 * wide.slack) * (1 - 1e-12)) / within, grid=chosen)

    @property
    def slack(self) -> float:
        """What the lattice under the noise and the grid above it can add to ε·d, whatever d is."""
        return slack_of(float(self.epsilon), float(self._step) + ROUNDING, self.grid.metres)

    @property
    def _step(self) -> Fraction:
        """Metres in a step of the noise."""
        return Fraction(self.grid.metres) / (1 << FINE)

    def loss(
        self,
        sensitivity: Sensitivity | Number | None = None,
        *,
        relation: Relation = Relation.REPLACE,
        unit: str = "report",
    ) -> Pure:
        """ε between two places `sensitivity` metres apart. It is that of one report: those of a walk add up."""
        if Relation(relation) is not Relation.REPLACE:
            raise InputError("relation must be 'replace': a report hides where somebody is, not that they report")
        far = Sensitivity.of(sensitivity, "l2").require("l2")
        return Pure(self.epsilon * far + Fraction(self.slack), relation=relation, unit=unit)

    def sample(self, value: Any, rng: Rng | None = None) -> Any:
        """The report on one (latitude, longitude), a pair, or on rows of them, an array."""
        places, source = checked(value), rng_or_default(rng)
        reports = self.grid.rounded(walked(places, *self._steps(len(places), source)))
        return reports if np.ndim(value) == 2 else (float(reports[0, 0]), float(reports[0, 1]))

    def _steps(self, size: int, rng: Rng) -> Any:
        """Metres east and north. A step of r metres is kept with probability sin(r/R)/(r/R), by which a ring on the
        sphere is shorter than in the plane, so that the law is exactly that of the sphere; r beyond half way round is
        drawn again."""
        steps = np.empty((0, 2))
        while len(steps) < size:
            drawn = planar_laplaces(1 / (self.epsilon * self._step), size - len(steps), rng) * float(self._step)
            angle = np.hypot(drawn[:, 0], drawn[:, 1]) / RADIUS
            shorter = np.where(angle < np.pi, np.sinc(angle / np.pi), 0.0)
            steps = np.concatenate([steps, drawn[rng.words(len(drawn)) * 2.0**-64 < shorter]])
        return steps.T

    def error(self, confidence: Number = 0.95) -> float:
        """Metres that a report stays within of the truth with probability `confidence`; the grid adds half a cell."""
        return radius_within(confidence) / float(self.epsilon) + self.grid.metres

    @classmethod
    def examples(cls) -> Sequence[Example]:
        """None: places cannot be listed. The lattice noise underneath is `PlanarLaplace`, which is checked exactly."""
        return ()


def slack_of(epsilon: float, reach: float, cell: float) -> float:
    """2·ε·t + log(1 + 10·(t/h)·e^(2.5·ε·h)) for cells of height h, t the `reach` of a lattice square and of rounding.

    The points that are rounded to a cell fill it up to t from its border, and each stands for others within t: so its
    chance is an integral over the cell up to a factor e^(±ε·t) and up to the share of it within t of its border on
    either side, at most 10·t over its height, weighed by how far the noise changes within a cell.
    """
    return (2 * epsilon * reach + log1p(10 * reach / cell * exp(2.5 * epsilon * cell))) * (1 + 1e-9)
