"""Rows that count, and whose they are."""

from itertools import pairwise

import numpy as np
import pytest

from tacit.base import InputError
from tacit.learn.estimator.examples import Examples, codes_of, matrix, unit_offsets


def test_rows_that_are_not_finite_have_no_weight() -> None:
    rows = np.array([[1.0, np.nan], [1.0, np.inf], [1.0, 2.0], [1.0, 2.0]])
    found = Examples.of(rows, np.array([0, 0, -1, 1]))
    assert found.weight.tolist() == [0, 0, 0, 1]
    assert np.isfinite(found.features).all()


def test_weights_stay_between_zero_and_one() -> None:
    found = Examples.of(np.zeros((4, 1)), None, [-1, 0.5, 7, np.nan])
    assert found.weight.tolist() == [0, 0.5, 1, 0]
    with pytest.raises(InputError, match="sample_weight"):
        Examples.of(np.zeros((4, 1)), None, [1])


def test_rows_of_a_unit_come_together() -> None:
    order, offsets = unit_offsets(["b", "a", "b", "c"], 4)
    named = np.array(["b", "a", "b", "c"])[order]
    assert [set(named[a:b]) for a, b in pairwise(offsets)] == [{"a"}, {"b"}, {"c"}]
    with pytest.raises(InputError, match="units"):
        unit_offsets(["a"], 4)


def test_labels_that_were_not_declared_have_no_code() -> None:
    assert codes_of(["x", "y", "z"], ("y", "x"), 3).tolist() == [1, 0, -1]
    assert codes_of([1.0, 2.0, np.nan], (1, 2), 3).tolist() == [0, 1, -1]


def test_what_is_no_number_is_refused_without_showing_it() -> None:
    with pytest.raises(InputError, match="no number") as found:
        matrix([["secret"]])
    assert "secret" not in str(found.value)


def test_one_odd_label_changes_no_other() -> None:
    assert codes_of([0, 1, 1, "x"], (0, 1), 4).tolist() == [0, 1, 1, -1]


def test_rows_of_nobody_count_for_nothing() -> None:
    found = Examples.of(np.zeros((4, 1)), None, units=[1.0, np.nan, 1.0, np.nan])
    assert sorted(found.weight.tolist()) == [0, 0, 1, 1]
    assert Examples.of(np.zeros((2, 1)), None, units=["a", None]).weight.sum() == 1
