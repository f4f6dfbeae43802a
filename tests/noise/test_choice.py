"""The weighted choice is exact: its envelope holds, integers decide, and its law is the stated one."""

from fractions import Fraction
from functools import partial
from math import exp
from typing import Any

import numpy as np
import pytest
from scipy.stats import chisquare

from support.fixed_rng import FixedRng
from tacit.base import InputError
from tacit.noise.bounds import exp_minus
from tacit.noise.choice import _decay, _envelope, _gammas, _weight, choose
from tacit.noise.coin import is_below

ALARM = 1e-6
Array = np.ndarray[Any, np.dtype[Any]]


def law(multiples: Array, unit: Fraction, counts: Array | None) -> Array:
    """The stated law in extended integer precision."""
    bits = 2000
    many = [1] * len(multiples) if counts is None else [int(c) for c in counts]
    weights = [c * exp_minus(int(m) * unit, bits)[1] for c, m in zip(many, multiples, strict=True)]
    return np.array([float(Fraction(w, sum(weights))) for w in weights])


HUGE = np.array([1, 2**100 + 1, 3], dtype=object)
CASES = [
    pytest.param(np.array([0, 1, 2, 3]), Fraction(1, 2), None, id="plain"),
    pytest.param(np.array([7, 7, 7, 7, 7]), Fraction(1), None, id="uniform"),
    pytest.param(np.array([7, 7, 7]), Fraction(1), np.array([1, 2, 5]), id="only counts"),
    pytest.param(np.array([5, 0, 3]), Fraction(1, 3), np.array([4, 1, 2]), id="counts"),
    pytest.param(np.array([0, 693, 5]), Fraction(1, 10), HUGE, id="huge count, far below"),
    pytest.param(np.array([0, 6230, 3]), Fraction(1, 10), np.array([1, 2**899, 1], dtype=object), id="hugest count"),
    pytest.param(np.array([2**62, 2**62 + 2**54, 2**62 + 2**55]), Fraction(1, 2**54), None, id="beyond 2^53"),
    pytest.param(np.array([0, 10**400, 2 * 10**400], dtype=object), Fraction(1, 10**400), None, id="python integers"),
    pytest.param(np.array([0, 2**60, 2**61]), Fraction(1, 2**1000), None, id="tiny unit"),
]


@pytest.mark.parametrize(("multiples", "unit", "counts"), CASES)
def test_law_is_exact(multiples: Array, unit: Fraction, counts: Array | None) -> None:
    rng, draws, expected = FixedRng(1), 5000, law(multiples, unit, counts)
    seen = np.bincount([choose(multiples, unit, rng, counts) for _ in range(draws)], minlength=len(multiples))
    assert not seen[expected * draws < 1e-3].any()
    often = expected * draws > 5
    assert seen[often].sum() >= draws - 20
    assert chisquare(seen[often], expected[often] / expected[often].sum() * seen[often].sum()).pvalue > ALARM


def test_envelope_is_above_every_weight_and_hardly_above() -> None:
    rng = FixedRng(2)
    gammas = [Fraction(rng.below(10**9), rng.below(10**7) + 1) for _ in range(400)] + [Fraction(0), Fraction(64)]
    counts = np.array([rng.below(2 ** (1 + rng.below(300))) + 1 for _ in gammas], dtype=object)
    shift, envelope = _envelope(np.array([float(g) for g in gammas]), counts)
    assert sum(int(w) for w in envelope) < 2**62
    for gamma, count, bound in zip(gammas, counts, envelope.tolist(), strict=True):
        low, high = _weight(count, gamma, shift, 0)
        assert bound >= high
        assert bound - low <= 4 + low * 2.0**-36


def test_decay_keeps_its_error_bound_over_all_cuts() -> None:
    margin = Fraction(2.0**-38.9)
    gammas = np.concatenate([np.linspace(0, 700, 1501), [63.999999, 64.0, 64.000001, 128.0, 703.9]])
    for gamma, estimate in zip(gammas, _decay(gammas, 11), strict=True):
        low, high = exp_minus(Fraction(gamma), 1200)
        assert low * (1 - margin) <= Fraction(estimate) * (1 << 1200) <= high * (1 + margin)


def test_gammas_are_within_their_bound() -> None:
    unit, multiples = Fraction(12345678901234567890, 9876543210987654321), np.array([1, 2**53 + 1, 2**62 + 12345])
    for m, gamma in zip(multiples.tolist(), _gammas(multiples, unit), strict=True):
        assert abs(Fraction(float(gamma)) / (m * unit) - 1) < Fraction(1, 2**50)


def test_accept_step_has_the_right_probability_where_the_first_look_cannot_decide() -> None:
    rng = FixedRng(3)  # place 0 of a weight below one: every decision needs further bits
    hits = sum(is_below(0, 0, partial(_weight, 3, Fraction(2), -1), rng) for _ in range(4000))
    p = 1.5 * exp(-2)
    assert abs(hits - 4000 * p) < 5 * (4000 * p * (1 - p)) ** 0.5


def test_a_million_cells() -> None:
    multiples = np.arange(10**6)
    found = [choose(multiples, Fraction(1, 1000), FixedRng(seed)) for seed in range(20)]
    assert 200 < np.mean(found) < 3000
    assert len(set(found)) > 15


def test_hopeless_candidates_are_never_chosen() -> None:
    multiples = np.full(1000, 2**62)
    multiples[123] = 0
    assert {choose(multiples, Fraction(1), FixedRng(seed)) for seed in range(50)} == {123}


@pytest.mark.parametrize(
    ("multiples", "unit", "counts", "message"),
    [
        ([], 1, None, "empty"),
        ([1], 0, None, "unit"),
        ([0, 1], 1, [1, 0], "counts"),
        ([0, 1], 1, [1, 2**900], "counts"),
    ],
)
def test_refuses(multiples: list[int], unit: int, counts: list[int] | None, message: str) -> None:
    many = None if counts is None else np.array(counts, dtype=object)
    with pytest.raises(InputError, match=message):
        choose(np.array(multiples, dtype=np.int64), Fraction(unit), FixedRng(), many)
