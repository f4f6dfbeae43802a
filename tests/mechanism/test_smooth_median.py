"""The smooth median: levels against brute force, the guarantee on every small dataset, and what it is good for."""

import itertools
import time
from collections import Counter
from collections.abc import Hashable
from fractions import Fraction
from math import exp, expm1, log, sinh, sqrt
from typing import Any

import numpy as np
import pytest

from support.fixed_rng import FixedRng
from tacit.base import InputError, LatticeError, PrivacyWarning, Relation, RelationError
from tacit.loss import Approx, Pure
from tacit.mechanism.mechanism import Pmf
from tacit.mechanism.smooth_median import ScaleGrid, SmoothMedian, dilation_delta, largest_growth, smooth_level
from tacit.noise import uniform


def hockey_stick(left: Pmf, right: Pmf, epsilon: float) -> float:
    return sum(max(0.0, p - exp(epsilon) * right.get(o, 0.0)) for o, p in left.items())


def both_ways(left: Pmf, right: Pmf, epsilon: float) -> float:
    return max(hockey_stick(left, right, epsilon), hockey_stick(right, left, epsilon))


def median_of(epsilon: str, delta: str, top: int, share: str = "1/2") -> SmoothMedian:
    return SmoothMedian(
        epsilon=Fraction(epsilon), delta=Fraction(delta), lower=Fraction(0), upper=Fraction(top), share=Fraction(share)
    )


def datasets(top: int, n: int) -> list[tuple[int, ...]]:
    return list(itertools.combinations_with_replacement(range(top + 1), n))


def neighbours(x: tuple[int, ...], top: int) -> set[tuple[int, ...]]:
    return {tuple(sorted((*x[:i], v, *x[i + 1 :]))) for i in range(len(x)) for v in range(top + 1)}


