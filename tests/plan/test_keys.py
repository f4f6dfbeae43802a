"""Keys that nobody listed, shown by the count of a question: in how many steps it is, and which bounds it has."""

from fractions import Fraction
from typing import Any

import pytest

from support.databases import CATALOG
from tacit.plan.bound import bound
from tacit.plan.bounded import BoundedQuestion, Norm
from tacit.plan.contribution import PRIVATE, Contribution
from tacit.plan.keys import by_counts
from tacit.sql import lower, parse

ROWS = "SELECT note, COUNT(*) AS n, SUM(cost) AS s FROM visits GROUP BY note"
PEOPLE = "SELECT note, COUNT(DISTINCT patient_id) AS n FROM visits GROUP BY note"


def shown(sql: str, norm: Norm, rows: Any) -> tuple[BoundedQuestion, BoundedQuestion]:
    before = bound(lower(parse(sql), CATALOG), norm=norm, contribution=Contribution(rows=rows))
    after = by_counts(before)
    assert after is not None
    return before, after


def steps(bounded: BoundedQuestion) -> tuple[int, Fraction | None, int]:
    """Of the count: of one row, of its bound, and of one in its answer."""
    (recipe,) = [recipe for recipe in bounded.recipes if recipe.function == "count"]
    (part,) = bounded.parts
    (measure,) = [measure for measure in part.measures if measure.name == recipe.inputs[0]]
    (clip,) = [clip for clip in part.clips if measure.name in clip.names]
    assert measure.low == measure.high == clip.row == recipe.half
    return measure.high, clip.bound, recipe.half


@pytest.mark.parametrize("sql", [ROWS, PEOPLE])
@pytest.mark.parametrize("rows", [Fraction(3), PRIVATE])
def test_a_count_that_decides_on_keys_has_fewer_steps(sql: str, rows: Any) -> None:
    """As many rows as before are within its bound."""
    before, after = shown(sql, "l2", rows)
    (fine, most, _), (coarse, fewer, _) = steps(before), steps(after)
    assert (fine, coarse) == (1024, 16)
    assert (most, fewer) == ((None, None) if rows == PRIVATE else (3 * fine, 3 * coarse))
    (old,), (new,) = before.parts, after.parts
    counted = new.counted
    assert new.presence is None
    assert [m for m in new.measures if m.name != counted] == [m for m in old.measures if m.name != counted]
    assert [c for c in new.clips if counted not in c.names] == [c for c in old.clips if counted not in c.names]


@pytest.mark.parametrize(("norm", "rows"), [("l1", Fraction(3)), ("l2", Fraction(1, 2))])
def test_steps_stay_where_they_cost_nothing_or_rounding_would_take_much(norm: Norm, rows: Fraction) -> None:
    before, after = shown(ROWS, norm, rows)
    assert steps(before) == steps(after)
