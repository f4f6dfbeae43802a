"""MST: its tree, its price, and its whole law on a domain so small that it can be listed."""

from fractions import Fraction
from functools import cache
from itertools import combinations, product
from math import exp, log, prod

import numpy as np
import pytest

from support.fixed_rng import FixedRng, drawing_from
from support.synthetic import ADDED, REPLACED, SIZES, Table, people
from tacit.mechanism import DiscreteGaussian, Exponential
from tacit.program import Program, Step
from tacit.synth.counts import Reach
from tacit.synth.fit import NoisyTable, total_of
from tacit.synth.method import Selected
from tacit.synth.mst import MST, MergedCounts, merged_table, merges_of, pair_scores


def run(reach: Reach, rho: str = "0.5", seed: int = 1) -> Selected:
    steps = MST().steps(5, Fraction(rho), reach)
    with drawing_from(FixedRng(seed)):
        return MST().run(
            Table(people(4000)),
            SIZES,
            steps,
            reach=reach,
            workload={},
            zeros=(),
            told=lambda share: None,
        )


@pytest.mark.parametrize("reach", [ADDED, REPLACED])
def test_the_program_costs_rho_and_what_runs_is_what_was_charged(reach: Reach) -> None:
    steps = MST().steps(5, Fraction(1, 2), reach)
    cost = Program(steps=steps, relation=reach.relation, unit="person", tables=("people",)).cost.rho
    assert cost is not None
    assert Fraction(499, 1000) < cost <= Fraction(1, 2)
    found = run(reach)
    spent = sum(each.rho for each in found.rounds)
    assert abs(spent - cost) < Fraction(1, 10**12)
    assert len(found.rounds) == 9


def test_the_tree_has_the_pairs_that_depend_most() -> None:
    chosen = {each.clique for each in run(ADDED).rounds if each.chosen}
    assert (0, 1) in chosen
    assert (1, 2) in chosen
    assert len(chosen) == 4


def test_rare_cells_are_measured_as_one_with_the_noise_of_all() -> None:
    single = NoisyTable(clique=(0,), counts=np.array([100.0, 2.0, 50.0, -3.0, 19.0]), sigma=10.0)
    merges = merges_of([single])
    assert merges[0].tolist() == [0, 2, 1, 2, 2]
    table = merged_table(single, merges)
    assert table.counts.tolist() == [100, 50, 18]
    assert np.asarray(table.sigma) == pytest.approx([10, 10, 10 * 3**0.5])
    seen = MergedCounts(Table(people(50)), SIZES, {2: np.array([0, 1, 1, 1, 2])})
    assert (seen[(1, 2)][:, 1] == Table(people(50))[(1, 2)][:, 1:4].sum(axis=1)).all()
    assert merges_of([NoisyTable(clique=(0,), counts=np.array([90.0, 1.0]), sigma=10.0)]) == {}


# --- the whole law of a job with three columns of two cells, exactly

COLUMNS = (2, 2, 2)
PAIRS = list(combinations(range(3), 2))


def divergence(one: list[tuple[int, ...]], other: list[tuple[int, ...]], reach: Reach, alpha: float) -> float:
    """The Rényi divergence of what MST measures and chooses on two tables, summed over every outcome.

    An outcome is the noisy columns, then two pairs, then their noisy tables. The pairs follow from the noisy columns by
    the shipped scores and mechanism; given all of that the tables are independent of each other.
    """
    tables = [Table(np.array(each, np.int64), COLUMNS) for each in (one, other)]
    first, choose, second = (step for step in MST().steps(3, RHO, reach) if isinstance(step, Step))
    assert isinstance(first.mechanism, DiscreteGaussian)
    assert isinstance(second.mechanism, DiscreteGaussian)
    assert isinstance(choose.mechanism, Exponential)

    @cache
    def power(sigma: Fraction, a: int, b: int) -> float:
        return sum(_power(_law(sigma, a), _law(sigma, b), alpha).values())

    wide = second.mechanism.sigma

    def pair_power(pair: tuple[int, int], merges: dict[int, np.ndarray]) -> float:
        seen = [MergedCounts(each, COLUMNS, merges)[pair].ravel().tolist() for each in tables]
        return float(prod(power(wide, a, b) for a, b in zip(*seen, strict=True)))

    total = 0.0
    spread = first.mechanism.sigma
    counts = [pair for place in range(3) for pair in zip(*(each[(place,)].tolist() for each in tables), strict=True)]
    cells = [list(_power(_law(spread, a), _law(spread, b), alpha).items()) for a, b in counts]
    sigma = float(first.mechanism.sigma)
    for outcome in product(*cells):
        weight = float(np.prod([chance for _, chance in outcome]))
        if weight < 1e-9:
            continue
        noisy = np.array([value for value, _ in outcome], np.float64).reshape(3, 2)
        singles = [NoisyTable(clique=(place,), counts=noisy[place], sigma=sigma) for place in range(3)]
        merges = merges_of(singles)
        sums = [merged_table(each, merges) for each in singles]
        units = total_of(singles)
        found = [pair_scores(MergedCounts(each, COLUMNS, merges), sums, units, second, reach) for each in tables]
        scores = [[each[pair] for pair in PAIRS] for each in found]
        chosen = 0.0
        laws = [choose.mechanism.pmf(each) for each in scores]
        for place, pair in enumerate(PAIRS):
            left = [at for at in range(3) if at != place]
            next_laws = [choose.mechanism.pmf([each[at] for at in left]) for each in scores]
            later = sum(
                next_laws[0][k] ** alpha * next_laws[1][k] ** (1 - alpha) * pair_power(PAIRS[at], merges)
                for k, at in enumerate(left)
            )
            chosen += laws[0][place] ** alpha * laws[1][place] ** (1 - alpha) * pair_power(pair, merges) * later
        total += weight * chosen
    return log(total) / (alpha - 1)


RHO = Fraction(50)  # so little noise that few outcomes have any weight


@cache
def _law(sigma: Fraction, centre: int) -> dict[int, float]:
    reach = 12
    weights = {centre + z: exp(-z * z / (2 * float(sigma) ** 2)) for z in range(-reach, reach + 1)}
    total = sum(weights.values())
    return {value: weight / total for value, weight in weights.items()}


def _power(one: dict[int, float], other: dict[int, float], alpha: float) -> dict[int, float]:
    return {v: p**alpha * other[v] ** (1 - alpha) for v, p in one.items() if other.get(v, 0) > 1e-280 and p > 1e-12}


BASE: list[tuple[int, ...]] = [(0, 0, 0), (1, 1, 1), (0, 1, 0)]


@pytest.mark.parametrize(
    ("reach", "other", "alpha"),
    [
        (ADDED, BASE[:2], 2.0),
        pytest.param(ADDED, [*BASE, (1, 0, 1)], 1.5, marks=pytest.mark.slow),
        pytest.param(ADDED, BASE[:2], 1.5, marks=pytest.mark.slow),
        pytest.param(REPLACED, [*BASE[:2], (1, 0, 1)], 2.0, marks=pytest.mark.slow),
    ],
)
def test_the_whole_law_is_within_what_was_charged(reach: Reach, other: list[tuple[int, ...]], alpha: float) -> None:
    found = divergence(BASE, other, reach, alpha)
    assert 0.2 * alpha * float(RHO) < found <= alpha * float(RHO) * (1 + 1e-9)
