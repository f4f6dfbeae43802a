"""A regular expression of the plan in an engine's own words, or as the run of its automaton."""

from tacit.engine.dialect import Dialect
from tacit.plan.operation.automaton import automaton
from tacit.plan.operation.pattern import (
    ANY,
    LARGEST,
    Alternatives,
    CharacterClass,
    PatternPart,
    Repeat,
    Sequence,
    pattern_of,
)

__all__ = ["regex_sql"]


def regex_sql(sql: str, pattern: str, mode: str, dialect: Dialect) -> str:
    """Whether the text fits; `sql` is used once."""
    match dialect.name:
        case "duckdb":
            written = dialect.text(_written(pattern_of(pattern, mode), "(?s:.)", "\\x{{{:X}}}"))
            return f"REGEXP_FULL_MATCH({sql}, {written})"
        case "postgres":
            inner = _written(pattern_of(pattern, mode), ".", "\\U{:08X}")  # the dot is any character, a newline too
            return f"({dialect.bytewise.format(sql)} ~ {dialect.text(f'^(?:{inner})$')})"
    return _run(sql, pattern, mode, dialect)


def _written(part: PatternPart, any_one: str, code: str) -> str:
    match part:
        case CharacterClass(ranges):
            return any_one if part == ANY else _class(ranges, code)
        case Sequence(parts):
            return "".join(_written(each, any_one, code) for each in parts)
        case Alternatives(parts):
            return f"(?:{'|'.join(_written(each, any_one, code) for each in parts)})"
        case Repeat(inner, least, most):
            times = {(0, None): "*", (1, None): "+", (0, 1): "?"}.get((least, most))
            times = times or f"{{{least},{'' if most is None else most}}}"
            return f"(?:{_written(inner, any_one, code)}){times}"
    raise AssertionError("there is no other part")


def _class(ranges: tuple[tuple[int, int], ...], code: str) -> str:
    if not ranges:
        return f"[^{code.format(1)}-{code.format(LARGEST)}]"  # nothing
    if ranges[-1][1] == LARGEST:
        others, at = [], 0
        for low, high in ranges:
            if low > at:
                others.append((at, low - 1))
            at = high + 1
        return f"[^{''.join(_range(*each, code) for each in others)}]"
    if len(ranges) == 1 and ranges[0][0] == ranges[0][1]:
        return _character(ranges[0][0], code)
    return f"[{''.join(_range(*each, code) for each in ranges)}]"


def _range(low: int, high: int, code: str) -> str:
    low = max(low, 1)  # no text holds NUL, and not every engine takes it in a pattern
    return _character(low, code) if low == high else f"{_character(low, code)}-{_character(high, code)}"


def _character(point: int, code: str) -> str:
    """Letters, digits and the blank as they are, all else by its number."""
    sign = chr(point)
    return sign if sign.isascii() and (sign.isalnum() or sign == " ") else code.format(point)


def _run(sql: str, pattern: str, mode: str, dialect: Dialect) -> str:
    """The automaton over the characters of the text, as a fold: Spark's own engine is Java's, which goes back."""
    machine = automaton(pattern, mode)
    kinds = len(machine.ends)
    arms = " ".join(
        f"WHEN c <= {dialect.text(chr(end))} THEN {kind}"
        for kind, end in enumerate(machine.ends[:-1])
        if not 0xD800 <= end <= 0xDFFF
    )
    kind = f"(CASE {arms} ELSE {kinds - 1} END)" if arms else str(kinds - 1)
    table = ", ".join(str(state) for row in machine.table for state in row)
    following = f"(CASE WHEN c = '' THEN s ELSE element_at(array({table}), s * {kinds} + {kind} + 1) END)"
    accepts = ", ".join("TRUE" if each else "FALSE" for each in machine.accepts)
    return f"aggregate(split({sql}, ''), 0, (s, c) -> {following}, s -> element_at(array({accepts}), s + 1))"
