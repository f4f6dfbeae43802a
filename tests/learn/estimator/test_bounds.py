"""Declared bounds, in their three forms, and what is wrong with others."""

from typing import Any

import numpy as np
import pytest

from tacit.base import InputError
from tacit.learn.estimator import Bounds
from tacit.learn.estimator.bounds import declared_range, scaled


def test_three_ways_to_declare_the_same() -> None:
    names = ["age", "hours per week"]
    by_name = Bounds({"hours per week": (0, 99)}, age=(18, 90), more=(0, 1))
    for bounds in (by_name, ([18, 0], [90, 99]), (np.array([18, 0]), np.array([90, 99]))):
        found = declared_range(bounds, names, "model")
        assert (found.low.tolist(), found.high.tolist()) == ([18, 0], [90, 99])
    assert declared_range((0, 1), names, "model").high.tolist() == [1, 1]


def test_values_are_clamped_and_moved_to_plus_and_minus_one() -> None:
    within = declared_range(([0.0], [10.0]), ["a"], "model")
    assert scaled(np.array([[-5.0], [0.0], [5.0], [10.0], [1e300]]), within)[:, 0].tolist() == [-1, -1, 0, 1, 1]


@pytest.mark.parametrize(
    "bounds", [None, 3, (1, 0), (0, float("nan")), (-1e308, 1e308), ([0, 0, 0], 1), {"age": (0, 1)}, {"age": 3}]
)
def test_what_is_no_bounds_is_refused_and_the_column_named(bounds: Any) -> None:
    with pytest.raises(InputError, match="bounds"):
        declared_range(bounds, ["age", "hours"], "model")
