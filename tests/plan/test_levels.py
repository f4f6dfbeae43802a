"""Least squares over levels are those of a dense solver, and shares never make a level worse than it was."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.plan.levels import LevelTables, level_shares


def cube(keys: int) -> tuple[tuple[int, ...], ...]:
    return tuple(some for many in range(keys, -1, -1) for some in combinations(range(keys), many))


def rollup(keys: int) -> tuple[tuple[int, ...], ...]:
    return tuple(tuple(range(many)) for many in range(keys, -1, -1))


def sums(sizes: tuple[int, ...], sets: tuple[tuple[int, ...], ...]) -> np.ndarray:
    """A line for each cell of each level: which cells of the whole table it is the sum of."""
    lines = []
    for keys in sets:
        for cell in np.ndindex(*(sizes[key] for key in keys)):
            line = np.zeros(sizes)
            line[tuple(cell[keys.index(key)] if key in keys else slice(None) for key in range(len(sizes)))] = 1
            lines.append(line.ravel())
    return np.array(lines)


@st.composite
def cases(draw: st.DrawFn) -> LevelTables:
    sizes = tuple(draw(st.lists(st.integers(1, 4), min_size=1, max_size=3)))
    sets = tuple(draw(st.lists(st.sampled_from(cube(len(sizes))), min_size=1, max_size=6, unique=True)))
    shares = tuple(draw(st.lists(st.integers(1, 9), min_size=len(sets), max_size=len(sets))))
    return LevelTables(sizes, sets, shares)


@settings(max_examples=60, deadline=None)
@given(cases(), st.integers(0, 10**6))
def test_the_fit_is_least_squares(tables: LevelTables, seed: int) -> None:
    lines = sums(tables.sizes, tables.sets)
    shapes = [[tables.sizes[key] for key in keys] for keys in tables.sets]
    weights = np.repeat([share**2 for share in tables.shares], [int(np.prod(shape)) for shape in shapes]).astype(float)
    seen = np.random.default_rng(seed).normal(size=len(lines))
    root = np.sqrt(weights)
    wanted = lines @ np.linalg.lstsq(lines * root[:, None], seen * root, rcond=None)[0]
    given_tables, at = [], 0
    for shape in shapes:
        size = int(np.prod(shape))
        given_tables.append(seen[at : at + size].reshape(shape))
        at += size
    found = np.concatenate([table.ravel() for table in tables.fitted(given_tables)])
    assert np.allclose(found, wanted, atol=1e-9)
    covariance = lines @ np.linalg.pinv(lines.T @ (lines * weights[:, None])) @ lines.T
    variances = np.repeat(tables.variances, [int(np.prod(shape)) for shape in shapes])
    assert np.allclose(np.diag(covariance), variances, atol=1e-9)


@settings(max_examples=40, deadline=None)
@given(cases())
def test_no_level_is_worse_than_with_equal_shares_and_without_a_fit(tables: LevelTables) -> None:
    shares = level_shares(tables.sizes, tables.sets)
    norm = sum(share**2 for share in shares)
    found = norm * LevelTables(tables.sizes, tables.sets, shares).variances
    equal = len(tables.sets) * LevelTables(tables.sizes, tables.sets, (1,) * len(tables.sets)).variances
    assert found.max() <= len(tables.sets) * (1 + 1e-6)
    assert found.sum() <= equal.sum() * (1 + 1e-6)


@pytest.mark.parametrize(("sizes", "sets", "most"), [((4, 2), rollup(2), 0.66), ((3,) * 6, cube(6), 0.17)])
def test_how_much_is_gained(sizes: tuple[int, ...], sets: tuple[tuple[int, ...], ...], most: float) -> None:
    """Of the variance with equal shares and without a fit, over all levels."""
    shares = level_shares(sizes, sets)
    found = sum(share**2 for share in shares) * LevelTables(sizes, sets, shares).variances
    assert found.mean() / len(sets) < most
    assert len({*shares}) > 1
