"""Casts as SQL: a text is matched first, so that the engine's own cast has nothing to refuse."""

from tacit.engine.dialect import text_sql, type_name
from tacit.engine.operation_number import nearest_sql
from tacit.engine.writer import Render, Writer
from tacit.plan.expression import Call
from tacit.plan.facts import WHOLE, Type
from tacit.plan.operation_cast import DATE, FALSE, INTEGER, NUMBER, TRUE
from tacit.plan.operation_range import is_whole

__all__ = ["RENDERS"]


def _matches(w: Writer, x: str, pattern: str) -> str:
    """Whether the whole text fits a pattern of ours, which holds no quote and no backslash."""
    if w.dialect == "duckdb":
        return f"REGEXP_FULL_MATCH({x}, '{pattern}')"
    if w.dialect == "postgres":
        return f"({x} COLLATE \"C\") ~ '^({pattern})$'"
    return f"REGEXP_REPLACE({x}, '^({pattern})$', '') = '' AND {x} <> ''"  # $ alone lets a last newline pass


def _read(pattern: str) -> Render:
    def render(w: Writer, call: Call, arguments: list[str]) -> str:
        facts, double = call.arguments[0].facts, type_name(Type.NUMBER, w.dialect)
        if facts.type is Type.TEXT:
            return w.let(arguments, lambda x: f"(CASE WHEN {_matches(w, x, pattern)} THEN CAST({x} AS {double}) END)")
        if facts.type is Type.BOOLEAN:
            inner = f"CAST({arguments[0]} AS integer)" if w.dialect == "postgres" else arguments[0]
            return f"CAST({inner} AS {double})"
        return arguments[0] if pattern == NUMBER or is_whole(facts) else nearest_sql(w, arguments[0])

    return render


def _to_text(w: Writer, call: Call, arguments: list[str]) -> str:
    kind = call.arguments[0].facts.type
    if kind is Type.TEXT:
        return arguments[0]
    true, false = text_sql("true", w.dialect), text_sql("false", w.dialect)
    if kind is Type.BOOLEAN:
        return w.let(arguments, lambda x: f"(CASE WHEN {x} THEN {true} WHEN NOT {x} THEN {false} END)")
    limit, text = w.number(WHOLE), type_name(Type.TEXT, w.dialect)
    return w.let(arguments, lambda x: f"(CASE WHEN ABS({x}) <= {limit} THEN CAST(CAST({x} AS BIGINT) AS {text}) END)")


def _to_boolean(w: Writer, call: Call, arguments: list[str]) -> str:
    kind = call.arguments[0].facts.type
    if kind is Type.BOOLEAN:
        return arguments[0]
    if kind is not Type.TEXT:
        return f"({arguments[0]} <> {w.number(0)})"
    true, false = (", ".join(text_sql(word, w.dialect) for word in words) for words in (TRUE, FALSE))
    collated = ' COLLATE "C"' if w.dialect == "postgres" else ""

    def body(x: str) -> str:
        x = f"({x}{collated})"
        return f"(CASE WHEN {x} IN ({true}) THEN TRUE WHEN {x} IN ({false}) THEN FALSE END)"

    return w.let(arguments, body)


def _to_date(w: Writer, call: Call, arguments: list[str]) -> str:
    kind = call.arguments[0].facts.type
    if kind is Type.DATE:
        return arguments[0]
    if kind is Type.TIMESTAMP:
        return f"CAST({arguments[0]} AS DATE)"
    return w.let(arguments, lambda x: f"(CASE WHEN {_matches(w, x, DATE)} THEN {_day(w, x)} END)")


def _day(w: Writer, x: str) -> str:
    """The date of a text that has the form of one; NULL for 0000-01-01 and 2023-02-30."""
    if w.dialect != "postgres":
        return f"CASE WHEN {x} >= '0001' THEN TRY_CAST({x} AS DATE) END"
    year, month, day = (f"CAST(SUBSTRING({x}, {at}, {n}) AS integer)" for at, n in ((1, 4), (6, 2), (9, 2)))
    begin = f"MAKE_DATE({year}, {month}, 1) + ({day} - 1)"
    return (
        f"CASE WHEN ({x} COLLATE \"C\") < '0001' THEN NULL WHEN EXTRACT(month FROM {begin}) = {month} THEN {begin} END"
    )


RENDERS: dict[str, Render] = {
    "to_integer": _read(INTEGER),
    "to_number": _read(NUMBER),
    "to_text": _to_text,
    "to_boolean": _to_boolean,
    "to_date": _to_date,
}
