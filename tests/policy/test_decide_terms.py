"""What the ledger is told."""

from fractions import Fraction

import pytest

from support.policies import CLINIC, clinic
from tacit.base import PolicyError, Relation
from tacit.policy import Amount, Currency, Limit, parse
from tacit.policy.decide import least_price


def test_terms_hold_every_limit_and_nothing_of_anybody() -> None:
    policy = parse(CLINIC + '[analysts."*"]\nlimit = 0.1\n')
    terms = policy.terms()
    assert (terms.people, terms.currency, terms.unit) == ("patients of the clinic", Currency.RHO, "patient")
    assert terms.relation is Relation.ADD_REMOVE
    assert terms.delta == Fraction(1, 10**6)
    assert [limit.holder for limit in terms.limits] == ["dataset", "group:research", "analyst:ana", "analyst:bob"]
    assert terms.limits[0] == Limit(holder="dataset", total=Amount(2 * 10**18, 5 * 10**23))
    assert terms.policy == policy.hash
    assert (terms.period, terms.lifetime) == (None, None)


def test_windows() -> None:
    terms = clinic(delta='delta = 1e-6\nreset = "90 days"\nlifetime = 4\nlifetime_slack = 7e-7').terms()
    assert terms.period == 90 * 86400 * 10**6
    assert terms.lifetime == Amount(4 * 10**18, 7 * 10**23)


def test_limits_of_delta() -> None:
    terms = parse(CLINIC + "slack = 1e-8\neach = 0.5\n").terms()
    assert terms.limits[1].total == Amount(15 * 10**17, 10**22)
    assert terms.limits[1].each == Amount(5 * 10**17, 10**22)


@pytest.mark.parametrize(
    ("more", "least"),
    [
        ("", "0.0015"),  # a thousandth of the group's limit of 1.5, which is below the dataset's budget of 2
        ("limit = 0.5\n", "0.0005"),
        ("limit = 0.5\neach = 0.0001\n", "0.0001"),  # more could never be asked
        ("least = 0.01\n", "0.01"),
        ("least = 0\n", "0"),
    ],
)
def test_the_least_price_is_declared_or_a_thousandth_of_the_smallest_limit(more: str, least: str) -> None:
    policy = parse(CLINIC + '[analysts.cleo]\ngroups = ["research"]\n' + more)
    assert least_price(policy, policy.analysts["cleo"]) == Fraction(least)


def test_of_several_least_prices_the_largest_binds() -> None:
    policy = parse(CLINIC.replace("delta = 1e-6", "delta = 1e-6\nleast = 0.02") + "[analysts.cleo]\nleast = 0.01\n")
    assert least_price(policy, policy.analysts["cleo"]) == Fraction("0.02")


def test_a_least_price_above_what_may_be_paid_is_a_mistake() -> None:
    with pytest.raises(PolicyError, match="least = 3 is more than the budget, 2: lower it"):
        clinic(delta="delta = 1e-6\nleast = 3")
    with pytest.raises(PolicyError, match=r"least = 0.3 is more than each, 0.1"):
        clinic(delta="delta = 1e-6\nleast = 0.3\neach = 0.1")
