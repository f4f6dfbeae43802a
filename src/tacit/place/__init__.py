"""Places: reports of where one is, randomised in the plane, so that nearby places look alike."""

from tacit.mechanism.encode import register_stored
from tacit.place.earth import distance
from tacit.place.geo import GeoLaplace
from tacit.place.grid import Grid
from tacit.place.remap import remapped
from tacit.place.track import Track

__all__ = ["GeoLaplace", "Grid", "Track", "distance", "remapped"]

register_stored(GeoLaplace)
