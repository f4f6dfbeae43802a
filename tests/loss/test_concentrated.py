"""Mean-concentrated DP and (ξ, ρ)-zCDP: the definitions themselves, checked on known mechanisms."""

from fractions import Fraction
from math import exp, log, sqrt, tanh

import pytest

from tacit.base import LossError, Relation
from tacit.loss import GDP, ZCDP, Approx, Pure, ResponsePart
from tacit.loss.concentrated import MeanConcentrated, ShiftedZCDP
from tacit.loss.part import renyi_divergence
from tacit.loss.renyi import ORDERS, RDP


def centred_moment(epsilon: float, slope: float) -> float:
    """log E[e^(λ(L − E L))] of randomised response."""
    mean, p = epsilon * tanh(epsilon / 2), 1 / (1 + exp(-epsilon))
    return log(p * exp(slope * (epsilon - mean)) + (1 - p) * exp(slope * (-epsilon - mean)))


@pytest.mark.parametrize("epsilon", ["0.1", "1", "4"])
def test_pure_is_mean_concentrated(epsilon: str) -> None:
    found, e = MeanConcentrated.implied_by(Pure(epsilon)), float(epsilon)
    assert found.mean == pytest.approx(e * tanh(e / 2), rel=1e-12)
    assert found.mean >= e * tanh(e / 2) * (1 - 1e-15)
    assert found.tau == pytest.approx(e)
    assert found.mean <= e * (exp(e) - 1) / 2  # Dwork and Rothblum
    for slope in (-20.0, -1.0, -0.01, 0.01, 1.0, 20.0):
        assert centred_moment(e, slope) <= slope**2 * found.square / 2


@pytest.mark.parametrize("epsilon", ["0.1", "1", "4"])
def test_mean_concentrated_is_shifted_zcdp(epsilon: str) -> None:
    shifted = MeanConcentrated.implied_by(Pure(epsilon)).shifted()
    assert shifted.rho == Fraction(epsilon) ** 2 / 2
    assert -shifted.rho <= shifted.xi <= 0
    for order in (1.01, 2.0, 10.0, 100.0):
        assert renyi_divergence(ResponsePart(Fraction(epsilon)), order) <= float(
            shifted.xi + shifted.rho * Fraction(order)
        )
    assert shifted.zcdp() == ZCDP(shifted.rho)


def test_gaussian_is_both_with_equal_numbers() -> None:
    """Its loss is N(ρ, 2ρ), which is exactly (ρ, √2ρ)-mean-concentrated."""
    assert MeanConcentrated("0.5", 1).shifted() == ShiftedZCDP(0, "0.5")


@pytest.mark.parametrize(("xi", "rho"), [("0", "0.01"), ("0", "2"), ("0.3", "0.1"), ("1", "0")])
def test_the_way_back_covers_mechanisms_that_have_the_guarantee(xi: str, rho: str) -> None:
    found = ShiftedZCDP(xi, rho).mean_concentrated()
    assert found.mean == Fraction(xi) + Fraction(rho)
    assert float(found.square) <= 50 * (float(Fraction(xi)) + 2 * float(Fraction(rho))) * exp(2)
    slopes = (-30.0, -3.0, -0.3, -0.001, 0.001, 0.3, 3.0, 30.0)
    if xi == "0":  # a Gaussian has log-moment ρλ², randomised response of ε = √2ρ that guarantee too
        assert found.square >= 2 * Fraction(rho)
        assert all(centred_moment(sqrt(2 * float(rho)), s) <= s**2 * found.square / 2 for s in slopes)
    if rho == "0":  # (ε, 0)-zCDP is ε-DP
        assert all(centred_moment(float(xi), s) <= s**2 * found.square / 2 for s in slopes)


def test_conversion_is_that_of_zcdp_moved() -> None:
    assert ShiftedZCDP("0.2", "0.5").epsilon(1e-6).upper == pytest.approx(0.2 + ZCDP("0.5").epsilon(1e-6).upper)
    assert ShiftedZCDP("0.2", "0.5").delta("3.2").upper == pytest.approx(ZCDP("0.5").delta(3).upper, rel=1e-9)
    assert ShiftedZCDP(1, 0).epsilon(0).upper == pytest.approx(1)  # ε-DP
    assert ShiftedZCDP(1, 0).delta("0.5").upper == 1
    assert MeanConcentrated.implied_by(Pure(1)).epsilon(1e-6).upper <= ZCDP("0.5").epsilon(1e-6).upper


def test_sums() -> None:
    one = MeanConcentrated.implied_by(Pure("0.5"))
    assert 4 * one == MeanConcentrated(4 * one.mean, 1)
    assert one + ZCDP(1) == one.shifted() + ZCDP(1) == ZCDP(1) + one
    mixed = ShiftedZCDP("0.1", 1) + Pure(1)
    assert Pure(1) + ShiftedZCDP("0.1", 1) == mixed
    assert mixed.epsilon(1e-6).upper >= ShiftedZCDP("0.1", 1).epsilon(1e-6).upper


def test_groups_follow_from_the_triangle_inequality() -> None:
    """Step by step: G_k(α) = kα/(kα − 1)·G_(k−1)((kα − 1)/(k − 1)) + D_kα."""
    xi, rho, k = 0.3, 0.2, 5
    grouped = ShiftedZCDP("0.3", "0.2").grouped(k)
    for start in (1.001, 2.0, 50.0):
        total, factor, order = 0.0, 1.0, start
        for j in range(k, 0, -1):
            total += factor * (xi + rho * j * order)
            if j > 1:
                factor *= j * order / (j * order - 1)
                order = (j * order - 1) / (j - 1)
        assert total <= float(grouped.xi + grouped.rho * Fraction(start)) * (1 + 1e-12)
    assert ShiftedZCDP("-0.1", 1).grouped(2) == ShiftedZCDP(0, 4)


def test_curve_and_refusals() -> None:
    curve = RDP.implied_by(ShiftedZCDP("-0.1", "0.5", relation=Relation.REPLACE))
    assert curve.values[-1] == Fraction(-1, 10) + ORDERS[-1] / 2
    assert curve.relation is Relation.REPLACE
    with pytest.raises(LossError, match="below"):
        ShiftedZCDP(-1, "0.5")
    with pytest.raises(LossError, match="delta"):
        MeanConcentrated.implied_by(Approx(1, "1e-9"))


def test_every_form_adds_to_a_renyi_curve_from_either_side() -> None:
    curve = RDP.implied_by(GDP(1).sampled("0.1"))
    for loss in (ZCDP("0.2"), ShiftedZCDP("0.1", "0.2"), MeanConcentrated("0.2", "0.3")):
        assert curve + loss == loss + curve == RDP.implied_by(loss) + curve
