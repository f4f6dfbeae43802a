"""The hand-written gradients against finite differences, what a network refuses, and private training."""

from fractions import Fraction

import numpy as np
import pytest

from support.fixed_rng import FixedRng
from tacit.attack.network import ROWS, Array, Layer, Network, Noise, noisy_sum, train
from tacit.attack.population import chance
from tacit.base import InputError, Relation
from tacit.mechanism import Gaussian


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


def flat(parts: list[Array]) -> Array:
    return np.concatenate([part.ravel() for part in parts])


def layers(seed: int, *, length: int | None, reach: float) -> list[Layer]:
    """Gradients of a network with large weights, the first example's rows nearly cancelling."""
    source = chance(seed)
    network = Network(tuple(reach * w for w in Network.blank(6, 3, hidden=(4,), seed=seed).weights))
    shape = (9,) if length is None else (9, length)
    x = source.normal(size=(*shape, 6)) * reach
    found = network.layers(x, source.integers(3, size=shape))
    if length is not None:
        for layer in found:  # rows a, a with back b, −b(1 − 1e-9)
            layer.inputs[0, 1], layer.back[0, 1] = layer.inputs[0, 0], -layer.back[0, 0] * (1 - 1e-9)
            layer.back[0, 2:] = 0.0
    return found


@pytest.mark.parametrize("relation", list(Relation))
@pytest.mark.parametrize("reach", [0.01, 1.0, 1000.0])
@pytest.mark.parametrize("length", [None, 5])
def test_one_example_moves_the_sum_by_no_more_than_is_priced(
    length: int | None, reach: float, relation: Relation
) -> None:
    noise = Noise(clip=Fraction(1, 2), sigma=Fraction(3), batch=Fraction(10), relation=relation)
    everyone = layers(1, length=length, reach=reach)
    parameters = 7 * 4 + 5 * 3
    whole = flat(noisy_sum(everyone, noise, rng=FixedRng(4)))
    most = 0.0
    for out in range(9):
        if relation is Relation.REPLACE:  # turned round: the worst there is
            other = [Layer(layer.inputs, layer.back.copy()) for layer in everyone]
            for layer in other:
                layer.back[out] *= -1
        else:
            kept = np.arange(9) != out
            other = [Layer(layer.inputs[kept], layer.back[kept]) for layer in everyone]
        moved = flat(noisy_sum(other, noise, rng=FixedRng(4))) - whole  # the same noise in both
        most = max(most, float(np.linalg.norm(moved)))
    allowed = float(noise.sensitivity(parameters).require("l2"))
    assert most <= allowed
    if reach == 1000:
        assert most > 0.9 * allowed, "the bound is not far off for gradients that were clipped"


def test_noise_lies_on_the_lattice_and_has_its_size() -> None:
    noise = Noise(clip=Fraction(1), sigma=Fraction(5), batch=Fraction(1))
    nothing = [Layer(np.zeros((1, 100)), np.zeros((1, 100)))]
    drawn = flat(noisy_sum(nothing, noise, rng=FixedRng(9)))
    step = float(noise.mechanism.lattice.granularity)
    assert np.array_equal(np.rint(drawn / step) * step, drawn)
    assert np.std(drawn) == pytest.approx(5, abs=0.2)  # 10⁴ draws: 0.035 is one deviation


def test_the_price_is_that_of_the_gaussian() -> None:
    noise = Noise(clip=Fraction(1), sigma=Fraction(4), batch=Fraction(10))
    plain = (30 * Gaussian(sigma=Fraction(4)).loss(sensitivity=1)).epsilon(1e-5).upper
    found = noise.loss(steps=30, parameters=500).epsilon(1e-5).upper
    assert plain < found < 1.003 * plain
    sampled = Noise(clip=Fraction(1), sigma=Fraction(4), batch=Fraction(1), rate=Fraction(1, 10))
    assert sampled.loss(steps=30, parameters=500).epsilon(1e-5).upper < found / 4


@pytest.mark.parametrize("relation", list(Relation))
def test_noise_within_a_budget(relation: Relation) -> None:
    noise = Noise.within(epsilon=2, delta=1e-6, steps=10, parameters=50, batch=100, clip=3, relation=relation)
    assert 1.99 < noise.loss(steps=10, parameters=50).epsilon(1e-6).upper <= 2


