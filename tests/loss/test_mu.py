"""What mechanisms cost in μ²: never below the exact number, hardly above it, and enough for the noise that ships."""

from fractions import Fraction
from itertools import pairwise, product
from math import exp, inf, sqrt

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.base import Sensitivity
from tacit.loss import GDP, PLD, ZCDP, Cost, Filter, Pure, gaussian_delta
from tacit.loss.mu import lattice_mu_squared, pure_mu_squared, range_mu_squared, ranges_mu_squared
from tacit.loss.part import DiscreteNormal
from tacit.mechanism import BinnedQuantiles, DiscreteGaussian, Exponential, KeySelection, Mechanism

TIGHT = mpmath.mpf(10) ** -12
SIGMAS = [Fraction(s) for s in ("1/10", "1/4", "2/5", "1/2", "3/4", "1", "1.3", "2", "2.01", "3", "5", "12", "40")]


def beyond(tail: mpmath.mpf) -> mpmath.mpf:
    """x with Pr[N > x] = tail, for a tail below 1/2, however far out."""
    root = mpmath.sqrt(max(-2 * mpmath.log(2 * tail), mpmath.mpf("1e-8")))
    return mpmath.findroot(lambda x: mpmath.log(mpmath.erfc(x / mpmath.sqrt(2)) / 2) - mpmath.log(tail), root)


def root(square: Fraction) -> mpmath.mpf:
    return mpmath.sqrt(mpmath.mpf(square.numerator) / square.denominator)


def tails(sigma: Fraction) -> list[mpmath.mpf]:
    """Pr[Z ≥ 1], Pr[Z ≥ 2], …, far enough out."""
    double = 2 * mpmath.mpf(sigma.numerator) ** 2 / sigma.denominator**2
    weights = [mpmath.exp(-k * k / double) for k in range(int(16 * sigma) + 12)]
    whole = weights[0] + 2 * sum(weights[1:])
    sums = [mpmath.mpf(0)]
    for weight in weights[:0:-1]:
        sums.append(sums[-1] + weight / whole)
    return sums[:0:-1]


# numbers


@pytest.mark.parametrize("sigma", SIGMAS)
def test_the_charge_of_a_lattice_is_the_exact_one_rounded_up(sigma: Fraction) -> None:
    with mpmath.workdps(60):
        found = mpmath.sqrt(
            mpmath.mpf(lattice_mu_squared(sigma**2).numerator) / lattice_mu_squared(sigma**2).denominator
        )
        true = 2 * beyond(tails(sigma)[0])
        assert true <= found <= true * (1 + TIGHT)


@pytest.mark.parametrize(
    "epsilon", ["1e-13", "1e-12", "1e-9", "0.001", "0.3", "1", "3.6", "3.7", "10", "299", "300", "5000"]
)
def test_the_charge_of_a_pure_mechanism_is_the_exact_one_rounded_up(epsilon: str) -> None:
    square = pure_mu_squared(Fraction(epsilon))
    with mpmath.workdps(60):
        e = mpmath.mpf(epsilon)
        true = 2 * beyond(1 / (1 + mpmath.exp(e)))
        found = root(square)
        assert true <= found <= true * (1 + TIGHT if e < 300 else 1.1)


def test_known_values() -> None:
    kappas = [round(sqrt(lattice_mu_squared(Fraction(s) ** 2)) * s, 4) for s in (1, 2, 10)]
    assert kappas == [1.0458, 1.0107, 1.0004]
    assert range_mu_squared(Fraction(2)) == pure_mu_squared(Fraction(1))
    assert float(ranges_mu_squared(Fraction(1))) == pytest.approx(np.pi / 8, rel=1e-15)


@pytest.mark.parametrize("edge", [Fraction(1, 400), Fraction(10**8)])
def test_charges_of_extreme_lattices_go_on_where_the_solved_ones_end(edge: Fraction) -> None:
    for variance in (edge * Fraction(99, 100), edge * Fraction(101, 100)):
        square = lattice_mu_squared(variance)
        with mpmath.workdps(60):
            if variance < 1:
                true = (2 * beyond(tails(Fraction(sqrt(variance)))[0])) ** 2
            else:
                true = (
                    8 * mpmath.erfinv(1 / mpmath.sqrt(2 * mpmath.pi * variance.numerator / variance.denominator)) ** 2
                )
            assert true * (1 - TIGHT) <= mpmath.mpf(square.numerator) / square.denominator <= true * 1.05


