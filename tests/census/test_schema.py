"""Cells are every combination of categories; queries sum them; what nobody can be is left out."""

from typing import Any

import numpy as np
import pytest

from tacit.base import InputError
from tacit.census.schema import CellSchema, Recode

CATEGORIES = {"age": (0, 1, 2), "sex": ("f", "m")}
WIDE = Recode(column="age", groups={0: "minor", 1: "adult", 2: "adult"})


def schema(**more: Any) -> CellSchema:
    return CellSchema(categories=CATEGORIES, recodes=more.pop("recodes", {"grown": WIDE}), **more)


def test_queries_are_partitions_of_the_cells() -> None:
    found = schema()
    assert found.cells == 6
    for query, codes, size in [
        ("total", [0, 0, 0, 0, 0, 0], 1),
        ("age", [0, 0, 1, 1, 2, 2], 3),
        ("sex", [0, 1, 0, 1, 0, 1], 2),
        ("sex*age", [0, 3, 1, 4, 2, 5], 6),
        ("grown", [0, 0, 1, 1, 1, 1], 2),
        ("grown * sex", [0, 1, 2, 3, 2, 3], 4),
        ("detail", [0, 1, 2, 3, 4, 5], 6),
    ]:
        partition, groups = found.partition(query)
        assert (partition.tolist(), groups) == (codes, size), query
        names, labels = found.labels(query)
        assert len(labels) == size
        assert all(len(label) == len(names) for label in labels)
    assert found.labels("grown * sex") == (
        ("grown", "sex"),
        [("minor", "f"), ("minor", "m"), ("adult", "f"), ("adult", "m")],
    )


def test_which_queries_are_nested() -> None:
    found = schema()
    assert found.nested("total", "detail")
    assert found.nested("age", "grown")
    assert found.nested("age*sex", "grown*sex")
    assert not found.nested("age", "sex")
    assert not found.nested("age", "grown*sex")


def test_zeros_take_cells_away() -> None:
    found = schema(zeros=({"age": [0, 1], "sex": "m"}, {"grown": "minor"}))
    assert found.possible.tolist() == [False, False, True, False, True, True]
    assert np.array_equal(schema().possible, np.ones(6, dtype=bool))


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ({"zeros": ({"town": 1},)}, "zeros name 'town', which is no column"),
        ({"zeros": ({"age": 7},)}, "zeros name 7, which is no category of 'age'"),
        ({"zeros": ({},)}, "names no column"),
        ({"zeros": ({"sex": ["f", "m"]},)}, "leave no combination"),
        ({"recodes": {"sex": WIDE}}, "has the name of something else"),
        ({"recodes": {"g": Recode(column="town", groups={})}}, "is of 'town', which is no column"),
        ({"recodes": {"g": Recode(column="age", groups={0: "a"})}}, "says no group for 1"),
        ({"recodes": {"g": Recode(column="age", groups={0: "a", 1: "a", 2: "a", 3: "a"})}}, "unknown category 3"),
    ],
)
def test_mistakes_are_named(more: dict[str, Any], told: str) -> None:
    with pytest.raises(InputError, match=told):
        schema(**more)


def test_too_many_cells_are_refused() -> None:
    with pytest.raises(InputError, match=r"10,000 cells, and 4,096 is the most: leave one out, or give 'a'"):
        CellSchema(categories={"a": tuple(range(200)), "b": tuple(range(50))}, recodes={})


def test_unknown_queries_are_refused() -> None:
    with pytest.raises(InputError, match="'town', which is no column of this census: there are age, sex, grown"):
        schema().partition("town*age")
    with pytest.raises(InputError, match="names a column twice"):
        schema().partition("age*age")


@pytest.mark.parametrize("name", ["total", "detail", "vacant", "count", "a*b"])
def test_a_column_that_reads_like_a_query_is_refused(name: str) -> None:
    with pytest.raises(InputError, match="cannot be told from a query"):
        CellSchema(categories={name: (1, 2)}, recodes={})
    with pytest.raises(InputError, match="has the name of something else"):
        schema(recodes={name: WIDE})
