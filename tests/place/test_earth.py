"""Steps on the sphere, also round the poles and across the date line, and the grid that reports are rounded to."""

from fractions import Fraction

import numpy as np
import pytest

from support.fixed_rng import FixedRng
from tacit.base import InputError
from tacit.place.earth import RADIUS, EarthGrid, Floats, checked, distance, offset, walked

PLACES = np.array([[0, 0], [52.2, 0.12], [1.35, 103.8], [-41, -179.99999], [89.9999, 20], [90, 0], [-90, 77]], float)


@pytest.mark.parametrize(("east", "north"), [(0.0, 0.0), (100.0, 0.0), (-3.0, 4.0), (40_000.0, -90_000.0)])
def test_there_and_back(east: float, north: float) -> None:
    steps = np.full(len(PLACES), east), np.full(len(PLACES), north)
    back = offset(PLACES, walked(PLACES, *steps))
    assert np.abs(back - [[east, north]]).max() < 1e-8
    assert np.allclose(distance(PLACES, walked(PLACES, *steps)), np.hypot(east, north), atol=1e-8)


def test_a_degree_of_latitude_and_the_way_round() -> None:
    assert distance((0, 0), (1, 0))[0] == pytest.approx(np.pi * RADIUS / 180)
    assert distance((0, 179.5), (0, -179.5))[0] == pytest.approx(np.pi * RADIUS / 180)
    assert distance((90, 0), (90, 123))[0] == pytest.approx(0, abs=1e-8)
    assert distance((0, 0), (0, 180))[0] == pytest.approx(np.pi * RADIUS)


def test_a_walk_over_the_pole_comes_down_on_the_other_side() -> None:
    there = walked(np.array([[89.99, 10.0]]), np.array([0.0]), np.array([2 * 1111.9493]))
    assert there[0, 0] == pytest.approx(89.99, abs=1e-6)
    assert there[0, 1] == pytest.approx(-170, abs=1e-3)


@pytest.mark.parametrize("value", [(91, 0), (0, float("nan")), (float("inf"), 0), (0, 800), [1, 2, 3], [[1], [2]]])
def test_what_is_no_place_is_refused(value: object) -> None:
    with pytest.raises(InputError):
        checked(value)


def spread(count: int) -> Floats:
    words = FixedRng(1).words(2 * count).reshape(count, 2) * 2.0**-64
    return np.stack([words[:, 0] * 180 - 90, words[:, 1] * 360 - 180], axis=1)


def test_rounding_again_changes_nothing_and_moves_little() -> None:
    grid, places = EarthGrid(), spread(20_000)
    cells = grid.rounded(places)
    assert np.array_equal(grid.rounded(cells), cells)
    assert distance(places, cells).max() < 0.9 * grid.metres


@pytest.mark.parametrize("latitude", [0.0, 41.0, 89.0, 89.9999, 89.99999, 90.0, -90.0])
def test_no_cell_is_thin(latitude: float) -> None:
    """How many cells a row has: each is at least as wide as high in its middle, and nowhere twice as wide."""
    grid = EarthGrid(Fraction(1, 1000))
    row = np.array([[latitude, longitude] for longitude in np.linspace(-180, 179.999, 40_001)])
    cells = np.unique(grid.rounded(row), axis=0)
    middle = cells[0, 0]
    round_ = 2 * np.pi * RADIUS * np.cos(np.radians(middle))
    if len(cells) < 40_000:
        width = round_ / len(cells)
        assert 0.999 * grid.metres <= width <= 1.4 * grid.metres


def test_longitudes_of_another_turn_are_the_same_place() -> None:
    assert np.array_equal(
        EarthGrid().rounded(np.array([[10.0, 190.0]])), EarthGrid().rounded(np.array([[10.0, -170.0]]))
    )


@pytest.mark.parametrize("degrees", [0, 2, "0.0000001", "0.7"])
def test_grids_that_do_not_fit_are_refused(degrees: object) -> None:
    with pytest.raises(InputError):
        EarthGrid(degrees)  # type: ignore[arg-type]  # what a user may pass
