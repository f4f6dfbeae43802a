"""Dates and timestamps of the proleptic Gregorian calendar, years 1 to 9999, without time zones.

Weeks begin on Monday, as in ISO 8601. A month later than 31 January is the last day of February.
"""

from datetime import date, datetime, time, timedelta
from fractions import Fraction
from itertools import count

from tacit.base import InputError
from tacit.plan.expression import Expression
from tacit.plan.facts import Facts, Type, Value
from tacit.plan.operation.kind import (
    ArgumentKind,
    Arguments,
    Fit,
    Held,
    Operation,
    any_null,
    at_midnight,
    takes,
    text_constant,
    whole_constant,
)
from tacit.plan.operation.range import number_facts

__all__ = ["FIRST", "LAST", "OPERATIONS", "later", "room_to_add"]

MONTHS = {"year": 12, "quarter": 3, "month": 1}
STEPS = {unit: timedelta(**{f"{unit}s": 1}) for unit in ("week", "day", "hour", "minute", "second")}
UNITS = (*MONTHS, *STEPS)
OF_HOURS = ("hour", "minute", "second", "microsecond")
FIELDS: dict[str, tuple[int, int]] = {  # Sunday is 0 in dow, Monday 1 in isodow; seconds are whole
    "year": (1, 9999), "quarter": (1, 4), "month": (1, 12), "week": (1, 53), "day": (1, 31), "dow": (0, 6),
    "isodow": (1, 7), "doy": (1, 366), "hour": (0, 23), "minute": (0, 59), "second": (0, 59),
    "microsecond": (0, 59_999_999),  # of the minute, as engines have it
}  # fmt: skip
MOST_LISTED = 100_000  # beginnings of a unit between two bounds
MOST_ADDED = 10_000 * 366 * 86_400
FIRST: dict[Type, date] = {Type.DATE: date.min, Type.TIMESTAMP: datetime.min}
LAST: dict[Type, date] = {Type.DATE: date.max, Type.TIMESTAMP: datetime.max}

TEMPORAL = ArgumentKind("a date or a timestamp", (Type.DATE, Type.TIMESTAMP))
UNIT = ArgumentKind(f"a constant unit ({', '.join(UNITS)})", (Type.TEXT,), lambda value: value in UNITS)
FIELD = ArgumentKind(f"a constant field ({', '.join(FIELDS)})", (Type.TEXT,), lambda value: value in FIELDS)
AMOUNT = ArgumentKind(
    "a constant whole number", (Type.INTEGER,), lambda value: isinstance(value, int) and abs(value) <= MOST_ADDED
)


def _in_units(*parts: ArgumentKind) -> Fit:
    """Hours, minutes and seconds are of timestamps alone."""

    def fit(name: str, arguments: Arguments) -> Arguments:
        arguments = takes(*parts)(name, arguments)
        unit = text_constant(next(a for a, part in zip(arguments, parts, strict=True) if part in (UNIT, FIELD)))
        moment = arguments[parts.index(TEMPORAL)]
        if moment.facts.type is Type.DATE and unit in OF_HOURS:
            raise InputError(f"{name} in units of {unit} needs a timestamp, not a date: cast it to one first")
        return arguments

    return fit


