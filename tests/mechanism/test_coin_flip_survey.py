from fractions import Fraction
from math import log
from typing import Any

import numpy as np
import pytest
from scipy.stats import binomtest

from support.fixed_rng import FixedRng
from tacit.base import InputError
from tacit.loss import Pure
from tacit.mechanism.randomized_response import CoinFlipSurvey


def test_a_fair_first_coin_costs_log_three() -> None:
    m = CoinFlipSurvey(truth=Fraction(1, 2))
    assert float(m.loss().epsilon(0)) == pytest.approx(log(3), rel=1e-14)
    assert m.pmf(1) == {0: 0.25, 1: 0.75}


@pytest.mark.parametrize("truth", ["1/2", "1/1000000", "999999/1000000", "1/3"])
def test_the_loss_is_never_below_the_logarithm(truth: str) -> None:
    """log(odds) ≤ bound: e^bound ≥ odds, checked with a partial sum of the exponential series, exactly."""
    m = CoinFlipSurvey(truth=Fraction(truth))
    odds = (1 + m.truth) / (1 - m.truth)
    short = Fraction(int(m.bound * 10**45), 10**45) + Fraction(2, 10**45)  # a little above the bound, shorter digits
    partial, term = Fraction(1), Fraction(1)
    for k in range(1, 120):
        term = Fraction(int(term * short / k * 10**60), 10**60)
        partial += term
    assert partial >= odds * (1 - Fraction(1, 10**40))
    assert float(m.bound) == pytest.approx(log(odds), rel=1e-9)
    assert float(m.bound) >= log(odds) * (1 - 1e-9)


def test_examples_attain_the_claim() -> None:
    for example in CoinFlipSurvey.examples():
        left, right = example.mechanism.pmf(example.left), example.mechanism.pmf(example.right)
        worst = max(abs(log(left[o] / right[o])) for o in left)
        assert worst == pytest.approx(float(example.claim.epsilon(0)), rel=1e-12)


def test_the_yes_rate_is_a_quarter_plus_half_the_share() -> None:
    m = CoinFlipSurvey(truth=Fraction(1, 2))
    for truth, rate in ((0, 0.25), (1, 0.75)):
        seen = int(m.sample(np.full(100_000, truth), FixedRng(1)).sum())
        assert binomtest(seen, 100_000, rate).pvalue > 1e-6
        rng = FixedRng(2)
        assert binomtest(sum(m.sample(truth, rng) for _ in range(10_000)), 10_000, rate).pvalue > 1e-6
    assert m.estimate(np.repeat([1, 0], [400, 600])).value == pytest.approx((0.4 - 0.25) * 2)


@pytest.mark.parametrize("epsilon", ["1e-9", "0.001", 1, 7, 50, 400])
def test_from_loss_never_costs_more_and_hardly_less(epsilon: str) -> None:
    m = CoinFlipSurvey.from_loss(Pure(Fraction(epsilon)))
    assert m.bound <= Fraction(epsilon)
    if Fraction(epsilon) < 30:
        assert float(m.bound) == pytest.approx(float(Fraction(epsilon)), rel=1e-5 if Fraction(epsilon) < 20 else 1e-2)


def test_from_error() -> None:
    m = CoinFlipSurvey.from_error(0.05, respondents=5000)
    assert m.error(respondents=5000) <= 0.05
    assert CoinFlipSurvey(truth=m.truth * Fraction(99, 100)).error(respondents=5000) > 0.05


@pytest.mark.parametrize("truth", [0, 1, -1, 2, float("nan"), None])
def test_bad_truth(truth: Any) -> None:
    with pytest.raises(InputError, match="truth"):
        CoinFlipSurvey(truth=truth)
