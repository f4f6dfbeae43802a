"""Discretisation: the masses' curve lies above (below) the pair's at every ε, and close to it."""

from collections.abc import Callable
from math import exp, log

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mpf

from support.curves import Curve, discrete_laplace, gaussian, laplace, replaced_gaussian, response, sampled_gaussian
from support.laplace_pair import LaplacePair
from tacit.loss.grid import Masses, Span, _moved, lower, upper
from tacit.loss.pair import Atoms, DiscreteLaplacePair, GaussianPair, Pair
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


def whole(pair: Pair, tail: float = 1e-25) -> Span:
    low, high = pair.reach(tail)
    return Span(low, high, low, high)


def curve_of(masses: Masses) -> Curve:
    places = [(mpf(masses.first + j) * mpf(masses.step) + mpf(masses.offset), p) for j, p in enumerate(masses.p) if p]

    def curve(e: mpf) -> mpf:
        return mpf(masses.infinite) - mpmath.fsum(mpf(float(p)) * mpmath.expm1(e - x) for x, p in places if x > e)

    return curve


def losses_to_try(span: Span, step: float) -> list[mpf]:
    """On grid points, where the upper bound touches the curve, and between them."""
    indices = np.unique(np.linspace(span.low / step - 1, span.high / step + 1, 13).astype(int))
    return [(mpf(int(i)) + mpf(part)) * mpf(step) for i in indices for part in (0.0, 0.37)]


@pytest.mark.parametrize(("pair", "truth"), CASES, ids=lambda x: repr(x) if isinstance(x, Pair) else "")
@pytest.mark.parametrize("points", [12, 61])
def test_bounds_hold_at_every_loss(pair: Pair, truth: Curve, points: int) -> None:
    span = whole(pair)
    step = (span.high - span.low) / points
    with mpmath.workdps(70):
        above, below = curve_of(upper(pair, step, span)), curve_of(lower(pair, step, span, 5.0))
        for e in losses_to_try(span, step):
            assert below(e) <= truth(e) <= above(e)


@pytest.mark.parametrize(("pair", "truth"), CASES, ids=lambda x: repr(x) if isinstance(x, Pair) else "")
def test_bounds_hold_with_a_narrow_bulk(pair: Pair, truth: Curve) -> None:
    """Coarse cells on either side of the bulk are wider but no less sound."""
    low, high = pair.reach(1e-25)
    width = high - low
    span = Span(low, high, low + 0.55 * width, low + 0.6 * width)
    step = width / 400
    with mpmath.workdps(70):
        above, below = curve_of(upper(pair, step, span)), curve_of(lower(pair, step, span, 5.0))
        for e in losses_to_try(span, step):
            assert below(e) <= truth(e) <= above(e)


@pytest.mark.parametrize("pair", [GaussianPair(0.5), Sampled(GaussianPair(1.0), 0.05), LaplacePair(1.0)], ids=repr)
@pytest.mark.parametrize("theta", [1.0, 5.0])
def test_log_moments_close_in_with_the_square_of_the_step(pair: Pair, theta: float) -> None:
    """What composition sees is log E e^(θL): an error of the order of the step would cost half an ε on DP-SGD."""
    span = whole(pair)

    def gap(points: int) -> float:
        step = span.high / points
        above, below = upper(pair, step, span), lower(pair, step, span, theta)
        return log(float(np.dot(above.p, np.exp(theta * above.losses)))) - log(
            float(np.dot(below.p, np.exp(theta * below.losses)))
        )

    coarse, fine = gap(300), gap(1200)
    assert 0 < fine < coarse / 8
    assert coarse < theta * (theta + 1) * (span.high / 300) ** 2


@pytest.mark.parametrize("offset", [0.0, 1e-12, 0.3, 0.999])
@pytest.mark.parametrize("bound", [upper, lower])
def test_atoms_off_the_grid(offset: float, bound: Callable[..., Masses]) -> None:
    losses = (np.array([-3.0, 2.0, 5.0]) + offset) * 0.1
    p = np.array([0.2, 0.3, 0.45])
    pair = Atoms(losses, p, only_p=0.05)
    exact = [(mpf(float(a)), mpf(float(x))) for a, x in zip(losses, p, strict=True)]
    args = (1.0,) if bound is lower else ()
    masses = bound(pair, 0.1, whole(pair), *args)
    assert masses.infinite == pytest.approx(0.05, abs=1e-15)
    found = curve_of(masses)
    for e in np.linspace(-0.4, 0.8, 25):
        truth = mpf(0.05) - mpmath.fsum(x * mpmath.expm1(mpf(float(e)) - a) for a, x in exact if a > e)
        assert found(mpf(float(e))) >= truth - mpf(10) ** -17 if bound is upper else found(mpf(float(e))) <= truth


def test_atoms_on_the_grid_stay_where_they_are() -> None:
    """Randomised response whose ε is a multiple of the step is not blurred: both bounds are the curve itself."""
    pair = Atoms(np.array([-1.0, 1.0]), np.array([float(p) for p, _ in response(1).outcomes])[::-1].copy())
    for masses in (upper(pair, 0.125, whole(pair)), lower(pair, 0.125, whole(pair), 3.0)):
        found = curve_of(masses)
        for e in (0.0, 0.3, 0.9):
            assert float(found(mpf(e))) == pytest.approx(float(response(1).curve(mpf(e))), rel=2e-8)


masses_lists = st.lists(
    st.one_of(st.just(0.0), st.floats(1e-12, 1.0)).flatmap(lambda p: st.tuples(st.just(p), st.floats(-1.0, 1.0))),
    min_size=2,
    max_size=9,
)


@given(masses_lists, st.sampled_from([1e-4, 0.05, 0.7]), st.floats(-1, 8))
@settings(max_examples=300)
def test_moving_masses_onto_their_points_only_lowers_the_curve(
    cells: list[tuple[float, float]], step: float, at: float
) -> None:
    """Any masses, anywhere within a step of their points (a coarse neighbour may be that far off)."""
    p, off = np.array([c[0] for c in cells]), np.array([c[1] for c in cells]) * step
    before = np.arange(len(p)) * step + off
    after = (np.arange(len(p) + 1) - 1) * step
    moved = _moved(p, off, step)
    assert moved.min() >= 0
    assert moved.sum() == pytest.approx(p.sum(), rel=1e-12)

    def delta(losses: np.ndarray, mass: np.ndarray, e: float) -> float:
        return float(np.sum(mass * np.maximum(0.0, -np.expm1(e - losses))))

    def moment(losses: np.ndarray, mass: np.ndarray) -> float:
        return float(np.sum(mass * np.exp(3 * losses)))

    for e in (at * step, (at + 0.5) * step, -5.0):
        assert delta(after, moved, e) <= delta(before, p, e) * (1 + 1e-12) + 1e-15 * step * p.sum()
    assert moment(after, moved) <= moment(before, p) * (1 + 1e-12)


def test_negligible_mass_is_raised_never_dropped() -> None:
    pair = GaussianPair(1.0)
    narrow = Span(-1.0, 1.0, -1.0, 1.0)
    masses = upper(pair, 0.1, narrow)
    assert float(masses.p.sum()) + masses.infinite >= 1
    assert masses.infinite == pytest.approx(float(1 - mpmath.ncdf(mpf("1.1") - mpf("0.5"))), rel=1e-9)
    assert lower(pair, 0.1, narrow, 1.0).p.sum() + exp(-700) < 1
