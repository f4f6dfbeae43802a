"""Texts, in characters that are code points, and what is read from them.

Letters other than A to Z keep their case: engines differ on them. What cannot be read as another type is NULL, by the
same rule in every engine.
"""

from collections.abc import Callable
from datetime import date, datetime
from fractions import Fraction
from math import inf
from re import compile as pattern

from tacit.base import InputError
from tacit.plan.expression import Expression
from tacit.plan.facts import WHOLE, Facts, Type
from tacit.plan.operation.kind import TEXT, ArgumentKind, Arguments, Held, Operation, any_null, takes, truth
from tacit.plan.operation.logic import LOWER
from tacit.plan.operation.number import rounded
from tacit.plan.operation.range import End, ends, is_whole, number_facts, size_of

__all__ = ["DATE", "FALSE", "INTEGER", "LONGEST", "MOST", "NUMBER", "OPERATIONS", "TRUE"]

LONGEST = 4096  # characters of a text that was put together: more are cut off, so that no text grows without end
MOST = 1_000_000_000  # where a part of a text may begin, and how long it may be
UPPER = {small: large for large, small in LOWER.items()}
LARGE, SMALL = ("".join(map(chr, letters)) for letters in (LOWER, UPPER))

# no engine's own reading of these differs from another's
INTEGER = "[+-]?[0-9]{1,15}"
NUMBER = "[+-]?([0-9]{1,15}([.][0-9]{1,15})?|[.][0-9]{1,15})([eE][+-]?[0-9]{1,2})?"
DATE = "[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])"
TRUE = ("true", "TRUE", "True", "t", "T", "1")
FALSE = ("false", "FALSE", "False", "f", "F", "0")
_INTEGER, _NUMBER, _DATE = pattern(INTEGER), pattern(NUMBER), pattern(DATE)
MOST_READ = Fraction(10) ** 15 - 1


def _word(what: str, least: int = 0, most: float = inf) -> ArgumentKind:
    return ArgumentKind(what, (Type.TEXT,), lambda value: isinstance(value, str) and least <= len(value) <= most)


def _place(what: str, least: int) -> ArgumentKind:
    return ArgumentKind(what, (Type.INTEGER,), lambda value: isinstance(value, int) and least <= value <= MOST)


WORD = _word("a constant text")
SOUGHT = _word("a constant text that is not empty", 1, LONGEST)
PUT = _word(f"a constant text of at most {LONGEST} characters", 0, LONGEST)
START = _place("a constant position, from 1", 1)
COUNT = _place("a constant number of characters, from 0", 0)
PLAIN = (Type.BOOLEAN, Type.INTEGER, Type.NUMBER, Type.TEXT)
READ = ArgumentKind("a number, a truth value or a text", PLAIN)
WRITTEN = ArgumentKind("a whole number, a truth value or a text", PLAIN)
DAY = ArgumentKind("a date, a timestamp or a text", (Type.DATE, Type.TIMESTAMP, Type.TEXT))


def _text_facts(*arguments: Expression) -> Facts:
    return Facts(type=Type.TEXT, nullable=any_null(*arguments))


def _length_facts(x: Expression, *sought: Expression) -> Facts:
    why = "the length of a text has no bounds: use CLAMP"
    return number_facts(Fraction(0), inf, whole=True, nullable=x.facts.nullable, why=why)


def _substr(text: str, start: float, length: float = MOST) -> str:
    return text[int(start) - 1 : int(start) - 1 + int(length)]


def _split_part(text: str, mark: str, place: float) -> str:
    parts = text.split(mark)
    return parts[int(place) - 1] if place <= len(parts) else ""


def _replace(text: str, sought: str, put: str) -> str:
    if len(put) <= len(sought):
        return text.replace(sought, put)
    return text[:LONGEST].replace(sought, put)[:LONGEST]


def _to_integer(x: Held) -> Held:
    if isinstance(x, str):
        return float(x) if _INTEGER.fullmatch(x) else None
    return rounded(float(x)) if isinstance(x, bool | float) else None


def _to_integer_facts(argument: Expression) -> Facts:
    x = argument.facts
    low, high = (end if isinstance(end, float) else Fraction(rounded(float(end))) for end in _numbers(x, MOST_READ))
    step = x.step if is_whole(x) else None
    return number_facts(low, high, whole=True, step=step, nullable=_unread(x), why=x.why)


def _to_number(x: Held) -> Held:
    if isinstance(x, str):
        return float(x) if _NUMBER.fullmatch(x) else None
    return float(x) if isinstance(x, bool | float) else None


def _to_number_facts(argument: Expression) -> Facts:
    x = argument.facts
    why = x.why or "a number read from a text has no bounds: use CLAMP"
    whole = is_whole(x) or x.type is Type.BOOLEAN
    facts = number_facts(*_numbers(x, inf), whole=whole, step=x.step, nullable=_unread(x), why=why)
    return facts.but(type=Type.NUMBER)


def _numbers(x: Facts, most: End) -> tuple[End, End]:
    if x.type is Type.BOOLEAN:
        return Fraction(0), Fraction(1)
    return (-most, most) if x.type is Type.TEXT else ends(x)


