"""A few watched answers, a bit on each."""

from fractions import Fraction
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
from tacit.survey.bit_flip import BitFlip

EPSILONS = [Fraction(1, 10), Fraction(1), Fraction(5, 2), Fraction(6)]


def flip(**declared: Any) -> BitFlip:
    return BitFlip(**{"epsilon": 1, "categories": 5, **declared})


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize(("k", "d"), [(2, 1), (2, 2), (3, 2), (5, 3), (8, 4), (16, 1), (16, 2)])
def test_the_exact_channel(k: int, d: int, epsilon: Fraction) -> None:
    check_private(flip(epsilon=epsilon, categories=k, watched=d), range(k))
    off = flip(epsilon=epsilon * Fraction(105, 100), categories=k, watched=d)
    assert not within(largest_ratio(off, range(k)), epsilon)


@pytest.mark.parametrize(("k", "d", "value"), [(2, 2, 0), (5, 1, 4), (5, 3, 2), (6, 6, 0)])
def test_both_forms_have_the_law(k: int, d: int, value: int) -> None:
    check_forms(flip(categories=k, watched=d), value)


def test_the_order_of_coins_is_the_published_one() -> None:
    protocol, kept, lost = flip(watched=2), bytes(8), b"\xff" * 8
    # places 0 1 2 3 4: 0 with 0 + 3, then 1 with 1 + 2, where 0 lies now
    draws = [b"\x03", b"\x02"]
    assert protocol.sample(3, ScriptedRng([*draws, kept, kept])) == bytes([0, 7])
    assert protocol.sample(3, ScriptedRng([*draws, lost, kept])) == bytes([1, 7])
    assert protocol.sample(0, ScriptedRng([*draws, kept, lost])) == bytes([1, 7])


def test_domain_reports_and_tallies() -> None:
    protocol = flip(watched=2)
    check_refused(protocol, [-1, 5, 0.5, "a", None])
    check_tally(protocol, np.arange(60) % 5)
    check_impossible(protocol, [bytes([0, 10]), bytes([2, 3]), bytes([4, 2])])
    with pytest.raises(InputError, match="watched by no report"):
        protocol.estimate(protocol.tally(protocol.sample([0], FixedRng(1))))
    for wrong in ({"watched": 6}, {"watched": 0}, {"categories": 1}, {"categories": 2**17}, {"epsilon": "1e-20"}):
        with pytest.raises(InputError):
            flip(**wrong)


def surveys(count: int) -> tuple[float, float, float]:
    protocol, people = flip(epsilon=3, categories=8, watched=3), 4_000
    true = np.array([0.3, 0.2, 0.15, 0.1, 0.1, 0.05, 0.05, 0.05])
    pick, source = np.random.default_rng(1), FixedRng(2)
    errors, held = [], []
    for _ in range(count):
        found = protocol.estimate(protocol.tally(protocol.sample(pick.choice(8, people, p=true), source)))
        errors.append(found.value - true)
        held.append((found.lower <= true) & (true <= found.upper))
    rate = 1 - float(protocol.p) + (2 * float(protocol.p) - 1) * true
    theory = rate * (1 - rate) / (people * 3 / 8) / (2 * float(protocol.p) - 1) ** 2
    scaled = np.array(errors) / np.sqrt(theory)
    return float(np.abs(scaled.mean(axis=0)).max() * count**0.5), float((scaled**2).mean()), float(np.mean(held))


def test_estimates_are_unbiased_with_the_error_of_theory() -> None:
    bias, ratio, held = surveys(300)
    assert bias < 5
    assert ratio == pytest.approx(1, abs=0.12)
    assert 0.935 < held < 0.97


@pytest.mark.slow
def test_error_and_coverage_over_many_surveys() -> None:
    bias, ratio, held = surveys(5_000)
    assert bias < 5
    assert ratio == pytest.approx(1, abs=0.03)
    assert 0.94 < held < 0.96


def test_deviation_is_that_of_a_rare_answer() -> None:
    protocol = flip(epsilon=2, categories=8, watched=3)
    source = FixedRng(4)
    found = [
        protocol.estimate(protocol.tally(protocol.sample(np.zeros(800, int), source))).value[5] for _ in range(600)
    ]
    assert np.std(found) == pytest.approx(protocol.deviation(reports=800), rel=0.12)
