"""Exact numbers: every parameter that decides a probability is a `Fraction`, never a float.

A float argument has two honest readings: the binary double itself and the shortest decimal that prints like it
(0.1 is 3602879701896397/36028797018963968, or 1/10). Where a number sets noise, the reading that means more noise
wins: a scale or a sensitivity rounds up. Where a person states a budget, the decimal they wrote is what they mean.
The value in force is a plain attribute of the object it ended in.

A field of a `frozen` class is declared as `Ratio`, `OptionalRatio` or `Ratios`: type checkers let any `Number` in and
read a `Fraction` out (PEP 681, descriptor-typed fields); `__post_init__` makes that true.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal, localcontext
from fractions import Fraction
from math import isfinite
from typing import TYPE_CHECKING, Any, Literal, Never, SupportsFloat, SupportsIndex, TypeVar, dataclass_transform

import numpy as np

from tacit.base.errors import InputError

__all__ = [
    "Number",
    "OptionalRatio",
    "Ratio",
    "Ratios",
    "between",
    "default",
    "exact",
    "frozen",
    "non_negative",
    "positive",
    "round_up",
    "short",
    "show",
    "whole",
]

T = TypeVar("T")
Number = int | float | Fraction | Decimal | str | SupportsFloat | SupportsIndex
Toward = Literal["up", "down", "decimal"]
ENORMOUS = re.compile(r"e[+-]?[\d_]{5}", re.IGNORECASE)  # a few characters that would take all memory as a fraction

if TYPE_CHECKING:  # nobody owns one, so assigning to such a field is an error

    class Ratio:
        """A field given as a number and read as a rational."""

        def __get__(self, owner: object, kind: type | None = None) -> Fraction: ...
        def __set__(self, owner: Never, value: Number) -> None: ...

    class OptionalRatio:
        """The same, or nothing."""

        def __get__(self, owner: object, kind: type | None = None) -> Fraction | None: ...
        def __set__(self, owner: Never, value: Number | None) -> None: ...

    class Ratios:
        """Several."""

        def __get__(self, owner: object, kind: type | None = None) -> tuple[Fraction, ...]: ...
        def __set__(self, owner: Never, value: Iterable[Number]) -> None: ...

else:  # at run time the annotation is the type that is read, which stored forms go by
    Ratio, OptionalRatio, Ratios = Fraction, Fraction | None, tuple[Fraction, ...]


@dataclass_transform(kw_only_default=True)
def frozen(cls: type[T]) -> type[T]:
    """A frozen dataclass with named arguments, whose fields may be a `Ratio`."""
    return dataclass(frozen=True, kw_only=True)(cls)


def default(value: Fraction | None) -> Any:
    """The default of such a field."""
    return value


def exact(value: object, name: str, *, toward: Toward = "up") -> Fraction:
    """`value` as a rational; a float is read as its decimal, or as the further `toward` of that and the double."""
    if isinstance(value, bool | np.bool_) or value is None:
        raise InputError(f"{name} must be a number, not {value!r}")
    if isinstance(value, Fraction):
        return value
    if isinstance(value, int | np.integer):
        return Fraction(int(value))
    if isinstance(value, float | np.floating):
        number = float(value)
        if not isfinite(number):
            raise InputError(f"{name} must be finite, not {number}")
        double, decimal = Fraction(number), Fraction(repr(number))
        return {"up": max(double, decimal), "down": min(double, decimal), "decimal": decimal}[toward]
    if isinstance(value, Decimal | str):
        if ENORMOUS.search(str(value)):
            raise InputError(f"{name} must be a number with an exponent of at most four digits")
        try:
            return Fraction(value)
        except (ValueError, OverflowError, ZeroDivisionError):
            raise InputError(f"{name} must be a finite number such as 0.5 or '1/3', not {value!r}") from None
    raise InputError(f"{name} must be a number, not {type(value).__name__}")


def positive(value: object, name: str, *, toward: Toward = "up") -> Fraction:
    """An exact rational above zero, or an error that names the argument."""
    number = exact(value, name, toward=toward)
    if number <= 0:
        raise InputError(f"{name} must be greater than 0, not {show(number)}")
    return number


def non_negative(value: object, name: str, *, toward: Toward = "up") -> Fraction:
    """An exact rational of at least zero."""
    number = exact(value, name, toward=toward)
    if number < 0:
        raise InputError(f"{name} must not be negative, not {show(number)}")
    return number


def between(value: object, name: str, low: int, high: int, *, toward: Toward = "decimal") -> Fraction:
    """An exact rational strictly between `low` and `high`."""
    number = exact(value, name, toward=toward)
    if not low < number < high:
        raise InputError(f"{name} must lie strictly between {low} and {high}, not {show(number)}")
    return number


def whole(value: object, name: str, *, least: int = 0) -> int:
    """A Python integer of at least `least`; 3.0 is accepted, 3.5 is not."""
    number = exact(value, name)
    if number.denominator != 1 or number < least:
        raise InputError(f"{name} must be a whole number of at least {least}, not {show(number)}")
    return int(number)


def round_up(value: float | Fraction, *, bits: int = 40) -> Fraction:
    """The least rational with `bits` significant bits that is not below `value` (which is positive)."""
    number = Fraction(value)
    shift = bits - (number.numerator.bit_length() - number.denominator.bit_length())
    scaled = number * Fraction(2) ** shift
    return Fraction(-(-scaled.numerator // scaled.denominator)) / Fraction(2) ** shift


def show(number: Fraction) -> str:
    """How a person would write the number: `3`, `1/3`, `0.1`, or 12 significant digits of something unwieldy."""
    if number.denominator == 1 or number.denominator < 1000:
        return str(number)
    return f"{float(number):.12g}" if abs(number) < Fraction(10) ** 300 else f"{number.numerator}/{number.denominator}"


def short(value: Fraction, *, up: bool) -> str:
    """Four significant digits of an amount, for people: what is paid is rounded up, what is left is rounded down."""
    with localcontext(Context(prec=4, rounding=ROUND_CEILING if up else ROUND_FLOOR)):
        found = (Decimal(value.numerator) / Decimal(value.denominator)).normalize()
    plain = f"{found:f}" if -5 < found.adjusted() < 15 else f"{found:e}".replace("e-0", "e-").replace("e+", "e")
    return plain.rstrip("0").rstrip(".") if "." in plain and "e" not in plain else plain
