"""Pufferfish: privacy of one entry in data whose entries depend on each other."""

from tacit.pufferfish.chain import Chain, Network
from tacit.pufferfish.compare import Way, compare
from tacit.pufferfish.quilt import Quilt, quilt
from tacit.pufferfish.wasserstein import Wasserstein, count_laws, distance, real_cost, smallest_scale, wasserstein

__all__ = [
    "Chain",
    "Network",
    "Quilt",
    "Wasserstein",
    "Way",
    "compare",
    "count_laws",
    "distance",
    "quilt",
    "real_cost",
    "smallest_scale",
    "wasserstein",
]
