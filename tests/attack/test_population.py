"""The made-up country: sizes add up, and so few people share a birth date as was published."""

import numpy as np
import pyarrow as pa
import pytest

from tacit.attack.linkage import uniqueness
from tacit.attack.population import comparable, country
from tacit.base import InputError


@pytest.mark.parametrize("seed", [1, 2])
def test_as_many_are_alone_as_was_published(seed: int) -> None:
    found = country(seed=seed)
    by_zip = uniqueness(found.people, ["zip", "birth_date", "sex"])
    by_place = uniqueness(found.people, ["place", "birth_date", "sex"])
    assert by_zip == pytest.approx(0.87, abs=0.03)
    assert by_place == pytest.approx(0.50, abs=0.03)
    assert by_zip == pytest.approx(found.expected(found.zips), abs=0.005)  # it follows from the sizes
    assert by_place == pytest.approx(found.expected(found.places), abs=0.005)


def test_everybody_lives_somewhere() -> None:
    found = country(places=5)
    assert found.people.num_rows == found.zips.sum() == found.places.sum()
    assert len(found.people.column("name").unique()) == found.people.num_rows
    assert len(found.people.column("zip").unique()) == len(found.zips)
    assert len(found.people.column("place").unique()) == 5


ONE = pa.table({"age": [20, 30, 40], "town": ["a", "b", "a"]})
TWO = pa.table({"town": ["b", "c"], "age": [25, 40]})


def test_equal_values_get_equal_numbers_whatever_the_order() -> None:
    one, two = comparable([ONE, TWO])
    assert one.names == ("age", "town")
    assert two.cells[1, 0] == one.cells[2, 0] == 40
    assert two.cells[0, 1] == one.cells[1, 1]
    assert two.cells[1, 1] not in one.cells[:, 1]


def test_the_nearest_are_all_that_are_equally_near() -> None:
    one, two = comparable([ONE, TWO])
    assert one.nearest(two.cells[0], [0]).tolist() == [True, True, False]
    assert one.nearest(two.cells[0], [0, 1]).tolist() == [False, True, False]
    assert one.reach(0) == 20


def test_a_band_reaches_halfway_to_the_neighbours() -> None:
    (one,) = comparable([ONE])
    assert one.band(0, 30) == (25, 35)
    assert one.band(0, 20) == (-np.inf, 25)
    assert one.band(0, 40) == (35, np.inf)
    assert one.band(1, 0) == (0, 0)


def test_columns_must_be_the_same() -> None:
    with pytest.raises(InputError, match="same columns"):
        comparable([ONE, TWO.select(["town"])])
