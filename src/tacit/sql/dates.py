"""Functions of dates and timestamps, made of operations: names, formats, ends of months, differences in any unit."""

from collections.abc import Callable, Mapping
from datetime import date, datetime
from typing import TYPE_CHECKING

from sqlglot import exp

from tacit.base import Mistake, RefusalKind
from tacit.plan.expression import Expression, constant
from tacit.sql.constants import interval_unit, literal, query_number
from tacit.sql.mistake import place, refused, shown

if TYPE_CHECKING:
    from tacit.sql.expressions import Expressions

__all__ = ["DATE_RULES", "EPOCH", "micros_between"]

Rule = Callable[["Expressions", exp.Expr], Expression]

MISSING = RefusalKind.UNSUPPORTED
EPOCH = constant(datetime(1970, 1, 1))
MONTHS = ("January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
          "December")  # fmt: skip
DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
WIDTHS = {"Y": ("year", 4), "m": ("month", 2), "d": ("day", 2), "H": ("hour", 2), "M": ("minute", 2),
          "S": ("second", 2), "j": ("doy", 3), "V": ("week", 2), "u": ("isodow", 1), "w": ("dow", 1)}  # fmt: skip
SHORT = {"F": "%Y-%m-%d", "T": "%H:%M:%S", "R": "%H:%M"}
LETTERED = (("YYYY", "%Y"), ("HH24", "%H"), ("MM", "%m"), ("DDD", "%j"), ("DD", "%d"), ("MI", "%M"), ("SS", "%S"))
JAVA = (("yyyy", "%Y"), ("MMMM", "%B"), ("MMM", "%b"), ("MM", "%m"), ("dd", "%d"), ("HH", "%H"), ("mm", "%M"),
        ("ss", "%S"), ("EEEE", "%A"))  # fmt: skip


def _field(lower: "Expressions", node: exp.Expr, field: str, value: Expression) -> Expression:
    return lower.call(node, "extract", constant(field), value)


def _name(
    lower: "Expressions", node: exp.Expr, value: Expression, names: tuple[str, ...], *, short: bool
) -> Expression:
    """The name of a month or a day."""
    field = _field(lower, node, "month" if names is MONTHS else "isodow", value)
    pairs = [constant(part) for i, name in enumerate(names, 1) for part in (i, name[:3] if short else name)]
    return lower.call(node, "switch", field, *pairs, constant(None))


def _month_name(lower: "Expressions", node: exp.Expr) -> Expression:
    return _name(lower, node, lower.lower(node.this), MONTHS, short=bool(node.args.get("abbreviated")))


def _day_name(lower: "Expressions", node: exp.Expr) -> Expression:
    return _name(lower, node, lower.lower(node.this), DAYS, short=bool(node.args.get("abbreviated")))


def _formatted(lower: "Expressions", node: exp.Expr) -> Expression:
    """STRFTIME, TO_CHAR, FORMAT_DATE, DATE_FORMAT: fields of fixed width and the texts between them."""
    value, given = lower.lower(node.this), literal(node.args.get("format"))
    if given is None and type(node) is exp.ToChar:
        return lower.call(node, "to_text", value)
    if given is None or not isinstance(given.value, str) or not value.facts.type.temporal:
        why = "it writes a date or a timestamp in a format that is a text in the query"
        raise refused(shown(node), why, "", MISSING, at=node)
    parts, text = list[Expression](), _percents(node, given.value)
    while text:
        before, sign, after = text.partition("%")
        parts += [constant(before)] if before else []
        if sign:
            parts.append(_written_field(lower, node, after[:1], value))
        text = after[1:]
    return parts[0] if len(parts) == 1 else lower.call(node, "concat", *parts)


