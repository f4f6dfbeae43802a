"""Heads by their gaps: the places of independent coins, exactly."""

from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import binom, chi2, norm

from support.fixed_rng import FixedRng
from tacit.noise import heads
from tacit.noise.bounds import Enclosure
from tacit.noise.heads import DENSE, FEW, _block, _gaps

RARE = 1e-7


@pytest.mark.parametrize("rate", [Fraction(1, 100), Fraction(1, 999), Fraction("0.0003"), Fraction(1, 10**7)])
def test_the_table_holds_the_powers(rate: Fraction) -> None:
    """Bounds on 1 − (1 − p)^j around the exact rational, a few units apart, at two precisions."""
    for bits in (96, 160):
        bounds: list[Enclosure] = list(_gaps(rate)._cumulative(bits))
        assert len(bounds) == _block(rate)
        for place in (0, 1, 7, len(bounds) - 1):
            exact = (1 - (1 - rate) ** (place + 1)) * (1 << bits)
            low, high = bounds[place]
            assert low <= exact <= high <= low + 2


@pytest.mark.parametrize(
    ("rate", "size", "wrong"),
    [
        (Fraction(1, 100), 5000, None),
        (Fraction(1, 700), 9000, None),
        (Fraction(1, 20_000), 60_000, None),  # most draws are of a whole block without a head
        (Fraction(1, 700), 9000, Fraction(1, 665)),  # 5 % more
    ],
)
def test_counts_are_binomial_and_places_uniform(rate: Fraction, size: int, wrong: Fraction | None) -> None:
    rng = FixedRng(7)
    drawn = [heads(wrong or rate, size, rng) for _ in range(3000)]
    assert all((np.diff(each) > 0).all() and (len(each) == 0 or 0 <= each[0] <= each[-1] < size) for each in drawn)
    counts = np.array([len(each) for each in drawn])
    quantiles = np.unique(binom.ppf(np.linspace(0.05, 0.95, 10), size, float(rate)))
    expected = np.diff(np.concatenate([[0], binom.cdf(quantiles, size, float(rate)), [1]])) * len(drawn)
    seen = np.bincount(np.searchsorted(quantiles, counts), minlength=len(expected))
    statistic = ((seen - expected) ** 2 / expected).sum()
    assert (statistic < chi2.isf(RARE, len(expected) - 1)) == (wrong is None)
    if wrong is None:
        cells = np.bincount(np.concatenate(drawn) * 20 // size, minlength=20)
        mean = counts.sum() / 20
        assert ((cells - mean) ** 2 / mean).sum() < chi2.isf(RARE, 19)


def test_neighbouring_places_are_independent() -> None:
    """Two heads side by side are as frequent as the square of one."""
    rng, rate, size, rounds = FixedRng(9), Fraction(1, 70), 6000, 2000
    pairs = sum(int((np.diff(heads(rate, size, rng)) == 1).sum()) for _ in range(rounds))
    mean = float(rate) ** 2 * (size - 1) * rounds
    assert abs(pairs - mean) < norm.isf(RARE) * 1.2 * np.sqrt(mean)


def test_first_and_last_place_are_like_any_other() -> None:
    rng, rate, size, rounds = FixedRng(11), DENSE / 2, FEW, 20_000
    ends = np.zeros(2)
    for _ in range(rounds):
        found = heads(rate, size, rng)
        ends += [found[0] == 0, found[-1] == size - 1]
    assert (np.abs(ends - rounds * float(rate)) < norm.isf(RARE) * np.sqrt(rounds * float(rate))).all()


def test_none_and_all() -> None:
    assert heads(Fraction(0), 10_000, FixedRng(1)).tolist() == []
    assert heads(Fraction(1, 1000), 0, FixedRng(1)).tolist() == []
    assert len(heads(Fraction(1), 10_000, FixedRng(1))) == 10_000
