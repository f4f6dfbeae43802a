"""Reports of places on Earth: their spread anywhere, their guarantee, and what they refuse."""

import os
from fractions import Fraction
from math import log

import numpy as np
import pytest

from support.fixed_rng import FixedRng, ScriptedRng
from tacit.base import InputError, Relation
from tacit.place import GeoLaplace, Grid
from tacit.place.earth import offset

FULL = os.environ.get("TACIT_TESTS") == "full"
COUNT = 400_000 if FULL else 60_000  # a spread is then known to 0.2 or 0.5 %


@pytest.mark.parametrize("latitude", [0.0, 1.35, 41.0, 60.0, 89.0, 89.9999, 90.0, -90.0])
@pytest.mark.parametrize("longitude", [0.0, 180.0])
def test_spread_is_root_three_over_epsilon_everywhere(latitude: float, longitude: float) -> None:
    mechanism = GeoLaplace(epsilon=Fraction(1, 250))
    here = np.tile([latitude, longitude], (COUNT, 1))
    steps = offset(here, mechanism.sample(here, FixedRng(1)))
    assert np.allclose(steps.std(axis=0) / 250, 3**0.5, rtol=0.02)
    assert np.abs(steps.mean(axis=0)).max() < 250 * 3**0.5 * 5 / COUNT**0.5


def test_the_share_within_the_error() -> None:
    mechanism = GeoLaplace(epsilon=Fraction(1, 250))
    here = np.tile([48.0, 2.0], (40_000, 1))
    far = np.hypot(*offset(here, mechanism.sample(here, FixedRng(2))).T)
    assert (far <= mechanism.error(0.95)).mean() == pytest.approx(0.95, abs=0.005)


def test_cells_near_two_places_keep_the_promise() -> None:
    """Reports of two places 200 m apart, counted in squares of about 140 m: no ratio is above e^(ε·200)."""
    mechanism = GeoLaplace.protecting(radius=200, factor=3)
    left, right = np.array([60.0, 24.9]), np.array([60.0, 24.9 + 200 / (111_195.08 * np.cos(np.radians(60)))])
    counts = []
    for seed, place in enumerate((left, right)):
        steps = offset(np.tile(left, (COUNT, 1)), mechanism.sample(np.tile(place, (COUNT, 1)), FixedRng(seed)))
        cells, _, _ = np.histogram2d(steps[:, 0], steps[:, 1], bins=16, range=[[-1000, 1200], [-1100, 1100]])
        counts.append(cells)
    often = np.minimum(*counts) >= 400
    ratios = np.log(counts[0][often] / counts[1][often])
    noise = np.sqrt(1 / counts[0][often] + 1 / counts[1][often])
    assert often.sum() > 20
    assert np.max(np.abs(ratios) - 5 * noise) <= log(3)
    assert np.max(np.abs(ratios)) > 0.85 * log(3)  # and the promise is not far too careful


def test_loss_is_per_metre_with_a_slack_that_is_small() -> None:
    mechanism = GeoLaplace(epsilon=Fraction("0.01"))
    assert 0 < mechanism.slack < 1e-4
    assert mechanism.loss(100).bound == 1 + Fraction(mechanism.slack)
    with pytest.raises(InputError, match="replace"):
        mechanism.loss(100, relation=Relation.ADD_REMOVE)


@pytest.mark.parametrize(("radius", "factor"), [(50, 2), (200, 2), (5000, 10)])
def test_protecting_keeps_its_word(radius: int, factor: int) -> None:
    bound = GeoLaplace.protecting(radius=radius, factor=factor).loss(radius).bound
    assert float(bound) <= log(factor)
    assert float(bound) >= log(factor) * 0.999


def test_one_place_is_a_pair_and_lies_on_the_grid() -> None:
    report = GeoLaplace(epsilon=Fraction("0.01")).sample((52.2, 0.12))
    assert isinstance(report, tuple)
    assert np.array_equal(Grid().rounded(np.array([report])), np.array([report]))


@pytest.mark.parametrize("value", [(95, 0), (float("nan"), 0), (1, 2, 3)])
def test_no_place_no_coin(value: object) -> None:
    with pytest.raises(InputError):
        GeoLaplace(epsilon=Fraction("0.01")).sample(value, ScriptedRng([]))


def test_noise_and_grid_must_fit() -> None:
    with pytest.raises(InputError, match="finer grid"):
        GeoLaplace(epsilon=Fraction(1))
    with pytest.raises(InputError, match="coarser grid"):
        GeoLaplace(epsilon=Fraction("0.0000001"))
    with pytest.raises(InputError, match="above 1"):
        GeoLaplace.protecting(radius=100, factor=1)
    assert GeoLaplace(epsilon=Fraction("0.0000001"), grid=Grid(Fraction(1, 100))).sample((0, 0))


def test_noise_as_wide_as_the_earth_stays_on_it() -> None:
    mechanism = GeoLaplace(epsilon=Fraction(1, 4_000_000), grid=Grid(Fraction(1, 10)))
    reports = mechanism.sample(np.tile([10.0, 20.0], (20_000, 1)), FixedRng(3))
    assert np.abs(reports[:, 0]).max() <= 90
    assert np.abs(reports[:, 1]).max() <= 180
    far = np.hypot(*offset(np.tile([10.0, 20.0], (20_000, 1)), reports).T) / 6_371_008.8
    grid = np.linspace(0, np.pi, 20_001)
    density = np.sin(grid) * np.exp(-grid * 6_371_008.8 / 4_000_000)
    assert far.mean() == pytest.approx((grid * density).sum() / density.sum(), rel=0.02)
