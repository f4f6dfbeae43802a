"""tacit: answers about everyone, silent about anyone."""

from tacit.base import Lattice, Relation, Sensitivity, TacitError
from tacit.loss import ZCDP, Approx, Interval, Loss, Pure
from tacit.mechanism import MECHANISMS, DiscreteGaussian, DiscreteLaplace, Gaussian, Laplace, Mechanism

__all__ = [
    "MECHANISMS",
    "ZCDP",
    "Approx",
    "DiscreteGaussian",
    "DiscreteLaplace",
    "Gaussian",
    "Interval",
    "Laplace",
    "Lattice",
    "Loss",
    "Mechanism",
    "Pure",
    "Relation",
    "Sensitivity",
    "TacitError",
    "__version__",
]

__version__ = "0.1.0"
