"""tacit: answers about everyone, silent about anyone."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from tacit.base import Lattice, Relation, Sensitivity, TacitError
from tacit.base.version import VERSION
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

if TYPE_CHECKING:  # the desk brings databases along, which a mechanism does not need: imported when first used
    from tacit.auditor import audit
    from tacit.client import Connection, connect
    from tacit.policy import Policy
    from tacit.session import Certificate, Quote, Release, Session, ask
    from tacit.session import open_session as open  # noqa: A004 - read as tacit.open, beside which the builtin stays

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
    "TacitError",
    "__version__",
    "ask",
    "audit",
    "calibrate",
    "connect",
    "explain",
    "open",
]

__version__ = VERSION

LATER = {
    "Certificate": ("tacit.session", "Certificate"),
    "Connection": ("tacit.client", "Connection"),
    "Policy": ("tacit.policy", "Policy"),
    "Quote": ("tacit.session", "Quote"),
    "Release": ("tacit.session", "Release"),
    "Session": ("tacit.session", "Session"),
    "ask": ("tacit.session", "ask"),
    "audit": ("tacit.auditor", "audit"),
    "connect": ("tacit.client", "connect"),
    "open": ("tacit.session", "open_session"),
}


def __getattr__(name: str) -> Any:
    if name not in LATER:
        raise AttributeError(f"module 'tacit' has no attribute {name!r}")
    module, inside = LATER[name]
    found = globals()[name] = getattr(import_module(module), inside)
    return found


def __dir__() -> list[str]:
    return sorted(__all__)
