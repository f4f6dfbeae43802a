"""The kinds of values a policy is written in. Each knows its name for the reference and reads strictly.

A kind raises `InputError` with the end of a sentence that begins `key = value`. Numbers are exact: the decimals
somebody wrote, never the binary float near them.
"""

import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal, InvalidOperation
from enum import StrEnum
from fractions import Fraction
from typing import Any, Literal

from tacit.base import InputError, Relation

__all__ = [
    "PRIVATE",
    "ColumnType",
    "Kind",
    "choice",
    "decimals",
    "labels",
    "name",
    "names",
    "norm",
    "number",
    "pair",
    "point",
    "points",
    "short",
    "sign",
    "span",
    "text",
    "texts",
    "titles",
    "understood",
    "units",
    "whole",
    "yes",
]

LARGEST = 10**60
PRIVATE = "private"
SPAN = re.compile(r"\s*(\d{1,7})\s*(second|minute|hour|day|week)s?\s*")
Point = Fraction | date | datetime | str | bool


@dataclass(frozen=True)
class Kind:
    """What a value must be: in words, and as a function that returns it in its one form. `shape` and `options` are for
    forms: how it is filled in, and what can be chosen."""

    words: str
    read: Callable[[Any], Any]
    shape: Literal["text", "number", "yes", "list"] = "text"
    options: tuple[str, ...] = ()


def _exact(value: object) -> Fraction:
    if isinstance(value, Fraction):
        number = value
    elif isinstance(value, bool) or not isinstance(value, int | float | Decimal | str):
        raise InputError("must be a number such as 0.5")
    else:
        number = _parsed(value)
    if abs(number) > LARGEST or number.denominator > LARGEST:
        raise InputError("is out of range: no number here needs more than 60 digits")
    return number


def _parsed(value: int | float | Decimal | str) -> Fraction:
    if isinstance(value, int):
        return Fraction(value)
    try:
        if isinstance(value, str) and "/" in value and len(value) < 130:
            return Fraction(value)
        decimal = value if isinstance(value, Decimal) else Decimal(repr(value) if isinstance(value, float) else value)
    except (InvalidOperation, ValueError, ZeroDivisionError):
        raise InputError("must be a number such as 0.5") from None
    if not decimal.is_finite():
        raise InputError("must be finite")
    if decimal and abs(decimal.adjusted()) > 60:  # before it is written out with all its zeros
        raise InputError("is out of range: no number here needs more than 60 digits")
    return Fraction(decimal)


def number(
    *, above: int | None = None, least: int | None = None, most: int | None = None, below: int | None = None
) -> Kind:
    """An exact number within limits."""

    def read(value: object) -> Fraction:
        found = _exact(value)
        if above is not None and found <= above:
            raise InputError(f"must be greater than {above}")
        if least is not None and found < least:
            raise InputError(f"must be at least {least}")
        if below is not None and found >= below:
            raise InputError(f"must be less than {below}")
        if most is not None and found > most:
            raise InputError(f"must be at most {most:,}: a larger one protects nobody")
        return found

    return Kind("number", read, "number")


def _whole(value: object) -> int:
    found = _exact(value)
    if found.denominator != 1 or found < 1:
        raise InputError("must be a whole number of at least 1")
    return int(found)


def _yes(value: object) -> bool:
    if not isinstance(value, bool):
        raise InputError("must be true or false, without quotes")
    return value


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise InputError("must be text in quotes")
    if not value or value != value.strip():
        raise InputError("must not be empty, nor begin or end with a space")
    if len(value) > 1000:
        raise InputError("is longer than 1000 characters")
    if any(unicodedata.category(c) in {"Cc", "Cs", "Zl", "Zp"} for c in value):
        raise InputError("must not hold line breaks or control characters")
    return value


def _name(value: object) -> str:
    """One spelling for names that look the same: é as one character or as two is one person."""
    found = unicodedata.normalize("NFC", _text(value))
    if len(found) > 200:
        raise InputError("is longer than 200 characters")
    if any(unicodedata.category(c) == "Cf" and c not in "\u200c\u200d" for c in found):
        raise InputError("must not hold invisible characters")
    return found


def _list(item: Callable[[object], str]) -> Callable[[object], tuple[str, ...]]:
    def read(value: object) -> tuple[str, ...]:
        if isinstance(value, str) or not isinstance(value, Sequence):
            raise InputError('must be a list such as ["one", "two"]')
        found = tuple(item(each) for each in value)
        if len(set(found)) < len(found):
            raise InputError("names something twice")
        return found

    return read


def choice(options: Iterable[StrEnum | Relation]) -> Kind:
    """One of a few words."""
    words = {option.value: option for option in options}
    listed = ", ".join(f'"{word}"' for word in words)

    def read(value: object) -> StrEnum | Relation:
        if isinstance(value, str) and value in words:
            return words[value]
        raise InputError(f"must be one of {listed}")

    return Kind(listed.replace(", ", " or "), read, options=tuple(words))


def point(value: object) -> Point:
    """A value as a column may hold it; whether it suits the column's type is for the column to say."""
    if isinstance(value, datetime):
        if value.tzinfo is not None:
            raise InputError("must be without a time zone: write it in UTC, without Z or an offset")
        return value
    if isinstance(value, date | str | bool):
        return value
    return _exact(value)


def _pair(value: object) -> tuple[Point, Point]:
    if isinstance(value, str) or not isinstance(value, Sequence) or len(value) != 2:
        raise InputError("must be two values, [lower, upper]")
    low, high = value
    return point(low), point(high)


