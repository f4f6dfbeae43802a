"""Comparisons, SQL's logic of three values, and choices. Texts compare by code point, whatever the collation says."""

from collections.abc import Callable, Sequence
from functools import cache
from operator import eq, ge, gt, le, lt, ne
from re import DOTALL, Pattern, escape
from re import compile as regex
from typing import Any

from tacit.base import InputError
from tacit.plan.expression import Constant, Expression
from tacit.plan.facts import Facts, Type, Value, domain_of
from tacit.plan.operation.kind import (
    ANY,
    BOOLEAN,
    TEXT,
    ArgumentKind,
    Arguments,
    Fit,
    Held,
    Operation,
    alike,
    any_null,
    is_null,
    takes,
    text_constant,
    truth,
)
from tacit.plan.operation.range import common_step, step_of, why_of

__all__ = ["LOWER", "OPERATIONS", "pattern_tokens"]

MOST_OUTCOMES = 1000  # that are listed
LOWER = {code: code + 32 for code in range(ord("A"), ord("Z") + 1)}
PATTERN = ArgumentKind("a constant pattern", (Type.TEXT,), lambda value: True)
ESCAPE = ArgumentKind(
    "one constant escape character", (Type.TEXT,), lambda value: isinstance(value, str) and len(value) == 1
)
ORDERED = ArgumentKind("a number, a date or a timestamp", frozenset(Type) - {Type.BOOLEAN, Type.TEXT})
SORTED = ArgumentKind("a value that has an order", frozenset(Type) - {Type.BOOLEAN})


def _listed(name: str, arguments: Arguments) -> Arguments:
    arguments = takes(ANY, more=ANY, least=2, same=True)(name, arguments)
    if not all(isinstance(argument, Constant) for argument in arguments[1:]):
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


def _pattern(name: str, arguments: Arguments) -> Arguments:
    arguments = takes(TEXT, PATTERN, ESCAPE, least=2)(name, arguments)
    pattern_tokens(*(text_constant(argument) for argument in arguments[1:]))
    return arguments


@cache
def _regex(pattern: str, mark: str | None) -> Pattern[str]:
    tokens = pattern_tokens(pattern, mark)
    return regex("".join(".*" if t is None else "." if t == "" else escape(t) for t in tokens), DOTALL)


def _like(text: str, pattern: str, mark: str | None = None) -> bool:
    return _regex(pattern, mark).fullmatch(text) is not None


def _ilike(text: str, *pattern: str) -> bool:
    return _like(text.translate(LOWER), *(part.translate(LOWER) for part in pattern))


def _like_facts(x: Expression, *pattern: Expression) -> Facts:
    return truth(x.facts.nullable)


def _truth_facts(*arguments: Expression) -> Facts:
    return truth(any_null(*arguments))


def _together(*outcomes: Expression, nullable: bool | None = None) -> Facts:
    """What holds of every outcome. A NULL constant adds nothing but NULL."""
    facts = [outcome.facts for outcome in outcomes if not is_null(outcome)]
    if not facts:
        return outcomes[0].facts.but(nullable=True)
    types = {fact.type for fact in facts}
    kind = next(iter(types)) if len(types) == 1 else Type.NUMBER
    low, high = _lowest([fact.low for fact in facts]), _highest([fact.high for fact in facts])
    step = common_step(step_of(fact) for fact in facts) if kind.numeric else None
    why = "" if low is not None and high is not None else why_of(*outcomes)
    nullable = any_null(*outcomes) if nullable is None else nullable
    return Facts(type=kind, low=low, high=high, step=step, domain=_union(facts), nullable=nullable, why=why)


def _union(facts: Sequence[Facts]) -> tuple[Value, ...] | None:
    values: dict[Value, None] = {}
    for fact in facts:
        listed = domain_of(fact, MOST_OUTCOMES)
        if listed is None:
            return None
        values.update(dict.fromkeys(listed))
    return tuple(values)


