"""Piecewise and hybrid means: one law of a sliding window, exactly private and exactly unbiased."""

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
from tacit.survey.mean import OneBitMean
from tacit.survey.protocol import Tally
from tacit.survey.window import HybridMean, PiecewiseMean, best_width

KINDS: list[Any] = [PiecewiseMean, HybridMean]
EPSILONS = [Fraction(1, 10), Fraction(1), Fraction(5, 2), Fraction(6)]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("steps", [1, 2, 5, 15, 16])
def test_the_exact_channel(kind: Any, steps: int, epsilon: Fraction) -> None:
    protocol = kind(epsilon=epsilon, high=steps, steps=steps)
    check_private(protocol, range(steps + 1))
    off = kind(epsilon=epsilon * Fraction(105, 100), high=steps, steps=steps)
    assert not within(largest_ratio(off, range(steps + 1)), epsilon)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("steps", "value"), [(1, 0), (4, 4), (9, 3)])
def test_both_forms_have_the_law(kind: Any, steps: int, value: int) -> None:
    check_forms(kind(epsilon=1, high=steps, steps=steps), value)


@pytest.mark.parametrize("kind", KINDS)
def test_reports_domain_and_tallies(kind: Any) -> None:
    protocol = kind(epsilon=2, low=-1, high=1)
    check_refused(protocol, [-1.01, 1.01, float("nan"), "0", None, True])
    check_tally(protocol, np.linspace(-1, 1, 50))
    check_impossible(protocol, [b"\xff\xff"])
    with pytest.raises(InputError, match="no reports yet"):
        protocol.estimate(Tally(protocol.tally(np.zeros(0, dtype=protocol.dtype)).counts, 0))
    with pytest.raises(InputError, match="steps"):
        kind(epsilon=1, steps=1 << 16)
    with pytest.raises(InputError, match="too small"):
        kind(epsilon="1e-20")


@pytest.mark.parametrize("steps", [1, 4, 16])
@pytest.mark.parametrize("epsilon", [Fraction(1, 2), Fraction(3)])
def test_the_mean_and_the_variance_of_a_report_are_what_the_estimate_takes_them_for(
    steps: int, epsilon: Fraction
) -> None:
    protocol = PiecewiseMean(epsilon=epsilon, high=Fraction(steps), steps=steps)
    start, slope = protocol.line
    for value in range(steps + 1):
        law = {int.from_bytes(report, "little"): p for report, p in protocol.law(value).items()}
        assert sum(y * p for y, p in law.items()) == start + slope * value, "unbiased to the last digit"
        guess = {(y - start) / slope: p for y, p in law.items()}
        assert sum(g * g * p for g, p in guess.items()) - value**2 == protocol.variance(value)
        assert protocol.deviation(reports=100, value=value) == pytest.approx(
            float(protocol.variance(value)) ** 0.5 / 10
        )
    assert protocol.variance(0) == protocol.variance(steps) == max(map(protocol.variance, range(steps + 1)))


@pytest.mark.parametrize("epsilon", [Fraction(1, 2), Fraction(3)])
def test_a_hybrid_report_is_an_unbiased_guess(epsilon: Fraction) -> None:
    protocol = HybridMean(epsilon=epsilon, high=Fraction(4), steps=4)
    for value in range(5):
        first = second = 0.0
        for report, p in protocol.law(value).items():
            guess = protocol.estimate(protocol.tally(protocol.read(report))).value
            first, second = first + guess * float(p), second + guess**2 * float(p)
        assert first == pytest.approx(value, abs=1e-9)
        assert second - first**2 == pytest.approx(protocol.deviation(reports=1, value=value) ** 2, rel=1e-9)


@pytest.mark.parametrize("epsilon", [0.2, 1, 2, 5])
def test_the_window_is_the_best_one(epsilon: float) -> None:
    """The closed form against the exact law of every width, and against the width of the paper."""
    odds = exp(epsilon)

    def largest(t: float) -> float:
        return (odds**2 * t**2 + 4 * odds * t + 6 * odds + 4 * odds / t + 1 / t**2) / (12 * (odds - 1) ** 2)

    best = best_width(epsilon)
    assert largest(best) <= min(largest(best * 1.01), largest(best * 0.99), largest(exp(-epsilon / 2)))
    protocol = PiecewiseMean(epsilon=Fraction(epsilon), steps=512)
    assert float(protocol.variance(0)) / 512**2 == pytest.approx(largest(best), rel=0.005)
    for width in (protocol.width - 30, protocol.width + 30):
        other = PiecewiseMean(epsilon=Fraction(epsilon), steps=512)
        vars(other).clear()
        vars(other).update(epsilon=Fraction(epsilon), steps=512, width=max(1, width))
        assert other.variance(0) > protocol.variance(0)


