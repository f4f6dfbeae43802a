"""Sums by their transforms: every piece against high precision, and random mixes against themselves."""

import os
from collections.abc import Callable
from fractions import Fraction
from math import inf

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mpc, mpf

from support.curves import Finite, discrete_laplace, encloses, number, response, twice
from tacit.loss.block import AtomBlock, TwoSidedBlock, _fast, _slow
from tacit.loss.compose import Composition
from tacit.loss.gauss import gaussian_delta
from tacit.loss.pair import Atoms, GaussianPair, Pair
from tacit.loss.part import DiscreteLaplacePart, DiscreteNormal, Normal, Part, ResponsePart
from tacit.loss.pld import GDP, Pure, directions
from tacit.loss.quadrature import Mixture, nodes
from tacit.loss.sampling import Poisson, PoissonReplace, SampledGroup, WithoutReplacement
from tacit.loss.transform import Sampled

F = Fraction


@pytest.mark.parametrize(("theta", "frequency"), [(-6.0, 3.0), (0.4, 40.0), (12.0, 0.0), (12.0, 40.0)])
@pytest.mark.parametrize(
    "mixture",
    [
        Mixture((0.0, 1.0), (0.99, 0.01), (1.0, 0.0)),
        Mixture((0.0, 0.01), (1.0, 0.0), (0.5, 0.5)),
        Mixture((0.0, 0.7, -0.7), (0.9, 0.1, 0.0), (0.9, 0.0, 0.1)),
        Mixture((0.0, 4.0), (0.999, 0.001), (1.0, 0.0)),
    ],
    ids=["sampled", "swapped", "replaced", "far"],
)
def test_nodes_have_the_moments_of_the_mixture(mixture: Mixture, theta: float, frequency: float) -> None:
    found = nodes([mixture], theta, frequency)
    assert found is not None
    z, step = mpc(theta, frequency), mpf(1) / 25 if frequency < 30 else mpf(1) / 80
    with mpmath.workdps(25):  # a sum much finer than the nodes, and off them
        truth, scale = mpc(0), mpf(0)
        reach = 12 + (1 + abs(theta)) * 2 * max(mixture.centres)
        for i in range(int(-reach / step), int(reach / step)):
            x = (i + mpf("0.3")) * step
            tilted = [mpmath.exp(c * x - mpf(c) ** 2 / 2) for c in mixture.centres]
            above, below = (mpmath.log(mpmath.fdot(w, tilted)) for w in (mixture.p, mixture.q))
            value = mpmath.npdf(x) * mpmath.exp(above + theta * (above - below)) * step
            scale += value
            truth += value * mpmath.expj(frequency * (above - below))
        top = float(mpmath.log(scale))
        weights = np.exp(found.log_p[0] + theta * found.losses[0] - top)
        got = (weights * np.exp(1j * frequency * found.losses[0])).sum()
        allowed = float((weights * (found.doubt + abs(complex(z)) * found.blur)[0]).sum()) + 1e-14
        assert abs(got - complex(truth / scale)) <= allowed
    assert allowed < 1e-10


@pytest.mark.parametrize(("variance", "shift"), [(900, 30), (900, 1), (10**8, 10**4)])
def test_a_discrete_gaussian_has_the_moments_of_its_lattice(variance: int, shift: int) -> None:
    """Also where a coarser lattice than its own is used."""
    mixture = DiscreteNormal(F(variance), F(shift)).pair().mixture
    assert mixture is not None
    found = nodes([mixture], 2.0, 5.0)
    assert found is not None
    z = complex(2.0, 5.0)
    reach = int(14 * variance**0.5) + 3 * shift
    at = np.arange(-reach, reach + 1)
    p = np.exp(-(at**2) / (2 * variance))
    truth = (p / p.sum() * np.exp(z * (shift * shift - 2 * shift * at) / (2 * variance))).sum()
    assert np.exp(found.log_p[0] + z * found.losses[0]).sum() == pytest.approx(truth, rel=1e-11)


