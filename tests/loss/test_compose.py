"""Composition: two-sided bounds in one direction, against sums and integrals in high precision."""

from fractions import Fraction
from math import inf

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mpmath import mpf

from support.curves import (
    Curve,
    Finite,
    discrete_laplace,
    discrete_normal,
    encloses,
    gaussian,
    laplace,
    number,
    response,
    sampled_gaussian,
    twice,
)
from support.laplace_pair import LaplacePair
from tacit.loss import GDP, Pure
from tacit.loss.compose import Composition
from tacit.loss.crossing import crossing
from tacit.loss.pair import GaussianPair, Pair
from tacit.loss.part import DiscreteLaplacePart, DiscreteNormal, Normal, Part, ResponsePart
from tacit.loss.sampling import Poisson
from tacit.loss.source import Terms
from tacit.loss.transform import Sampled, Swapped

F = Fraction


def contains(terms: Terms, truth: Curve, delta: float, accuracy: float = 1e-4, width: float = 1e-3) -> None:
    """ε(δ) holds the truth and is not wide; δ at that ε does too, and so it does somewhat off."""
    found = Composition(terms, accuracy).epsilon(delta)
    assert encloses(found.lower, found.upper, [truth], F(delta))
    assert found.upper - found.lower <= width * max(found.upper, 1e-3)
    for epsilon in (found.upper, 0.7 * found.upper):
        at = Composition(terms, accuracy).delta(epsilon)
        assert at.lower <= truth(mpf(epsilon)) <= at.upper


def both(parts: list[tuple[int, Part]]) -> tuple[Terms, Terms]:
    forward = [(count, part.pair()) for count, part in parts]
    return forward, [(count, pair.swapped) for count, pair in forward]


def binomial(pair: Finite, count: int) -> Curve:
    """count copies of a pair with two outcomes, summed from the ε of interest on: fast for large counts."""
    (p, q), (r, s) = sorted(pair.outcomes, key=lambda o: o[0] / o[1], reverse=True)
    high, low = mpmath.log(p / q), mpmath.log(r / s)

    def curve(e: mpf) -> mpf:
        first = max(0, int(mpmath.floor((mpf(e) - count * low) / (high - low))) + 1)
        if first > count:
            return mpf(0)
        weight = mpmath.exp(
            mpmath.loggamma(count + 1)
            - mpmath.loggamma(first + 1)
            - mpmath.loggamma(count - first + 1)
            + first * mpmath.log(p)
            + (count - first) * mpmath.log(r)
        )
        total = mpf(0)
        for k in range(first, count + 1):
            term = weight * -mpmath.expm1(mpf(e) - k * high - (count - k) * low)
            total += term
            if k > first + 9 and term < total * mpf(10) ** -30:
                break
            weight *= mpf(count - k) / (k + 1) * p / r
        return total

    return curve


@pytest.mark.parametrize(
    ("epsilon", "count", "delta"),
    [
        ("0.1", 100, 1e-6),
        ("0.7", 3, 1e-20),  # 3 · 0.7 is not the double nearest to 2.1
        ("1", 10, 1e-20),
        ("3", 50, 1e-250),
        ("0.5", 1, 0.1),
        ("0.5", 1, 1e-9),
        ("2", 7, 0.5),
        ("1/3", 100_000, 1e-12),
        ("1e-4", 1_000_000, 1e-6),
        ("20", 4, 1e-3),
    ],
)
def test_randomised_response_is_a_binomial_sum(epsilon: str, count: int, delta: float) -> None:
    forward, backward = both([(count, ResponsePart(F(epsilon)))])
    truth = binomial(response(epsilon), count)
    contains(forward, truth, delta, width=1e-5)
    if count < 10**5:
        contains(backward, truth, delta, width=1e-5)


@pytest.mark.parametrize(
    ("epsilon", "rate", "count", "delta"),
    [
        ("1", "0.01", 1000, 1e-6),
        ("1", "0.01", 1000, 1e-20),
        ("1", "0.5", 10, 1e-3),
        ("4", "0.001", 10_000, 1e-5),
        ("0.1", "0.1", 100_000, 1e-8),
        ("1", "0.999999", 20, 1e-5),
        ("8", "0.01", 30, 1e-100),
    ],
)
def test_sampled_randomised_response_in_both_directions(epsilon: str, rate: str, count: int, delta: float) -> None:
    forward, backward = both([(count, Poisson(ResponsePart(F(epsilon)), F(rate)))])
    exact = response(epsilon).sampled(F(rate))
    contains(forward, binomial(exact, count), delta)
    contains(backward, binomial(exact.swapped, count), delta)


