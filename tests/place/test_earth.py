"""Steps on the sphere: there and back, also round the poles and across the date line."""

import numpy as np
import pytest

from tacit.base import InputError
from tacit.place.earth import RADIUS, checked, distance, offset, walked

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
