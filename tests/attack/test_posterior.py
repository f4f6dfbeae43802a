"""What noisy counts tell of one person: Bayes' rule against a simulation, and within what privacy promises."""

from fractions import Fraction
from math import exp

import numpy as np
import pyarrow as pa
import pytest

from tacit.attack.population import chance
from tacit.attack.posterior import evidence, private_counts, ruled_out, sure_and_right, suspects
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


def test_counts_land_in_their_cells() -> None:
    table = pa.table({"a": ["x"] * 300 + ["y"] * 100, "b": [1] * 300 + [2] * 100, "other": [0.5] * 400})
    found = private_counts(table, {"b": (1, 2, 3), "a": ("y", "x")}, epsilon=5.0)
    assert np.abs(found - np.array([[0, 300], [100, 0], [0, 0]])).max() <= 8  # past it once in 10^16 draws


def test_every_release_has_noise_of_its_own() -> None:
    table = pa.table({"a": ["x"] * 300})
    drawn = {int(private_counts(table, {"a": ("x",)}, epsilon=0.1 + n / 1000)[0]) for n in range(6)}
    assert len(drawn) > 1


RELEASE = pa.table(
    {
        "zip": ["130**", "130**", "130**", "1485*"],
        "age": ["<30", "<30", "30-39", "*"],
        "condition": ["heart", "viral", "cancer", "cancer"],
    }
)


def test_one_person() -> None:
    found = suspects(RELEASE, {"zip": "13068", "age": 21}, ["zip", "age"], "condition")
    assert found.of() == {"heart": 1, "viral": 1}


def test_many_people_and_one_who_is_not_there() -> None:
    people = pa.table({"zip": ["13068", "14853", "90210"], "age": [35, 99, 20]})
    found = suspects(RELEASE, people, ["zip", "age"], "condition")
    assert [found.of(n) for n in range(3)] == [{"cancer": 1}, {"cancer": 1}, {}]


def test_columns_must_be_there_on_both_sides() -> None:
    with pytest.raises(InputError, match="quasi of people"):
        suspects(RELEASE, {"zip": "13068"}, ["zip", "age"], "condition")
    with pytest.raises(InputError, match="at once"):
        suspects(RELEASE, {"zip": "13068"}, ["zip"], "zip")
