"""Grids cover the range of a value, in whole steps, not too many and not too few; families share measures."""

from datetime import date
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.databases import CATALOG
from tacit.base import PolicyError, Refused
from tacit.plan.expression import Column, constant
from tacit.plan.facts import Facts, Type
from tacit.plan.moments import (
    FINE,
    MOST_STEPS,
    coarse,
    column_of,
    families,
    grid_of,
    moment,
    product,
    range_of,
    rows,
    values,
)
from tacit.sql import lower, parse

numbers = st.fractions(min_value=-(10**12), max_value=10**12, max_denominator=10**6)
steps = st.one_of(st.none(), st.fractions(min_value=Fraction(1, 10**9), max_value=10**6))


def value(
    low: Fraction, high: Fraction, step: Fraction | None = None, nullable: bool = True, name: str = "x"
) -> Column:
    return Column(name=name, facts=Facts(type=Type.NUMBER, low=low, high=high, step=step, nullable=nullable))


@given(numbers, numbers, steps, st.sampled_from((1, 2**10)))
def test_a_grid_covers_its_range(one: Fraction, two: Fraction, step: Fraction | None, least: int) -> None:
    low, high = min(one, two), max(one, two)
    grid = grid_of(value(low, high, step), "x", least=least)
    assert grid.middle - grid.half * grid.step <= low
    assert grid.middle + grid.half * grid.step >= high
    assert least <= grid.half <= 4 * MOST_STEPS
    wide = max(high - low, step or 0)
    assert grid.half * grid.step <= max(wide, 1)  # not far beyond it
    if step is not None and (high - low) / step <= 2 * MOST_STEPS:
        assert (step / grid.step).denominator == 1  # declared values stay on it


@given(numbers, numbers, steps, numbers)
def test_a_grid_round_another_number_covers_the_range_too(
    one: Fraction, two: Fraction, step: Fraction | None, near: Fraction
) -> None:
    low, high = min(one, two), max(one, two)
    at = value(low, high, step)
    grid = grid_of(at, "x")
    moved = grid.round(near, at.facts)
    assert moved.middle - moved.half * moved.step <= low
    assert moved.middle + moved.half * moved.step >= high
    assert moved.step == grid.step
    assert abs(moved.middle - min(max(near, low), high)) <= grid.step
    assert moved.half <= 2 * grid.half + 1


@given(numbers, numbers)
def test_two_values_have_grids_of_one_size(one: Fraction, two: Fraction) -> None:
    low, high = min(one, two), max(one, two)
    grid = grid_of(value(low, high), "x", half=FINE)
    assert grid.half == FINE
    assert (grid.middle - FINE * grid.step, grid.middle + FINE * grid.step) == (low, high) or low == high


@pytest.mark.parametrize("half", [None, FINE])
def test_what_has_no_grid(half: int | None) -> None:
    for facts in (Facts(type=Type.DATE, low=date(2020, 1, 1), high=date(2021, 1, 1)), Facts(type=Type.TEXT)):
        with pytest.raises(Refused, match="needs a number"):
            grid_of(Column(name="x", facts=facts), "MAX(x)", half=half)
    with pytest.raises(PolicyError, match='column "x" has no bounds'):
        grid_of(Column(name="x", facts=Facts(type=Type.NUMBER, why='column "x" has no bounds')), "MAX(x)", half=half)
    huge, tiny = Fraction(10) ** 200, Fraction(1, 10**200)
    for low, high in ((-huge, huge), (Fraction(0), tiny), (huge, huge)):
        with pytest.raises(PolicyError, match="doubles cannot divide"):
            grid_of(value(low, high), "MAX(x)", half=half)


@given(st.fractions(min_value=Fraction(1, 10**6), max_value=10**3), numbers.map(abs), st.sampled_from((8, 2**30)))
def test_coarse_steps(step: Fraction, largest: Fraction, most: int) -> None:
    found = coarse(step, largest, most)
    assert largest <= most * found
    assert found == step or found * most < 4 * largest


def test_rows_count_half_where_everything_is_there() -> None:
    sure, other = value(Fraction(0), Fraction(1), nullable=False), value(Fraction(0), Fraction(1), name="y")
    assert values("m", sure, half=7) == rows("m", 7)
    one, both = values("m", other, half=7), values("m", sure, other, other, half=7)
    assert one.value is not None
    assert both.value is not None
    assert (both.low, both.high) == (7, 7)
    assert both.value.facts.nullable


def test_moments_are_clamped_to_their_sizes() -> None:
    x, y = value(Fraction(-3), Fraction(5)), value(Fraction(0), Fraction(1), name="y")
    grid = grid_of(x, "x", half=FINE)
    assert (moment("m", x, grid).low, moment("m", x, grid).high) == (-FINE, FINE)
    square = moment("m", x, grid, power=2, beside=y)
    assert (square.low, square.high) == (-FINE // 2 - 1, FINE // 2 + 1)
    both = product("m", x, y, grid, grid_of(y, "y", half=FINE))
    assert (both.low, both.high) == (-FINE, FINE)
    for measure in (square, both):
        assert measure.value is not None
        assert measure.value.facts.bounded  # or no engine would add it


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
