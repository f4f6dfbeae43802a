"""Texts, in characters that are code points. Letters other than A to Z keep their case: engines differ on them."""

from collections.abc import Callable
from fractions import Fraction
from math import inf

from tacit.plan.facts import Facts, Type
from tacit.plan.operation_kind import Arguments, Held, Operation, Part, any_null, takes
from tacit.plan.operation_logic import LOWER, TEXT, truth
from tacit.plan.operation_range import number_facts

__all__ = ["LONGEST", "OPERATIONS", "UPPER"]

LONGEST = 4096  # characters of a text that was put together: more are cut off, so that no text grows without end
MOST = 1_000_000_000  # where a part of a text may begin, and how long it may be
UPPER = {small: large for large, small in LOWER.items()}

WORD = Part(what="a constant text", types=frozenset({Type.TEXT}), fixed=True)
SOUGHT = Part(
    what="a constant text that is not empty",
    types=frozenset({Type.TEXT}),
    fixed=True,
    allows=lambda value: isinstance(value, str) and 0 < len(value) <= LONGEST,
)
PUT = Part(
    what=f"a constant text of at most {LONGEST} characters",
    types=frozenset({Type.TEXT}),
    fixed=True,
    allows=lambda value: isinstance(value, str) and len(value) <= LONGEST,
)
START = Part(
    what="a constant position, from 1",
    types=frozenset({Type.INTEGER}),
    fixed=True,
    allows=lambda value: isinstance(value, int) and 1 <= value <= MOST,
)
COUNT = Part(
    what="a constant number of characters, from 0",
    types=frozenset({Type.INTEGER}),
    fixed=True,
    allows=lambda value: isinstance(value, int) and 0 <= value <= MOST,
)


def _text_facts(arguments: Arguments) -> Facts:
    return Facts(type=Type.TEXT, nullable=any_null(arguments))


def _truth_facts(arguments: Arguments) -> Facts:
    return truth(any_null(arguments))


def _length_facts(arguments: Arguments) -> Facts:
    (x,) = arguments
    why = "the length of a text has no bounds: use CLAMP"
    return number_facts(Fraction(0), inf, whole=True, nullable=x.facts.nullable, why=why)


def _substr(text: str, start: float, length: float = MOST) -> str:
    return text[int(start) - 1 : int(start) - 1 + int(length)]


def _replace(text: str, sought: str, put: str) -> str:
    if len(put) <= len(sought):
        return text.replace(sought, put)
    return text[:LONGEST].replace(sought, put)[:LONGEST]


def _text(name: str, about: str, value: Callable[..., Held], *parts: Part, least: int | None = None) -> Operation:
    return Operation(name=name, about=about, fit=takes(name, TEXT, *parts, least=least), facts=_text_facts, value=value)


def _test(name: str, about: str, value: Callable[..., Held]) -> Operation:
    return Operation(name=name, about=about, fit=takes(name, TEXT, WORD), facts=_truth_facts, value=value)


OPERATIONS = (
    _text("lower", "A to Z in small letters", lambda x: x.translate(LOWER)),
    _text("upper", "a to z in capitals", lambda x: x.translate(UPPER)),
    Operation(
        name="length",
        about="the number of characters",
        fit=takes("length", TEXT),
        facts=_length_facts,
        value=lambda x: float(len(x)),
    ),
    _text("substr", "characters from a constant position, a constant number of them", _substr, START, COUNT, least=2),
    _text("left", "the first characters", lambda x, n: x[: int(n)], COUNT),
    _text("right", "the last characters", lambda x, n: x[len(x) - min(int(n), len(x)) :], COUNT),
    Operation(
        name="concat",
        about=f"one text after another, the first {LONGEST} characters; NULL where one is",
        fit=takes("concat", TEXT, more=TEXT),
        facts=_text_facts,
        value=lambda *texts: "".join(text[:LONGEST] for text in texts)[:LONGEST],
    ),
    _text("trim", "without spaces at both ends", lambda x: x.strip(" ")),
    _text("ltrim", "without spaces at the beginning", lambda x: x.lstrip(" ")),
    _text("rtrim", "without spaces at the end", lambda x: x.rstrip(" ")),
    _text(
        "replace", f"one constant text in place of another; {LONGEST} characters where it grows", _replace, SOUGHT, PUT
    ),
    _test("starts_with", "whether x begins with a constant text", lambda x, y: x.startswith(y)),
    _test("ends_with", "whether x ends with a constant text", lambda x, y: x.endswith(y)),
    _test("contains", "whether x contains a constant text", lambda x, y: y in x),
)
