"""Dominating pairs: masses of cells and their stated errors, against the distributions in high precision."""

from collections.abc import Callable

import mpmath
import numpy as np
import pytest
from mpmath import mpf

from support.curves import number, response
from support.laplace_pair import LaplacePair
from tacit.loss.cells import SLOP
from tacit.loss.pair import Atoms, DiscreteLaplacePair, GaussianPair, Pair
from tacit.loss.transform import ReplacedGaussian, Sampled, Swapped

Law = Callable[[mpf], tuple[mpf, mpf]]  # (P[L ≤ e], Q[L ≤ e])

MUS = (1e-6, 1e-3, 0.1, 1.0, 4.0, 20.0)
RATES = (1e-6, 0.01, 0.3, 0.9, 1 - 1e-6)


def gaussian_law(mu: float) -> Law:
    m = number(mu)
    return lambda e: (mpmath.ncdf(e / m - m / 2), mpmath.ncdf(e / m + m / 2))


def sampled_law(base: Law, rate: float) -> Law:
    r = number(rate)

    def law(e: mpf) -> tuple[mpf, mpf]:
        lifted = mpmath.expm1(e) + r
        p, q = base(mpmath.log(lifted / r)) if lifted > 0 else (mpf(0), mpf(0))
        return (1 - r) * q + r * p, q

    return law


def swapped_law(base: Law) -> Law:
    """For laws without atoms on the edges tried here."""

    def law(e: mpf) -> tuple[mpf, mpf]:
        p, q = base(-e)
        return 1 - q, 1 - p

    return law


def laplace_law(epsilon: float) -> Law:
    top = number(epsilon)

    def law(e: mpf) -> tuple[mpf, mpf]:
        if e >= top or e < -top:
            return (mpf(e >= top),) * 2
        return mpmath.exp((e - top) / 2) / 2, 1 - mpmath.exp(-(e + top) / 2) / 2

    return law


def discrete_laplace_law(scale: float, shift: int) -> Law:
    a = mpmath.exp(-1 / number(scale))

    def law(e: mpf) -> tuple[mpf, mpf]:
        if e * number(scale) >= shift or e * number(scale) < -shift:
            return (mpf(e * number(scale) >= shift),) * 2
        least = max(1, int(mpmath.ceil((shift - e * number(scale)) / 2)))  # L ≤ e exactly when z is at least this
        return a**least / (1 + a), 1 - a ** (shift - least + 1) / (1 + a)

    return law


def replaced_law(mu: float, rate: float) -> Law:
    m, r = number(mu), number(rate)

    def law(e: mpf) -> tuple[mpf, mpf]:
        c, b = r * mpmath.exp(-m * m / 2), -(1 - r) * mpmath.expm1(e)
        root = mpmath.sqrt(b * b + 4 * c * c * mpmath.exp(e))
        x = mpmath.log(2 * c * mpmath.exp(e) / (root + b) if b > 0 else (root - b) / (2 * c)) / m
        zero, plus, minus = mpmath.ncdf(x), mpmath.ncdf(x - m), mpmath.ncdf(x + m)
        return (1 - r) * zero + r * plus, (1 - r) * zero + r * minus

    return law


def pairs() -> list[tuple[Pair, Law]]:
    found: list[tuple[Pair, Law]] = []
    for mu in MUS:
        gaussian = GaussianPair(mu), gaussian_law(mu)
        found += [gaussian, (Swapped(gaussian[0]), gaussian_law(mu))]
        for rate in RATES:
            pair, law = Sampled(gaussian[0], rate), sampled_law(gaussian[1], rate)
            found += [(pair, law), (Swapped(pair), swapped_law(law))]
            if mu < 10:
                found.append((ReplacedGaussian(mu, rate), replaced_law(mu, rate)))
    for epsilon in (1e-6, 0.01, 1.0, 10.0, 50.0):
        laplace = LaplacePair(epsilon), laplace_law(epsilon)
        found += [laplace, (Sampled(laplace[0], 0.1), sampled_law(laplace[1], 0.1))]
    for scale, shift in ((1.0, 7), (0.5, 20), (10.0, 3000), (1e4, 100_000)):
        found.append((DiscreteLaplacePair(scale, float(shift)), discrete_laplace_law(scale, shift)))
    return found


def edges_of(pair: Pair, cells: int) -> np.ndarray:
    low, high = pair.reach(1e-12)
    return np.linspace(low, high, cells + 1)[1:-1] * (1 + 1e-7)  # off the atoms, which lie at round places


@pytest.mark.parametrize(("pair", "law"), pairs(), ids=lambda x: repr(x) if isinstance(x, Pair) else "")
@pytest.mark.parametrize("cells", [4, 17])
def test_masses_are_right_to_their_stated_error(pair: Pair, law: Law, cells: int) -> None:
    """Including excess over the left end and deficit to the right one; an edge may be displaced by SLOP."""
    edges = edges_of(pair, cells)
    got = pair.cells(edges)
    with mpmath.workdps(260):
        at = [(mpf(0), mpf(0)), *(law(mpf(float(e))) for e in edges), (mpf(1), mpf(1))]
        near = [(mpf(0), mpf(0))]
        for e in edges:
            right, left = law(mpf(float(e)) + SLOP), law(mpf(float(e)) - SLOP)
            near.append((right[0] - left[0], right[1] - left[1]))
        near.append((mpf(0), mpf(0)))
        for i in range(len(edges) + 1):
            p, q = at[i + 1][0] - at[i][0], at[i + 1][1] - at[i][1]
            blur_p, blur_q = near[i][0] + near[i + 1][0], near[i][1] + near[i + 1][1]
            assert abs(p - got.p[i]) <= got.p_error[i] + blur_p
            assert abs(q - got.q[i]) <= got.q_error[i] + blur_q
            left = mpmath.exp(float(edges[i - 1])) if i else mpf(0)
            # an end that moves takes what lies near it along, and changes e^left·q ≤ p or e^right·q
            allowed = got.excess_error[i] + blur_p + left * blur_q + 2 * SLOP * p
            assert abs(p - q * left - got.excess[i]) <= allowed
            if i < len(edges):
                right = mpmath.exp(float(edges[i]))
                allowed = got.deficit_error[i] + blur_p + right * (blur_q + 2 * SLOP * q)
                assert abs(q * right - p - got.deficit[i]) <= allowed


