"""The closed language of row expressions: columns, constants, and calls of operations that are total and known.

Nothing of an analyst's text survives into it but names that were resolved and constants that were parsed.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction
from math import isfinite
from sys import float_info

from tacit.base import InputError
from tacit.plan.facts import WHOLE, Facts, Type, Value

__all__ = ["Call", "Column", "Constant", "Expression", "constant"]


@dataclass(frozen=True, kw_only=True)
class Expression:
    """A value per row. `facts` hold for every row of every dataset."""

    facts: Facts

    @property
    def parts(self) -> "tuple[Expression, ...]":
        return ()

    def walk(self) -> "Iterator[Expression]":
        yield self
        for part in self.parts:
            yield from part.walk()


@dataclass(frozen=True, kw_only=True)
class Column(Expression):
    """A column of the node below, by its unique name in the plan."""

    name: str


@dataclass(frozen=True, kw_only=True)
class Constant(Expression):
    """A constant of the query. Built by `constant`, which derives the facts."""

    value: Value


@dataclass(frozen=True, kw_only=True)
class Call(Expression):
    """An operation of plan/operation.py on other expressions. Built by `call`, which derives the facts."""

    operation: str
    arguments: tuple[Expression, ...]

    @property
    def parts(self) -> tuple[Expression, ...]:
        return self.arguments


def constant(value: Value | float | Decimal, type: Type = Type.BOOLEAN) -> Constant:  # noqa: A002 - as in Facts
    """A constant with its facts. A NULL fits every operation; `type` is what it has where nothing else decides.

    Whole numbers beyond 2^53 are numbers like any other, whose double is near them.
    """
    if value is None:
        return Constant(value=None, facts=Facts(type=type, domain=(), nullable=True))
    if isinstance(value, bool):
        return Constant(value=value, facts=Facts(type=Type.BOOLEAN, domain=(value,), nullable=False))
    if isinstance(value, str):
        _writable(value)
        return Constant(value=value, facts=Facts(type=Type.TEXT, domain=(value,), nullable=False))
    if isinstance(value, date):  # a datetime is one
        kind = Type.TIMESTAMP if isinstance(value, datetime) else Type.DATE
        if isinstance(value, datetime) and value.tzinfo is not None:
            raise InputError("a timestamp constant has a time zone, and timestamps here have none: leave it out")
        return Constant(value=value, facts=Facts(type=kind, low=value, high=value, domain=(value,), nullable=False))
    return _number(value)


def _number(value: int | float | Fraction | Decimal) -> Constant:
    if isinstance(value, float | Decimal) and not isfinite(value):
        raise InputError("a constant must be a finite number")
    number = Fraction(value)
    if abs(number) > Fraction(float_info.max):
        raise InputError("a constant is too large: numbers go up to 1.797e308")
    whole = number.denominator == 1 and abs(number) <= WHOLE
    shown: Value = int(number) if whole else number
    held = number if whole else Fraction(float(number))  # the double an engine computes with
    kind = Type.INTEGER if whole else Type.NUMBER
    step = abs(number) if number and whole else (Fraction(1) if whole else abs(held) or None)
    facts = Facts(type=kind, low=held, high=held, step=step, domain=(shown,), nullable=False)
    return Constant(value=shown, facts=facts)


def _writable(text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise InputError("a text constant holds half of a surrogate pair, which no engine stores") from None
    if "\0" in text:
        raise InputError("a text constant holds the character NUL, which not every engine stores")