def _lowest(values: Sequence[Value]) -> Value:
    return None if None in values else min(values)  # type: ignore[type-var]  # all of one type by now


def _highest(values: Sequence[Value]) -> Value:
    return None if None in values else max(values)  # type: ignore[type-var]  # all of one type by now


def _case_fit(name: str, arguments: Arguments) -> Arguments:
    if len(arguments) < 3 or len(arguments) % 2 == 0:
        raise InputError("case takes pairs of a condition and a value, and a value for the rest")
    conditions = takes(more=BOOLEAN)(name, arguments[0:-1:2])
    outcomes = alike(name, (*arguments[1::2], arguments[-1]))
    return _in_pairs(conditions, outcomes)


def _switch_fit(name: str, arguments: Arguments) -> Arguments:
    if len(arguments) < 4 or len(arguments) % 2:
        raise InputError(
            "switch takes a value, pairs of a value it may equal and an outcome, and an outcome for the rest"
        )
    compared = takes(more=ANY, same=True)(name, (arguments[0], *arguments[1:-1:2]))
    outcomes = takes(more=ANY, same=True)(name, (*arguments[2::2], arguments[-1]))
    return (compared[0], *_in_pairs(compared[1:], outcomes))


def _in_pairs(first: Arguments, outcomes: Arguments) -> Arguments:
    """Each with its outcome, and the outcome for the rest."""
    return (*(part for pair in zip(first, outcomes, strict=False) for part in pair), outcomes[-1])


def _switch(value: Held, *values: Held) -> Held:
    pairs = zip(values[0:-1:2], values[1::2], strict=True)
    return next((outcome for other, outcome in pairs if value is not None and value == other), values[-1])


def _coalesce_facts(*arguments: Expression) -> Facts:
    """Nothing after the first that is never NULL is reached."""
    reached = next((i for i, argument in enumerate(arguments, 1) if not argument.facts.nullable), len(arguments))
    return _together(*arguments[:reached], nullable=all(argument.facts.nullable for argument in arguments))


def _extreme(name: str, about: str, choose: Callable[..., Any], end: str) -> Operation:
    """LEAST or GREATEST. Arguments that are NULL do not count, so only those that never are hold the result."""

    def facts(*arguments: Expression) -> Facts:
        together = _together(*arguments, nullable=all(argument.facts.nullable for argument in arguments))
        sure = [getattr(argument.facts, end) for argument in arguments if not argument.facts.nullable]
        known = _known(sure)
        if known and together.type is not Type.TEXT:
            together = together.but(**{end: choose(known)}, domain=None)
        return together if together.type.numeric else together.but(domain=None)

    def value(*values: Held) -> Held:
        return choose(_known(values), default=None)  # type: ignore[no-any-return]  # one of them

    fit = takes(SORTED, more=SORTED, same=True)
    return Operation(name, about, fit, facts, value, f"{name.upper()}({{c}}, {{rest}})", strict=False)


def _known(values: Sequence[Any]) -> list[Any]:
    return [value for value in values if value is not None]


def _clamp_facts(*arguments: Expression) -> Facts:
    """Low wins over high where they cross; a bound that is NULL does not count."""
    x, low, high = (argument.facts for argument in arguments)
    facts = _together(*arguments, nullable=x.nullable).but(domain=None)
    bottom = _known([_lowest([x.low, high.low]), None if low.nullable else _lowest([low.low, high.low])])
    top = _known([_highest([x.high, low.high]), None if high.nullable else _highest([high.high, low.high])])
    bounds = {"low": max(bottom, default=None), "high": min(top, default=None)}
    return facts.but(**bounds, why="" if bottom and top else facts.why)


def _clamp(x: Any, low: Any, high: Any) -> Any:
    if x is None:
        return None
    if low is not None and x < low:
        return low
    return high if high is not None and x > high else x


