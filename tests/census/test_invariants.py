"""What is held exactly: refused where it is not allowed, protects nobody, or contradicts itself."""

from typing import Any

import numpy as np
import pytest

from tacit.base import InputError, PolicyError, Relation
from tacit.census.invariants import invariants_of
from tacit.census.schema import CellSchema
from tacit.census.spine import Spine

SPINE = Spine("state", "county", "block", places=[("s", "c", "b0"), ("s", "c", "b1"), ("s", "d", "b2")])
SCHEMA = CellSchema(categories={"race": ("a", "b"), "age": (0, 1)}, recodes={})


def test_what_is_fixed_is_fixed_above_as_sums() -> None:
    found = invariants_of(["county.race", "block.vacant"], SPINE, SCHEMA)
    race = np.array([[1, 0], [4, 7]])
    held = found.held({("county", "race"): race, ("block", "vacant"): np.array([[1], [0], [0]])})
    assert held.fixed[1]["race"] is race
    assert held.fixed[0]["race"].tolist() == [[5, 7]]
    assert held.fixed[2] == {}
    assert [each.tolist() for each in held.empty] == [[False], [False, True], [False, True, True]]
    assert found.fixed == (frozenset({"race"}), frozenset({"race"}), frozenset())


def test_an_empty_county_has_empty_blocks() -> None:
    held = invariants_of(["county.vacant"], SPINE, SCHEMA).held({("county", "vacant"): np.array([[0], [3]])})
    assert held.empty[2].tolist() == [True, True, False]


def test_numbers_that_everybody_knows() -> None:
    found = invariants_of({"state.total": {"s": 9}, "block.vacant": ["b1"]}, SPINE, SCHEMA)
    held = found.held({})
    assert held.fixed[0]["total"].tolist() == [[9]]
    assert held.empty[2].tolist() == [False, True, False]
    assert found.impossible.tolist() == [False, True, False]
    found.check_allowed((), "people")  # nothing is read for them
    found.check_relation(Relation.ADD_REMOVE)
    assert found.json() == {"read": [], "totals": {"state": [9]}, "vacant": {"block": [1]}}


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ("state.total", r"invariants are a list: invariants=\['state.total'\]"),
        (["total"], "invariant 'total' names no query: write it as \"state.total\""),
        (["town.total"], "there is no level 'town'"),
        (["state.town"], "names 'town', which is no column"),
        (["county.race", "county.age"], "'age' and 'race' would both hold at level 'county'"),
        (["county.race", "block.age"], "'age' and 'race' would both hold at level 'county'"),
        ({"state.total": {"s": 9}, "county.total": {"c": 4, "d": 4}}, "'s' has the total 9.* add up to 8"),
        ({"county.total": {"c": 4}}, "says nothing of 'd'"),
        ({"county.total": {"c": 4, "d": 1, "e": 2}}, "names 'e', which is no place"),
        ({"county.total": {"c": -4, "d": 1}}, "county.total of c"),
        ({"county.total": 5}, "given as numbers by place"),
        ({"county.race": {"c": 1, "d": 1}}, "cannot be given as numbers"),
        ({"block.vacant": ["b9"]}, "names 'b9', which is no place"),
        ({"county.total": {"c": 4, "d": 1}, "block.vacant": ["b2"]}, "county 'd' is vacant, and its total is 1"),
        ({"state.total": {"s": 4}, "county.total": None}, "may contradict counts that are read from the data"),
    ],
)
def test_contradictions_are_refused(given: Any, told: str) -> None:
    with pytest.raises(InputError, match=told):
        invariants_of(given, SPINE, SCHEMA)


def test_the_first_level_may_hold_queries_that_overlap() -> None:
    assert invariants_of(["state.race", "state.age"], SPINE, SCHEMA).read


def test_what_the_policy_does_not_allow() -> None:
    found = invariants_of(["state.total", "block.vacant"], SPINE, SCHEMA)
    found.check_allowed(("block.vacant", "state.total"), "people")
    with pytest.raises(PolicyError, match=r'"block.vacant" would be released exactly.*invariants = \["block.vacant"\]'):
        found.check_allowed(("state.total",), "people")
    found.check_relation(Relation.REPLACE)
    with pytest.raises(PolicyError, match='declare relation = "replace"'):
        found.check_relation(Relation.ADD_REMOVE)
