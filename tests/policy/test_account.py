"""Amounts are whole numbers; limits are rounded down, costs are on the grid already."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.base import Denied, InputError, Relation
from tacit.loss import Cost
from tacit.policy import Amount, Currency


@given(st.fractions(min_value=0, max_value=1000), st.fractions(min_value=0, max_value=1), st.sampled_from(Currency))
def test_a_limit_never_grows(spend: Fraction, delta: Fraction, currency: Currency) -> None:
    amount = Amount.at_most(spend, delta, currency)
    assert amount.spend <= spend * 10**currency.decimals < amount.spend + 1
    assert amount.delta <= delta * 10**30 < amount.delta + 1


@given(st.fractions(min_value=0, max_value=1000), st.fractions(min_value=0, max_value=1), st.sampled_from(Currency))
def test_a_cost_and_its_amount_are_the_same(value: Fraction, delta: Fraction, currency: Currency) -> None:
    cost = Cost(epsilon=value, rho=value, mu_squared=value, delta=delta, unit="patient")
    amount = Amount.of(cost, currency)
    back = amount.cost(currency, relation=Relation.ADD_REMOVE, unit="patient")
    assert getattr(back, currency.value) == getattr(cost, currency.value)
    assert back.delta == cost.delta


def test_a_currency_that_is_not_there_is_refused() -> None:
    with pytest.raises(Denied, match="paid for in rho, and the program has only epsilon"):
        Amount.of(Cost(epsilon=Fraction(1)), Currency.RHO)
    with pytest.raises(Denied, match="paid for in mu_squared, and the program has only epsilon and rho: choose"):
        Amount.of(Cost(epsilon=Fraction(1), rho=Fraction(1)), Currency.MU_SQUARED)


def test_sums_limits_and_what_is_left() -> None:
    assert Amount(1, 2) + Amount(3, 4) == Amount(4, 6)
    assert Amount(4, 6).fits(Amount(4, 6))
    assert not Amount(5, 6).fits(Amount(4, 6))
    assert not Amount(4, 7).fits(Amount(4, 6))
    assert Amount(5, 1).left(Amount(4, 6)) == Amount(0, 5)


@pytest.mark.parametrize("value", [-1, 0.5, True, "1"])
def test_an_amount_is_a_whole_number(value: object) -> None:
    with pytest.raises(InputError, match="whole number"):
        Amount(value)  # type: ignore[arg-type]  # the point of the test