@pytest.mark.parametrize(("scale", "shift"), [(3.0, 40.0), (1000.0, 5000.0), (2.0**40, 2.0**38)])
def test_discrete_laplace_noise_in_closed_form(scale: float, shift: float) -> None:
    block = TwoSidedBlock(np.array([scale]), np.array([shift]), np.array([1.0]))
    theta, spacing, places = 3.0, 0.37, np.arange(0, 60, 7)
    r, k = mpf(1) / mpf(scale), mpf(shift)
    with mpmath.workdps(40):

        def moment(z: mpc) -> mpc:
            u = r * (1 + 2 * z)
            middle = -mpmath.expm1(-r) * mpmath.exp(-u) * mpmath.expm1(-u * (k - 1)) / mpmath.expm1(-u)
            return mpmath.exp(z * k * r) * (1 + mpmath.exp(-u * k) + middle) / (1 + mpmath.exp(-r))

        whole = moment(mpc(theta))
        truth = [moment(mpc(theta, spacing * int(j))) / whole for j in places]
        assert float(block.log_moment(theta)[0]) == pytest.approx(float(mpmath.log(whole.real)), abs=1e-14)
        found, error = block.phases(theta, spacing, places, np.array([0.0]))
        for got, true, allowed in zip(found[0], truth, error[0], strict=True):
            assert abs(mpc(complex(got)) - true) <= allowed
    if shift < 100:
        atoms = discrete_laplace(F(int(scale)), int(shift)).outcomes
        total = mpmath.fsum(p * mpmath.exp(theta * mpmath.log(p / q)) for p, q in atoms)
        assert float(block.log_moment(theta)[0]) == pytest.approx(float(mpmath.log(total)), abs=1e-13)


def test_transforms_and_sums_say_the_same() -> None:
    rng = np.random.default_rng(3)
    losses, w = rng.normal(size=500), rng.dirichlet(np.ones(500))
    places = np.sort(rng.choice(5000, 900, replace=False))
    slow = _slow(losses[None, :], w[None, :], 0.11, places)[0]
    assert np.abs(_fast(losses, w, 0.11, places)[0] - slow).max() < 1e-12
    block = AtomBlock(
        losses[None, :],
        np.log(w)[None, :],
        np.ones(1),
        blur=np.zeros((1, 1)),
        doubt=np.zeros((1, 1)),
        error=np.zeros(1),
    )
    found, error = block.phases(0.0, 0.11, places, np.zeros(1))
    assert np.all(np.abs(found[0] - slow) < error[0])


@pytest.mark.parametrize("mu", [1e-9, 3e-6, 1e-3, 0.2, 1.0, 9.0, 40.0])
@pytest.mark.parametrize("reach", [0.0, 0.5, 3.0, 8.0])
def test_a_gaussian_alone_is_inverted_to_its_closed_form(mu: float, reach: float) -> None:
    """Also where no tilt is large enough for the copies below to fade: those are taken off."""
    epsilon = mu * mu / 2 + reach * mu
    found = Composition([(1, GaussianPair(mu))], 1e-6).delta(epsilon)
    truth = gaussian_delta(mu, epsilon)
    assert found.lower <= truth * (1 + 1e-9)
    assert found.upper >= truth * (1 - 1e-9)
    assert found.upper - found.lower < 1e-6 * truth


@pytest.mark.parametrize("smoothing", [1e-2, 1e-4, 1e-6])
def test_smoothing_raises_a_curve_by_no_more_than_is_taken_off(smoothing: float) -> None:
    """Atoms at unrelated places, where a kink is next to every ε tried, against their list."""
    parts = [ResponsePart(F(1)), ResponsePart(F(7, 10)), ResponsePart(F(1)), ResponsePart(F(333, 1000))]
    exact = response(1) * response("0.7") * response(1) * response("0.333")
    composition = Composition([(1, part.pair()) for part in parts], 1e-3)
    composition.__dict__["_unit"] = None
    theta = composition.theta_for_delta(1e-2)
    inverse = composition._inverse(theta, 1, smoothing, (0.0, 3.2))
    for e in (0.0, 0.033, 0.0331, 0.6, 1.033, 1.5, 2.367, 2.4, 3.03):
        assert inverse.delta(e, -1) <= exact.curve(mpf(e)) <= inverse.delta(e, 1)


