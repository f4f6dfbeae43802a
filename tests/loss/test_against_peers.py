"""Agreement with Google's dp_accounting, within its own error, on programs drawn at random."""

from fractions import Fraction
from math import inf
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.base import Relation
from tacit.loss import GDP, PLD, DiscreteLaplacePart, Pure

pytest.importorskip("dp_accounting", reason="dp-accounting is not installed: it comes with requirements/bench.txt")

from dp_accounting import NeighboringRelation  # only after it is known to be there
from dp_accounting.pld import common
from dp_accounting.pld import privacy_loss_distribution as pld

F = Fraction
STEP = 1e-4  # of the peer's grid: its ε is too large by about count·step²/2, and by its truncation
deltas = st.sampled_from(["1e-2", "1e-4", "1e-6"])


def times(count: int, loss: PLD) -> PLD:
    total = count * loss
    assert isinstance(total, PLD)
    return total


def theirs(one: Any, count: int, delta: str) -> float:
    return float(one.self_compose(count).get_epsilon_for_delta(float(delta)))


@given(st.fractions(F(1, 2), 4, max_denominator=8), st.fractions(F(1, 100), F(1, 2), max_denominator=100), deltas)
@settings(max_examples=6)
def test_sampled_gaussians(sigma: Fraction, rate: Fraction, delta: str) -> None:
    count = 200
    ours = times(count, GDP(1 / sigma).sampled(rate)).epsilon(delta, accuracy=1e-4)
    peer = theirs(pld.from_gaussian_mechanism(float(sigma), sampling_prob=float(rate)), count, delta)
    close(ours.lower, ours.upper, peer, count)


@given(st.fractions(F(1, 2), 4, max_denominator=8), st.fractions(F(1, 100), F(1, 2), max_denominator=100), deltas)
@settings(max_examples=4)
def test_sampled_gaussians_under_replace(sigma: Fraction, rate: Fraction, delta: str) -> None:
    count = 100
    step = GDP(2 / sigma, relation=Relation.REPLACE).sampled(rate, clipped=True)
    ours = times(count, step).epsilon(delta, accuracy=1e-4)
    one = pld.from_gaussian_mechanism(
        float(sigma), sampling_prob=float(rate), neighboring_relation=NeighboringRelation.REPLACE_ONE
    )
    close(ours.lower, ours.upper, theirs(one, count, delta), count)


@given(st.fractions(F(1, 2), 8, max_denominator=8), st.integers(1, 60), deltas)
@settings(max_examples=8)
def test_laplace(scale: Fraction, count: int, delta: str) -> None:
    fine = 2**40
    ours = (count * PLD.of(((DiscreteLaplacePart(scale * fine, F(fine)), 1),))).epsilon(delta)
    peer = theirs(pld.from_laplace_mechanism(float(scale)), count, delta)
    close(ours.lower, ours.upper, peer, count)


@given(st.fractions(F(1, 100), 1, max_denominator=100), st.integers(1, 200), deltas)
@settings(max_examples=12)
def test_pure(epsilon: Fraction, count: int, delta: str) -> None:
    ours = (count * Pure(epsilon)).epsilon(delta)
    one = pld.from_privacy_parameters(common.DifferentialPrivacyParameters(float(epsilon), 0))
    close(ours.lower, ours.upper, theirs(one, count, delta), count, rounded=count)


def test_a_mixed_program() -> None:
    program = 500 * GDP(1).sampled("0.01") + 10 * Pure("0.1") + GDP("0.25")
    assert isinstance(program, PLD)
    ours = program.epsilon("1e-6", accuracy=1e-4)
    peer = (
        pld.from_gaussian_mechanism(1.0, sampling_prob=0.01)
        .self_compose(500)
        .compose(pld.from_privacy_parameters(common.DifferentialPrivacyParameters(0.1, 0)).self_compose(10))
        .compose(pld.from_gaussian_mechanism(4.0))
    )
    close(ours.lower, ours.upper, float(peer.get_epsilon_for_delta(1e-6)), 511, rounded=10)


def close(low: float, high: float, peer: float, count: int, *, rounded: int = 1) -> None:
    """Their pessimistic value is not below what is proven, and above it by no more than their grid and ours cost.

    A pure ε is rounded up to their grid, `rounded` times.
    """
    assert peer < inf
    assert peer >= low * (1 - 1e-6) - 1e-9
    assert peer <= high + count * STEP**2 * 10 + rounded * STEP + 1e-3 * high
