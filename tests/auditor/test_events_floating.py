"""Noise that was added in floating point is found by its last bits; noise that was not, is not."""

from collections.abc import Callable
from fractions import Fraction
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest

from support.fixed_rng import FixedRng
from tacit.auditor.audit import audit
from tacit.auditor.events import events, grain
from tacit.base import InputError
from tacit.mechanism import Laplace

SAMPLES = 20_000
SURE = "0.999999"  # where a false alarm would be a failing test
Sampler = Callable[[float, int], Any]


def naive(scale: float = 1.0, seed: int = 0) -> Sampler:
    """What a textbook says: numpy's Laplace, added to the truth."""
    rng = np.random.default_rng(seed)
    return lambda truth, size: truth + rng.laplace(scale=scale, size=size)


def four_uniforms(scale: float = 1.0, seed: int = 0) -> Sampler:
    """Holohan and Braghin (2021), as in diffprivlib: a Laplace variable from four uniform ones, added to the truth."""
    rng = np.random.default_rng(seed)

    def sample(truth: float, size: int) -> Any:
        a, b, c, d = rng.random((4, size))
        return truth - scale * (np.log(1 - a) * np.cos(np.pi * b) + np.log(1 - c) * np.cos(np.pi * d))

    return sample


def gaussian(seed: int = 0) -> Sampler:
    rng = np.random.default_rng(seed)
    return lambda truth, size: truth + rng.normal(scale=3.0, size=size)


@pytest.mark.parametrize("sampler", [naive, four_uniforms])
@pytest.mark.parametrize("truths", [(0.0, 1.0), (-1.0, 0.0), (1.0, 2.0), (2.0, 3.0), (3.0, 4.0), (0.1, 1.1)])
def test_naive_noise_is_flagged(sampler: Callable[[], Sampler], truths: tuple[float, float]) -> None:
    verdict = audit(sampler(), 1, neighbours=truths, samples=SAMPLES, rng=FixedRng(1))
    assert verdict.status == "violated"
    assert verdict.epsilon > 4
    assert "multiple of 2^-5" in verdict.event


@pytest.mark.parametrize("sampler", [naive, four_uniforms])
@pytest.mark.parametrize("scale", [10.0, 2.0, 0.5, 0.25])
def test_at_any_scale(sampler: Callable[[float], Sampler], scale: float) -> None:
    verdict = audit(sampler(scale), 1 / scale, neighbours=(0.0, 1.0), samples=SAMPLES, rng=FixedRng(2))
    assert verdict.status == "violated"


def test_gaussian_noise_in_floating_point_is_flagged_too() -> None:
    verdict = audit(gaussian(), 1, delta=1e-3, neighbours=(0.0, 1.0), samples=SAMPLES, rng=FixedRng(3))
    assert verdict.status == "violated"


def test_rounding_afterwards_hides_the_bits() -> None:
    noise = naive()
    coarse = lambda truth, size: np.round(noise(truth, size) * 64) / 64  # noqa: E731 - one line beside what it alters
    verdict = audit(coarse, 1, neighbours=(0.0, 1.0), samples=SAMPLES, confidence=SURE, rng=FixedRng(4))
    assert verdict.status == "pass"


@pytest.mark.parametrize("truths", [(0, 1), (1, 2), (-1, 0)])
def test_our_noise_passes(truths: tuple[int, int]) -> None:
    ours = Laplace(scale=Fraction(1), granularity=Fraction(1, 1024))
    verdict = audit(ours, 1, neighbours=truths, samples=SAMPLES, confidence=SURE, rng=FixedRng(6))
    assert verdict.status == "pass"


def check_opendp(samples: int) -> None:
    if find_spec("opendp") is None:
        pytest.skip("OpenDP is not installed: pip install opendp")
    dp = import_module("opendp.prelude")
    dp.enable_features("contrib")
    theirs = dp.m.make_laplace(dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float), scale=1.0)
    verdict = audit(lambda truth: theirs(truth), 1, neighbours=(0.0, 1.0), samples=samples, confidence=SURE)
    assert verdict.status == "pass"


def test_opendp_passes() -> None:
    check_opendp(2000)


@pytest.mark.slow
def test_opendp_passes_with_many_samples() -> None:
    check_opendp(SAMPLES)


@pytest.mark.skipif(find_spec("diffprivlib") is None, reason="diffprivlib is not installed: pip install diffprivlib")
def test_diffprivlib_is_flagged() -> None:
    theirs = import_module("diffprivlib.mechanisms").Laplace(epsilon=1.0, sensitivity=1.0)
    verdict = audit(lambda truth: theirs.randomise(truth), 1, neighbours=(0.0, 1.0), samples=SAMPLES)
    assert verdict.status == "violated"
    assert "multiple of 2^-5" in verdict.event


def test_grain_and_exponent_by_hand() -> None:
    values = np.array([1.0, 3.0, 0.75, -6.0, 0.0, 2.0**-1074, 1 + 2.0**-52, 0.1])
    grains, exponents = grain(values)
    assert grains.tolist()[:4] == [0, 0, -2, 1]
    assert grains.tolist()[5:7] == [-1074, -52]
    assert exponents.tolist()[:4] == [1, 2, 0, 3]
    assert grains[4] > 1024
    assert exponents[4] < -1100
    for value, place, size in zip(values, grains.tolist(), exponents.tolist(), strict=True):
        if value:
            assert float(value) / 2.0 ** max(place, -1074) % 2 in (1.0, -1.0)
            assert abs(value) < 2.0**size <= 2 * abs(value)


def test_nothing_is_suggested_for_alike_sides_and_odd_inputs() -> None:
    rng = np.random.default_rng(0)
    assert sum(len(events(rng.laplace(size=4000), rng.laplace(size=4000))) for _ in range(20)) <= 5
    nothing = np.empty(0)
    assert events(nothing, nothing) == []
    assert events(np.array([np.nan, np.inf]), np.array([1.0])) == []
    assert events(np.ones(50), np.ones(50)) == []
    with pytest.raises(InputError):
        events(np.array(["a"]), np.array(["b"]))


def test_the_sign_of_zero_is_an_event_and_no_test_takes_nan_for_inside() -> None:
    ((words, test),) = events(np.array([0.0, -0.0]), np.array([0.0, 0.0]))
    assert words == "the output is −0"
    assert test(np.array([-0.0, 0.0, -1.0, np.nan])).tolist() == [True, False, False, False]
    fine = np.random.default_rng(0).laplace(size=5000)
    for _, inside in events(fine, 1 + fine):
        assert not inside(np.array([np.nan, np.inf, -np.inf])).any()