kinds: st.SearchStrategy[Part] = st.one_of(
    st.builds(ResponsePart, st.fractions(F(1, 100), 2, max_denominator=997)),
    st.builds(
        lambda e, s: DiscreteLaplacePart(F(s) / e, F(s)),
        st.fractions(F(1, 50), 2, max_denominator=97),
        st.sampled_from([1, 9, 2**40]),
    ),
    st.builds(DiscreteNormal, st.fractions(1, 3000, max_denominator=7), st.integers(1, 9).map(F)),
    st.builds(Normal, st.fractions(F(1, 1000), 4, max_denominator=1000)),
)
rates = st.fractions(F(1, 1000), F(9, 10), max_denominator=1000)
sampled: st.SearchStrategy[Part] = st.one_of(
    kinds,
    st.builds(Poisson, kinds, rates),
    st.builds(PoissonReplace, st.fractions(F(1, 100), 4, max_denominator=100), rates),
    st.builds(SampledGroup, st.fractions(F(1, 100), 1, max_denominator=100), rates, st.integers(2, 4).map(F)),
    st.builds(WithoutReplacement, st.builds(Normal, st.fractions(F(1, 10), 4, max_denominator=10)), rates),
)
counts = st.sampled_from([1, 1, 2, 3, 10, 200, 10**4, 10**6])
deltas = st.sampled_from([1e-3, 1e-6, 1e-9, 1e-15, 1e-30])


@given(st.lists(st.tuples(sampled, counts), min_size=1, max_size=4), deltas)
@settings(max_examples=100 if os.environ.get("TACIT_TESTS") == "full" else 6, deadline=None)
def test_random_mixes_agree_with_themselves_at_more_accuracy(parts: list[tuple[Part, int]], delta: float) -> None:
    for terms in directions(tuple(parts)):
        rough, fine = (Composition(terms, accuracy).epsilon(delta) for accuracy in (1e-4, 1e-5))
        assert rough.lower <= fine.upper
        assert fine.lower <= rough.upper
        assert fine.upper < inf


@given(
    st.lists(st.tuples(st.sampled_from(["1/3", "0.5", "1", "0.77"]), st.integers(1, 4)), min_size=2, max_size=4),
    st.sampled_from([0.3, 1e-3, 1e-8, 1e-30]),
)
@settings(max_examples=20, deadline=None)
def test_mixes_of_responses_hold_their_direct_convolution(drawn: list[tuple[str, int]], delta: float) -> None:
    """On a lattice and off it: the list of outcomes, which would answer, is set aside."""
    exact = response(drawn[0][0]).times(drawn[0][1])
    for epsilon, count in drawn[1:]:
        exact = exact * response(epsilon).times(count)
    for lattice in (True, False):
        composition = Composition([(count, ResponsePart(F(epsilon)).pair()) for epsilon, count in drawn], 1e-4)
        composition.__dict__["_direct"] = None
        if not lattice:
            composition.__dict__["_unit"] = None
        found = composition.epsilon(delta)
        assert encloses(found.lower, found.upper, [exact.curve], F(delta))
        assert found.upper < inf


