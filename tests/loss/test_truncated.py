"""Any loss as approximate zCDP: never less than what it must be, and near it where that is known."""

from fractions import Fraction
from math import exp

import numpy as np
import pytest

from tacit.base import LossError
from tacit.loss import GDP, ZCDP, Approx, Loss, Pure
from tacit.loss.truncated import _curve, _pair, truncated_rho

DELTA = Fraction(1, 10**6)
SAMPLED = 50 * GDP(1).sampled(Fraction(1, 20))
LOSSES: dict[str, Loss] = {
    "a Gaussian": GDP("0.5"),
    "a small Gaussian": GDP("0.01"),
    "a large Gaussian": GDP(6),
    "sampled steps": SAMPLED,
    "few sampled steps": 3 * GDP(2).sampled(Fraction(1, 3)),
    "randomised response": 20 * Pure("0.3"),
    "with a slack": 5 * Approx("0.2", "1e-8"),
}


@pytest.mark.parametrize("loss", LOSSES.values(), ids=LOSSES.keys())
@pytest.mark.parametrize("delta", [DELTA, Fraction(1, 1000)])
def test_its_curve_is_never_below_the_true_one(loss: Loss, delta: Fraction) -> None:
    """δ-approximate ρ-zCDP implies a privacy curve; a ρ that is too small would imply one that is not kept."""
    implied = ZCDP(truncated_rho(loss, delta), delta=delta)
    for target in (2 * delta, 10 * delta, 100 * delta):
        if target < 1:
            assert implied.epsilon(target).upper >= loss.epsilon(target, accuracy=1e-3).lower


@pytest.mark.parametrize("mu", ["0.01", "0.5", "1", "6"])
def test_of_a_gaussian_it_is_the_known_one(mu: str) -> None:
    rho, known = truncated_rho(GDP(mu), DELTA), Fraction(mu) ** 2 / 2
    assert known * Fraction(99, 100) < rho < known * Fraction(102, 100)


def test_of_sampled_steps_it_is_far_below_the_square_of_epsilon() -> None:
    epsilon = SAMPLED.epsilon(DELTA).upper
    assert truncated_rho(SAMPLED, DELTA) < Fraction(epsilon) ** 2 / 20


# a rate of one in thousands with little noise: its losses are near zero but for a rare large one
RARE = 200 * GDP(Fraction(10, 7)).sampled(Fraction(1, 5000))


@pytest.mark.parametrize(
    "loss", [SAMPLED, *(pytest.param(each, marks=pytest.mark.slow) for each in (RARE, SAMPLED + RARE))]
)
def test_a_curve_from_shared_grids_is_above_the_true_one_and_near_it(loss: Loss) -> None:
    top = loss.epsilon("1e-5", accuracy=1e-2).upper
    places = [top * share for share in (0, 0.01, 0.5)]
    for place, bound in zip(places, loss.curve(places, accuracy=1e-3), strict=True):
        true = loss.delta(place, accuracy=1e-2)
        assert bound.upper >= true.lower
        assert bound.upper <= 1.2 * true.upper


def test_a_larger_cut_leaves_less() -> None:
    found = [truncated_rho(SAMPLED, Fraction(1, 10**n)) for n in (9, 6, 3)]
    assert found == sorted(found, reverse=True)


@pytest.mark.parametrize("loss", LOSSES.values(), ids=LOSSES.keys())
def test_the_pair_behind_it_dominates(loss: Loss) -> None:
    """Its curve, computed from its masses, is on or above the loss's own at every ε, also between the points."""
    top = loss.epsilon(DELTA / 8).upper
    atoms, outside = _pair(_curve(loss, top))
    assert all(mass >= 0 for _, mass in atoms)
    assert sum(mass for _, mass in atoms) + outside == 1
    back = {1 / ratio: mass / ratio for ratio, mass in atoms}  # of Q, at the inverse ratios
    assert all(back[ratio] == mass for ratio, mass in atoms)  # the pair is its own mirror image
    ratios, masses = (np.array([float(each) for each in column]) for column in zip(*atoms, strict=True))
    for epsilon in np.linspace(0, top, 29):
        curve = float(outside) + np.maximum(0.0, masses * (1 - exp(epsilon) / ratios)).sum()
        assert curve >= loss.delta(Fraction(float(epsilon)), accuracy=1e-3).lower * (1 - 1e-9)


def test_it_is_the_supremum_over_all_orders() -> None:
    """By brute force from the definition, on a pair of two answers, of which nothing is cut."""
    epsilon = 1.0
    p = exp(epsilon) / (1 + exp(epsilon))
    orders = 1 + np.geomspace(1e-5, 300, 50_000)
    divergence = np.log(p**orders * (1 - p) ** (1 - orders) + (1 - p) ** orders * p ** (1 - orders)) / (orders - 1)
    true = float((divergence / orders).max())
    found = float(truncated_rho(Pure(1), Fraction(1, 10**12)))
    assert true <= found < true * 1.01


def test_what_cannot_be_cut_is_refused() -> None:
    with pytest.raises(LossError, match="no finite epsilon"):
        truncated_rho(Approx(1, "1e-3"), DELTA)
    with pytest.raises(LossError, match="so large"):
        truncated_rho(GDP(100), DELTA)


def test_nothing_costs_nothing() -> None:
    assert truncated_rho(Pure(0), DELTA) == 0


def test_a_loss_that_is_only_known_by_its_rho_gets_about_that_back() -> None:
    """From the curve that zCDP implies, which is looser than zCDP itself."""
    assert Fraction("0.05") < truncated_rho(ZCDP("0.05"), DELTA) < Fraction("0.1")
