"""From one type to another: what cannot be read as the new type is NULL, by the same rule in every engine."""

from datetime import date, datetime
from fractions import Fraction
from math import inf
from re import compile as pattern

from tacit.base import InputError
from tacit.plan.facts import WHOLE, Facts, Type
from tacit.plan.operation_kind import Arguments, Held, Operation, Part, takes
from tacit.plan.operation_logic import truth
from tacit.plan.operation_number import rounded
from tacit.plan.operation_range import End, ends, is_whole, number_facts, size_of

__all__ = ["DATE", "FALSE", "INTEGER", "NUMBER", "OPERATIONS", "TRUE"]

# no engine's own reading of these differs from another's
INTEGER = "[+-]?[0-9]{1,15}"
NUMBER = "[+-]?([0-9]{1,15}([.][0-9]{1,15})?|[.][0-9]{1,15})([eE][+-]?[0-9]{1,2})?"
DATE = "[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])"
TRUE = ("true", "TRUE", "True", "t", "T", "1")
FALSE = ("false", "FALSE", "False", "f", "F", "0")

_INTEGER, _NUMBER, _DATE = pattern(INTEGER), pattern(NUMBER), pattern(DATE)
MOST_READ = Fraction(10) ** 15 - 1

READ = Part(
    what="a number, a truth value or a text",
    types=frozenset({Type.BOOLEAN, Type.INTEGER, Type.NUMBER, Type.TEXT}),
)
DAY = Part(what="a date, a timestamp or a text", types=frozenset({Type.DATE, Type.TIMESTAMP, Type.TEXT}))
WRITTEN = Part(
    what="a whole number, a truth value or a text",
    types=frozenset({Type.BOOLEAN, Type.INTEGER, Type.NUMBER, Type.TEXT}),
)


def _to_integer(x: Held) -> Held:
    if isinstance(x, str):
        return float(x) if _INTEGER.fullmatch(x) else None
    return rounded(float(x)) if isinstance(x, bool | float) else None


def _to_integer_facts(arguments: Arguments) -> Facts:
    x = arguments[0].facts
    low, high = _numbers(x, MOST_READ)
    cut = [end if isinstance(end, float) else Fraction(rounded(float(end))) for end in (low, high)]
    step = x.step if is_whole(x) else None
    return number_facts(cut[0], cut[1], whole=True, step=step, nullable=_unread(x), why=x.why)


def _to_number(x: Held) -> Held:
    if isinstance(x, str):
        return float(x) if _NUMBER.fullmatch(x) else None
    return float(x) if isinstance(x, bool | float) else None


def _to_number_facts(arguments: Arguments) -> Facts:
    x = arguments[0].facts
    low, high = _numbers(x, inf)
    why = x.why or "a number read from a text has no bounds: use CLAMP"
    whole = is_whole(x) or x.type is Type.BOOLEAN
    facts = number_facts(low, high, whole=whole, step=x.step, nullable=_unread(x), why=why)
    return facts.but(type=Type.NUMBER)


def _numbers(x: Facts, most: End) -> tuple[End, End]:
    if x.type is Type.BOOLEAN:
        return Fraction(0), Fraction(1)
    return (-most, most) if x.type is Type.TEXT else ends(x)


def _unread(x: Facts) -> bool:
    return x.nullable or x.type is Type.TEXT


def _written(arguments: Arguments) -> Arguments:
    (x,) = arguments = takes("to_text", WRITTEN)(arguments)
    if x.facts.type is Type.NUMBER and not is_whole(x.facts):
        raise InputError("to_text is for whole numbers, since engines write others differently: use ROUND first")
    return arguments


def _to_text(x: Held) -> Held:
    if isinstance(x, bool):
        return "true" if x else "false"
    if isinstance(x, float):
        return str(int(x)) if abs(x) <= WHOLE else None
    return x


def _to_text_facts(arguments: Arguments) -> Facts:
    x = arguments[0].facts
    large = x.type.numeric and size_of(*ends(x)) > WHOLE
    return Facts(type=Type.TEXT, nullable=x.nullable or large)


def _to_boolean(x: Held) -> Held:
    if isinstance(x, str):
        return True if x in TRUE else False if x in FALSE else None
    return x if isinstance(x, bool) else x != 0


def _to_date(x: Held) -> Held:
    if isinstance(x, str):
        try:
            return date.fromisoformat(x) if _DATE.fullmatch(x) else None
        except ValueError:
            return None
    return x.date() if isinstance(x, datetime) else x


def _to_date_facts(arguments: Arguments) -> Facts:
    x = arguments[0].facts
    low, high = (end.date() if isinstance(end, datetime) else end for end in (x.low, x.high))
    why = x.why or ("a date read from a text has no bounds" if x.type is Type.TEXT else "")
    return Facts(type=Type.DATE, low=low, high=high, nullable=_unread(x), why=why)


OPERATIONS = (
    Operation(
        name="to_integer",
        about="a number rounded half away from 0, a text of up to 15 digits, or 1 and 0 for true and false",
        fit=takes("to_integer", READ),
        facts=_to_integer_facts,
        value=_to_integer,
    ),
    Operation(
        name="to_number",
        about="a text such as -12.5e3 (15 digits before and after the point), a whole number, or 1 and 0",
        fit=takes("to_number", READ),
        facts=_to_number_facts,
        value=_to_number,
    ),
    Operation(
        name="to_text",
        about="a whole number up to 2^53, a truth value (true, false) or a text",
        fit=_written,
        facts=_to_text_facts,
        value=_to_text,
    ),
    Operation(
        name="to_boolean",
        about="whether a number is not 0; true, t and 1, false, f and 0 of texts",
        fit=takes("to_boolean", READ),
        facts=lambda arguments: truth(_unread(arguments[0].facts)),
        value=_to_boolean,
    ),
    Operation(
        name="to_date",
        about="the day of a timestamp, or of a text such as 2024-12-31",
        fit=takes("to_date", DAY),
        facts=_to_date_facts,
        value=_to_date,
    ),
)
