"""The first look finds where rows lie, and believes little where noise is large."""

from fractions import Fraction

import numpy as np
import pytest

from support.fixed_rng import FixedRng, drawing_from
from tacit.learn.estimator.look import VARIANCE, first_look, look_step
from tacit.learn.estimator.sums import NoisySums, priced


def looked(epsilon: float, count: int = 3000) -> tuple[np.ndarray, np.ndarray, object]:
    source = np.random.default_rng(1)
    rows = np.clip(source.normal([0.3, -0.2, 0.0], 0.2, size=(count, 3)), -1, 1)
    target = np.clip(source.normal(-0.4, 0.3, count), -1, 1)
    step = look_step(3, Fraction(1), target=True)
    with drawing_from(FixedRng(1)):
        sums = NoisySums((step,), priced((step,), epsilon=epsilon, delta=1e-5), np.ones(count), None)
        return rows, target, first_look(sums, rows, target)


def test_with_little_noise_it_is_right() -> None:
    rows, target, look = looked(20)
    assert look.count == pytest.approx(3000, rel=0.01)  # type: ignore[attr-defined]
    assert look.middle == pytest.approx(rows.mean(axis=0), abs=0.02)  # type: ignore[attr-defined]
    assert look.variance == pytest.approx(rows.var(axis=0).mean(), abs=0.01)  # type: ignore[attr-defined]
    assert look.target_middle == pytest.approx(target.mean(), abs=0.02)  # type: ignore[attr-defined]
    assert look.target_variance == pytest.approx(target.var(), abs=0.02)  # type: ignore[attr-defined]


def test_with_much_noise_it_stays_with_what_was_thought() -> None:
    _, _, look = looked(0.01, 50)
    assert look.variance == pytest.approx(VARIANCE, abs=0.02)  # type: ignore[attr-defined]
    assert np.abs(look.middle).max() <= 1  # type: ignore[attr-defined]
