"""Cells that are even near zero and rise beyond: without gaps, within what was asked, and fine near zero."""

from fractions import Fraction
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.plan.cells import Piece, cell_points, rising_cells

ends = st.fractions(-(10**9), 10**9, max_denominator=1000)


@given(ends, ends, st.integers(0, 40), st.integers(40, 5000))
def test_pieces_follow_each_other(one: Fraction, two: Fraction, power: int, most: int) -> None:
    low, high = min(one, two), max(one, two)
    fine = (high - low) / 2**power or Fraction(1)
    pieces = rising_cells(low, high, fine, most)
    assert pieces[0].low == low - fine / 2
    assert high + fine / 2 <= pieces[-1].high
    assert all(a.high == b.low for a, b in pairwise(pieces))
    assert 1 <= sum(piece.cells for piece in pieces) <= most + 1
    for piece in pieces:  # halfway between two multiples, round one in the middle
        assert piece.cells >= 1
        assert (piece.width / fine) % 2 == 1
        assert ((piece.low - low) / fine) % 1 == Fraction(1, 2)


def test_few_values_have_a_cell_each() -> None:
    (piece,) = rising_cells(Fraction(0), Fraction(120), Fraction(1), 2**14)
    assert piece == Piece(low=Fraction(-1, 2), width=Fraction(1), cells=121)


@given(ends, ends, st.integers(0, 60))
def test_points_of_cells_are_the_nearest_doubles(one: Fraction, two: Fraction, power: int) -> None:
    low, high = min(one, two), max(one, two)
    pieces = rising_cells(low, high, (high - low) / 3**power or Fraction(1, 100), 60)
    edges, middles = cell_points(pieces)
    exact = [piece.low + piece.width * i for piece in pieces for i in range(piece.cells)]
    widths = [piece.width for piece in pieces for _ in range(piece.cells)]
    assert edges.tolist() == [*map(float, exact), float(pieces[-1].high)]
    assert middles.tolist() == [float(a + b / 2) for a, b in zip(exact, widths, strict=True)]


@pytest.mark.parametrize(("low", "high"), [(0, 5000), (-5000, 5000), (-5000, 0), (100, 5000)])
def test_cells_are_as_wide_as_numbers_are_large(low: int, high: int) -> None:
    pieces = rising_cells(Fraction(low), Fraction(high), Fraction(1, 2**16), 2**14)
    even, small = Fraction(high - low, 2**14), Fraction(high - low, 1000)
    for piece in pieces:
        size = max(small, min(abs(piece.low), abs(piece.high)) if piece.low * piece.high > 0 else small)
        assert piece.width <= size / 300
        assert piece.width <= 8 * even
    assert min(piece.width for piece in pieces) < even / (3 if low == 100 else 50)


def test_a_range_far_from_zero_is_even() -> None:
    assert len(rising_cells(Fraction(10**6), Fraction(10**6 + 1), Fraction(1, 2**20), 256)) == 1
