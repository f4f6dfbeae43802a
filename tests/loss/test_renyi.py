"""Rényi curves: closed forms against quadrature and sums, conversions, composition, groups."""

import json
from fractions import Fraction
from math import exp, inf, log, sqrt

import mpmath
import pytest

from tacit.base import InputError, LossError, Relation
from tacit.loss import GDP, PLD, ZCDP, Approx, DiscreteLaplacePart, DiscreteNormal, Normal, Pure, ResponsePart
from tacit.loss.encode import from_json
from tacit.loss.part import Reversed, renyi_divergence
from tacit.loss.renyi import ORDERS, RDP
from tacit.loss.sampling import Poisson, PoissonReplace, WithoutReplacement

Masses = list[mpmath.mpf]


def divergence(p: Masses, q: Masses, order: float) -> mpmath.mpf:
    """Rényi divergence of two lists of masses, to 40 digits."""
    with mpmath.workdps(40):
        order = mpmath.mpf(order)
        total = mpmath.fsum(mpmath.mpf(a) ** order * mpmath.mpf(b) ** (1 - order) for a, b in zip(p, q, strict=True))
        return mpmath.log(total) / (order - 1)


def worse(p: Masses, q: Masses, order: float) -> mpmath.mpf:
    return max(divergence(p, q, order), divergence(q, p, order))


def mixture(p: Masses, q: Masses, rate: float) -> Masses:
    return [mpmath.mpf(rate) * a + (1 - mpmath.mpf(rate)) * b for a, b in zip(p, q, strict=True)]


def responses(epsilon: float) -> tuple[Masses, Masses]:
    with mpmath.workdps(40):
        keep = 1 / (1 + mpmath.exp(-mpmath.mpf(epsilon)))
        return [keep, 1 - keep], [1 - keep, keep]


def laplaces(scale: float, shift: int) -> tuple[Masses, Masses]:
    with mpmath.workdps(40):
        fall = mpmath.exp(-1 / mpmath.mpf(scale))
        reach = int(90 * scale) + shift
        z = range(-reach, reach + shift + 1)
        unit = (1 - fall) / (1 + fall)
        return [unit * fall ** abs(i) for i in z], [unit * fall ** abs(i - shift) for i in z]


@pytest.mark.parametrize("epsilon", ["0.001", "0.5", "3", "40"])
@pytest.mark.parametrize("order", [1.001, 1.5, 2, 17, 1000])
def test_randomised_response(epsilon: str, order: float) -> None:
    found = renyi_divergence(ResponsePart(Fraction(epsilon)), order)
    assert found == pytest.approx(float(worse(*responses(float(epsilon)), order)), rel=1e-11)
    assert found <= float(epsilon)


@pytest.mark.parametrize(("scale", "shift"), [("2", 1), ("2", 3), ("5/2", 7)])
@pytest.mark.parametrize("order", [1.01, 1.5, 2, 9])
def test_discrete_laplace(scale: str, shift: int, order: float) -> None:
    found = renyi_divergence(DiscreteLaplacePart(Fraction(scale), Fraction(shift)), order)
    exact = float(worse(*laplaces(float(Fraction(scale)), shift), order))
    assert exact <= found * (1 + 1e-12)
    assert found == pytest.approx(exact, rel=1e-9)


def test_discrete_laplace_tends_to_mironovs_laplace() -> None:
    for epsilon, a in ((0.5, 1.5), (1.0, 4.0), (2.0, 30.0)):
        steps = 10**6
        part = DiscreteLaplacePart(Fraction(steps) / Fraction(str(epsilon)), Fraction(steps))
        laplace = log(a / (2 * a - 1) * exp((a - 1) * epsilon) + (a - 1) / (2 * a - 1) * exp(-a * epsilon)) / (a - 1)
        assert renyi_divergence(part, a) == pytest.approx(laplace, rel=1e-5)


@pytest.mark.parametrize("order", [1.5, 2, 3, 12])
def test_discrete_normal_is_a_bound_and_exact_at_whole_orders(order: float) -> None:
    with mpmath.workdps(40):
        w = {z: mpmath.exp(-(mpmath.mpf(z) ** 2) / 2) for z in range(-60, 61)}
        total = mpmath.fsum(w.values())
        p, q = [w[z] / total for z in range(-40, 42)], [w[z - 1] / total for z in range(-40, 42)]
    found, exact = renyi_divergence(DiscreteNormal(Fraction(1), Fraction(1)), order), float(divergence(p, q, order))
    assert exact <= found * (1 + 1e-12)
    if order == int(order):
        assert found == pytest.approx(exact, rel=1e-9)


