"""Texts as SQL, in code points."""

from tacit.engine.writer import Render, Writer
from tacit.plan.expression import Call, Expression
from tacit.plan.facts import domain_of
from tacit.plan.operation_kind import text_constant, whole_constant
from tacit.plan.operation_text import LONGEST

__all__ = ["RENDERS", "lowered"]

SMALL, CAPITAL = "abcdefghijklmnopqrstuvwxyz", "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
MOST_KNOWN = 1000  # texts whose lengths are looked at


def lowered(sql: str) -> str:
    """A to Z in small letters."""
    return _translated(sql, CAPITAL, SMALL)


def _translated(sql: str, old: str, new: str) -> str:
    return f"TRANSLATE({sql}, '{old}', '{new}')"


def _part(sql: str, start: int, length: int) -> str:
    return f"SUBSTRING({sql}, {start}, {length})"


def _substr(w: Writer, call: Call, arguments: list[str]) -> str:
    start = whole_constant(call.arguments[1])
    length = whole_constant(call.arguments[2]) if len(arguments) == 3 else 1_000_000_000
    return _part(arguments[0], start, length)


def _left(w: Writer, call: Call, arguments: list[str]) -> str:
    return _part(arguments[0], 1, whole_constant(call.arguments[1]))


def _right(w: Writer, call: Call, arguments: list[str]) -> str:
    return f"RIGHT({arguments[0]}, {whole_constant(call.arguments[1])})"


def _concat(w: Writer, call: Call, arguments: list[str]) -> str:
    longest = [_longest(argument) for argument in call.arguments]
    known = [length for length in longest if length is not None]
    if len(known) == len(longest) and sum(known) <= LONGEST:
        return f"({' || '.join(arguments)})"
    parts = [
        sql if length is not None and length <= LONGEST else _part(sql, 1, LONGEST)
        for sql, length in zip(arguments, longest, strict=True)
    ]
    return _part(f"({' || '.join(parts)})", 1, LONGEST)


def _longest(argument: Expression) -> int | None:
    values = domain_of(argument.facts, MOST_KNOWN)
    return None if values is None else max((len(value) for value in values if isinstance(value, str)), default=0)


def _replace(w: Writer, call: Call, arguments: list[str]) -> str:
    sought, put = (text_constant(argument) for argument in call.arguments[1:])
    if len(put) <= len(sought):
        return f"REPLACE({', '.join(arguments)})"
    return _part(f"REPLACE({_part(arguments[0], 1, LONGEST)}, {arguments[1]}, {arguments[2]})", 1, LONGEST)


def _trim(side: str) -> Render:
    return lambda w, call, arguments: f"TRIM({side} ' ' FROM {arguments[0]})"


def _ends_with(w: Writer, call: Call, arguments: list[str]) -> str:
    if w.dialect == "postgres":
        length = len(text_constant(call.arguments[1]))
        return f'((RIGHT({arguments[0]}, {length}) COLLATE "C") = {arguments[1]})'
    return f"{'ENDS_WITH' if w.dialect == 'duckdb' else 'ENDSWITH'}({', '.join(arguments)})"


def _starts_with(w: Writer, call: Call, arguments: list[str]) -> str:
    if w.dialect == "postgres":
        return f'STARTS_WITH(({arguments[0]} COLLATE "C"), {arguments[1]})'
    return f"{'STARTS_WITH' if w.dialect == 'duckdb' else 'STARTSWITH'}({', '.join(arguments)})"


def _contains(w: Writer, call: Call, arguments: list[str]) -> str:
    if w.dialect == "postgres":
        return f'(STRPOS(({arguments[0]} COLLATE "C"), {arguments[1]}) > 0)'
    return f"CONTAINS({', '.join(arguments)})"


def _length(w: Writer, call: Call, arguments: list[str]) -> str:
    return f"CAST(CHAR_LENGTH({arguments[0]}) AS {'float8' if w.dialect == 'postgres' else 'DOUBLE'})"


RENDERS: dict[str, Render] = {
    "lower": lambda w, call, arguments: lowered(arguments[0]),
    "upper": lambda w, call, arguments: _translated(arguments[0], SMALL, CAPITAL),
    "length": _length,
    "substr": _substr,
    "left": _left,
    "right": _right,
    "concat": _concat,
    "trim": _trim("BOTH"),
    "ltrim": _trim("LEADING"),
    "rtrim": _trim("TRAILING"),
    "replace": _replace,
    "starts_with": _starts_with,
    "ends_with": _ends_with,
    "contains": _contains,
}