def test_overflowing_gradients_take_no_part() -> None:
    noise = Noise(clip=Fraction(1), sigma=Fraction(1), batch=Fraction(1))
    wild = Layer(np.array([[1e200, 1.0], [1.0, 1.0]]), np.array([[1e200], [1.0]]))
    tame = Layer(wild.inputs[1:], wild.back[1:])
    both, one = (flat(noisy_sum([layer], noise, rng=FixedRng(2))) for layer in (wild, tame))
    assert np.array_equal(both, one)


def test_both_ways_learn() -> None:
    source = chance(5)
    y = source.integers(2, size=600)
    x = source.normal(size=(600, 3)) / 2 + np.where(y == 1, 1.0, -1.0)[:, None]
    plain = train(x, y, classes=2, steps=30, learning_rate=0.5)
    noise = Noise.within(epsilon=1, delta=1e-5, steps=30, parameters=8, batch=600)
    private = train(x, y, classes=2, steps=30, learning_rate=0.5, noise=noise, rng=FixedRng(1))
    sampled = Noise.within(epsilon=1, delta=1e-5, steps=30, parameters=8, batch=150, rate="1/4")
    batched = train(x, y, classes=2, steps=30, learning_rate=0.5, noise=sampled, rng=FixedRng(1))
    for network in (plain, private, batched):
        assert (network.predict_proba(x).argmax(axis=1) == y).mean() > 0.9


def test_what_cannot_be_trained_on_is_refused() -> None:
    x, y = np.zeros((4, 2)), np.zeros(4, dtype=int)
    for bad_x, bad_y, why in [
        (x[:, :, None, None], y, "must be"),
        (x, y[:3], "must be"),
        (x, y + 0.5, "whole numbers"),
        (x * np.nan, y, "finite"),
        (x, y + 2, "from 0 to 1"),
    ]:
        with pytest.raises(InputError, match=why):
            train(bad_x, bad_y, classes=2, steps=1, learning_rate=1.0)
    noise = Noise(clip=Fraction(1), sigma=Fraction(1), batch=Fraction(1))
    many = [Layer(np.zeros((ROWS + 1, 1)), np.zeros((ROWS + 1, 1)))]
    with pytest.raises(InputError, match=f"at most {ROWS} rows"):
        noisy_sum(many, noise)
    with pytest.raises(InputError, match="at most 1"):
        Noise(clip=Fraction(1), sigma=Fraction(1), batch=Fraction(1), rate=Fraction(2))
    with pytest.raises(InputError, match="add_remove only"):
        Noise(clip=Fraction(1), sigma=Fraction(1), batch=Fraction(1), rate=Fraction(1, 2), relation=Relation.REPLACE)


def test_a_sampled_step_sees_a_sample() -> None:
    x, y = np.ones((400, 1)), np.zeros(400, dtype=int)  # all alike, so that the sum says how many took part
    noise = Noise(clip=Fraction(1), sigma=Fraction(1, 1000), batch=Fraction(1), rate=Fraction(1, 4))
    moved = [train(x, y, classes=2, steps=1, learning_rate=1.0, noise=noise, rng=FixedRng(s)) for s in range(4)]
    counts = [float(np.linalg.norm(network.weights[0])) for network in moved]
    assert all(50 < count < 150 for count in counts)  # 100 ± 5.8 deviations
    assert len({round(count) for count in counts}) > 1


@pytest.mark.parametrize("seed", range(6))
def test_rows_that_cancel_do_not_escape_the_clip(seed: int) -> None:
    source = chance(seed)
    a, b = 1e5 * source.normal(size=3), 1e5 * source.normal(size=2)
    rows = Layer(np.array([[a, a]]), np.array([[b, -b * (1 - 1e-9)]]))  # adds up to about 10, out of terms of 10¹⁰
    noise = Noise(clip=Fraction(1), sigma=Fraction(1), batch=Fraction(1))
    nobody = Layer(rows.inputs[:0], rows.back[:0])
    with_it, without = (flat(noisy_sum([layer], noise, rng=FixedRng(1))) for layer in (rows, nobody))
    assert np.linalg.norm(with_it - without) <= float(noise.sensitivity(6).require("l2"))
