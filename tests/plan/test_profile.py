"""The histogram of units' sizes: where it ends, what a clip takes by it, and which bound it gives."""

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.base import InputError
from tacit.plan.profile import ROWS, ClippingLoss, SizeHistogram, TableProfile
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


def test_units_above_all_edges_leave_it_incomplete() -> None:
    assert counts_at({0: 100}).complete
    assert not counts_at({0: 100, len(EDGES): 4}).complete


def test_what_is_too_coarse_to_show_an_end_says_so() -> None:
    rng = np.random.default_rng(7)
    for shape in ("even", "skewed"):
        sizes = SHAPES[shape](rng, 20_000)
        assert histogram(sizes, 5.0, rng).established
        assert not histogram(sizes, 2000.0, rng).established


def test_numbers_go_on_falling_unless_they_end() -> None:
    rng = np.random.default_rng(3)
    heavy = histogram((rng.pareto(1.5, 20_000) + 1).astype(int), 5.0, rng)
    even = histogram(rng.integers(1, 19, 20_000), 5.0, rng)
    assert sum(heavy.thinning) > 20
    assert sum(even.thinning) < 25
    assert all(one >= other for one, other in pairwise(heavy.thinning[4:]))


SHAPES = {
    "even": lambda rng, n: rng.integers(1, 19, n),
    "geometric": lambda rng, n: rng.geometric(0.1, n),
    "skewed": lambda rng, n: np.maximum(1, rng.lognormal(1.5, 1.0, n).astype(int)),
    "two kinds": lambda rng, n: np.where(rng.random(n) < 0.95, rng.integers(1, 4, n), rng.integers(200, 400, n)),
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_the_interval_covers_and_the_bound_is_near_the_best(shape: str, epsilon: float) -> None:
    """40 profiles at ε = 0.1 of 20,000 units, each with an answer: 95 % intervals hold."""
    rng = np.random.default_rng(11)
    held, squares, wide, best = 0, 0.0, 0.0, 0.0
    for _ in range(40):
        sizes = SHAPES[shape](rng, 20_000)
        found = histogram(sizes, 10.0, rng)
        bound = found.for_total(np.sqrt(2) / epsilon, "laplace", "exact")
        lost, clip = found.loss(bound, "exact"), float(bound)
        noisy = np.minimum(sizes, clip).sum() + rng.laplace(0, clip / epsilon)
        ends = [_far(clip / epsilon, noise) for noise in (lost.low_noise, lost.high_noise)]
        low, high = noisy + lost.low - ends[0], noisy + lost.high + ends[1]
        held += low <= sizes.sum() <= high
        squares += (noisy + (lost.low + lost.high) / 2 - sizes.sum()) ** 2
        wide = max(wide, (high - low) / 2 / _far(clip / epsilon, ()))
        squared = (np.maximum(sizes - edge, 0).sum() ** 2 + 2 * (edge / epsilon) ** 2 for edge in EDGES)
        best += min(map(float, squared))
    assert held >= 34  # of 40 at 95 %: fewer has a chance of 0.3 %
    assert squares < 3.5**2 * best
    assert wide < 2


def _far(size: float, more: tuple[float, ...]) -> float:
    return float(width([np.array([each]) for each in (size, *more)], "laplace", 0.95)[0])


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