def sampled_gaussian(mu: float, rate: float, order: float) -> float:
    """Both directions by quadrature; the worse."""
    with mpmath.workdps(25):
        q, m, a = mpmath.mpf(rate), mpmath.mpf(mu), mpmath.mpf(order)

        def ratio(x: mpmath.mpf) -> mpmath.mpf:
            return 1 - q + q * mpmath.exp(m * x - m * m / 2)

        points = [-12, -4, 0, 4, 8, 12 + float(m * a), 24 + float(m * a)]
        up = mpmath.quad(lambda x: mpmath.npdf(x) * ratio(x) ** a, points)
        down = mpmath.quad(lambda x: mpmath.npdf(x) * ratio(x) ** (1 - a), points)
        assert up >= down  # Mironov, Talwar and Zhang 2019, Theorem 5
        return float(mpmath.log(up) / (a - 1))


@pytest.mark.parametrize(("sigma", "rate"), [(1.0, "0.01"), (2.0, "0.3"), (0.7, "0.1")])
@pytest.mark.parametrize("order", [1.5, 2, 2.5, 5, 9.75])
def test_sampled_gaussian(sigma: float, rate: str, order: float) -> None:
    part = Poisson(Normal(1 / Fraction(str(sigma)) ** 2), Fraction(rate))
    found, exact = renyi_divergence(part, order), sampled_gaussian(1 / sigma, float(rate), order)
    assert exact <= found * (1 + 1e-12)
    if order == int(order):
        assert found == pytest.approx(exact, rel=1e-9)


@pytest.mark.parametrize("order", [1.25, 2, 3, 3.5, 20])
@pytest.mark.parametrize("rate", ["0.02", "0.5"])
def test_sampled_discrete_parts_are_bounded_in_both_directions(order: float, rate: str) -> None:
    cases = [
        (ResponsePart(Fraction(1)), responses(1)),
        (DiscreteLaplacePart(Fraction(2), Fraction(3)), laplaces(2, 3)),
    ]
    for base, (p, q) in cases:
        exact = float(worse(mixture(p, q, float(rate)), q, order))
        found = renyi_divergence(Poisson(base, Fraction(rate)), order)
        assert exact <= found * (1 + 1e-12)
        if order == int(order):
            assert found == pytest.approx(exact, rel=1e-8)


def test_the_sampled_direction_without_the_unit_is_never_worse_pointwise() -> None:
    """Mironov, Talwar and Zhang's Theorem 5 for any symmetric pair: the two outcomes of ratio r and 1/r together."""
    for r in (1.0001, 1.1, 2.0, 30.0, 1e4):
        for q in (1e-3, 0.1, 0.5, 0.97):
            for a in (1.01, 1.5, 2.0, 7.0, 40.0):
                with mpmath.workdps(50):
                    one, other = 1 + mpmath.mpf(q) * (r - 1), 1 + mpmath.mpf(q) * (1 / mpmath.mpf(r) - 1)
                    assert one**a + r * other**a >= one ** (1 - a) + r * other ** (1 - a)


def test_nested_samples_multiply_their_rates() -> None:
    inner = Poisson(Poisson(Normal(Fraction(1)), Fraction(1, 2)), Fraction(1, 5))
    assert renyi_divergence(inner, 4) == renyi_divergence(Poisson(Normal(Fraction(1)), Fraction(1, 10)), 4)


@pytest.mark.parametrize("order", [1.5, 2, 6])
def test_sampling_under_replace_is_a_bound(order: float) -> None:
    mu, q = 1.5, 0.1
    with mpmath.workdps(25):
        half, rate, a = mpmath.mpf(mu) / 2, mpmath.mpf(q), mpmath.mpf(order)

        def density(x: mpmath.mpf, sign: int) -> mpmath.mpf:
            return (1 - rate) * mpmath.npdf(x) + rate * mpmath.npdf(x - sign * half)

        total = mpmath.quad(lambda x: density(x, 1) ** a * density(x, -1) ** (1 - a), [-20, -5, 0, 5, 10, 30])
        exact = float(mpmath.log(total) / (a - 1))
    assert exact <= renyi_divergence(PoissonReplace(Fraction(9, 4), Fraction(1, 10)), order) <= 3 * exact
    # a fixed sample size: the same pair is one that such a mechanism can have
    fixed, poisson = (kind(Normal(Fraction(9, 4)), Fraction(1, 10)) for kind in (WithoutReplacement, Poisson))
    assert exact <= renyi_divergence(fixed, order)
    assert renyi_divergence(poisson, order) < renyi_divergence(fixed, order)  # each of its own neighbours
    assert renyi_divergence(Reversed(poisson), order) == renyi_divergence(poisson, order)


def test_conversion_is_valid_and_near_the_truth() -> None:
    for loss in (GDP(1), 10 * GDP(1), Pure(1), 100 * Pure("0.1")):
        curve = RDP.implied_by(loss)
        for delta in (1e-3, 1e-6, 1e-12):
            exact, found = loss.epsilon(delta), curve.epsilon(delta)
            assert exact.lower <= found.upper
            assert found.upper <= 1.35 * exact.upper + 0.3
            back = curve.delta(found.upper)
            assert back.upper <= delta * (1 + 1e-6)
    # the conversion of Canonne, Kamath and Steinke, not the older one
    rho, delta = 0.5, 1e-6
    assert RDP.implied_by(ZCDP("0.5")).epsilon(delta).upper < rho + 2 * sqrt(rho * log(1 / delta)) - 0.4
    assert RDP.implied_by(ZCDP("0.5")).epsilon(delta).upper == pytest.approx(ZCDP("0.5").epsilon(delta).upper, rel=3e-4)


