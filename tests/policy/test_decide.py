"""May this analyst run this program, and who pays?"""

from fractions import Fraction

import pytest

from support.policies import CLINIC, clinic
from tacit.base import Denied, PolicyError, Relation, Sensitivity
from tacit.loss import Cost, cost_at
from tacit.mechanism import DiscreteGaussian, DiscreteLaplace, Mechanism, PartitionSelection
from tacit.policy import Amount, Currency, Limit, parse
from tacit.policy.decide import least_price
from tacit.program import Program, Step

GAUSS = DiscreteGaussian(sigma=Fraction(5))  # ρ = 1/50


def program(
    mechanism: Mechanism = GAUSS,
    *tables: str,
    unit: str = "patient",
    relation: Relation = Relation.ADD_REMOVE,
    times: int = 1,
) -> Program:
    step = Step(name="count", mechanism=mechanism, sensitivity=Sensitivity.scalar(1))
    return Program(steps=times * (step,), tables=tables or ("visits",), unit=unit, relation=relation)


def denied(analyst: str, asked: Program, cost: Cost | None = None) -> str:
    with pytest.raises(Denied) as caught:
        clinic().decide(analyst, asked, cost)
    return str(caught.value)


def test_a_grant_says_who_pays_what() -> None:
    policy = clinic()
    grant = policy.decide("ana", program())
    assert grant.amount == Amount(2 * 10**16, 0)
    assert grant.account.people == "patients of the clinic"
    assert grant.account.holders == ("dataset", "group:research", "analyst:ana")
    assert [limit.total.spend for limit in grant.account.limits] == [2 * 10**18, 15 * 10**17, 10**18]
    assert grant.account.limits[2].each == Amount(10**17, 5 * 10**23)
    assert grant.policy == grant.account.policy == policy.hash
    assert grant.program == program().hash


def test_an_unknown_analyst_is_refused_unless_anybody_may_ask() -> None:
    assert 'analyst "eve" is not in the policy of "clinic"' in denied("eve", program())
    policy = parse(CLINIC + '[analysts."*"]\nlimit = 0.5\n')
    grant = policy.decide("eve", program())
    assert grant.account.holders == ("dataset", "analyst:eve")
    assert grant.account.limits[1].total.spend == 5 * 10**17
    with pytest.raises(Denied, match="ask under a name"):
        policy.decide("*", program())


@pytest.mark.parametrize("name", ["", " ana", "a\nb", "a\u202eb"])
def test_names_that_hide_something_are_refused(name: str) -> None:
    assert "the analyst's name" in denied(name, program())


def test_one_person_under_two_spellings() -> None:
    policy = parse(CLINIC + '[analysts."Zo\u00eb"]\n')
    assert policy.decide("Zoe\u0308", program()).account.analyst == "Zo\u00eb"


def test_tables() -> None:
    assert 'there is no table "visit"' in denied("ana", program(GAUSS, "visit"))
    assert "does not name the tables" in denied("ana", Program(steps=program().steps, unit="patient", tables=()))
    clinic().decide("ana", program(GAUSS, "visits", "wards"))
    policy = parse(CLINIC + '[tables.labs]\nunit_column = "id"\n[tables.open]\n')
    with pytest.raises(Denied, match='analyst "ana" may not ask table "labs"'):
        policy.decide("ana", program(GAUSS, "labs"))
    policy.decide("bob", program(GAUSS, "labs"))
    with pytest.raises(Denied, match='table "open" does not say whose rows they are'):
        policy.decide("bob", program(GAUSS, "open"))


def test_a_group_lends_its_tables() -> None:
    text = CLINIC.replace(
        "[groups.research]", '[tables.labs]\nunit_column = "id"\n[groups.research]\ntables = ["labs"]'
    )
    policy = parse(text)
    policy.decide("ana", program(GAUSS, "labs", "visits"))
    without = parse(text.replace('tables = ["visits"]\n', ""))
    with pytest.raises(Denied, match="may not ask"):
        without.decide("ana", program())


