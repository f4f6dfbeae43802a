"""Every mechanism of the product. Adding one is its file and a line here; laws, audit, docs and CLI read this list."""

from tacit.mechanism.binned_quantiles import BinnedQuantiles
from tacit.mechanism.bounded_mean import BoundedMean
from tacit.mechanism.bounded_variance import BoundedVariance
from tacit.mechanism.coin_flip_survey import CoinFlipSurvey
from tacit.mechanism.exponential import Exponential
from tacit.mechanism.gaussian import DiscreteGaussian, Gaussian
from tacit.mechanism.kary_response import KaryResponse
from tacit.mechanism.key_selection import KeySelection
from tacit.mechanism.laplace import DiscreteLaplace, Laplace
from tacit.mechanism.mechanism import Mechanism
from tacit.mechanism.noisy_max import NoisyMax
from tacit.mechanism.partition_selection import PartitionSelection
from tacit.mechanism.permute_and_flip import PermuteAndFlip
from tacit.mechanism.planar import PlanarLaplace
from tacit.mechanism.propose_test_release import ProposeTestRelease
from tacit.mechanism.quantile import Quantile
from tacit.mechanism.quantiles import Quantiles
from tacit.mechanism.randomized_response import RandomizedResponse
from tacit.mechanism.smooth_median import SmoothMedian
from tacit.mechanism.sparse_vector import SparseVector
from tacit.mechanism.stable_histogram import StableHistogram

__all__ = ["MECHANISMS"]

MECHANISMS: tuple[type[Mechanism], ...] = (
    Laplace,
    DiscreteLaplace,
    Gaussian,
    DiscreteGaussian,
    Exponential,
    PermuteAndFlip,
    NoisyMax,
    SparseVector,
    Quantile,
    Quantiles,
    BinnedQuantiles,
    SmoothMedian,
    ProposeTestRelease,
    PartitionSelection,
    KeySelection,
    StableHistogram,
    BoundedMean,
    BoundedVariance,
    RandomizedResponse,
    KaryResponse,
    CoinFlipSurvey,
    PlanarLaplace,
)
