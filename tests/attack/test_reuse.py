"""Coin flips: the freely asked holdout reports skill, the one behind Thresholdout does not, and the truth is a half."""

import numpy as np
import pytest

from support.fixed_rng import FixedRng
from tacit.attack.reuse import Coins, chosen_features, stage
from tacit.base import InputError


def test_null_data_fool_the_one_and_not_the_other() -> None:
    found = stage(rows=2000, features=500, threshold=0.1, sigma=0.002, rng=FixedRng(1))
    assert found.undefended.success > 0.57
    assert abs(found.defended.success - 0.5) < 0.04
    for report in ("naive", "careful"):
        assert all(abs(true - 0.5) < 0.05 for true in found.facts[report]["true"])
    assert 1 <= found.facts["paid"] < 20
    assert found.facts["epsilon"] == pytest.approx(2 * 20 / (0.002 * 2000))


def test_votes_and_ties() -> None:
    coins = Coins(np.array([[1, 1], [1, -1], [-1, 1], [-1, -1]], dtype=np.int8))
    assert coins.right(np.array([0]), np.array([1.0])) == 2
    assert coins.right(np.array([0, 1]), np.array([1.0, 1.0])) == 1 + 1
    assert coins.shares.tolist() == [0.5, 0.5]


def test_features_are_chosen_by_both_halves() -> None:
    train, held = np.array([0.6, 0.6, 0.4, 0.5, 0.7]), np.array([0.6, 0.4, 0.3, 0.9, 0.7])
    assert chosen_features(train, held).tolist() == [4, 2, 0]


def test_too_little_data_is_refused() -> None:
    with pytest.raises(InputError, match="rows"):
        stage(rows=3)
