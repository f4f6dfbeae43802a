"""Reports of places on Earth: their spread anywhere, their guarantee, what they refuse, tracks and remapping."""

import json
import os
from fractions import Fraction
from math import log

import numpy as np
import pytest
from mpmath import mp

from support.fixed_rng import FixedRng, ScriptedRng, drawing_from
from tacit.base import ExhaustedError, InputError, Relation
from tacit.mechanism import mechanism_from_json, mechanism_to_json
from tacit.place import EarthGrid, GeoLaplace, Track, distance, remapped
from tacit.place.geo import RADIUS, ROUNDING, Floats, checked, offset, slack_of, walked

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
    assert np.array_equal(EarthGrid().rounded(np.array([report])), np.array([report]))


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
    assert GeoLaplace(epsilon=Fraction("0.0000001"), grid=EarthGrid(Fraction(1, 100))).sample((0, 0))


def test_noise_as_wide_as_the_earth_stays_on_it() -> None:
    mechanism = GeoLaplace(epsilon=Fraction(1, 4_000_000), grid=EarthGrid(Fraction(1, 10)))
    reports = mechanism.sample(np.tile([10.0, 20.0], (20_000, 1)), FixedRng(3))
    assert np.abs(reports[:, 0]).max() <= 90
    assert np.abs(reports[:, 1]).max() <= 180
    far = np.hypot(*offset(np.tile([10.0, 20.0], (20_000, 1)), reports).T) / 6_371_008.8
    grid = np.linspace(0, np.pi, 20_001)
    density = np.sin(grid) * np.exp(-grid * 6_371_008.8 / 4_000_000)
    assert far.mean() == pytest.approx((grid * density).sum() / density.sum(), rel=0.02)


def cell_masses(offset_: Floats, turn: float, *, step: float, epsilon: float) -> Floats:
    """Masses of unit cells round a truth at `offset_` whose lattice is turned, summed point by point."""
    reach = int(14 / epsilon / step / 2)
    steps = np.arange(-reach, reach + 1) * step
    east, north = np.meshgrid(steps, steps)
    weights = np.exp(-epsilon * np.hypot(east, north))
    x = np.floor(east * np.cos(turn) - north * np.sin(turn) + offset_[0]).astype(np.int64)
    y = np.floor(east * np.sin(turn) + north * np.cos(turn) + offset_[1]).astype(np.int64)
    near = (np.abs(x) < 8) & (np.abs(y) < 8)
    masses: Floats = np.bincount(((x + 8) * 16 + y + 8)[near], weights[near], minlength=256).astype(np.float64)
    return masses


@pytest.mark.parametrize("step", [0.31, 0.17, 0.06])
def test_a_coarse_lattice_stays_within_the_slack_and_needs_one(step: float) -> None:
    """The formula of `slack` in a plane of unit cells, with steps so coarse that what they add can be seen."""
    epsilon = 0.25
    allowed = slack_of(epsilon, step, 1.0)
    words = FixedRng(4).words(5 * 12).reshape(12, 5) * 2.0**-64
    most = 0.0
    for draw in words:
        left, right = draw[:2], draw[:2] + draw[2:4] - 0.5
        masses = [
            cell_masses(place, angle, step=step, epsilon=epsilon) for place, angle in ((left, 0.0), (right, draw[4]))
        ]
        seen = (masses[0] > 0) & (masses[1] > 0)
        ratio = np.abs(np.log(masses[0][seen] / masses[1][seen])).max()
        most = max(most, float(ratio) - epsilon * float(np.hypot(*(right - left))))
    assert 0 < most <= allowed


def test_doubles_misplace_a_point_by_less_than_was_reckoned() -> None:
    mp.dps = 40
    worst = 0.0
    for a, b, c, d in (FixedRng(5).words(4 * 120) * 2.0**-64).reshape(120, 4):
        for latitude in (a * 180 - 90, 90 - a * 1e-4):
            place, size, angle = (latitude, b * 360 - 180), 10 ** (7 * c), 2 * np.pi * d
            east, north = size * np.cos(angle), size * np.sin(angle)
            got = walked(np.array([place]), np.array([east]), np.array([north]))[0]
            worst = max(worst, apart(place, east, north, got))
    assert 0 < worst < ROUNDING / 5


