"""The Earth as a sphere: distances along it, and steps from a place into its tangent plane and back down.

A step of so many metres east and north is walked along a great circle, so its length is kept exactly; near a pole or
across the date line nothing is special, since all of it is done with vectors.
"""

from dataclasses import dataclass
from fractions import Fraction
from math import radians
from typing import Any

import numpy as np

from tacit.base import InputError, positive

__all__ = ["RADIUS", "EarthGrid", "Floats", "checked", "distance", "offset", "walked"]

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
    there: Floats = np.degrees(np.stack([latitude, longitude], axis=1))
    return there


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
    far: Floats = np.hypot(*offset(ours, theirs).T)
    return far


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
