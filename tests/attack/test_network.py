"""The hand-written gradients against finite differences, what a network refuses, and descent to known minima."""

import numpy as np
import pytest
from scipy.optimize import rosen, rosen_der

from tacit.attack.network import Array, Network, descend
from tacit.attack.population import chance
from tacit.base import InputError


@pytest.mark.parametrize("hidden", [(), (5,), (5, 4)])
@pytest.mark.parametrize("shape", [(7,), (3, 4)])
def test_gradients_are_those_of_the_loss(hidden: tuple[int, ...], shape: tuple[int, ...]) -> None:
    source = chance(3)
    blank = Network.blank(4, 3, hidden=hidden, seed=2)
    network = Network(tuple(w + source.normal(size=w.shape) / 2 for w in blank.weights))
    x, y = source.normal(size=(*shape, 4)), source.integers(-1, 3, size=shape)
    for which, layer in enumerate(network.layers(x, y)):
        a, b = (v.reshape(-1, v.shape[-1]) for v in (layer.inputs, layer.back))
        for place in [(0, 0), (2, 1), (-1, 2)]:
            assert (a.T @ b)[place] == pytest.approx(slope(network, x, y, which, place), rel=1e-5, abs=1e-8)


def slope(network: Network, x: Array, y: Array, which: int, place: tuple[int, int], step: float = 1e-6) -> float:
    ends = []
    for sign in (1, -1):
        weights = [w.copy() for w in network.weights]
        weights[which][place] += sign * step
        ends.append(float(Network(tuple(weights)).losses(x, y).sum()))
    return (ends[0] - ends[1]) / (2 * step)


def test_a_single_layer_starts_undecided() -> None:
    network = Network.blank(2, 4)
    assert np.allclose(network.predict_proba(np.ones((3, 2))), 0.25)
    assert network.parameters == 3 * 4


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(InputError, match="takes 2 features, the data have 3"):
        Network.blank(2, 4).predict_proba(np.ones((1, 3)))
    with pytest.raises(InputError, match="classes"):
        Network.blank(2, 1)


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
