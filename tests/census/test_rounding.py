"""Real counts to whole ones: neighbours only, and every sum that must hold does."""

import numpy as np
import pytest

from tacit.base import TacitError
from tacit.census.family import onto_simplex
from tacit.census.rounding import rounded

NESTED = (np.zeros(8, dtype=np.int64), np.array([0, 0, 0, 0, 1, 1, 1, 1]))
ACROSS = np.array([0, 1, 0, 1, 0, 1, 0, 1])


def real(seed: int, rows: int = 5) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    parent = rng.poisson(3, 8)
    return onto_simplex(rng.exponential(1, (rows, 8)), parent), parent


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("kept", [NESTED[:1], NESTED, (*NESTED, ACROSS), ()])
def test_counts_move_to_a_neighbour(seed: int, kept: tuple[np.ndarray, ...]) -> None:
    counts, parent = real(seed)
    found = rounded(counts, parent=parent, fixed=(), kept=kept)
    assert np.array_equal(found.sum(axis=0), parent)
    assert np.abs(found - counts).max() < 1
    assert found.min() >= 0
    if len(kept) < 3:  # nested, so that whole numbers exist by theorem
        for codes in kept:
            for group in range(codes.max() + 1):
                moved = (found - counts)[:, codes == group].sum(axis=1)
                assert np.abs(moved).max() < 1 + 1e-6


def test_fixed_sums_are_met_even_where_the_real_ones_missed_them() -> None:
    for seed in range(30):
        rng = np.random.default_rng(seed)
        truth = rng.poisson(1.0, (4, 8))
        near = np.maximum(truth + rng.normal(0, 0.4, truth.shape), 0)  # sums are off by more than a rounding error
        values = np.stack([truth[:, NESTED[1] == group].sum(axis=1) for group in (0, 1)], axis=1)
        found = rounded(near, parent=truth.sum(axis=0), fixed=((NESTED[1], values),), kept=())
        assert np.array_equal(found.sum(axis=0), truth.sum(axis=0))
        assert np.array_equal(np.stack([found[:, NESTED[1] == group].sum(axis=1) for group in (0, 1)], axis=1), values)
        assert found.min() >= 0


def test_whole_numbers_are_asked_for_where_sums_overlap() -> None:
    """Half of everything has all its sums whole, and no network behind it: three overlapping partitions of a cube."""
    cells = np.indices((2, 2, 2)).reshape(3, 8)
    planes = tuple(2 * cells[a] + cells[b] for a, b in ((0, 1), (0, 2), (1, 2)))
    counts = np.full((1, 8), 0.5)
    fixed = tuple((plane, np.ones((1, 4), dtype=np.int64)) for plane in planes)
    found = rounded(counts, parent=None, fixed=fixed, kept=())
    for plane, values in fixed:
        assert np.array_equal(np.bincount(plane, weights=found[0]), values[0])


def test_what_cannot_be_is_an_error() -> None:
    with pytest.raises(TacitError, match="no whole counts"):
        rounded(
            np.array([[1.0]]), parent=np.array([1]), fixed=((np.zeros(1, dtype=np.int64), np.array([[2]])),), kept=()
        )


def test_whole_numbers_stay() -> None:
    counts = np.arange(12.0).reshape(3, 4)
    found = rounded(counts + 1e-9, parent=counts.sum(axis=0).astype(int), fixed=(), kept=NESTED[:0])
    assert np.array_equal(found, counts)
