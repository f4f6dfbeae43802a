"""Batches are Poisson: each unit by its own coin, sizes binomial, sometimes empty; groups keep units apart."""

from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import binom, chi2

from support.fixed_rng import FixedRng
from tacit.base import InputError
from tacit.learn.sampling import GroupSampler, PoissonSampler

RARE = 1e-7


def test_sizes_are_binomial_and_units_alike() -> None:
    sampler, rng = PoissonSampler(Fraction(1, 20), 100), FixedRng(3)
    batches = [sampler.batch(step, rng) for step in range(4000)]
    sizes = np.bincount([len(each) for each in batches], minlength=101)
    expected = binom.pmf(np.arange(101), 100, 0.05) * 4000
    often = expected > 20
    statistic = ((sizes - expected)[often] ** 2 / expected[often]).sum()
    assert statistic < chi2.isf(RARE, int(often.sum()))
    assert sizes[0] > 0  # an empty batch is a step too
    each = np.bincount(np.concatenate(batches), minlength=100)
    assert ((each - 200) ** 2 / (200 * 0.95)).sum() < chi2.isf(RARE, 100)


def test_a_fixed_size_would_be_noticed() -> None:
    """Shuffled batches of five are not Poisson: their sizes do not vary."""
    sizes = np.bincount(np.full(4000, 5), minlength=101)
    expected = binom.pmf(np.arange(101), 100, 0.05) * 4000
    often = expected > 20
    assert ((sizes - expected)[often] ** 2 / expected[often]).sum() > chi2.isf(RARE, int(often.sum()))


def test_all_and_none() -> None:
    assert PoissonSampler(Fraction(1), 5).batch(0, FixedRng(1)).tolist() == [0, 1, 2, 3, 4]
    assert PoissonSampler(Fraction(1, 2), 0).batch(0, FixedRng(1)).tolist() == []


@pytest.mark.parametrize("rate", [None, Fraction(1, 2)])
def test_a_unit_is_never_twice_within_the_separation(rate: Fraction | None) -> None:
    rng = FixedRng(4)
    sampler = GroupSampler.draw(7, 500, rate, rng)
    last = np.full(500, -100)
    seen = np.zeros(500, dtype=int)
    for step in range(70):
        units = sampler.batch(step, rng)
        assert (step - last[units] >= 7).all()
        last[units] = step
        seen[units] += 1
    assert seen.max() <= 10
    assert (seen == 10).all() == (rate is None)


def test_groups_are_drawn_alone_and_uniformly() -> None:
    groups = GroupSampler.draw(5, 10_000, None, FixedRng(5)).groups
    assert ((np.bincount(groups) - 2000) ** 2 / 2000).sum() < chi2.isf(RARE, 4)
    with pytest.raises(InputError, match="does not fit the plan"):
        GroupSampler(4, groups)
