"""The Earth as a sphere: distances along it, and steps from a place into its tangent plane and back down.

A step of so many metres east and north is walked along a great circle, so its length is kept exactly; near a pole or
across the date line nothing is special, since all of it is done with vectors.
"""

from typing import Any

import numpy as np

from tacit.base import InputError

__all__ = ["RADIUS", "Floats", "checked", "distance", "offset", "walked"]

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
