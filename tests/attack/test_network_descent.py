"""L-BFGS on functions with a known minimum."""

import numpy as np
import pytest
from scipy.optimize import rosen, rosen_der

from tacit.attack.network import Array, descend


def test_a_quadratic_of_any_shape() -> None:
    weights = np.geomspace(1e-3, 1e3, 12)

    def function(x: Array) -> tuple[float, Array]:
        return float((weights * (x - 2) ** 2).sum() / 2), weights * (x - 2)

    value, at = descend(function, np.zeros(12), steps=500)
    assert value < 1e-10
    assert at == pytest.approx(np.full(12, 2.0), abs=1e-3)


def test_a_curved_valley() -> None:
    value, at = descend(lambda x: (float(rosen(x)), np.asarray(rosen_der(x))), np.full(6, -1.0), steps=500)
    assert value < 1e-12 or value == pytest.approx(3.973940500, abs=1e-6)  # the valley has a second, local end
    assert np.isfinite(at).all()


def test_it_never_ends_higher_than_it_began() -> None:
    def cliff(x: Array) -> tuple[float, Array]:
        return (float("nan"), np.array([np.nan])) if x[0] > 1 else (float(-x[0]), np.array([-1.0]))

    value, at = descend(cliff, np.zeros(1), steps=50)
    assert value <= 0
    assert at[0] == pytest.approx(1, abs=1e-6)
