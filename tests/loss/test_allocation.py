"""Random allocation: against quadrature, the exact Rényi moments, Poisson sampling, and simulation."""

from fractions import Fraction
from itertools import product
from math import exp, log, sqrt

import numpy as np
import pytest
from scipy.special import ndtr

from tacit.base import InputError, LossError, Relation, RelationError
from tacit.loss import GDP, PLD, Pure
from tacit.loss.allocation import Allocated, allocated, allocation_renyi
from tacit.loss.pair import Atoms
from tacit.loss.part import part_from_json


def two_steps(mu: float, epsilon: float) -> tuple[float, float]:
    """δ(ε) with the record against without it, and the other way round, for t = 2, by one quadrature over z₁."""
    z = np.linspace(-12, 14, 400_001)
    weight = np.exp(-z * z / 2) / sqrt(2 * np.pi) * (z[1] - z[0])
    v = np.exp(mu * z - mu * mu / 2)

    def upper(level: np.ndarray) -> np.ndarray:  # E[(V − level)+]
        cut = (np.log(np.maximum(level, 1e-300)) + mu * mu / 2) / mu
        return np.where(level <= 0, 1 - level, ndtr(mu - cut) - level * ndtr(-cut))

    gamma = exp(epsilon)
    remove = float(np.dot(weight, upper(2 * gamma - v))) / 2
    level = 2 / gamma - v
    add = float(np.dot(weight, upper(level) - 1 + level)) * gamma / 2  # E[(level − V)+]
    return remove, add


@pytest.mark.parametrize("mu", [0.3, 1.0, 1.5])
@pytest.mark.parametrize("epsilon", [0.0, 0.2, 1.0])
def test_two_steps_by_quadrature(mu: float, epsilon: float) -> None:
    exact = max(two_steps(mu, epsilon))
    found = allocated(GDP(mu), steps=2).delta(epsilon)
    gaussian = GDP(mu).delta(epsilon).upper  # with little noise the grid fails, and no amplification is claimed
    assert exact * (1 - 1e-9) <= found.upper <= (exact * 1.01 + 1e-8 if mu <= 1 else gaussian * 1.001)


def test_each_direction_is_bounded() -> None:
    pair = Allocated(Fraction(1), Fraction(2)).pair()
    for epsilon in (0.1, 0.5, 1.0, 2.0):
        for side, exact in zip((pair, pair.swapped), two_steps(1.0, epsilon), strict=True):
            edges = np.array([epsilon])
            excess = side.cells(edges).excess[1] + side.leaks[0]
            assert exact * (1 - 1e-9) <= excess <= exact * 1.01 + 1e-8


def test_one_step_is_the_gaussian() -> None:
    assert allocated(GDP(2), steps=1) == GDP(2)


@pytest.mark.parametrize(("mu", "steps", "order"), [(0.5, 3, 2), (1.0, 3, 3), (1.2, 2, 5), (1.0, 1, 4)])
def test_renyi_by_listing_all_tuples(mu: float, steps: int, order: int) -> None:
    total = 0.0
    for tuple_ in product(range(steps), repeat=order):
        counts = [tuple_.count(i) for i in range(steps)]
        total += exp(mu * mu * sum(k * (k - 1) for k in counts) / 2)
    expected = log(total / steps**order) / (order - 1)
    assert allocation_renyi(mu, steps=steps, order=order) == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize(("mu", "steps"), [(0.5, 10), (1.0, 50), (0.2, 1000)])
def test_moments_of_the_pair_are_those_of_the_mixture(mu: float, steps: int) -> None:
    """The spread pair has larger moments than the exact ones, but not by much."""
    pair = Allocated(Fraction(mu) ** 2, Fraction(steps)).pair()
    assert isinstance(pair, Atoms)
    for order in (2, 3):
        moment = float(np.dot(pair.p, np.exp((order - 1) * pair.losses)))
        exact = exp((order - 1) * allocation_renyi(mu, steps=steps, order=order))
        assert exact - 1e-6 * (exact - 1) <= moment + 1e-7
        assert moment <= 1 + (exact - 1) * 1.02


