"""Facts and expressions as text."""

from datetime import date
from fractions import Fraction

import pytest

from tacit.plan.describe import show_expression, show_facts
from tacit.plan.expression import Column, constant
from tacit.plan.facts import Facts, Type
from tacit.plan.operation import call


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "null"),
        (True, "true"),
        (3, "3"),
        (Fraction(1, 4), "0.25"),
        (Fraction(1, 3), "1/3"),
        ("it's", "'it''s'"),
        (date(2024, 2, 3), "2024-02-03"),
    ],
)
def test_constants(value: object, text: str) -> None:
    assert show_expression(constant(value)) == text  # type: ignore[arg-type]  # one of each kind


def test_operations() -> None:
    x = Column(name="x_1", facts=Facts(type=Type.INTEGER, low=0, high=9))
    assert show_expression(call("add", x, constant(1))) == "(x_1 + 1)"
    assert show_expression(call("abs", x)) == "abs(x_1)"


def test_facts() -> None:
    assert show_facts(Facts(type=Type.INTEGER, low=0, nullable=False)) == "[integer 0..]"
    assert show_facts(Facts(type=Type.TEXT, domain=("a", "b"))) == "[text of 2?]"
    assert (
        show_facts(Facts(type=Type.NUMBER, low=Fraction(0), high=Fraction(1), step=Fraction(1, 2)))
        == "[number 0..1 step 1/2?]"
    )
