"""How things are called in messages."""

from datetime import timedelta
from decimal import Decimal
from fractions import Fraction

import pytest

from tacit.base import Problem
from tacit.policy.declaration import duration, instead, number, quoted, shown


def test_places_nest() -> None:
    inner = Problem(("columns", "c", "bounds"), "is wrong", 'column "c"').within('table "t"', "tables", "t")
    assert (str(inner), inner.path) == ('table "t", column "c": is wrong', ("tables", "t", "columns", "c", "bounds"))
    assert str(Problem((), "is wrong").within('table "t"', "tables", "t")) == 'table "t": is wrong'
    assert str(inner.of_file("tacit.toml")) == 'tacit.toml: table "t", column "c": is wrong'


def test_what_was_meant() -> None:
    assert instead("Bound", ["bounds", "step"], those="keys") == 'did you mean "bounds"?'
    assert instead("zzz", ["bounds", "step"], those="keys") == "the keys are bounds, step"
    assert instead("zzz", [], those="keys") == "there are no keys"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (True, "true"), ("a\tb", '"a\\u0009b"'), (Decimal("NaN"), "nan"), (Fraction(1, 3), "1/3"), ([1, [2]], "[1, …]"),
        ({"a": 1}, "{ … }"), (1 << 16000, "a number of 16002 bits"), ("x" * 99, '"' + "x" * 60 + '…"'),
    ],
    ids=lambda value: type(value).__name__)  # fmt: skip
def test_values_are_shown_as_they_are_written(value: object, text: str) -> None:
    assert shown(value) == text


@pytest.mark.parametrize(("value", "text"), [("0.01", "0.01"), ("1e-6", "1e-6"), ("-2.50", "-2.5"), ("12", "12")])
def test_numbers(value: str, text: str) -> None:
    assert number(Fraction(value)) == text


def test_spans_and_quotes() -> None:
    assert duration(timedelta(days=90)) == "90 days"
    assert duration(timedelta(hours=1)) == "1 hour"
    assert quoted("é") == '"é"'
