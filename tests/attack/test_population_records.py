"""Rows of several tables, compared."""

import numpy as np
import pyarrow as pa
import pytest

from tacit.attack.population import comparable
from tacit.base import InputError

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
