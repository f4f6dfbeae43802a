"""Drawn rows are as the model expects: every count within one of its expectation, or in the mean."""

import numpy as np
import pytest

from support.fixed_rng import FixedRng, drawing_from
from support.synthetic import SIZES, histogram, people
from tacit.synth.fit import NoisyTable, fit
from tacit.synth.sample import sampled, shares
from tacit.synth.tree import JunctionTree

CLIQUES = [(0, 1), (1, 2), (2, 3, 4)]


def test_shares_are_within_one_and_right_in_the_mean() -> None:
    expected = np.array([[0.2, 3.7, 1.1], [0.5, 0.25, 0.25], [0.0, 2.0, 3.0]])
    with drawing_from(FixedRng(1)):
        drawn = np.array([shares(expected) for _ in range(4000)])
    assert (drawn.sum(axis=2) == [5, 1, 5]).all()
    assert (np.abs(drawn - expected) < 1).all()
    assert np.abs(drawn.mean(axis=0) - expected).max() < 0.04  # five standard errors of a coin


def test_rows_have_the_counts_that_the_model_expects() -> None:
    rows = people(3000)
    tables = [NoisyTable(clique=c, counts=histogram(rows, c), sigma=1.0) for c in CLIQUES]
    model = fit(SIZES, tables)
    with drawing_from(FixedRng(2)):
        found = sampled(model.tree, model.beliefs, 3000)
    drawn = np.stack([found[place] for place in range(5)], axis=1)
    root = model.tree.cliques[0]
    expected = 3000 * model.tree.any_marginal(model.beliefs, root)
    assert np.abs(histogram(drawn, root) - expected).max() < 1.001
    for clique in CLIQUES:
        apart = np.abs(histogram(drawn, clique) - model.counts(clique)).sum() / 2 / 3000
        assert apart < 0.004  # independent draws would be .02 off and more


def test_independent_columns_stay_independent() -> None:
    tree = JunctionTree.over((2, 2), [(0,), (1,)])
    with drawing_from(FixedRng(3)):
        found = sampled(tree, [np.array([0.5, 0.5]), np.array([0.5, 0.5])], 10_000)
    assert abs(np.corrcoef(found[0], found[1])[0, 1]) < 0.05


def test_given_columns_are_kept_and_the_others_follow_them() -> None:
    joint = np.array([[0.4, 0.1], [0.0, 0.5]])
    tree = JunctionTree.over((2, 2), [(0, 1)])
    given = np.array([0] * 50 + [1] * 50)
    with drawing_from(FixedRng(4)):
        found = sampled(tree, [joint], 100, {0: given})
    assert (found[0] == given).all()
    assert (found[1][50:] == 1).all()
    assert found[1][:50].sum() == 10


@pytest.mark.parametrize("rows", [1, 2, 7])
def test_few_rows_are_drawn_too(rows: int) -> None:
    model = fit(SIZES, [NoisyTable(clique=(0, 1), counts=histogram(people(100), (0, 1)), sigma=1.0)])
    found = sampled(model.tree, model.beliefs, rows)
    assert all(len(codes) == rows and (codes >= 0).all() for codes in found.values())
    assert all((codes < SIZES[place]).all() for place, codes in found.items())
