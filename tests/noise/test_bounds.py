"""exp_minus, times and narrow enclose the truth, computed beside them in mpmath, and closely."""

from fractions import Fraction

import mpmath
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.statistics import number
from tacit.base import InputError
from tacit.noise.bounds import _series, exp_minus, narrow, times

WIDE = 4  # units between the bounds, at most

GAMMAS = [
    Fraction(0),
    Fraction(1, 10**60),
    Fraction(1, 2**2000),
    Fraction(1, 255),
    Fraction(1, 256),
    Fraction(1, 257),
    Fraction(10**50 + 1, 10**50),
    Fraction(10**400 + 1, 3**700),
    Fraction(1),
    Fraction(2),
    Fraction(64),
    Fraction(255),
    Fraction(256),
    Fraction(1234567, 1000),
    Fraction(10**40),
    Fraction(10**400, 7),
]


def truth(gamma: Fraction, bits: int) -> mpmath.mpf:
    """exp(−γ)·2^bits; call it inside a precision of `bits` and something."""
    return mpmath.ldexp(mpmath.exp(-number(gamma)), bits)


def assert_encloses(gamma: Fraction, bits: int) -> None:
    low, high = exp_minus(gamma, bits)
    assert isinstance(low, int)
    assert isinstance(high, int)
    assert 0 <= low <= high <= low + WIDE
    with mpmath.workprec(bits + gamma.numerator.bit_length() + 128):
        assert low <= truth(gamma, bits) <= high


@pytest.mark.parametrize("gamma", GAMMAS, ids=range(len(GAMMAS)))
@pytest.mark.parametrize("bits", [8, 16, 53, 64, 96, 128, 500, 2000])
def test_exp_minus_encloses(gamma: Fraction, bits: int) -> None:
    assert_encloses(gamma, bits)


@given(st.fractions(0, 300), st.integers(8, 2000))
def test_exp_minus_encloses_any_fraction(gamma: Fraction, bits: int) -> None:
    assert_encloses(gamma, bits)


@given(st.integers(0, 2**200), st.integers(1, 2**200), st.integers(8, 300))
def test_exp_minus_encloses_huge_terms(numerator: int, denominator: int, bits: int) -> None:
    assert_encloses(Fraction(numerator, denominator), bits)


@given(st.integers(8, 400), st.integers(-2, 2))
def test_exp_minus_at_the_cut(bits: int, offset: int) -> None:
    """Around γ = bits + 1, where the answer becomes (0, 1) without a computation."""
    assert_encloses(Fraction(bits + 1) + Fraction(offset, 10**9), bits)


@given(st.integers(16, 200), st.fractions(0, 1))
def test_the_series_counts_its_own_errors(work: int, part: Fraction) -> None:
    """Before any guard bits hide it: the floored terms and the remainder lie within the series' own bounds."""
    x = int(part * 2 ** (work - 8))
    low, high = _series(x, work)
    with mpmath.workprec(work + 64):
        true = mpmath.ldexp(mpmath.exp(-mpmath.ldexp(mpmath.mpf(x), -work)), work)
        assert low <= true <= high
        assert high - low <= 4 * work  # and not wastefully


def test_a_negative_gamma_is_refused() -> None:
    with pytest.raises(InputError, match="gamma"):
        exp_minus(Fraction(-1, 10**30), 64)


@given(st.data(), st.integers(8, 300))
def test_times_encloses_every_product(data: st.DataObject, bits: int) -> None:
    ends = [sorted(data.draw(st.tuples(*[st.integers(0, 2**bits)] * 2))) for _ in range(2)]
    a, b = ((low, high) for low, high in ends)
    low, high = times(a, b, bits)
    assert low * 2**bits <= a[0] * b[0]
    assert high * 2**bits >= a[1] * b[1]
    assert (low + 1) * 2**bits > a[0] * b[0]
    assert (high - 1) * 2**bits < a[1] * b[1]


@given(st.integers(-10, 2**200), st.integers(0, 2**100), st.integers(1, 200), st.integers(0, 100))
def test_narrow_encloses_and_is_never_negative(low: int, width: int, target: int, drop: int) -> None:
    new_low, new_high = narrow((low, low + width), target + drop, target)
    assert new_low >= 0
    assert new_low * 2**drop <= max(low, 0)
    assert new_high * 2**drop >= low + width
    assert (new_low + 1) * 2**drop > low
    assert (new_high - 1) * 2**drop < low + width
