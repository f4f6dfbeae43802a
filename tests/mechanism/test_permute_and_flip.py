"""Permute-and-flip: law, guarantee, and never worse than the exponential mechanism."""

from fractions import Fraction
from itertools import permutations, product
from math import exp, factorial, log
from typing import Any

import numpy as np
import pytest
from scipy.stats import chisquare

from support.channel import check, max_log_ratio
from support.fixed_rng import FixedRng
from tacit.base import InputError, LatticeError, LossError
from tacit.loss import ZCDP, Pure
from tacit.mechanism.mechanism import Example
from tacit.mechanism.selection import Exponential, PermuteAndFlip

ALARM = 1e-6


@pytest.mark.parametrize("example", PermuteAndFlip.examples())
def test_claims_hold_and_are_attained(example: Example) -> None:
    check(example)


@pytest.mark.parametrize("monotone", [False, True])
def test_no_small_neighbours_break_the_claim(monotone: bool) -> None:
    m = PermuteAndFlip(scale=Fraction(3, 4), monotone=monotone)
    claim = float(m.loss(sensitivity=1).bound)
    for left in product(range(3), repeat=3):
        for move in product((0, 1) if monotone else (-1, 0, 1), repeat=3):
            right = [a + b for a, b in zip(left, move, strict=True)]
            assert max_log_ratio(m.pmf(left), m.pmf(right)) <= claim * (1 + 1e-9)


def test_pmf_is_the_first_head_in_a_random_order() -> None:
    scores = [3, 1, 4, 1, 0]
    bias = [exp((s - 4) / 2) for s in scores]
    law = dict.fromkeys(range(5), 0.0)
    for order in permutations(range(5)):
        still = 1.0
        for i in order:
            law[i] += still * bias[i] / factorial(5)
            still *= 1 - bias[i]
    assert PermuteAndFlip(scale=Fraction(2)).pmf(scores) == pytest.approx(law, rel=1e-12)


@pytest.mark.parametrize("scores", [[3, 0, 1, 1], [5], [2, 2, 2], np.array([0, -7, 1, 0, 1])])
def test_samples_follow_the_pmf(scores: Any) -> None:
    m, rng, draws = PermuteAndFlip(scale=Fraction(7, 4)), FixedRng(1), 8000
    seen = np.bincount([m.sample(scores, rng) for _ in range(draws)], minlength=len(scores))
    law = np.array([*m.pmf(scores).values()])
    assert len(scores) == 1 or chisquare(seen, law / law.sum() * draws).pvalue > ALARM


def test_never_worse_than_exponential() -> None:
    rng = FixedRng(2)
    for _ in range(200):
        scores = [rng.below(12) for _ in range(2 + rng.below(8))]
        means = [
            sum(p * scores[i] for i, p in enumerate(kind(scale=Fraction(3, 2)).pmf(scores).values()))
            for kind in (PermuteAndFlip, Exponential)
        ]
        assert means[0] >= means[1] - 1e-12


def test_error_holds() -> None:
    m = PermuteAndFlip(scale=Fraction(3), granularity=Fraction(1, 1000))
    e = m.error(0.95, candidates=200)
    assert e == pytest.approx(3 * log(200 / 0.05), rel=1e-12)
    failure = 1 - m.pmf([0.0, *[-round(e + 0.001, 3)] * 199])[0]
    assert 0.4 * 0.05 < failure <= 0.05  # about half: the best shows heads too


def test_noise_for_a_guarantee_and_for_an_error() -> None:
    assert PermuteAndFlip.from_loss(Pure(2), sensitivity=3, monotone=True).loss(sensitivity=3) == Pure(2)
    assert PermuteAndFlip.from_loss(Pure(2), sensitivity=3).scale == 3
    with pytest.raises(InputError, match="Pure"):
        PermuteAndFlip.from_loss(ZCDP(1), sensitivity=1)
    assert 5 * (1 - 1e-9) < PermuteAndFlip.from_error(5, candidates=50).error(candidates=50) <= 5


def test_pricing_a_good() -> None:
    m = PermuteAndFlip.from_loss(Pure(2), sensitivity="3.02", monotone=True, granularity="0.01")
    law = m.pmf([3.00, 2.02, 3.01, 0.0])
    assert law[2] > law[0] > law[1] > law[3]
    assert sum(law.values()) == pytest.approx(1, rel=1e-12)


def test_a_million_candidates() -> None:
    scores = np.zeros(10**6, dtype=np.int64)
    scores[777] = 40
    assert PermuteAndFlip(scale=Fraction(1)).sample(scores, FixedRng(5)) == 777
    assert PermuteAndFlip(scale=Fraction(10)).sample(np.arange(10**6), FixedRng(5)) > 999_700


def test_pmf_of_many_candidates_sums_to_one_and_more_are_refused() -> None:
    m, scores = PermuteAndFlip(scale=Fraction(50)), list(range(1000))
    assert sum(m.pmf(scores).values()) == pytest.approx(1, rel=1e-11)
    with pytest.raises(LossError, match="1000"):
        m.pmf([*scores, 0])


@pytest.mark.parametrize(
    ("scores", "error"), [([], InputError), ([1.0, float("nan")], InputError), ([0.5, 1.0], LatticeError)]
)
def test_refuses_scores(scores: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        PermuteAndFlip(scale=Fraction(1)).sample(scores)
