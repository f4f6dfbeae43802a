"""Questions paid for in μ² cost what was offered, and never more."""

from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import pytest

from support.databases import CATALOG
from tacit.base import Refused, Relation, Sensitivity
from tacit.loss import GDP, gaussian_delta
from tacit.mechanism import DiscreteGaussian
from tacit.plan.contribution import PRIVATE, Contribution
from tacit.plan.mu_squared import filled, mu_squared_of
from tacit.plan.price import Budget, price
from tacit.program import Adaptive, Program, Step
from tacit.sql import lower, parse

QUESTIONS = (
    "SELECT COUNT(*) FROM visits",
    "SELECT ward, COUNT(*), SUM(cost) FROM visits GROUP BY ward",
    "SELECT note, AVG(cost), MEDIAN(age) FROM visits GROUP BY note",
)


@pytest.mark.parametrize("sql", QUESTIONS)
@pytest.mark.parametrize("rows", [Fraction(3), PRIVATE])
@pytest.mark.parametrize("relation", list(Relation))
@pytest.mark.parametrize("amount", ["1/1000", "1/2", "30"])
def test_a_question_fills_its_budget(sql: str, rows: Any, relation: Relation, amount: str) -> None:
    budget = Budget(currency="mu_squared", amount=Fraction(amount), delta=Fraction(1, 10**6))
    plan = price(
        lower(parse(sql), CATALOG), budget, relation=relation, unit="patient", contribution=Contribution(rows=rows)
    )
    cost = plan.program.cost
    assert cost.mu_squared is not None
    assert budget.amount * Fraction(9_999, 10_000) <= cost.mu_squared <= budget.amount
    assert cost.delta <= budget.delta


def test_what_has_no_mu_squared_is_refused() -> None:
    def adaptive(rho: Fraction) -> Any:
        return SimpleNamespace(program=Program(steps=(Adaptive(name="search", limit=rho),)))

    with pytest.raises(Refused, match="no mu_squared is known for"):
        filled(adaptive, Fraction(1))


def test_what_always_costs_more_is_refused() -> None:
    one = Step(name="count", mechanism=DiscreteGaussian(sigma=1), sensitivity=Sensitivity.scalar(1))

    def stubborn(rho: Fraction) -> Any:
        return SimpleNamespace(program=Program(steps=(replace(one, times=2),)))

    with pytest.raises(Refused, match="costs at most mu_squared 1"):
        filled(stubborn, Fraction(1))


def test_an_epsilon_is_worth_the_most_mu_squared_within_it() -> None:
    square = mu_squared_of(Fraction(1), Fraction(1, 10**6))
    assert gaussian_delta(float(square) ** 0.5, 1.0) <= 1e-6
    assert GDP(Fraction(float(square) ** 0.5 * 1.0001)).epsilon("1e-6").lower > 1
