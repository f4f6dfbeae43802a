from fractions import Fraction
from math import exp, log
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom, binomtest

from support.fixed_rng import FixedRng, ScriptedRng
from tacit.base import InputError, Relation
from tacit.loss import ZCDP, Pure
from tacit.mechanism.randomized_response import RandomizedResponse


def test_examples_attain_the_claim() -> None:
    for example in RandomizedResponse.examples():
        left, right = example.mechanism.pmf(example.left), example.mechanism.pmf(example.right)
        assert sum(left.values()) == pytest.approx(1, abs=1e-15)
        worst = max(abs(log(left[o] / right[o])) for o in left)
        assert worst == pytest.approx(float(example.claim.epsilon(0)), rel=1e-12)


@pytest.mark.parametrize("epsilon", [Fraction(1, 10), Fraction(1), Fraction(4)])
@pytest.mark.parametrize("truth", [0, 1])
def test_sample_has_the_law_of_pmf(epsilon: Fraction, truth: int) -> None:
    m = RandomizedResponse(epsilon=epsilon)
    p = m.pmf(truth)[1]
    many = int(m.sample(np.full(100_000, truth), FixedRng(3)).sum())
    rng = FixedRng(4)
    single = sum(m.sample(truth, rng) for _ in range(10_000))
    assert binomtest(many, 100_000, p).pvalue > 1e-6
    assert binomtest(single, 10_000, p).pvalue > 1e-6


def test_kinds_and_shapes() -> None:
    m, rng = RandomizedResponse(epsilon=Fraction(1)), FixedRng()
    assert isinstance(m.sample(True, rng), bool)
    assert type(m.sample(1, rng)) is int
    assert m.sample(np.zeros((3, 4), dtype=bool), rng).shape == (3, 4)
    assert m.sample([], rng).size == 0
    assert set(m.sample([0, 1] * 500, rng)) == {0, 1}


@pytest.mark.parametrize("value", [2, -1, 0.5, float("nan"), "yes", None, [0, 2], [0.0, 1.0], np.array([np.nan]), [-1]])
def test_values_out_of_the_domain_are_refused_before_any_coin(value: Any) -> None:
    with pytest.raises(InputError, match="value must be"):
        RandomizedResponse(epsilon=Fraction(1)).sample(value, ScriptedRng([]))


def test_loss_is_local() -> None:
    m = RandomizedResponse(epsilon=Fraction(1, 2))
    assert m.loss() == Pure(Fraction(1, 2), relation=Relation.REPLACE, unit="respondent")
    with pytest.raises(InputError, match="sensitivity"):
        m.loss(1)
    with pytest.raises(InputError, match="exists only if the person answers"):
        m.loss(relation=Relation.ADD_REMOVE)


@pytest.mark.parametrize("epsilon", [0, -1, float("nan"), float("inf"), None])
def test_bad_epsilon(epsilon: Any) -> None:
    with pytest.raises(InputError, match="epsilon"):
        RandomizedResponse(epsilon=epsilon)


def test_from_loss() -> None:
    assert RandomizedResponse.from_loss(Pure(2)).epsilon == 2
    with pytest.raises(InputError, match="pure"):
        RandomizedResponse.from_loss(ZCDP(1))


def test_estimate_is_unbiased_with_the_stated_standard_error() -> None:
    m, rng = RandomizedResponse(epsilon=Fraction(1)), FixedRng(5)
    truth = np.repeat([1, 0], [300, 700])
    found = [m.estimate(m.sample(truth, rng)) for _ in range(2000)]
    values = np.array([e.value for e in found])
    p = 1 / (1 + exp(-1))
    sd = (p * (1 - p) / 1000) ** 0.5 / (2 * p - 1)  # whatever the truth
    assert found[0].standard_error == pytest.approx(sd, rel=1e-12)
    assert sd <= 1 / (2 * (2 * p - 1) * 1000**0.5)
    assert abs(values.mean() - 0.3) < 5 * sd / 2000**0.5
    assert values.std() == pytest.approx(sd, rel=5 / (2 * 2000) ** 0.5)


@pytest.mark.parametrize(
    ("epsilon", "share", "n"), [(1, 0.3, 200), ("1/5", 0.0, 50), (3, 1.0, 30), (3, 0.5, 10), (8, 0.04, 100)]
)
def test_intervals_cover(epsilon: int, share: float, n: int) -> None:
    """Exactly: the probability of every number of ones times whether its interval covers."""
    m = RandomizedResponse(epsilon=Fraction(epsilon))
    ones = round(share * n)
    p, q = m.true_rate, m.false_rate
    law = np.convolve(binom.pmf(np.arange(ones + 1), ones, p), binom.pmf(np.arange(n - ones + 1), n - ones, q))
    for confidence in (0.5, 0.9, 0.95):
        covered = 0.0
        for seen, chance in enumerate(law):
            low, high = m.estimate(np.repeat([1, 0], [seen, n - seen]), confidence).interval
            assert 0 <= low <= high <= 1
            covered += chance * (low - 1e-12 <= share <= high + 1e-12)
        assert covered >= confidence


def test_estimate_refuses_nonsense() -> None:
    m = RandomizedResponse(epsilon=Fraction(1))
    for bad in ([], 1, [2, 0]):
        with pytest.raises(InputError, match="reports"):
            m.estimate(bad)
    with pytest.raises(InputError, match="confidence"):
        m.estimate([0, 1], 0.3)


@pytest.mark.parametrize(("epsilon", "ones", "n"), [("1/2", 500, 1000), (1, 0, 100), (4, 200, 300)])
def test_error_holds_exactly(epsilon: int, ones: int, n: int) -> None:
    m = RandomizedResponse(epsilon=Fraction(epsilon))
    p, q = m.true_rate, m.false_rate
    law = np.convolve(binom.pmf(np.arange(ones + 1), ones, p), binom.pmf(np.arange(n - ones + 1), n - ones, q))
    shares = (np.arange(n + 1) / n - q) / (p - q)
    for confidence in (0.5, 0.95, 0.999):
        inside = np.abs(shares - ones / n) <= m.error(confidence, respondents=n)
        assert law[inside].sum() >= confidence


def test_from_error_is_the_most_noise_that_fits() -> None:
    m = RandomizedResponse.from_error(0.02, respondents=10_000)
    assert m.error(respondents=10_000) <= 0.02
    assert RandomizedResponse(epsilon=m.epsilon * Fraction(99, 100)).error(respondents=10_000) > 0.02
    with pytest.raises(InputError, match="out of reach"):
        RandomizedResponse.from_error(0.001, respondents=10)
