"""Gaussian questions paid in ε cost what was offered, and never more."""

from fractions import Fraction
from math import exp, sqrt
from types import SimpleNamespace
from typing import Any

import pytest
from scipy.stats import norm

from support.databases import CATALOG
from tacit.base import Relation, Sensitivity
from tacit.mechanism import DiscreteGaussian
from tacit.plan.contribution import PRIVATE, Contribution
from tacit.plan.finished import finished
from tacit.plan.price import Budget, price, rho_of
from tacit.program import Adaptive, Program, Step
from tacit.sql import lower, parse

DELTA = Fraction(1, 10**6)
MANY = "SELECT age, EXTRACT(day FROM day), COUNT(*) FROM visits GROUP BY 1, 2"


@pytest.mark.parametrize("sql", [MANY, "SELECT note, COUNT(*), AVG(cost) FROM visits GROUP BY note"])
@pytest.mark.parametrize("rows", [Fraction(3), PRIVATE])
@pytest.mark.parametrize("relation", list(Relation))
@pytest.mark.parametrize("amount", ["1/10", "1", "4"])
def test_a_question_with_gaussian_noise_costs_what_was_offered(
    sql: str, rows: Any, relation: Relation, amount: str
) -> None:
    budget = Budget(currency="epsilon", amount=Fraction(amount), delta=DELTA)
    plan = price(
        lower(parse(sql), CATALOG), budget, relation=relation, unit="patient", contribution=Contribution(rows=rows)
    )
    cost = plan.program.cost
    assert cost.epsilon is not None
    assert cost.epsilon <= budget.amount
    assert cost.delta <= DELTA
    if plan.norm == "l2":
        assert cost.epsilon >= budget.amount * Fraction(999, 1000)


def test_plain_gaussian_noise_is_that_of_the_analytic_gaussian() -> None:
    """By the formula of Balle and Wang (2018), written here once more: within its δ, and with 0.1 % less noise not."""
    budget = Budget(currency="epsilon", amount=Fraction(1), delta=DELTA)
    contribution = Contribution(max_groups=100, rows_per_group=1)
    question = lower(parse(MANY), CATALOG)
    plan = price(question, budget, relation=Relation.ADD_REMOVE, unit="patient", contribution=contribution)
    (step,) = plan.program.steps
    assert isinstance(step, Step)
    assert isinstance(step.mechanism, DiscreteGaussian)
    assert step.sensitivity is not None
    mu = float(step.sensitivity.require("l2") / step.mechanism.sigma)

    def delta(mu: float) -> float:
        return float(norm.cdf(mu / 2 - 1 / mu) - exp(1) * norm.cdf(-mu / 2 - 1 / mu))

    assert delta(mu) <= float(DELTA) < delta(mu * 1.001)
    assert mu > 1.03 * sqrt(2 * rho_of(Fraction(1), DELTA))


def _counted(rho: Fraction, times: int = 1) -> Any:
    sigma = Fraction(1 / sqrt(2 * rho))
    one = Step(name="count", mechanism=DiscreteGaussian(sigma=sigma), sensitivity=Sensitivity.scalar(1), times=times)
    return SimpleNamespace(program=Program(steps=(one,), delta=DELTA), rho=rho)


def test_what_would_cost_more_is_never_returned() -> None:
    """A plan that has a price of its own beyond some ρ: the last one within the offer is taken."""
    rho = rho_of(Fraction(1), DELTA)
    found = finished(lambda more: _counted(more, 1 if more < rho * 1.01 else 9), rho, Fraction(1), DELTA)
    assert found.rho == rho
    assert found.program.cost.epsilon <= 1


def test_a_plan_without_a_price_in_epsilon_is_left_as_it_is() -> None:
    plan: Any = SimpleNamespace(program=Program(steps=(Adaptive(name="search", limit=Fraction(1)),)))
    assert finished(lambda rho: plan, Fraction(1), Fraction(1), DELTA) is plan
