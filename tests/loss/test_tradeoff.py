"""Trade-off functions: both ways, against closed forms and against tests that an attacker would run."""

import time
from fractions import Fraction
from math import exp, log

import numpy as np
import pytest
from scipy.special import ndtr, ndtri

from tacit.base import InputError
from tacit.loss import GDP, PLD, ZCDP, Approx, DiscreteNormal, Loss, Normal, Pure, ResponsePart
from tacit.loss.part import renyi_divergence
from tacit.loss.tradeoff import Tradeoff, TradeoffPoints, from_tradeoff

ALPHAS = [0.0, 1e-6, 0.01, 0.1, 0.3, 0.5, 0.9, 1.0]


def gaussian(mu: float, alpha: float) -> float:
    return float(ndtr(-ndtri(alpha) - mu))


def pure(epsilon: float, delta: float, alpha: float) -> float:
    return max(0.0, 1 - delta - exp(epsilon) * alpha, exp(-epsilon) * (1 - delta - alpha))


def test_gaussian_is_closed_form() -> None:
    for alpha in ALPHAS:
        assert Tradeoff(GDP("1.3"))(alpha) == pytest.approx(gaussian(1.3, alpha), rel=1e-9)
    assert Tradeoff(GDP(1)).power("0.05") == pytest.approx(0.2595, abs=1e-4)


@pytest.mark.parametrize(("epsilon", "delta"), [("0.2", "0"), ("3", "0"), ("1", "0.001")])
def test_pure_and_approximate(epsilon: str, delta: str) -> None:
    f = Tradeoff(Approx(epsilon, delta))
    for alpha in ALPHAS:
        found, exact = f.bounds(alpha), pure(float(epsilon), float(delta), alpha)
        assert found.lower - 1e-13 <= exact <= found.upper + 1e-13
        assert found.lower == pytest.approx(exact, abs=1e-11)


def binomial_tradeoff(epsilon: float, count: int, alpha: float) -> float:
    """Neyman and Pearson for the number of truthful answers, with a coin at the threshold."""
    keep = 1 / (1 + exp(-epsilon))
    masses = [[0.0] * (count + 1), [0.0] * (count + 1)]
    for row, chance in zip(masses, (1 - keep, keep), strict=True):
        row[0] = 1.0
        for _ in range(count):
            for i in range(count, -1, -1):
                row[i] = row[i] * (1 - chance) + (row[i - 1] * chance if i else 0.0)
    null, other = masses
    left, missed = alpha, 1.0
    for i in range(count, -1, -1):
        share = min(1.0, left / null[i])
        left, missed = left - share * null[i], missed - share * other[i]
        if share < 1:
            break
    return max(0.0, missed)


def test_composition_against_the_best_test() -> None:
    f = Tradeoff(20 * Pure("0.3"))
    for alpha in (1e-4, 0.01, 0.1, 0.4):
        found, exact = f.bounds(alpha), binomial_tradeoff(0.3, 20, alpha)
        assert found.lower <= exact <= found.upper
        assert found.upper - found.lower < 2e-3


def test_bounds_enclose_a_gaussian_that_is_not_recognised() -> None:
    """A tiny second part sends it through the grid; it moves the curve by less than its own total variation."""
    loss = PLD.of(((Normal(Fraction(1)), 1), (ResponsePart(Fraction(1, 10**6)), 1)))
    f = Tradeoff(loss)
    for alpha in ALPHAS:
        found = f.bounds(alpha)
        assert found.lower - 1e-6 <= gaussian(1, alpha) <= found.upper + 1e-6
        assert found.upper - found.lower < 2e-3


@pytest.mark.parametrize(
    "loss",
    [ZCDP("0.5"), GDP(1).sampled("0.1"), PLD.of(((DiscreteNormal(Fraction(1), Fraction(1)), 3),)), 1000 * Pure(1)],
)
def test_it_has_the_shape_of_a_tradeoff_function(loss: Loss) -> None:
    alpha, lower, upper = Tradeoff(loss).curve(41)
    for f in (lower, upper):
        assert np.all(f >= 0)
        assert np.all(f <= 1 - alpha + 1e-12)
        assert np.all(np.diff(f) <= 1e-12)
        assert np.all(np.diff(f, 2) >= -1e-12)
    assert np.all(lower <= upper)


def test_it_gives_back_the_deltas_it_came_from() -> None:
    loss = 3 * GDP("0.5").sampled("0.2")
    alpha = np.linspace(0, 1, 2001)
    f = Tradeoff(loss)
    lower, upper = f._bounds(alpha)
    for epsilon in (0.0, 0.05, 0.2):
        found = loss.delta(epsilon, accuracy=1e-3)
        assert float(np.max(1 - lower - exp(epsilon) * alpha)) >= found.lower * (1 - 1e-3) - 1e-4
        assert float(np.max(1 - upper - exp(epsilon) * alpha)) <= found.upper * (1 + 1e-3)


