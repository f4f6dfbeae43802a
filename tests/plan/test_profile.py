"""The histogram of units' sizes: where it ends, what a clip takes by it, and which bound it gives."""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.base import InputError
from tacit.plan.profile import ROWS, STRICT, ClippingLoss, SizeHistogram, TableProfile
from tacit.sql.estimate import width

EDGES = tuple(sorted({round(2 ** (j / 4)) for j in range(65)}))


def histogram(sizes: np.ndarray, size: float, rng: np.random.Generator | None = None) -> SizeHistogram:
    counts = np.bincount(np.searchsorted(EDGES, sizes), minlength=len(EDGES) + 1).astype(float)
    if rng is not None:
        counts += rng.laplace(0, size, len(counts))
    found = tuple(int(count) for count in np.rint(counts))
    return SizeHistogram(edges=tuple(map(Fraction, EDGES)), counts=found, kind="laplace", size=size, grain=Fraction(1))


def test_edges_and_counts_must_fit() -> None:
    for edges, counts in ((), (1,)), ((0, 1), (1, 1, 1)), ((2, 1), (1, 1, 1)), ((1, 2), (1, 1)):
        with pytest.raises(InputError, match="edges that rise"):
            SizeHistogram(edges=tuple(map(Fraction, edges)), counts=counts, kind="laplace", size=1.0)


@given(st.lists(st.integers(1, 60_000), min_size=1, max_size=60), st.sampled_from(EDGES))
def test_without_noise_the_loss_is_between_its_ends(sizes: list[int], bound: int) -> None:
    """As long as nobody is beyond what is resolved: bins count from a tiny noise on."""
    found = histogram(np.array(sizes), 0.01)
    lost = found.loss(Fraction(bound), "exact")
    true = sum(max(0, size - bound) for size in sizes)
    assert max(sizes) <= lost.given
    assert lost.low <= true <= lost.high
    either = found.loss(Fraction(bound), "either")
    assert (either.low, either.high) == (-lost.high, lost.high)
    assert found.loss(Fraction(bound), "part").low == 0


def counts_at(places: dict[int, int], size: float = 1.0) -> SizeHistogram:
    counts = [places.get(place, 0) for place in range(len(EDGES) + 1)]
    return SizeHistogram(edges=tuple(map(Fraction, EDGES)), counts=tuple(counts), kind="laplace", size=size)


@pytest.mark.parametrize(
    ("places", "resolved"),
    [
        ({0: 100, 1: 50, 2: 20}, 2),
        ({0: 100, 1: 3, 2: 20}, 2),  # a gap of one bin is none
        ({0: 100, 3: 11}, 0),  # after a gap of two, noise may be as large as this
        ({0: 100, 3: 12}, 3),
        ({0: 100, 10: 6, 11: 6, 12: 4}, 12),  # an octave together
        ({0: 100, 10: 6, 11: 5, 12: 4}, 0),
        ({20: 100}, 20),
    ],
)
def test_where_units_end(places: dict[int, int], resolved: int) -> None:
    assert counts_at(places).resolved == resolved


def test_units_above_all_edges_or_too_much_noise_make_it_useless() -> None:
    assert counts_at({0: 500}).usable
    assert not counts_at({0: 500, len(EDGES): 4}).usable
    assert not counts_at({0: 479}).usable


def test_what_is_too_coarse_to_show_a_fortieth_of_all_says_so() -> None:
    rng = np.random.default_rng(7)
    for shape in ("even", "skewed", "Pareto 2"):
        sizes = SHAPES[shape](rng, 20_000)
        assert histogram(sizes, 5.0, rng).established
        assert not histogram(sizes, 32.0, rng).established


SHAPES: dict[str, Callable[[np.random.Generator, int], Any]] = {
    "alike": lambda _, n: np.full(n, 10),
    "even": lambda rng, n: rng.integers(1, 19, n),
    "geometric": lambda rng, n: rng.geometric(0.1, n),
    "log-normal": lambda rng, n: np.maximum(1, rng.lognormal(1.5, 1.0, n).astype(int)),
    "skewed": lambda rng, n: 1 + rng.poisson(4.4 * rng.lognormal(0, 1.2, n)),
    "two kinds": lambda rng, n: np.where(rng.random(n) < 0.95, rng.integers(1, 4, n), rng.integers(200, 400, n)),
    "Pareto 1.3": lambda rng, n: np.minimum(rng.pareto(1.3, n) + 1, 60_000).astype(int),
    "Pareto 2": lambda rng, n: np.minimum(rng.pareto(2.0, n) + 1, 60_000).astype(int),
}
HEAVY = ("Pareto 1.3", "Pareto 2")


@dataclass(frozen=True)
class Trial:
    """One profile with one answer by it: whether it speaks of the truth, and what came of it."""

    claimed: bool
    held: bool
    wide: float  # half of the interval, by that of the noise
    error: float  # by the least possible with a bound that somebody chose who saw the data


