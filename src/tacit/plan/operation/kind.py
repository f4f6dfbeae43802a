"""What an operation is: the arguments it takes, what it means, the facts of its result, and its SQL."""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import date, datetime, time
from fractions import Fraction

from tacit.base import InputError
from tacit.plan.expression import Call, Constant, Expression, constant
from tacit.plan.facts import Facts, Type, Value

__all__ = [
    "ANY",
    "BOOLEAN",
    "NUMBER",
    "TEXT",
    "ArgumentKind",
    "Arguments",
    "Fit",
    "Held",
    "Operation",
    "alike",
    "any_null",
    "at_midnight",
    "held",
    "is_null",
    "shown",
    "takes",
    "text_constant",
    "truth",
    "whole_constant",
]  # fmt: skip

Held = bool | float | str | date | datetime | None
"""A value as an engine holds it while it computes: every number is a double."""

Arguments = tuple[Expression, ...]
Fit = Callable[[str, Arguments], Arguments]
"""The arguments of the operation of that name, checked, and brought to one type where they are compared."""


@dataclass(frozen=True)
class Operation:
    """`value` is the meaning, which never fails, and `facts` are those of the result for the arguments.

    `sql` is a template (see `Writer.operation`), empty where the SQL depends on facts or constants.
    """

    name: str
    about: str
    fit: Fit
    facts: Callable[..., Facts]
    value: Callable[..., Held]
    sql: str = ""
    strict: bool = True  # NULL where any argument is
    exact: bool = True  # the same to the last bit in every engine

    def apply(self, *values: Held) -> Held:
        """The result for these values."""
        return None if self.strict and None in values else self.value(*values)


@dataclass(frozen=True)
class ArgumentKind:
    """One argument: its types in words and in fact, and for a constant which values will do."""

    what: str
    types: Collection[Type]
    allows: Callable[[Value], bool] | None = None


ANY = ArgumentKind("a value", tuple(Type))
BOOLEAN = ArgumentKind("a condition", (Type.BOOLEAN,))
NUMBER = ArgumentKind("a number", (Type.INTEGER, Type.NUMBER))
TEXT = ArgumentKind("a text", (Type.TEXT,))


def takes(*parts: ArgumentKind, least: int | None = None, more: ArgumentKind | None = None, same: bool = False) -> Fit:
    """The given parts, of which the first `least` are needed, and any number of `more`; in one type if `same`."""
    needed = len(parts) if least is None else least

    def fit(name: str, arguments: Arguments) -> Arguments:
        if len(arguments) < needed or (more is None and len(arguments) > len(parts)):
            wanted = str(needed) if needed == len(parts) and more is None else f"{needed} or more"
            raise InputError(f"{name} takes {wanted} arguments, not {len(arguments)}")
        padded = parts + ((more,) * (len(arguments) - len(parts)) if more is not None else ())
        fitted = tuple(_fitted(name, i, *pair) for i, pair in enumerate(zip(padded, arguments, strict=False), 1))
        return alike(name, fitted) if same else fitted

    return fit


def _fitted(name: str, position: int, part: ArgumentKind, argument: Expression) -> Expression:
    if part.allows is not None:
        if not isinstance(argument, Constant) or argument.facts.type not in part.types or argument.value is None:
            raise InputError(f"{name} needs {part.what} as argument {position}")
        if not part.allows(argument.value):
            raise InputError(f"{name} needs {part.what} as argument {position}, not {argument.value}")
        return argument
    if is_null(argument):
        return argument if argument.facts.type in part.types else constant(None, sorted(part.types)[0])
    if argument.facts.type not in part.types:
        raise InputError(f"{name} needs {part.what} as argument {position}, not a {argument.facts.type}")
    return argument


def whole_constant(argument: Expression) -> int:
    """The value of an argument that had to be a whole constant."""
    assert isinstance(argument, Constant)  # the part said so
    assert isinstance(argument.value, int)
    return argument.value


def text_constant(argument: Expression) -> str:
    """The value of an argument that had to be a constant text."""
    assert isinstance(argument, Constant)  # the part said so
    assert isinstance(argument.value, str)
    return argument.value


def any_null(*arguments: Expression) -> bool:
    """Whether a strict operation can give NULL because of an argument."""
    return any(argument.facts.nullable for argument in arguments)


def is_null(argument: Expression) -> bool:
    """Whether it is the constant NULL."""
    return isinstance(argument, Constant) and argument.value is None


def truth(nullable: bool) -> Facts:
    """The facts of a condition."""
    return Facts(type=Type.BOOLEAN, domain=(False, True), nullable=nullable)


def alike(name: str, arguments: Arguments) -> Arguments:
    """The arguments in one type: dates beside timestamps become such, and so do texts that are written as one."""
    types = {argument.facts.type for argument in arguments if not is_null(argument)}
    temporal = Type.TIMESTAMP if Type.TIMESTAMP in types else Type.DATE if Type.DATE in types else None
    if temporal is not None and types - {temporal}:
        arguments = tuple(_temporal(argument, temporal, name) for argument in arguments)
        types = {argument.facts.type for argument in arguments if not is_null(argument)}
        if types == {Type.DATE, Type.TIMESTAMP}:  # a text held a time of day
            return alike(name, arguments)
    if len(types) > 1 and not all(kind.numeric for kind in types):
        raise InputError(f"{name} mixes {' and '.join(sorted(types))}: bring its arguments to one type")
    kind = Type.NUMBER if len(types) > 1 else next(iter(types), Type.BOOLEAN)
    return tuple(constant(None, kind) if is_null(argument) else argument for argument in arguments)


def _temporal(argument: Expression, kind: Type, name: str) -> Expression:
    if isinstance(argument, Constant):
        value = argument.value
        if isinstance(value, str):
            try:
                value = date.fromisoformat(value) if len(value) == 10 else datetime.fromisoformat(value)
            except ValueError:
                raise InputError(f"{name} compares a {kind} with a text that is none: write '2024-12-31'") from None
        return argument if value is None else constant(_midnight(value) if kind is Type.TIMESTAMP else value)
    if kind is Type.TIMESTAMP and argument.facts.type is Type.DATE:
        return Call(operation="to_timestamp", arguments=(argument,), facts=at_midnight(argument))
    return argument


def at_midnight(argument: Expression) -> Facts:
    """The facts of dates read as timestamps."""
    facts = argument.facts
    days = None if facts.domain is None else tuple(_midnight(value) for value in facts.domain)
    return facts.but(type=Type.TIMESTAMP, low=_midnight(facts.low), high=_midnight(facts.high), domain=days)


def _midnight(value: Value) -> Value:
    return datetime.combine(value, time()) if isinstance(value, date) and not isinstance(value, datetime) else value


def held(value: Value | float) -> Held:
    """A constant as an engine holds it."""
    return float(value) if isinstance(value, int | Fraction) and not isinstance(value, bool) else value


def shown(value: Held, kind: Type) -> Value:
    """What an engine holds as an exact constant of this type."""
    if kind.numeric and value is not None:
        assert isinstance(value, float)  # a number is held as a double
        return int(value) if kind is Type.INTEGER else Fraction(value)
    assert not isinstance(value, float)  # and nothing else is
    return value
