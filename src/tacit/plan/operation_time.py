"""Dates and timestamps of the proleptic Gregorian calendar, years 1 to 9999, without time zones.

Weeks begin on Monday, as in ISO 8601. A month later than 31 January is the last day of February.
"""

from datetime import date, datetime, time, timedelta
from fractions import Fraction
from itertools import count

from tacit.base import InputError
from tacit.plan.facts import Facts, Type, Value
from tacit.plan.operation_kind import (
    Arguments,
    Held,
    Operation,
    Part,
    any_null,
    at_midnight,
    takes,
    text_constant,
    whole_constant,
)
from tacit.plan.operation_range import number_facts

__all__ = ["FIELDS", "FIRST", "LAST", "OPERATIONS", "STEPS", "TEMPORAL", "UNITS", "later", "room_to_add"]

UNITS = ("year", "quarter", "month", "week", "day", "hour", "minute", "second")
MONTHS = {"year": 12, "quarter": 3, "month": 1}
STEPS = {
    "week": timedelta(days=7),
    "day": timedelta(days=1),
    "hour": timedelta(hours=1),
    "minute": timedelta(minutes=1),
    "second": timedelta(seconds=1),
}
OF_DAYS = ("year", "quarter", "month", "week", "day")
FIELDS: dict[str, tuple[int, int]] = {
    "year": (1, 9999),
    "quarter": (1, 4),
    "month": (1, 12),
    "week": (1, 53),
    "day": (1, 31),
    "dow": (0, 6),  # Sunday is 0
    "isodow": (1, 7),  # Monday is 1
    "doy": (1, 366),
    "hour": (0, 23),
    "minute": (0, 59),
    "second": (0, 59),  # whole ones
}
MOST_LISTED = 100_000  # beginnings of a unit between two bounds
MOST_ADDED = 10_000 * 366 * 86_400
FIRST: dict[Type, date] = {Type.DATE: date.min, Type.TIMESTAMP: datetime.min}
LAST: dict[Type, date] = {Type.DATE: date.max, Type.TIMESTAMP: datetime.max}

TEMPORAL = Part(what="a date or a timestamp", types=frozenset({Type.DATE, Type.TIMESTAMP}))
UNIT = Part(
    what=f"a constant unit ({', '.join(UNITS)})",
    types=frozenset({Type.TEXT}),
    fixed=True,
    allows=lambda value: value in UNITS,
)
FIELD = Part(
    what=f"a constant field ({', '.join(FIELDS)})",
    types=frozenset({Type.TEXT}),
    fixed=True,
    allows=lambda value: value in FIELDS,
)
AMOUNT = Part(
    what="a constant whole number",
    types=frozenset({Type.INTEGER}),
    fixed=True,
    allows=lambda value: isinstance(value, int) and abs(value) <= MOST_ADDED,
)


def _unit_fits(name: str, unit: str, kind: Type) -> None:
    if kind is Type.DATE and unit not in OF_DAYS:
        raise InputError(f"{name} in units of {unit} needs a timestamp, not a date: cast it to one first")


def _of_day(moment: date, hours: time) -> date:
    return datetime.combine(moment, hours) if isinstance(moment, datetime) else moment


def _trunc(unit: str, x: date) -> date:
    if isinstance(x, datetime) and unit not in OF_DAYS:
        minute, second = (0 if unit == "hour" else x.minute), (x.second if unit == "second" else 0)
        return x.replace(minute=minute, second=second, microsecond=0)
    x = _of_day(x, time())
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


def _trunc_fit(arguments: Arguments) -> Arguments:
    arguments = takes("date_trunc", UNIT, TEMPORAL)(arguments)
    _unit_fits("date_trunc", text_constant(arguments[0]), arguments[1].facts.type)
    return arguments


def _trunc_facts(arguments: Arguments) -> Facts:
    unit, x = text_constant(arguments[0]), arguments[1].facts
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
    return float(getattr(x, field, 0))