def test_close_to_poisson_and_below_it() -> None:
    for mu, steps in ((1.0, 10), (0.5, 100)):
        poisson = (steps * GDP(mu).sampled(Fraction(1, steps))).epsilon(1e-5)
        here = allocated(GDP(mu), steps=steps).epsilon(1e-5)
        assert 0.7 * poisson.lower < here.upper < poisson.lower < GDP(mu).epsilon(1e-5).lower


def test_reference_value() -> None:
    assert allocated(GDP(1), steps=100).epsilon(1e-5).upper == pytest.approx(0.62096, rel=1e-3)


def test_steps_beyond_the_grid_count_as_fewer() -> None:
    few, many = (allocated(GDP(0.1), steps=t).delta(0.0001).upper for t in (10**5, 10**7))
    assert few == many


def test_more_steps_hide_more() -> None:
    values = [allocated(GDP(1), steps=t).epsilon(1e-5).upper for t in (1, 2, 5, 20, 100, 500)]
    assert values == sorted(values, reverse=True)


def test_more_noise_hides_more() -> None:
    values = [allocated(GDP(mu), steps=50).epsilon(1e-5).upper for mu in (0.1, 0.3, 1.0, 1.5, 5.0)]
    assert values == sorted(values)
    assert values[-1] <= GDP(5).epsilon(1e-5).upper * 1.0001  # little noise: at worst no amplification


def test_several_uses_are_one_use_of_each_part() -> None:
    assert allocated(GDP(1), steps=103, uses=4) == 4 * allocated(GDP(1), steps=25)
    assert allocated(GDP(1), steps=5, uses=4) == 4 * GDP(1)


def test_epochs_compose_and_go_to_json() -> None:
    loss = 3 * allocated(GDP(0.5), steps=100)
    assert isinstance(loss, PLD)
    assert loss.parts[0][1] == 3
    assert loss.epsilon(1e-5).upper < 3 * allocated(GDP(0.5), steps=100).epsilon(1e-5 / 3).upper
    assert part_from_json(loss.parts[0][0].json()) == loss.parts[0][0]


def test_refusals() -> None:
    with pytest.raises(InputError, match="uses"):
        allocated(GDP(1), steps=3, uses=4)
    with pytest.raises(InputError, match="steps"):
        allocated(GDP(1), steps=0)
    with pytest.raises(RelationError, match="add_remove"):
        allocated(GDP(1, relation=Relation.REPLACE), steps=3)
    with pytest.raises(LossError, match="Gaussian"):
        allocated(Pure(1), steps=3)
    mixed = GDP(1) + Pure(1)
    assert isinstance(mixed, PLD)
    with pytest.raises(LossError, match="Gaussian"):
        allocated(mixed, steps=3)
    with pytest.raises(InputError, match="order"):
        allocation_renyi(1, steps=3, order=1)


@pytest.mark.slow
@pytest.mark.parametrize(("mu", "steps", "epsilon"), [(1.0, 20, 0.5), (1.0, 100, 0.2), (0.5, 50, 0.1)])
def test_simulation_cannot_refute_it(mu: float, steps: int, epsilon: float) -> None:
    """δ(ε) estimated from a million draws of X, in both directions: below the bound, but by little."""
    rng, runs = np.random.default_rng(7), 1_000_000
    x = np.zeros(runs)
    for _ in range(steps):
        x += np.exp(mu * rng.standard_normal(runs) - mu * mu / 2)
    x /= steps
    bound = allocated(GDP(mu), steps=steps).delta(epsilon).upper
    worst = 0.0
    for gain in (np.maximum(0.0, x - exp(epsilon)), np.maximum(0.0, 1 - exp(epsilon) * x)):
        error = 5.5 * float(gain.std()) / sqrt(runs)
        assert float(gain.mean()) - error <= bound
        worst = max(worst, float(gain.mean()) + error)
    assert bound <= worst * 1.02
