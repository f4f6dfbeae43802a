"""What noisy counts tell of one person: Bayes' rule against a simulation, and within what privacy promises."""

from fractions import Fraction
from math import exp

import numpy as np
import pytest

from tacit.attack.population import chance
from tacit.attack.posterior import evidence, ruled_out, sure_and_right
from tacit.base import InputError
from tacit.noise import SecureRng, discrete_laplaces


def test_the_factor_is_the_ratio_of_frequencies() -> None:
    """One value, three others who have it with 30 %: how often each answer comes with the person and without."""
    runs, epsilon = 200_000, 1.0
    noise = discrete_laplaces(Fraction(1), runs, rng=SecureRng())
    others = chance(1).binomial(3, 0.3, runs)
    without, with_one = np.maximum(others + noise, 0), np.maximum(others + 1 + noise, 0)
    for answer in range(4):
        expected = (with_one == answer).mean() / (without == answer).mean()
        found = evidence(np.array([[answer]]), np.array([3]), np.array([0.3]), epsilon=epsilon)
        assert found[0, 0] == pytest.approx(expected, rel=0.06)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
def test_no_answer_tells_more_than_epsilon(epsilon: float) -> None:
    dice = chance(2)
    noisy, prior = dice.integers(-5, 60, (500, 4)), np.array([0.4, 0.3, 0.2, 0.1])
    found = evidence(noisy, dice.integers(0, 30, 500), prior, epsilon=epsilon)
    assert found.max() <= exp(epsilon) * (1 + 1e-9)
    assert found.min() >= exp(-epsilon) * (1 - 1e-9)


def test_ruling_out_leaves_the_truth_and_adds_to_one() -> None:
    posterior = np.array([[0.5, 0.3, 0.2], [0.1, 0.1, 0.8]])
    left = ruled_out(posterior, np.array([1, 2]), 1)
    assert left[0] == pytest.approx([0, 0.6, 0.4])
    assert left[1, 2] == pytest.approx(8 / 9)
    assert ruled_out(posterior, np.array([1, 2]), 2) == pytest.approx(np.array([[0, 1, 0], [0, 0, 1]]))
    with pytest.raises(InputError, match="only 2 wrong"):
        ruled_out(posterior, np.array([1, 2]), 3)


def test_only_sure_claims_count() -> None:
    posterior = np.array([[0.96, 0.04], [0.96, 0.04], [0.6, 0.4]])
    assert sure_and_right(posterior, [0, 1, 0]) == (2, 1)


def test_shapes_must_fit() -> None:
    with pytest.raises(InputError, match="a row for each"):
        evidence(np.zeros((2, 3), np.int64), np.array([1]), np.ones(3) / 3, epsilon=1.0)
