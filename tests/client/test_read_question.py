"""What is sent: exact numbers, and the errors that a local session has."""

import json
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest

from tacit.base import InputError, Number
from tacit.client.read import question_of


def sent(sql: Any = "SELECT 1", **more: Any) -> dict[str, Any]:
    given: dict[str, Any] = {"epsilon": None, "rho": None, "error": None, "confidence": 0.95} | more
    found: dict[str, Any] = json.loads(question_of(sql, **given))
    return found


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0.1, "0.1"),
        ("0.10", "0.1"),
        (10, "10"),
        (Decimal("1e-30"), "0.000000000000000000000000000001"),
        (1e-7, "0.0000001"),
        (Fraction(2, 3), "0." + "6" * 30),  # down: never more than was offered
    ],
)
def test_numbers_are_exact_decimals(number: Number, text: str) -> None:
    for name in ("epsilon", "rho", "error"):
        assert sent(**{name: number}) == {"sql": "SELECT 1", name: text, "confidence": "0.95"}


def test_what_was_not_offered_is_left_to_the_service() -> None:
    assert sent(confidence=1e-7) == {"sql": "SELECT 1", "confidence": "0.0000001"}


@pytest.mark.parametrize(
    "wrong",
    [
        {"epsilon": 1, "rho": 1},
        {"epsilon": 0},
        {"epsilon": float("nan")},
        {"rho": float("inf")},
        {"error": -1},
        {"epsilon": Fraction(1, 10**31)},
        {"epsilon": 1, "confidence": 1},
        {"epsilon": 1, "sql": 7},
    ],
)
def test_wrong_arguments_do_not_leave(wrong: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        sent(**wrong)


def test_an_ibis_expression_is_sent_as_sql() -> None:
    ibis = pytest.importorskip("ibis")
    visits = ibis.table({"ward": "string"}, name="visits")
    assert "COUNT" in sent(visits.count(), epsilon=1)["sql"]
