"""Closed-form losses: conversions against independent computation, composition as an algebra."""

from fractions import Fraction
from math import exp, inf, log, sqrt
from operator import ge, gt, le, lt
from typing import Any

import mpmath
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.base import InputError, LossError, Relation, RelationError
from tacit.loss import (
    GDP,
    PLD,
    ZCDP,
    Approx,
    Cost,
    DiscreteNormal,
    Interval,
    Loss,
    Pure,
    from_json,
    gaussian_delta,
    gaussian_epsilon,
)
from tacit.mechanism import DiscreteLaplace, KeySelection

fractions = st.fractions(min_value=0, max_value=5, max_denominator=1000)
small = st.fractions(min_value=0, max_value=Fraction(1, 100), max_denominator=10**6)
losses: st.SearchStrategy[Loss] = st.one_of(
    st.builds(Pure, fractions),
    st.builds(Approx, fractions, small),
    st.builds(lambda rho, delta: ZCDP(rho, delta=delta), fractions, small),
    st.builds(lambda mu: GDP(mu + Fraction(1, 100)), fractions),
)


def lattice_gaussian(variance: Fraction | int, shift: Fraction | int) -> PLD:
    return PLD.of(((DiscreteNormal(Fraction(variance), Fraction(shift)), 1),))


def exact_gaussian_delta(mu: float, epsilon: float) -> mpmath.mpf:
    with mpmath.workdps(60):
        mu, epsilon = mpmath.mpf(mu), mpmath.mpf(epsilon)
        return mpmath.ncdf(mu / 2 - epsilon / mu) - mpmath.exp(epsilon) * mpmath.ncdf(-mu / 2 - epsilon / mu)


@pytest.mark.parametrize("mu", [1e-3, 0.1, 1.0, 3.0, 30.0])
@pytest.mark.parametrize("epsilon", [0.0, 0.01, 1.0, 5.0, 40.0])
def test_gaussian_delta_keeps_relative_accuracy(mu: float, epsilon: float) -> None:
    exact = exact_gaussian_delta(mu, epsilon)
    if exact > mpmath.mpf(10) ** -290:
        assert abs(gaussian_delta(mu, epsilon) / exact - 1) < 1e-9


@pytest.mark.parametrize(("count", "epsilon"), [(1, 4.886554117), (10, 19.423656474), (10_000, 5474.365500195)])
def test_gaussian_epsilon_reference_values(count: int, epsilon: float) -> None:
    assert gaussian_epsilon(sqrt(count), 1e-6) == pytest.approx(epsilon, rel=1e-10)


@pytest.mark.parametrize("steps", ["1/2", "1", "7/3", "40", "400"])
@pytest.mark.parametrize("shift", [1, 3])
def test_lattice_curve_encloses_the_exact_sum(steps: str, shift: int) -> None:
    """Against a 40-digit sum over the lattice, at several epsilons."""
    sigma = Fraction(steps)
    loss = lattice_gaussian(sigma**2, shift)
    mu = shift / float(sigma)
    for epsilon in (0.0, mu * mu / 2, 3 * mu):
        with mpmath.workdps(40):
            double = 2 * mpmath.mpf(sigma.numerator) ** 2 / sigma.denominator**2
            factor, reach = mpmath.exp(epsilon), int(14 * sigma) + 40
            ratio = mpmath.exp(-1 / double * 2)
            weights, weight, fall = [mpmath.mpf(1)], mpmath.mpf(1), mpmath.exp(-1 / double)
            for _ in range(reach):  # exp(−(z+1)²/2σ²) from exp(−z²/2σ²)
                weight, fall = weight * fall, fall * ratio
                weights.append(weight)
            total = 2 * mpmath.fsum(weights) - 1
            excess = (
                weights[abs(z)] - factor * weights[abs(z + shift)]
                for z in range(-reach, reach - shift + 1)
                if (2 * z + shift) * shift > epsilon * float(double) - 1
            )
            exact = mpmath.fsum(x for x in excess if x > 0) / total
        found = loss.delta(epsilon)
        assert found.lower <= exact <= found.upper
        assert found.upper - found.lower <= 1e-9 * found.upper


def test_a_lattice_has_its_own_loss_not_its_continuous_cousins() -> None:
    assert (10 * lattice_gaussian(1, 1)).epsilon(1e-6).upper == pytest.approx(19.4916385, rel=1e-8)
    assert (10 * GDP(1)).epsilon(1e-6).upper == pytest.approx(19.4236565, rel=1e-8)


