"""Relations are values: two that everything knows, others that add up among themselves, and none that mix."""

import copy
import json
import pickle
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


SECRET = Relation.other("pufferfish", "whether one patient has the disease")


def test_the_common_ones_are_texts_and_constants() -> None:
    for relation, text in zip(Relation, ("add_remove", "replace"), strict=True):
        assert (relation.value, relation.kind, relation.json(), str(relation)) == (text,) * 4
        assert relation == text
        assert hash(relation) == hash(text)
        assert json.dumps({"relation": relation}) == f'{{"relation": "{text}"}}'
        assert f"{relation}" == text
        assert relation.changes
        for again in (Relation(relation), Relation.from_json(text), copy.deepcopy(relation)):
            assert again is relation
        assert pickle.loads(pickle.dumps(relation)) is relation


def test_another_kind_says_what_changes_and_comes_back() -> None:
    assert (SECRET.kind, SECRET.changes) == ("pufferfish", "whether one patient has the disease")
    assert repr(SECRET) == "Relation('pufferfish: whether one patient has the disease')"
    for again in (Relation.from_json(json.loads(json.dumps(SECRET.json()))), pickle.loads(pickle.dumps(SECRET))):
        assert again == SECRET
        assert hash(again) == hash(SECRET)
    assert Relation.other("pufferfish", "something else") != SECRET
    with pytest.raises(AttributeError):
        SECRET.kind = "replace"  # type: ignore[misc]


@pytest.mark.parametrize(
    ("kind", "changes"), [("replace", "x"), ("add_remove", "x"), ("", "x"), ("A b", "x"), ("odd", ""), ("odd", " x")]
)
def test_another_kind_needs_a_name_and_words(kind: str, changes: str) -> None:
    with pytest.raises(InputError, match="a relation of another kind needs"):
        Relation.other(kind, changes)


def test_what_is_proven_for_the_common_ones_alone_refuses_others() -> None:
    with pytest.raises(InputError, match="relation must be one of"):
        Relation(SECRET)
    with pytest.raises(RelationError):
        same_neighbours((SECRET, "patient"), (Relation.REPLACE, "patient"))
    same_neighbours((SECRET, "patient"), (Relation.from_json(SECRET.value), "patient"))
