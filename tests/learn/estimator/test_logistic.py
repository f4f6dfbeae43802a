"""Logistic regression: the steps are fixed by ε, the line is in the columns' units, and it learns digits."""

import numpy as np
import pytest
from sklearn.datasets import load_digits

from support.fixed_rng import FixedRng, drawing_from
from tacit.learn.estimator import LogisticRegression
from tacit.learn.estimator.logistic import steps_for, with_constant
from tacit.learn.estimator.outer import STEPS, in_ball


def test_steps_follow_from_epsilon_alone() -> None:
    assert [steps_for(epsilon) for epsilon in (0.25, 1, 4, 9)] == [26, 32, 44, 56]


def test_a_row_with_a_constant_stays_in_the_ball() -> None:
    rows = with_constant(in_ball(np.random.default_rng(1).normal(size=(200, 5)) * 100, 1.0))
    assert np.sum(rows * rows, axis=1).max() <= STEPS**2


def test_digits_are_told_apart() -> None:
    x, y = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(x))
    x, y = x[order], y[order]
    with drawing_from(FixedRng(1)):
        model = LogisticRegression(1, 1e-5, bounds=(0, 16), classes=range(10)).fit(x[:1437], y[:1437])
    assert model.score(x[1437:], y[1437:]) > 0.87  # 0.91 on average
    assert model.predict_proba(x).shape == (1797, 10)
    assert model.coef_.shape == (10, 64)
    assert model.predict_log_proba(x) == pytest.approx(np.log(model.predict_proba(x)))


def test_the_line_is_that_of_the_scores_near_the_middle() -> None:
    source = np.random.default_rng(1)
    x = source.normal(5, 1, size=(4000, 2))
    y = np.where(x[:, 0] > 5, "yes", "no")
    model = LogisticRegression(8, bounds=(0, 10), classes=("no", "yes")).fit(x, y)
    near = 5 + source.normal(size=(50, 2)) * 0.05
    assert model.decision_function(near) == pytest.approx(near @ model.coef_[0] + model.intercept_[0], abs=0.05)
    assert model.coef_[0, 0] > 5 * abs(model.coef_[0, 1])


def test_more_weight_is_more_say() -> None:
    x = np.repeat([[0.5], [-0.5]], 2000, axis=0)
    y = np.tile([0, 1], 2000)
    model = LogisticRegression(8, bounds=(-1, 1), classes=(0, 1)).fit(x, y, sample_weight=np.where(y == 1, 1, 0.1))
    assert (model.predict(x) == 1).all()
