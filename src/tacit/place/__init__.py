"""Places: reports of where one is, randomised in the plane, so that nearby places look alike."""

from tacit.mechanism.registry import register_stored
from tacit.place.geo import EarthGrid, GeoLaplace, Track, distance, remapped

__all__ = ["EarthGrid", "GeoLaplace", "Track", "distance", "remapped"]

register_stored(GeoLaplace)
