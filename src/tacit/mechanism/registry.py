"""Every mechanism of the product. Adding one is its file and a line here; laws, audit, docs and CLI read this list."""

from tacit.mechanism.gaussian import DiscreteGaussian, Gaussian
from tacit.mechanism.laplace import DiscreteLaplace, Laplace
from tacit.mechanism.mechanism import Mechanism

__all__ = ["MECHANISMS"]

MECHANISMS: tuple[type[Mechanism], ...] = (
    Laplace,
    DiscreteLaplace,
    Gaussian,
    DiscreteGaussian,
)