@pytest.mark.parametrize(("pair", "law"), pairs(), ids=lambda x: repr(x) if isinstance(x, Pair) else "")
@pytest.mark.parametrize("tail", [1e-3, 1e-12, 1e-100])
def test_reach_leaves_at_most_the_tail_under_both(pair: Pair, law: Law, tail: float) -> None:
    low, high = pair.reach(tail)
    with mpmath.workdps(130):
        below, upto = law(mpf(low) - mpf(10) ** -12 * (1 + abs(low))), law(mpf(high) + mpf(10) ** -12 * (1 + abs(high)))
        assert max(below) <= tail
        assert 1 - min(upto) <= tail


def test_finite_pairs_fall_into_the_right_cells() -> None:
    pair = Atoms(np.array([-1.0, 0.0, 2.0]), np.array([0.1, 0.3, 0.5]), only_p=0.1, only_q=0.05)
    cells = pair.cells(np.array([-1.0, 0.5, 2.0]))
    assert cells.p.tolist() == [0.1, 0.3, 0.5, 0.0]  # a cell owns its right end
    assert cells.q == pytest.approx([0.1 * np.e, 0.3, 0.5 * np.exp(-2), 0.0])
    assert cells.excess[1:] == pytest.approx((cells.p - cells.q * np.exp([np.nan, -1.0, 0.5, 2.0]))[1:], abs=1e-15)
    assert cells.deficit[:-1] == pytest.approx((cells.q * np.exp([-1.0, 0.5, 2.0, np.nan]) - cells.p)[:-1], abs=1e-15)
    assert pair.leaks == (0.1, 0.05)
    assert pair.swapped.leaks == (0.05, 0.1)


@pytest.mark.parametrize("rate", [0.01, 0.5, 0.9])
def test_sampling_keeps_what_only_the_world_without_the_record_produces(rate: float) -> None:
    """Q[L = −∞] = δ becomes an outcome of loss log(1 − rate): all of P's and of Q's mass must be in the cells."""
    exact = response("0.5", "0.1").sampled(rate)
    keep, flip = (float(p) for p, _ in response("0.5", "0.1").outcomes[:2])
    base = Atoms(np.array([0.5, -0.5]), np.array([keep, flip]), 0.1, 0.1)
    for pair, worlds in ((Sampled(base, rate), exact), (Swapped(Sampled(base, rate)), exact.swapped)):
        edges = np.linspace(-3, 3, 12) + 0.01
        cells = pair.cells(edges)
        excess, deficit = cells.p[1:] - cells.q[1:] * np.exp(edges), cells.q[:-1] * np.exp(edges) - cells.p[:-1]
        assert cells.excess[1:] == pytest.approx(excess, abs=1e-14)
        assert cells.deficit[:-1] == pytest.approx(deficit, abs=1e-13)
        finite = [(p, q) for p, q in worlds.outcomes if p and q]
        assert cells.p.sum() == pytest.approx(float(mpmath.fsum(p for p, _ in finite)), rel=1e-12)
        assert cells.q.sum() == pytest.approx(float(mpmath.fsum(q for _, q in finite)), rel=1e-12)
        assert pair.leaks[0] == pytest.approx(float(mpmath.fsum(p for p, q in worlds.outcomes if not q)), rel=1e-12)


def test_swapping_twice_changes_nothing() -> None:
    pair = Sampled(GaussianPair(1.0), 0.2)
    assert pair.swapped.swapped is pair
    edges = np.linspace(-0.2, 3, 9)
    assert Swapped(Swapped(pair)).cells(edges).excess == pytest.approx(pair.cells(edges).excess, rel=1e-9, abs=1e-18)


def test_sampling_at_rate_one_is_no_sampling() -> None:
    edges = np.linspace(-2, 3, 9)
    plain, sampled = GaussianPair(0.7).cells(edges), Sampled(GaussianPair(0.7), 1.0).cells(edges)
    assert sampled.p == pytest.approx(plain.p, rel=1e-12)
    assert sampled.excess == pytest.approx(plain.excess, rel=1e-9, abs=1e-16)


def test_symmetric_pairs_are_their_own_swap() -> None:
    edges = np.linspace(-2, 2, 8) + 0.003
    for pair in (GaussianPair(0.7), LaplacePair(1.0), ReplacedGaussian(0.7, 0.1), DiscreteLaplacePair(10.0, 13.0)):
        assert pair.symmetric
        assert Swapped(pair).cells(edges).p == pytest.approx(pair.cells(edges).p, abs=1e-14)
    assert not Sampled(GaussianPair(0.7), 0.1).symmetric
