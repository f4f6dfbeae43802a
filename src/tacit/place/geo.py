"""A place on Earth, reported with planar Laplace noise in its tangent plane.

The Earth is a sphere here. A step of so many metres east and north is walked along a great circle, so its length is
kept exactly; near a pole or across the date line nothing is special, since all of it is done with vectors.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import exp, floor, log, log1p, radians
from typing import Any, ClassVar, Self

import numpy as np

from tacit.base import ExhaustedError, InputError, Number, Relation, Sensitivity, positive
from tacit.loss import Pure
from tacit.mechanism import Example, Mechanism
from tacit.mechanism.planar import radius_within
from tacit.noise import Rng, planar_laplaces, rng_or_default

__all__ = [
    "RADIUS",
    "ROUNDING",
    "EarthGrid",
    "GeoLaplace",
    "Track",
    "checked",
    "distance",
    "offset",
    "remapped",
    "slack_of",
    "walked",
]

RADIUS = 6_371_008.8  # metres: the mean radius of the WGS 84 ellipsoid, from which the true one differs by 0.4 %

Floats = np.ndarray[Any, np.dtype[np.float64]]


def checked(places: Any) -> Floats:
    """Rows of (latitude, longitude) in degrees; longitudes of any turn, latitudes within [−90, 90]."""
    found = np.atleast_2d(np.asarray(places, dtype=np.float64))
    if found.ndim != 2 or found.shape[1] != 2:
        raise InputError("a place is a pair of latitude and longitude in degrees")
    if not np.isfinite(found).all() or np.abs(found[:, 0]).max(initial=0.0) > 90:
        raise InputError("latitude must lie within [-90, 90] degrees, and longitude be a finite number")
    if np.abs(found[:, 1]).max(initial=0.0) > 720:
        raise InputError("longitude must lie within two turns of the Earth: is it in degrees?")
    return found


def _axes(places: Floats) -> tuple[Floats, Floats, Floats]:
    """Unit vectors up, east and north at each place. At a pole, east is that of the longitude it was given with."""
    phi, lam = np.radians(places[:, 0]), np.radians(places[:, 1])
    up = np.stack([np.cos(phi) * np.cos(lam), np.cos(phi) * np.sin(lam), np.sin(phi)], axis=1)
    east = np.stack([-np.sin(lam), np.cos(lam), np.zeros_like(lam)], axis=1)
    north = np.stack([-np.sin(phi) * np.cos(lam), -np.sin(phi) * np.sin(lam), np.cos(phi)], axis=1)
    return up, east, north


def walked(places: Floats, east: Floats, north: Floats) -> Floats:
    """Where one is after so many metres, in a straight line, from each place."""
    up, eastward, northward = _axes(places)
    far = np.hypot(east, north)
    angle = far / RADIUS
    along = np.divide(np.sin(angle), far, out=np.full_like(far, 1 / RADIUS), where=far > 0)[:, None]
    ahead = eastward * east[:, None] + northward * north[:, None]
    reached = up * np.cos(angle)[:, None] + ahead * along
    latitude = np.arctan2(reached[:, 2], np.hypot(reached[:, 0], reached[:, 1]))
    longitude = np.arctan2(reached[:, 1], reached[:, 0])
    return np.asarray(np.degrees(np.stack([latitude, longitude], axis=1)))


def offset(places: Floats, others: Floats) -> Floats:
    """Metres east and north from each place to the other: the inverse of `walked`."""
    up, eastward, northward = _axes(places)
    towards = _axes(others)[0]
    east, north = (towards * eastward).sum(axis=1), (towards * northward).sum(axis=1)
    flat = np.hypot(east, north)
    far = np.arctan2(flat, (towards * up).sum(axis=1)) * RADIUS
    scale = np.divide(far, flat, out=np.full_like(far, RADIUS), where=flat > 0)
    return np.stack([east * scale, north * scale], axis=1)


def distance(places: Any, others: Any) -> Floats:
    """Metres along the sphere between places, pair by pair."""
    ours, theirs = np.broadcast_arrays(checked(places), checked(others))
    return np.asarray(np.hypot(*offset(ours, theirs).T))


DECIMALS = 7  # a centimetre


@dataclass(frozen=True)
class EarthGrid:
    """Cells of `degrees` of latitude; 180 must be a multiple of it."""

    degrees: Fraction = Fraction(1, 100_000)

    def __post_init__(self) -> None:
        size = positive(self.degrees, "degrees", toward="decimal")
        if size > 1 or (180 / size).denominator != 1 or size < Fraction(1, 10**6):
            raise InputError("a grid's degrees must lie in [0.000001, 1] and divide 180: 0.00001 is about a metre")
        object.__setattr__(self, "degrees", size)

    @property
    def metres(self) -> float:
        """The height of a cell."""
        return radians(float(self.degrees)) * RADIUS

    def rounded(self, places: Floats) -> Floats:
        """The middle of the cell that each place lies in: a function of the cell alone."""
        size, rows = float(self.degrees), int(180 / self.degrees)
        row = np.clip(np.floor((places[:, 0] + 90) / size), 0, rows - 1)
        middle = -90 + (row + 0.5) * size
        cells = np.maximum(np.floor(360 / size * np.cos(np.radians(middle))), 1)
        turn = np.mod(places[:, 1] + 180, 360) / 360
        cell = np.minimum(np.floor(turn * cells), cells - 1)
        return np.round(np.stack([middle, -180 + (cell + 0.5) * 360 / cells], axis=1), DECIMALS)


FINE = 20  # the noise has 2^20 steps to a cell of the grid
# metres that doubles can misplace a point by: 4e-9 measured on the way, and about as much twice in the grid
ROUNDING = 5e-8


@dataclass(frozen=True, kw_only=True)
class GeoLaplace(Mechanism):
    """A report of (latitude, longitude) whose chance falls by e^−(ε·distance), `epsilon` being per metre.

    Guarantee: pure ε·d + `slack` between true places at distance d along the sphere (geo-indistinguishability, Andrés
    et al. 2013). `slack` covers what rounding to the grid can tell, and is far below a thousandth. The mean distance
    of a report from the truth is 2/ε metres; north and east it spreads by √3/ε.
    """

    theory: ClassVar[str] = "planar-laplace"

    epsilon: Fraction
    grid: EarthGrid = field(default_factory=EarthGrid)

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
    def protecting(cls, *, radius: Number, factor: Number = 2, grid: EarthGrid | None = None) -> Self:
        """No report makes a place within `radius` metres more than `factor` times as likely as the true one.

        ε is log(factor)/radius, less what the rounding may add.
        """
        within, times = positive(radius, "radius"), float(positive(factor, "factor"))
        if times <= 1:
            raise InputError("factor must be above 1: 2 lets a report double the odds of a place nearby")
        chosen = grid or EarthGrid()
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


class Track:
    """The reports of one person under one budget.

    `budget` is the most that all reports together may tell about being somewhere else altogether: with every place of
    the way moved by the protected `radius` metres, the loss of n reports is at most n·(ε·radius + slack). A report
    that would pass it is refused, and nothing is drawn.
    """

    def __init__(self, mechanism: GeoLaplace, *, budget: Number, radius: Number) -> None:
        self.mechanism = mechanism
        self.budget = positive(budget, "budget", toward="decimal")
        self.radius = positive(radius, "radius")
        self.reports = 0
        if self.most < 1:
            raise InputError(
                f"one report costs {float(self.each.bound):.4g} and the budget is {float(self.budget):g}: "
                "allow more, or use a smaller epsilon"
            )

    @property
    def each(self) -> Pure:
        """The loss of one report."""
        return self.mechanism.loss(self.radius)

    @property
    def most(self) -> int:
        """How many reports the budget allows in all."""
        return floor(self.budget / self.each.bound)

    @property
    def left(self) -> Fraction:
        return self.budget - self.reports * self.each.bound

    def loss(self) -> Pure:
        """What was told so far."""
        return Pure(self.reports * self.each.bound, relation=self.each.relation, unit="person")

    def report(self, place: Any) -> tuple[float, float]:
        """The next report, counted before it is drawn."""
        if self.reports >= self.most:
            raise ExhaustedError(
                f"this track has made its {self.most} reports of {float(self.each.bound):.4g} each: "
                "a further one would pass its budget"
            )
        self.reports += 1
        told: tuple[float, float] = self.mechanism.sample(place)
        return told

    def warning(self) -> str | None:
        """What the reports so far give away together, in words; None while there is but one."""
        if self.reports < 2:
            return None
        one = 2 / float(self.mechanism.epsilon)
        return (
            f"{self.reports} reports of one person are not {self.reports} times one report: whoever knows that they "
            f"were made at one place, or along one road, averages the noise away, from {one:,.0f} m to about "
            f"{one / self.reports**0.5:,.0f} m. For the whole track ε is {float(self.loss().bound):.3g} within "
            f"{float(self.radius):,.0f} m, not {float(self.each.bound):.3g}."
        )


MOST_PLACES = 4096  # candidate places: all distances between them are held at once


def remapped(reports: Any, places: Any, *, epsilon: Number, weights: Any = None) -> Floats:
    """For each report, the public place from which the true one is expected to be nearest.

    `places` are rows of (latitude, longitude) that people are known to be at, as likely as their `weights` say before
    anything is reported; they must not come from the person who reports. Chatzikokolakis, ElSalamouny and Palamidessi
    (2017) call this optimal remapping: given the report, place x has probability ∝ weight·exp(−ε·distance), and the
    answer minimises the expected distance over the candidates.
    """
    told, known = checked(reports), checked(places)
    rate = float(positive(epsilon, "epsilon"))
    prior = np.ones(len(known)) if weights is None else np.asarray(weights, dtype=np.float64)
    if not 1 <= len(known) <= MOST_PLACES:
        raise InputError(f"places must be from 1 to {MOST_PLACES} candidates, not {len(known)}")
    if prior.shape != (len(known),) or not np.isfinite(prior).all() or prior.min() < 0 or not prior.any():
        raise InputError("weights must be one number for each place, none negative, not all zero")
    between = _every(known, known)
    found = np.empty(len(told), dtype=np.int64)
    for start in range(0, len(told), 1024):
        part = _every(told[start : start + 1024], known) * -rate
        part -= part.max(axis=1, keepdims=True)
        found[start : start + len(part)] = (np.exp(part) * prior @ between).argmin(axis=1)
    return known[found]


def _every(ones: Floats, others: Floats) -> Floats:
    """Metres from each of the ones to each of the others."""
    far = offset(np.repeat(ones, len(others), axis=0), np.tile(others, (len(ones), 1)))
    return np.hypot(far[:, 0], far[:, 1]).reshape(len(ones), len(others))