def _finite(draw: st.DrawFn) -> tuple[Part, Finite]:
    """A part, and its outcomes from the definition."""
    leak = draw(st.sampled_from(["0", "0", "1/10", "1e-12"]))
    epsilon = draw(st.sampled_from(["0.003", "1/3", "1", "2.77", "30"]))
    scale, shift = draw(st.sampled_from([("1/20", 1), ("1/3", 3), ("5", 4)]))
    part, exact = draw(
        st.sampled_from(
            [
                (ResponsePart(F(epsilon), F(leak)), response(epsilon, leak)),
                (DiscreteLaplacePart(F(scale), F(shift)), discrete_laplace(F(scale), shift)),
            ]
        )
    )
    if draw(st.booleans()):
        rate = F(draw(st.sampled_from(["1/1000", "0.3", "0.999999999"])))
        part, exact = Poisson(part, rate), exact.sampled(rate)
    return part, exact


@given(st.data(), st.sampled_from([0.6, 1e-3, 1e-8, 1e-30]), st.booleans(), st.booleans())
@settings(max_examples=10, deadline=None)
def test_mixes_of_finite_parts_hold_their_direct_convolution(
    data: st.DataObject, delta: float, backward: bool, transformed: bool
) -> None:
    """Leaks and samples too, in either order, by the list of outcomes and by transforms."""
    drawn = data.draw(st.lists(st.tuples(st.composite(_finite)(), st.integers(1, 3)), min_size=1, max_size=3))
    terms = [(count, part.pair().swapped if backward else part.pair()) for (part, _), count in drawn]
    exact = Finite(((mpf(1), mpf(1)),))
    for (_, outcomes), count in drawn:
        exact = exact * outcomes.times(count)
    curve = (exact.swapped if backward else exact).curve
    composition = Composition(terms, 1e-4)
    if transformed:
        composition.__dict__["_direct"] = None
    found = composition.epsilon(delta)
    assert encloses(found.lower, found.upper, [curve], F(delta))
    for epsilon in (0.0, 0.31, 2.0):
        at = composition.delta(epsilon)
        assert at.lower <= curve(mpf(epsilon)) <= at.upper


@pytest.mark.parametrize(
    ("mu", "rate"),
    [pytest.param(1.0, 0.01, marks=pytest.mark.slow), pytest.param(0.2, 0.3, marks=pytest.mark.slow), (3.0, 0.001)],
)
@pytest.mark.parametrize("cut", [pytest.param(False, marks=pytest.mark.slow), True])
def test_two_sampled_gaussians_hold_their_quadrature(mu: float, rate: float, cut: bool) -> None:
    """By the transform of the mixture, and by cells that leave out the tails."""
    pair = Sampled(GaussianPair(mu), rate, float(1 - F(rate)))
    for direction, curve in zip((pair, pair.swapped), twice(mu, rate), strict=True):
        for epsilon in (0.05, 1.0):
            with mpmath.workdps(25):
                truth = curve(mpf(epsilon))
            found = Composition([(2, direction)], 1e-4, cut=cut).delta(epsilon)
            assert found.lower <= truth * (1 + mpf(10) ** -12)
            assert found.upper >= truth * (1 - mpf(10) ** -12)


def test_a_leak_on_one_side_is_not_forgotten_where_nothing_else_is_left() -> None:
    """P = (0.5, 0.275, 0.225) against Q = (0, 0.1, 0.9): KL of what is finite is below 0, and δ(0) is 0.675."""
    p, q = np.array([0.275, 0.225]), np.array([0.1, 0.9])
    pair = Atoms(np.log(p / q), p, 0.5, 0.0, q)
    composition = Composition([(1, pair)], 1e-4)
    composition.__dict__["_direct"] = None
    assert composition.epsilon(0.6).upper > 0
    found = composition.delta(0.0)
    assert found.lower <= 0.675 <= found.upper


@pytest.mark.parametrize(
    ("parts", "delta"),
    [
        ([(ResponsePart(F(19, 50)), 1), (DiscreteNormal(F(626), F(1)), 1)], 1e-9),
        ([(Poisson(DiscreteNormal(F(227_664), F(172)), F(121, 10**5)), 1)], 1e-9),
        ([(SampledGroup(F(39, 1000), F(618, 10**6), F(4)), 10)], 1e-6),
    ],
    ids=["a small part on a large one", "one heavy tail", "ten heavy tails"],
)
def test_tails_that_no_tilt_reaches_are_cut_off(parts: list[tuple[Part, int]], delta: float) -> None:
    for terms in directions(tuple(parts)):
        found = Composition(terms, 1e-5).epsilon(delta)
        assert 0 < found.upper - found.lower <= 1.1e-5 * found.upper