def brute_level(x: tuple[int, ...], top: int, grid: ScaleGrid) -> int:
    """The definition: walk outward from x, look at the local sensitivity of everything met."""

    def middle(y: tuple[int, ...]) -> int:
        return y[(len(y) - 1) // 2]

    seen, shell, best = {x}, {x}, 0
    for k in range(len(x) + 1):
        worst = max(abs(middle(y) - middle(z)) for y in seen for z in neighbours(y, top))
        best = max(best, grid.level(worst) - k)
        shell = {z for y in shell for z in neighbours(y, top)} - seen
        seen |= shell
    return best


@pytest.mark.parametrize(("top", "n"), [(4, 1), (4, 2), (3, 3), (3, 4), (2, 5)])
def test_level_is_the_definition(top: int, n: int) -> None:
    grid = median_of("1", "0.01", top).grid
    for x in datasets(top, n):
        assert smooth_level(np.array(x), (n + 1) // 2, grid) == brute_level(x, top, grid)


@pytest.mark.parametrize(
    ("epsilon", "delta", "share"),
    [("1", "0.01", "1/2"), ("1", "0.2", "1/2"), ("1/2", "1e-3", "1/2"), ("4", "1e-6", "1/2"), ("2", "0.05", "1/10"),
     ("2", "0.05", "9/10"), ("1/2", "0.5", "1/2"), ("10", "0.1", "1/5")],
)  # fmt: skip
@pytest.mark.parametrize(("top", "n"), [(3, 3), (2, 6), (5, 2)])
def test_guarantee_on_all_small_neighbours(epsilon: str, delta: str, share: str, top: int, n: int) -> None:
    m = median_of(epsilon, delta, top, share)
    reach = int(50 * max(m.grid.scales))
    fitted = {x: m._fitted(x) for x in datasets(top, n)}
    laws = {}
    for centre, noise in set(fitted.values()):  # many datasets share a law
        law = noise.pmf(centre)
        laws[centre, noise] = np.array([law.get(o, 0.0) for o in range(-reach, reach + 1)])
    pairs = {(fitted[x], fitted[y]) for x in fitted for y in neighbours(x, top)}
    assert len(pairs) > 10
    for p, q in pairs:  # both orders come up
        assert np.maximum(0, laws[p] - exp(m.epsilon) * laws[q]).sum() <= float(m.delta) * (1 + 1e-9)


@pytest.mark.parametrize("index", range(len(SmoothMedian.examples())))
def test_claims_hold_and_are_attained(index: int) -> None:
    example = SmoothMedian.examples()[index]
    claim = example.claim
    assert isinstance(claim, Approx)
    left, right = example.mechanism.pmf(example.left), example.mechanism.pmf(example.right)
    epsilon, delta = float(claim.bound), float(claim.slack)
    assert both_ways(left, right, epsilon) <= delta
    if example.tight:
        assert both_ways(left, right, 0.99 * epsilon) > delta


def test_a_scale_five_percent_too_small_is_caught() -> None:
    example = SmoothMedian.examples()[0]
    m = example.mechanism
    assert isinstance(m, SmoothMedian)
    (a, noise), (b, other) = m._fitted(example.left), m._fitted(example.right)
    factor = Fraction(95, 100)
    left, right = (
        type(n)(scale=n.scale * factor, granularity=n.granularity).pmf(centre) for n, centre in ((noise, a), (other, b))
    )
    assert both_ways(left, right, float(m.epsilon)) > 1.2 * float(m.delta)


def test_neighbouring_scales_differ_by_at_most_the_growth() -> None:
    grid = median_of("0.3", "1e-5", 1000).grid
    ratios = [b / a for a, b in itertools.pairwise(grid.scales)]
    assert all(1 < ratio <= grid.growth for ratio in ratios)
    assert Fraction(1) / grid.alpha in grid.scales
    for move in (1, 2, 3, 500, 1000):
        level = grid.level(move)
        assert grid.alpha * grid.scales[level] >= move > grid.alpha * grid.scales[level - 1]


@pytest.mark.parametrize("delta", ["0.3", "1e-6", "1e-30"])
@pytest.mark.parametrize("epsilon", ["0.01", "1", "20"])
def test_growth_is_the_largest_allowed(epsilon: str, delta: str) -> None:
    e, d, a = Fraction(epsilon), Fraction(delta), Fraction(epsilon) / 2
    g = largest_growth(e, d, a)

    def fits(growth: Fraction) -> bool:
        return dilation_delta(e, a, growth) <= d and log(growth) <= e - a

    assert fits(g)
    assert not fits(1 + (g - 1) * Fraction(1000001, 1000000) * (1 + Fraction(1, 2**18)))


def test_dilation_delta_is_its_formula() -> None:
    e, a, g = 1.0, 0.4, 1.25
    moved = exp(-2 * a / sinh(a) / (g + 1)) * (exp(-(e - a) / (g - 1)) + exp(-(e + a) / (g - 1))) / (1 + exp(-a))
    expected = (1 - 1 / g) * max(moved, 2 * exp(-e / (g - 1)))
    found = dilation_delta(Fraction(1), Fraction(2, 5), Fraction(5, 4))
    assert float(found) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("alpha", [0.02, 0.5, 3.0])
@pytest.mark.parametrize("growth", [1.01, 1.3, 3.0])
def test_dilation_delta_bounds_every_slide_and_dilation(alpha: float, growth: float) -> None:
    """The lemma itself, for scales t' < t ≤ g·t' and moves of at most α·t', against the sum over the lattice."""
    epsilon = alpha + 6 * (growth - 1)
    bound = float(dilation_delta(Fraction(epsilon), Fraction(alpha), Fraction(growth)))
    z = np.arange(-40_000, 40_001)
    worst = 0.0
    for narrow in (0.02, 0.1, 0.3, 1 / alpha, 1.37 / alpha, 3 / alpha, 10 / alpha):
        for ratio in (1 + (growth - 1) / 3, growth):
            for move in {0, int(alpha * narrow * (1 + 1e-12))}:
                wide = narrow * ratio
                p = -expm1(-1 / wide) / (1 + exp(-1 / wide)) * np.exp(-np.abs(z) / wide)
                q = -expm1(-1 / narrow) / (1 + exp(-1 / narrow)) * np.exp(-np.abs(z + move) / narrow)
                worst = max(worst, float(np.maximum(0, p - exp(epsilon) * q).sum()))
    assert 0.1 * bound < worst <= bound * (1 + 1e-9)


def test_sample_follows_pmf() -> None:
    m, values, runs, rng = median_of("2", "0.01", 5), (0, 2, 2, 3, 5), 8_000, FixedRng(1)
    seen: Counter[Hashable] = Counter(m.sample(values, rng) for _ in range(runs))
    law = m.pmf(values)
    assert sum(law.values()) == pytest.approx(1, rel=1e-9)
    for output, p in law.items():
        assert abs(seen[output] - runs * p) <= 6 * sqrt(runs * p) + 6


def test_median_is_the_lower_middle_and_order_does_not_matter() -> None:
    m = median_of("2", "0.01", 9)
    law = m.pmf((9, 1, 4, 3))
    assert max(law, key=lambda o: law[o]) == 3
    assert law == m.pmf((1, 3, 4, 9))


def test_granularity_and_lower_are_only_a_change_of_units() -> None:
    plain = median_of("1", "0.01", 8)
    shifted = SmoothMedian(
        epsilon=Fraction(1), delta=Fraction("0.01"), lower=Fraction(-1), upper=Fraction(1), granularity=Fraction("0.25")
    )
    a, b = plain.pmf((1, 3, 8)), shifted.pmf((-0.75, -0.25, 1.0))
    assert {-1 + 0.25 * float(str(o)): pytest.approx(p, rel=1e-12) for o, p in a.items()} == b


def test_error_falls_with_the_number_of_records_far_below_the_global_sensitivity() -> None:
    m = SmoothMedian(epsilon=Fraction(1), delta=Fraction("1e-6"), lower=Fraction(0), upper=Fraction(100_000))
    rng, typical = FixedRng(2), []
    for n in (100, 1_000, 10_000):
        records = 40_000 + uniform(20_000, n, rng)
        true = np.sort(records)[(n - 1) // 2]
        misses = [abs(m.sample(records, rng) - true) for _ in range(200)]
        typical.append(float(np.median(misses)))
    assert typical[0] > 4 * typical[1] > 16 * typical[2]
    assert typical[2] < 100  # noise for the global sensitivity would be off by about 70 000


def test_concentrated_records_are_answered_almost_exactly() -> None:
    m = median_of("1", "1e-6", 100)
    assert m.error("0.999", values=[50] * 5_000) == 0
    assert m.error("0.95", values=[0] * 50 + [100] * 50) > 500


def test_a_hundred_thousand_records_take_no_time() -> None:
    m = SmoothMedian(epsilon=Fraction(1), delta=Fraction("1e-6"), lower=Fraction(0), upper=Fraction(10**9))
    records = uniform(10**9, 100_000, FixedRng(3))
    start = time.perf_counter()
    m.error(values=records)
    assert time.perf_counter() - start < 2


def test_only_replacement_is_promised() -> None:
    m = median_of("1", "1e-6", 10)
    assert m.loss(unit="user") == Approx(1, "1e-6", relation=Relation.REPLACE, unit="user")
    with pytest.raises(RelationError, match="add/remove"):
        m.loss(relation=Relation.ADD_REMOVE)
    with pytest.raises(InputError, match="sensitivity"):
        m.loss(1)
    with pytest.raises(RelationError, match="replace"):
        SmoothMedian.from_loss(Approx(1, "1e-6"), lower=0, upper=10)
    with pytest.raises(InputError, match="delta > 0"):
        SmoothMedian.from_loss(Pure(1, relation=Relation.REPLACE), lower=0, upper=10)
    assert SmoothMedian.from_loss(m.loss(), lower=0, upper=10) == m


@pytest.mark.parametrize(
    ("wrong", "name"),
    [
        ({"epsilon": 0}, "epsilon"),
        ({"epsilon": float("nan")}, "epsilon"),
        ({"delta": 0}, "delta"),
        ({"delta": 1}, "delta"),
        ({"lower": 10}, "lower"),
        ({"upper": float("inf")}, "upper"),
        ({"upper": 9.5}, "upper"),
        ({"granularity": -1}, "granularity"),
        ({"share": 1}, "share"),
        ({"upper": 2**61}, "granularity"),
    ],
)
def test_bad_parameters_are_named(wrong: dict[str, Any], name: str) -> None:
    good: dict[str, Any] = {"epsilon": 1, "delta": "1e-6", "lower": 0, "upper": 10}
    with pytest.raises(InputError, match=name):
        SmoothMedian(**(good | wrong))


@pytest.mark.parametrize("values", [[], 3, [[1, 2]], [11], [-1, 2], [float("nan")], ["a"]])
def test_bad_records_are_refused(values: Any) -> None:
    with pytest.raises(InputError):
        median_of("1", "1e-6", 10).sample(values)


def test_records_off_the_lattice_are_refused() -> None:
    with pytest.raises(LatticeError):
        median_of("1", "1e-6", 10).sample([0.5, 1.0])


def test_a_grid_without_end_is_refused() -> None:
    with pytest.raises(InputError, match="epsilon is too small"):
        median_of("1e-5", "1e-9", 1000).sample([1, 2])


def test_a_delta_that_would_permit_publishing_a_record_is_warned_of() -> None:
    m = SmoothMedian.from_loss(Approx(1, Fraction(1, 5), relation=Relation.REPLACE), lower=0, upper=10)
    with pytest.warns(PrivacyWarning, match="publishing one random row"):
        m.sample([1, 2, 3, 4, 5], FixedRng(0))
