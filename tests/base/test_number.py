"""Exact numbers: how floats are read, and what is refused."""

from decimal import Decimal
from fractions import Fraction
from math import inf, nan

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.base import InputError, between, exact, non_negative, positive, round_up, show, whole
from tacit.base.number import Toward, short

FINITE = st.floats(allow_nan=False, allow_infinity=False)
READINGS: tuple[Toward, ...] = ("down", "decimal", "up")


def test_a_float_has_two_readings() -> None:
    assert Fraction(0.1) > Fraction(1, 10)
    assert exact(0.1, "x") == exact(0.1, "x", toward="up") == Fraction(0.1)
    assert exact(0.1, "x", toward="down") == exact(0.1, "x", toward="decimal") == Fraction(1, 10)
    assert Fraction(0.3) < Fraction(3, 10)
    assert exact(0.3, "x") == exact(0.3, "x", toward="decimal") == Fraction(3, 10)
    assert exact(0.3, "x", toward="down") == Fraction(0.3)


@given(FINITE)
def test_readings_are_ordered_and_print_alike(x: float) -> None:
    down, decimal, up = (exact(x, "x", toward=t) for t in READINGS)
    assert down <= Fraction(x) <= up
    assert down <= decimal <= up
    assert float(down) == float(decimal) == float(up) == x


@pytest.mark.parametrize(
    ("value", "number"),
    [
        (3, Fraction(3)),
        (np.int64(-7), Fraction(-7)),
        (np.uint64(2**64 - 1), Fraction(2**64 - 1)),
        (np.float64(0.5), Fraction(1, 2)),
        (np.float32(0.5), Fraction(1, 2)),
        (Fraction(2, 6), Fraction(1, 3)),
        (Decimal("0.1"), Fraction(1, 10)),
        ("0.1", Fraction(1, 10)),
        ("1/3", Fraction(1, 3)),
        ("1e-3", Fraction(1, 1000)),
        ("-2E+0300", Fraction(-2 * 10**300)),
        (10**400, Fraction(10**400)),
    ],
)
def test_numbers_of_every_kind(value: object, number: Fraction) -> None:
    found = exact(value, "x")
    assert found == number
    assert type(found) is Fraction


@pytest.mark.parametrize(
    "value",
    [
        *(None, True, False, np.True_, b"1", [1], (1,), {}, object(), 1j, np.array([1.0])),
        *(nan, inf, -inf, np.float32("nan"), Decimal("NaN"), Decimal("Infinity")),
        *("nan", "inf", "", "one", "1/0"),
        *("1e999999999", "1E-1_000_000", Decimal("1e999999999")),  # short to write, and endless as a fraction
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_is_not_a_finite_number_is_refused_by_name(value: object) -> None:
    for read in (exact, positive, non_negative, whole, lambda v, n: between(v, n, 0, 1)):
        with pytest.raises(InputError, match=r"^budget must be"):
            read(value, "budget")


def test_signs_and_ranges() -> None:
    assert positive(1e-300, "x") > 0
    assert non_negative(0, "x") == 0
    assert between(0.5, "x", 0, 1) == Fraction(1, 2)
    for bad in (0, -1, 0.0, -0.0, "-1/3"):
        with pytest.raises(InputError, match="scale must be greater than 0"):
            positive(bad, "scale")
    with pytest.raises(InputError, match="must not be negative"):
        non_negative(-1e-300, "x")
    for bad in (0, 1, -0.1, 1.1):
        with pytest.raises(InputError, match="strictly between 0 and 1"):
            between(bad, "delta", 0, 1)


def test_whole_numbers() -> None:
    assert whole(3.0, "n") == whole("3", "n") == whole(np.int8(3), "n") == 3
    assert type(whole(3.0, "n")) is int
    for bad in (3.5, -1, "1/2"):
        with pytest.raises(InputError, match="n must be a whole number of at least 0"):
            whole(bad, "n")
    with pytest.raises(InputError, match="at least 2"):
        whole(1, "n", least=2)


@given(st.fractions(min_value=Fraction(1, 10**30), max_value=10**30), st.integers(2, 60))
def test_round_up_is_above_close_and_short(value: Fraction, bits: int) -> None:
    up = round_up(value, bits=bits)
    assert value <= up <= value * (1 + Fraction(2, 2**bits))
    odd = up.numerator // (up.numerator & -up.numerator)
    assert odd.bit_length() <= bits + 1
    assert up.denominator & (up.denominator - 1) == 0


@given(st.floats(min_value=1e-300, max_value=1e300))
def test_round_up_of_floats_never_goes_down(value: float) -> None:
    assert round_up(value) >= Fraction(value)


def test_show() -> None:
    assert [show(Fraction(x)) for x in ("3", "1/3", "-5/7")] == ["3", "1/3", "-5/7"]
    assert show(Fraction(0.1)) == "0.1"
    assert show(Fraction(10**301, 10007)).count("/") <= 1
    assert show(Fraction(10**400 + 1, 10**7 + 1)).endswith(f"/{10**7 + 1}")


def test_amounts_for_people_have_four_digits_up_for_what_is_paid_and_down_for_what_is_left() -> None:
    cases = {"4.999999999993905309": ("5", "4.999"), "0.580110767523": ("0.5802", "0.5801"), "0.5": ("0.5", "0.5")}
    cases |= {
        "7.33333e-7": ("7.334e-7", "7.333e-7"),
        "12345": ("12350", "12340"),
        "0": ("0", "0"),
        "100": ("100", "100"),
    }
    for text, (paid, left) in cases.items():
        assert (short(Fraction(text), up=True), short(Fraction(text), up=False)) == (paid, left)
