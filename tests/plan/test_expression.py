"""Constants and their facts."""

from datetime import UTC, date, datetime
from decimal import Decimal
from fractions import Fraction

import pytest

from tacit.base import InputError
from tacit.plan.expression import Column, constant
from tacit.plan.facts import Facts, Type, Value
from tacit.plan.operation import call


@pytest.mark.parametrize(
    ("value", "kind", "exact"),
    [
        (True, Type.BOOLEAN, True),
        (7, Type.INTEGER, 7),
        (7.0, Type.INTEGER, 7),
        (Decimal("0.1"), Type.NUMBER, Fraction(1, 10)),
        (2**53 + 1, Type.NUMBER, Fraction(2**53 + 1)),
        ("é", Type.TEXT, "é"),
        (date(1, 1, 1), Type.DATE, date(1, 1, 1)),
        (datetime(2024, 1, 1), Type.TIMESTAMP, datetime(2024, 1, 1)),
    ],
)
def test_a_constant_knows_itself(value: Value, kind: Type, exact: Value) -> None:
    made = constant(value)
    assert made.value == exact
    assert made.facts.type is kind
    assert made.facts.domain == (exact,)
    assert not made.facts.nullable


def test_the_range_of_a_number_is_of_its_double() -> None:
    facts = constant(Decimal("0.1")).facts
    assert facts.low == facts.high == Fraction(0.1) != Fraction(1, 10)


def test_null_has_the_type_it_is_given() -> None:
    facts = constant(None, Type.TEXT).facts
    assert (facts.type, facts.domain, facts.nullable) == (Type.TEXT, (), True)


@pytest.mark.parametrize(
    "value", [float("nan"), float("inf"), 10**309, "a\0b", "\ud800", datetime(2024, 1, 1, tzinfo=UTC)]
)
def test_what_no_engine_holds_is_refused(value: Value) -> None:
    with pytest.raises(InputError, match="constant"):
        constant(value)


def test_walk_goes_through_all_parts() -> None:
    x = Column(name="x", facts=Facts(type=Type.NUMBER))
    one = constant(1)
    inner = call("add", x, one)
    outer = call("negate", inner)
    assert list(outer.walk()) == [outer, inner, x, one]