@pytest.mark.parametrize("epsilon", ["1/2", 1, 2, 4])
def test_the_hybrid_is_never_worse_than_its_parts(epsilon: str | int) -> None:
    declared: dict[str, Any] = {"epsilon": Fraction(epsilon), "steps": 1024}
    hybrid, parts = HybridMean(**declared), [PiecewiseMean(**declared), OneBitMean(**declared)]
    least = min(part.deviation(reports=1) for part in parts)
    assert hybrid.deviation(reports=1) <= least * (1 + 1e-12)
    assert (hybrid.share == 0) == (Fraction(epsilon) < 0.6)
    if Fraction(epsilon) >= 1:
        assert hybrid.deviation(reports=1) < 0.99 * least


def test_the_order_of_coins_is_the_published_one() -> None:
    protocol = PiecewiseMean(epsilon=Fraction(1), high=Fraction(4), steps=4)
    assert (protocol.width, protocol.outputs) == (3, 7)
    near, far = bytes(8), b"\xff" * 8
    assert protocol.sample(2, ScriptedRng([near, b"\x02"])) == b"\x04"
    assert protocol.sample(2, ScriptedRng([near, b"\x03", b"\x00"])) == b"\x02", "3 is not below the width: drawn again"
    assert protocol.sample(2, ScriptedRng([far, b"\x01"])) == b"\x01"
    assert protocol.sample(2, ScriptedRng([far, b"\x02"])) == b"\x05"
    assert protocol.device == {"low": 0, "high": 4, "steps": 4, "width": 3, "near": int(protocol.near * 2**64)}
    both = HybridMean(epsilon=Fraction(1), high=Fraction(4), steps=4)
    assert both.sample(2, ScriptedRng([near, far, b"\x02"])) == b"\x05"
    assert both.sample(2, ScriptedRng([far, b"\x01", near])) == b"\x08"
    assert both.sample(2, ScriptedRng([far, b"\x01", far])) == b"\x07"


def surveys(kind: Any, count: int) -> tuple[float, float, float]:
    """Bias in its own deviations, squared error over theory, coverage: for random samples of a population."""
    protocol, people = kind(epsilon=2, low=0, high=100), 1_000
    population = np.array([0.0, 10, 10, 80])
    pick, source = np.random.default_rng(3), FixedRng(4)
    theory = np.mean([protocol.deviation(reports=1, value=x) ** 2 for x in population]) + np.var(population)
    reports = protocol.sample(pick.choice(population, (count, people)), source)
    found = [protocol.estimate(protocol.tally(row)) for row in reports]
    errors = np.array([one.value for one in found]) - 25
    covered = np.mean([one.lower <= 25 <= one.upper for one in found])
    deviation = (theory / people) ** 0.5
    return float(errors.mean() / deviation * count**0.5), float(np.mean(errors**2) / deviation**2), float(covered)


@pytest.mark.parametrize("kind", KINDS)
def test_estimates_are_unbiased_with_the_error_of_theory(kind: Any) -> None:
    bias, ratio, covered = surveys(kind, 1_000)
    assert abs(bias) < 5
    assert ratio == pytest.approx(1, abs=0.2)
    assert 0.92 < covered < 0.98


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_coverage_and_error_over_many_surveys(kind: Any) -> None:
    bias, ratio, covered = surveys(kind, 20_000)
    assert abs(bias) < 5
    assert ratio == pytest.approx(1, abs=0.03)
    assert 0.94 < covered < 0.96


def test_a_part_that_is_never_used_sends_no_reports() -> None:
    bits_only = HybridMean(epsilon=Fraction(1, 2), steps=4)
    assert len(bits_only.law(0)) == 2
    check_impossible(bits_only, [b"\x00", b"\x03"])


def test_few_reports_have_no_interval() -> None:
    protocol = PiecewiseMean(epsilon=Fraction(1), low=Fraction(3), high=Fraction(5))
    found = protocol.estimate(protocol.tally(protocol.sample([4.0] * 10, FixedRng(1))))
    assert found.interval == (3, 5)
    assert found.standard_error == float("inf")