@pytest.mark.parametrize(
    ("epsilon", "slack", "rate", "count"),
    [("1", "0.01", "0.1", 8), ("1", "0.1", "0.5", 5), ("0.1", "0.2", "0.9", 6), ("2", "0.001", "0.01", 8)],
)
def test_a_leak_that_is_sampled_is_priced_in_both_directions(epsilon: str, slack: str, rate: str, count: int) -> None:
    """The outcome that only the world without the record can produce has loss log(1 − rate) after sampling."""
    exact = response(epsilon, slack).sampled(F(rate))
    forward, backward = both([(count, Poisson(ResponsePart(F(epsilon), F(slack)), F(rate)))])
    for terms, truth in ((forward, exact.times(count)), (backward, exact.swapped.times(count))):
        for at in (0.05, 0.4):
            found = Composition(terms, 1e-3).delta(at)
            assert found.lower <= truth.curve(mpf(at)) <= found.upper
            assert found.upper - found.lower < 2e-2 * found.upper + 1e-15


@pytest.mark.parametrize(("variance", "shift", "count"), [("1", 1, 1), ("1", 1, 3), ("4", 3, 2), ("2/3", 2, 3)])
@pytest.mark.parametrize("delta", [0.1, 1e-6, 1e-20])
def test_discrete_gaussians_by_brute_force(variance: str, shift: int, count: int, delta: float) -> None:
    forward, backward = both([(count, DiscreteNormal(F(variance), F(shift)))])
    truth = discrete_normal(F(variance), shift, count).curve
    contains(forward, truth, delta)
    contains(backward, truth, delta)


@pytest.mark.parametrize(("scale", "shift", "count"), [("1", 1, 6), ("3/2", 2, 5), ("10", 12, 2)])
@pytest.mark.parametrize("delta", [0.2, 1e-6])
def test_discrete_laplace_by_brute_force(scale: str, shift: int, count: int, delta: float) -> None:
    forward, backward = both([(count, DiscreteLaplacePart(F(scale), F(shift)))])
    truth = discrete_laplace(F(scale), shift).times(count).curve
    contains(forward, truth, delta)
    contains(backward, truth, delta)


@pytest.mark.parametrize(("epsilon", "delta"), [("1/2", 0.1), ("1", 1e-3), ("1", 1e-7), ("6", 0.02)])
def test_two_laplace_mechanisms_by_quadrature(epsilon: str, delta: float) -> None:
    """δ₂(ε) = E_P[δ₁(ε − L)]: an atom of ½ at the top, one at the bottom and a density in between."""
    top, once = number(epsilon), laplace(F(epsilon))

    def truth(e: mpf) -> mpf:
        kinks = sorted({-top, top, min(top, max(-top, e - top)), min(top, max(-top, e + top))})
        inner = mpmath.quad(lambda x: mpmath.exp((x - top) / 2) / 4 * once(e - x), kinks)
        return inner + once(e - top) / 2 + mpmath.exp(-top) / 2 * once(e + top)

    contains([(2, LaplacePair(float(F(epsilon))))], truth, delta)


@pytest.mark.parametrize(
    ("mu", "rate", "delta"),
    [
        (1.0, 0.01, 1e-6),
        (1.0, 0.01, 1e-30),
        (0.1, 0.5, 1e-3),
        (1.0, 0.9, 0.1),
        (2.0, 0.3, 1e-200),
        pytest.param(4.0, 0.001, 1e-5, marks=pytest.mark.slow),
        pytest.param(5.0, 0.5, 1e-6, marks=pytest.mark.slow),
        pytest.param(0.01, 0.1, 1e-12, marks=pytest.mark.slow),
    ],
)
def test_one_step_of_a_sampled_gaussian(mu: float, rate: float, delta: float) -> None:
    forward, backward = sampled_gaussian(mu, rate)
    pair = Sampled(GaussianPair(mu), rate)
    contains([(1, pair)], forward, delta)
    if delta > 1e-20:  # the other direction is bounded by −log(1 − rate), and piles up there
        contains([(1, Swapped(pair))], backward, delta, width=5e-3)


@pytest.mark.parametrize(("mu", "rate", "delta"), [(1.0, 0.1, 1e-5), (0.5, 0.5, 1e-2)])
def test_two_steps_of_a_sampled_gaussian_by_quadrature(mu: float, rate: float, delta: float) -> None:
    forward, backward = twice(mu, rate)
    pair: Pair = Sampled(GaussianPair(mu), rate)
    with mpmath.workdps(18):
        for direction, truth in ((pair, forward), (Swapped(pair), backward)):
            found = Composition([(2, direction)], 1e-4).epsilon(delta)
            assert encloses(found.lower, found.upper, [truth], F(delta))
            assert found.upper - found.lower < 1e-3 * found.upper


