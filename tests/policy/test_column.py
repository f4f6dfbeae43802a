"""A column: what is missing is an error of the question that needs it."""

from datetime import date, datetime
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.policies import clinic
from tacit.base import PolicyError
from tacit.policy import Column, ColumnType, Table


@pytest.mark.parametrize(
    ("ask", "said"),
    [
        ("bounds", "bounds have not been declared, so SUM(x) has no sensitivity: declare bounds = [lower, upper]"),
        ("step", "step has not been declared, so SUM(x) cannot be summed exactly"),
        ("clip", "clip has not been declared, so SUM(x) has no limit on what one unit adds"),
        ("type", "type has not been declared, so SUM(x) cannot be read safely"),
    ],
)
def test_what_is_missing_is_said_at_the_question(ask: str, said: str) -> None:
    column = Column(name="x", table="t")
    with pytest.raises(PolicyError) as caught:
        getattr(column, f"require_{ask}")("SUM(x)")
    assert str(caught.value).startswith(f'table "t", column "x": {said}')


def test_what_is_declared_is_given() -> None:
    cost = clinic().table("visits").column("cost")
    assert cost.require_bounds("SUM(cost)") == (0, 5000)
    assert cost.require_step("SUM(cost)") == Fraction(1, 100)
    assert cost.require_clip("SUM(cost)") == 8000
    assert cost.require_type("SUM(cost)") is ColumnType.DECIMAL


def test_a_hidden_column_is_refused_and_not_offered() -> None:
    visits = clinic().table("visits")
    with pytest.raises(PolicyError, match=r'column "note": it is hidden, so COUNT\(note\) cannot use it'):
        visits.column("note", "COUNT(note)")
    with pytest.raises(PolicyError) as caught:
        visits.column("notes")
    assert '"note"' not in str(caught.value)


def test_whole_numbers_have_a_step() -> None:
    assert Column(type=ColumnType.INTEGER).require_step("SUM(x)") == 1
    with pytest.raises(PolicyError, match="finer than whole numbers"):
        Column(type=ColumnType.INTEGER, step=Fraction(1, 2))


def test_floats_in_python_are_the_decimals_they_print_as() -> None:
    column = Column(type="decimal", bounds=(0.1, 0.3), step=0.1)  # type: ignore[arg-type]  # what people write
    assert column.bounds == (Fraction(1, 10), Fraction(3, 10))


@pytest.mark.parametrize(
    ("kind", "good", "bad"),
    [
        ("integer", (0, 1), (0, Fraction(1, 2))),
        ("date", (date(2020, 1, 1), date(2021, 1, 1)), (datetime(2020, 1, 1), datetime(2021, 1, 1))),
        ("timestamp", (datetime(2020, 1, 1), datetime(2021, 1, 1)), (date(2020, 1, 1), date(2021, 1, 1))),
        ("float", (-1, 1), (False, True)),
    ],
)
def test_bounds_suit_the_type(kind: ColumnType, good: tuple[object, object], bad: tuple[object, object]) -> None:
    assert Column(type=kind, bounds=good).bounds == good
    with pytest.raises(PolicyError, match="do not suit"):
        Column(type=kind, bounds=bad)


@pytest.mark.parametrize("extra", [{"step": 1}, {"clip": 1}, {"per_group": (0, 1)}])
def test_sums_are_for_numbers(extra: dict[str, object]) -> None:
    with pytest.raises(PolicyError):
        Column(type=ColumnType.TEXT, **extra)  # type: ignore[arg-type]  # the point of the test


@pytest.mark.parametrize("kind", ["float", "timestamp"])
def test_keys_are_for_values_that_repeat(kind: ColumnType) -> None:
    with pytest.raises(PolicyError, match="hardly repeat"):
        Column(type=kind, group_keys=(1,))


def test_bounds_and_keys_of_two_kinds_are_a_policy_error() -> None:
    with pytest.raises(PolicyError, match=r"bounds = .* do not suit"):
        Column(type=ColumnType.INTEGER, bounds=(date(2020, 1, 1), date(2021, 1, 1)), group_keys=(1,))


def test_a_typical_value_is_a_number_within_the_bounds() -> None:
    assert Column(type=ColumnType.FLOAT, bounds=(0, 5000), typical=Fraction(40)).typical == 40
    with pytest.raises(PolicyError, match=r"typical = 9 lies outside bounds = \[0, 5\]"):
        Column(type=ColumnType.INTEGER, bounds=(0, 5), typical=Fraction(9))
    with pytest.raises(PolicyError, match="typical is for a column of type integer, decimal or float"):
        Column(type=ColumnType.TEXT, typical=Fraction(9))


def test_keys_lie_within_the_bounds_and_on_the_grid() -> None:
    with pytest.raises(PolicyError, match=r"group_keys = \[1, 9\] lie outside bounds = \[0, 5\]"):
        Column(type=ColumnType.INTEGER, bounds=(0, 5), group_keys=(1, 9))
    with pytest.raises(PolicyError, match=r"group_keys = \[0.5\] are not on the grid of step = 1"):
        Column(type=ColumnType.DECIMAL, step=Fraction(1), group_keys=(Fraction(1, 2),))


points = st.one_of(
    st.fractions(),
    st.integers(),
    st.booleans(),
    st.text(),
    st.dates(),
    st.datetimes(),
    st.floats(),
    st.none(),
    st.binary(),
)


@given(
    st.fixed_dictionaries(
        {},
        optional={
            "type": st.sampled_from(ColumnType) | points,
            "bounds": st.tuples(points, points) | points,
            "per_group": st.tuples(points, points) | points,
            "step": points,
            "group_keys": st.lists(points, max_size=3) | points,
            "clip": points | st.just("private"),
            "hidden": st.booleans(),
        },
    )
)
def test_any_values_give_a_column_or_a_policy_error(values: dict[str, Any]) -> None:
    try:
        column = Column(**values)
    except PolicyError:
        return
    assert Column(**{name: getattr(column, name) for name in values}) == column, "its own values make it again"


def test_unique_is_for_columns_of_public_tables_that_can_be_joined_on() -> None:
    key = Column(type=ColumnType.TEXT, unique=True)
    assert Table(public=True, columns={"ward": key}).columns["ward"].unique
    with pytest.raises(PolicyError, match="unique is for public tables, and this one is protected"):
        Table(unit_column="patient", columns={"ward": key})
    with pytest.raises(PolicyError, match="needs a type"):
        Column(unique=True)
    with pytest.raises(PolicyError, match="contradicts unique"):
        Column(type=ColumnType.TEXT, unique=True, hidden=True)
