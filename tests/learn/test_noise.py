"""The noise of a step: on the lattice, with the law that is priced, for both forms."""

from dataclasses import replace
from fractions import Fraction
from math import pi, sqrt

import numpy as np
import pytest
from scipy.special import ndtr
from scipy.stats import chi2

from support.fixed_rng import FixedRng
from tacit.base import InputError, Sensitivity
from tacit.learn.noise import ENOUGH, Form, GradientNoise
from tacit.mechanism import Gaussian
from tacit.noise import wide_gaussians
from tacit.noise.normal import DISTANCE, wide_steps

RARE = 1e-7


@pytest.mark.parametrize("form", ["fast", "exact"])
@pytest.mark.parametrize(("drawn", "fits"), [("3/2", True), ("57/40", False)])
def test_the_law(form: Form, drawn: str, fits: bool) -> None:
    """Noise that is 5 % too small is noticed."""
    noise = GradientNoise(sigma=Fraction(drawn), dimension=100_000, form=form)
    found = noise.add(np.full(100_000, 0.3), FixedRng(2))
    cells = np.minimum((ndtr((found - 0.3) / 1.5) * 50).astype(int), 49)
    statistic = ((np.bincount(cells, minlength=50) - 2000) ** 2 / 2000).sum()
    assert (statistic < chi2.isf(RARE, 49)) == fits


@pytest.mark.parametrize(("dimension", "digits", "filled"), [(1000, 2, 256), (2**26, 3, 16)])
@pytest.mark.parametrize("longest", [5.0, 1e6])
def test_answers_are_points_of_the_lattice(dimension: int, digits: int, filled: int, longest: float) -> None:
    """The low bits of a sum are gone: what is released is a whole number of steps, to the last bit of a double."""
    noise = GradientNoise(sigma=Fraction(1, 3), dimension=dimension)
    assert noise.granularity == Fraction(1, 3) / wide_steps(digits) / filled
    step, sums = float(noise.granularity), np.linspace(-longest, longest, 1000)
    found = noise.add(sums, FixedRng(3))
    assert (np.rint(found / step) * step == found).all()
    assert abs(np.abs(found - sums).mean() * 3 - sqrt(2 / pi)) < 0.1


def test_a_clip_is_a_unit_and_answers_come_in_the_precision_that_is_given() -> None:
    noise = GradientNoise(sigma=Fraction(1), dimension=1000)
    wanted = noise.add(np.linspace(-2, 2, 1000), FixedRng(3))
    found = noise.add(np.linspace(-1, 1, 1000, dtype=np.float32), FixedRng(3), unit=0.5, factor=0.25)
    assert found.dtype == np.float32
    np.testing.assert_allclose(4 * found, wanted, atol=1e-5)


@pytest.mark.parametrize("sigma", [1, 20])
def test_the_mechanism_that_is_priced_has_no_more_noise_and_counts_the_rounding(sigma: int) -> None:
    noise = GradientNoise(sigma=Fraction(sigma), dimension=2**19)
    mechanism = noise.mechanism
    assert mechanism.sigma == sigma
    assert mechanism.lattice.granularity == noise.coarse
    assert 1 < noise.moved(Fraction(1)) < 1 + ENOUGH
    ours = float(mechanism.loss(Sensitivity(l2=noise.moved(Fraction(1)))).epsilon(1e-5))
    assert ours == pytest.approx(float(Gaussian(sigma=sigma).loss(noise.moved(Fraction(1))).epsilon(1e-5)), rel=1e-4)


def shifts(sums: tuple[np.ndarray, np.ndarray], coarse: int, trials: int) -> np.ndarray:
    """Squared lengths of how far two whole vectors are apart in steps of the coarse lattice, when both are rounded to
    it with the same uniform remainders: what the Gaussian has to hide."""
    rng = np.random.default_rng(1)
    found = []
    for _ in range(trials):
        remainder = rng.integers(coarse, size=len(sums[0]))
        one, two = (-((remainder - each) // coarse) for each in sums)
        found.append(((one - two) ** 2).sum())
    return np.array(found, dtype=float)


@pytest.mark.parametrize("spread", ["one number", "all numbers", "some numbers"])
def test_what_is_hidden_is_no_further_apart_than_is_priced(spread: str) -> None:
    """On lattices so coarse that rounding shows: the bound holds in every trial, and is above the mean by no more than
    five and a half ranges, as a sum of independent numbers."""
    noise = GradientNoise(sigma=Fraction(200), dimension=4096)
    digits, filled = 2, 256
    coarse = float(noise.sigma) / wide_steps(digits)
    share = {"one number": 1, "all numbers": 4096, "some numbers": 60}[spread]
    move = np.zeros(4096)
    move[:share] = 1 / sqrt(share)
    start = np.linspace(-3, 3, 4096)
    fine = [np.rint(each / coarse * filled).astype(int) for each in (start, start + move)]
    bound = float(noise._moved(Fraction(1), digits))
    found = shifts((fine[0], fine[1]), filled, 300) * coarse**2
    assert found.max() <= bound**2
    if spread == "all numbers":
        assert found.min() > 1, "rounding at random does add something"
        assert bound**2 < found.mean() * 1.5


def test_noise_and_remainder_are_what_the_proof_says() -> None:
    """What is drawn, floored to the coarse lattice, is the Gaussian of the coarse lattice; its remainder is uniform."""
    noise = GradientNoise(sigma=Fraction(1), dimension=10)
    drawn = noise._draw(400_000, FixedRng(4))
    low = np.bincount(drawn % 256, minlength=256)
    expected = len(drawn) / 256
    assert ((low - expected) ** 2 / expected).sum() < chi2.isf(RARE, 255)
    assert (drawn // 256 == wide_gaussians(len(drawn), FixedRng(4))[: len(drawn)]).mean() > 0.3, "the same stream"
    cells = np.minimum((ndtr((drawn // 256) / wide_steps(2)) * 50).astype(int), 49)
    assert ((np.bincount(cells, minlength=50) - len(drawn) / 50) ** 2 / (len(drawn) / 50)).sum() < chi2.isf(RARE, 49)
    assert abs(np.corrcoef(drawn // 256, drawn % 256)[0, 1]) < 6 / sqrt(len(drawn))


def test_what_the_fast_form_adds_to_delta_is_next_to_nothing() -> None:
    fast = GradientNoise(sigma=Fraction(1), dimension=10**6)
    exact = replace(fast, form="exact")
    assert exact.distance(10**10) == 0
    assert exact.moved(Fraction(1)) > 1 + Fraction(1000, wide_steps(3)), "it counts the worst that rounding can do"
    assert fast.distance(10**10) == 2 * 10**10 * DISTANCE < Fraction(1, 10**15)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 1e30])
def test_what_is_not_finite_is_not_released(bad: float) -> None:
    with pytest.raises(InputError, match="nothing is released"):
        GradientNoise(sigma=Fraction(1), dimension=3).add(np.array([0.0, bad, 1.0]), FixedRng(1))


def test_more_numbers_than_were_priced_are_refused() -> None:
    with pytest.raises(InputError, match="parameters=4"):
        GradientNoise(sigma=Fraction(1), dimension=3).add(np.zeros(4), FixedRng(1))


def test_a_vector_keeps_its_shape() -> None:
    found = GradientNoise(sigma=Fraction(1), dimension=12).add(np.zeros((2, 3)), FixedRng(1))
    assert found.shape == (2, 3)
    assert len(set(found.ravel())) == 6
