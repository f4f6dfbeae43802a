"""Dates and timestamps as SQL. Spark's own truncation goes through a time zone, so timestamps are put together anew."""

from tacit.engine.dialect import constant_sql
from tacit.engine.writer import Render, Writer
from tacit.plan.expression import Call
from tacit.plan.facts import Type
from tacit.plan.operation_kind import text_constant, whole_constant
from tacit.plan.operation_time import FIRST, LAST, later, room_to_add

__all__ = ["RENDERS"]

SPARK_FIELDS = {"dow": "(DAYOFWEEK({x}) - 1)", "isodow": "(WEEKDAY({x}) + 1)", "doy": "DAYOFYEAR({x})"}
SPARK_FIELDS |= {"week": "WEEKOFYEAR({x})"}


def _trunc(w: Writer, call: Call, arguments: list[str]) -> str:
    unit, x = text_constant(call.arguments[0]), arguments[1]
    is_date = call.facts.type is Type.DATE
    if w.dialect != "spark":
        inner = f"CAST({x} AS timestamp)" if w.dialect == "postgres" and is_date else x
        kind = "DATE" if is_date else "TIMESTAMP"
        return f"CAST(DATE_TRUNC('{unit}', {inner}) AS {kind})"
    day = x if is_date else f"CAST({x} AS DATE)"
    if unit in ("hour", "minute", "second"):
        return w.let([x], lambda x: _spark_clock(unit, x))
    begin = day if unit == "day" else f"TRUNC({day}, '{unit.upper()}')"
    return begin if is_date else f"CAST({begin} AS TIMESTAMP_NTZ)"


def _spark_clock(unit: str, x: str) -> str:
    minute = f"MINUTE({x})" if unit != "hour" else "0"
    second = f"CAST(FLOOR(SECOND({x})) AS DECIMAL(8, 6))" if unit == "second" else "0"
    return f"MAKE_TIMESTAMP_NTZ(YEAR({x}), MONTH({x}), DAY({x}), HOUR({x}), {minute}, {second})"


def _extract(w: Writer, call: Call, arguments: list[str]) -> str:
    field, x = text_constant(call.arguments[0]), arguments[1]
    if w.dialect == "spark":
        return f"CAST({SPARK_FIELDS.get(field, field.upper() + '({x})').format(x=x)} AS DOUBLE)"
    if w.dialect == "duckdb":
        return f"CAST(DATE_PART('{field}', {x}) AS DOUBLE)"
    found = f"EXTRACT({field} FROM {x})"
    return f"CAST({f'FLOOR({found})' if field == 'second' else found} AS float8)"


def _add(w: Writer, call: Call, arguments: list[str]) -> str:
    facts, amount, unit = call.arguments[0].facts, whole_constant(call.arguments[1]), text_constant(call.arguments[2])
    room = room_to_add(amount, unit, facts.type)
    if room is None:
        return constant_sql(None, facts.type, w.dialect)
    low = FIRST[facts.type] if facts.low is None else facts.low
    high = LAST[facts.type] if facts.high is None else facts.high
    if later(low, amount, unit) is not None and later(high, amount, unit) is not None:  # type: ignore[arg-type]  # dates
        return _sum(w, call, arguments[0], amount, unit)
    first, last = (constant_sql(end, facts.type, w.dialect) for end in room)
    return w.let(
        arguments[:1],
        lambda x: f"(CASE WHEN {x} BETWEEN {first} AND {last} THEN {_sum(w, call, x, amount, unit)} END)",
    )


def _sum(w: Writer, call: Call, x: str, amount: int, unit: str) -> str:
    """x and the units, which is known to be within years 1 to 9999."""
    is_date = call.facts.type is Type.DATE
    if unit in ("quarter", "week"):
        amount, unit = (amount * 3, "month") if unit == "quarter" else (amount * 7, "day")
    if w.dialect == "spark" and is_date and unit == "day":
        return f"DATE_ADD({x}, {amount})"
    interval = f"INTERVAL '{amount}' {unit.upper()}" if w.dialect != "postgres" else f"INTERVAL '{amount} {unit}'"
    return f"CAST({x} + {interval} AS DATE)" if is_date else f"({x} + {interval})"


def _diff(w: Writer, call: Call, arguments: list[str]) -> str:
    x, y = (
        sql if argument.facts.type is Type.DATE else f"CAST({sql} AS DATE)"
        for argument, sql in zip(call.arguments, arguments, strict=True)
    )
    days = f"DATEDIFF({x}, {y})" if w.dialect == "spark" else f"({x} - {y})"
    return f"CAST({days} AS {'float8' if w.dialect == 'postgres' else 'DOUBLE'})"


def _to_timestamp(w: Writer, call: Call, arguments: list[str]) -> str:
    kind = "TIMESTAMP_NTZ" if w.dialect == "spark" else "TIMESTAMP"
    return f"CAST({arguments[0]} AS {kind})"


RENDERS: dict[str, Render] = {
    "date_trunc": _trunc,
    "extract": _extract,
    "date_add": _add,
    "date_diff": _diff,
    "to_timestamp": _to_timestamp,
}
