"""Amplification by iteration: the theorem's numbers, a linear case solved exactly, and its preconditions."""

from fractions import Fraction
from typing import Any

import pytest

from tacit.base import InputError, LossError, Relation
from tacit.loss import GDP, ZCDP
from tacit.loss.iteration import iterated, noisy_contractions

SGD: dict[str, Any] = {
    "lipschitz": 1,
    "smoothness": 4,
    "step": Fraction(1, 2),
    "sigma": 3,
    "after": 9,
    "convex": True,
    "only_last_seen": True,
}


def test_theorem_23() -> None:
    """(α, 2αL²/(σ²(n − t + 1)))-RDP for the record of step t."""
    assert iterated(**SGD) == ZCDP(Fraction(2, 9 * 10), relation=Relation.REPLACE)
    assert iterated(**SGD | {"after": 0}).rho == Fraction(2, 9)


def test_add_remove_leaves_one_gradient_out() -> None:
    assert iterated(**SGD, relation=Relation.ADD_REMOVE) == ZCDP(Fraction(1, 2 * 9 * 10))


def test_step_length_does_not_matter_while_it_contracts() -> None:
    assert iterated(**SGD | {"step": Fraction(1, 100)}) == iterated(**SGD)


@pytest.mark.parametrize("contraction", [Fraction(1), Fraction(99, 100), Fraction(1, 2)])
@pytest.mark.parametrize("after", [0, 1, 5, 40])
def test_linear_maps_attain_the_bound(contraction: Fraction, after: int) -> None:
    """x ← c·x + N(0, ζ²) is a Gaussian throughout: last states differ by c^r·s with variance ζ²·Σ c^2j."""
    shift, noise = Fraction(3), Fraction(2)
    apart = shift * contraction**after
    variance = noise**2 * sum(contraction ** (2 * j) for j in range(after + 1))
    loss = noisy_contractions(shift=shift, noise=noise, after=after, contraction=contraction, only_last_seen=True)
    assert float(loss.rho) == pytest.approx(float(apart**2 / variance / 2), rel=1e-8)
    assert loss.rho >= apart**2 / variance / 2
    exact = GDP(float(apart) / float(variance) ** 0.5, relation=Relation.REPLACE)
    assert loss.epsilon(1e-6).upper >= exact.epsilon(1e-6).lower


def test_strong_convexity_contracts_by_one_minus_step_times_m() -> None:
    loss = iterated(**SGD | {"strong_convexity": 1, "step": Fraction(2, 5)})
    same = noisy_contractions(
        shift=Fraction(4, 5), noise=Fraction(6, 5), after=9, contraction=Fraction(3, 5), only_last_seen=True
    )
    assert loss == same
    assert loss.rho < iterated(**SGD).rho / 10


def test_a_step_that_forgets_everything_is_allowed() -> None:
    assert iterated(**SGD | {"strong_convexity": 4, "step": Fraction(1, 4)}).rho < Fraction(1, 10**9)


def test_more_steps_after_hide_more() -> None:
    for contraction in (1, 0.999, 0.5):
        rhos = [
            noisy_contractions(shift=1, noise=1, after=r, contraction=contraction, only_last_seen=True).rho
            for r in (0, 1, 2, 10, 300, 200_000)
        ]
        assert rhos == sorted(rhos, reverse=True)
        assert len(set(rhos[:4])) == 4


@pytest.mark.parametrize(
    ("change", "error", "match"),
    [
        ({"convex": False}, LossError, "convex"),
        ({"convex": 1}, LossError, "convex"),
        ({"only_last_seen": False}, LossError, "last state"),
        ({"step": Fraction(51, 100)}, InputError, "at most 2/smoothness = 1/2"),
        ({"strong_convexity": 1, "step": Fraction(1, 2)}, InputError, "strong_convexity"),
        ({"strong_convexity": 5}, InputError, "strong_convexity"),
        ({"sigma": 0}, InputError, "sigma"),
        ({"sigma": float("nan")}, InputError, "sigma"),
        ({"lipschitz": -1}, InputError, "lipschitz"),
        ({"after": -1}, InputError, "after"),
        ({"after": 1.5}, InputError, "after"),
    ],
)
def test_preconditions(change: dict[str, Any], error: type[Exception], match: str) -> None:
    with pytest.raises(error, match=match):
        iterated(**SGD | change)


@pytest.mark.parametrize("contraction", [0, 1.01, -0.5, float("inf")])
def test_contraction_lies_in_zero_to_one(contraction: float) -> None:
    with pytest.raises(InputError, match="contraction"):
        noisy_contractions(shift=1, noise=1, after=1, contraction=contraction, only_last_seen=True)
