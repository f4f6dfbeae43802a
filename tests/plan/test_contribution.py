"""How much one unit may give: rows by shape, and clip norms by what was said."""

from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.databases import CATALOG
from tacit.base import PolicyError, Refused
from tacit.plan.bound import bound
from tacit.plan.contribution import PRIVATE, ClipNorms, Contribution, check_units, root_up, rows_per_unit
from tacit.plan.facts import Facts, Type
from tacit.plan.node import Join
from tacit.plan.question import LoweredQuestion
from tacit.sql import Catalog, lower, parse


def asked(sql: str) -> LoweredQuestion:
    return lower(parse(sql), CATALOG)


@pytest.mark.parametrize(
    ("source", "rows"),
    [
        ("staff", 1),  # each row is a unit
        ("staff WHERE bonus > 0", 1),
        ("visits", None),
        ("treatments", 3),  # vouched for
        ("(SELECT patient, dose * 2 AS d FROM treatments WHERE dose > 0) t", 3),
        ("(SELECT patient_id, COUNT(*) AS n FROM visits GROUP BY patient_id) t", 1),
        ("(SELECT patient_id, ward, COUNT(*) AS n FROM visits GROUP BY 1, 2) t", None),
        ("(SELECT patient, kind, COUNT(*) AS n FROM treatments GROUP BY 1, 2) t", 3),
        ("treatments t JOIN drugs d ON t.drug = d.drug", None),  # a drug may be listed twice
        ("treatments t LEFT JOIN drugs d ON t.drug = d.drug", None),
        ("treatments a JOIN treatments b ON a.patient = b.patient", None),
    ],
)
def test_rows_of_a_unit(source: str, rows: int | None) -> None:
    assert rows_per_unit(asked(f"SELECT COUNT(*) FROM {source}").source) == rows


def test_a_join_that_is_known_to_match_once_keeps_rows() -> None:
    source = asked("SELECT COUNT(price) FROM treatments t JOIN drugs d ON t.drug = d.drug").source
    assert isinstance(source, Join)
    assert rows_per_unit(Join(kind="left", left=source.left, right=source.right, on=source.on, unique=True)) == 3
    assert rows_per_unit(Join(kind="left", left=source.left, right=source.left, on=(), unique=True)) is None


@given(st.fractions(min_value=0, max_value=10**12, max_denominator=10**6))
def test_roots_are_above(value: Fraction) -> None:
    found = root_up(value)
    assert found * found >= value
    assert (found - Fraction(1, 10**12)) ** 2 <= value or found <= Fraction(1, 10**12)


def norm(sql: str, said: Contribution, kind: Any = "l1") -> Fraction | None:
    """The clip norm of the first aggregate, for rows of 10 steps of a half."""
    question = asked(sql)
    family = question.aggregates[:1]
    of = family[0].arguments[0] if family[0].arguments else None
    return ClipNorms(said=said, question=question, norm=kind).clip_norm(family, Fraction(10), of, Fraction(1, 2))


ALL = "SELECT SUM(cost) FROM visits"
BY_WARD = "SELECT ward, SUM(cost) FROM visits GROUP BY ward"
WITHIN = "SELECT ward, SUM(cost, contribution_bounds_per_group => (-7, 5)) FROM visits GROUP BY ward"
FOUR = ", ".join(("SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (max_groups_contributed = 4) ward", WITHIN[13:].strip()))


def test_what_is_said_of_the_column_goes_before_rows() -> None:
    said = Contribution(rows=Fraction(3), columns={"cost": Fraction(50)})
    assert norm(ALL, said) == 100
    assert norm("SELECT SUM(cost + 1) FROM visits", said) == 30  # not the column as it stands
    assert norm(ALL, Contribution(rows=Fraction(3), columns={"cost": PRIVATE})) is None
    assert norm(ALL, Contribution(rows=PRIVATE)) is None


