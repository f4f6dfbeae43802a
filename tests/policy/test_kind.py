"""Values are read strictly and exactly."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.base import InputError
from tacit.policy import kind


@given(st.decimals(allow_nan=False, allow_infinity=False, min_value=-(10**9), max_value=10**9, places=12))
def test_a_decimal_is_read_exactly_however_it_comes(value: Decimal) -> None:
    read = kind.number().read
    assert read(value) == read(str(value)) == Fraction(value)


def test_a_float_is_the_decimal_it_prints_as() -> None:
    assert kind.number().read(0.1) == Fraction(1, 10)


@pytest.mark.parametrize(
    "value", [True, None, "", "x", "1/0", "nan", float("inf"), Decimal("sNaN"), [1], "1e999999999", "9" * 100, b"1", 1j]
)
def test_what_is_not_a_number(value: object) -> None:
    with pytest.raises(InputError):
        kind.number().read(value)


def test_limits_of_numbers() -> None:
    for limits, value in (({"above": 0}, 0), ({"least": 1}, 0), ({"below": 1}, 1), ({"most": 5}, 6)):
        with pytest.raises(InputError, match="must be"):
            kind.number(**limits).read(value)


@pytest.mark.parametrize(
    ("text", "span"),
    [("90 days", timedelta(days=90)), ("1 hour", timedelta(hours=1)), (" 2weeks ", timedelta(days=14))],
)
def test_spans(text: str, span: timedelta) -> None:
    assert kind.span.read(text) == span


@pytest.mark.parametrize(
    "value", ["0 days", "1 month", "-1 days", "999999 weeks", 90, timedelta(seconds=90), "1.5 days"]
)
def test_what_is_not_a_span(value: object) -> None:
    with pytest.raises(InputError):
        kind.span.read(value)


def test_times_are_without_a_zone() -> None:
    with pytest.raises(InputError, match="without a time zone"):
        kind.pair.read([datetime(2020, 1, 1, tzinfo=UTC), datetime(2021, 1, 1)])


def test_whole_numbers() -> None:
    assert kind.whole.read(Decimal("3.0")) == 3
    for value in (0, -1, Decimal("2.5"), "many"):
        with pytest.raises(InputError):
            kind.whole.read(value)
