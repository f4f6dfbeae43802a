"""The exact audit agrees with closed forms and with arithmetic on fractions."""

from fractions import Fraction
from math import exp, inf, log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.auditor.exact import audit_exact, exact
from tacit.base import InputError
from tacit.loss import ZCDP, Approx, Pure
from tacit.mechanism import Example, KaryResponse, RandomizedResponse

Laws = tuple[dict[int, float], dict[int, float]]


def laws(left: list[int], right: list[int]) -> Laws:
    """Two laws whose probabilities are whole numbers over a power of two, so that they are exact."""
    width = max(len(left), len(right))
    made = []
    for weights in (left, right):
        padded = [*weights, *[0] * (width - len(weights))]
        rest = 2**20 - sum(padded)
        made.append(dict(enumerate([weight / 2**20 for weight in [*padded, rest]])))
    return made[0], made[1]


def slow_delta(p: dict[int, float], q: dict[int, float], factor: Fraction) -> Fraction:
    there = sum((max(Fraction(0), Fraction(p[o]) - factor * Fraction(q[o])) for o in p), Fraction(0))
    back = sum((max(Fraction(0), Fraction(q[o]) - factor * Fraction(p[o])) for o in p), Fraction(0))
    return max(there, back)


weights = st.lists(st.integers(0, 2**16), min_size=1, max_size=12)


@given(weights, weights, st.floats(0, 5))
def test_the_divergence_is_that_of_fractions(left: list[int], right: list[int], epsilon: float) -> None:
    p, q = laws(left, right)
    found, true = exact(p, q).divergence(epsilon), float(slow_delta(p, q, Fraction(exp(epsilon))))
    assert found == pytest.approx(true, rel=1e-12, abs=1e-14)


@given(weights, weights, st.sampled_from([0.0, 1e-9, 1e-4, 0.01, 0.3, 0.9]))
def test_epsilon_is_where_the_divergence_passes_delta(left: list[int], right: list[int], delta: float) -> None:
    p, q = laws(left, right)
    found = exact(p, q, delta=delta).epsilon
    if found == inf:
        assert slow_delta(p, q, Fraction(10) ** 9) > Fraction(delta)
        return
    assert slow_delta(p, q, Fraction(exp(found * (1 + 1e-12) + 1e-14))) <= Fraction(delta) * (1 + Fraction(1, 10**9))
    if found > 1e-12:
        assert slow_delta(p, q, Fraction(exp(found * (1 - 1e-12) - 1e-14))) >= Fraction(delta)


def test_closed_forms() -> None:
    coin, other = {"a": 0.75, "b": 0.25}, {"a": 0.25, "b": 0.75}
    found = exact(coin, other)
    assert found.epsilon == pytest.approx(log(3), rel=1e-14)
    assert found.epsilon <= log(3)
    assert found.divergence(0) == pytest.approx(0.5, rel=1e-14)
    assert exact(coin, other, delta="1/2").epsilon == 0
    assert exact(coin, other, delta="1/4").epsilon == pytest.approx(log(2), rel=1e-14)
    assert exact(coin, coin).epsilon == 0
    leak = exact({1: 0.5, 2: 0.5}, {1: 1.0})
    assert leak.epsilon == inf
    assert (leak.outcome, leak.likelier) == (2, "left")
    assert leak.right == pytest.approx(log(2))
    assert exact({1: 0.5, 2: 0.5}, {1: 1.0}, delta=0.5).left == 0
    assert leak.divergence(800) == leak.divergence(inf) == pytest.approx(0.5)


def test_nearly_equal_laws_keep_their_digits() -> None:
    tiny = 2.0**-40
    found = exact({0: 0.5 + tiny, 1: 0.5 - tiny}, {0: 0.5, 1: 0.5})
    assert found.left == pytest.approx(2 * tiny, rel=1e-9)


def test_a_long_gaussian_agrees_with_its_closed_form_and_is_quick() -> None:
    at = np.arange(-60_000, 60_001)
    sigma = 5000.0

    def law(centre: int) -> dict[int, float]:
        weight = np.exp(-((at - centre) ** 2) / (2 * sigma**2))
        return dict(zip(at.tolist(), (weight / weight.sum()).tolist(), strict=True))

    from tacit.loss import gaussian_epsilon

    found = exact(law(0), law(5000), delta=1e-5)
    assert found.epsilon == pytest.approx(gaussian_epsilon(1.0, 1e-5), rel=1e-4)
    assert found.left == pytest.approx(found.right, rel=1e-6)


def test_tails_that_end_at_different_places_are_no_leak() -> None:
    assert exact({0: 1.0, 1: 1e-290}, {0: 1.0}).epsilon == 0
    assert exact({0: 1.0, 1: 1e-270}, {0: 1.0}).epsilon == inf


@pytest.mark.parametrize("law", [{0: 0.5}, {0: 1.5, 1: -0.5}, {0: float("nan")}, {}])
def test_what_is_no_law_is_refused(law: dict[int, float]) -> None:
    with pytest.raises(InputError):
        exact(law, {0: 1.0})
    with pytest.raises(InputError):
        exact({0: 1.0}, law)


def test_a_claim_is_compared() -> None:
    example = RandomizedResponse.examples()[0]
    assert audit_exact(example).status == "pass"
    assert isinstance(example.claim, Pure)
    smaller = Pure(example.claim.bound * Fraction(99, 100))
    found = audit_exact(Example(example.mechanism, example.left, example.right, smaller))
    assert found.status == "violated"
    assert "violated" in str(found)
    assert "RandomizedResponse" in str(found)


def test_every_point_of_a_curve_counts() -> None:
    example = KaryResponse.examples()[0]
    holds = Example(example.mechanism, example.left, example.right, Approx(0, 1 - Fraction(1, 10**9)))
    assert audit_exact(holds).status == "pass"
    rho = ZCDP(Fraction(1, 10**6))
    found = audit_exact(Example(example.mechanism, example.left, example.right, rho))
    assert found.status == "violated"
    assert len(found.points) == 3
    assert found.worst.violated
    with pytest.raises(InputError, match="promises nothing"):
        audit_exact(Example(example.mechanism, example.left, example.right, ZCDP(1, delta="0.1")))