def test_bounds_per_group_go_with_a_number_of_groups() -> None:
    said = Contribution(rows=Fraction(3), columns={"cost": Fraction(50)})
    with pytest.raises(Refused, match="max_groups_contributed"):
        norm(WITHIN, said)
    assert norm(FOUR, said) == 7 * 2 * 4
    assert norm(FOUR, said, "l2") == 7 * 2 * 2
    assert norm(WITHIN.replace("ward, ", "").replace(" GROUP BY ward", ""), said) == 7 * 2  # there is one group
    per_group = Contribution(max_groups=4, per_group={"cost": (Fraction(0), Fraction(9))})
    assert norm(BY_WARD, per_group) == 9 * 2 * 4


def test_rows_per_group() -> None:
    said = Contribution(max_groups=4, rows_per_group=3)
    assert norm(BY_WARD, said) == 4 * 3 * 10
    assert norm(BY_WARD, said, "l2") == 2 * 3 * 10
    assert norm(ALL, said) == 3 * 10


def test_nothing_said_is_an_error_that_says_what_to_declare() -> None:
    with pytest.raises(PolicyError, match=r"SUM\(cost\).*clip_rows"):
        norm(ALL, Contribution())
    question = asked("SELECT ward, COUNT(DISTINCT patient_id) FROM visits GROUP BY ward")
    allowance = ClipNorms(said=Contribution(), question=question, norm="l1")
    with pytest.raises(PolicyError, match="clip_rows"):
        allowance.in_groups(question.aggregates[0])


@pytest.mark.parametrize(
    ("said", "l1", "l2"),
    [
        (Contribution(max_groups=9, rows=PRIVATE), 9, 3),
        (Contribution(rows=Fraction(5)), 5, 5),
        (Contribution(rows=PRIVATE), None, None),
    ],
)
def test_units_in_groups(said: Contribution, l1: int | None, l2: int | None) -> None:
    question = asked("SELECT ward, COUNT(DISTINCT patient_id) FROM visits GROUP BY ward")
    for kind, expected in (("l1", l1), ("l2", l2)):
        allowance = ClipNorms(said=said, question=question, norm=kind)  # type: ignore[arg-type]  # a word
        assert allowance.in_groups(question.aggregates[0]) == expected


def test_units_of_two_types_are_not_compared() -> None:
    columns = {**CATALOG.tables["treatments"].columns, "patient": Facts(type=Type.TEXT)}
    other = Catalog(tables={**CATALOG.tables, "treatments": replace(CATALOG.tables["treatments"], columns=columns)})
    joined = "SELECT n FROM visits v JOIN treatments t ON v.patient_id = t.patient"
    for sql in (joined.replace("n", "COUNT(*)", 1), f"SELECT COUNT(*) FROM ({joined.replace('n', 'dose', 1)}) x"):
        check_units(asked(sql).source)
        with pytest.raises(PolicyError, match="integer and text"):
            check_units(lower(parse(sql), other).source)


@pytest.mark.parametrize(
    ("said", "apart"),
    [
        (Contribution(rows=PRIVATE), False),
        (Contribution(rows=Fraction(3)), False),
        (Contribution(rows=PRIVATE, columns={"narrow": PRIVATE}), False),
        (Contribution(rows=PRIVATE, columns={"narrow": Fraction(9)}), True),
        (Contribution(rows=Fraction(3), columns={"narrow": PRIVATE}), True),
        (Contribution(rows=Fraction(3), max_groups=2, per_group={"narrow": (Fraction(0), Fraction(9))}), True),
    ],
)
def test_a_sum_with_a_clip_of_its_own_is_not_joined_by_a_count(said: Contribution, apart: bool) -> None:
    question = asked("SELECT COUNT(*), SUM(narrow) FROM visits")
    assert ClipNorms(said=said, question=question, norm="l1").apart(question.aggregates[1].arguments[0]) is apart
    assert len(bound(question, norm="l1", contribution=said).parts[0].clips) == 1 + apart
