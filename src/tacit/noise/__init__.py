"""The only source of randomness, and exact samplers on it."""

from tacit.noise.choice import choose
from tacit.noise.coin import bernoulli, bernoulli_exp, coins, coins_exp_each, logistic, logistics
from tacit.noise.gaussian import discrete_gaussian, discrete_gaussians
from tacit.noise.heads import heads
from tacit.noise.laplace import (
    discrete_laplace,
    discrete_laplaces,
    geometric,
    geometrics,
    planar_laplace,
    planar_laplaces,
)
from tacit.noise.normal import wide_gaussians
from tacit.noise.rng import Rng, SecureRng, rng_or_default, uniform

__all__ = [
    "Rng",
    "SecureRng",
    "bernoulli",
    "bernoulli_exp",
    "choose",
    "coins",
    "coins_exp_each",
    "discrete_gaussian",
    "discrete_gaussians",
    "discrete_laplace",
    "discrete_laplaces",
    "geometric",
    "geometrics",
    "heads",
    "logistic",
    "logistics",
    "planar_laplace",
    "planar_laplaces",
    "rng_or_default",
    "uniform",
    "wide_gaussians",
]
