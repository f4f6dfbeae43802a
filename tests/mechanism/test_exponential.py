"""The exponential mechanism: law, guarantee in both currencies, utility, and what it refuses."""

from fractions import Fraction
from itertools import product
from math import exp, log
from typing import Any

import numpy as np
import pytest
from scipy.stats import chisquare

from support.channel import check, max_log_ratio
from support.fixed_rng import FixedRng
from tacit.base import InputError, LatticeError, Relation, SensitivityError
from tacit.loss import ZCDP, Approx, Pure
from tacit.mechanism.mechanism import Example
from tacit.mechanism.selection import Exponential

ALARM = 1e-6


@pytest.mark.parametrize("example", Exponential.examples())
def test_claims_hold_and_are_attained(example: Example) -> None:
    check(example)


@pytest.mark.parametrize("monotone", [False, True])
def test_no_small_neighbours_break_the_claim(monotone: bool) -> None:
    m = Exponential(scale=Fraction(3, 4), monotone=monotone)
    claim = float(m.loss(sensitivity=1).bound)
    for left in product(range(3), repeat=3):
        for move in product((0, 1) if monotone else (-1, 0, 1), repeat=3):
            right = [a + b for a, b in zip(left, move, strict=True)]
            assert max_log_ratio(m.pmf(left), m.pmf(right)) <= claim * (1 + 1e-9)


def test_not_monotone_scores_do_break_the_monotone_claim() -> None:
    m = Exponential(scale=Fraction(1), monotone=True)
    assert max_log_ratio(m.pmf([1, 30]), m.pmf([0, 31])) > 1.9 * float(m.loss(sensitivity=1).bound)


@pytest.mark.parametrize("scores", [[3, 0, 1, 1], [5], [2, 2], np.array([0, -7, 1]), [Fraction(1), 0, 2]])
def test_samples_follow_the_pmf(scores: Any) -> None:
    m, rng, draws = Exponential(scale=Fraction(7, 4)), FixedRng(1), 5000
    seen = np.bincount([m.sample(scores, rng) for _ in range(draws)], minlength=len(scores))
    law = np.array([*m.pmf(scores).values()])
    assert len(scores) == 1 or chisquare(seen, law / law.sum() * draws).pvalue > ALARM


def test_pmf_is_the_definition() -> None:
    law = Exponential(scale=Fraction(2), granularity=Fraction(1, 4)).pmf([0.25, 1.5, -3.0])
    weights = [exp(0.125), exp(0.75), exp(-1.5)]
    assert [law[i] for i in range(3)] == pytest.approx([w / sum(weights) for w in weights], rel=1e-14)


def test_concentrated_is_an_eighth_of_the_squared_range_and_no_less() -> None:
    m = Exponential(scale=Fraction(10))
    rho = m.concentrated(sensitivity=1).rho
    assert rho == Fraction(1, 5) ** 2 / 8
    p, q = (np.array(list(m.pmf(scores).values())) for scores in ([0, 0], [1, -1]))
    for alpha in (1.01, 2, 5, 30):
        renyi = log(float((p**alpha * q ** (1 - alpha)).sum())) / (alpha - 1)
        assert renyi <= float(rho) * alpha
        if alpha < 3:
            assert renyi > 0.97 * float(rho) * alpha


@pytest.mark.parametrize("gap", range(1, 12, 2))
def test_concentrated_holds_for_every_pair(gap: int) -> None:
    m = Exponential(scale=Fraction(2))
    rho = float(m.concentrated(sensitivity=gap).rho)
    for start in range(-12, 13):
        p, q = (np.array(list(m.pmf(scores).values())) for scores in ([start, 0, 0], [start + gap, -gap, 0]))
        for alpha in (1.1, 2, 8, 20):
            assert log(float((p**alpha * q ** (1 - alpha)).sum())) / (alpha - 1) <= rho * alpha * (1 + 1e-9)


def test_noise_for_a_guarantee() -> None:
    assert Exponential.from_loss(Pure("0.1"), sensitivity=3).scale == 60
    assert Exponential.from_loss(Pure("0.1"), sensitivity=3, monotone=True).loss(sensitivity=3).bound == Fraction("0.1")
    for rho in (1, Fraction(1, 1000), 0.37):
        for monotone in (False, True):
            m = Exponential.from_loss(ZCDP(rho), sensitivity=2, monotone=monotone)
            found = m.concentrated(sensitivity=2).rho
            assert 0.999999 * ZCDP(rho).rho < found <= ZCDP(rho).rho


