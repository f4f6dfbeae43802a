from fractions import Fraction
from math import log
from typing import Any

import numpy as np
import pytest
from scipy.stats import chisquare

from support.fixed_rng import FixedRng, ScriptedRng
from tacit.base import InputError, Relation
from tacit.loss import Pure
from tacit.mechanism.randomized_response import KaryResponse, RandomizedResponse


def test_examples_attain_the_claim() -> None:
    for example in KaryResponse.examples():
        left, right = example.mechanism.pmf(example.left), example.mechanism.pmf(example.right)
        assert sum(left.values()) == pytest.approx(1, abs=1e-14)
        worst = max(abs(log(left[o] / right[o])) for o in left)
        assert worst == pytest.approx(float(example.claim.epsilon(0)), rel=1e-12)


@pytest.mark.parametrize(("epsilon", "k"), [("1/10", 3), (1, 10), (3, 300), (2, 2)])
def test_sample_has_the_law_of_pmf(epsilon: str, k: int) -> None:
    m = KaryResponse(epsilon=Fraction(epsilon), categories=k)
    for truth in {0, 1, k - 1}:
        law = m.pmf(truth)
        expected = np.array([law[c] for c in range(k)])
        many = np.bincount(m.sample(np.full(100_000, truth), FixedRng(1)), minlength=k)
        assert chisquare(many, expected * 100_000).pvalue > 1e-6
        rng = FixedRng(2)
        single = np.bincount([m.sample(truth, rng) for _ in range(5000)], minlength=k)
        assert chisquare(single, expected * 5000).pvalue > 1e-6


def test_many_categories() -> None:
    m = KaryResponse(epsilon=Fraction(1), categories=2**60)
    reports = m.sample(np.full(1000, 7), FixedRng(1))
    assert reports.min() >= 0
    assert reports.max() < 2**60
    assert len(np.unique(reports)) > 990  # next to nobody keeps the truth
    with pytest.raises(InputError, match="too many"):
        m.estimate(reports)
    with pytest.raises(InputError, match="categories"):
        KaryResponse(epsilon=Fraction(1), categories=2**63)


@pytest.mark.parametrize("k", [1, 0, 2.5, None])
def test_bad_categories(k: Any) -> None:
    with pytest.raises(InputError, match="categories"):
        KaryResponse(epsilon=Fraction(1), categories=k)


def test_out_of_domain_is_refused_before_any_coin() -> None:
    m = KaryResponse(epsilon=Fraction(1), categories=5)
    for bad in (5, -1, [0, 5], np.array([1.0]), "a"):
        with pytest.raises(InputError, match="0 to 4"):
            m.sample(bad, ScriptedRng([]))


def test_loss_and_calibration() -> None:
    m = KaryResponse.from_loss(Pure(0.7), categories=4)
    assert m.loss() == Pure(Fraction(7, 10), relation=Relation.REPLACE, unit="respondent")
    found = KaryResponse.from_error(0.05, respondents=50_000, categories=4)
    assert found.error(respondents=50_000) <= 0.05
    assert KaryResponse(epsilon=found.epsilon * Fraction(99, 100), categories=4).error(respondents=50_000) > 0.05


def test_two_categories_are_randomised_response() -> None:
    assert KaryResponse(epsilon=Fraction(1), categories=2).pmf(1) == pytest.approx(
        RandomizedResponse(epsilon=Fraction(1)).pmf(1)
    )


def test_estimates_are_unbiased_and_intervals_cover() -> None:
    m, rng, rounds = KaryResponse(epsilon=Fraction(2), categories=5), FixedRng(6), 1500
    truth = np.repeat(np.arange(5), [500, 300, 150, 50, 0])
    shares = np.array([0.5, 0.3, 0.15, 0.05, 0])
    found = [m.estimate(m.sample(truth, rng), 0.9) for _ in range(rounds)]
    values = np.array([e.value for e in found])
    p, q = m.true_rate, m.false_rate
    sd = np.sqrt((shares * p * (1 - p) + (1 - shares) * q * (1 - q)) / 1000) / (p - q)
    assert (np.abs(values.mean(axis=0) - shares) < 5.5 * sd / rounds**0.5).all()
    assert values.std(axis=0) == pytest.approx(sd, rel=5.5 / (2 * rounds) ** 0.5)
    assert np.allclose(values.sum(axis=1), 1)
    covered = np.mean([(e.lower <= shares) & (shares <= e.upper) for e in found], axis=0)
    assert (covered >= 0.9 - 5 * (0.09 / rounds) ** 0.5).all()
    worst = np.abs(values - shares).max(axis=1)
    assert np.mean(worst <= m.error(0.9, respondents=1000)) >= 0.9
