"""Consistent shares are the nearest ones that could be true."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.base import InputError
from tacit.survey import consistent

SHARES = st.lists(st.floats(-3, 3), min_size=1, max_size=12)


@given(SHARES)
def test_they_are_at_least_zero_and_sum_to_one(shares: list[float]) -> None:
    found = consistent(shares)
    assert (found >= 0).all()
    assert found.sum() == pytest.approx(1, abs=1e-12)
    assert consistent(found) == pytest.approx(found, abs=1e-12)


@given(SHARES, st.data())
def test_no_other_is_nearer(shares: list[float], data: st.DataObject) -> None:
    other = np.array(data.draw(st.lists(st.floats(0, 1), min_size=len(shares), max_size=len(shares)))) + 1e-9
    other /= other.sum()
    raw = np.array(shares)
    assert np.sum((consistent(raw) - raw) ** 2) <= np.sum((other - raw) ** 2) + 1e-9


@given(SHARES, st.floats(-100, 100))
def test_what_is_left_was_lowered_by_one_number(shares: list[float], shift: float) -> None:
    found = consistent(shares)
    lowered = (np.array(shares) - found)[found > 0]
    assert lowered == pytest.approx(lowered[0], abs=1e-12)
    assert (np.array(shares)[found == 0] <= lowered[0] + 1e-12).all()
    assert consistent(np.array(shares) + shift) == pytest.approx(found, abs=1e-11)


def test_worked_numbers() -> None:
    assert consistent([0.5, 0.3, 0.2]) == pytest.approx([0.5, 0.3, 0.2])
    assert consistent([0.7, 0.5, -0.2]) == pytest.approx([0.6, 0.4, 0])
    assert consistent([-5.0, -5.0]) == pytest.approx([0.5, 0.5])
    assert consistent([1e30, 0.0]).tolist() == [1, 0]


@pytest.mark.parametrize("wrong", [[], [float("nan")], [float("inf"), 0], [[0.5, 0.5]]])
def test_what_are_no_shares(wrong: object) -> None:
    with pytest.raises(InputError, match="shares"):
        consistent(wrong)