def _percents(node: exp.Expr, text: str) -> str:
    """A format with the signs of strftime, whichever it has."""
    text = text.replace("strict", "")  # what the parser adds to Spark's
    if "%" not in text:
        for letters, sign in JAVA if "yy" in text or type(node) is not exp.ToChar else LETTERED:
            text = text.replace(letters, sign)
        for letters, sign in LETTERED:
            text = text.replace(letters, sign)
    for sign, meant in SHORT.items():
        text = text.replace(f"%{sign}", meant)
    plain = text.replace("%%", "")
    for sign in "YmdHMSjVuwyBbAa":
        plain = plain.replace(f"%{sign}", "")
    if "%" in plain or any(letter.isalpha() and letter not in "TZ" for letter in plain):
        why = "its format has signs that engines write differently"
        raise refused(
            shown(node), why, "use %Y %m %d %H %M %S %j %B %b %A %a, or YYYY MM DD HH24 MI SS", MISSING, at=node
        )
    return text


def _written_field(lower: "Expressions", node: exp.Expr, sign: str, value: Expression) -> Expression:
    if sign == "%":
        return constant("%")
    if sign in "BbAa":
        return _name(lower, node, value, MONTHS if sign in "Bb" else DAYS, short=sign in "ba")
    field, width = WIDTHS["Y" if sign == "y" else sign]
    number = lower.call(node, "to_text", _field(lower, node, field, value))
    if width == 1:
        return number
    filled = lower.call(node, "concat", constant("0" * (width - 1)), number)
    return lower.call(node, "right", filled, constant(2 if sign == "y" else width))


def _last_day(lower: "Expressions", node: exp.Expr) -> Expression:
    unit = node.args.get("unit")
    named = "month" if unit is None else interval_unit(node, unit)
    begin = lower.call(node, "date_trunc", constant(named), lower.call(node, "to_date", lower.lower(node.this)))
    following = lower.call(node, "date_add", begin, constant(1), constant(named))
    return lower.call(node, "date_add", following, constant(-1), constant("day"))


def _day(lower: "Expressions", node: exp.Expr) -> Expression:
    """DATE(x), TO_DATE(x): the day of a timestamp, or of a text."""
    known = literal(node.this)
    if node.this is None:
        raise Mistake(f"{place(node)}{shown(node)} is unfinished: name a date")
    if known is not None and isinstance(known.value, str):
        return lower.lower(exp.Cast(this=node.this.copy(), to=exp.DataType.build("date")))
    return lower.call(node, "to_date", lower.lower(node.this))


def _moment(lower: "Expressions", node: exp.Expr) -> Expression:
    """What other dialects wrap a date in before they write it: nothing changes."""
    return lower.lower(node.this)


def _made_day(lower: "Expressions", node: exp.Expr) -> Expression:
    year, month, day = (query_number(node, node.args.get(name), name) for name in ("year", "month", "day"))
    try:
        return constant(date(year, month, day))
    except ValueError:
        raise Mistake(f"{place(node)}{shown(node)} is refused: there is no such day") from None


FIELDS: Mapping[type[exp.Expr], str] = {
    exp.Week: "week", exp.WeekOfYear: "week", exp.DayOfYear: "doy", exp.DayOfMonth: "day", exp.DayOfWeek: "dow",
    exp.DayOfWeekIso: "isodow",
}  # fmt: skip


def _one_field(lower: "Expressions", node: exp.Expr) -> Expression:
    return _field(lower, node, FIELDS[type(node)], lower.lower(node.this))


# --- differences


def _difference(lower: "Expressions", node: exp.Expr) -> Expression:
    """DATE_DIFF and DATEDIFF: how many beginnings of a unit lie between, as Snowflake and SQL Server count."""
    given = node.args.get("unit")
    unit = "day" if given is None else interval_unit(node, given)
    x, y = _moments(lower, node)
    return _boundaries(lower, node, unit, x, y)


def _moments(lower: "Expressions", node: exp.Expr) -> tuple[Expression, Expression]:
    found = []
    for part in (node.this, node.args["expression"]):
        known = literal(part)
        if known is not None and isinstance(known.value, str):  # '2024-01-01' beside a date
            part = exp.Cast(this=part.copy(), to=exp.DataType.build("date" if len(known.value) == 10 else "timestamp"))
        found.append(lower.lower(part))
    return found[0], found[1]


