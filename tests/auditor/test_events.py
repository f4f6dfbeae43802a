"""An event is a set of outputs: whether an output lies in it does not depend on the other outputs of its batch."""

from collections.abc import Callable
from fractions import Fraction
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest

from support.fixed_rng import FixedRng
from tacit.auditor import events
from tacit.auditor.audit import audit
from tacit.auditor.events import Event, Score, bit_events, classifier, grain
from tacit.auditor.outputs import Outputs
from tacit.auditor.search import Goal, search
from tacit.auditor.sequences import number_scores, part_events, shape_scores
from tacit.base import InputError
from tacit.mechanism import Laplace


def runs(rng: np.random.Generator) -> Any:
    """Sequences of different lengths, with None, truth values and numbers that do not add exactly."""
    found = []
    for _ in range(120):
        length = int(rng.integers(1, 12))
        row: list[Any] = [None if rng.random() < 0.4 else bool(rng.random() < 0.5) for _ in range(length)]
        found.append(tuple(row + [float(x) for x in rng.normal(size=int(rng.integers(0, 9))).round(1)]))
    return found


KINDS: dict[str, Callable[[np.random.Generator], Any]] = {
    "numbers": lambda rng: rng.normal(size=120),
    "whole numbers": lambda rng: rng.integers(0, 5, size=120),
    "vectors": lambda rng: rng.normal(size=(120, 5)).round(1),
    "truth values": lambda rng: rng.random((120, 6)) < 0.5,
    "special values": lambda rng: np.where(rng.random(120) < 0.2, np.nan, rng.normal(size=120)),
    "histograms": lambda rng: [{k: int(rng.integers(9)) for k in "abc" if rng.random() < 0.7} for _ in range(120)],
    "runs": runs,
}


def scores_and_events(left: Outputs, right: Outputs) -> tuple[list[Score], list[Event]]:
    scores = [*number_scores(left, right), *shape_scores(left, right)]
    parts = part_events(left, right)
    weighed = classifier(left, right, scores, parts)
    scores += [weighed] if weighed is not None else []
    found = [*parts, events.shaped(left.shapes[:2]), search(left, right, Goal(fresh=100, delta=0.0, tail=0.05)).event]
    for score in scores:
        edges = events.cuts(score.of(left), score.of(right))
        for cut in edges[:: max(1, len(edges) // 3)].tolist():
            found += [events.above(score, cut), events.below(score, cut), events.equals(score, cut)]
            found += [events.between(score, cut - 1, cut), events.among(score, [cut, cut + 1])]
        chosen = np.arange(len(edges) + 1) % 2 == 0
        found.append(events.both(events.bins(score, edges, chosen), events.shaped(left.shapes)))
    return scores, found


@pytest.mark.parametrize("kind", KINDS)
def test_membership_is_a_matter_of_the_output_alone(kind: str) -> None:
    rng = np.random.default_rng(7)
    batches = [KINDS[kind](rng) for _ in range(3)]
    left, right, fresh = map(Outputs.of, batches)
    scores, found = scores_and_events(left, right)
    assert found
    for place in range(0, len(fresh), 7):
        alone = Outputs.of(batches[2][place : place + 1])
        for score in scores:
            assert np.array_equal(score.of(alone), score.of(fresh)[place : place + 1], equal_nan=True), score.words
        for event in found:
            assert event.contains(alone)[0] == event.contains(fresh)[place], event.words


def test_a_score_without_value_is_outside() -> None:
    score = Score("it", lambda outputs: outputs.column(0))
    nothing = Outputs.of([None])
    for event in (
        events.above(score, -1), events.below(score, 1), events.between(score, -1, 1), events.equals(score, 0),
        events.among(score, [0]), events.bins(score, np.array([0.0]), np.array([True, True])),
    ):  # fmt: skip
        assert not event.contains(nothing).any()


def test_words() -> None:
    score = Score("the output", lambda outputs: outputs.column(0))
    event = events.bins(score, np.array([0.0, 1.0, 2.0]), np.array([True, False, True, True]))
    assert event.words == "the output lies in (−∞, 0) or [1, ∞)"
    assert event.contains(Outputs.of([-1.0, 0.0, 0.5, 1.0, 5.0])).tolist() == [True, False, False, True, True]
    assert events.above(score, 2.5).words == "the output is at least 2.5"
    assert events.among(score, [2, 1]).words == "the output is one of 1 or 2"


def test_thresholds_reach_into_the_tails() -> None:
    x = np.arange(100_000, dtype=float) / 1000
    found = events.cuts(x, x + 50)
    assert found[0] <= 0.001
    assert found[-1] >= 149.9
    assert len(found) < 300


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
    assert sum(len(bit_events(rng.laplace(size=4000), rng.laplace(size=4000))) for _ in range(20)) <= 5
    nothing = np.empty(0)
    assert bit_events(nothing, nothing) == []
    assert bit_events(np.array([np.nan, np.inf]), np.array([1.0])) == []
    assert bit_events(np.ones(50), np.ones(50)) == []
    with pytest.raises(InputError):
        bit_events(np.array(["a"]), np.array(["b"]))


def test_the_sign_of_zero_is_an_event_and_no_test_takes_nan_for_inside() -> None:
    ((words, test),) = bit_events(np.array([0.0, -0.0]), np.array([0.0, 0.0]))
    assert words == "the output is −0"
    assert test(np.array([-0.0, 0.0, -1.0, np.nan])).tolist() == [True, False, False, False]
    fine = np.random.default_rng(0).laplace(size=5000)
    for _, inside in bit_events(fine, 1 + fine):
        assert not inside(np.array([np.nan, np.inf, -np.inf])).any()
