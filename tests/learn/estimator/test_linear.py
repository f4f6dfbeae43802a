"""Linear regression: close to least squares where noise is small, and sane where it is large."""

import numpy as np
import pytest

from support.fixed_rng import FixedRng, drawing_from
from tacit.learn.estimator import LinearRegression, Ridge


def rows(count: int = 20_000) -> tuple[np.ndarray, np.ndarray]:
    source = np.random.default_rng(1)
    x = source.uniform(0, 10, size=(count, 3))
    return x, 3 * x[:, 0] - 2 * x[:, 1] + 5 + source.normal(size=count)


def test_it_finds_the_slopes() -> None:
    x, y = rows()
    with drawing_from(FixedRng(1)):
        model = LinearRegression(4, bounds=(0, 10), target=(-20, 40)).fit(x, y)
    assert model.coef_ == pytest.approx([3, -2, 0], abs=0.15)
    assert model.score(x, y) > 0.95
    assert model.predict(x).min() >= -20


def test_alpha_shrinks_the_slopes() -> None:
    x, y = rows(2000)
    slopes = [Ridge(8, alpha=alpha, bounds=(0, 10), target=(-20, 40)).fit(x, y).coef_[0] for alpha in (0, 2000)]
    assert slopes[0] > 1.5 * slopes[1] > 0


def test_with_little_privacy_to_spend_it_predicts_the_mean_rather_than_nonsense() -> None:
    x, y = rows(200)
    with drawing_from(FixedRng(2)):
        model = LinearRegression(0.01, bounds=(0, 10), target=(-20, 40)).fit(x, y)
    assert np.abs(model.coef_).max() < 6  # the whole range of the target over that of a column
