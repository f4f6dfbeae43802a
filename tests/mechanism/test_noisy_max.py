"""Report-noisy-max: law with ties, guarantee on the integers, utility, and its kinship with permute-and-flip."""

from fractions import Fraction
from itertools import product
from math import exp
from typing import Any, Literal

import numpy as np
import pytest
from scipy.stats import chisquare

from support.channel import check, max_log_ratio
from support.fixed_rng import FixedRng
from tacit.base import InputError, LatticeError, LossError
from tacit.loss import Pure
from tacit.mechanism.mechanism import Example
from tacit.mechanism.selection import NoisyMax, PermuteAndFlip

ALARM = 1e-6
NOISES: tuple[Literal["laplace", "exponential"], ...] = ("laplace", "exponential")


@pytest.mark.parametrize("example", NoisyMax.examples())
def test_claims_hold_and_are_attained(example: Example) -> None:
    check(example)


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("monotone", [False, True])
def test_no_small_neighbours_break_the_claim(noise: Literal["laplace", "exponential"], monotone: bool) -> None:
    m = NoisyMax(scale=Fraction(3, 4), monotone=monotone, noise=noise)
    claim = float(m.loss(sensitivity=1).bound)
    for left in product(range(3), repeat=3):
        for move in product((0, 1) if monotone else (-1, 0, 1), repeat=3):
            right = [a + b for a, b in zip(left, move, strict=True)]
            assert max_log_ratio(m.pmf(left), m.pmf(right)) <= claim * (1 + 1e-9)


@pytest.mark.parametrize("noise", NOISES)
def test_pmf_is_brute_force(noise: Literal["laplace", "exponential"]) -> None:
    scores, r, reach = [1, 0, 1], exp(-1 / 0.5), 12
    support = range(-reach, reach + 1) if noise == "laplace" else range(2 * reach)
    weights = {z: r ** abs(z) for z in support}
    total = sum(weights.values())
    law = [0.0, 0.0, 0.0]
    for z in product(support, repeat=3):
        values = [s + x for s, x in zip(scores, z, strict=True)]
        winners = [i for i in range(3) if values[i] == max(values)]
        for i in winners:
            law[i] += weights[z[0]] * weights[z[1]] * weights[z[2]] / total**3 / len(winners)
    assert list(NoisyMax(scale=Fraction(1, 2), noise=noise).pmf(scores).values()) == pytest.approx(law, rel=1e-8)


def test_one_sided_noise_is_permute_and_flip() -> None:
    rng = FixedRng(4)
    for _ in range(50):
        scores, scale = [rng.below(9) for _ in range(2 + rng.below(5))], Fraction(1 + rng.below(20), 4)
        assert NoisyMax(scale=scale).pmf(scores) == pytest.approx(PermuteAndFlip(scale=scale).pmf(scores), rel=1e-10)


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("scores", [[3, 0, 1, 1], [5], [2, 2, 2], [0] * 20 + [2] * 20])
def test_samples_follow_the_pmf(noise: Literal["laplace", "exponential"], scores: Any) -> None:
    m, rng, draws = NoisyMax(scale=Fraction(7, 4), noise=noise), FixedRng(1), 4000
    seen = np.bincount([m.sample(scores, rng) for _ in range(draws)], minlength=len(scores))
    law = np.array([*m.pmf(scores).values()])
    assert len(scores) == 1 or chisquare(seen, law / law.sum() * draws).pvalue > ALARM


def test_a_finer_lattice_for_the_noise() -> None:
    coarse, fine = (NoisyMax(scale=Fraction(1), granularity=Fraction(1, n), noise="laplace") for n in (1, 64))
    assert 0.001 < abs(coarse.pmf([0, 1])[0] - fine.pmf([0, 1])[0]) < 0.1
    assert fine.pmf([0, 1])[0] == pytest.approx((1 + 0.5) * exp(-1) / 2, rel=1e-3)  # the continuous law
    rng = FixedRng(2)
    wins = sum(fine.sample([0, 1], rng) == 0 for _ in range(2000))
    assert abs(wins - 2000 * fine.pmf([0, 1])[0]) < 5 * 500**0.5


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("scale", [Fraction(1, 3), Fraction(1), Fraction(20)])
def test_chance_that_one_noise_beats_another(noise: Literal["laplace", "exponential"], scale: Fraction) -> None:
    r = exp(-1 / scale)
    z = np.arange(-900 if noise == "laplace" else 0, 900)
    p = r ** np.abs(z)
    p /= p.sum()
    gap = np.subtract.outer(z, z)
    for steps in (0, 1, 2, 7, 40):
        brute = float((np.outer(p, p) * (gap >= steps)).sum())
        assert NoisyMax(scale=scale, noise=noise)._beats(steps) == pytest.approx(brute, rel=1e-9)


@pytest.mark.parametrize("noise", NOISES)
def test_error_holds_and_is_nearly_needed(noise: Literal["laplace", "exponential"]) -> None:
    m = NoisyMax(scale=Fraction(6), noise=noise)
    e = m.error(0.9, candidates=2)
    assert 1 - m.pmf([0, -int(e) - 1])[0] <= 0.1
    assert 1 - m.pmf([0, -int(e) + 2])[0] > 0.1
    e = m.error(0.9, candidates=12)
    assert 0.03 < 1 - m.pmf([0, *[-int(e) - 1] * 11])[0] <= 0.1
    assert m.error(0.9, candidates=1) == 0


@pytest.mark.parametrize("noise", NOISES)
def test_noise_for_a_guarantee_and_for_an_error(noise: Literal["laplace", "exponential"]) -> None:
    m = NoisyMax.from_loss(Pure(2), sensitivity=3, noise=noise)
    assert m == NoisyMax(scale=Fraction(3), noise=noise)
    m = NoisyMax.from_error(20, candidates=50, noise=noise)
    assert m.error(candidates=50) <= 20 < NoisyMax(scale=m.scale * Fraction(11, 10), noise=noise).error(candidates=50)


def test_pricing_a_good() -> None:
    m = NoisyMax.from_loss(Pure(2), sensitivity="3.02", monotone=True, granularity="0.01", noise="laplace")
    law = m.pmf([3.00, 2.02, 3.01, 0.0])
    assert law[2] > law[0] > law[1] > law[3]


@pytest.mark.parametrize("noise", NOISES)
def test_a_million_candidates(noise: Literal["laplace", "exponential"]) -> None:
    scores = np.zeros(10**6, dtype=np.int64)
    scores[777] = 60
    assert NoisyMax(scale=Fraction(1), noise=noise).sample(scores, FixedRng(5)) == 777


def test_enormous_scores_and_scales() -> None:
    assert NoisyMax(scale=Fraction(1)).sample([2**80, 0], FixedRng(6)) == 0
    assert NoisyMax(scale=Fraction(2**70)).sample([0, 2**90], FixedRng(6)) == 1


def test_refuses() -> None:
    unknown: Any = "gumbel"
    with pytest.raises(InputError, match="noise"):
        NoisyMax(scale=Fraction(1), noise=unknown)
    with pytest.raises(InputError, match="empty"):
        NoisyMax(scale=Fraction(1)).sample([])
    with pytest.raises(InputError, match="finite"):
        NoisyMax(scale=Fraction(1)).sample([1.0, float("nan")])
    with pytest.raises(LatticeError):
        NoisyMax(scale=Fraction(1)).sample([0.5])
    with pytest.raises(LossError, match="coarser"):
        NoisyMax(scale=Fraction(10**7)).pmf([0, 1])