def test_relation_and_unit_are_the_datasets() -> None:
    assert "protects adding or removing one row" in denied("ana", program(unit="row"))
    assert "protects replacing one patient" in denied("ana", program(relation=Relation.REPLACE))


def test_the_cap_on_one_question() -> None:
    said = denied("ana", program(times=6))
    assert said.startswith("this program costs rho 0.12, and one question may cost at most 0.1, by each of analyst ana")
    clinic().decide("ana", program(times=5))
    clinic().decide("bob", program(times=6))


def test_a_program_that_alone_passes_a_limit() -> None:
    said = denied("bob", program(times=76))
    assert "all questions together may cost at most 1.5, by limit of analyst bob in the policy" in said
    clinic().decide("bob", program(times=75))


def test_a_cap_for_everybody() -> None:
    policy = clinic(budget="budget = 2\neach = 0.01")
    with pytest.raises(Denied, match=r"one question may cost at most 0\.01, by each of \[privacy\]"):
        policy.decide("bob", program())


def test_delta_has_a_limit_too() -> None:
    cost = Cost(rho=Fraction(1, 2), epsilon=Fraction(1), delta=Fraction(1, 10**6), unit="patient")
    said = denied("bob", program(), cost)
    assert "costs delta 1e-6, and all questions together may cost at most 5e-7, by slack of [privacy]" in said


def test_the_currency_must_be_there() -> None:
    text = CLINIC.replace('currency = "rho"', 'currency = "epsilon"')
    with pytest.raises(Denied, match="paid for in epsilon"):
        parse(text).decide("bob", program())
    assert parse(text).decide("bob", program(DiscreteLaplace(scale=Fraction(2)))).amount.spend == 5 * 10**11


def test_a_better_cost_is_checked_against_the_program() -> None:
    text = CLINIC.replace('currency = "rho"', 'currency = "epsilon"')
    policy, asked = parse(text), program()
    price = cost_at(asked.loss, Fraction(1, 10**6))
    assert policy.decide("bob", asked, price).cost == price
    low = Cost(epsilon=price.epsilon and price.epsilon * Fraction(99, 100), delta=price.delta, unit="patient")
    for wrong in (low, Cost(epsilon=Fraction(1, 10), unit="patient")):
        with pytest.raises(Denied, match="less than what the program is known to cost"):
            policy.decide("bob", asked, wrong)
    assert "less than" in denied("bob", asked, Cost(rho=Fraction(1, 51), unit="patient"))
    assert "another relation or unit" in denied("bob", asked, Cost(rho=Fraction(1, 2), unit="row"))
    told = Cost(rho=Fraction(1, 2), epsilon=Fraction(1, 100), unit="patient")
    assert "less than" in denied("bob", asked, told), "also in the currency that is not paid"
    square = asked.cost.mu_squared
    assert square is not None
    told = Cost(rho=Fraction(1, 2), mu_squared=square * Fraction(99, 100), unit="patient")
    assert "less than" in denied("bob", asked, told)
    gaussian = parse(CLINIC.replace('currency = "rho"', 'currency = "mu_squared"'))
    with pytest.raises(Denied, match="less than what the program is known to cost"):
        gaussian.decide("bob", asked, Cost(mu_squared=square * Fraction(99, 100), unit="patient"))
    assert gaussian.decide("bob", asked).amount.spend == square * 10**18
    more = Cost(rho=Fraction(1, 49), unit="patient")
    assert clinic().decide("bob", asked, more).cost == more


def test_a_delta_cannot_be_left_out_of_a_cost() -> None:
    selection = PartitionSelection(epsilon=Fraction(1, 10), delta=Fraction(1, 10**7))
    asked = Program(steps=(Step(name="keys", mechanism=selection),), tables=("visits",), unit="patient")
    assert clinic().decide("bob", asked).amount == Amount(5 * 10**15, 10**23)
    cost = asked.cost
    free = Cost(epsilon=cost.epsilon, rho=cost.rho, unit="patient")
    assert "less than what the program is known to cost" in denied("bob", asked, free)


# --- what the ledger is told


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
