"""Every basic mechanism of differential privacy, on exact noise."""

from tacit.mechanism.gaussian import DiscreteGaussian, Gaussian
from tacit.mechanism.laplace import DiscreteLaplace, Laplace
from tacit.mechanism.mechanism import Example, Mechanism, Pmf
from tacit.mechanism.registry import MECHANISMS

__all__ = ["MECHANISMS", "DiscreteGaussian", "DiscreteLaplace", "Example", "Gaussian", "Laplace", "Mechanism", "Pmf"]