def _extract_fit(arguments: Arguments) -> Arguments:
    arguments = takes("extract", FIELD, TEMPORAL)(arguments)
    field = text_constant(arguments[0])
    if field in ("hour", "minute", "second"):
        _unit_fits("extract", field, arguments[1].facts.type)
    return arguments


def _extract_facts(arguments: Arguments) -> Facts:
    field, x = text_constant(arguments[0]), arguments[1].facts
    low, high = FIELDS[field]
    if field == "year":
        low = x.low.year if isinstance(x.low, date) else low
        high = x.high.year if isinstance(x.high, date) else high
    return number_facts(Fraction(low), Fraction(high), whole=True, nullable=x.nullable)


def _add_fit(arguments: Arguments) -> Arguments:
    arguments = takes("date_add", TEMPORAL, AMOUNT, UNIT)(arguments)
    _unit_fits("date_add", text_constant(arguments[2]), arguments[0].facts.type)
    return arguments


def room_to_add(amount: int, unit: str, kind: Type) -> tuple[date, date] | None:
    """Between what x has a sum within years 1 to 9999; None where nothing has."""
    first, last = FIRST[kind], LAST[kind]
    if unit in MONTHS:
        low, high = later(_trunc("month", first), -amount, unit), later(_trunc("month", last), -amount, unit)
        ends = first if amount >= 0 else low, last if amount <= 0 else _month_end(high)
    else:
        ends = (
            first if amount >= 0 else later(first, -amount, unit),
            last if amount <= 0 else later(last, -amount, unit),
        )
    return None if ends[0] is None or ends[1] is None else (ends[0], ends[1])


def _month_end(begin: date | None) -> date | None:
    if begin is None:
        return None
    following = later(begin, 1, "month")
    smallest = timedelta(microseconds=1) if isinstance(begin, datetime) else timedelta(days=1)
    return (
        LAST[Type.TIMESTAMP if isinstance(begin, datetime) else Type.DATE]
        if following is None
        else following - smallest
    )


def _add_facts(arguments: Arguments) -> Facts:
    x, amount, unit = arguments[0].facts, whole_constant(arguments[1]), text_constant(arguments[2])
    ends = [later(end, amount, unit) if isinstance(end, date) else None for end in (x.low, x.high)]
    if None not in ends:
        return x.but(low=ends[0], high=ends[1], domain=None)
    return Facts(type=x.type, nullable=True, why=x.why)


def _diff_facts(arguments: Arguments) -> Facts:
    x, y = ((_day(facts.low, date.min), _day(facts.high, date.max)) for facts in (a.facts for a in arguments))
    low, high = (x[0] - y[1]).days, (x[1] - y[0]).days
    return number_facts(Fraction(low), Fraction(high), whole=True, nullable=any_null(arguments))


def _day(value: Value | Held, missing: date) -> date:
    return value.date() if isinstance(value, datetime) else value if isinstance(value, date) else missing


OPERATIONS = (
    Operation(
        name="date_trunc",
        about="the beginning of the unit that x is in",
        fit=_trunc_fit,
        facts=_trunc_facts,
        value=_trunc,
    ),
    Operation(
        name="extract",
        about="a field of x as a whole number",
        fit=_extract_fit,
        facts=_extract_facts,
        value=_extract,
    ),
    Operation(
        name="date_add",
        about="x and a constant number of units more; NULL beyond years 1 to 9999",
        fit=_add_fit,
        facts=_add_facts,
        value=lambda x, amount, unit: later(x, int(amount), unit),
    ),
    Operation(
        name="date_diff",
        about="how many days after y is x",
        fit=takes("date_diff", TEMPORAL, TEMPORAL),
        facts=_diff_facts,
        value=lambda x, y: float((_day(x, x) - _day(y, y)).days),
    ),
    Operation(
        name="to_timestamp",
        about="midnight of a date",
        fit=takes("to_timestamp", TEMPORAL),
        facts=lambda arguments: at_midnight(arguments[0].facts),
        value=lambda x: x if isinstance(x, datetime) else datetime.combine(x, time()),
    ),
)