def apart(place: tuple[float, float], east: float, north: float, got: Floats) -> float:
    """Metres between where a step leads, with forty digits, and where doubles say."""
    phi, lam = (mp.radians(mp.mpf(float(angle))) for angle in place)
    e, n = mp.mpf(float(east)), mp.mpf(float(north))
    far = mp.sqrt(e * e + n * n)
    along, ahead = mp.cos(far / RADIUS), mp.sin(far / RADIUS) / far
    x = mp.cos(phi) * mp.cos(lam) * along - (mp.sin(lam) * e + mp.sin(phi) * mp.cos(lam) * n) * ahead
    y = mp.cos(phi) * mp.sin(lam) * along + (mp.cos(lam) * e - mp.sin(phi) * mp.sin(lam) * n) * ahead
    z = mp.sin(phi) * along + mp.cos(phi) * n * ahead
    there = [mp.radians(mp.mpf(float(angle))) for angle in got]
    u = mp.cos(there[0]) * mp.cos(there[1]), mp.cos(there[0]) * mp.sin(there[1]), mp.sin(there[0])
    return float(mp.sqrt(sum((p - q) ** 2 for p, q in zip((x, y, z), u, strict=True))) * RADIUS)


def test_a_report_of_a_place_has_a_stored_form() -> None:
    coarse = GeoLaplace(epsilon=Fraction(1, 3000), grid=EarthGrid(Fraction(1, 1000)))
    for mechanism in (GeoLaplace.protecting(radius=500), coarse):
        stored = json.loads(json.dumps(mechanism_to_json(mechanism)))
        assert mechanism_from_json(stored) == mechanism
        with pytest.raises(InputError, match="colour"):
            mechanism_from_json({**stored, "colour": 1})
    assert stored["grid"] == {"degrees": "1/1000"}


def test_a_budget_is_counted_and_held() -> None:
    mechanism = GeoLaplace.protecting(radius=200)
    track = Track(mechanism, budget=3 * mechanism.loss(200).bound, radius=200)
    assert track.warning() is None
    for made in range(1, 4):
        with drawing_from(FixedRng(made)):
            track.report((48.0, 2.0))
        assert track.loss().bound == made * mechanism.loss(200).bound
    assert track.left == 0
    assert "averages the noise away" in str(track.warning())
    with pytest.raises(ExhaustedError, match="3 reports"), drawing_from(ScriptedRng([])):
        track.report((48.0, 2.0))
    assert track.reports == 3


def test_a_failed_report_is_paid_all_the_same() -> None:
    """Whether a place can be reported may depend on it."""
    track = Track(GeoLaplace.protecting(radius=200), budget=10, radius=200)
    with pytest.raises(InputError):
        track.report((99, 0))
    assert track.reports == 1


def test_a_budget_below_one_report_is_refused() -> None:
    with pytest.raises(InputError, match="one report costs"):
        Track(GeoLaplace.protecting(radius=200), budget="0.1", radius=200)


TOWNS = np.array([[52.2053, 0.1218], [52.2300, 0.1200], [52.1900, 0.1500], [52.2100, 0.0900]])


def test_reports_come_closer_to_the_truth() -> None:
    mechanism = GeoLaplace.protecting(radius=300)
    truth = TOWNS[np.arange(4000) % 4]
    reports = mechanism.sample(truth, FixedRng(1))
    moved = remapped(reports, TOWNS, epsilon=mechanism.epsilon)
    assert distance(moved, truth).mean() < 0.9 * distance(reports, truth).mean()
    assert {tuple(place) for place in moved.tolist()} <= {tuple(place) for place in TOWNS.tolist()}


def test_weights_pull() -> None:
    between = TOWNS[:2].mean(axis=0)
    for heavy in (0, 1):
        weights = [100 if i == heavy else 1 for i in range(2)]
        assert np.array_equal(remapped(between, TOWNS[:2], epsilon="0.001", weights=weights)[0], TOWNS[heavy])


def test_what_cannot_be_used_is_refused() -> None:
    for weights in ([1], [0, 0], [1, -1], [1, float("nan")]):
        with pytest.raises(InputError, match="weights"):
            remapped((0, 0), TOWNS[:2], epsilon="0.001", weights=weights)
    with pytest.raises(InputError, match="candidates"):
        remapped((0, 0), np.zeros((5000, 2)), epsilon="0.001")


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
