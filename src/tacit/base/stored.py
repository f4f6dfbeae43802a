"""Reading stored data strictly: what was written comes back exactly, and anything else is refused by name."""

import re
from collections.abc import Iterable
from fractions import Fraction
from typing import Any

from tacit.base.errors import InputError

__all__ = ["fraction_from_text", "fraction_to_text", "only_fields", "shown"]

WRITTEN = re.compile(r"-?[0-9]+(/[0-9]+)?")
LINE = 80  # characters of a value that an error shows


def fraction_to_text(value: Fraction, name: str) -> str:
    """An exact rational in lowest terms: "3/2", or "3" for a whole number."""
    try:
        return str(value)
    except ValueError:  # Python writes whole numbers of at most some thousand digits
        raise InputError(f"{name} has too many digits to be stored: choose a rounder number") from None


def fraction_from_text(text: Any, name: str) -> Fraction:
    """The inverse of `fraction_to_text`; a float, a decimal, or terms that are not lowest are refused."""
    if not isinstance(text, str) or not WRITTEN.fullmatch(text):
        raise InputError(f"{name} must be stored as an exact fraction such as '3/2', not as {shown(text)}")
    try:
        value = Fraction(text)
    except (ValueError, ZeroDivisionError):
        raise InputError(f"{name} must be stored as a fraction with a denominator and fewer digits") from None
    if str(value) != text:
        raise InputError(f"{name} must be stored in lowest terms, as {shown(str(value))}, not as {shown(text)}")
    return value


def only_fields(data: Any, what: str, names: Iterable[str]) -> dict[str, Any]:
    """`data`, if it is an object with exactly these fields; else an error that says which are missing or unknown."""
    expected = list(names)
    if not isinstance(data, dict):
        raise InputError(f"{what} must be an object with the fields {', '.join(expected)}, not {type(data).__name__}")
    missing = [name for name in expected if name not in data]
    unknown = [shown(name) for name in data if name not in expected]
    wrong = [f"{kind} {', '.join(found)}" for kind, found in (("lacks", missing), ("has unknown", unknown)) if found]
    if wrong:
        raise InputError(f"{what} {' and '.join(wrong)}: it has exactly the fields {', '.join(expected)}")
    return data


def shown(data: Any) -> str:
    """What was found, for an error: its repr, if that can be written, cut to one line."""
    try:
        text = repr(data)
    except (ValueError, RecursionError):  # a number of thousands of digits, a list within itself thousands of times
        text = f"{type(data).__name__} too long to show"
    return text if len(text) <= LINE else f"{text[:LINE]}…"
