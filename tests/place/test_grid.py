"""Reports name cells of one public grid, which are square enough everywhere."""

from fractions import Fraction

import numpy as np
import pytest

from support.fixed_rng import FixedRng
from tacit.base import InputError
from tacit.place.earth import RADIUS, Floats, distance
from tacit.place.grid import Grid


def spread(count: int) -> Floats:
    words = FixedRng(1).words(2 * count).reshape(count, 2) * 2.0**-64
    return np.stack([words[:, 0] * 180 - 90, words[:, 1] * 360 - 180], axis=1)


def test_rounding_again_changes_nothing_and_moves_little() -> None:
    grid, places = Grid(), spread(20_000)
    cells = grid.rounded(places)
    assert np.array_equal(grid.rounded(cells), cells)
    assert distance(places, cells).max() < 0.9 * grid.metres


@pytest.mark.parametrize("latitude", [0.0, 41.0, 89.0, 89.9999, 89.99999, 90.0, -90.0])
def test_no_cell_is_thin(latitude: float) -> None:
    """How many cells a row has: each is at least as wide as high in its middle, and nowhere twice as wide."""
    grid = Grid(Fraction(1, 1000))
    row = np.array([[latitude, longitude] for longitude in np.linspace(-180, 179.999, 40_001)])
    cells = np.unique(grid.rounded(row), axis=0)
    middle = cells[0, 0]
    round_ = 2 * np.pi * RADIUS * np.cos(np.radians(middle))
    if len(cells) < 40_000:
        width = round_ / len(cells)
        assert 0.999 * grid.metres <= width <= 1.4 * grid.metres


def test_longitudes_of_another_turn_are_the_same_place() -> None:
    assert np.array_equal(Grid().rounded(np.array([[10.0, 190.0]])), Grid().rounded(np.array([[10.0, -170.0]])))


@pytest.mark.parametrize("degrees", [0, 2, "0.0000001", "0.7"])
def test_grids_that_do_not_fit_are_refused(degrees: object) -> None:
    with pytest.raises(InputError):
        Grid(degrees)  # type: ignore[arg-type]  # what a user may pass
