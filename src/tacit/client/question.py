"""What is sent to be quoted or answered: the question, and what is offered for it, checked before it leaves."""

import json
from decimal import Decimal
from fractions import Fraction
from typing import Any

from tacit.base import InputError, Number
from tacit.session.offer import Offer
from tacit.sql.text import sql_text

__all__ = ["question_of"]

DIGITS = 30  # after the point, which is what a service reads


def question_of(
    sql: Any, *, epsilon: Number | None, rho: Number | None, error: Number | None, confidence: Number
) -> bytes:
    """The body of a request, the same for the same arguments; the same errors as a local session's.

    What does not end within thirty digits is rounded down: never more is spent, and no larger error taken, than said.
    """
    offer = Offer.of(epsilon, rho, error, confidence)
    given = {"epsilon": offer.epsilon, "rho": offer.rho, "error": offer.error}
    numbers = {name: _decimal(value, name) for name, value in given.items() if value is not None}
    sure = format(Decimal(repr(offer.confidence)), "f")
    return json.dumps({"sql": sql_text(sql), **numbers, "confidence": sure}, sort_keys=True).encode()


def _decimal(value: Fraction, name: str) -> str:
    scaled = value.numerator * 10**DIGITS // value.denominator
    if not scaled:
        raise InputError(f"{name} is too small to be sent: it has no digit among the first {DIGITS} after the point")
    whole, rest = divmod(scaled, 10**DIGITS)
    return f"{whole}.{rest:0{DIGITS}d}".rstrip("0").rstrip(".")
