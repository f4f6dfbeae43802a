"""The law that is drawn for training is the discrete Gaussian that is priced, as near as its page says."""

from fractions import Fraction
from math import exp, pi, sqrt

import numpy as np
import pytest
from mpmath import mp, mpf
from scipy.special import ndtr
from scipy.stats import chi2

from support.fixed_rng import FixedRng
from tacit.noise import wide_gaussians
from tacit.noise.gaussian import gaussian_cells
from tacit.noise.normal import BASE, DIGIT, DISTANCE, DigitTable, wide_steps, wide_variance

RARE = 1e-7


def test_the_constants_are_those_of_the_proof() -> None:
    theta = 2.01 * exp(-2 * pi**2 * DIGIT / (1 + BASE**2))
    assert 9 * theta < float(DISTANCE)
    for digits, bits in ((2, 13.7), (3, 20)):
        steps = wide_steps(digits)
        assert steps**2 <= wide_variance(digits) < (steps + 1) ** 2
        assert 2 ** (bits - 0.2) < steps < 2**bits


def ratio(z: int, variance: int, base: int) -> mpf:
    """Of the law of base·x₁ + x₂, x of this variance, to the discrete Gaussian; both normalised, to 60 digits."""
    total = variance * (base**2 + 1)

    def weight(x: mpf | int, v: int) -> mpf:
        return mp.exp(-(mpf(x) ** 2) / (2 * v))

    reach = range(-40 * int(sqrt(variance)), 40 * int(sqrt(variance)) + 1)
    one = sum(weight(x, variance) for x in reach)
    mixed = sum(weight(x, variance) * weight(z - base * x, variance) for x in reach) / one**2
    # Σ over all integers of exp(−x²/2v) is √(2πv)(1 + 2e^(−2π²v) + …): for v this large it is the integral
    return mixed * mp.sqrt(2 * mp.pi * total) / weight(z, total)


@pytest.mark.parametrize(("variance", "base"), [(400, 15), (900, 16), (400, 10)])
def test_two_digits_are_a_discrete_gaussian_up_to_theta(variance: int, base: int) -> None:
    """At each integer, and the bound is nearly reached: a constant that is 5 % off in the exponent would be seen."""
    mp.dps = 60
    theta = 2 * exp(-2 * pi**2 * variance / (1 + base**2))
    worst = max(
        abs(float(ratio(z, variance, base) - 1)) for z in (0, 1, base // 2, base, 7 * base + 3, 3 * variance // 2)
    )
    assert theta * 0.9 < worst < theta * 1.01


def test_digits_are_drawn_as_the_exact_table_draws() -> None:
    table = gaussian_cells(Fraction(DIGIT), 0)
    drawn = DigitTable(table).drawn(4, 100_000, FixedRng(5)).ravel()
    sigma = sqrt(DIGIT)
    edges = np.arange(-400, 401, 20)
    z = np.arange(-3000, 3001)
    weights = np.exp(-(z**2) / (2 * DIGIT))
    weights /= weights.sum()
    expected = np.array([weights[(z >= low) & (z < low + 20)].sum() for low in edges]) * len(drawn)
    found = np.array([((drawn >= low) & (drawn < low + 20)).sum() for low in edges])
    assert ((found - expected) ** 2 / expected).sum() < chi2.isf(RARE, len(edges))
    assert abs(drawn.std() / sigma - 1) < 6 / sqrt(2 * len(drawn))


@pytest.mark.parametrize(("scale", "digits"), [(1.0, 2), (1.0, 3), (0.95, 2)])
def test_the_noise_has_its_law(scale: float, digits: int) -> None:
    """A chi-square over 64 equal cells; noise 5 % too small fails it."""
    count = 200_000
    drawn = wide_gaussians(count, FixedRng(7), digits) * scale
    cells = np.minimum((ndtr(drawn / sqrt(wide_variance(digits))) * 64).astype(int), 63)
    statistic = ((np.bincount(cells, minlength=64) - count / 64) ** 2 / (count / 64)).sum()
    assert (statistic < chi2.isf(RARE, 63)) == (scale == 1.0)


def test_low_digits_are_uniform() -> None:
    """The lattice is fine: every remainder is as likely as the others, so no digit shows through."""
    for modulus in (BASE, 64):
        found = np.bincount(wide_gaussians(200_000, FixedRng(9)) % modulus, minlength=modulus)
        expected = 200_000 / modulus
        assert ((found - expected) ** 2 / expected).sum() < chi2.isf(RARE, modulus - 1)


def test_sizes() -> None:
    for size in (0, 1, 3, 140_000):
        assert wide_gaussians(size, FixedRng(1)).shape == (size,)
    assert wide_gaussians(5, FixedRng(1)).tolist() != wide_gaussians(5, FixedRng(2)).tolist()
