"""The rules for votes: what an answer and a check cost, and that what is drawn has that law."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy.special import logsumexp

from support.fixed_rng import FixedRng
from tacit.base import InputError, Relation
from tacit.learn import GNMax, LNMax
from tacit.learn.votes import moved_votes
from tacit.mechanism import DiscreteGaussian, NoisyMax


def test_prices_of_answers_and_checks() -> None:
    rule = GNMax(sigma=40, confident=(150, 200))
    assert (rule.answer_rho(1), rule.check_rho(1)) == (Fraction(1, 1600), Fraction(1, 45_000))
    assert (rule.answer_rho(2), rule.check_rho(2)) == (Fraction(4, 1600), Fraction(4, 45_000))
    assert GNMax(sigma=40).check_rho(1) == 0
    assert LNMax(scale=20).answer_rho(1) == Fraction(1, 200)
    assert LNMax(scale=20).answer_rho(1) == Fraction("0.1") ** 2 / 2
    assert (moved_votes(Relation.ADD_REMOVE), moved_votes(Relation.REPLACE)) == (1, 2)


@pytest.mark.parametrize("scale", ["1/2", 3])
def test_an_answer_of_lnmax_costs_no_more_than_it_says(scale: str | int) -> None:
    rule, noise = LNMax(scale=scale), NoisyMax(scale=scale, noise="laplace")
    left, right = ([5, 3, 0], [4, 4, 0])
    p, q = (np.log([noise.pmf(votes)[i] for i in range(3)]) for votes in (left, right))
    for order in (1.5, 4, 32):
        assert logsumexp(order * p + (1 - order) * q) / (order - 1) <= float(rule.answer_rho(1)) * order
    assert max(abs(p - q)) <= 2 / float(rule.scale)


def test_a_check_costs_no_more_than_it_says() -> None:
    """The exact law of «max + noise ≥ T» on neighbouring votes, which come near the claim."""
    sigma, worst = Fraction(2), 0.0
    rule = GNMax(sigma=40, confident=(sigma, 10))
    noise: Any = DiscreteGaussian(sigma=sigma).pmf(0)
    for most in range(4, 17):
        chance = [sum(p for z, p in noise.items() if at + z >= 10) for at in (most, most + 1)]
        laws = [np.log([c, 1 - c]) for c in chance]
        for p, q in (laws, laws[::-1]):
            for order in (1.2, 3, 10):
                found = logsumexp(order * p + (1 - order) * q) / (order - 1)
                assert found <= float(rule.check_rho(1)) * order * (1 + 1e-9)
                worst = max(worst, found / order)
    assert worst > 0.6 * float(rule.check_rho(1))


def test_checks_pass_as_often_as_their_law_says() -> None:
    rule, rng = GNMax(sigma=3, confident=(4, 10)), FixedRng(1)
    noise: Any = DiscreteGaussian(sigma=4).pmf(0)
    for most in (6, 10, 14):
        chance = sum(p for z, p in noise.items() if most + z >= 10)
        passed = sum(rule.passes(np.array([most, 1, 0]), rng) for _ in range(2000))
        assert abs(passed - 2000 * chance) < 5.5 * np.sqrt(2000 * chance * (1 - chance)) + 1


def test_hindsight_counts_answers_that_were_given_and_all_checks() -> None:
    votes = np.array([[90, 5, 5], [40, 30, 30], [95, 5, 0]])
    rule = GNMax(sigma=20, confident=(30, 60))
    some = rule.hindsight(votes, np.array([True, False, True]), {}).curve.at(4)
    every = rule.hindsight(votes, np.array([True, True, True]), {}).curve.at(4)
    alone = GNMax(sigma=20).hindsight(votes, np.array([False, True, False]), {}).curve.at(4)
    assert every == pytest.approx(some + alone, rel=1e-9)
    none = rule.hindsight(votes, np.array([False] * 3), {}).curve.at(4)
    assert 0 < none <= 3 * float(rule.check_rho(1)) * 4.001


def test_bad_rules_are_refused() -> None:
    for pair in (3, (1, 2, 3), (0, 5), (-1, 5), (1, "many")):
        with pytest.raises(InputError):
            GNMax(sigma=4, confident=pair)  # type: ignore[arg-type]  # the point of the test
    with pytest.raises(InputError, match="sigma"):
        GNMax(sigma=0)
    with pytest.raises(InputError, match="scale"):
        LNMax(scale=float("nan"))
    assert GNMax(sigma=4, confident=(1, 2)).json()["confident"] == ["1", "2"]
