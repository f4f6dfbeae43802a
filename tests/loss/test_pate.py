"""PATE: the bounds against the exact law of a noisy vote."""

from itertools import pairwise
from math import exp, log
from typing import Any

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import ndtr

from tacit.base import InputError
from tacit.loss import ZCDP, Pure
from tacit.loss.pate import (
    DataDependent,
    confident_failure,
    confident_given_votes,
    gnmax,
    gnmax_given_votes,
    lnmax,
    lnmax_given_votes,
    lnmax_tail,
    log_failure,
)
from tacit.mechanism import DiscreteGaussian


def gaussian_wins(votes: list[int], sigma: float) -> list[float]:
    """The exact chance of each class under Gaussian noise."""

    def chance(j: int) -> float:
        def density(x: float) -> float:
            others = np.prod([ndtr((x - v) / sigma) for i, v in enumerate(votes) if i != j])
            return float(exp(-(((x - votes[j]) / sigma) ** 2) / 2) * others / sigma / np.sqrt(2 * np.pi))

        return float(
            quad(density, votes[j] - 9 * sigma, votes[j] + 9 * sigma, epsabs=1e-13, epsrel=1e-10, limit=200)[0]
        )

    return [chance(j) for j in range(len(votes))]


def laplace_wins(votes: list[int], scale: float) -> list[float]:
    def below(x: float) -> float:
        return exp(x / scale) / 2 if x < 0 else 1 - exp(-x / scale) / 2

    def chance(j: int) -> float:
        def density(x: float) -> float:
            others = np.prod([below(x - v) for i, v in enumerate(votes) if i != j])
            return float(exp(-abs(x - votes[j]) / scale) / (2 * scale) * others)

        ends = sorted({votes[j] - 40 * scale, *map(float, votes), votes[j] + 40 * scale})
        pieces = (quad(density, a, b, epsabs=1e-14, epsrel=1e-11)[0] for a, b in pairwise(ends))
        return float(sum(pieces))

    return [chance(j) for j in range(len(votes))]


def divergence(p: list[float], q: list[float], order: float) -> float:
    return log(sum(a**order * b ** (1 - order) for a, b in zip(p, q, strict=True))) / (order - 1)


def neighbours(votes: list[int]) -> list[list[int]]:
    """One teacher changes its vote."""
    moved = []
    for i in range(len(votes)):
        for j in range(len(votes)):
            if i != j and votes[i]:
                other = list(votes)
                other[i] -= 1
                other[j] += 1
                moved.append(other)
    return moved


@pytest.mark.parametrize("votes", [[30, 5, 2], [20, 12, 3], [12, 12, 11], [60, 2]])
def test_gnmax_bounds_hold_for_every_neighbour(votes: list[int]) -> None:
    sigma = 5
    claim, law = gnmax_given_votes(votes, sigma), gaussian_wins(votes, sigma)
    for other in neighbours(votes):
        near = gaussian_wins(other, sigma)
        for order in (1.5, 3.0, 10.0):
            assert divergence(law, near, order) <= claim.curve.at(order) * (1 + 1e-6) + 1e-12
            assert divergence(law, near, order) <= order / sigma**2


@pytest.mark.parametrize("votes", [[30, 5, 2], [20, 12, 3], [12, 12, 11], [60, 2]])
def test_lnmax_bounds_hold_for_every_neighbour(votes: list[int]) -> None:
    scale = 4
    claim, law = lnmax_given_votes(votes, scale), laplace_wins(votes, scale)
    for other in neighbours(votes):
        near = laplace_wins(other, scale)
        assert max(abs(log(a / b)) for a, b in zip(law, near, strict=True)) <= 2 / scale
        for order in (1.5, 3.0, 10.0):
            assert divergence(law, near, order) <= claim.curve.at(order) * (1 + 1e-6) + 1e-12


def test_votes_that_agree_cost_little_and_votes_that_do_not_cost_no_more_than_any() -> None:
    agreed, split = gnmax_given_votes([4900, 50, 50], 40), gnmax_given_votes([1700, 1650, 1650], 40)
    assert DataDependent.total([agreed] * 100).epsilon(1e-8).upper < 0.1
    assert split.curve.values == pytest.approx([float(order) / 1600 for order in split.curve.orders], rel=1e-9)
    assert gnmax_given_votes([30, 5], 5).curve.at(2) < gnmax_given_votes([30, 5], 5, lattice=True).curve.at(2)
    strong, weak = lnmax_given_votes([240, 5, 5], 20), lnmax_given_votes([90, 80, 80], 20)
    assert DataDependent.total([strong] * 100).epsilon(1e-5).upper < 0.2
    assert weak.curve.at(5) <= 0.1


