"""From a question to measures: which clips there are, their bounds and what a row counts."""

from fractions import Fraction
from typing import Any

import pytest

from support.databases import CATALOG
from tacit.base import PolicyError, Refused
from tacit.plan.bound import bound
from tacit.plan.bounded import LARGEST, BoundedQuestion, Clip
from tacit.plan.cells import Piece
from tacit.plan.contribution import PRIVATE, Contribution, root_up
from tacit.plan.groups import MOST_GROUPS
from tacit.plan.question import LoweredQuestion
from tacit.sql import lower, parse

ROWS = Contribution(rows=Fraction(3))
FREE = Contribution(rows=PRIVATE)


def asked(sql: str) -> LoweredQuestion:
    return lower(parse(sql), CATALOG)


def planned(sql: str, said: Contribution = ROWS, norm: Any = "l2") -> BoundedQuestion:
    return bound(asked(sql), norm=norm, contribution=said)


def only_clip(plan: BoundedQuestion) -> Clip:
    (clip,) = plan.parts[0].clips
    return clip


def test_every_measure_has_one_clip() -> None:
    sql = (
        "SELECT ward, COUNT(*), SUM(cost), AVG(age), VARIANCE(change), MEDIAN(cost), CORR(age, cost), "
        "COUNT(DISTINCT patient_id), COUNT(DISTINCT note, max_values_per_unit => 2), MODE(level), HISTOGRAM(age, 5) "
        "FROM visits GROUP BY ward"
    )
    for norm in ("l1", "l2"):
        plan = planned(sql, norm=norm)
        assert [recipe.name for recipe in plan.recipes] == [a.name for a in asked(sql).aggregates]
        assert len(plan.parts) == 3
        for part in plan.parts:
            named = sorted(name for clip in part.clips for name in clip.names)
            assert named == sorted(
                [*(measure.name for measure in part.measures), *(ranks.name for ranks in part.ranks)]
            )
            assert all(clip.norm == norm for clip in part.clips)


def test_rows_that_are_units_need_no_clip() -> None:
    clip = only_clip(planned("SELECT SUM(bonus) FROM staff", Contribution()))
    assert clip.exempt
    (measure,) = planned("SELECT SUM(bonus) FROM staff", Contribution()).parts[0].measures
    assert clip.bound == clip.row == -measure.low > measure.high
    three = only_clip(planned("SELECT COUNT(*) FROM treatments", Contribution()))
    assert three.exempt
    assert three.bound == 3


def test_averages_are_measured_from_a_typical_value() -> None:
    """Where that helps: for averages alone, of units whose clip is known."""
    plan = planned("SELECT AVG(age) FROM visits")
    count, first = plan.parts[0].measures
    (recipe,) = plan.recipes
    assert recipe.middle == 40
    assert recipe.step * first.high == 80  # to the further end
    assert count.high == recipe.half == first.high // 16
    size = root_up(Fraction(count.high**2 + first.high**2))
    assert only_clip(plan).bound == 3 * size
    assert not only_clip(plan).by_rows
    for sql, said in (
        ("SELECT AVG(age), COUNT(age) FROM visits", ROWS),
        ("SELECT AVG(age), STDDEV(age) FROM visits", ROWS),
    ):
        assert {recipe.middle for recipe in planned(sql, said).recipes} == {60}


@pytest.mark.parametrize("norm", ["l1", "l2"])
def test_a_row_of_moments(norm: str) -> None:
    plan = planned("SELECT VARIANCE(bonus) FROM staff", Contribution(), norm)
    count, first, square = plan.parts[0].measures
    assert count.high == first.high == -first.low
    sizes = [count.high, first.high, max(square.high, -square.low)]
    exact = Fraction(sum(sizes)) if norm == "l1" else root_up(Fraction(sum(size * size for size in sizes)))
    assert only_clip(plan).bound == exact


def test_what_may_be_clipped_has_fine_steps() -> None:
    for aggregate in ("COUNT(*)", "COUNT(note)", "AVG(third)", "SUM(level)", "MEDIAN(age)", "SUM(fixed)"):
        clip = only_clip(planned(f"SELECT ward, {aggregate} FROM visits GROUP BY ward"))
        assert clip.row >= 2**10, aggregate
        assert clip.bound == 3 * clip.row


def test_units_in_groups() -> None:
    sql = "SELECT ward, COUNT(DISTINCT patient_id) FILTER (WHERE urgent) FROM visits GROUP BY ward"
    plan = planned(sql, Contribution(max_groups=4))
    assert only_clip(plan).bound == 2 * only_clip(plan).row
    assert plan.parts[0].measures[0].value is not None  # the FILTER
    alone = only_clip(planned("SELECT COUNT(DISTINCT patient_id) FROM visits", Contribution()))
    assert alone.exempt
    assert alone.bound == 1
    vouched = only_clip(planned("SELECT kind, COUNT(DISTINCT patient) FROM treatments GROUP BY kind", Contribution()))
    assert (vouched.bound, vouched.exempt) == (root_up(Fraction(3)), True)


def test_distinct_values_need_a_cap() -> None:
    with pytest.raises(Refused, match="max_values_per_unit"):
        planned("SELECT COUNT(DISTINCT age) FROM visits", FREE)
    assert only_clip(planned("SELECT COUNT(DISTINCT age) FROM visits", Contribution(rows=Fraction(7, 2)))).bound == 3
    said = Contribution(rows=Fraction(5), values={"age": 2})
    assert only_clip(planned("SELECT COUNT(DISTINCT age) FROM visits", said)).bound == 2
    assert only_clip(planned("SELECT COUNT(DISTINCT ward) FROM visits", said)).bound == 5
    clip = only_clip(planned("SELECT ward, COUNT(DISTINCT age, max_values_per_unit => 4) FROM visits GROUP BY ward"))
    assert clip.exempt
    assert clip.bound == 4


