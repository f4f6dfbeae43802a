"""Where noise is small, models come out as without privacy: coefficients, and probabilities that mean what they say."""

from typing import Any

import numpy as np
import pytest
from scipy.special import softmax
from sklearn.linear_model import LogisticRegression as PlainLogistic
from sklearn.naive_bayes import GaussianNB as PlainBayes

from support.fixed_rng import FixedRng, drawing_from
from tacit.learn.estimator import (
    ExplainableBoosting,
    GaussianNB,
    LinearRegression,
    LogisticRegression,
    PerturbedLogisticRegression,
    Ridge,
)

SLOPES = np.array([3.0, -2.0, 1.0, 0.0])
LINES = np.stack([0 * SLOPES, SLOPES, SLOPES[::-1]], axis=1)


def rows(count: int, seed: int = 1) -> np.ndarray[Any, Any]:
    return np.clip(np.random.default_rng(seed).normal(0, 0.4, size=(count, 4)), -2, 2)


def drawn(x: np.ndarray[Any, Any], lines: np.ndarray[Any, Any], seed: int = 2) -> np.ndarray[Any, Any]:
    chances = softmax(lines, axis=1).cumsum(axis=1)
    return np.asarray((chances > np.random.default_rng(seed).random((len(x), 1))).argmax(axis=1))


def log_loss(model: Any, x: np.ndarray[Any, Any], y: np.ndarray[Any, Any]) -> float:
    return float(-np.mean(np.log(model.predict_proba(x)[np.arange(len(y)), y])))


@pytest.mark.parametrize("constant", [0.0, -3.0])  # half of the rows, or one in ten
@pytest.mark.parametrize("size", [0.5, 1.0, 4.0])  # of the slopes: at 4 nearly all rows are told apart
def test_a_line_between_two_classes(constant: float, size: float) -> None:
    x = rows(20_000)
    y = drawn(x, np.stack([0 * x[:, 0], x @ SLOPES * size + constant], axis=1))
    plain = PlainLogistic(C=1e4).fit(x, y)
    with drawing_from(FixedRng(1)):
        model = LogisticRegression(1, bounds=(-2, 2), classes=(0, 1)).fit(x, y)
    assert log_loss(model, x, y) < log_loss(plain, x, y) + 0.01
    assert model.coef_[0] @ plain.coef_[0] / np.sum(plain.coef_**2) == pytest.approx(1, abs=0.25)
    assert model.predict_proba(x)[:, 1].mean() == pytest.approx(y.mean(), abs=0.01)


def test_lines_between_three_classes() -> None:
    x = rows(20_000)
    y = drawn(x, x @ LINES + [0, 1, -1])
    plain = PlainLogistic(C=1e4).fit(x, y)
    with drawing_from(FixedRng(1)):
        model = LogisticRegression(1, bounds=(-2, 2), classes=(0, 1, 2)).fit(x, y)
    assert log_loss(model, x, y) < log_loss(plain, x, y) + 0.01
    assert model.coef_ == pytest.approx(plain.coef_, abs=0.35)
    assert model.predict_proba(x).mean(axis=0) == pytest.approx(np.bincount(y) / len(y), abs=0.01)


def test_where_noise_rules_probabilities_stay_near_the_shares_of_the_classes() -> None:
    x = rows(300)
    y = drawn(x, np.stack([0 * x[:, 0], x @ SLOPES], axis=1))
    for seed in range(5):
        with drawing_from(FixedRng(seed)):
            model = LogisticRegression(0.05, bounds=(-2, 2), classes=(0, 1)).fit(x, y)
        assert log_loss(model, x, y) < np.log(2) + 0.3  # 0.21 at most here


def test_a_line_from_a_perturbed_objective() -> None:
    x = rows(20_000)
    y = drawn(x, np.stack([0 * x[:, 0], x @ SLOPES], axis=1))
    plain = PlainLogistic(C=1e4).fit(x, y)
    with drawing_from(FixedRng(1)):
        model = PerturbedLogisticRegression(8, bounds=(-2, 2), classes=(0, 1)).fit(x, y)
    assert log_loss(model, x, y) < log_loss(plain, x, y) + 0.01
    assert model.coef_[0] == pytest.approx(plain.coef_[0], abs=0.2)


@pytest.mark.parametrize("share", [0.5, 0.05])
def test_normal_laws_of_two_classes(share: float) -> None:
    y = (np.random.default_rng(2).random(20_000) < share).astype(int)
    x = np.clip(rows(20_000) / 2 + 0.3 * y[:, None], -2, 2)
    with drawing_from(FixedRng(1)):
        model = GaussianNB(1, bounds=(-2, 2), classes=(0, 1)).fit(x, y)
    assert log_loss(model, x, y) < log_loss(PlainBayes().fit(x, y), x, y) + 0.01


def test_normal_laws_are_wide_where_noise_rules() -> None:
    y = (np.arange(1000) % 2).astype(int)
    x = np.clip(rows(1000) / 4 + 0.1 * y[:, None], -2, 2)
    for seed in range(5):
        with drawing_from(FixedRng(seed)):
            model = GaussianNB(0.1, bounds=(-2, 2), classes=(0, 1)).fit(x, y)
        assert log_loss(model, x, y) < 1.5


def test_curves_of_columns() -> None:
    x = rows(20_000)
    y = drawn(x, np.stack([0 * x[:, 0], x @ SLOPES], axis=1))
    with drawing_from(FixedRng(1)):
        model = ExplainableBoosting(1, bounds=(-2, 2), classes=(0, 1)).fit(x, y)
    assert log_loss(model, x, y) < log_loss(PlainLogistic(C=1e4).fit(x, y), x, y) + 0.03


@pytest.mark.parametrize("kind", [LinearRegression, Ridge])
def test_a_line_through_numbers(kind: Any) -> None:
    x = rows(20_000)
    y = x @ SLOPES + np.random.default_rng(2).normal(size=20_000)
    with drawing_from(FixedRng(1)):
        model = kind(1, bounds=(-2, 2), target=(-12, 12)).fit(x, y)
    assert model.coef_ == pytest.approx(SLOPES, abs=0.2)
    assert np.mean((model.predict(x) - y) ** 2) < 1.03
