"""Every basic mechanism of differential privacy, on exact noise."""

from tacit.mechanism.binned_quantiles import BinnedQuantiles
from tacit.mechanism.bounded_mean import BoundedMean, Mean
from tacit.mechanism.bounded_variance import BoundedVariance, Variance
from tacit.mechanism.gaussian import DiscreteGaussian, Gaussian
from tacit.mechanism.key_selection import KeySelection
from tacit.mechanism.keyed_counts import KeyedCounts
from tacit.mechanism.laplace import DiscreteLaplace, Laplace
from tacit.mechanism.mechanism import Example, Mechanism, Pmf
from tacit.mechanism.partition_selection import PartitionSelection
from tacit.mechanism.perturbed_objective import PerturbedObjective
from tacit.mechanism.planar import PlanarLaplace
from tacit.mechanism.propose_test_release import ProposeTestRelease
from tacit.mechanism.quantile import Quantile
from tacit.mechanism.quantiles import Quantiles
from tacit.mechanism.randomized_response import CoinFlipSurvey, KaryResponse, RandomizedResponse
from tacit.mechanism.registry import MECHANISMS, UNLISTED, mechanism_from_json, mechanism_to_json
from tacit.mechanism.response import Estimate
from tacit.mechanism.selection import Exponential, NoisyMax, PermuteAndFlip
from tacit.mechanism.smooth_median import SmoothMedian
from tacit.mechanism.smooth_noise import SmoothNoise
from tacit.mechanism.sparse_vector import SparseRun, SparseVector
from tacit.mechanism.stable_histogram import StableHistogram
from tacit.mechanism.vote import NoisyVote

__all__ = [
    "MECHANISMS",
    "UNLISTED",
    "BinnedQuantiles",
    "BoundedMean",
    "BoundedVariance",
    "CoinFlipSurvey",
    "DiscreteGaussian",
    "DiscreteLaplace",
    "Estimate",
    "Example",
    "Exponential",
    "Gaussian",
    "KaryResponse",
    "KeySelection",
    "KeyedCounts",
    "Laplace",
    "Mean",
    "Mechanism",
    "NoisyMax",
    "NoisyVote",
    "PartitionSelection",
    "PermuteAndFlip",
    "PerturbedObjective",
    "PlanarLaplace",
    "Pmf",
    "ProposeTestRelease",
    "Quantile",
    "Quantiles",
    "RandomizedResponse",
    "SmoothMedian",
    "SmoothNoise",
    "SparseRun",
    "SparseVector",
    "StableHistogram",
    "Variance",
    "mechanism_from_json",
    "mechanism_to_json",
]