def test_pure_is_randomised_response() -> None:
    keep, flip = exp(0.7) / (1 + exp(0.7)), 1 / (1 + exp(0.7))
    assert float(Pure(0.7).delta(0.3)) == pytest.approx(keep - exp(0.3) * flip, rel=1e-12)
    assert Pure(0.7).delta(Fraction(7, 10)).upper == 0
    assert float(Pure(0.7).epsilon(0.1)) == pytest.approx(log((keep - 0.1) / flip), rel=1e-12)
    assert float(Pure(0.7).epsilon(0)) == pytest.approx(0.7)


def test_zcdp_conversion_is_between_the_gaussian_and_the_textbook() -> None:
    for rho in (1e-4, 0.1, 0.5, 5.0, 50.0):
        for delta in (1e-3, 1e-6, 1e-12, 1e-30):
            epsilon = ZCDP(rho).epsilon(delta)
            assert gaussian_epsilon(sqrt(2 * rho), delta) <= epsilon.upper <= rho + 2 * sqrt(rho * log(1 / delta))
            assert epsilon.lower <= epsilon.upper
            back = ZCDP(rho).delta(epsilon.upper)
            assert back.lower <= delta <= back.upper * (1 + 1e-6)
            assert back.upper == pytest.approx(delta, rel=1e-5)


def test_composition_of_like_kinds_is_exact() -> None:
    assert (10 * Pure(0.1)).epsilon(0).upper == pytest.approx(1)
    ten = 10 * Pure(0.1)
    assert isinstance(ten, Pure)
    assert ten.bound == 1
    three = 3 * Approx(0.1, 1e-7)
    assert isinstance(three, Approx)
    assert (three.bound, three.slack) == (Fraction(3, 10), Fraction(3, 10**7))
    assert 4 * ZCDP("0.025") == ZCDP("0.1")
    assert type(Pure(1) + Approx(1, "1e-6")) is Approx
    assert GDP(3) + GDP(4) == GDP(5)
    assert Pure(1) + ZCDP(1) == ZCDP("1.5")
    assert Approx(1, "1e-6") + ZCDP(1, delta="1e-6") == ZCDP("1.5", delta="2e-6")
    gauss = lattice_gaussian(4, 1)
    assert gauss + ZCDP("1/8") == ZCDP("1/8") + gauss == ZCDP("1/4")
    assert Pure(1) + gauss == gauss + Pure(1)
    assert type(Pure(1) + gauss) is PLD


@given(losses, st.integers(1, 40))
def test_n_times_is_n_fold_addition(loss: Loss, n: int) -> None:
    total = loss
    for _ in range(n - 1):
        total = total + loss
    assert n * loss == total


@given(losses, losses)
def test_addition_commutes(a: Loss, b: Loss) -> None:
    assert a + b == b + a


@given(losses, losses, st.floats(0.02, 0.5))
def test_composition_never_costs_less_than_a_part(a: Loss, b: Loss, delta: float) -> None:
    assert (a + b).epsilon(delta).upper >= a.epsilon(delta).lower * (1 - 1e-9)


@given(losses, st.floats(0, 6), st.floats(0, 6))
def test_delta_falls_with_epsilon(loss: Loss, x: float, y: float) -> None:
    assert loss.delta(min(x, y)).upper >= loss.delta(max(x, y)).lower


def test_groups() -> None:
    assert Pure(0.5).grouped(3) == Pure("1.5")
    assert ZCDP(0.5).grouped(3) == ZCDP("4.5")
    group = Approx(1, 1e-9).grouped(3)
    assert group.bound == 3
    assert float(group.slack) == pytest.approx(1e-9 * (exp(3) - 1) / (exp(1) - 1))
    assert group.slack > Fraction(1e-9 * (exp(3) - 1) / (exp(1) - 1))
    assert lattice_gaussian(4, 1).grouped(2) == lattice_gaussian(4, 2)
    assert GDP(1).grouped(3) == GDP(3)
    with pytest.raises(LossError, match="nothing is guaranteed"):
        Approx(300, 1e-6).grouped(10)


def test_relations_and_units_never_mix() -> None:
    with pytest.raises(RelationError, match="replace of one row"):
        Pure(1) + Pure(1, relation=Relation.REPLACE)
    with pytest.raises(RelationError, match="one household"):
        Pure(1) + ZCDP(1, unit="household")
    assert (Pure(1, unit="user") + ZCDP(1, unit="user")).unit == "user"
    assert (2 * Approx(1, 1e-9, relation=Relation.REPLACE)).relation is Relation.REPLACE