def test_dp_sgd_reference() -> None:
    step = GDP(Fraction(10, 11)).sampled(Fraction(256, 60000))
    found = (14063 * RDP.implied_by(step)).epsilon(1e-5)
    assert 2.381648 <= found.upper == pytest.approx(2.597, abs=2e-3)
    assert found.lower == 0


def test_total_variation_bounds_delta_at_zero() -> None:
    curve = RDP.implied_by(GDP("0.1"))
    assert GDP("0.1").delta(0).upper <= curve.delta(0).upper <= 0.11
    assert curve.epsilon(0.5).upper == 0


def test_sums_are_exact_and_commute_with_every_kind() -> None:
    curve = RDP.implied_by(GDP("0.3").sampled("0.1"))
    total = curve
    for _ in range(12):
        total = total + curve  # type: ignore[assignment]  # a sum of curves is a curve
    assert 13 * curve == total
    for other in (ZCDP("0.2"), Pure("0.2"), GDP("0.2"), Approx("0.2", "1e-9"), ZCDP("0.2", delta="1e-9")):
        assert curve + other == other + curve
        assert isinstance(curve + other, RDP)
    assert (curve + Approx("0.2", "1e-9")).epsilon("1e-10").upper == inf
    assert RDP.implied_by(10 * Pure("0.1")).values == (10 * RDP.implied_by(Pure("0.1"))).values  # type: ignore[attr-defined]  # a curve


def test_slack_is_added_to_delta() -> None:
    with_slack, without = RDP.implied_by(Approx(1, "1e-7")), RDP.implied_by(Pure(1))
    assert with_slack.values == without.values
    assert with_slack.epsilon("1.1e-6").upper == pytest.approx(without.epsilon("1e-6").upper, rel=1e-6)
    assert Approx(1, "1e-7").epsilon("1e-6").lower <= with_slack.epsilon("1e-6").upper


def test_groups_cover_the_truth_and_never_exceed_mironovs_bound() -> None:
    curve = RDP.implied_by(GDP(1))
    for size in (2, 3, 4, 8):
        grouped = curve.grouped(size)
        for order in (1.5, 2.0, 10.0, 100.0):
            assert grouped.at(order) == pytest.approx(size**2 / 2 * order, rel=1e-2)
            assert grouped.at(order) >= size**2 / 2 * order * (1 - 1e-12)
    pure, twice, four = (
        RDP.implied_by(Pure("0.5")),
        RDP.implied_by(Pure("0.5")).grouped(2),
        RDP.implied_by(Pure("0.5")).grouped(4),
    )
    for order in (2.0, 8.0, 64.0):
        assert (
            renyi_divergence(ResponsePart(Fraction(1)), order) <= twice.at(order) <= 3 * pure.at(2 * order) * (1 + 1e-9)
        )
        assert (
            renyi_divergence(ResponsePart(Fraction(2)), order) <= four.at(order) <= 9 * pure.at(4 * order) * (1 + 1e-9)
        )
    assert curve.grouped(1) == curve


def test_between_orders_the_bound_still_holds() -> None:
    part = Poisson(ResponsePart(Fraction(2)), Fraction(1, 4))
    curve = RDP.implied_by(PLD.of(((part, 1),)))
    p, q = responses(2)
    for order in (1.0005, 1.33, 2.1, 30.4, 700.3):
        assert curve.at(order) >= float(worse(mixture(p, q, 0.25), q, order))
    assert curve.at(2e6) == inf


def test_plain_data_and_back() -> None:
    curve = RDP.implied_by(Approx("0.3", "1e-9", relation=Relation.REPLACE, unit="user"))
    assert from_json(json.loads(json.dumps(curve.json()))) == curve


def test_bad_input_is_refused() -> None:
    with pytest.raises(InputError, match="orders must increase"):
        RDP([2, 2], [1, 1])
    with pytest.raises(InputError, match="greater than 1"):
        RDP([1, 2], [1, 1])
    with pytest.raises(InputError, match="values must not be negative"):
        RDP([2], [-1])
    with pytest.raises(InputError, match="as many"):
        RDP([2, 3], [1])
    with pytest.raises(InputError, match="curve"):
        RDP.from_function(lambda order: float("nan"))
    with pytest.raises(LossError, match="no order"):
        RDP.from_function(lambda order: inf)
    with pytest.raises(LossError, match="share no order"):
        RDP([2], [1]) + RDP([3], [1])
    with pytest.raises(InputError, match="order must be greater than 1"):
        renyi_divergence(ResponsePart(Fraction(1)), 1.0)
    with pytest.raises(LossError, match="group"):
        RDP.implied_by(Approx(1, "1e-9")).grouped(2)
    assert ORDERS[0] > 1