def _trunc(unit: str, x: date) -> date:
    if isinstance(x, datetime) and unit in OF_HOURS:
        minute, second = (0 if unit == "hour" else x.minute), (x.second if unit == "second" else 0)
        return x.replace(minute=minute, second=second, microsecond=0)
    x = datetime.combine(x, time()) if isinstance(x, datetime) else x
    if unit in MONTHS:
        return x.replace(day=1, month=(x.month - 1) // MONTHS[unit] * MONTHS[unit] + 1)
    return x - timedelta(days=x.weekday()) if unit == "week" else x


def later(x: date, amount: int, unit: str) -> date | None:
    """x and so many units more; None beyond years 1 to 9999."""
    try:
        if unit not in MONTHS:
            return x + STEPS[unit] * amount
        year, month = divmod(x.year * 12 + x.month - 1 + MONTHS[unit] * amount, 12)
        following = date(year + (month == 11), (month + 1) % 12 + 1, 1) if (year, month) != (9999, 11) else None
        days = 31 if following is None else (following - timedelta(days=1)).day
        return x.replace(year=year, month=month + 1, day=min(x.day, days))
    except (OverflowError, ValueError):
        return None


def _trunc_facts(given: Expression, moment: Expression) -> Facts:
    unit, x = text_constant(given), moment.facts
    low, high = (None if end is None else _trunc(unit, end) for end in (x.low, x.high))  # type: ignore[arg-type]  # dates
    domain = None
    if low is not None and high is not None and (unit, x.type) != ("day", Type.DATE):
        domain = _beginnings(unit, low, high)
    return x.but(low=low, high=high, domain=domain)


def _beginnings(unit: str, low: date, high: date) -> tuple[Value, ...] | None:
    """Where a unit begins, from low to high, unless there are too many to list."""
    step = STEPS.get(unit, timedelta(days=28))
    if (high - low) / step > MOST_LISTED:
        return None
    found: list[Value] = []
    for i in count():
        moment = later(low, i, unit)
        if moment is None or moment > high:
            break
        found.append(moment)
    return tuple(found)


def _extract(field: str, x: date) -> float:
    match field:
        case "quarter":
            return float((x.month + 2) // 3)
        case "week":
            return float(x.isocalendar().week)
        case "dow":
            return float(x.isoweekday() % 7)
        case "isodow":
            return float(x.isoweekday())
        case "doy":
            return float(x.timetuple().tm_yday)
        case "microsecond" if isinstance(x, datetime):
            return float(x.second * 1_000_000 + x.microsecond)
    return float(getattr(x, field, 0))


def _extract_facts(given: Expression, moment: Expression) -> Facts:
    field, x = text_constant(given), moment.facts
    low, high = FIELDS[field]
    if field == "year":
        low = x.low.year if isinstance(x.low, date) else low
        high = x.high.year if isinstance(x.high, date) else high
    return number_facts(Fraction(low), Fraction(high), whole=True, nullable=x.nullable)


def room_to_add(amount: int, unit: str, kind: Type) -> tuple[date, date] | None:
    """Between what x has a sum within years 1 to 9999; None where nothing has."""
    low = FIRST[kind] if amount >= 0 else later(FIRST[kind], -amount, unit)
    last = _trunc("month", LAST[kind]) if unit in MONTHS else LAST[kind]
    high = LAST[kind] if amount <= 0 else later(last, -amount, unit)
    if amount > 0 and unit in MONTHS and high is not None:
        high = _month_end(high)
    return None if low is None or high is None else (low, high)


def _month_end(begin: date) -> date:
    following = later(begin, 1, "month")
    moment = isinstance(begin, datetime)
    if following is None:
        return LAST[Type.TIMESTAMP if moment else Type.DATE]
    return following - (timedelta(microseconds=1) if moment else timedelta(days=1))


def _add_facts(moment: Expression, amount: Expression, unit: Expression) -> Facts:
    x, by = moment.facts, (whole_constant(amount), text_constant(unit))
    ends = [later(end, *by) if isinstance(end, date) else None for end in (x.low, x.high)]
    if None not in ends:
        return x.but(low=ends[0], high=ends[1], domain=None)
    return Facts(type=x.type, nullable=True, why=x.why)


def _diff_facts(x: Expression, y: Expression) -> Facts:
    (a, b), (c, d) = ((_day(of.facts.low, date.min), _day(of.facts.high, date.max)) for of in (x, y))
    return number_facts(Fraction((a - d).days), Fraction((b - c).days), whole=True, nullable=any_null(x, y))


def _day(value: Value | Held, missing: date) -> date:
    return value.date() if isinstance(value, datetime) else value if isinstance(value, date) else missing


OPERATIONS = (
    Operation("date_trunc", "the beginning of the unit that x is in", _in_units(UNIT, TEMPORAL), _trunc_facts, _trunc),
    Operation("extract", "a field of x as a whole number", _in_units(FIELD, TEMPORAL), _extract_facts, _extract),
    Operation("date_add", "x and a constant number of units more; NULL beyond years 1 to 9999",
              _in_units(TEMPORAL, AMOUNT, UNIT), _add_facts, lambda x, amount, unit: later(x, int(amount), unit)),
    Operation("date_diff", "how many days after y is x", takes(TEMPORAL, TEMPORAL), _diff_facts,
              lambda x, y: float((_day(x, x) - _day(y, y)).days),
              "CAST((CAST({x} AS DATE) - CAST({y} AS DATE)) AS {double})"),
    Operation("to_timestamp", "midnight of a date", takes(TEMPORAL), at_midnight,
              lambda x: x if isinstance(x, datetime) else datetime.combine(x, time()), "CAST({x} AS {timestamp})"),
)  # fmt: skip
