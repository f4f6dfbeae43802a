"""tacit: answers about everyone, silent about anyone.

Everything is imported when it is first used: a mechanism does not need databases, nor the command line a mechanism.
"""

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tacit import attack as attack
    from tacit import auditor as auditor
    from tacit import loss as loss
    from tacit import mechanism as mechanism
    from tacit import place as place
    from tacit import survey as survey
    from tacit.auditor import audit
    from tacit.base import Lattice, Relation, Sensitivity, TacitError
    from tacit.client import Connection, connect
    from tacit.loss import GDP, PLD, RDP, ZCDP, Approx, Cost, Filter, Interval, Loss, Odometer, Pure, calibrate, explain
    from tacit.mechanism import (
        MECHANISMS,
        BoundedMean,
        BoundedVariance,
        CoinFlipSurvey,
        DiscreteGaussian,
        DiscreteLaplace,
        Exponential,
        Gaussian,
        KaryResponse,
        Laplace,
        Mechanism,
        NoisyMax,
        NoisyVote,
        PartitionSelection,
        PermuteAndFlip,
        ProposeTestRelease,
        Quantile,
        Quantiles,
        RandomizedResponse,
        SmoothMedian,
        SparseVector,
        StableHistogram,
    )
    from tacit.policy import Policy
    from tacit.session import Certificate, Quote, Release, Session, TableRelease, ask
    from tacit.session import open_session as open  # noqa: A004 - read as tacit.open, beside which the builtin stays

    __version__: str

__all__ = [
    "GDP",
    "MECHANISMS",
    "PLD",
    "RDP",
    "ZCDP",
    "Approx",
    "BoundedMean",
    "BoundedVariance",
    "Certificate",
    "CoinFlipSurvey",
    "Connection",
    "Cost",
    "DiscreteGaussian",
    "DiscreteLaplace",
    "Exponential",
    "Filter",
    "Gaussian",
    "Interval",
    "KaryResponse",
    "Laplace",
    "Lattice",
    "Loss",
    "Mechanism",
    "NoisyMax",
    "NoisyVote",
    "Odometer",
    "PartitionSelection",
    "PermuteAndFlip",
    "Policy",
    "ProposeTestRelease",
    "Pure",
    "Quantile",
    "Quantiles",
    "Quote",
    "RandomizedResponse",
    "Relation",
    "Release",
    "Sensitivity",
    "Session",
    "SmoothMedian",
    "SparseVector",
    "StableHistogram",
    "TableRelease",
    "TacitError",
    "__version__",
    "ask",
    "audit",
    "calibrate",
    "connect",
    "explain",
    "open",
]

# A name is of the first room that offers it.
ROOMS = ("base", "mechanism", "loss", "policy", "session", "client", "auditor")
OTHERS = {"__version__": ("base.version", "VERSION"), "open": ("session", "open_session")}


def __getattr__(name: str) -> Any:
    """A name of `__all__`, or a room such as `tacit.survey`."""
    if name in OTHERS:
        room, inside = OTHERS[name]
        found = getattr(import_module(f"tacit.{room}"), inside)
    elif name in __all__:
        offers = (import_module(f"tacit.{room}") for room in ROOMS)
        found = next(getattr(room, name) for room in offers if name in room.__all__)
    elif not name.startswith("_") and find_spec(f"tacit.{name}") is not None:
        return import_module(f"tacit.{name}")
    else:
        raise AttributeError(f"module 'tacit' has no attribute {name!r}")
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted(__all__)
