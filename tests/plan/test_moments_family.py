"""Aggregates over the same value share measures; those with a clip of their own do not."""

import pytest

from support.databases import CATALOG
from tacit.plan.expression import Column, constant
from tacit.plan.facts import Facts, Type
from tacit.plan.moments import column_of, families, range_of
from tacit.sql import lower, parse


def found(*aggregates: str, source: str = "visits v") -> list[set[str]]:
    question = lower(parse(f"SELECT {', '.join(aggregates)} FROM {source}"), CATALOG)
    return [{a.function for a in family} for _, family in families(list(question.aggregates))]


@pytest.mark.parametrize(
    ("aggregates", "expected"),
    [
        (("COUNT(*)", "COUNT(narrow)"), [{"count"}]),  # which is never NULL
        (("COUNT(*)", "COUNT(cost)"), [{"count"}, {"count"}]),
        (("COUNT(*)", "SUM(narrow)"), [{"sum", "count"}]),
        (("COUNT(*)", "SUM(cost)"), [{"count"}, {"sum"}]),  # which may be NULL where a row is not
        (("AVG(cost)", "SUM(cost)", "STDDEV(cost)", "COUNT(cost)"), [{"avg", "sum", "stddev_samp", "count"}]),
        (("AVG(cost)", "AVG(age)"), [{"avg"}, {"avg"}]),
        (("MEDIAN(cost)", "MAX(cost)", "AVG(cost)"), [{"quantile", "max"}, {"avg"}]),
        (("CORR(cost, age)", "COVAR_POP(cost, age)", "COVAR_POP(age, cost)"), [{"corr", "covar_pop"}, {"covar_pop"}]),
        (("COUNT(DISTINCT patient_id)", "COUNT(*)"), [{"count_units"}, {"count"}]),
        (("SUM(cost)", "SUM(cost, contribution_bounds_per_group => (0, 9))", "AVG(cost)"), [{"sum", "avg"}, {"sum"}]),
        (("SUM(narrow, contribution_bounds_per_group => (0, 9))", "COUNT(*)"), [{"sum"}, {"count"}]),
    ],
)
def test_families(aggregates: tuple[str, ...], expected: list[set[str]]) -> None:
    shown = found(*aggregates)
    assert sorted(map(sorted, shown)) == sorted(map(sorted, expected))


def test_every_aggregate_is_in_one_family() -> None:
    sql = "SELECT COUNT(*), COUNT(age), SUM(age), AVG(narrow), MIN(age), CORR(age, cost), COUNT(*) + 1 FROM visits"
    question = lower(parse(sql), CATALOG)
    listed = [a.name for _, family in families(list(question.aggregates)) for a in family]
    assert sorted(listed) == sorted(a.name for a in question.aggregates)


def test_the_column_that_an_expression_is() -> None:
    question = lower(parse("SELECT SUM(cost), SUM(cost + 1), COUNT(note) FROM (SELECT * FROM visits) t"), CATALOG)
    columns = [column_of(a.arguments[0], question.source) for a in question.aggregates]
    assert columns == ["cost", None, None]
    other = Column(name="elsewhere", facts=Facts(type=Type.INTEGER))
    assert column_of(other, question.source) is None


def test_a_range_is_exact() -> None:
    assert range_of(constant(0.1)) == (constant(0.1).facts.low, constant(0.1).facts.high)