def test_wide_keys_that_nobody_listed_are_found_privately() -> None:
    """The widest of them, where all combinations would be too many; a declared list stays one."""
    plan = planned("SELECT age, day, age % 100 AS a, ward, COUNT(*) FROM visits GROUP BY 1, 2, 3, 4")
    assert [key.values is None for key in plan.parts[0].keys] == [True, False, False, False]
    assert plan.parts[0].presence is not None


@pytest.mark.parametrize(("norm", "times"), [("l1", Fraction(3)), ("l2", root_up(Fraction(3)))])
def test_the_clip_of_several_groupings_counts_each_level(norm: Any, times: Fraction) -> None:
    """A row counts once in each of three levels: three times in l1, and the root of that in l2."""
    for sql in (
        "SELECT ward, COUNT(*) FROM visits GROUP BY {}",
        "SELECT ward, SUM(cost) FROM visits GROUP BY {}",
        "SELECT ward, COUNT(DISTINCT patient_id) FROM visits GROUP BY {}",
        "SELECT ward, COUNT(*) FROM staff GROUP BY {}",
    ):
        one = only_clip(planned(sql.format("ward"), norm=norm))
        plan = planned(sql.format("GROUPING SETS ((ward), (ward, ward || 'x'), ())"), norm=norm)
        several, shares = only_clip(plan), plan.parts[0].measures[0].shares
        assert one.bound is not None
        assert several.bound == one.bound * (root_up(Fraction(sum(s * s for s in shares))) if shares else times)
        assert several.exempt == one.exempt


def test_bounds_that_are_chosen_privately() -> None:
    plan = planned("SELECT ward, COUNT(*), SUM(cost), MEDIAN(age) FROM visits GROUP BY ward", FREE)
    for clip in plan.parts[0].clips:
        assert clip.bound is None
        assert not clip.exempt
        assert clip.edges
        assert clip.edges[-1] <= LARGEST


@pytest.mark.parametrize("asked", ["COUNT(*)", "MEDIAN(age)", "COUNT(DISTINCT patient_id)"])
def test_bounds_are_whole_rows_where_every_norm_is(asked: str) -> None:
    """In l1 a unit's norm is its number of rows, or of groups: bounds between whole numbers only add noise. In l2 it is
    any root."""
    sql = f"SELECT ward, {asked} FROM visits GROUP BY ward"
    one, two = (only_clip(planned(sql, FREE, norm)) for norm in ("l1", "l2"))
    assert [edge / one.row for edge in one.edges[:13]] == [*range(1, 14)]
    assert all((edge / one.row).denominator == 1 for edge in one.edges)
    assert any((edge / two.row).denominator > 1 for edge in two.edges)
    assert [one.places[int(rows * one.row)] for rows in (2, 16)] == [5, 32]  # with weights as ever


@pytest.mark.parametrize("said", [ROWS, FREE])
@pytest.mark.parametrize(
    "value", ["cost * 0", "fixed", "cost + 1e12", "cost + 1e50", "cost * 1e-30", "-3", "narrow", "age * 1e40"]
)
def test_sums_of_odd_ranges(value: str, said: Contribution) -> None:
    """Points, ranges far from zero, tiny and huge ones: at least a step, and not more than engines add up."""
    plan = planned(f"SELECT SUM({value}) FROM visits", said)
    (measure,) = plan.parts[0].measures
    clip = only_clip(plan)
    assert max(abs(measure.low), abs(measure.high), 1) <= clip.row <= 2**31
    assert clip.edges


def test_quantiles_have_a_cell_for_each_step() -> None:
    (ranks,) = planned("SELECT MEDIAN(age) FROM visits").parts[0].ranks
    assert ranks.pieces == (Piece(low=Fraction(-1, 2), width=Fraction(1), cells=121),)
    (ranks,) = planned("SELECT MEDIAN(fixed) FROM visits").parts[0].ranks
    assert ranks.cells == 1
    (ranks,) = planned("SELECT MEDIAN(change) FROM visits").parts[0].ranks
    assert 2**13 < ranks.cells <= 2**14
    assert -41 < ranks.pieces[0].low < -40
    assert 25 < ranks.pieces[-1].high < 26


def test_a_histogram_of_a_point_has_one_cell_that_counts() -> None:
    (_, part) = planned("SELECT HISTOGRAM(fixed, 4) FROM visits").parts
    assert part.keys[-1].values == (0, None)


@pytest.mark.parametrize(
    ("sql", "words"),
    [
        ("SELECT MIN(day) FROM visits", "needs a number"),
        ("SELECT HISTOGRAM(seen, 5) FROM visits", "needs a number"),
        ("SELECT MODE(note) FROM visits", "possible values"),
        ("SELECT note, MODE(ward) FROM visits GROUP BY note", "known in advance"),
        ("SELECT day, age, ward, HISTOGRAM(cost, 9999) FROM visits GROUP BY 1, 2, 3", f"{MOST_GROUPS:,}"),
    ],
)
def test_refusals(sql: str, words: str) -> None:
    with pytest.raises(Refused, match=words):
        planned(sql)


def test_declarations_that_are_missing() -> None:
    with pytest.raises(PolicyError, match='column "weight" has no bounds'):
        planned("SELECT SUM(weight) FROM visits")
    with pytest.raises(PolicyError, match="clip_rows"):
        planned("SELECT COUNT(*) FROM visits", Contribution())
    with pytest.raises(PolicyError, match="smaller clip"):
        planned("SELECT AVG(cost) FROM visits", Contribution(rows=Fraction(10**9)))
