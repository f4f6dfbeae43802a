"""Rules for dates and timestamps."""

from collections.abc import Mapping

from sqlglot import exp

from tacit.base import Refused
from tacit.plan.expression import Expression, constant
from tacit.sql.constants import number, whole
from tacit.sql.expressions import Expressions, Rule
from tacit.sql.refusals import place, refused, shown

__all__ = ["RULES", "part_of", "shifted"]

FIELDS: dict[type[exp.Expr], str] = {
    exp.Year: "year",
    exp.Quarter: "quarter",
    exp.Month: "month",
    exp.Day: "day",
    exp.Hour: "hour",
    exp.Minute: "minute",
    exp.Second: "second",
}
SPELLINGS = {"dayofyear": "doy", "isoweek": "week"}
MOST = 10**9


def _word(node: exp.Expr, unit: exp.Expr | None) -> str:
    """The unit or field that is named, in small letters and without a plural."""
    if type(unit) not in (exp.Var, exp.Literal, exp.Column) or unit is None or not unit.name:
        raise refused(shown(node), "its unit is one word", "write 'month', 'day' …", at=node)
    word = unit.name.lower()
    singular = word[:-1] if word.endswith("s") and len(word) > 3 else word
    return SPELLINGS.get(singular, singular)


def _trunc(lower: Expressions, node: exp.Expr) -> Expression:
    return lower.call(node, "date_trunc", constant(_word(node, node.args.get("unit"))), lower.lower(node.this))


def _extract(lower: Expressions, node: exp.Expr) -> Expression:
    return part_of(lower, node, node.this, node.args["expression"])


def part_of(lower: Expressions, node: exp.Expr, field: exp.Expr, value: exp.Expr) -> Expression:
    """EXTRACT(field FROM value)."""
    return lower.call(node, "extract", constant(_word(node, field)), lower.lower(value))


def _field(lower: Expressions, node: exp.Expr) -> Expression:
    return lower.call(node, "extract", constant(FIELDS[type(node)]), lower.lower(node.this))


def _diff(lower: Expressions, node: exp.Expr) -> Expression:
    unit = node.args.get("unit")
    if unit is not None and _word(node, unit) != "day":
        raise refused(shown(node), "differences are counted in days", "use 'day', and divide", at=node)
    return lower.call(node, "date_diff", lower.lower(node.this), lower.lower(node.args["expression"]))


def _shift(lower: Expressions, node: exp.Expr) -> Expression:
    """DATE_ADD and DATE_SUB."""
    amount, minus = node.args["expression"], type(node) is exp.DateSub
    if type(amount) is not exp.Interval:
        amount = exp.Interval(this=amount.copy(), unit=node.args.get("unit") or exp.Var(this="day"))
    return shifted(lower, node, node.this, amount, minus=minus)


def shifted(lower: Expressions, node: exp.Expr, moment: exp.Expr, interval: exp.Expr, *, minus: bool) -> Expression:
    """A date and a constant number of units later, or earlier."""
    amount = _amount(node, interval.args.get("this"))
    unit = constant(_word(node, interval.args.get("unit")))
    return lower.call(node, "date_add", lower.lower(moment), constant(-amount if minus else amount), unit)


def _amount(node: exp.Expr, given: exp.Expr | None) -> int:
    plain = None if given is None else given.unnest()
    sign = 1
    if type(plain) is exp.Neg:
        plain, sign = plain.this.unnest(), -1
    if type(plain) is not exp.Literal:
        raise refused(shown(node), "an interval is a constant number of one unit", "write INTERVAL 3 DAY", at=node)
    text = plain.name.strip()
    if text.startswith("-"):
        text, sign = text[1:], -sign
    try:
        return sign * whole(number(text), "an interval", most=MOST)
    except Refused as error:
        raise Refused(f"{place(node)}{shown(node)}: {error}; write INTERVAL 3 DAY") from None


RULES: Mapping[type[exp.Expr], Rule] = {
    **dict.fromkeys((exp.TimestampTrunc, exp.DateTrunc), _trunc),
    **dict.fromkeys(FIELDS, _field),
    **dict.fromkeys((exp.DateAdd, exp.DateSub), _shift),
    exp.Extract: _extract,
    exp.DateDiff: _diff,
}