@pytest.mark.parametrize(("mu", "delta"), [(0.01, 1e-6), (1.0, 0.3), (1.0, 1e-6), (1.0, 1e-100), (8.0, 1e-6)])
@pytest.mark.parametrize("count", [1, 30])
def test_gaussians_as_a_pair_meet_the_closed_form(mu: float, delta: float, count: int) -> None:
    total = number(mu) * mpmath.sqrt(count)
    contains([(count, GaussianPair(mu))], gaussian(total), delta)
    contains([(count, Swapped(GaussianPair(mu)))], gaussian(total), delta)


@pytest.mark.parametrize("mu", [10.0, 25.0, pytest.param(60.0, marks=pytest.mark.slow)])
def test_losses_in_the_hundreds_neither_overflow_nor_pass_for_small_ones(mu: float) -> None:
    """e^L overflows and Q underflows there; a bound may be wide then, but not wrong, and NaN must not pass for one."""
    truth = response(1).then(gaussian(mu))
    for terms in both([(1, Normal(F(mu) ** 2)), (1, ResponsePart(F(1)))]):
        found = Composition(terms, 1e-3).epsilon(1e-6)
        assert encloses(found.lower, found.upper, [truth], 1e-6)
        assert found.upper < inf


finite_parts = st.one_of(
    st.builds(ResponsePart, st.fractions(0, 3, max_denominator=20)),
    st.builds(ResponsePart, st.fractions(0, 2, max_denominator=20), st.sampled_from([F(1, 100), F(1, 10**6)])),
    st.builds(
        lambda e, r: Poisson(ResponsePart(e), r),
        st.fractions(F(1, 9), 3, max_denominator=9),
        st.fractions(F(1, 50), F(49, 50), max_denominator=50),
    ),
    st.builds(DiscreteLaplacePart, st.fractions(F(1, 2), 5, max_denominator=4), st.integers(1, 3).map(F)),
)
smooth_parts = st.one_of(
    st.none(),
    st.builds(Normal, st.fractions(F(1, 50), 9, max_denominator=50)),
    st.builds(
        lambda s, r: Poisson(Normal(s), r),
        st.fractions(F(1, 20), 9, max_denominator=20),
        st.fractions(F(1, 50), F(49, 50), max_denominator=50),
    ),
)


def exactly(part: Part) -> Finite:
    match part:
        case ResponsePart(e, d):
            return response(e, d)
        case Poisson(base, rate):
            return exactly(base).sampled(rate)
        case DiscreteLaplacePart(scale, shift):
            return discrete_laplace(scale, int(shift))
    raise AssertionError(part)


def smoothly(part: Part) -> tuple[Curve, Curve]:
    match part:
        case Normal(square):
            return (gaussian(mpmath.sqrt(number(square))),) * 2
        case Poisson(Normal(square), rate):
            return sampled_gaussian(mpmath.sqrt(number(square)), rate)
    raise AssertionError(part)


@given(
    st.lists(st.tuples(finite_parts, st.integers(1, 3)), min_size=1, max_size=2),
    smooth_parts,
    st.sampled_from([0.3, 0.05, 1e-3, 1e-6, 1e-12, 1e-30]),
)
def test_random_programs(finite: list[tuple[Part, int]], smooth: Part | None, delta: float) -> None:
    """Finitely many outcomes with one continuous mechanism: δ(ε) = Σ p·δ(ε − l), exactly, in both directions."""
    exact = Finite(((mpf(1), mpf(1)),))
    for part, count in finite:
        exact = exact * exactly(part).times(count)
    ahead: Curve = exact.curve
    back: Curve = exact.swapped.curve
    if smooth is not None:
        forward, backward = smoothly(smooth)
        ahead, back = exact.then(forward), exact.swapped.then(backward)
    parts = [(count, part) for part, count in finite] + ([(1, smooth)] if smooth else [])
    with mpmath.workdps(50):
        for terms, truth in zip(both(parts), (ahead, back), strict=True):
            found = Composition(terms, 1e-3).epsilon(delta)
            assert encloses(found.lower, found.upper, [truth], F(delta))
            at = Composition(terms, 1e-3).delta(0.4)
            assert at.lower <= truth(mpf(0.4)) <= at.upper


