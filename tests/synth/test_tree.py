"""Marginals of a junction tree are those of the whole table, which small domains let us write down."""

from itertools import combinations
from math import prod

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.base import InputError
from tacit.synth.tree import JunctionTree, expanded, tree_cells

SIZES = (2, 3, 2, 4, 3)
PAIRS = list(combinations(range(5), 2))


def whole_table(tree: JunctionTree, potentials: list[np.ndarray]) -> np.ndarray:
    logs = sum(expanded(each, clique, tuple(range(5))) for each, clique in zip(potentials, tree.cliques, strict=True))
    table = np.exp(logs - np.max(logs)) * np.ones(SIZES)
    return np.asarray(table / table.sum())


@settings(max_examples=60, deadline=None)
@given(st.sets(st.sampled_from([*PAIRS, (0, 1, 4), (1, 2, 3)]), max_size=7), st.integers(0, 10**6))
def test_marginals_are_those_of_the_whole_table(cliques: set[tuple[int, ...]], seed: int) -> None:
    tree = JunctionTree.over(SIZES, [(place,) for place in range(5)] + sorted(cliques))
    source = np.random.default_rng(seed)
    potentials = [source.normal(0, 2, tree.shape(clique)) for clique in tree.cliques]
    potentials[0][(0,) * potentials[0].ndim] = -np.inf  # a structural zero
    truth = whole_table(tree, potentials)
    beliefs, total = tree.beliefs(potentials)
    logs = sum(expanded(e, c, tuple(range(5))) for e, c in zip(potentials, tree.cliques, strict=True))
    assert total == pytest.approx(np.log(np.sum(np.exp(logs) * np.ones(SIZES))), rel=1e-9)
    for size in (1, 2, 3):
        for clique in combinations(range(5), size):
            gone = tuple(place for place in range(5) if place not in clique)
            np.testing.assert_allclose(tree.any_marginal(beliefs, clique), truth.sum(axis=gone), atol=1e-12)
    for clique in cliques:
        assert tree.home(clique) is not None


@settings(max_examples=40, deadline=None)
@given(st.sets(st.sampled_from(PAIRS), max_size=8))
def test_the_tree_has_the_running_intersection(cliques: set[tuple[int, ...]]) -> None:
    tree = JunctionTree.over(SIZES, sorted(cliques))
    for place in range(5):
        holders = [at for at, clique in enumerate(tree.cliques) if place in clique]
        tops = [at for at in holders if tree.parents[at] < 0 or place not in tree.cliques[tree.parents[at]]]
        assert len(tops) == 1
    assert tree.cells == tree_cells(SIZES, cliques) == sum(prod(tree.shape(c)) for c in tree.cliques)


def test_a_root_is_where_it_was_asked_for() -> None:
    tree = JunctionTree.over(SIZES, [(0, 1), (1, 2), (2, 3), (3, 4)], root=(2, 3))
    assert tree.cliques[0] == (2, 3)


def test_what_leaves_nothing_possible_is_told() -> None:
    tree = JunctionTree.over((2, 2), [(0, 1)])
    with pytest.raises(InputError, match="leave nothing possible"):
        tree.beliefs([np.full((2, 2), -np.inf)])


def test_probabilities_too_small_for_a_quotient_are_none() -> None:
    """One over the least double is no number, and no table may become one for it: that would fail after the charge."""
    tree = JunctionTree.over((2, 2, 2), [(0, 1), (1, 2)])
    potentials = tree.zeros()
    for place, clique in enumerate(tree.cliques):
        at = tuple(1 if column == 1 else slice(None) for column in clique)
        potentials[place][at] = -370.0 if place else -372.0
    with np.errstate(all="raise", under="ignore"):
        beliefs, _ = tree.beliefs(potentials)
        table = tree.any_marginal(beliefs, (0, 2))
    assert np.isfinite(table).all()
    assert abs(table.sum() - 1) < 1e-9
