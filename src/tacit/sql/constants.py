"""Constants of a query, read exactly: numbers as they are written, dates as the calendar has them."""

import re
from datetime import date, datetime
from fractions import Fraction

from sqlglot import exp

from tacit.base import Mistake, RefusalKind, Refused
from tacit.plan.expression import Constant, constant
from tacit.sql.mistake import place, refused, shown

__all__ = [
    "interval_amount", "interval_unit", "literal", "number", "query_number", "to_date", "to_timestamp", "whole",
]  # fmt: skip

NUMBER = re.compile(r"(?P<digits>\d*\.?\d*)(?:[eE](?P<power>[+-]?\d{1,4}))?", re.ASCII)
MOST_DIGITS = 40
MOST_POWER = 60
MOST_UNITS = 10**9  # of an interval
SPELLINGS = {
    "dayofyear": "doy", "isoweek": "week", "weekiso": "week", "weekofyear": "week", "dayofweek": "dow",
    "weekday": "dow", "dayofweekiso": "isodow", "dayofweek_iso": "isodow", "dayofmonth": "day", "mon": "month",
    "yy": "year", "yyyy": "year", "qq": "quarter", "mm": "month", "dd": "day", "hh": "hour", "mi": "minute",
    "ss": "second", "min": "minute", "sec": "second",
}  # fmt: skip
DATE = re.compile(r"\d{4}-\d{1,2}-\d{1,2}", re.ASCII)
TIMESTAMP = re.compile(r"(\d{4}-\d{1,2}-\d{1,2})(?:[ T](\d{1,2}):(\d{2})(?::(\d{2})(?:\.(\d{1,6}))?)?)?", re.ASCII)


def number(text: str) -> Fraction:
    """The number that was written, all its digits."""
    found = NUMBER.fullmatch(text)
    if found is None or not any(c.isdigit() for c in found["digits"]):
        raise Mistake(f"the number {text[:MOST_DIGITS]} is not read: write it in decimals, such as 1000 or 0.25 or 1e6")
    power = int(found["power"] or 0)
    if len(found["digits"]) > MOST_DIGITS or abs(power) > MOST_POWER:
        raise Refused(
            f"the number {text[:MOST_DIGITS]} is refused, since it has more than {MOST_DIGITS} digits or is beyond "
            f"10^±{MOST_POWER}: no answer needs it",
            kind=RefusalKind.LIMIT,
        )
    return Fraction(found["digits"]) * Fraction(10) ** power


def to_date(text: str) -> date:
    """A day, written 2024-03-01."""
    try:
        if DATE.fullmatch(text.strip()):
            year, month, day = (int(part) for part in text.strip().split("-"))
            return date(year, month, day)
    except ValueError:
        pass
    raise Mistake(f"{text[:MOST_DIGITS]!r} is not a date: write one as DATE '2024-03-01'")


def to_timestamp(text: str) -> datetime:
    """A moment without time zone, written 2024-03-01 or 2024-03-01 12:30:00, to the microsecond."""
    found = TIMESTAMP.fullmatch(text.strip())
    try:
        if found is not None:
            day = to_date(found[1])
            hour, minute, second = (int(found[i] or 0) for i in (2, 3, 4))
            return datetime(day.year, day.month, day.day, hour, minute, second, int((found[5] or "").ljust(6, "0")))
    except ValueError:
        pass
    raise Mistake(
        f"{text[:MOST_DIGITS]!r} is not a timestamp without time zone: write one as TIMESTAMP '2024-03-01 12:30:00'"
    )


def whole(value: Fraction, what: str, *, least: int = 0, most: int = 10**9) -> int:
    """A whole number within limits, for what is counted in a query."""
    if value.denominator != 1 or not least <= value <= most:
        raise Refused(f"{what} must be a whole number from {least} to {most:,}", kind=RefusalKind.MISTAKE)
    return int(value)


def literal(node: exp.Expr | None) -> Constant | None:
    """A number, text or truth value as it stands in the query, or NULL; None for anything else."""
    plain = None if node is None else node.unnest()
    sign = 1
    if type(plain) is exp.Neg:
        plain, sign = plain.this.unnest(), -1
    if type(plain) is exp.Literal and not plain.is_string:
        return constant(sign * number(plain.name))
    if sign == -1 or plain is None:
        return None
    match plain:
        case exp.Literal():
            return constant(plain.name)
        case exp.Boolean():
            return constant(bool(plain.this))
        case exp.Null():
            return constant(None)
    return None


def query_number(node: exp.Expr, given: exp.Expr | None, what: str) -> int:
    """A whole number that stands in the query itself, as an argument of `node`."""
    known = literal(given)
    if known is None or isinstance(known.value, bool) or not isinstance(known.value, int):
        raise Mistake(f"{place(node)}{shown(node)} is refused: {what} is a whole number in the query")
    return known.value


def interval_unit(node: exp.Expr, unit: exp.Expr | None) -> str:
    """The unit or field that is named, in small letters and without a plural."""
    if type(unit) not in (exp.Var, exp.Literal, exp.Column) or unit is None or not unit.name:
        raise refused(shown(node), "its unit is one word", "write 'month', 'day' …", RefusalKind.MISTAKE, at=node)
    word = unit.name.lower()
    singular = word[:-1] if word.endswith("s") and len(word) > 3 else word
    return SPELLINGS.get(singular, singular)


def interval_amount(node: exp.Expr, given: exp.Expr | None) -> int:
    """How many units an interval has: a number, or a text with one."""
    plain = None if given is None else given.unnest()
    sign = 1
    if type(plain) is exp.Neg:
        plain, sign = plain.this.unnest(), -1
    if type(plain) is not exp.Literal:
        why = "an interval is a constant number of one unit"
        raise refused(shown(node), why, "write INTERVAL 3 DAY", RefusalKind.UNSUPPORTED, at=node)
    text = plain.name.strip()
    if text.startswith("-"):
        text, sign = text[1:], -sign
    try:
        return sign * whole(number(text), "an interval", most=MOST_UNITS)
    except Refused as error:
        raise Refused(f"{place(node)}{shown(node)}: {error}; write INTERVAL 3 DAY", kind=error.kind) from None
