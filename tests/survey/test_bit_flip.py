"""A few watched answers, a bit on each; and one option of several."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from support.channel import p_value
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
from tacit.noise.coin import logistic_bounds
from tacit.survey.bit_flip import BitFlip, SeveralResponse
from tacit.survey.protocol import Tally

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


CASES = [(Fraction(e), k) for e in ("1/10", "1", "3") for k in (1, 2, 5)]


@pytest.mark.parametrize(("epsilon", "options"), CASES)
def test_no_report_tells_two_sets_apart_by_more_than_epsilon(epsilon: Fraction, options: int) -> None:
    protocol = SeveralResponse(epsilon=epsilon, options=options)
    laws = [protocol.law(value) for value in range(1 << options)]
    assert all(sum(law.values()) == 1 and law.keys() == laws[0].keys() for law in laws)
    largest = max(one[report] / other[report] for one in laws for other in laws for report in one)
    p = largest / (largest + 1)  # ratio ≤ e^ε is p ≤ e^ε/(e^ε + 1), whose 128 bits are known
    low, high = logistic_bounds(epsilon, Fraction(1), 128)
    assert p <= Fraction(low, 1 << 128)
    assert p > Fraction(high, 1 << 128) - Fraction(1, 1 << 60), "and no more noise than that"


@pytest.mark.parametrize("value", [0, 0b101, 0b111])
def test_both_forms_of_several_have_the_law(value: int) -> None:
    protocol = SeveralResponse(epsilon=Fraction(1), options=3)
    rng = FixedRng(value)
    one = [protocol.sample(value, rng) for _ in range(4000)]
    many = protocol.sample(np.full(20_000, value), rng)
    assert p_value(protocol.pmf(value), one) > 1e-6
    assert p_value(protocol.pmf(value), [bytes([report]) for report in many]) > 1e-6
    assert {type(report) for report in one} == {bytes}
    assert {len(report) for report in one} == {1}


@pytest.mark.parametrize("value", [-1, 8, 1.5, "a", True])
def test_what_is_no_set_is_refused_before_a_coin(value: object) -> None:
    with pytest.raises(InputError, match="a set of the 3 options"):
        SeveralResponse(epsilon=Fraction(1), options=3).sample(value, ScriptedRng([]))


def test_impossible_reports_and_parameters_are_refused() -> None:
    protocol = SeveralResponse(epsilon=Fraction(1), options=3)
    assert protocol.read(b"\x05").tolist() == [5]
    with pytest.raises(InputError, match="from 0 to 5"):
        protocol.read(b"\x06")
    with pytest.raises(InputError, match="at most 60"):
        SeveralResponse(epsilon=Fraction(1), options=61)
    with pytest.raises(InputError, match="wait for more"):
        protocol.estimate(Tally(np.array([1, 2, 3, 4, 0, 0]), 10))


def test_estimates_are_unbiased_and_bars_hold() -> None:
    protocol = SeveralResponse(epsilon=Fraction(2), options=4)
    truth, people, trials = np.array([0.7, 0.3, 0.0, 1.0]), 2000, 300
    sets = np.zeros(people, dtype=np.int64)
    for place, share in enumerate(truth):
        sets |= (np.arange(people) < share * people).astype(np.int64) << place
    rng = FixedRng(5)
    found = [protocol.estimate(protocol.tally(protocol.sample(sets, rng))) for _ in range(trials)]
    values = np.array([each.value for each in found])
    spread = values.std(axis=0) / np.sqrt(trials)
    assert np.all(np.abs(values.mean(axis=0) - truth) < 5 * spread)
    held = [(each.lower <= truth) & (truth <= each.upper) for each in found]
    assert np.mean(held) > 0.94


def test_tallies_add_up_in_any_order() -> None:
    protocol = SeveralResponse(epsilon=Fraction(1), options=5)
    reports = protocol.sample(np.arange(32), FixedRng(1))
    parts = [protocol.tally(part) for part in np.split(reports, 4)]
    assert parts[2] + parts[0] + parts[3] + parts[1] == protocol.tally(reports)
