from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from tacit.base import InputError
from tacit.mechanism.postprocess import clamp, norm_sub, norm_sub_whole, to_whole

Array = np.ndarray[Any, np.dtype[Any]]

cells = st.integers(1, 30)
reals = cells.flatmap(lambda n: arrays(float, n, elements=st.floats(-1e6, 1e6)))
wholes = cells.flatmap(lambda n: arrays(np.int64, n, elements=st.integers(-(10**6), 10**6)))


@given(reals)
def test_clamp(counts: Array) -> None:
    found = clamp(counts)
    assert (found >= 0).all()
    assert ((found == counts) | (counts < 0)).all()


@given(reals)
def test_to_whole(counts: Array) -> None:
    found = to_whole(counts)
    assert found.dtype == np.int64
    assert all(abs(Fraction(int(f)) - Fraction(c)) <= Fraction(1, 2) for f, c in zip(found, counts, strict=True))


def test_halves_go_upward() -> None:
    assert to_whole([0.5, -0.5, 1.5, 0.49999999999999994]).tolist() == [1, 0, 2, 0]


@given(reals, st.floats(0, 1e7))
def test_norm_sub_is_consistent_and_only_shifts(counts: Array, total: float) -> None:
    found = norm_sub(counts, total)
    assert (found >= 0).all()
    assert found.sum() == pytest.approx(total, rel=1e-9, abs=1e-6)
    shift = (counts - found)[found > 0]
    if len(shift):
        assert np.ptp(shift) <= 1e-6
        assert (counts[found == 0] <= shift.max() + 1e-6).all()


@given(reals, st.floats(0, 1e6), st.data())
def test_norm_sub_is_the_nearest_consistent_point(counts: Array, total: float, data: st.DataObject) -> None:
    found = norm_sub(counts, total)
    weights = data.draw(arrays(float, counts.size, elements=st.floats(0.01, 1)))
    other = total * weights / weights.sum()
    assert ((found - counts) ** 2).sum() <= ((other - counts) ** 2).sum() * (1 + 1e-6) + 1e-3


@given(wholes, st.integers(0, 10**7))
def test_whole_norm_sub_keeps_the_total_exactly(counts: Array, total: int) -> None:
    found = norm_sub_whole(counts, total)
    assert found.dtype == np.int64
    assert (found >= 0).all()
    assert int(found.sum()) == total
    assert (np.abs(found - norm_sub(counts, total)) < 1 + 1e-6).all()


def test_whole_norm_sub_by_hand() -> None:
    assert norm_sub_whole([5, -3, 2, 1], 6).tolist() == [5, 0, 1, 0]
    assert norm_sub_whole([10, 10, 10], 10).tolist() == [4, 3, 3]
    assert norm_sub_whole([[-5, -5]], 3).tolist() == [[2, 1]]
    assert norm_sub_whole([3, 1], 0).tolist() == [0, 0]
    assert norm_sub_whole([], 0).tolist() == []
    assert norm_sub([3, 1], 0).tolist() == [0, 0]


def test_it_helps() -> None:
    """Spread noise over many empty cells and a few full ones: consistency lowers the error."""
    truth = np.array([500, 300, 200] + [0] * 97)
    noise = np.tile([7.0, -7.0, 3.0, -3.0, 0.0], 20)
    raw = truth + noise
    assert ((norm_sub(raw, 1000) - truth) ** 2).sum() < 0.6 * ((raw - truth) ** 2).sum()


@pytest.mark.parametrize("function", [clamp, to_whole, lambda c: norm_sub(c, 5), lambda c: norm_sub_whole(c, 5)])
@pytest.mark.parametrize("counts", [[float("nan")], [float("inf")], ["a"], [None], np.array([2**63], dtype=np.uint64)])
def test_bad_counts(function: Any, counts: Any) -> None:
    with pytest.raises(InputError, match="counts"):
        function(counts)


def test_bad_totals() -> None:
    wrong: list[Any] = [-1, float("nan"), None]
    for bad in wrong:
        with pytest.raises(InputError, match="total"):
            norm_sub([1.0], bad)
        with pytest.raises(InputError, match="total"):
            norm_sub_whole([1], bad)
    with pytest.raises(InputError, match="whole"):
        norm_sub_whole([1.5], 2)
    with pytest.raises(InputError, match="total"):
        norm_sub([], 2)
    with pytest.raises(InputError, match="total"):
        norm_sub_whole([], 2)