COUNTED = {"year": ("year",), "quarter": ("year", "quarter"), "month": ("year", "month")}
OF_YEAR = {"quarter": 4, "month": 12}
OF_DAY = {"hour": (24, ("hour", 1)), "minute": (1440, ("hour", 60), ("minute", 1)),
          "second": (86_400, ("hour", 3600), ("minute", 60), ("second", 1))}  # fmt: skip


def _boundaries(lower: "Expressions", node: exp.Expr, unit: str, x: Expression, y: Expression) -> Expression:
    def gap(field: str, times: int) -> Expression:
        found = lower.call(node, "subtract", _field(lower, node, field, x), _field(lower, node, field, y))
        return found if times == 1 else lower.call(node, "multiply", found, constant(times))

    if unit == "day":
        return lower.call(node, "date_diff", x, y)
    if unit == "week":
        begins = [
            lower.call(node, "date_trunc", constant("week"), lower.call(node, "to_date", each)) for each in (x, y)
        ]
        return lower.call(node, "div", lower.call(node, "date_diff", *begins), constant(7))
    if unit == "year":
        return gap("year", 1)
    if unit in OF_YEAR:
        return lower.call(node, "add", gap("year", OF_YEAR[unit]), gap(unit, 1))
    if unit not in OF_DAY:
        why = f"differences are counted in {', '.join((*COUNTED, 'week', 'day', *OF_DAY))}"
        raise refused(shown(node), why, "", MISSING, at=node)
    of_day, *fields = OF_DAY[unit]
    assert isinstance(of_day, int)
    total = lower.call(node, "multiply", lower.call(node, "date_diff", x, y), constant(of_day))
    for each in fields:
        assert isinstance(each, tuple)
        total = lower.call(node, "add", total, gap(*each))
    return total


def micros_between(lower: "Expressions", node: exp.Expr, x: Expression, y: Expression) -> Expression:
    """x − y in microseconds."""
    x, y = (lower.call(node, "to_timestamp", each) for each in (x, y))
    minutes = lower.call(node, "multiply", _boundaries(lower, node, "minute", x, y), constant(60_000_000))
    fine = [_field(lower, node, "microsecond", each) for each in (x, y)]
    return lower.call(node, "add", minutes, lower.call(node, "subtract", *fine))


MICROS = {"microsecond": 1, "millisecond": 1000, "second": 10**6, "minute": 60 * 10**6, "hour": 3600 * 10**6,
          "day": 86_400 * 10**6, "week": 7 * 86_400 * 10**6}  # fmt: skip


def _complete(lower: "Expressions", node: exp.Expr) -> Expression:
    """TIMESTAMP_DIFF and TIMESTAMPDIFF: complete units, cut toward 0, as BigQuery and MySQL count."""
    unit = interval_unit(node, node.args.get("unit"))
    if unit not in MICROS:
        why = f"complete units are counted in {', '.join(MICROS)}"
        raise refused(shown(node), why, "use DATE_DIFF, which counts beginnings of a unit", MISSING, at=node)
    return lower.call(node, "div", micros_between(lower, node, *_moments(lower, node)), constant(MICROS[unit]))


def _epoch(lower: "Expressions", node: exp.Expr) -> Expression:
    """EPOCH(x): seconds since 1970."""
    found = micros_between(lower, node, lower.lower(node.this), EPOCH)
    return lower.call(node, "divide", found, constant(10**6))


DATE_RULES: Mapping[type[exp.Expr], Rule] = {
    **dict.fromkeys(FIELDS, _one_field),
    **dict.fromkeys((exp.TimeToStr, exp.ToChar), _formatted),
    **dict.fromkeys((exp.Date, exp.TsOrDsToDate), _day),
    **dict.fromkeys((exp.DateDiff, exp.DatetimeDiff), _difference),
    exp.Monthname: _month_name,
    exp.Dayname: _day_name,
    exp.LastDay: _last_day,
    exp.TimeStrToTime: _moment,
    exp.DateFromParts: _made_day,
    exp.TimestampDiff: _complete,
    exp.TimeToUnix: _epoch,
}
