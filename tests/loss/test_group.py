"""Groups under Poisson sampling, against quadrature and against what must hold."""

from fractions import Fraction
from math import comb

import mpmath
import pytest

from tacit.loss import GDP, PLD, Pure, SampledGroup, from_json


def exact_deltas(mu: float, rate: float, size: int, epsilon: float) -> tuple[float, float]:
    """δ(ε) of one step in both directions, by quadrature over x."""
    with mpmath.workdps(20):
        weights = [
            comb(size, j) * mpmath.mpf(rate) ** j * (1 - mpmath.mpf(rate)) ** (size - j) for j in range(size + 1)
        ]

        def with_group(x: mpmath.mpf) -> mpmath.mpf:
            return mpmath.fsum(w * mpmath.npdf(x, j * mpmath.mpf(mu), 1) for j, w in enumerate(weights))

        factor = mpmath.exp(epsilon)
        grid = [mpmath.mpf(k) / 2 for k in range(-24, 25 + 2 * int(size * mu))]
        ahead = mpmath.quad(lambda x: max(0, with_group(x) - factor * mpmath.npdf(x)), grid)
        back = mpmath.quad(lambda x: max(0, mpmath.npdf(x) - factor * with_group(x)), grid)
        return float(ahead), float(back)


@pytest.mark.parametrize(
    ("mu", "rate", "size", "epsilon"), [(1.0, 0.1, 2, 0.3), (0.5, 0.5, 3, 0.7), (1.0, 0.01, 3, 0.05)]
)
def test_one_step_of_a_group_is_a_mixture(mu: float, rate: float, size: int, epsilon: float) -> None:
    found = GDP(mu).sampled(rate).grouped(size).delta(epsilon, accuracy=1e-4)
    worse = max(exact_deltas(mu, rate, size, epsilon))
    assert found.lower * (1 - 1e-3) <= worse <= found.upper * (1 + 1e-3)
    assert found.upper == pytest.approx(worse, rel=5e-3)


def test_a_group_of_one_is_the_unit_itself() -> None:
    step = GDP(1).sampled("1/100")
    assert step.grouped(1) == step
    alone = PLD.of(((SampledGroup(Fraction(1), Fraction(1, 100), Fraction(1)), 1),))
    a, b = (100 * alone).epsilon(1e-5, accuracy=1e-4), (100 * step).epsilon(1e-5, accuracy=1e-4)
    assert a.lower <= b.upper
    assert b.lower <= a.upper
    assert a.upper == pytest.approx(b.upper, rel=1e-3)


def test_a_group_costs_more_than_one_and_no_more_than_all_sampled() -> None:
    one = (100 * GDP(1).sampled("1/10")).epsilon(1e-5, accuracy=1e-3)
    three = (100 * GDP(1).sampled("1/10")).grouped(3).epsilon(1e-5, accuracy=1e-3)
    everyone = (100 * GDP(3)).epsilon(1e-5)
    assert one.upper < three.lower <= three.upper < everyone.lower


def test_groups_of_groups_and_of_pure_samples() -> None:
    step = GDP(1).sampled("1/10")
    assert step.grouped(2).grouped(3) == step.grouped(6)
    assert from_json(step.grouped(6).json()) == step.grouped(6)
    sampled = Pure(1).sampled("1/10")
    assert sampled.grouped(3).epsilon(0).upper == pytest.approx(3 * sampled.epsilon(0).upper)


def test_a_program_without_additive_units_is_priced_as_a_whole() -> None:
    run = 100 * GDP(1).sampled("1/100")
    assert run.cost() == run.cost(delta=1e-6)
    assert run.cost().delta == Fraction(1, 10**6)
    assert (3 * GDP(1)).cost().rho == Fraction(3, 2)