@settings(max_examples=60)
@given(st.fractions(min_value=Fraction(1, 500), max_value=400), st.fractions(min_value=Fraction(1, 500), max_value=400))
def test_less_noise_costs_more(one: Fraction, other: Fraction) -> None:
    low, high = sorted((one, other))
    assert lattice_mu_squared(low) >= lattice_mu_squared(high) * (1 - Fraction(1, 10**12))
    assert pure_mu_squared(low) <= pure_mu_squared(high) * (1 + Fraction(1, 10**12))
    assert lattice_mu_squared(high) > 1 / high  # a lattice costs more than continuous noise


# theorem 1: every gap is at most the one in the middle


@pytest.mark.parametrize("sigma", SIGMAS)
def test_the_largest_gap_is_in_the_middle(sigma: Fraction) -> None:
    with mpmath.workdps(60):
        places = [beyond(tail) for tail in tails(sigma)[: int(8 * sigma) + 4]]
        gaps = [2 * places[0], *(far - near for near, far in pairwise(places))]
    assert all(one > other for one, other in pairwise(gaps))


@pytest.mark.parametrize("sigma", SIGMAS)
@pytest.mark.parametrize("shift", [1, 2, 5])
def test_the_curve_of_shipped_noise_is_below_the_charge(sigma: Fraction, shift: int) -> None:
    loss = DiscreteGaussian(sigma=sigma).loss(Sensitivity.scalar(shift))
    square = loss.cost().mu_squared
    assert square is not None
    mu, plain = sqrt(square) * (1 + 1e-15), float(shift / sigma)
    exceeded = False
    for epsilon in (0.0, 0.01, 0.1, 0.5, 1, 2, 4, 8, 16):
        true = loss.delta(Fraction(epsilon))
        assert true.lower <= GDP(Fraction(mu)).delta(Fraction(epsilon)).upper + 1e-299  # where the pair's tails are cut
        exceeded |= true.lower > gaussian_delta(plain, epsilon) * (1 + 1e-6)
    assert exceeded or shift > 1  # the charge of continuous noise would be too little


@pytest.mark.parametrize("sigma", [Fraction(1, 2), Fraction(1), Fraction(3)])
@pytest.mark.parametrize("moves", [(1, 1), (1, 1, 1, 1), (2, 1, 1), (3, 4)])
def test_vectors_too(sigma: Fraction, moves: tuple[int, ...]) -> None:
    size = sqrt(sum(move**2 for move in moves))
    claim = DiscreteGaussian(sigma=sigma).loss(Sensitivity(l2=Fraction(size) * (1 + Fraction(1, 10**15))))
    assert isinstance(claim, ZCDP)
    assert claim.mu_squared is not None
    true = PLD.of(tuple((DiscreteNormal(sigma**2, Fraction(move)), 1) for move in moves))
    for epsilon in (0, 1, 2, 5, 9):
        at = true.delta(epsilon).lower
        assert at <= GDP(Fraction(sqrt(claim.mu_squared) * (1 + 1e-15))).delta(epsilon).upper
        assert at <= claim.delta(epsilon).upper


# theorems 2 and 3: corners


def excess(p: list[float], q: list[float], epsilon: float) -> float:
    return sum(max(0.0, a - exp(epsilon) * b) for a, b in zip(p, q, strict=True))


@settings(max_examples=200)
@given(st.floats(min_value=1e-3, max_value=20), st.floats(min_value=0, max_value=1))
def test_no_two_outcomes_within_a_range_are_told_apart_better(spread: float, part: float) -> None:
    with mpmath.workdps(50):
        high, low = part * mpmath.mpf(spread), (part - 1) * mpmath.mpf(spread)
        p = (
            mpmath.mpf(0)
            if part == 0
            else (1 - mpmath.exp(low)) / (mpmath.exp(high) - mpmath.exp(low)) * mpmath.exp(high)
        )
        q = p * mpmath.exp(-high)
        if not 0 < q < p < 1:
            return
        square = range_mu_squared(Fraction(spread))
        gap = _probit(p) - _probit(q)
        assert gap <= root(square)


def _probit(p: mpmath.mpf) -> mpmath.mpf:
    if abs(p - mpmath.mpf(1) / 2) < mpmath.mpf(10) ** -20:
        return mpmath.mpf(0)
    return -beyond(p) if p < 0.5 else beyond(1 - p)


