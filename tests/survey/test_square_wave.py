"""The square wave: exactly private, unbiased by least squares, and a good picture after smoothing."""

from fractions import Fraction
from math import exp
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
from tacit.survey import DirectResponse
from tacit.survey.protocol import Array, Tally
from tacit.survey.square_wave import SquareWave

EPSILONS = [Fraction(1, 10), Fraction(1), Fraction(5, 2), Fraction(6)]


def wave(**declared: Any) -> SquareWave:
    return SquareWave(**declared)


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("bins", range(2, 17))
def test_the_exact_channel(bins: int, epsilon: Fraction) -> None:
    check_private(wave(epsilon=epsilon, high=bins, bins=bins), range(bins))
    off = wave(epsilon=epsilon * Fraction(105, 100), high=bins, bins=bins)
    assert not within(largest_ratio(off, range(bins)), epsilon)


@pytest.mark.parametrize(("bins", "value"), [(2, 0), (5, 4), (16, 7)])
def test_both_forms_have_the_law(bins: int, value: int) -> None:
    check_forms(wave(epsilon=1, high=bins, bins=bins), value)


def test_the_width_is_that_of_the_paper() -> None:
    """b = floor((ε·e^ε − e^ε + 1)/(2e^ε(e^ε − 1 − ε))·k), e.g. 0.2564 of the range at ε = 1."""
    assert wave(epsilon=1, bins=1000).width == 2 * 256 + 1
    e, k = 2.0, 64
    assert wave(epsilon=2, bins=k).width == 2 * int((e * exp(e) - exp(e) + 1) / (2 * exp(e) * (exp(e) - 1 - e)) * k) + 1
    assert wave(epsilon="1e-9", bins=10).width == 11
    assert wave(epsilon=60, bins=10).width == 1


def test_answers_fall_into_equal_bins() -> None:
    protocol = wave(epsilon=1, low=10, high=20, bins=5)
    laws = [protocol.law(x) for x in (10, 11.99, 12, 19.9, 20)]
    assert laws[0] == laws[1] != laws[2]
    assert laws[3] == laws[4]
    check_refused(protocol, [9.99, 20.01, float("nan"), "12", None, True])
    check_tally(protocol, np.linspace(10, 20, 30))
    check_impossible(protocol, [bytes([protocol.outputs])])
    assert protocol.edges.tolist() == [10, 12, 14, 16, 18, 20]
    told = protocol.device
    assert told == {"low": 10, "high": 20, "steps": 4, "width": 3, "near": int(protocol.near * 2**64)}
    near = bytes(8)
    assert protocol.sample(12, ScriptedRng([near, b"\x02"])) == b"\x03"
    for few in (protocol.estimate, protocol.mean, protocol.smooth):
        with pytest.raises(InputError, match="no reports yet"):
            few(Tally(np.zeros(protocol.outputs, dtype=np.int64), 0))
    for wrong in ({"bins": 1}, {"bins": 2000}, {"low": 2}, {"epsilon": -1}, {"epsilon": "1e-20"}):
        with pytest.raises(InputError):
            wave(**{"epsilon": 1, **wrong})


@pytest.mark.parametrize("bins", [2, 5, 16])
def test_the_shares_and_the_mean_are_unbiased_exactly(bins: int) -> None:
    protocol = wave(epsilon=1, high=bins, bins=bins)
    for truth in range(bins):
        shares, mean = np.zeros(bins), 0.0
        for report, p in protocol.law(truth).items():
            one = protocol.tally(protocol.read(report))
            shares += float(p) * protocol.estimate(one).value
            mean += float(p) * protocol.mean(one).value
        assert shares == pytest.approx(np.eye(bins)[truth], abs=1e-9)
        assert mean == pytest.approx(truth + 0.5, abs=1e-9)


def surveys(count: int, people: int = 1_000) -> tuple[Array, Array, Array]:
    """Squared error over theory, coverage of each share, and of the mean, in surveys of random samples."""
    protocol = wave(epsilon=2, bins=8)
    true = np.array([1, 2, 4, 8, 8, 5, 3, 1]) / 32
    pick, source = np.random.default_rng(2), FixedRng(3)
    answers = pick.choice(8, (count, people), p=true) / 8 + 1 / 16
    tallies = [protocol.tally(row) for row in protocol.sample(answers, source)]
    found, means = [protocol.estimate(one) for one in tallies], [protocol.mean(one) for one in tallies]
    truth = float(true @ (np.arange(8) + 0.5)) / 8
    rates = sum(true[v] * np.array(list(protocol.pmf(v / 8).values())) for v in range(8))
    theory = (protocol._inverse**2 @ rates - true**2) / people
    errors = np.array([one.value - true for one in found])
    held = np.mean([(one.lower <= true) & (true <= one.upper) for one in found], axis=0)
    return (
        np.mean(errors**2, axis=0) / theory,
        held,
        np.mean([one.lower <= truth <= one.upper for one in means]),
    )


def test_error_and_coverage() -> None:
    ratio, shares, mean = surveys(1_000)
    assert np.all(np.abs(ratio - 1) < 0.25)
    assert np.all((shares > 0.92) & (shares < 0.98))
    assert 0.92 < mean < 0.98


@pytest.mark.slow
def test_error_and_coverage_over_many_surveys() -> None:
    ratio, shares, mean = surveys(15_000)
    assert np.mean(ratio) == pytest.approx(1, abs=0.03)
    assert np.all((shares > 0.94) & (shares < 0.96))
    assert 0.94 < mean < 0.96


def far(found: Array, true: Array) -> float:
    """Wasserstein distance, in parts of the range."""
    return float(np.abs(np.cumsum(found) - np.cumsum(true)).sum() / len(true))


def test_the_smooth_picture_is_near_the_truth_and_nearer_than_direct_response() -> None:
    protocol = wave(epsilon=1, bins=64)
    answers = np.random.default_rng(5).beta(5, 2, 40_000)
    true = np.histogram(answers, protocol.edges)[0] / answers.size
    found = protocol.smooth(protocol.tally(protocol.sample(answers, FixedRng(6))))
    assert found.min() >= 0
    assert found.sum() == pytest.approx(1)
    direct = DirectResponse(epsilon=Fraction(1), categories=64)
    raw = direct.estimate(direct.tally(direct.sample(np.minimum(63, (answers * 64).astype(int)), FixedRng(7)))).value
    cut = np.maximum(raw, 0) / np.maximum(raw, 0).sum()
    assert far(found, true) < 0.03
    assert far(found, true) < far(cut, true) / 3


def test_smoothing_recovers_a_smooth_truth_from_exact_rates() -> None:
    protocol = wave(epsilon=3, bins=32)
    true = np.exp(-(((np.arange(32) - 15.5) / 6) ** 2))
    true /= true.sum()
    rates = sum(true[v] * np.array(list(protocol.pmf(v / 32).values())) for v in range(32))
    found = protocol.smooth(Tally(np.round(1e9 * rates).astype(np.int64), 10**9))
    assert far(found, true) < 0.01