def test_guarantees_for_any_votes() -> None:
    assert gnmax(5) == ZCDP("0.04")
    assert lnmax(20) == Pure("0.1")


def test_a_data_dependent_value_is_no_loss() -> None:
    curve = gnmax_given_votes([30, 5], 5)
    with pytest.raises(TypeError):
        curve + Pure(1)
    with pytest.raises(TypeError):
        Pure(1) + curve
    assert (curve + curve).curve.values[0] == 2 * curve.curve.values[0]


def test_many_queries_are_the_sum_of_each() -> None:
    votes = np.random.default_rng(2).multinomial(60, [0.7, 0.2, 0.1], size=6)
    for together, alone in (
        (gnmax_given_votes(votes, 6), [gnmax_given_votes(row, 6) for row in votes]),
        (gnmax_given_votes(votes, 6, lattice=True), [gnmax_given_votes(row, 6, lattice=True) for row in votes]),
        (lnmax_given_votes(votes, 9), [lnmax_given_votes(row, 9) for row in votes]),
        (confident_given_votes(votes, 9, 30), [confident_given_votes(row, 9, 30) for row in votes]),
    ):
        added = DataDependent.total(alone)
        for order in (1.5, 4, 20):
            assert together.curve.at(order) == pytest.approx(added.curve.at(order), rel=1e-9)


def test_a_chance_too_small_for_doubles_is_not_zero() -> None:
    """log q has a floor of −700: also where the double is not zero but denormal, and rounded."""
    for lead in (4240, 4300, 4360, 5000, 10**6, 10**9):
        found = gnmax_given_votes([lead, 0], 80)  # e^−702 and on
        assert found.curve.at(50) > 0
    assert log_failure(np.array([[0.0], [5e-324], [1e-310]])).tolist() == [-700.0] * 3
    assert log_failure(np.array([[0.5, 0.5]]))[0] == pytest.approx(log(2 / 3))


@pytest.mark.parametrize("sigma", [2, 5])
def test_the_bound_on_checks_holds_for_every_neighbour(sigma: int) -> None:
    for threshold in (10, 14.5):
        for most in range(2, 30):
            claim = confident_given_votes([most, 0], sigma, threshold)
            ends = [(at - threshold) / sigma for at in (most - 1, most, most + 1)]
            low, here, high = ([float(ndtr(z)), float(ndtr(-z))] for z in ends)
            for near in (low, high):
                for order in (1.5, 3.0, 10.0):
                    found = divergence(here, near, order)
                    assert found <= claim.curve.at(order) * (1 + 1e-6) + 1e-12
                    assert found <= order / (2 * sigma**2)


def test_the_chance_of_a_check_on_the_lattice() -> None:
    for sigma in (1, 4):
        noise: Any = DiscreteGaussian(sigma=sigma).pmf(0)
        for most in range(20):
            for threshold in (9, 9.5):
                passes = sum(p for z, p in noise.items() if most + z >= threshold)
                q = min(passes, 1 - passes)
                bound = exp(confident_failure(np.array([float(most)]), sigma, threshold, lattice=True)[0])
                assert q <= bound * (1 + 1e-9)
                assert bound <= 0.5


def test_the_tail_of_laplace_noise_on_the_lattice_is_exact() -> None:
    for gamma in (0.05, 0.5, 2.0):
        r, z = exp(-gamma), np.arange(-2000, 2001)
        law = (1 - r) / (1 + r) * r ** np.abs(z)
        gap = np.arange(6)
        both = [float(sum(law[2000 + x] * law[: 2001 + x - g].sum() for x in range(-1000, 1001))) for g in gap]
        assert lnmax_tail(gap.astype(float), gamma, lattice=True) == pytest.approx(both, rel=1e-6)


def test_bad_votes_are_refused() -> None:
    for votes in ([3], [3, -1], [3, 1.5], [], [3, float("nan")], [[[1, 2]]], ["a", "b"]):
        with pytest.raises(InputError, match="votes"):
            gnmax_given_votes(votes, 5)
    with pytest.raises(InputError, match="sigma"):
        gnmax_given_votes([3, 1], 0)
