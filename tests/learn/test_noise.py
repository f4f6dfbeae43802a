"""The noise of a step: on the lattice, with the law that is priced, for both forms."""

from dataclasses import replace
from fractions import Fraction
from math import sqrt

import numpy as np
import pytest
from scipy.special import ndtr
from scipy.stats import chi2

from support.fixed_rng import FixedRng
from tacit.base import InputError, Sensitivity
from tacit.learn.noise import Form, GradientNoise
from tacit.mechanism import Gaussian
from tacit.noise.normal import DISTANCE, wide_steps

RARE = 1e-7


@pytest.mark.parametrize("form", ["fast", "exact"])
@pytest.mark.parametrize(("drawn", "fits"), [("3/2", True), ("57/40", False)])
def test_the_law(form: Form, drawn: str, fits: bool) -> None:
    """Noise that is 5 % too small is noticed."""
    noise = GradientNoise(sigma=Fraction(drawn), dimension=100_000, form=form)
    (found,) = noise.add([np.full(100_000, 0.3)], FixedRng(2))
    cells = np.minimum((ndtr((found - 0.3) / 1.5) * 50).astype(int), 49)
    statistic = ((np.bincount(cells, minlength=50) - 2000) ** 2 / 2000).sum()
    assert (statistic < chi2.isf(RARE, 49)) == fits


@pytest.mark.parametrize(("dimension", "digits"), [(1000, 3), (2**23, 4)])
def test_answers_are_points_of_the_lattice(dimension: int, digits: int) -> None:
    """The low bits of a sum are gone: what is released is a whole number of steps, to the last bit of a double."""
    noise = GradientNoise(sigma=Fraction(1, 3), dimension=dimension)
    assert noise.granularity == Fraction(1, 3) / wide_steps(digits)
    step = float(noise.granularity)
    (found,) = noise.add([np.linspace(-5, 5, 1000)], FixedRng(3))
    assert (np.rint(found / step) * step == found).all()


def test_the_mechanism_that_is_priced_has_no_more_noise_and_counts_the_rounding() -> None:
    noise = GradientNoise(sigma=Fraction(2), dimension=2**20)
    mechanism = noise.mechanism
    assert mechanism.sigma == 2
    assert mechanism.lattice.granularity == noise.granularity
    moved = 1 + 2**10 * float(noise.granularity)
    ours = float(mechanism.loss(Sensitivity(l2=1)).epsilon(1e-5))
    assert ours == pytest.approx(float(Gaussian(sigma=2).loss(moved).epsilon(1e-5)), rel=1e-4)


def test_what_the_fast_form_adds_to_delta_is_next_to_nothing() -> None:
    fast = GradientNoise(sigma=Fraction(1), dimension=10**6)
    exact = replace(fast, form="exact")
    assert exact.distance(10**10) == 0
    assert fast.distance(10**10) == 10**10 * DISTANCE < Fraction(1, 10**15)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 1e30])
def test_what_is_not_finite_is_not_released(bad: float) -> None:
    with pytest.raises(InputError, match="nothing is released"):
        GradientNoise(sigma=Fraction(1), dimension=3).add([np.array([0.0, bad, 1.0])], FixedRng(1))


def test_more_numbers_than_were_priced_are_refused() -> None:
    with pytest.raises(InputError, match="parameters=4"):
        GradientNoise(sigma=Fraction(1), dimension=3).add([np.zeros(2), np.zeros(2)], FixedRng(1))


def test_parts_keep_their_shape_and_their_own_noise() -> None:
    one, two = GradientNoise(sigma=Fraction(1), dimension=12).add([np.zeros((2, 3)), np.zeros(6)], FixedRng(1))
    assert (one.shape, two.shape) == ((2, 3), (6,))
    assert not np.isin(one, two).any()
    assert abs(np.concatenate([one.ravel(), two]).std() - 1) < 6 / sqrt(24)