def trials(shape: str, epsilon: float, *, size: float, people: int, times: int, seed: int) -> list[Trial]:
    rng = np.random.default_rng(seed)
    found = []
    for turn in range(times):
        if turn % 5 == 0:
            sizes = SHAPES[shape](rng, people)
            squared = (np.maximum(sizes - edge, 0).sum() ** 2.0 + 2 * (edge / epsilon) ** 2 for edge in EDGES)
            best, truth = np.sqrt(min(squared)), int(sizes.sum())
        profile = histogram(sizes, size, rng)
        bound = profile.for_total(np.sqrt(2) / epsilon, "laplace", "exact")
        lost, clip = profile.loss(bound, "exact"), float(bound)
        noisy, own = np.minimum(sizes, clip).sum() + rng.laplace(0, clip / epsilon), _far(clip / epsilon, ())
        claimed = profile.usable and profile.established and lost.carried(own)
        low, high = (
            noisy + end + sign * _far(clip / epsilon, noise)
            for end, sign, noise in ((lost.low, -1, lost.low_noise), (lost.high, 1, lost.high_noise))
        )
        shown = noisy + lost.likely if claimed else noisy
        found.append(Trial(claimed, low <= truth <= high, (high - low) / 2 / own, (shown - truth) / best))
    return found


@pytest.mark.parametrize(
    ("people", "times"),
    [(20_000, 20), pytest.param(2000, 200, marks=pytest.mark.slow), pytest.param(100_000, 400, marks=pytest.mark.slow)],
)
def test_intervals_that_speak_of_the_truth_hold_it(people: int, times: int) -> None:
    """At ε_p = 0.1 of each size: over shapes, and over ε from 0.5 to 4. Of claims at 95 % each, six standard deviations
    of chance are allowed; heavy tails are hardly ever claimed."""
    claims: dict[str, list[Trial]] = {}
    for shape, epsilon in product(SHAPES, (0.5, 4.0)):
        made = trials(shape, epsilon, size=10.0 * min(1, people / 20_000), people=people, times=times, seed=17)
        claims.setdefault(shape, []).extend(trial for trial in made if trial.claimed)
    everything = [trial for each in claims.values() for trial in each]
    missed = sum(not trial.held for trial in everything)
    assert missed <= 0.05 * len(everything) + 6 * np.sqrt(0.05 * 0.95 * len(everything))
    assert all(trial.wide < 1.75 for trial in everything)
    for shape, each in claims.items():
        assert len(each) <= times / 5 if shape in HEAVY else len(each) >= times / 4


@pytest.mark.parametrize("shape", SHAPES)
def test_the_bound_is_near_the_best(shape: str) -> None:
    """The root of the mean square error of 25 answers, of which one may be far off."""
    errors = [trial.error for trial in trials(shape, 1.0, size=10.0, people=20_000, times=25, seed=11)]
    assert np.sqrt(np.mean(np.square(sorted(errors, key=abs)[:-1]))) < 2.5


def _far(size: float, more: tuple[float, ...]) -> float:
    return float(width([np.array([each]) for each in (size, *more)], "laplace", 0.95)[0])


@pytest.mark.parametrize("shape", SHAPES)
def test_what_all_groups_may_miss_is_seldom_more(shape: str) -> None:
    """The joint statement, whose bound for groups is far below that of one number; of 40 at 95 %, 31 has one in 10⁶."""
    rng, held = np.random.default_rng(23), 0
    for _ in range(40):
        sizes = SHAPES[shape](rng, 20_000)
        profile = histogram(sizes, 10.0, rng)
        bound = profile.for_groups(np.sqrt(2), 50)
        lost = profile.loss(bound, "part", risk=STRICT)
        most = lost.high + (_far(lost.high_noise[0], lost.high_noise[1:]) if lost.high_noise else 0.0)
        held += np.maximum(sizes - float(bound), 0).sum() <= most
    assert held > 31


def test_many_groups_take_a_smaller_bound_than_one() -> None:
    rng = np.random.default_rng(5)
    found = histogram(SHAPES["skewed"](rng, 20_000), 10.0, rng)
    one = found.for_total(1.5, "laplace", "exact")
    assert found.for_groups(1.5, 300) < found.for_groups(1.5, 10) <= one
    assert found.above(found.for_ratio(100.0)) <= 100


def test_plain_data_there_and_back() -> None:
    found = histogram(np.array([1, 2, 500]), 2.0)
    profile = TableProfile(table="visits", histograms={ROWS: found}, version="v", entry=7)
    assert TableProfile.from_json(profile.json(), version="v", entry=7) == profile
    lost = found.loss(Fraction(2), "exact")
    assert ClippingLoss.from_json(lost.json()) == lost
    assert lost.scaled(2).high == 2 * lost.high
