"""Ways to go on beyond a histogram: those that made the counts are among the likely ones, and ends are seen."""

from itertools import pairwise

import numpy as np
import pytest

from tacit.plan.tail import TailWays, tail_ways

EDGES = np.array(sorted({round(2 ** (j / 4)) for j in range(65)}), dtype=np.float64)


def ways(sizes: np.ndarray, last: int, noise: float, seed: int = 3) -> TailWays:
    counts = np.bincount(np.searchsorted(EDGES, sizes), minlength=len(EDGES))[: len(EDGES)]
    drawn = np.random.default_rng(seed).normal(0, noise, len(EDGES))
    return tail_ways(EDGES, counts + drawn, last, noise**2)


def place(edge: float) -> int:
    return int(np.searchsorted(EDGES, edge))


@pytest.mark.parametrize("bound", [64.0, 100.0, 181.0])
def test_what_is_taken_lies_within_what_is_told(bound: float) -> None:
    """Of log-normal sizes, resolved up to 54: bounds on both sides of edges."""
    sizes = np.maximum(1, np.random.default_rng(1).lognormal(1.5, 1.0, 100_000).astype(int))
    found, true = ways(sizes, place(54), 20.0), np.maximum(sizes - bound, 0).sum()
    assert found.weights.sum() == pytest.approx(1)
    assert found.most(bound, 0.97) <= true <= found.most(bound, 0.03, 1.5)
    assert found.most(bound, 0.03, 1.5) < 20 * true + 500


def test_it_falls_with_the_bound_and_rises_with_care() -> None:
    sizes = np.maximum(1, np.random.default_rng(1).lognormal(1.5, 1.0, 20_000).astype(int))
    found = ways(sizes, place(38), 20.0)
    told = [found.most(float(edge), 0.03, 1.5) for edge in EDGES]
    assert all(one >= other for one, other in pairwise(told))
    assert found.most(64.0, 0.5) <= found.most(64.0, 0.03) <= found.most(64.0, 0.03, 1.5)


def test_an_end_is_told_from_a_tail() -> None:
    rng = np.random.default_rng(2)
    ends, tail = np.full(20_000, 10), (rng.pareto(1.3, 20_000) + 1).astype(int)
    assert ways(ends, place(10), 5.0).most(10.0, 0.03, 1.5) < 20
    assert ways(tail, place(54), 5.0).most(100.0, 0.03, 1.5) > np.maximum(tail - 100, 0).sum() / 4


def test_nothing_lies_beyond_the_last_edge() -> None:
    assert ways(np.full(100, 10), len(EDGES) - 1, 1.0).most(5.0, 0.03, 1.5) == 0
