"""Naive Bayes: shares and moments by class."""

import numpy as np
import pytest

from support.fixed_rng import FixedRng, drawing_from
from tacit.base import InputError
from tacit.learn.estimator import CategoricalNB, GaussianNB


def test_means_variances_and_priors_are_found() -> None:
    source = np.random.default_rng(1)
    y = source.choice(["few", "many"], 20_000, p=[0.2, 0.8])
    x = source.normal(np.where(y == "many", 6.0, 3.0)[:, None], 1.0, size=(20_000, 2))
    with drawing_from(FixedRng(1)):
        model = GaussianNB(2, bounds=(0, 10), classes=("few", "many")).fit(x, y)
    assert model.theta_ == pytest.approx(np.array([[3, 3], [6, 6]]), abs=0.25)
    assert model.var_ == pytest.approx(1, abs=0.6)
    assert model.class_prior_ == pytest.approx([0.2, 0.8], abs=0.02)
    assert model.score(x, y) > 0.95


def test_categories_by_name_and_by_number() -> None:
    source = np.random.default_rng(1)
    y = source.integers(0, 2, 5000)
    x = np.column_stack([np.where(source.random(5000) < 0.9, y, 1 - y), source.integers(0, 2, 5000)])
    with drawing_from(FixedRng(1)):
        numbered = CategoricalNB(1, categories=2, classes=(0, 1)).fit(x, y)
        named = CategoricalNB(1, categories=[["a", "b"], 2], classes=(0, 1))
        words = np.column_stack([np.array(["a", "b"])[x[:, 0]].astype(object), x[:, 1].astype(object)])
        named.fit(words, y)
    assert numbered.score(x, y) > 0.88
    assert named.score(words, y) > 0.88
    assert np.exp(numbered.feature_log_prob_[0])[0] == pytest.approx([0.9, 0.1], abs=0.03)


def test_a_category_that_was_not_declared_has_no_prediction() -> None:
    model = CategoricalNB(1, categories=2, classes=(0, 1)).fit([[0, 1], [1, 0]], [0, 1])
    with pytest.raises(InputError, match="no prediction"):
        model.predict([[0, 5]])
