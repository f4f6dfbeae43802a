"""Shares of ρ, and what they promise of the errors."""

from fractions import Fraction
from math import pi, sqrt
from typing import Any

import pytest

from tacit.base import InputError, Relation
from tacit.census.allocation import expected_errors, shares_of, steps_of
from tacit.census.schema import CellSchema
from tacit.census.spine import Spine

SPINE = Spine("state", "block", places=[("s", f"b{n}") for n in range(4)])
SCHEMA = CellSchema(categories={"race": ("a", "b"), "age": (0, 1)}, recodes={})


def test_weights_become_shares() -> None:
    even = shares_of(SPINE, SCHEMA, {"total": 9, "race": 9, "detail": 18}, None)
    assert even["state", "total"] == even["block", "race"] == Fraction(1, 8)
    assert even["block", "detail"] == Fraction(1, 4)
    by_level = shares_of(
        SPINE, SCHEMA, {"total": {"state": 1}, "detail": {"state": 3, "block": 5}}, {"state": 1, "block": 4}
    )
    assert by_level == {
        ("state", "total"): Fraction(1, 20),
        ("state", "detail"): Fraction(3, 20),
        ("block", "detail"): Fraction(4, 5),
    }
    assert ("state", "race") not in shares_of(SPINE, SCHEMA, {"total": 1, "race": {"state": 0, "block": 1}}, None)


@pytest.mark.parametrize(
    ("queries", "levels", "told"),
    [
        ({}, None, "say which queries are measured"),
        ({"total": 0}, None, "level 'state' has a share and no query"),
        ({"total": -1}, None, "weight of state.total"),
        ({"town": 1}, None, "names 'town', which is no column"),
        ({"total": {"town": 1}}, None, "there is no level 'town'"),
        ({"total": 1}, {"town": 1}, "there is no level 'town'"),
        ({"total": 1}, {"state": 0, "block": 0}, "every weight is zero"),
        ({"total": {"state": 1}}, None, "level 'block' has a share and no query"),
        ({"total": "much"}, None, "weight of state.total"),
    ],
)
def test_wrong_weights_are_refused(queries: dict[str, Any], levels: dict[str, Any] | None, told: str) -> None:
    with pytest.raises(InputError, match=told):
        shares_of(SPINE, SCHEMA, queries, levels)


@pytest.mark.parametrize("rho", [0, -1, "much", float("nan")])
def test_wrong_amounts_are_refused(rho: Any) -> None:
    with pytest.raises(InputError, match="rho"):
        steps_of(shares_of(SPINE, SCHEMA, {"total": 1}, None), rho, Relation.REPLACE, 1)


def test_expected_errors_of_one_query() -> None:
    """Checked by hand: σ² = 8 at both levels, four blocks in a state."""
    shares = shares_of(SPINE, SCHEMA, {"total": 1}, None)
    steps = steps_of(shares, Fraction(1, 4), Relation.REPLACE, 1)
    state, block = expected_errors(SPINE, SCHEMA, shares, steps, (frozenset(), frozenset()))
    assert state.noise == pytest.approx(sqrt(8))
    assert (state.counts, block.counts) == (1, 4)
    top = 1 / (1 / 8 + 1 / 32)
    assert state.error == pytest.approx(sqrt(2 / pi * top))
    assert block.error == pytest.approx(sqrt(2 / pi * (8 * 3 / 4 + top / 16)))
    state, block = expected_errors(SPINE, SCHEMA, shares, steps, (frozenset({"total"}), frozenset()))
    assert state.error == 0
    assert block.error == pytest.approx(sqrt(2 / pi * 8 * 3 / 4))


def test_finer_queries_help_coarser_ones() -> None:
    shares = shares_of(SPINE, SCHEMA, {"total": 1, "race": 1, "age": 1}, {"block": 1})
    steps = steps_of(shares, 3, Relation.REPLACE, 1)  # σ = 1 each
    found = {(each.level, each.query): each for each in expected_errors(SPINE, SCHEMA, shares, steps, ((), ()))}
    assert found["state", "total"].noise is None
    assert found["state", "total"].error == pytest.approx(sqrt(2 / pi * 4 / 2))  # 1 + ½ + ½ of what one total tells
    assert found["block", "race"].error == pytest.approx(sqrt(2 / pi * (3 / 4 + 4 / 16)))
