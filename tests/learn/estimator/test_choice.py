"""A private search: its price, its Poisson number, and that it finds what is better."""

from collections import Counter
from math import exp, factorial

import numpy as np
import pytest
from scipy.stats import chisquare

from support.fixed_rng import FixedRng, drawing_from
from support.statistics import ALARM
from tacit.base import InputError
from tacit.learn.estimator import LogisticRegression, PerturbedLogisticRegression, best_of
from tacit.learn.estimator.choice import poisson

X = np.zeros((20, 2))
Y = np.arange(20) % 2


def test_the_number_of_runs_is_poisson() -> None:
    rng = FixedRng(2)
    found = Counter(poisson(3, rng) for _ in range(6000))
    expected = [6000 * exp(-3) * 3**k / factorial(k) for k in range(8)]
    observed = [found[k] for k in range(8)]
    rest = 6000 - sum(expected)
    assert chisquare([*observed, 6000 - sum(observed)], [*expected, rest]).pvalue > ALARM


def test_the_best_is_found_and_paid_for() -> None:
    source = np.random.default_rng(1)
    x = source.normal(size=(3000, 3))
    y = (x.sum(axis=1) > 0).astype(int)
    with drawing_from(FixedRng(4)):
        model = best_of(
            LogisticRegression, {"bounds": [(-3, 3), (2.9, 3)]}, x, y, epsilon=2, delta=1e-5, classes=(0, 1)
        )
    assert model.params_ == {"bounds": (-3, 3)}
    assert 1.99 < model.loss_.epsilon(1e-5).upper <= 2
    assert model.program_.loss.epsilon(1e-5).upper < 1.2  # a run costs less than the search
    assert model.score(x, y) > 0.9


def test_what_it_cannot_do_it_says() -> None:
    with pytest.raises(InputError, match="not charged to a session"):
        best_of(LogisticRegression, {}, [[1.0]], [1], epsilon=1, session=object())
    with pytest.raises(InputError, match="no bounds"):
        best_of(LogisticRegression, {"max_iter": [1]}, [[1.0]], [1], epsilon=1, classes=(0, 1))
    with pytest.raises(InputError, match="grid"):
        best_of(LogisticRegression, {"max_iter": []}, [[1.0]], [1], epsilon=1, classes=(0, 1))


def test_a_perturbed_objective_has_no_price_in_a_search() -> None:
    with pytest.raises(InputError, match="Gaussian sums alone"):
        best_of(PerturbedLogisticRegression, {}, X, Y, epsilon=1, classes=(0, 1), bounds=(-3, 3))


def test_a_label_is_asked_for_each_row_before_anything_is_drawn() -> None:
    with pytest.raises(InputError, match="each row needs one"):
        best_of(LogisticRegression, {"max_iter": [5]}, X, Y[:-1], epsilon=1, classes=(0, 1), bounds=(-3, 3))
