"""Stored data come back exactly, or not at all."""

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.base import InputError
from tacit.base.stored import fraction_from_text, fraction_to_text, only_fields, shown


@given(st.fractions())
def test_fractions_round_trip(value: Fraction) -> None:
    assert fraction_from_text(fraction_to_text(value, "x"), "x") == value


def test_how_fractions_are_written() -> None:
    assert fraction_to_text(Fraction(6, 4), "x") == "3/2"
    assert fraction_to_text(Fraction(-3), "x") == "-3"


BAD = [
    1,
    1.5,
    True,
    None,
    ["1"],
    "0.5",
    "1e9",
    "1e999999999",
    " 1",
    "1\n",
    "+1",
    "1_0",
    "2/4",
    "3/1",
    "01",
    "-0",
    "1/0",
]


@pytest.mark.parametrize("bad", [*BAD, "", "1/", "/2", "1/-2", "nan", "inf", "\u0663", "9" * 5000])
def test_other_spellings_are_refused_by_name(bad: Any) -> None:
    with pytest.raises(InputError, match="scale"):
        fraction_from_text(bad, "scale")


def test_a_number_too_long_to_write_is_refused_by_name() -> None:
    with pytest.raises(InputError, match="scale has too many digits"):
        fraction_to_text(Fraction(10**5000), "scale")


def test_fields_are_neither_missing_nor_unknown() -> None:
    assert only_fields({"a": 1, "b": 2}, "a thing", ("b", "a")) == {"a": 1, "b": 2}
    with pytest.raises(InputError, match="a thing lacks b:"):
        only_fields({"a": 1}, "a thing", ("a", "b"))
    with pytest.raises(InputError, match="a thing has unknown 'c':"):
        only_fields({"a": 1, "c": 2}, "a thing", ("a",))
    with pytest.raises(InputError, match="lacks b and has unknown 3:"):
        only_fields({"a": 1, 3: 2}, "a thing", ("a", "b"))
    with pytest.raises(InputError, match=r"a thing must be an object with the fields a, b, not list"):
        only_fields(["a", "b"], "a thing", ("a", "b"))


def test_an_error_shows_a_line_of_anything() -> None:
    assert shown("a") == "'a'"
    assert shown(10**5000) == "int too long to show"
    assert len(shown(["x"] * 1000)) == 81
    with pytest.raises(InputError, match="scale"):
        fraction_from_text(10**5000, "scale")