def test_the_charge_of_a_range_is_attained_and_a_quarter_of_the_pure_one() -> None:
    chosen = Exponential(scale=Fraction(20))
    pure, ranged = Pure("0.1"), chosen.concentrated(1)
    budget = Filter(epsilon=1, delta="1e-6", method="gdp")
    assert budget.price(pure).amount / budget.price(ranged).amount == pytest.approx(4, rel=1e-3)
    assert budget.price(chosen.loss(1)) == budget.price(ranged)
    assert chosen.loss(1).cost() == Cost(epsilon=pure.bound, rho=ranged.rho, mu_squared=ranged.mu_squared)
    assert chosen.loss(1).grouped(2).cost() == chosen.loss(2).cost()
    # a good and a bad candidate that change places are a randomised response of ε/2
    law, other = chosen.pmf([1, 0]), chosen.pmf([0, 1])
    corner = min(law[0], other[0]), max(law[0], other[0])
    assert ranged.mu_squared is not None
    assert 2 * float(mpmath.sqrt(2) * mpmath.erfinv(2 * corner[1] - 1)) == pytest.approx(
        sqrt(ranged.mu_squared), rel=1e-9
    )


def claims() -> list[tuple[Mechanism, object, object, ZCDP]]:
    """Neighbouring inputs of shipped mechanisms, with what they claim to cost."""
    found: list[tuple[Mechanism, object, object, ZCDP]] = []
    for scale in ("1/2", "1", "3"):
        chosen = Exponential(scale=Fraction(scale))
        for one, other in product([[0, 0, 1], [2, 0, 1], [1, 1, 1]], [[1, 1, 0], [1, 1, 2], [2, 0, 0]]):
            found.append(
                (chosen, one, other, chosen.concentrated(max(abs(a - b) for a, b in zip(one, other, strict=True))))
            )
    ranks = BinnedQuantiles(quantiles=(Fraction(1, 2),), scale=Fraction(1), cells=4)
    found += [
        (ranks, [[3, 1, 0, 2], [0, 1, 1, 1]], [[3, 2, 0, 2], [0, 1, 1, 2]], ranks.concentrated(sqrt(2) * (1 + 1e-15)))
    ]
    for scale, whole in (("3", 2), ("8", 8)):
        keys = KeySelection(scale=Fraction(scale), delta=Fraction(1, 1000), one=whole)
        near, loss = keys.threshold() - whole // 2, keys.loss()
        assert isinstance(loss, ZCDP)
        found += [
            (keys, (near,), (near + whole,), loss),
            (keys, (near, 0), (near + keys.weight(2), keys.weight(2)), loss),
        ]
    return found


@pytest.mark.parametrize(("mechanism", "one", "other", "claim"), claims())
def test_selections_that_ship_cost_no_more_than_they_say(
    mechanism: Mechanism, one: object, other: object, claim: ZCDP
) -> None:
    laws = mechanism.pmf(one), mechanism.pmf(other)
    outcomes = sorted({*laws[0], *laws[1]}, key=repr)
    p, q = ([law.get(outcome, 0.0) for outcome in outcomes] for law in laws)
    assert claim.mu_squared is not None
    mu, slack = sqrt(claim.mu_squared), float(claim.slack)
    for epsilon in np.linspace(0, 3, 31):
        most = slack + (1 - slack) * gaussian_delta(mu, float(epsilon)) + 1e-12
        assert max(excess(p, q, float(epsilon)), excess(q, p, float(epsilon))) <= most


# what a loss makes of it


def test_a_loss_in_both_currencies_converts_by_the_better_one() -> None:
    both, rho = ZCDP(1, mu_squared=2), ZCDP(1)
    assert both.epsilon("1e-6").upper == pytest.approx(GDP(Fraction(sqrt(2))).epsilon("1e-6").upper, rel=1e-9)
    assert both.epsilon("1e-6").upper < rho.epsilon("1e-6").upper
    assert both.delta(5).upper < rho.delta(5).upper
    assert ZCDP(1, mu_squared=50).epsilon("1e-6").upper == rho.epsilon("1e-6").upper
    assert ZCDP(1, delta="1e-6", mu_squared=2).epsilon("1e-6").upper == inf
    assert both.grouped(3) == ZCDP(9, mu_squared=18)
    assert (both + Pure(1)).mu_squared == 2 + pure_mu_squared(Fraction(1))  # type: ignore[attr-defined]  # both are ZCDP
