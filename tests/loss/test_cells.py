"""Cells: the masses' curve lies above (below) the pair's at every ε, and close to it."""

from math import log

import mpmath
import numpy as np
import pytest
from mpmath import mpf

from support.curves import Curve, discrete_laplace, gaussian, laplace, replaced_gaussian, sampled_gaussian
from support.laplace_pair import LaplacePair
from tacit.loss.cells import merged, spread_out
from tacit.loss.pair import DiscreteLaplacePair, GaussianPair, Pair
from tacit.loss.source import HAIR
from tacit.loss.transform import ReplacedGaussian, Sampled, Swapped, Symmetric

CASES: list[tuple[Pair, Curve]] = []
for mu in (1e-3, 0.3, 1.0, 4.0):
    plain = GaussianPair(mu)
    CASES.append((plain, gaussian(mu)))
    for rate in (1e-4, 0.1, 0.9):
        forward, backward = sampled_gaussian(mu, rate)
        CASES += [(Sampled(plain, rate), forward), (Swapped(Sampled(plain, rate)), backward)]
    CASES.append((ReplacedGaussian(mu, 0.1), replaced_gaussian(mu, 0.1)))


def mirrored(curve: Curve) -> Curve:
    """The curve for ε ≥ 0, and the one that goes with it when both orders of the neighbours have it."""
    return lambda e: curve(e) if e >= 0 else -mpmath.expm1(e) + mpmath.exp(e) * curve(-e)


for mu, rate in ((0.5, 0.3), (2.0, 0.05)):
    CASES.append((Symmetric(Sampled(GaussianPair(mu), rate)), mirrored(sampled_gaussian(mu, rate)[0])))
CASES += [(LaplacePair(e), laplace(e)) for e in (0.01, 1.0, 8.0)]
CASES += [(DiscreteLaplacePair(3.0, 40.0), discrete_laplace(3, 40).curve)]


Masses = tuple[np.ndarray, np.ndarray]


def whole(pair: Pair, points: int, tail: float = 1e-25) -> np.ndarray:
    """Edges over all that a pair reaches, and a hair more, as its ends are rounded."""
    low, high = pair.reach(tail)
    return np.linspace(low - HAIR * (1 + abs(low)), high + HAIR * (1 + abs(high)), points)


def curve_of(masses: Masses, infinite: float = 0.0) -> Curve:
    places = [(mpf(float(x)), mpf(float(p))) for x, p in zip(*masses, strict=True) if p]

    def curve(e: mpf) -> mpf:
        return mpf(infinite) - mpmath.fsum(p * mpmath.expm1(e - x) for x, p in places if x > e)

    return curve


def losses_to_try(edges: np.ndarray) -> list[mpf]:
    """On edges, where the upper bound touches the curve, and between them."""
    indices = np.unique(np.linspace(0, len(edges) - 2, 13).astype(int))
    return [mpf(float(edges[i])) + part * mpf(float(edges[i + 1] - edges[i])) for i in indices for part in (0, 0.37)]


@pytest.mark.parametrize(("pair", "truth"), CASES, ids=lambda x: repr(x) if isinstance(x, Pair) else "")
@pytest.mark.parametrize("points", [12, 61])
def test_bounds_hold_at_every_loss(pair: Pair, truth: Curve, points: int) -> None:
    """The mass that may lie beyond the edges counts as a breach in the upper bound, and as nothing in the lower one."""
    edges = whole(pair, points)
    with mpmath.workdps(70):
        above, below = curve_of(spread_out(pair, edges), 1e-25), curve_of(merged(pair, edges))
        for e in losses_to_try(edges):
            assert below(e) <= truth(e) <= above(e)


@pytest.mark.parametrize(("pair", "truth"), CASES, ids=lambda x: repr(x) if isinstance(x, Pair) else "")
def test_bounds_hold_with_cells_of_many_widths(pair: Pair, truth: Curve) -> None:
    low, high = whole(pair, 2)
    shares = np.concatenate([np.geomspace(1e-3, 0.5, 20), 0.5 + np.linspace(0.001, 0.05, 60), np.linspace(0.6, 1, 9)])
    edges = low + (high - low) * np.insert(shares, 0, 0.0)
    with mpmath.workdps(70):
        above, below = curve_of(spread_out(pair, edges), 1e-25), curve_of(merged(pair, edges))
        for e in losses_to_try(edges):
            assert below(e) <= truth(e) <= above(e)


@pytest.mark.parametrize("pair", [GaussianPair(0.5), Sampled(GaussianPair(1.0), 0.05), LaplacePair(1.0)], ids=repr)
@pytest.mark.parametrize("theta", [1.0, 5.0])
def test_log_moments_close_in_with_the_square_of_the_width(pair: Pair, theta: float) -> None:
    """What composition sees is log E e^(θL): an error of the order of the width would cost half an ε on DP-SGD."""

    def gap(points: int) -> float:
        edges = whole(pair, points)
        (x, p), (y, r) = spread_out(pair, edges), merged(pair, np.append(edges[0] - 1e-9, edges))
        return log(float(np.dot(p, np.exp(theta * x)))) - log(float(np.dot(r, np.exp(theta * y))))

    coarse, fine = gap(300), gap(1200)
    assert 0 < fine < coarse / 8


def test_what_is_below_the_edges_is_raised_and_what_is_above_is_left_out() -> None:
    edges = np.linspace(-1.0, 1.0, 21)
    _, masses = spread_out(GaussianPair(1.0), edges)
    beyond = float(1 - mpmath.ncdf(mpf("1.0") - mpf("0.5")))
    assert masses.sum() == pytest.approx(1 - beyond, rel=1e-12)
    assert merged(GaussianPair(1.0), edges)[1].sum() < masses.sum()
