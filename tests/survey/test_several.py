"""Several answers at once: the exact law, both forms of the randomiser, and what the reports tell."""

from fractions import Fraction

import numpy as np
import pytest

from support.channel import p_value
from support.fixed_rng import FixedRng, ScriptedRng
from tacit.base import InputError
from tacit.noise.logistic import logistic_bounds
from tacit.survey.protocol import Tally
from tacit.survey.several import SeveralResponse

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
def test_both_forms_have_the_law(value: int) -> None:
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