def _comparison(name: str, sign: str, compare: Callable[[Any, Any], bool]) -> Operation:
    fit = takes(ANY, ANY, same=True)
    return Operation(name, f"x {sign} y", fit, _truth_facts, compare, f"({{c}} {sign} {{y}})")


def _loose(
    name: str, about: str, fit: Fit, value: Callable[..., Held], sql: str, facts: Callable[..., Facts] = _truth_facts
) -> Operation:
    return Operation(name, about, fit, facts, value, sql, strict=False)


def _sure(name: str, about: str, fit: Fit, value: Callable[..., Held], sql: str) -> Operation:
    return _loose(name, about, fit, value, sql, lambda *arguments: truth(False))


OPERATIONS = (
    _comparison("eq", "=", eq),
    _comparison("ne", "<>", ne),
    _comparison("lt", "<", lt),
    _comparison("le", "<=", le),
    _comparison("gt", ">", gt),
    _comparison("ge", ">=", ge),
    _sure("is_null", "whether x is NULL", takes(ANY), lambda x: x is None, "({x} IS NULL)"),
    _sure("is_not_null", "whether x is not NULL", takes(ANY), lambda x: x is not None, "({x} IS NOT NULL)"),
    _sure("is_distinct", "x <> y, where NULL is a value of its own", takes(ANY, ANY, same=True), ne,
          "({c} IS DISTINCT FROM {y})"),
    _sure("is_not_distinct", "x = y, where NULL is a value of its own", takes(ANY, ANY, same=True), eq,
          "({c} IS NOT DISTINCT FROM {y})"),
    _loose("between", "x >= low AND x <= high", takes(ANY, ANY, ANY, same=True), _between,
           "({c} BETWEEN {y} AND {z})"),
    _loose("in", "whether x is one of the constants", _listed, _in, "({c} IN ({rest}))"),
    Operation("like", "whether x fits a constant pattern of % and _; the third argument is the escape character, none "
              "without", _pattern, _like_facts, _like),
    Operation("ilike", "like, with A to Z and a to z alike (no other letters)", _pattern, _like_facts, _ilike),
    _loose("and", "whether all are true", takes(BOOLEAN, more=BOOLEAN), _all, "({args: AND })"),
    _loose("or", "whether one is true", takes(BOOLEAN, more=BOOLEAN), _any, "({args: OR })"),
    Operation("not", "NOT x", takes(BOOLEAN), _truth_facts, lambda x: not x, "(NOT {x})"),
    _sure("is_true", "whether x is true; NULL is not", takes(BOOLEAN), lambda x: x is True, "({x} IS TRUE)"),
    _sure("is_false", "whether x is false; NULL is not", takes(BOOLEAN), lambda x: x is False, "({x} IS FALSE)"),
    _loose("case", "the value beside the first condition that is true, else the last", _case_fit,
           lambda *values: _switch(True, *values), "",
           lambda *arguments: _together(*arguments[1::2], arguments[-1])),
    _loose("switch", "the value beside the first that equals x, else the last", _switch_fit, _switch, "",
           lambda *arguments: _together(*arguments[2::2], arguments[-1])),
    _loose("coalesce", "the first that is not NULL", takes(ANY, more=ANY, same=True),
           lambda *values: next(iter(_known(values)), None), "COALESCE({args})", _coalesce_facts),
    _loose("nullif", "x, or NULL where it equals y", takes(ANY, ANY, same=True), lambda x, y: None if x == y else x,
           "(CASE WHEN {c} = {y} THEN NULL ELSE {x} END)", lambda x, y: x.facts.but(nullable=True)),
    _extreme("least", "the smallest that is not NULL", min, "high"),
    _extreme("greatest", "the largest that is not NULL", max, "low"),
    _loose("clamp", "x, or the bound that it passes", takes(ORDERED, ORDERED, ORDERED, same=True), _clamp,
           "(CASE WHEN {x} < {y} THEN {y} WHEN {x} > {z} THEN {z} ELSE {x} END)", _clamp_facts),
)  # fmt: skip