@pytest.mark.parametrize("pair", [GaussianPair(1.0), Sampled(GaussianPair(1.0), 0.05), LaplacePair(0.5)], ids=repr)
def test_the_width_asked_for_is_the_width_given(pair: Pair) -> None:
    for accuracy in (1e-2, 1e-3, 1e-4):
        found = Composition([(50, pair)], accuracy).epsilon(1e-6)
        assert found.upper - found.lower <= accuracy * found.upper


def test_better_accuracy_is_nested_up_to_its_width() -> None:
    rough, fine = (Composition([(300, Sampled(GaussianPair(1.0), 0.02))], a).epsilon(1e-6) for a in (1e-2, 1e-5))
    assert rough.lower <= fine.upper
    assert fine.lower <= rough.upper
    assert fine.upper - fine.lower < (rough.upper - rough.lower) / 5


@pytest.mark.parametrize("count", [1, 10**3, pytest.param(10**7, marks=pytest.mark.slow)])
@pytest.mark.parametrize("rate", [1e-8, 1e-3, 1 - 1e-9])
@pytest.mark.parametrize("mu", [1e-4, 1.0])
def test_extreme_programs_give_an_answer_between_known_bounds(mu: float, rate: float, count: int) -> None:
    """Never below the part alone, never above no sampling at all, and nothing but an answer."""
    terms: Terms = [(count, Sampled(GaussianPair(mu), rate))]
    found = Composition(terms, 1e-2).epsilon(1e-6)
    unsampled = gaussian(number(mu) * mpmath.sqrt(count))
    assert 0 <= found.lower <= found.upper < inf
    assert unsampled(mpf(found.lower)) >= mpf(10) ** -6 or found.lower == 0
    assert sampled_gaussian(mu, rate)[0](mpf(found.upper)) <= 1e-6


@pytest.mark.parametrize(
    ("bound", "mu", "epsilon"), [(5, "1e-9", 4), (80, "1e-6", 75), (80, "1e-6", 0), (700, "1e-6", 600)]
)
def test_a_large_loss_with_next_to_none_added_is_the_large_one(bound: int, mu: str, epsilon: int) -> None:
    """Also far below its mean. The little one is (10μ, 1e-20)-private and less."""
    alone, little = Pure(bound), float(mu)
    found = (alone + GDP(mu)).delta(epsilon)
    assert alone.delta(epsilon).lower <= found.upper
    assert found.lower <= alone.delta(max(0, epsilon - 10 * little)).upper + 1e-20
    assert found.upper - found.lower < 1e-7


@pytest.mark.parametrize("scale", [F(50 * 2**40), F(2**40)])
def test_one_laplace_of_very_fine_steps_is_no_worse_than_its_ratio(scale: Fraction) -> None:
    """Rounding of its curve is above such a δ; no loss passes the ratio."""
    pair = DiscreteLaplacePart(scale, F(2**40)).pair()
    for delta in (1e-15, 1e-30):
        assert Composition([(1, pair)], 1e-4).epsilon(delta).upper <= 2**40 / scale * (1 + 1e-11)


@pytest.mark.parametrize("delta", ["0.5", "1e-6", "1e-30"])
@pytest.mark.parametrize(("bound", "mu"), [(5, "1e-9"), (80, "1e-6"), ("0.5", "1e-6")])
def test_next_to_none_added_moves_epsilon_as_little(bound: str, mu: str, delta: str) -> None:
    alone, found = Pure(bound).epsilon(delta), (Pure(bound) + GDP(mu)).epsilon(delta)
    assert alone.lower <= found.upper
    assert found.lower <= alone.upper + 20 * float(mu)  # (12μ, 1e-30)-private, and less
    assert found.upper - found.lower <= 1e-4 * found.upper


def test_certain_breaches_are_infinite_and_nothing_else_is() -> None:
    leaky: Terms = [(3, ResponsePart(F(1), F(1, 10)).pair())]
    assert Composition(leaky, 1e-3).epsilon(0.2).upper == inf
    assert Composition(leaky, 1e-3).epsilon(0.28).upper < inf
    assert Composition(leaky, 1e-3).delta(50.0).upper == pytest.approx(1 - 0.9**3, rel=1e-9)


def test_crossing_brackets_a_falling_curve() -> None:
    def curve(e: float) -> float:
        return float(np.exp(-e))

    for delta in (0.9, 0.5, 1e-3, 1e-300):
        low, high = crossing(curve, delta, 3.0, 1.0)
        assert curve(low) > delta >= curve(high)
        assert high - low <= 1e-12 * high
    assert crossing(curve, 1.0, 3.0, 1.0) == (0.0, 0.0)
    assert crossing(lambda e: 0.5, 0.4, 1.0, 1.0)[1] == inf