def test_bad_input_is_named() -> None:
    for build, message in (
        (lambda: Pure(-1), "epsilon must not be negative"),
        (lambda: Pure(float("nan")), "epsilon must be finite"),
        (lambda: Approx(1, 1.0), "delta must lie in"),
        (lambda: Approx(1, -0.1), "delta must lie in"),
        (lambda: ZCDP(float("inf")), "rho must be finite"),
        (lambda: Pure(1).epsilon(2), "delta must lie in"),
        (lambda: 0 * Pure(1), "times must be a whole number of at least 1"),
        (lambda: 1.5 * Pure(1), "times must be a whole number"),  # type: ignore[operator]  # on purpose
        (lambda: Pure(1, relation="both"), "relation must be one of"),  # type: ignore[arg-type]  # on purpose
    ):
        with pytest.raises(InputError, match=message):
            build()
    with pytest.raises(TypeError):
        Pure(1) + 3


def test_what_cannot_be_promised_is_infinite() -> None:
    assert Approx(1, 1e-3).epsilon(1e-6).upper == inf
    assert ZCDP(0.1).epsilon(0).upper == inf
    assert lattice_gaussian(1, 1).epsilon(0).upper == inf


def test_interval_is_outward_and_float_is_the_guarantee() -> None:
    around = Interval.around(1.0)
    assert around.lower < 1.0 < around.upper == float(around)
    assert 0 < Interval.around(0.0).upper < 1e-300  # what underflowed is not zero


def test_losses_under_a_relation_of_another_kind_add_up_among_themselves() -> None:
    secret = Relation.other("pufferfish", "whether one patient has the disease")
    one = Pure(1, relation=secret, unit="patient")
    assert (one + one).epsilon(0) <= 2 * (1 + 1e-9)
    assert from_json(one.json()) == one
    assert Cost.from_json(one.cost().json()) == one.cost()
    assert "whether one patient has the disease" in one.meaning().sentence
    for relation in Relation:
        with pytest.raises(RelationError):
            _ = one + Pure(1, relation=relation, unit="patient")
    with pytest.raises(RelationError):
        GDP(1, relation=secret).sampled(0.1, clipped=True)
    with pytest.raises(LossError):
        one.sampled(0.1)
    with pytest.raises(InputError, match="relation must be one of"):
        KeySelection(scale=64, delta=1e-6).loss(relation=secret)
    noise = DiscreteLaplace(scale=2).loss(1, relation=secret)
    assert (noise.relation, noise.bound) == (secret, Fraction(1, 2))


numbers = st.floats(min_value=-10, max_value=10)
triples = st.tuples(numbers, numbers, numbers).map(lambda found: sorted(found))


def test_it_is_written_rounded_and_read_as_its_upper_end() -> None:
    e = Interval(1.0, 1.256)
    assert (f"{e:.2f}", round(e, 2), float(e), round(e)) == ("1.26", 1.26, 1.256, 1)
    assert f"{e}" == "Interval(lower=1.0, upper=1.256, rigorous=True)"


def test_a_comparison_inside_the_interval_is_false_both_ways() -> None:
    e = Interval(1.0, 2.0)
    assert e < 3
    assert e <= 2
    assert e < 3
    assert e > Fraction(1, 2)
    assert e >= 1
    assert e > 0.5
    for compare in (lt, le, gt, ge):
        assert not compare(e, 1.5)
        assert not compare(1.5, e)
    assert e < Interval(2.5, 3.0)
    assert e <= Interval(2.0, 3.0)
    assert not e < Interval(2.0, 3.0)
    assert not e < Interval(1.5, 3.0)


@given(triples, numbers)
def test_what_is_true_of_an_interval_is_true_of_every_value_in_it(ends: list[float], other: float) -> None:
    low, value, high = ends
    for compare in (lt, le, gt, ge):
        if compare(Interval(low, high), other):
            assert compare(value, other)


@pytest.mark.parametrize("other", ["2", None, [1]])
def test_only_numbers_compare(other: Any) -> None:
    with pytest.raises(TypeError):
        _ = Interval(1.0, 2.0) < other


def test_an_approximation_is_not_compared() -> None:
    rough = Interval(1.0, 2.0, rigorous=False)
    for pair in ((rough, 3), (Interval(0.0, 0.5), rough)):
        with pytest.raises(LossError, match="proves nothing"):
            _ = pair[0] < pair[1]


def test_a_loss_tells_what_it_costs() -> None:
    e = ZCDP(Fraction(1, 2)).epsilon(1e-6)
    assert 5 < float(e) < 6
    assert e < 6
    assert not e < 5


def test_times_from_either_side() -> None:
    assert Pure(1) * 3 == 3 * Pure(1)
    assert (ZCDP(1) * 2) == 2 * ZCDP(1)
    assert Cost(epsilon=Fraction(1)) * 4 == 4 * Cost(epsilon=Fraction(1))
