"""Relations are two, named, and never mixed."""

from typing import Any

import pytest

from tacit.base import InputError, Relation, RelationError, same_neighbours


def test_names() -> None:
    assert Relation("add_remove") is Relation.ADD_REMOVE
    assert Relation("replace") is Relation.REPLACE
    assert [r.value for r in Relation] == ["add_remove", "replace"]


@pytest.mark.parametrize("value", ["bounded", "", None, 1, "ADD_REMOVE"])
def test_an_unknown_relation_is_refused_with_the_choices(value: Any) -> None:
    with pytest.raises(InputError, match="relation must be one of 'add_remove', 'replace'"):
        Relation(value)


def test_only_equal_neighbours_combine() -> None:
    same_neighbours((Relation.REPLACE, "user"), (Relation.REPLACE, "user"))
    for other in ((Relation.ADD_REMOVE, "user"), (Relation.REPLACE, "row"), (Relation.ADD_REMOVE, "row")):
        with pytest.raises(RelationError, match=r"replace of one user.*restate"):
            same_neighbours((Relation.REPLACE, "user"), other)
