"""A few times and places of a person pick their movements out of everybody's (de Montjoye et al. 2013).

Everybody here reports a place every hour, so that the times give nobody away. Beside the places as they are stand
reports with planar Laplace noise, as `tacit place` makes them, each protecting its place alone or the week as a whole.
"""

from dataclasses import dataclass
from fractions import Fraction
from math import log
from typing import Any

import numpy as np

from tacit.attack.population import Chance, Floats, Integers, chance
from tacit.attack.registry import Attempt, Outcome, Progress, silent
from tacit.base import whole
from tacit.place import EarthGrid, GeoLaplace
from tacit.place.geo import offset, walked

__all__ = ["Town", "matched", "stage", "town", "unique"]

HOURS = 7 * 24
CENTRE = (52.2053, 0.1218)
KNOWN = (1, 2, 3, 4, 6, 8, 12, 24)
RADII = (200, 1_000, 5_000)  # metres within which each report doubles no odds
TARGETS = 200


@dataclass(frozen=True)
class Town:
    """Antennas, metres east and north of the centre, and the one that each person (a row) is at, hour by hour."""

    antennas: Floats
    at: Integers

    @property
    def places(self) -> Floats:
        """Metres east and north, of each person and hour."""
        return self.antennas[self.at]


def town(people: int, dice: Chance, *, antennas: int = 150) -> Town:
    """Nights at home, working days at work, else in one of three favourite places, or sometimes anywhere."""
    sites = dice.normal(scale=3_000, size=(antennas, 2))
    home, work = (dice.integers(0, antennas, people) for _ in range(2))
    liked = dice.integers(0, antennas, (people, 3))
    hour, day = np.arange(HOURS) % 24, np.arange(HOURS) // 24
    free = np.where(
        dice.random((people, HOURS)) < 0.5,
        home[:, None],
        np.take_along_axis(liked, dice.integers(0, 3, (people, HOURS)), axis=1),
    )
    usual = np.where((hour < 7) | (hour > 22), home[:, None], free)
    usual = np.where((hour >= 9) & (hour < 17) & (day < 5), work[:, None], usual)
    anywhere = dice.random((people, HOURS)) < 0.05
    return Town(sites, np.where(anywhere, dice.integers(0, antennas, (people, HOURS)), usual))


def unique(at: Integers, target: int, hours: Integers) -> bool:
    """Whether nobody else was where `target` was at all of these hours."""
    return int((at[:, hours] == at[target, hours]).all(axis=1).sum()) == 1


def matched(reports: Floats, seen: Floats, hours: Integers) -> int:
    """Whose reports lie nearest, in sum, to the places `seen` then: under planar Laplace noise the likeliest person."""
    away = reports[:, hours] - seen
    return int(np.hypot(away[..., 0], away[..., 1]).sum(axis=1).argmin())


def stage(*, seed: int = 1, people: int = 1_000, progress: Progress = silent) -> Outcome:
    """Who is who in a week of places, by how many of them are known: exact, and with noise of several sizes."""
    count = whole(people, "people", least=2)
    dice = chance(seed)
    made = town(count, dice)
    targets = dice.choice(count, min(count, TARGETS), replace=False)
    # the hours that are known of each target: more of them are the same and others
    places, known = made.places, np.array([dice.permutation(HOURS)[: max(KNOWN)] for _ in targets])
    exact = [sum(unique(made.at, who, when[:many]) for who, when in zip(targets, known, strict=True)) for many in KNOWN]
    lines = {"as they are": exact}
    spent: dict[str, float] = {}
    noises = {_protecting(radius): GeoLaplace.protecting(radius=radius) for radius in RADII}
    week = "the whole week protects 1 km"
    noises[week] = GeoLaplace(epsilon=Fraction(0.99 * log(2)) / (1_000 * HOURS), grid=EarthGrid(Fraction(1, 100)))
    for number, (name, noise) in enumerate(noises.items()):
        reports = _reported(made, noise)
        lines[name] = [
            sum(
                matched(reports, places[who, when[:many]], when[:many]) == who
                for who, when in zip(targets, known, strict=True)
            )
            for many in KNOWN
        ]
        spent[name] = float(HOURS * noise.loss(1_000).bound)
        progress((number + 1) / len(noises))
    shares = {name: [hits / len(targets) for hits in line] for name, line in lines.items()}
    four = KNOWN.index(4)
    return Outcome(
        name="movements",
        headline="Four places and times are a name",
        measure=f"of {len(targets)} people, found among {count:,} by where they were at four hours of a week",
        chance=1 / count,
        undefended=Attempt.counted("antennas, as they are", exact[four], len(targets)),
        defended=Attempt.counted(f"tacit, {week}", lines[week][four], len(targets)),
        remarks=(
            f"noise of its own on each report hides the place, not the person. Found from 4, from {KNOWN[-1]} places: "
            + ", ".join(f"{line[four]:.0%}, {line[-1]:.0%} where {name}" for name, line in [*shares.items()][1:-1]),
            f"losses of one person's reports add up: {HOURS} that protect 1 km each cost ε = "
            f"{spent[_protecting(1_000)]:.0f} for a week moved by 1 km, and not log 2 = 0.69",
            f"protecting the week takes noise of {2 / float(noises[week].epsilon) / 1000:,.0f} km on each report, and "
            "nothing is left to use: publish counts of places with each person bounded, and nobody's track",
        ),
        facts={
            "people": count,
            "hours": HOURS,
            "known": list(KNOWN),
            "found": shares,
            "epsilon of a week for 1 km": spent,
        },
        draw=lambda: _draw(shares, count),
    )


def _protecting(radius: float) -> str:
    return "each report protects " + (f"{radius:g} m" if radius < 1_000 else f"{radius / 1_000:g} km")


def _reported(made: Town, noise: GeoLaplace) -> Floats:
    """What everybody reports at each hour, in metres east and north of the centre."""
    start = np.repeat(np.array([CENTRE]), len(made.antennas), axis=0)
    antennas = walked(start, *made.antennas.T)
    told = noise.sample(antennas[made.at.ravel()])
    return offset(np.repeat(start[:1], len(told), axis=0), told).reshape(*made.at.shape, 2)


def _draw(shares: dict[str, list[float]], people: int) -> Any:
    from tacit.plot import LabelledCurve, curves

    return curves(
        [LabelledCurve(name, KNOWN, line) for name, line in shares.items()],
        title=(
            "Who is who, from a few places and times",
            f"{people:,} people, a week of hourly places; planar Laplace noise",
        ),
        axes=("hours of which the place is known", "people found"),
        chance=1 / people,
        logarithmic=True,
    )
