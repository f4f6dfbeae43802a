"""The fit is the optimum that it says, to the gap that it says."""

from itertools import combinations
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize

from support.synthetic import SIZES, histogram, people
from tacit.synth.fit import KAPPA, CellZeros, NoisyTable, _Dual, fit, total_of

CLIQUES = [(0,), (1,), (2,), (0, 1), (1, 2), (0, 2)]


def noisy(sigma: float = 10.0, cliques: list[tuple[int, ...]] | None = None) -> list[NoisyTable]:
    source = np.random.default_rng(3)
    rows = people(2000)
    return [
        NoisyTable(clique=c, counts=(t := histogram(rows, c)) + source.normal(0, sigma, t.shape), sigma=sigma)
        for c in cliques or CLIQUES
    ]


def test_the_slope_is_that_of_the_value() -> None:
    dual = _Dual(SIZES, noisy(), (), 2000.0)
    for seed in range(3):
        at = np.random.default_rng(seed).normal(0, 1, len(dual.seen))
        steps = 1e-6 * np.eye(len(at))
        slope = np.array([(dual(at + step)[0] - dual(at - step)[0]) / 2e-6 for step in steps])
        assert np.abs(slope - dual(at)[1]).max() < 1e-6


def test_no_gap_is_below_what_is_left_to_the_optimum() -> None:
    """Least squares with entropy over the simplex of the whole table, solved without the dual."""
    tables = noisy()
    total = total_of(tables)
    shape = SIZES[:3]
    entropy = KAPPA / float(np.median([10.0 / total]))

    def primal(p: np.ndarray) -> float:
        value = entropy * float((p * np.log(np.maximum(p, 1e-300))).sum())
        for each in tables:
            gone = tuple(axis for axis in range(3) if axis not in each.clique)
            value += float(((total * p.sum(axis=gone) - each.counts) ** 2).sum()) / 200
        return value

    def softmax(x: np.ndarray) -> np.ndarray:
        weights = np.exp(x - x.max()).reshape(shape)
        return np.asarray(weights / weights.sum())

    solve: Any = minimize
    best = solve(lambda x: primal(softmax(x)), np.zeros(int(np.prod(shape))), method="BFGS", options={"gtol": 1e-7}).fun
    for gap in (0.5, 0.05, 0.004):
        model = fit(SIZES[:3], tables, gap=gap)
        reached = primal(model.counts((0, 1, 2)) / model.total)
        cells = sum(each.counts.size for each in tables)
        assert model.gap <= gap
        assert best - 1e-4 <= reached <= best + gap * cells + 1e-4


def test_without_noise_the_fit_is_the_table() -> None:
    rows = people(5000)
    cliques = [*((place,) for place in range(5)), *combinations(range(5), 2)]
    tables = [NoisyTable(clique=c, counts=histogram(rows, c), sigma=0.5) for c in cliques]
    model = fit(SIZES, tables)
    for clique in cliques:
        assert np.abs(model.counts(clique) - histogram(rows, clique)).max() < 3
    assert model.total == pytest.approx(5000, abs=1)


def test_impossible_cells_stay_empty_and_the_rest_fits() -> None:
    tables = noisy()
    mask = np.zeros(SIZES[:2], np.bool_)
    mask[0, 1] = True
    model = fit(SIZES, tables, zeros=[CellZeros(clique=(0, 1), impossible=mask)])
    assert model.counts((0, 1))[0, 1] == 0
    assert model.counts((0, 1)).sum() == pytest.approx(model.total)


def test_the_total_weighs_sums_by_their_noise() -> None:
    exact = NoisyTable(clique=(0,), counts=np.array([60.0, 40.0]), sigma=0.1)
    rough = NoisyTable(clique=(1,), counts=np.array([0.0, 0.0, 300.0]), sigma=100.0)
    assert total_of([exact, rough]) == pytest.approx(100, abs=0.1)
    assert total_of([NoisyTable(clique=(0,), counts=np.array([-5.0, -5.0]), sigma=3.0)]) == 1


def test_a_warm_start_ends_where_a_cold_one_does() -> None:
    tables = noisy()
    first = fit(SIZES, tables[:4])
    warm, cold = fit(SIZES, tables, start=first, gap=1e-4), fit(SIZES, tables, gap=1e-4)
    assert np.abs(warm.counts((0, 2)) - cold.counts((0, 2))).max() < 1
