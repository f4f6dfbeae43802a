"""One bit a person, and the mean of all."""

from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from support.fixed_rng import FixedRng, ScriptedRng
from support.reports import (
    check_forms,
    check_impossible,
    check_private,
    check_refused,
    check_tally,
    largest_ratio,
    within,
)
from tacit.base import InputError
from tacit.survey.mean import OneBitMean
from tacit.survey.protocol import Array, Tally

EPSILONS = [Fraction(1, 10), Fraction(1), Fraction(5, 2), Fraction(8)]


def mean(**declared: Any) -> OneBitMean:
    return OneBitMean(**{"epsilon": 1, **declared})


def of(steps: int, epsilon: Fraction = Fraction(1)) -> OneBitMean:
    return mean(epsilon=epsilon, low=0, high=steps, steps=steps)


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("steps", [1, 2, 3, 16])
def test_the_exact_channel(steps: int, epsilon: Fraction) -> None:
    check_private(of(steps, epsilon), range(steps + 1))
    assert not within(largest_ratio(of(steps, epsilon * Fraction(105, 100)), range(steps + 1)), epsilon)


def test_the_probability_is_affine_in_the_answer() -> None:
    protocol = of(7)
    ones = [protocol.law(x)[b"\x01"] for x in range(8)]
    assert {b - a for a, b in pairwise(ones)} == {(2 * protocol.p - 1) / 7}
    assert (ones[0], ones[7]) == (1 - protocol.p, protocol.p)


@pytest.mark.parametrize(("steps", "value"), [(1, 0), (3, 1), (3, 2), (16, 16), (1000, 250)])
def test_both_forms_have_the_law(steps: int, value: int) -> None:
    check_forms(of(steps), value)


def test_the_order_of_coins_is_the_published_one() -> None:
    """Two bytes of a point below 65,536, then eight bytes of the coin."""
    protocol = mean()
    kept, lost = bytes(8), b"\xff" * 8
    half = 0.5  # position 32,768
    assert protocol.sample(half, ScriptedRng([b"\x7f\xff", kept])) == b"\x01"
    assert protocol.sample(half, ScriptedRng([b"\x80\x00", kept])) == b"\x00"
    assert protocol.sample(half, ScriptedRng([b"\x7f\xff", lost])) == b"\x00"
    assert protocol.sample(half, ScriptedRng([b"\x80\x00", lost])) == b"\x01"
    assert protocol.sample(0, ScriptedRng([b"\x00\x00", kept])) == b"\x00"
    assert protocol.sample(1, ScriptedRng([b"\xff\xff", kept])) == b"\x01"


def test_answers_are_rounded_to_the_nearest_point() -> None:
    protocol = mean(low=-10, high=10, steps=20)
    assert protocol.law(0.49) == protocol.law(0) != protocol.law(0.5) == protocol.law(1)
    assert protocol.law(10)[b"\x01"] == protocol.p


def test_out_of_domain_is_refused_before_any_coin() -> None:
    check_refused(mean(low=-1, high=2), [-1.001, 2.001, float("nan"), float("inf"), "1", None, True, 1j])


def test_reports_and_tallies() -> None:
    check_tally(of(10), np.arange(11))
    check_impossible(of(10), [b"\x02", b"\x00\xff"])
    with pytest.raises(InputError, match="no reports yet"):
        of(10).estimate(Tally(np.array([0]), 0))


@pytest.mark.parametrize(
    "wrong",
    [
        {"low": 1, "high": 1},
        {"low": 2, "high": 1},
        {"steps": 0},
        {"steps": 2**17},
        {"epsilon": 0},
        {"epsilon": "1e-20"},
        {"low": "1e200", "high": "1e201"},
        {"low": 10**30, "high": 10**30 + 1},
        {"high": float("nan")},
    ],
)
def test_wrong_declarations(wrong: dict[str, object]) -> None:
    with pytest.raises(InputError):
        mean(**wrong)


def trials(protocol: OneBitMean, population: Array, respondents: int, count: int) -> tuple[list[float], int]:
    """Errors of repeated surveys of random samples of a population, and how often the interval held its mean."""
    pick, source = np.random.default_rng(3), FixedRng(4)
    errors, covered, truth = [], 0, float(np.mean(population))
    for _ in range(count):
        found = protocol.estimate(protocol.tally(protocol.sample(pick.choice(population, respondents), source)))
        errors.append(found.value - truth)
        covered += found.lower <= truth <= found.upper
    return errors, covered


def test_estimates_are_unbiased_with_the_error_of_theory() -> None:
    protocol = mean(low=0, high=100)
    population = np.array([0.0, 10, 10, 80])  # mean 25
    errors, covered = trials(protocol, population, 2_000, 1_500)
    rate = float(1 - protocol.p + (2 * protocol.p - 1) / 4)
    theory = rate * (1 - rate) / 2_000 * (100 / float(2 * protocol.p - 1)) ** 2
    assert abs(np.mean(errors)) < 5 * np.sqrt(theory / 1_500)
    assert np.mean(np.square(errors)) == pytest.approx(theory, rel=0.16)  # four deviations of 1,500 squares
    assert 0.92 < covered / 1_500 < 0.98


@pytest.mark.slow
def test_coverage_and_error_over_many_surveys() -> None:
    protocol = mean(low=0, high=100)
    errors, covered = trials(protocol, np.array([0.0, 10, 10, 80]), 2_000, 30_000)
    rate = float(1 - protocol.p + (2 * protocol.p - 1) / 4)
    theory = rate * (1 - rate) / 2_000 * (100 / float(2 * protocol.p - 1)) ** 2
    assert np.mean(np.square(errors)) == pytest.approx(theory, rel=0.03)
    assert 0.94 < covered / 30_000 < 0.96


def test_deviation_is_the_error_of_equal_answers() -> None:
    protocol = mean(low=0, high=10)
    source = FixedRng(8)
    answers = np.full((3_000, 400), 9.0)
    found = [protocol.estimate(protocol.tally(row)).value for row in protocol.sample(answers, source)]
    assert np.std(found) == pytest.approx(protocol.deviation(reports=400, value=9), rel=0.06)
    assert protocol.deviation(reports=400) > protocol.deviation(reports=400, value=10)
