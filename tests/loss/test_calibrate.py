"""The least noise: valid at one end, refuted at the other, close together."""

from collections.abc import Callable
from functools import partial
from math import sqrt
from time import process_time
from typing import Any

import pytest

from tacit.base import InputError
from tacit.loss import GDP, ZCDP, Approx, Loss, Pure, gaussian_delta
from tacit.loss.calibrate import calibrate
from tacit.loss.renyi import RDP


class Counted:
    """A build function that counts how often it is asked."""

    def __init__(self, build: Callable[[float], Loss]) -> None:
        self.build, self.calls = build, 0

    def __call__(self, scale: float) -> Loss:
        self.calls += 1
        return self.build(scale)


@pytest.mark.parametrize("epsilon", [0.01, 0.5, 1, 7, 60])
@pytest.mark.parametrize("delta", [1e-3, 1e-5, 1e-15])
@pytest.mark.parametrize("accuracy", [1e-2, 1e-4, 1e-7])
def test_one_gaussian_is_the_analytic_gaussian(epsilon: float, delta: float, accuracy: float) -> None:
    build = Counted(lambda s: GDP(1 / s))
    found = calibrate(build, epsilon=epsilon, delta=delta, accuracy=accuracy)
    assert gaussian_delta(1 / found.upper, epsilon) <= delta < gaussian_delta(1 / found.lower, epsilon)
    assert found.lower < found.upper <= found.lower * (1 + 1.1 * accuracy)
    assert float(found) == found.value == found.upper
    assert build.calls < 20


@pytest.mark.parametrize("epsilon", [0.001, 0.3, 1, 40])
def test_pure_noise_has_a_closed_form(epsilon: float) -> None:
    found = calibrate(lambda s: 3 * Pure(1 / s), epsilon=epsilon)
    assert found.lower < 3 / epsilon <= found.upper * (1 + 1e-15)
    assert found.upper <= found.lower * 1.0001
    assert Pure(1 / found.upper).epsilon(0).upper * 3 <= epsilon * (1 + 1e-12)


def test_training_on_random_batches() -> None:
    build = Counted(lambda s: 10_000 * GDP(1 / s).sampled(rate=0.01))
    start = process_time()
    found = calibrate(build, epsilon=1, delta=1e-5)
    took = process_time() - start
    assert found.upper == pytest.approx(3.814, abs=2e-3)
    assert found.upper <= found.lower * 1.0001
    assert found.rigorous
    assert build.calls <= 12
    assert took < 20  # about 0.4 s on a quiet core; this only catches a search that has lost its way
    assert build(found.upper).epsilon(1e-5).upper <= 1 < build(found.lower).epsilon(1e-5).lower


def test_when_the_loss_grows_with_the_scale_the_lower_end_is_the_valid_one() -> None:
    found = calibrate(lambda s: GDP(s), epsilon=1, delta=1e-6, increasing=True)
    assert gaussian_delta(found.lower, 1) <= 1e-6 < gaussian_delta(found.upper, 1)
    assert float(found) == found.value == found.lower
    rate = calibrate(lambda q: 100 * GDP(1).sampled(rate=q), epsilon=1, delta=1e-6, upper=1, increasing=True)
    assert (100 * GDP(1).sampled(rate=rate.value)).epsilon(1e-6).upper <= 1
    assert rate.upper <= rate.lower * 1.0001


def test_a_loss_without_a_tight_lower_bound_has_a_wider_interval() -> None:
    found = calibrate(lambda s: ZCDP(1 / (2 * s * s)), epsilon=1, delta=1e-5)
    assert ZCDP(1 / (2 * found.upper**2)).delta(1).upper <= 1e-5
    assert ZCDP(1 / (2 * (found.upper * 0.9998) ** 2)).delta(1).upper > 1e-5
    gaussian = calibrate(lambda s: GDP(1 / s), epsilon=1, delta=1e-5)
    assert found.lower == pytest.approx(gaussian.lower, rel=2e-4)  # zCDP's own lower bound is the Gaussian
    curve = calibrate(
        lambda s: RDP([a / 4 for a in range(8, 200)], [a / 8 / s**2 for a in range(8, 200)]), epsilon=1, delta=1e-5
    )
    assert curve.lower == 0
    assert curve.upper == pytest.approx(found.upper, rel=1e-2)


def test_limits_on_the_scale() -> None:
    def build(s: float) -> Loss:
        return GDP(1 / s)

    assert calibrate(build, epsilon=1, delta=1e-5, lower=3.7, upper=3.8).upper == pytest.approx(3.7306, abs=1e-3)
    enough = calibrate(build, epsilon=1, delta=1e-5, lower=5, upper=50)
    assert (enough.lower, enough.upper) == (5, 5)
    with pytest.raises(InputError, match="out of reach"):
        calibrate(build, epsilon=1, delta=1e-5, upper=3.7)
    with pytest.raises(InputError, match="above upper"):
        calibrate(build, epsilon=1, delta=1e-5, lower=3, upper=2)


def gaussian(size: float, sigma: float) -> Loss:
    return GDP(size / sigma)


def test_far_away_scales_are_found() -> None:
    for size in (1e-12, 1e12):
        found = calibrate(partial(gaussian, size), epsilon=1, delta=1e-5)
        assert found.upper == pytest.approx(3.7306 * size, rel=2e-4)
    many = calibrate(lambda s: 10**6 * GDP(1 / s), epsilon=1, delta=1e-5)
    assert many.upper == pytest.approx(3.7306 * sqrt(10**6), rel=2e-4)


@pytest.mark.parametrize(
    ("build", "arguments", "message"),
    [
        (lambda s: GDP(1 / s), {"epsilon": 1}, "out of reach"),
        (lambda s: Approx(1 / s, 1e-3), {"epsilon": 1, "delta": 1e-6}, "out of reach"),
        (lambda s: Pure(2), {"epsilon": 1}, "out of reach"),
        (lambda s: Pure(0.5), {"epsilon": 1}, "monotone"),
        (lambda s: GDP(s), {"epsilon": 1, "delta": 1e-6}, "increasing"),
        (lambda s: GDP(1 / s), {"epsilon": 0, "delta": 1e-6}, "epsilon"),
        (lambda s: GDP(1 / s), {"epsilon": 1, "delta": 1}, "delta"),
        (lambda s: GDP(1 / s), {"epsilon": 1, "delta": 1e-6, "accuracy": 0}, "accuracy"),
        (lambda s: GDP(1 / s), {"epsilon": 1, "delta": 1e-6, "lower": 0}, "lower"),
    ],
)
def test_clear_errors(build: Callable[[float], Loss], arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        calibrate(build, **arguments)