def test_a_long_program_takes_less_than_a_second() -> None:
    start = time.process_time()
    alpha, lower, upper = Tradeoff(10_000 * GDP(1).sampled("0.01")).curve(50)
    assert time.process_time() - start < 3  # a second when nobody else runs
    assert len(alpha) == 50
    assert float((upper - lower).max()) < 2e-3


def test_points_are_a_dominating_pair() -> None:
    corner = [(0, 1), (Fraction(1, 4), Fraction(1, 4)), (1, 0)]  # randomised response at ε = log 3
    loss = from_tradeoff(corner)
    assert loss.epsilon(0).upper == pytest.approx(log(3), rel=1e-12)
    assert loss.delta("0.5").upper == pytest.approx(0.75 - exp(0.5) / 4, rel=1e-9)
    part = loss.parts[0][0]
    for order in (1.5, 2.0, 10.0):
        assert part.renyi(order) == pytest.approx(renyi_divergence(ResponsePart(Fraction(log(3))), order), rel=1e-9)
    f = Tradeoff(loss)
    assert f("0.1") == pytest.approx(0.7, abs=1e-9)


def test_a_lopsided_function_is_read_from_both_sides() -> None:
    points = [(0, 1), (Fraction(1, 10), Fraction(1, 2)), (1, 0)]
    loss = from_tradeoff(points)
    one = max(1 - f - exp(0.3) * a for a, f in ((0, 1), (0.1, 0.5), (1, 0)))
    two = max(1 - a - exp(0.3) * f for a, f in ((0, 1), (0.1, 0.5), (1, 0)))
    assert loss.delta("0.3").upper == pytest.approx(max(one, two), rel=1e-4)
    assert loss.bound == pytest.approx(log(5), rel=1e-9)


def test_leaks_of_both_worlds() -> None:
    part = TradeoffPoints(((0, Fraction(9, 10)), (Fraction(4, 5), 0), (1, 0)))  # type: ignore[arg-type]  # numbers are converted
    assert part.slack == Fraction(1, 5)
    assert part.renyi(2) == float("inf")
    pair = part.pair()
    assert pair.leaks == pytest.approx((0.1, 0.2))


def test_a_function_is_taken_from_below() -> None:
    loss = from_tradeoff(lambda alpha: gaussian(1, alpha))
    for delta in (1e-3, 1e-6):
        exact = GDP(1).epsilon(delta).upper
        assert exact <= loss.epsilon(delta, accuracy=1e-4).upper <= exact * 1.003
    part = loss.parts[0][0]
    assert isinstance(part, TradeoffPoints)
    for (a, fa), (b, fb) in zip(part.points, part.points[1:], strict=False):
        assert float(fa) <= gaussian(1, float(a)) + 1e-15
        assert float(fa + fb) / 2 <= gaussian(1, float(a + b) / 2) + 1e-15


def test_plain_data() -> None:
    part = TradeoffPoints(((Fraction(0), Fraction(1)), (Fraction(1, 3), Fraction(1, 3)), (Fraction(1), Fraction(0))))
    assert part.json() == {"kind": "tradeoff_points", "points": [["0", "1"], ["1/3", "1/3"], ["1", "0"]]}
    assert TradeoffPoints(points=part.json()["points"]) == part


def test_bad_input_is_refused() -> None:
    for points in ([(0, 1)], [(0, 1), ("0.5", 0)], [("0.1", 1), (1, 0)], [(0, 0), (1, 0)], [(0, 2), (1, 0)]):
        with pytest.raises(InputError, match="trade-off"):
            from_tradeoff(points)  # type: ignore[arg-type]  # lists of unlike pairs
    with pytest.raises(InputError, match="convex"):
        from_tradeoff([(0, 1), ("0.5", "0.9"), (1, 0)])
    with pytest.raises(InputError, match="rise"):
        from_tradeoff([(0, "0.5"), ("0.5", "0.6"), (1, 0)])
    with pytest.raises(InputError, match="convex"):
        from_tradeoff(lambda alpha: 1 - alpha**2)
    with pytest.raises(InputError, match="alpha"):
        Tradeoff(Pure(1))(1.5)


def test_a_wide_gaussian_beside_something_else_has_bounds_that_say_something() -> None:
    """Its losses are beyond what one grid of doubles holds, so it is composed of narrower ones, as for (ε, δ)."""
    assert (GDP(40) + Pure("0.1")).tradeoff().bounds(0.3).upper < 1e-10
