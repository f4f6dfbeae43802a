"""Numbers for people: the digits that matter, and no noise that looks smaller than it is."""

import re
from fractions import Fraction

import pytest

from tacit.desk.show import digits, margin, measured


@pytest.mark.parametrize(
    ("value", "size", "shown"),
    [
        (15_703, 240.5, "15,703 ± 250"),
        (20.934, 0.06265, "20.934 ± 0.063"),
        (334.4, 49.5, "334 ± 50"),
        (10, 6.0, "10 ± 6"),
        (3, 0.3, "3 ± 0.30"),
        (7, 99.6, "7 ± 100"),
        (0.5, 0.0996, "0.50 ± 0.10"),
        (-3.25, 1.0, "-3.2 ± 1.0"),
        (5, 0.0, "5 ± 0"),
        (1e7, 123_456.0, "10,000,000 ± 130,000"),
    ],
)
def test_two_digits_of_noise_and_no_more_of_the_number(value: float, size: float, shown: str) -> None:
    assert measured(value, size) == shown


def test_noise_never_looks_smaller_than_it_is_nor_much_larger() -> None:
    for power in range(-8, 9):
        for first in range(100, 1000, 7):
            size = first * 10.0**power
            shown = float(re.sub(",", "", margin(size)))
            assert size * (1 - 1e-8) <= shown <= size * 1.1


@pytest.mark.parametrize(
    ("value", "shown"),
    [("1/10", "0.1"), ("3/10", "0.3"), ("1/3", "0.334"), ("1001", "1010"), ("100", "100"), ("0.0012341", "0.00124")],
)
def test_a_price_is_rounded_up_from_the_amount_itself(value: str, shown: str) -> None:
    assert digits(Fraction(value)) == shown
