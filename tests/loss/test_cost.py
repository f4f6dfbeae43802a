"""Costs add exactly, round up once, and survive being written down."""

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.base import InputError, LossError, Relation, RelationError
from tacit.loss import GDP, ZCDP, Approx, Pure
from tacit.loss.concentrated import MeanConcentrated, ShiftedZCDP
from tacit.loss.cost import Cost, cost_at, cost_of
from tacit.loss.loss import Loss
from tacit.loss.mu import pure_mu_squared

PURE_1 = pure_mu_squared(Fraction(1))
amounts = st.fractions(min_value=0, max_value=1000)
costs = st.builds(
    Cost,
    epsilon=st.none() | amounts,
    rho=amounts,
    mu_squared=st.none() | amounts,
    delta=st.fractions(min_value=0, max_value=1),
    relation=st.sampled_from(list(Relation)),
    unit=st.sampled_from(["row", "user"]),
)


@given(costs)
def test_json_round_trip_is_exact(cost: Cost) -> None:
    assert Cost.from_json(cost.json()) == cost


@given(amounts, amounts, amounts, st.fractions(min_value=0, max_value=1))
def test_rounding_is_up_and_by_less_than_a_step(
    epsilon: Fraction, rho: Fraction, square: Fraction, delta: Fraction
) -> None:
    given_ = {"epsilon": epsilon, "rho": rho, "mu_squared": square, "delta": delta}
    cost = Cost(epsilon=epsilon, rho=rho, mu_squared=square, delta=delta)
    for name, step in Cost.DECIMALS.items():
        assert given_[name] <= getattr(cost, name) < given_[name] + Fraction(1, 10**step)


def test_a_positive_cost_never_becomes_nothing() -> None:
    tiny = Cost(epsilon=Fraction(1, 10**40), rho=Fraction(1, 10**40), delta=Fraction(1, 10**99))
    assert tiny.json()["epsilon"] == "0.000000000001"
    assert tiny.json()["rho"] == "0.000000000000000001"
    assert tiny.json()["delta"] == "0.000000000000000000000000000001"


def test_a_million_additions_do_not_drift() -> None:
    tenth = Cost(epsilon=Fraction(1, 10), rho=Fraction(1, 200), delta=Fraction(1, 10**9))
    total = Cost.zero()
    for _ in range(1000):
        total = total + tenth
    assert total == 1000 * tenth
    assert 1_000_000 * tenth == Cost(epsilon=Fraction(100_000), rho=Fraction(5000), delta=Fraction(1, 1000))
    assert total.json()["epsilon"] == "100"


def test_a_currency_that_one_side_lacks_is_lost() -> None:
    total = cost_of(Pure(1)) + cost_of(GDP(1))
    assert total.epsilon is None
    assert total.rho == 1
    assert total.mu_squared is not None
    assert (cost_of(Pure(1)) + Cost(epsilon=Fraction(1))).rho is None
    assert (cost_of(GDP(1)) + cost_of(ZCDP(1))).mu_squared is None


def test_a_cost_from_before_there_was_mu_squared_is_read_and_written_as_it_was() -> None:
    stored = {"epsilon": "1", "rho": None, "delta": "0", "relation": "add_remove", "unit": "row"}
    assert Cost.from_json(stored).mu_squared is None
    assert Cost.from_json(stored).json() == stored


@pytest.mark.parametrize(
    ("loss", "epsilon", "rho", "square", "delta"),
    [
        (Pure(1), 1, Fraction(1, 2), PURE_1, 0),
        (3 * Approx(1, Fraction(1, 10**6)), 3, Fraction(3, 2), 3 * PURE_1, Fraction(3, 10**6)),
        (GDP(2), None, 2, 4, 0),
        (ShiftedZCDP(Fraction(1, 4), 1), None, Fraction(5, 4), None, 0),
        (ShiftedZCDP(Fraction(-1, 4), 1), None, 1, None, 0),
        (MeanConcentrated(1, 1), None, 1, None, 0),
        (4 * GDP(Fraction(1, 2)) + Pure(1), None, 1, 1 + PURE_1, 0),
        (ZCDP(1, mu_squared=3) + GDP(1), None, Fraction(3, 2), 4, 0),
        (ZCDP(1) + GDP(1), None, Fraction(3, 2), None, 0),
        (
            ZCDP(Fraction(1, 3), delta=Fraction(1, 10**5)),
            None,
            Fraction(333333333333333334, 10**18),
            None,
            Fraction(1, 10**5),
        ),
    ],
)
def test_costs_of_losses(loss: Loss, epsilon: Any, rho: Any, square: Any, delta: Any) -> None:
    assert cost_of(loss) == Cost(epsilon=epsilon, rho=rho, mu_squared=square, delta=delta)


def test_a_loss_without_a_currency_says_what_to_do() -> None:
    step = 100 * GDP(1).sampled(rate=Fraction(1, 100))
    with pytest.raises(LossError, match="cost_at"):
        cost_of(step)
    priced = cost_at(step, 1e-6)
    exact = step.epsilon(1e-6)
    assert priced.epsilon is not None
    assert Fraction(exact.upper) <= priced.epsilon < Fraction(exact.upper) + Fraction(1, 10**12)
    assert priced.rho is not None
    assert 0.02 < priced.rho < Fraction(exact.upper) ** 2 / 10
    assert priced.delta == Fraction(1, 10**6)


def test_a_mixture_that_shares_no_currency() -> None:
    with pytest.raises(LossError, match="poisson has neither"):
        cost_of(GDP(1) + GDP(1).sampled(rate=Fraction(1, 10)))


def test_cost_at_refuses_what_is_no_bound() -> None:
    with pytest.raises(InputError, match="delta"):
        cost_at(GDP(1), 0)
    with pytest.raises(LossError, match="larger delta"):
        cost_at(Approx(1, 1e-3) + GDP(1), 1e-6)


def test_within_and_left() -> None:
    limit = Cost(epsilon=Fraction(2), delta=Fraction(1, 10**5))
    spent = cost_of(Approx(Fraction(3, 2), Fraction(1, 10**6)))
    assert spent.within(limit)
    assert not (2 * spent).within(limit)
    assert not Cost(rho=Fraction(1)).within(limit)  # nothing is known about its epsilon
    assert spent.left(limit) == Cost(epsilon=Fraction(1, 2), delta=Fraction(9, 10**6))
    assert (5 * spent).left(limit).epsilon == 0


def test_neighbours_are_part_of_a_cost() -> None:
    with pytest.raises(RelationError):
        cost_of(Pure(1)) + cost_of(Pure(1, relation=Relation.REPLACE))
    with pytest.raises(RelationError):
        cost_of(Pure(1)).within(Cost(epsilon=Fraction(2), unit="user"))


@pytest.mark.parametrize(
    "change",
    [
        {"epsilon": 0.1},
        {"epsilon": "-1"},
        {"epsilon": "nan"},
        {"epsilon": "0.0000000000001"},
        {"epsilon": None, "rho": None, "mu_squared": None},
        {"mu_squared": 0.1},
        {"mu_squared": "0.0000000000000000001"},
        {"delta": None},
        {"relation": "sideways"},
        {"extra": "1"},
    ],
)
def test_a_damaged_cost_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        Cost.from_json(cost_of(Pure(1)).json() | change)


def test_bad_costs() -> None:
    with pytest.raises(InputError, match="none was given"):
        Cost()
    with pytest.raises(InputError, match="rho"):
        Cost(rho=Fraction(-1))
