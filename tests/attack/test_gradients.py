"""Examples from their gradients: exact by division and by matching, the adjoint against finite differences."""

import numpy as np
import pytest
from scipy.optimize import check_grad

from support.fixed_rng import FixedRng
from tacit.attack.gradients import deep_leakage, digit, from_bias, gradient, mismatch, stage, weights_of
from tacit.attack.population import Array, chance
from tacit.attack.trained import classifier
from tacit.base import InputError
from tacit.loss import Approx
from tacit.mechanism import Gaussian

NETWORK = weights_of(classifier(20, 5, hidden=(15,), seed=4))


@pytest.mark.parametrize("biases", [False, True])
@pytest.mark.parametrize("clipped", [False, True])
def test_the_gradient_of_the_mismatch(biases: bool, clipped: bool) -> None:
    source = chance(2)
    sent = gradient(NETWORK, source.random(20), 3)

    def judge(v: Array) -> tuple[float, Array]:
        return mismatch(NETWORK, sent, v[:20], v[20:], biases=biases, clipped=clipped, unit=0.5)

    def value(v: Array) -> float:
        return judge(v)[0]

    def slope(v: Array) -> Array:
        return judge(v)[1]

    for _ in range(3):
        off = check_grad(value, slope, np.concatenate([source.random(20), source.normal(size=5)]))
        assert off < 1e-5


@pytest.mark.parametrize("seed", range(5))
def test_both_attacks_recover_the_example(seed: int) -> None:
    source = chance(seed)
    x, label = source.random(20), int(source.integers(5))
    sent = gradient(NETWORK, x, label)
    divided = from_bias(NETWORK, sent)
    assert np.abs(divided.features - x).max() < 1e-12
    assert divided.label == label
    assert divided.residual < 1e-25
    matched = deep_leakage(NETWORK, sent)
    assert np.abs(matched.features - x).max() < 1e-4
    assert matched.label == label


def test_clipping_alone_hides_nothing() -> None:
    x = chance(9).random(20)
    sent = [0.01 * g for g in gradient(NETWORK, x, 2)]
    for leak in (from_bias(NETWORK, sent), deep_leakage(NETWORK, sent, clipped=True)):
        assert np.abs(leak.features - x).max() < 1e-3
        assert leak.label == 2


def test_bad_inputs_are_refused() -> None:
    sent = gradient(NETWORK, np.ones(20), 2)
    with pytest.raises(InputError, match="one hidden layer"):
        deep_leakage(weights_of(classifier(20, 5)), sent)
    with pytest.raises(InputError, match="shapes"):
        from_bias(NETWORK, sent[:1])
    with pytest.raises(InputError, match="finite"):
        deep_leakage(NETWORK, [g * np.nan for g in sent])
    with pytest.raises(InputError, match="nothing to divide by"):
        from_bias(NETWORK, [g * 0 for g in sent])


def test_pictures_are_recovered_only_without_noise() -> None:
    told: list[float] = []
    outcome = stage(pictures=6, epsilons=(8.0, 1e6), rng=FixedRng(1), progress=told.append)
    assert told[-1] == 1
    assert outcome.undefended.success == 1
    assert outcome.defended.success == 0
    assert outcome.facts["recovered"] == {"8": 0.0, "1e+06": 1.0}, "noise that is no protection does not count as one"
    errors = outcome.facts["mean squared error"]
    assert errors["none"] < 1e-6
    assert errors["8"] > 0.8 * outcome.facts["mean squared error of grey"]
    priced = Gaussian.from_loss(Approx(8, 1e-5), sensitivity=2)  # a gradient of length 1 may turn into its opposite
    assert outcome.facts["sigma"]["8"] > float(priced.sigma)
    assert outcome.plot() is not None


def test_digits_are_pictures() -> None:
    one = digit(1, chance(1))
    assert one.shape == (100,)
    assert 0 <= one.min() <= one.max() <= 1
    assert not np.array_equal(one, digit(1, chance(2)))


def test_bad_sizes_are_refused() -> None:
    with pytest.raises(InputError, match="at least one picture"):
        stage(epsilons=())
