"""What means the same is the same question; what does not is not. Meanings are compared on rows of hostile values."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.clinic import CLINIC
from support.expressions import ROWS, grown
from tacit.plan.bound import bound
from tacit.plan.canonical import canonical
from tacit.plan.contribution import Contribution
from tacit.plan.describe import describe
from tacit.plan.expression import Call, Expression
from tacit.plan.facts import Type
from tacit.plan.operation import evaluate
from tacit.sql import lower, parse


def in_one_form(expression: Expression) -> Expression:
    if not isinstance(expression, Call):
        return expression
    return canonical(expression.operation, *map(in_one_form, expression.arguments))


def turned(expression: Expression, chance: Random) -> Expression:
    """The same with operands in another order, wherever that means nothing."""
    if not isinstance(expression, Call):
        return expression
    parts = [turned(part, chance) for part in expression.arguments]
    name, (first, *rest) = expression.operation, parts
    if name in ("and", "or"):
        return canonical(name, *chance.sample(parts, len(parts)), *chance.sample(parts, 1))
    if name in ("eq", "ne", "is_distinct", "is_not_distinct", "add", "multiply"):
        return canonical(name, *chance.sample(parts, len(parts)))
    if name in ("lt", "le", "gt", "ge") and chance.random() < 0.5:
        other = {"lt": "gt", "gt": "lt", "le": "ge", "ge": "le"}[name]
        return canonical(other, *parts[::-1])
    if name == "in":
        return canonical(name, first, *chance.sample(rest, len(rest)))
    return canonical(name, *parts)


@given(st.integers(0, 2**64))
def test_one_form_means_the_same_on_every_row(seed: int) -> None:
    chance = Random(seed)
    for _ in range(3):
        expression = grown(chance, (Type.BOOLEAN, Type.NUMBER, Type.INTEGER), 4)
        one = in_one_form(expression)
        assert [evaluate(one, row) for row in ROWS] == [evaluate(expression, row) for row in ROWS]
        assert one.facts.type is expression.facts.type


@given(st.integers(0, 2**64))
def test_every_order_has_one_form(seed: int) -> None:
    chance = Random(seed)
    expression = in_one_form(grown(chance, (Type.BOOLEAN,), 4))
    assert in_one_form(expression) == expression
    assert turned(expression, chance) == expression


SAME = [
    ("age > 77", "77 < age", "(age) > (77)", "age > 77.0", "NOT age <= 77", "NOT (77 >= age)"),
    ("age = 3", "3 = age", "age IN (3)", "age IN (3, 3)", "NOT age <> 3"),
    ("age >= 3 AND age <= 9", "age BETWEEN 3 AND 9", "9 >= age AND 3 <= age", "(age <= 9) AND (3 <= age AND 3 <= age)"),
    ("urgent AND (age > 3 OR ward = 'east')", "('east' = ward OR 3 < age) AND urgent"),
    ("age IN (1, 2, 3)", "age IN (3, 1, 2, 2)"),
    ("age IN (1, NULL)", "age IN (NULL, 1)"),
    ("age + drug > 3", "3 < drug + age"),
    ("age * drug = 4", "4 = drug * age"),
    ("note IS NOT NULL", "NOT note IS NULL"),
    ("NOT NOT urgent", "urgent"),
    ("ward IS DISTINCT FROM note", "note IS DISTINCT FROM ward"),
]
OTHER = [
    ("age > 77", "age >= 77"), ("age > 77", "age < 77"), ("age - drug > 3", "drug - age > 3"),
    ("age IN (1, 2)", "age IN (1, 3)"), ("NOT (urgent AND age > 3)", "NOT urgent AND NOT age > 3"),
    ("(age + drug) + cost > 3", "age + (drug + cost) > 3"), ("urgent", "urgent IS TRUE"),
    ("age / drug > 1", "age > drug"),
    ("COALESCE(age, drug) > 1", "COALESCE(drug, age) > 1"), ("age IN (1, NULL)", "age IN (1)"),
]  # fmt: skip


def program(sql: str) -> object:
    planned = bound(lower(parse(sql), CLINIC), norm="l2", contribution=Contribution(rows="private"))
    return describe((planned.parts, planned.recipes))


@pytest.mark.parametrize("conditions", SAME)
def test_conditions_that_mean_the_same_are_one_program(conditions: tuple[str, ...]) -> None:
    forms = (
        "SELECT COUNT(*) FROM visits WHERE {}",
        "SELECT COUNT(*) FILTER (WHERE {}) FROM visits",
        "SELECT SUM(CASE WHEN {} THEN 1 ELSE 0 END) FROM visits",
    )
    for form in forms:
        first, *others = (program(form.format(condition)) for condition in conditions)
        assert all(other == first for other in others)


@pytest.mark.parametrize(("one", "other"), OTHER)
def test_conditions_that_do_not_are_two(one: str, other: str) -> None:
    assert program(f"SELECT COUNT(*) FROM visits WHERE {one}") != program(f"SELECT COUNT(*) FROM visits WHERE {other}")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("SELECT AVG(cost) FROM visits", "select avg(v.Cost) AS mean FROM visits AS v"),
        ("SELECT MEDIAN(cost) FROM visits", "SELECT QUANTILE_CONT(cost, 0.5) FROM visits"),
        ("SELECT SUM(age + drug) FROM visits", "SELECT SUM(drug + age) AS both FROM visits"),
        (
            "SELECT SUM(n) FROM (SELECT age * 2 AS n FROM visits)",
            "SELECT SUM(m) FROM (SELECT 2 * age AS m FROM visits) AS s",
        ),
        ("SELECT ward, COUNT(*) FROM visits GROUP BY ward", "SELECT ward AS w, COUNT(*) AS n FROM visits GROUP BY 1"),
        ("SELECT age + 1 AS a, COUNT(*) FROM visits GROUP BY 1 + age", "SELECT COUNT(*) FROM visits GROUP BY age + 1"),
        ("WITH a AS (SELECT * FROM visits) SELECT COUNT(*) FROM a", "SELECT COUNT(*) FROM visits"),
    ],
)  # fmt: skip
def test_names_and_spellings_do_not_matter(one: str, other: str) -> None:
    assert program(one) == program(other)