@pytest.mark.parametrize(
    ("build", "accuracy"),
    [
        (lambda i: ResponsePart(F(1, 50) + F(i, 40_000) + F(i * 7919 % 10_007, 10**8 + 7)).pair(), 1e-4),
        (lambda i: Sampled(GaussianPair(1 + i / 2000), 0.01 + i / 10**5), 1e-4),
        (lambda i: Poisson(DiscreteNormal(F(100 + i), F(10)), F(1, 100)).pair(), 1e-4),
    ],
    ids=["responses", "samples of Gaussians", "samples of discrete Gaussians"],
)
def test_a_thousand_unlike_parts_are_one_sum(build: Callable[[int], Pair], accuracy: float) -> None:
    found = Composition([(1 + i % 3, build(i)) for i in range(1000)], accuracy).epsilon(1e-9)
    assert 0 < found.upper - found.lower <= accuracy * found.upper


def test_a_lattice_of_too_many_points_is_smoothed() -> None:
    """Two losses, far apart beside the deviation of the tilted sum: terabytes of frequencies, were they all taken."""
    part, exact = Poisson(DiscreteLaplacePart(F(1, 20), F(1)), F(1, 1000)), discrete_laplace(F(1, 20), 1)
    composition = Composition([(1, part.pair().swapped)], 1e-4)
    composition.__dict__["_direct"] = None
    found = composition.epsilon(0.6)
    assert encloses(found.lower, found.upper, [exact.sampled(F(1, 1000)).swapped.curve], F(6, 10))


def test_finite_pairs_stay_finite_when_exchanged() -> None:
    pair = Atoms(np.array([-0.5, 0.2]), np.array([0.3, 0.6]), only_p=0.1, only_q=0.02)
    again = pair.swapped.swapped
    assert isinstance(pair.swapped, Atoms)
    assert isinstance(again, Atoms)
    assert again.losses == pytest.approx(pair.losses)


@pytest.mark.parametrize("theta", [-1507.0, -40.5, -1.0, -0.6, 0.0, 12.0])
def test_discrete_laplace_noise_has_its_moments_on_either_side(theta: float) -> None:
    """Far below −1/2 the formula for the other side would overflow."""
    scales, shifts = np.array([2.5, 0.5]), np.array([3.0, 90.0])
    block = TwoSidedBlock(scales, shifts, np.ones(2))
    exact = []
    for scale, shift in zip(map(number, scales), map(int, shifts), strict=True):
        fall = mpmath.exp(-1 / scale)
        ends = [mpmath.exp(side * theta * shift / scale) * fall**place for side, place in ((1, 0), (-1, shift))]
        inner = [mpmath.exp(theta * (shift - 2 * z) / scale) * fall**z for z in range(1, shift)]
        exact.append(float(mpmath.log((mpmath.fsum(ends) + (1 - fall) * mpmath.fsum(inner)) / (1 + fall))))
    assert block.log_moment(theta) == pytest.approx(exact, rel=1e-12, abs=1e-12)
    k, mean, _ = block.moments(theta)
    assert k == pytest.approx(exact, rel=1e-12, abs=1e-12)
    assert (mean < 0).all() if theta < -0.5 else (mean > 0).all()


@pytest.mark.parametrize("epsilon", [0, 1])
def test_a_period_beyond_all_squares_ends_no_computation(epsilon: int) -> None:
    """A sum that is at one of two places 1,600 apart, and is hardly smooth: no frequencies tell anything."""
    found = (Pure(800) + GDP(F(1, 10**9))).delta(epsilon)
    assert 0 <= found.lower <= found.upper <= 1
