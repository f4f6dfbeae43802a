"""Plans as text: the same for the same plan, and different where anything differs."""

from datetime import date, datetime
from fractions import Fraction
from typing import Any

import pytest

from tacit.base import InputError
from tacit.plan.bounded import Clip
from tacit.plan.describe import describe, show_expression
from tacit.plan.expression import Column, Expression, constant
from tacit.plan.facts import Facts, Type
from tacit.plan.node import Filter, Scan, Source
from tacit.plan.operation import call
from tacit.program import canonical

X = Column(name="x", facts=Facts(type=Type.INTEGER, low=0, high=9))
QUOTED = Column(name='x", "y', facts=X.facts)

THINGS: list[Any] = [
    None,
    True,
    0,
    1,
    "",
    "1",
    Fraction(1, 3),
    date(2024, 1, 1),
    datetime(2024, 1, 1),
    (1, 2),
    (1, (2,)),
    X,
    QUOTED,
    constant(1),
    constant("1"),
    constant(True),
    constant("x'"),
    constant("x\\'"),
    constant(date(2024, 1, 1)),
    constant(datetime(2024, 1, 1)),
    constant(None),
    constant(None, Type.TEXT),
    constant("null"),
    constant(Fraction(1, 2)),
    constant("1/2"),
    call("add", X, constant(1)),
    call("add", constant(1), X),
    call("subtract", X, constant(1)),
    X.facts,
    X.facts.but(nullable=False),
    X.facts.but(domain=(0,)),
    Scan(table="t", columns=(Source(name="x", column="x", facts=X.facts),), is_private=True),
    Scan(table="t", columns=(Source(name="x", column="y", facts=X.facts),), is_private=True),
    Scan(table="t", columns=(Source(name="x", column="x", facts=X.facts),), is_private=True, unit_name="x"),
    Clip(names=("m",), scales=(Fraction(1),), norm="l1", bound=None),
    Clip(names=("m",), scales=(Fraction(1),), norm="l1", bound=Fraction(1)),
    Clip(names=("m",), scales=(Fraction(1),), norm="l2", bound=Fraction(1)),
]


def test_no_two_things_look_alike() -> None:
    texts = [canonical(describe(thing)) for thing in THINGS]
    assert len(set(texts)) == len(texts)
    assert texts == [canonical(describe(thing)) for thing in THINGS]


def test_what_is_below_is_part_of_it() -> None:
    scan = THINGS[31]
    conditions: list[Expression] = [call("gt", X, constant(1)), call("gt", X, constant(2))]
    texts = {canonical(describe(Filter(below=scan, condition=condition))) for condition in conditions}
    assert len(texts) == 2


def test_what_is_no_part_of_a_plan_is_refused() -> None:
    with pytest.raises(InputError, match="no float"):
        describe(0.5)
    with pytest.raises(InputError, match="no bytes"):
        describe((1, b"x"))


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
def test_constants_in_words(value: object, text: str) -> None:
    assert show_expression(constant(value)) == text  # type: ignore[arg-type]  # one of each kind


def test_operations_in_words() -> None:
    x = Column(name="x_1", facts=Facts(type=Type.INTEGER, low=0, high=9))
    assert show_expression(call("add", x, constant(1))) == "(x_1 + 1)"
    assert show_expression(call("abs", x)) == "abs(x_1)"
