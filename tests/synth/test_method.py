"""Scores move as far as is claimed and no further, noise is what was paid for, and a purse does not overdraw."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from support.fixed_rng import FixedRng, drawing_from
from support.synthetic import ADDED, REPLACED, Table
from tacit.base import ExhaustedError, Relation
from tacit.mechanism import DiscreteGaussian, Exponential
from tacit.program import Step
from tacit.synth.counts import Reach
from tacit.synth.independent import Independent
from tacit.synth.method import Purse, measured, measuring_step, noise_left, selecting_step, worth

EXPECTED = np.array([[0.4, 2.6], [1.5, 0.0]])
CELLS = list(product(range(2), range(2)))


def tables_of(records: list[tuple[int, int]]) -> np.ndarray:
    rows = np.array(records, np.int64).reshape(-1, 2)
    return Table(rows, (2, 2))[(0, 1)]


def score(records: list[tuple[int, int]]) -> int:
    return worth(tables_of(records), EXPECTED, ADDED, noise=1.1)


def most_moved(relation: Relation) -> int:
    """How far any neighbour of any table of two rows moves the score, over every pair of them."""
    found = 0
    for records in product(CELLS, repeat=2):
        before = score(list(records))
        if relation is Relation.ADD_REMOVE:
            others = [[*records, new] for new in CELLS]
        else:
            others = [[records[0], new] for new in CELLS]
        found = max([found, *(abs(score(each) - before) for each in others)])
    return found


def test_a_score_moves_by_one_where_a_unit_comes_and_by_two_where_it_is_replaced() -> None:
    assert most_moved(Relation.ADD_REMOVE) == ADDED.l1 == 1
    assert most_moved(Relation.REPLACE) == REPLACED.l1 == 2


@pytest.mark.parametrize(("reach", "l2"), [(ADDED, 1), (REPLACED, 2)])
def test_a_marginal_moves_in_l2_as_far_as_is_claimed(reach: Reach, l2: int) -> None:
    """Squared: 1 for a unit that comes, 2 for one that is replaced; both are attained."""
    before, other = tables_of([(0, 0), (1, 1)]), tables_of([(0, 0), (0, 1)])
    after = tables_of([(0, 0), (1, 1), (0, 1)]) if reach is ADDED else other
    assert int(((after - before) ** 2).sum()) == l2
    assert l2 <= reach.l2**2 < l2 * Fraction(1_000_000_001, 1_000_000_000)


@pytest.mark.parametrize("reach", [ADDED, REPLACED, Reach(one=2**16, relation=Relation.REPLACE)])
@pytest.mark.parametrize("rho", ["0.0001", "0.02", "3"])
def test_steps_cost_at_most_their_share_and_nearly_all_of_it(reach: Reach, rho: str) -> None:
    share = Fraction(rho)
    for step in (measuring_step("a", share, reach), selecting_step("b", share, reach, weight=7)):
        cost = step.loss(relation=reach.relation, unit="person").cost().rho
        assert cost is not None
        assert share * Fraction(9, 10) < cost <= share


@pytest.mark.parametrize("reach", [ADDED, REPLACED, Reach(one=2**16, relation=Relation.ADD_REMOVE)])
def test_noise_and_scale_are_those_of_the_theorems(reach: Reach) -> None:
    """σ = Δ₂/√2ρ and scale = 2Δ₁w/√8ρ, to a millionth: nothing 5 % off passes."""
    rho = Fraction(1, 50)
    measuring, selecting = measuring_step("a", rho, reach), selecting_step("b", rho, reach, weight=3)
    assert isinstance(measuring.mechanism, DiscreteGaussian)
    assert isinstance(selecting.mechanism, Exponential)
    assert not selecting.mechanism.monotone
    units = 1 if reach.relation is Relation.ADD_REMOVE else 2
    assert float(measuring.mechanism.sigma) == pytest.approx(reach.one * (units / 0.04) ** 0.5, rel=1e-3)
    assert float(selecting.mechanism.scale) == pytest.approx(2 * 3 * units * reach.one / 0.16**0.5, rel=1e-6)


def test_noise_is_drawn_on_the_counts_in_steps_and_told_in_units() -> None:
    reach = Reach(one=2**16, relation=Relation.ADD_REMOVE)
    step = measuring_step("a", Fraction(1, 50), reach)
    truth = np.full((50, 40), 7 * reach.one)
    with drawing_from(FixedRng(5)):
        table = measured(truth, (0, 1), step, reach)
    noise = table.counts - 7
    assert table.sigma == pytest.approx(5, rel=1e-3)
    assert noise.std() == pytest.approx(5, rel=0.1)  # six standard errors of 2,000 draws
    assert abs(noise.mean()) < 0.6


def test_a_purse_pays_before_and_refuses_what_would_pass_its_limit() -> None:
    purse = Purse(Fraction(1, 10), ADDED)
    step = measuring_step("a", Fraction(4, 100), ADDED)
    assert purse.pay(step, step) <= Fraction(8, 100)
    spent = purse.spent
    with pytest.raises(ExhaustedError, match="would cost more"):
        purse.pay(step)
    assert purse.spent == spent
    assert purse.left == purse.limit - spent


def test_independent_columns_share_rho_evenly() -> None:
    (step,) = Independent().steps(4, Fraction(1, 5), REPLACED)
    assert isinstance(step, Step)
    assert step.times == 4
    cost = step.loss(relation=Relation.REPLACE, unit="person").cost().rho
    assert cost is not None
    assert Fraction(19, 100) < cost <= Fraction(1, 5)


@pytest.mark.parametrize("far", [0.0, 0.3, 1.0, 2.5, 40.0])
def test_what_noise_leaves_of_a_count_that_is_not_below_zero(far: float) -> None:
    """Beside the integral that it stands for."""
    sigma = 7.0
    grid = np.linspace(-12, 12, 200_001)
    density = np.exp(-(grid**2) / 2) / np.sqrt(2 * np.pi) * (grid[1] - grid[0])
    wanted = float((np.abs(np.maximum(far + grid, 0) - far) * density).sum()) * sigma
    assert noise_left(np.array([far * sigma, far * sigma]), sigma) == pytest.approx(2 * wanted, rel=1e-6)
    assert noise_left(np.array([-5.0]), sigma) == pytest.approx(sigma / np.sqrt(2 * np.pi))
