"""A user's file that passes plain numbers is well typed, and what comes back is a Fraction.

`make check` reads this file with mypy, strictly: lines that must be errors are marked, and a mark that marks no error
is one itself.
"""

from fractions import Fraction
from typing import TYPE_CHECKING

import tacit
from tacit import DiscreteGaussian, DiscreteLaplace, Gaussian, Laplace, Sensitivity
from tacit.base import Lattice
from tacit.loss import ZCDP, Approx, Cost, Pure
from tacit.mechanism import (
    BinnedQuantiles,
    BoundedMean,
    Exponential,
    KaryResponse,
    KeySelection,
    Quantile,
    RandomizedResponse,
    SparseVector,
)

noise = Laplace(scale=2)

if TYPE_CHECKING:
    Laplace(scale=None)  # type: ignore[arg-type]
    noise.scale = Fraction(3)  # type: ignore[arg-type]
    wrong: str = noise.scale  # type: ignore[assignment]


def test_plain_numbers_are_well_typed() -> None:
    Laplace(scale=0.5, granularity="1/8")
    DiscreteLaplace(scale="7/3")
    DiscreteGaussian(sigma=3)
    Gaussian(sigma=3.5, granularity=0.25)
    Sensitivity(l2=0.5, dimension=3)
    Lattice(0.1)
    (ZCDP(0.5), Approx(1, 1e-6), Cost(epsilon=1, delta="1e-6"))
    Exponential(scale=2)
    KeySelection(scale=64, delta=1e-6)
    Quantile(quantile=0.5, lower=0, upper=100, scale=4)
    BinnedQuantiles(quantiles=(0.5, "3/4"), scale=4, cells=10)
    RandomizedResponse(epsilon=1)
    KaryResponse(epsilon=1, categories=4)
    SparseVector(threshold_scale=1, query_scale=2, answers=1)
    BoundedMean(lower=0, upper=1, sum_noise=noise, n=10)
    scale: Fraction = noise.scale
    step: Fraction | None = noise.granularity
    norm: Fraction | None = Sensitivity(l1=1).l1
    assert (scale, norm) == (Fraction(2), Fraction(1))
    assert step is None or step > 0


def test_an_off_lattice_number_and_an_interval_are_numbers() -> None:
    assert isinstance(noise.sample(3.7), int | float | Fraction)
    epsilon = tacit.ZCDP(0.01).epsilon(1e-6)
    assert 0 < epsilon < 2
    assert f"{epsilon:.2f}" == f"{float(epsilon):.2f}"
    assert round(epsilon, 2) == round(float(epsilon), 2)
    assert Pure(1) * 3 == 3 * Pure(1)
    assert tacit.survey.PROTOCOLS
    assert tacit.place.GeoLaplace.theory
