"""Comparisons and SQL's logic of three values. Texts compare by code point, whatever an engine's collation says."""

from collections.abc import Callable
from functools import cache
from operator import eq, ge, gt, le, lt, ne
from re import DOTALL, Pattern, escape
from re import compile as regex
from typing import Any

from tacit.base import InputError
from tacit.plan.expression import Constant
from tacit.plan.facts import Facts, Type
from tacit.plan.operation_kind import Arguments, Fit, Held, Operation, Part, alike, any_null, takes, text_constant

__all__ = ["ANY", "BOOLEAN", "LOWER", "OPERATIONS", "TEXT", "pattern_tokens", "truth"]

ANY = Part(what="a value", types=frozenset(Type))
BOOLEAN = Part(what="a condition", types=frozenset({Type.BOOLEAN}))
TEXT = Part(what="a text", types=frozenset({Type.TEXT}))
PATTERN = Part(what="a constant pattern", types=frozenset({Type.TEXT}), fixed=True)
ESCAPE = Part(
    what="one constant escape character",
    types=frozenset({Type.TEXT}),
    fixed=True,
    allows=lambda value: isinstance(value, str) and len(value) == 1,
)
LOWER = {code: code + 32 for code in range(ord("A"), ord("Z") + 1)}


def truth(nullable: bool) -> Facts:
    """The facts of a condition."""
    return Facts(type=Type.BOOLEAN, domain=(False, True), nullable=nullable)


def _alike(name: str, count: int) -> Fit:
    parts = takes(name, *(ANY,) * count)
    return lambda arguments: alike(name, parts(arguments))


def _listed(arguments: Arguments) -> Arguments:
    parts = takes("in", ANY, more=ANY, least=2)
    for argument in (arguments := alike("in", parts(arguments)))[1:]:
        if not isinstance(argument, Constant):
            raise InputError("in needs constants in its list")
    return arguments


def _in(value: Held, *values: Held) -> Held:
    if value is None:
        return None
    return True if value in [v for v in values if v is not None] else None if None in values else False


def _all(*values: Held) -> Held:
    return False if False in values else None if None in values else True


def _any(*values: Held) -> Held:
    return True if True in values else None if None in values else False


def _between(x: Held, low: Held, high: Held) -> Held:
    return _all(_at_least(x, low), _at_least(high, x))


def _at_least(x: Any, y: Any) -> Held:
    return None if x is None or y is None else bool(x >= y)


def pattern_tokens(pattern: str, mark: str | None = None) -> tuple[str | None, ...]:
    """A LIKE pattern as literal characters, "" for any one character and None for any number of them."""
    tokens: list[str | None] = []
    characters = iter(pattern)
    for character in characters:
        if character == mark:
            following = next(characters, None)
            if following is None:
                raise InputError("like has a pattern that ends in its escape character: double it, or leave it out")
            tokens.append(following)
        else:
            tokens.append(None if character == "%" else "" if character == "_" else character)
    return tuple(tokens)


def _pattern(name: str) -> Fit:
    parts = takes(name, TEXT, PATTERN, ESCAPE, least=2)

    def fit(arguments: Arguments) -> Arguments:
        arguments = parts(arguments)
        pattern_tokens(*(text_constant(argument) for argument in arguments[1:]))
        return arguments

    return fit


@cache
def _regex(pattern: str, mark: str | None) -> Pattern[str]:
    tokens = pattern_tokens(pattern, mark)
    return regex("".join(".*" if t is None else "." if t == "" else escape(t) for t in tokens), DOTALL)


def _like(text: str, pattern: str, mark: str | None = None) -> bool:
    return _regex(pattern, mark).fullmatch(text) is not None


def _ilike(text: str, pattern: str, mark: str | None = None) -> bool:
    return _like(text.translate(LOWER), pattern.translate(LOWER), None if mark is None else mark.translate(LOWER))


def _first_null(arguments: Arguments) -> Facts:
    return truth(arguments[0].facts.nullable)


def _null_facts(arguments: Arguments) -> Facts:
    return truth(any_null(arguments))


def _comparison(name: str, sign: str, compare: Callable[[Any, Any], bool]) -> Operation:
    return Operation(name=name, about=f"x {sign} y", fit=_alike(name, 2), facts=_null_facts, value=compare)


def _loose(name: str, about: str, fit: Fit, nullable: bool, value: Callable[..., Held]) -> Operation:
    facts = _null_facts if nullable else lambda arguments: truth(False)
    return Operation(name=name, about=about, fit=fit, facts=facts, value=value, strict=False)


OPERATIONS = (
    _comparison("eq", "=", eq),
    _comparison("ne", "<>", ne),
    _comparison("lt", "<", lt),
    _comparison("le", "<=", le),
    _comparison("gt", ">", gt),
    _comparison("ge", ">=", ge),
    _loose("is_null", "whether x is NULL", takes("is_null", ANY), False, lambda x: x is None),
    _loose("is_not_null", "whether x is not NULL", takes("is_not_null", ANY), False, lambda x: x is not None),
    _loose("is_distinct", "x <> y, where NULL is a value of its own", _alike("is_distinct", 2), False, ne),
    _loose("is_not_distinct", "x = y, where NULL is a value of its own", _alike("is_not_distinct", 2), False, eq),
    _loose("between", "x >= low AND x <= high", _alike("between", 3), True, _between),
    _loose("in", "whether x is one of the constants", _listed, True, _in),
    Operation(
        name="like",
        about="whether x fits a constant pattern of % and _; the third argument is the escape character, none without",
        fit=_pattern("like"),
        facts=_first_null,
        value=_like,
    ),
    Operation(
        name="ilike",
        about="like, with A to Z and a to z alike (no other letters)",
        fit=_pattern("ilike"),
        facts=_first_null,
        value=_ilike,
    ),
    _loose("and", "whether all are true", takes("and", BOOLEAN, more=BOOLEAN), True, _all),
    _loose("or", "whether one is true", takes("or", BOOLEAN, more=BOOLEAN), True, _any),
    Operation(name="not", about="NOT x", fit=takes("not", BOOLEAN), facts=_null_facts, value=lambda x: not x),
    _loose("is_true", "whether x is true; NULL is not", takes("is_true", BOOLEAN), False, lambda x: x is True),
    _loose("is_false", "whether x is false; NULL is not", takes("is_false", BOOLEAN), False, lambda x: x is False),
)