def test_relation_and_unit_are_carried() -> None:
    loss = Exponential(scale=Fraction(1)).loss(sensitivity=1, relation=Relation.REPLACE, unit="user")
    assert (loss.relation, loss.unit) == (Relation.REPLACE, "user")


def test_error_holds_and_is_nearly_needed() -> None:
    m, beta = Exponential(scale=Fraction(3)), 0.05
    e = m.error(0.95, candidates=1000)
    assert e == pytest.approx(3 * log(1000 / beta), rel=1e-12)
    law = Exponential(scale=Fraction(3), granularity=Fraction(1, 10**6)).pmf([0.0, *[-round(e + 1e-5, 6)] * 999])
    assert 0.9 * beta < 1 - law[0] <= beta


def test_most_noise_for_an_error() -> None:
    m = Exponential.from_error(5, candidates=200, confidence=0.99, granularity=Fraction(1, 2))
    assert 5 * (1 - 1e-9) < m.error(0.99, candidates=200) <= 5
    assert m.granularity == Fraction(1, 2)


def test_pricing_a_good() -> None:
    valuations, prices = (100, 101, 301), (100, 101, 301, 302)  # in cents
    revenues = [price * sum(v >= price for v in valuations) for price in prices]
    assert revenues == [300, 202, 301, 0]
    # one bidder more or less moves each revenue by at most the highest price, and all the same way
    m = Exponential.from_loss(Pure(2), sensitivity="3.02", monotone=True, granularity="0.01")
    law = m.pmf([revenue / 100 for revenue in revenues])
    assert law[2] > law[0] > law[1] > law[3]
    assert law[3] / law[2] == pytest.approx(exp(-2 * 3.01 / 3.02), rel=1e-12)


def test_a_million_candidates() -> None:
    scores = np.zeros(10**6, dtype=np.int64)
    scores[777] = 40
    assert Exponential(scale=Fraction(1)).sample(scores, FixedRng(5)) == 777
    half = Exponential(scale=Fraction(1), granularity=Fraction(1, 2))
    assert half.sample(np.arange(10**6) * 0.5, FixedRng(5)) > 999_900


def test_far_apart_and_enormous_scores() -> None:
    m = Exponential(scale=Fraction(1))
    assert m.sample([2**80, 0, -(2**80)], FixedRng(6)) == 0
    assert m.sample(np.array([-(2**63), 2**62]), FixedRng(6)) == 1
    assert m.pmf([-1, 2**63 + 1, 2**63 + 2])[1] == pytest.approx(1 / (1 + exp(1)))  # doubles cannot tell these apart


@pytest.mark.parametrize(
    ("scores", "error"),
    [
        ([], InputError),
        ([[1, 2], [3, 4]], InputError),
        ([1.0, float("nan")], InputError),
        ([1.0, float("inf")], InputError),
        ([0.5, 1.0], LatticeError),
        (["a", "b"], InputError),
        ([True, False], InputError),
        ([1, None], InputError),
        (3, InputError),
        ([[1], [2, 3]], InputError),
        ([2**80, float("nan")], InputError),
    ],
)
def test_refuses_scores(scores: Any, error: type[Exception]) -> None:
    m = Exponential(scale=Fraction(1))
    for use in (m.sample, m.pmf):
        with pytest.raises(error):
            use(scores)


def test_refuses_parameters() -> None:
    wrong: Any
    for wrong in (0, -1, float("nan"), float("inf"), None):
        with pytest.raises(InputError, match="scale"):
            Exponential(scale=wrong)
    with pytest.raises(InputError, match="granularity"):
        Exponential(scale=Fraction(1), granularity=Fraction(0))
    wrong = "no"  # truthy
    with pytest.raises(InputError, match="monotone"):
        Exponential(scale=Fraction(1), monotone=wrong)
    with pytest.raises(SensitivityError):
        Exponential(scale=Fraction(1)).loss()
    for loss in (Approx(1, 1e-6), Pure(0), ZCDP(0), ZCDP(1, delta=1e-6)):
        with pytest.raises(InputError, match="Pure"):
            Exponential.from_loss(loss, sensitivity=1)
    with pytest.raises(InputError, match="sensitivity"):
        Exponential.from_loss(Pure(1), sensitivity=0)
    with pytest.raises(InputError, match="candidates"):
        Exponential(scale=Fraction(1)).error(candidates=0)
    with pytest.raises(InputError, match="confidence"):
        Exponential(scale=Fraction(1)).error(1, candidates=2)