def _unread(x: Facts) -> bool:
    return x.nullable or x.type is Type.TEXT


def _written(name: str, arguments: Arguments) -> Arguments:
    (x,) = arguments = takes(WRITTEN)(name, arguments)
    if x.facts.type is Type.NUMBER and not is_whole(x.facts):
        raise InputError("to_text is for whole numbers, since engines write others differently: use ROUND first")
    return arguments


def _to_text(x: Held) -> Held:
    if isinstance(x, bool):
        return "true" if x else "false"
    if isinstance(x, float):
        return str(int(x)) if abs(x) <= WHOLE else None
    return x


def _to_text_facts(x: Expression) -> Facts:
    large = x.facts.type.numeric and size_of(*ends(x.facts)) > WHOLE
    return Facts(type=Type.TEXT, nullable=x.facts.nullable or large)


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


def _to_date_facts(argument: Expression) -> Facts:
    x = argument.facts
    low, high = (end.date() if isinstance(end, datetime) else end for end in (x.low, x.high))
    why = x.why or ("a date read from a text has no bounds" if x.type is Type.TEXT else "")
    return Facts(type=Type.DATE, low=low, high=high, nullable=_unread(x), why=why)


def _text(name: str, about: str, value: Callable[..., Held], sql: str, *parts: ArgumentKind) -> Operation:
    return Operation(name, about, takes(TEXT, *parts), _text_facts, value, sql)


def _test(name: str, about: str, value: Callable[..., Held], sql: str) -> Operation:
    return Operation(name, about, takes(TEXT, WORD), lambda *given: truth(any_null(*given)), value, sql)


OPERATIONS = (
    _text("lower", "A to Z in small letters", lambda x: x.translate(LOWER), f"TRANSLATE({{x}}, '{LARGE}', '{SMALL}')"),
    _text("upper", "a to z in capitals", lambda x: x.translate(UPPER), f"TRANSLATE({{x}}, '{SMALL}', '{LARGE}')"),
    Operation("length", "the number of characters", takes(TEXT), _length_facts, lambda x: float(len(x)),
              "CAST(CHAR_LENGTH({x}) AS {double})"),
    Operation("substr", "characters from a constant position, a constant number of them",
              takes(TEXT, START, COUNT, least=2), _text_facts, _substr),
    _text("left", "the first characters", lambda x, n: x[: int(n)], "SUBSTRING({x}, 1, {k[1]})", COUNT),
    _text("right", "the last characters", lambda x, n: x[max(len(x) - int(n), 0) :], "RIGHT({x}, {k[1]})", COUNT),
    Operation("concat", f"one text after another, the first {LONGEST} characters; NULL where one is",
              takes(TEXT, more=TEXT), _text_facts,
              lambda *texts: "".join(text[:LONGEST] for text in texts)[:LONGEST]),
    _text("trim", "without spaces at both ends", lambda x: x.strip(" "), "TRIM(BOTH ' ' FROM {x})"),
    _text("ltrim", "without spaces at the beginning", lambda x: x.lstrip(" "), "TRIM(LEADING ' ' FROM {x})"),
    _text("rtrim", "without spaces at the end", lambda x: x.rstrip(" "), "TRIM(TRAILING ' ' FROM {x})"),
    Operation("position", "where a constant text first begins in x, from 1; 0 where it does not", takes(TEXT, SOUGHT),
              _length_facts, lambda x, y: float(x.find(y) + 1), "CAST(STRPOS({c}, {y}) AS {double})"),
    _text("split_part", "the piece of x with this number, from 1, between constant texts; empty where there is none",
          _split_part, "SPLIT_PART({x}, {y}, {k[2]})", SOUGHT, START),
    _text("replace", f"one constant text in place of another; {LONGEST} characters where it grows", _replace, "",
          SOUGHT, PUT),
    _test("starts_with", "whether x begins with a constant text", str.startswith, "STARTS_WITH({c}, {y})"),
    _test("ends_with", "whether x ends with a constant text", str.endswith, "ENDS_WITH({x}, {y})"),
    _test("contains", "whether x contains a constant text", str.__contains__, "CONTAINS({x}, {y})"),
    Operation("to_integer", "a number rounded half away from 0, a text of up to 15 digits, or 1 and 0 for true and "
              "false", takes(READ), _to_integer_facts, _to_integer),
    Operation("to_number", "a text such as -12.5e3 (15 digits before and after the point), a whole number, or 1 and 0",
              takes(READ), _to_number_facts, _to_number),
    Operation("to_text", "a whole number up to 2^53, a truth value (true, false) or a text", _written, _to_text_facts,
              _to_text),
    Operation("to_boolean", "whether a number is not 0; true, t and 1, false, f and 0 of texts", takes(READ),
              lambda x: truth(_unread(x.facts)), _to_boolean),
    Operation("to_date", "the day of a timestamp, or of a text such as 2024-12-31", takes(DAY), _to_date_facts,
              _to_date),
)  # fmt: skip