def _points(value: object) -> tuple[Point, ...]:
    if isinstance(value, str) or not isinstance(value, Sequence) or not value:
        raise InputError('must be a list of at least one value, such as ["a", "b"]')
    return tuple(point(item) for item in value)


def _norm(value: object) -> Fraction | str:
    if value == PRIVATE:
        return PRIVATE
    try:
        found = _exact(value)
    except InputError:
        raise InputError('must be a number such as 100, or "private"') from None
    if found <= 0:
        raise InputError("must be greater than 0")
    return found


def _spans(example: str, *, step: str, most: timedelta, limits: str) -> Kind:
    """Whole numbers of a step, up to the most; `limits` says both."""

    def read(value: object) -> timedelta:
        matched = SPAN.fullmatch(value if isinstance(value, str) else "")
        if isinstance(value, timedelta):
            found = value
        elif matched is not None:
            found = int(matched[1]) * timedelta(**{f"{matched[2]}s": 1})
        else:
            raise InputError(f'must be a span such as "{example}": a number of seconds, minutes, hours, days or weeks')
        if not timedelta(0) < found <= most or found % timedelta(**{step: 1}):
            raise InputError(f"must be whole {limits}")
        return found

    return Kind(f'span such as "{example}"', read)


def sign(*, absent: bool = False) -> Kind:
    """One ASCII character that is no letter, digit or line break; "" where there may be none."""

    def read(value: object) -> str:
        if value == "" and absent:
            return ""
        fits = isinstance(value, str) and len(value) == 1 and (value == "\t" or " " < value < "\x7f")
        if not fits or str(value).isalnum():
            none = ', or "" for none' if absent else ""
            raise InputError(f'must be one character such as ";" or "\\t"{none}')
        return str(value)

    return Kind("one character", read)


def _titles(value: object) -> bool | tuple[str, ...]:
    if value is True:
        return True
    if value is False or isinstance(value, str) or not isinstance(value, Sequence) or not value:
        raise InputError('must be true, or the names of the columns in their order, such as ["id", "age"]')
    return _list(_text)(value)


def _texts(value: object) -> tuple[str, ...]:
    found = (value,) if isinstance(value, str) else value
    if not isinstance(found, Sequence) or not all(isinstance(each, str) and len(each) <= 1000 for each in found):
        raise InputError('must be text, or a list such as ["", "NA"]')
    if len(set(found)) < len(found):
        raise InputError("names something twice")
    return tuple(found)


def _units(value: object) -> str | tuple[str, ...]:
    if isinstance(value, str):
        return _text(value)
    if not isinstance(value, Sequence) or not 2 <= len(value) <= 8:
        raise InputError(
            'must be the name of a column, or of two to eight that name a person together: ["tenant", "user"]'
        )
    return _list(_text)(value)


whole = Kind("whole number", _whole, "number")
yes = Kind("true or false", _yes, "yes")
text = Kind("text", _text)
name = Kind("text", _name)
names = Kind("list of text", _list(_text), "list")
labels = Kind("list of text", _list(_name), "list")
pair = Kind("[lower, upper]", _pair)
points = Kind("list of values", _points, "list")
norm = Kind('number or "private"', _norm)
span = _spans(
    "90 days", step="minutes", most=timedelta(days=36_525), limits="minutes, at least one and at most a hundred years"
)
short = _spans("30 seconds", step="seconds", most=timedelta(days=1), limits="seconds, at least one and at most a day")
texts = Kind("text or list of text", _texts)
titles = Kind("true or list of text", _titles)
units = Kind("text or list of text", _units)


class ColumnType(StrEnum):
    """What a column holds."""

    INTEGER = "integer"
    DECIMAL = "decimal"
    FLOAT = "float"
    BOOLEAN = "boolean"
    TEXT = "text"
    DATE = "date"
    TIMESTAMP = "timestamp"

    @property
    def numeric(self) -> bool:
        return self in (ColumnType.INTEGER, ColumnType.DECIMAL, ColumnType.FLOAT)


NATIVE = (
    (r"u?(tiny|small|big|huge)?int(eger)?\d{0,3}|u?int(8|16|32|64|128)|long|short|byte|(small|big)?serial", "integer"),
    (r"(decimal|numeric|dec)(32|64|128|256)?(\(.*\))?", "decimal"),
    (r"double( precision)?|float\d?|real|half_?float|float(16|32|64)", "float"),
    (r"bool(ean)?|logical", "boolean"),
    (r"(large_)?(utf8|string)(_view)?|text|(var|bp)?char(\(\d+\))?|character( varying)?(\(\d+\))?", "text"),
    (r"name|uuid|enum(\(.*\))?|dictionary<values=(large_)?string.*", "text"),
    (r"date(32|64)?(\[.+\])?", "date"),
    (r"(timestamp|datetime)(_?(s|ms|us|ns|ntz|ltz|tz))?(\(\d\))?(\[.+\])?( with(out)? time zone)?", "timestamp"),
)


def understood(native: str) -> ColumnType | None:
    """The type behind an engine's own name for it; None for what cannot be asked about (binary, nested, …)."""
    spelled = " ".join(native.lower().split())
    return next((ColumnType(name) for pattern, name in NATIVE if re.fullmatch(pattern, spelled)), None)


def decimals(native: str) -> int | None:
    """How many decimals a decimal type is declared with, if it says."""
    found = re.fullmatch(r"(?:decimal|numeric|dec)(?:32|64|128|256)?\(\s*\d+\s*,\s*(\d{1,2})\s*\)", native.lower())
    return int(found[1]) if found else None
