"""What is known without looking: domains that are counted out, and steps that hold to the last bit."""

from datetime import date, datetime
from fractions import Fraction

import pytest

from tacit.base import InputError
from tacit.plan.facts import Facts, Type, Value, domain_of, exact_step


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        (Facts(type=Type.BOOLEAN), (False, True)),
        (Facts(type=Type.INTEGER, low=-1, high=2), (-1, 0, 1, 2)),
        (Facts(type=Type.INTEGER, low=-7, high=11, step=Fraction(5)), (-5, 0, 5, 10)),
        (Facts(type=Type.NUMBER, low=0, high=1, step=Fraction(1, 2)), (0, Fraction(1, 2), 1)),
        (
            Facts(type=Type.DATE, low=date(2024, 2, 28), high=date(2024, 3, 1)),
            (date(2024, 2, 28), date(2024, 2, 29), date(2024, 3, 1)),
        ),
        (Facts(type=Type.TEXT, domain=("b", "a")), ("b", "a")),
        (Facts(type=Type.INTEGER, low=3, high=3), (3,)),
    ],
)
def test_a_domain_is_counted_out(facts: Facts, expected: tuple[Value, ...]) -> None:
    assert domain_of(facts) == expected


@pytest.mark.parametrize(
    "facts",
    [
        Facts(type=Type.INTEGER, low=0),
        Facts(type=Type.INTEGER, low=0, high=1_000_000),
        Facts(type=Type.NUMBER, low=0, high=1),
        Facts(type=Type.NUMBER, low=0, high=1, step=Fraction(1, 10)),  # doubles only come near tenths
        Facts(type=Type.TEXT),
        Facts(type=Type.TIMESTAMP, low=datetime(2024, 1, 1), high=datetime(2024, 1, 2)),
    ],
)
def test_no_domain(facts: Facts) -> None:
    assert domain_of(facts) is None


def test_a_million_values_are_the_most() -> None:
    assert len(domain_of(Facts(type=Type.INTEGER, low=1, high=1_000_000)) or ()) == 1_000_000
    assert domain_of(Facts(type=Type.INTEGER, low=1, high=11), 10) is None
    assert domain_of(Facts(type=Type.TEXT, domain=("a", "b")), 1) is None


def test_exact_steps() -> None:
    assert exact_step(Facts(type=Type.INTEGER)) == 1
    assert exact_step(Facts(type=Type.INTEGER, step=Fraction(5))) == 5
    assert exact_step(Facts(type=Type.NUMBER, low=0, high=9, step=Fraction(1, 8))) == Fraction(1, 8)
    assert exact_step(Facts(type=Type.NUMBER, step=Fraction(1, 8))) is None
    assert exact_step(Facts(type=Type.NUMBER, low=0, high=2**51, step=Fraction(1, 8))) is None
    assert exact_step(Facts(type=Type.NUMBER, low=0, high=9, step=Fraction(1, 100))) is None
    assert exact_step(Facts(type=Type.TEXT)) is None


def test_a_reversed_range_is_refused() -> None:
    with pytest.raises(InputError, match="reversed"):
        Facts(type=Type.INTEGER, low=2, high=1)
