"""The closed language of row expressions: columns, constants, and calls of operations that are total and known.

Nothing of an analyst's text survives into it but names that were resolved and constants that were parsed.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction
from hashlib import sha256
from math import isfinite
from sys import float_info

from tacit.base import InputError, cached_property
from tacit.plan.facts import WHOLE, Facts, Type, Value

__all__ = ["Call", "Column", "Constant", "Expression", "constant"]


SMALL = 64  # parts of an expression that is its own identity


@dataclass(frozen=True, kw_only=True)
class Expression:
    """A value per row. `facts` hold for every row of every dataset."""

    facts: Facts

    @property
    def parts(self) -> "tuple[Expression, ...]":
        return ()

    @cached_property
    def size(self) -> int:
        """How many parts it has, written out. A part that is used twice counts twice, and is looked at once."""
        return 1 + sum(part.size for part in self.parts)

    @property
    def line(self) -> str:
        """The expression on one line, the same for the same and for no other."""
        raise NotImplementedError

    @property
    def identity(self) -> str:
        """The line of a small expression, and a digest of a large one: short, the same for the same and no other."""
        return self.line

    def walk(self) -> "Iterator[Expression]":
        yield self
        for part in self.parts:
            yield from part.walk()


@dataclass(frozen=True, kw_only=True)
class Column(Expression):
    """A column of the node below, by its unique name in the plan."""

    name: str

    @property
    def line(self) -> str:
        return _quoted(self.name, '"')


@dataclass(frozen=True, kw_only=True)
class Constant(Expression):
    """A constant of the query. Built by `constant`, which derives the facts."""

    value: Value

    @property
    def line(self) -> str:
        value = self.value
        kind = "null" if value is None else type(value).__name__.lower()
        text = "" if value is None else value.isoformat() if isinstance(value, date) else str(value)
        return f"{kind}:{_quoted(text, chr(39))}:{self.facts.type}"


@dataclass(frozen=True, kw_only=True)
class Call(Expression):
    """An operation of plan/operation on other expressions. Built by `call`, which derives the facts."""

    operation: str
    arguments: tuple[Expression, ...]

    @property
    def parts(self) -> tuple[Expression, ...]:
        return self.arguments

    @property
    def line(self) -> str:
        return f"{self.operation}({', '.join(part.line for part in self.parts)})"

    @cached_property
    def identity(self) -> str:
        written = f"{self.operation}({', '.join(part.identity for part in self.parts)})"
        return written if self.size <= SMALL else f"#{sha256(written.encode()).hexdigest()}"


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


def _quoted(text: str, mark: str) -> str:
    return mark + text.replace("\\", "\\\\").replace(mark, "\\" + mark) + mark
