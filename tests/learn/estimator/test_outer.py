"""Whole-number rows and their exact sums: norms, neighbours, units."""

from math import sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from tacit.base import InputError
from tacit.learn.estimator.outer import STEPS, SumBlock, SumVector, exact_product, in_ball, one_hot

wild = st.floats(-1e6, 1e6) | st.floats(-3, 3) | st.floats(-1e-9, 1e-9)


@given(arrays(float, st.tuples(st.integers(1, 6), st.integers(1, 9)), elements=wild), st.floats(0.01, 100))
def test_a_row_is_in_the_ball_exactly(values: np.ndarray, radius: float) -> None:
    steps = in_ball(values, radius)
    assert (steps == np.rint(steps)).all()
    for row in steps:
        assert sum(int(each) ** 2 for each in row) <= STEPS**2


def test_rows_far_out_reach_the_edge_and_near_ones_stay() -> None:
    far, near = in_ball(np.array([[30.0, 40.0], [0.3, 0.4]]), 1.0)
    assert np.hypot(*far) > 0.999 * STEPS
    assert near / STEPS == pytest.approx([0.3, 0.4], rel=1e-3)


@given(arrays(float, (5, 3), elements=wild), st.integers(0, 4))
def test_a_row_is_the_same_whatever_is_beside_it(values: np.ndarray, place: int) -> None:
    assert (in_ball(values, 0.7)[place] == in_ball(values[place : place + 1], 0.7)[0]).all()


def test_scores_and_exponentials_do_not_depend_on_the_batch() -> None:
    """What the sensitivity of a gradient rests on: numpy's exp is a function of its element, wherever that lies."""
    source = np.random.default_rng(1)
    rows, weights = in_ball(source.normal(size=(999, 40)), 3.0), source.normal(size=(40, 7)) * 50
    scores = exact_product(rows, weights)
    for start in (1, 3, 8, 500):
        assert (exact_product(rows[start:], weights) == scores[start:]).all()
        assert (np.exp(scores[start:]) == np.exp(scores)[start:]).all()
        assert (np.exp(scores[start : start + 1]) == np.exp(scores)[start]).all()


VECTORS = {
    "plain": SumVector((SumBlock(left=3, right=2),)),
    "moments": SumVector((SumBlock(left=3, right=3, weight=3, symmetric=True), SumBlock(left=3, weight=4)), 5),
}


def _factors(name: str, x: np.ndarray, y: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    return [(x, y)] if name == "plain" else [(x, x), (x, y[:, :1])]


@pytest.mark.parametrize("name", VECTORS)
@given(x=arrays(float, (6, 3), elements=wild), y=arrays(float, (6, 2), elements=wild), gone=st.integers(0, 5))
def test_one_row_moves_a_sum_by_its_limit_at_most(name: str, x: np.ndarray, y: np.ndarray, gone: int) -> None:
    vector, left, right = VECTORS[name], in_ball(x, 1.0), in_ball(y, 1.0)
    every = vector.total(_factors(name, left, right))
    fewer = vector.total(_factors(name, np.delete(left, gone, 0), np.delete(right, gone, 0)))
    assert sum(int(each) ** 2 for each in every - fewer) <= vector.limit**2


@pytest.mark.parametrize("name", VECTORS)
@given(x=arrays(float, (8, 3), elements=wild), y=arrays(float, (8, 2), elements=wild), cut=st.integers(1, 7))
def test_one_unit_moves_a_sum_by_no_more(name: str, x: np.ndarray, y: np.ndarray, cut: int) -> None:
    vector, left, right = VECTORS[name], in_ball(x, 0.5), in_ball(y, 0.5)
    every = vector.total(_factors(name, left, right), np.array([0, cut, 8]))
    fewer = vector.total(_factors(name, left[:cut], right[:cut]), np.array([0, cut]))
    assert sum(int(each) ** 2 for each in every - fewer) <= vector.limit**2


def test_the_symmetric_weights_are_below_the_root_of_two_and_reach_the_limit() -> None:
    vector = SumVector((SumBlock(left=2, right=2, symmetric=True),))
    row = np.array([[np.floor(STEPS / np.sqrt(2))] * 2])
    moved = vector.total([(row, row)])
    norm = sqrt(sum(int(each) ** 2 for each in moved)) / vector.limit
    assert 0.9995 < norm <= 1  # 41/29 for √2: wider by 5 % it would pass one
    (matrix,) = vector.values(moved)
    assert matrix == pytest.approx(row.T @ row / STEPS**2)


def test_units_of_one_small_row_add_up_as_rows_do() -> None:
    vector = VECTORS["moments"]
    x, y = in_ball(np.eye(3) * 0.3, 1.0), in_ball(np.full((3, 2), 0.2), 1.0)
    assert (vector.total(_factors("moments", x, y)) == vector.total(_factors("moments", x, y), np.arange(4))).all()


def test_a_class_that_was_not_declared_counts_for_nothing() -> None:
    assert one_hot(np.array([-1, 0, 2]), 2).sum(axis=1).tolist() == [0, STEPS, 0]


def test_weights_that_pass_the_norm_are_refused() -> None:
    with pytest.raises(InputError, match="weights"):
        SumVector((SumBlock(left=1, weight=3), SumBlock(left=1, weight=4)), 4)
