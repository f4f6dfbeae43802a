"""A condition of a question said of columns as they are stored, so that rows are left out where they are read.

A condition of a question is about values as they were read: cast, clamped to bounds, put on steps. Engines do not look
through that: they read every column of every row before they ask. Of a stored column, they leave out rows and whole
blocks of a file at once, and guess how many rows are left.

What is said here is true wherever the condition is:

- of AND what any part implies, of OR what every part implies, of anything but a comparison with a constant nothing;
- clamping keeps the order of values: clamp(x) ≥ c with c above the low end means x ≥ c, and so on; at an end, where
  values beyond it are clamped to c, nothing is said;
- a number that an engine compares as a decimal before it is a double is compared with the next double, further out.

It is `exact`, and the condition need not be asked again, if it is also true nowhere else: each comparison then asks
of a column that may be NULL that x is a value at all. Whether a row is taken hangs on true alone, not on false or NULL,
and where AND and OR are true follows from where their parts are.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from fractions import Fraction
from math import ceil, floor, inf, nextafter

from tacit.engine.dialect import Dialect
from tacit.engine.unit import column_kind
from tacit.plan.expression import Call, Column, Constant, Expression, constant
from tacit.plan.facts import Facts, Type, Value, exact_step
from tacit.policy import ColumnType

__all__ = ["ComparedColumn", "StoredCondition", "inward", "stored_condition", "unclamped"]

SIGNS = {"eq": "=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
FLIPPED = {"eq": "eq", "lt": "gt", "le": "ge", "gt": "lt", "ge": "le"}


@dataclass(frozen=True, kw_only=True)
class StoredCondition:
    """SQL over stored columns; `exact` if it is true where the condition is and nowhere else."""

    sql: str
    exact: bool


@dataclass(frozen=True, kw_only=True)
class ComparedColumn:
    """A stored column: the SQL that is compared, and of its values the range that they are clamped to, `low` to `high`,
    and that beyond which they are none, `least` to `most`."""

    sql: str
    native: str
    facts: Facts
    low: Value = None
    high: Value = None
    least: Value = None
    most: Value = None

    def usable(self, dialect: Dialect) -> bool:
        """Whether values are compared as they are stored, or clamped."""
        match self.facts.type:
            case Type.NUMBER:
                return exact_step(self.facts) is None  # else reading rounds them
            case Type.INTEGER:
                return dialect.total or column_kind(self.native) is ColumnType.INTEGER
        return self.facts.type is not Type.BOOLEAN

    def there(self, sign: str, dialect: Dialect) -> str:
        """Beside a comparison of this sign: that a value of a nullable column is one; nothing where that is known."""
        end = self.most if sign in ("ge", "gt") else self.least
        if end is None or not self.facts.nullable:
            return ""
        return f" AND {self.sql} {'<=' if sign in ('ge', 'gt') else '>='} {_constant(end, self, dialect)}"


TRUE = StoredCondition(sql="TRUE", exact=True)
Columns = Mapping[str, ComparedColumn]


def stored_condition(condition: Expression, columns: Columns, dialect: Dialect) -> StoredCondition | None:
    """What `condition` says of these columns; None where that is nothing."""
    if not isinstance(condition, Call):
        return None
    arguments = condition.arguments
    match condition.operation:
        case "and":
            return _all(*(stored_condition(each, columns, dialect) for each in arguments))
        case "or":
            return _any(*(stored_condition(each, columns, dialect) for each in arguments))
        case "between":
            value, low, high = arguments
            return _all(_compared("ge", value, low, columns, dialect), _compared("le", value, high, columns, dialect))
        case "in":
            return _listed(arguments[0], arguments[1:], columns, dialect)
        case "eq" | "lt" | "le" | "gt" | "ge" as sign:
            one, two = arguments
            found = _compared(sign, one, two, columns, dialect)
            return found or _compared(FLIPPED[sign], two, one, columns, dialect)
    return None


def unclamped(condition: Expression, copies: Mapping[str, str], dialect: Dialect) -> Expression:
    """The same condition of rows that were read, in which comparisons that clamping does not change are of copies that
    were not clamped: by the names of columns those of the copies. A column that cannot be NULL is a number there."""
    if not isinstance(condition, Call):
        return condition
    if condition.operation in ("and", "or"):
        return replace(condition, arguments=tuple(unclamped(each, copies, dialect) for each in condition.arguments))
    if condition.operation not in FLIPPED:
        return condition
    columns = {}
    for each in condition.arguments:
        if isinstance(each, Column) and each.name in copies and not each.facts.nullable and each.facts.bounded:
            low, high = inward(each.facts.low, each.facts.high)
            ends = None if low is None or high is None else (Fraction(low), Fraction(high))
            whole = each.facts.type is Type.INTEGER
            if ends is not None and (not whole or all(end.denominator == 1 for end in ends)):
                columns[each.name] = ComparedColumn(sql="", native="", facts=each.facts, low=ends[0], high=ends[1])
    said = stored_condition(condition, columns, dialect)
    if said is None or not said.exact:
        return condition
    if said == TRUE:
        return constant(True)
    return replace(
        condition,
        arguments=tuple(
            replace(each, name=copies[each.name]) if isinstance(each, Column) and each.name in columns else each
            for each in condition.arguments
        ),
    )


def _all(*parts: StoredCondition | None) -> StoredCondition | None:
    said = [part for part in parts if part is not None]
    exact = all(part is not None and part.exact for part in parts)
    written = " AND ".join(dict.fromkeys(part.sql for part in said if part != TRUE))
    return StoredCondition(sql=written or TRUE.sql, exact=exact) if said else None


def _any(*ways: StoredCondition | None) -> StoredCondition | None:
    said = [way for way in ways if way is not None]
    if len(said) < len(ways):
        return None
    if TRUE in said:
        return TRUE
    written = " OR ".join(dict.fromkeys(f"({way.sql})" for way in said))
    return StoredCondition(sql=f"({written})", exact=all(way.exact for way in said))


def _fixed(value: Expression) -> Value:
    """What an expression of constants alone is, where its facts tell."""
    if isinstance(value, Constant):
        return value.value
    facts = value.facts
    if facts.nullable or facts.low != facts.high or any(isinstance(part, Column) for part in value.walk()):
        return None
    return facts.low


def _column(value: Expression, columns: Columns, dialect: Dialect) -> ComparedColumn | None:
    found = columns.get(value.name) if isinstance(value, Column) else None
    return found if found is not None and found.usable(dialect) else None


def _compared(
    sign: str, value: Expression, other: Expression, columns: Columns, dialect: Dialect
) -> StoredCondition | None:
    column, fixed = _column(value, columns, dialect), _fixed(other)
    if column is None or fixed is None or isinstance(fixed, bool):
        return None
    if column.facts.type is Type.TEXT:
        return _same_text([fixed], column, dialect) if sign == "eq" else None
    if sign == "eq":
        return _all(*(_compared(end, value, other, columns, dialect) for end in ("ge", "le")))
    if column.facts.type.numeric:
        if not isinstance(fixed, int | Fraction):
            return None
        fixed = Fraction(float(fixed))  # as it is compared
    elif other.facts.type is not column.facts.type:
        return None
    if not _inside(sign, fixed, column):
        return TRUE if _always(sign, fixed, column) else None
    said, exact = sign, column.facts.domain is None and _reached(sign, fixed, column)
    if column.facts.type is Type.INTEGER:
        assert isinstance(fixed, Fraction)
        fixed = ceil(fixed) if sign in ("ge", "lt") else floor(fixed)
    elif column.facts.type is Type.NUMBER and not dialect.total:
        assert isinstance(fixed, Fraction)
        below = sign in ("ge", "gt")
        near = nextafter(float(fixed), -inf if below else inf)
        if abs(near) == inf:
            return None
        fixed, said, exact = Fraction(near), "ge" if below else "le", False
    written = f"{column.sql} {SIGNS[said]} {_constant(fixed, column, dialect)}"
    return StoredCondition(sql=written + (column.there(sign, dialect) if exact else ""), exact=exact)


def _constant(value: Value, column: ComparedColumn, dialect: Dialect) -> str:
    """A constant as columns of this kind are compared with it where they are read."""
    if column.facts.type is Type.INTEGER:
        return str(int(value))  # type: ignore[arg-type]  # a number
    if column.facts.type is Type.NUMBER and not dialect.total:
        return repr(float(value))  # type: ignore[arg-type]  # a bare literal takes on the type of the column
    return dialect.constant(value, column.facts.type)


def _inside(sign: str, fixed: Value, column: ComparedColumn) -> bool:
    """Whether no value fulfils the comparison just because it was clamped to an end."""
    if column.facts.domain is not None:
        return True  # nothing is clamped
    low, high, here = (_ordered(value) for value in (column.low, column.high, fixed))
    assert here is not None
    match sign:
        case "ge":
            return low is None or low < here
        case "gt":
            return low is None or low <= here
        case "le":
            return high is None or here < high
    return high is None or here <= high


def _reached(sign: str, fixed: Value, column: ComparedColumn) -> bool:
    """Whether some value within the range may fulfil the comparison: else values beyond it do as they are stored."""
    low, high, here = (_ordered(value) for value in (column.low, column.high, fixed))
    assert here is not None
    match sign:
        case "ge":
            return high is None or here <= high
        case "gt":
            return high is None or here < high
        case "le":
            return low is None or low <= here
    return low is None or low < here


def _always(sign: str, fixed: Value, column: ComparedColumn) -> bool:
    """Whether every value fulfils the comparison, and there is one in every row."""
    end = column.low if sign in ("ge", "gt") else column.high
    here, bound = _ordered(fixed), _ordered(end)
    if column.facts.nullable or here is None or bound is None:
        return False
    return (
        (here <= bound if sign == "ge" else here < bound)
        if sign in ("ge", "gt")
        else (here >= bound if sign == "le" else here > bound)
    )


def _ordered(value: Value) -> Fraction | None:
    """A number that has the order of numbers, of dates, or of moments, exactly."""
    match value:
        case datetime():
            return Fraction((value - datetime(1, 1, 1)) // timedelta(microseconds=1))
        case date():
            return Fraction(value.toordinal())
        case int() | Fraction():
            return Fraction(value)
    return None


def _listed(
    value: Expression, others: Sequence[Expression], columns: Columns, dialect: Dialect
) -> StoredCondition | None:
    column = _column(value, columns, dialect)
    if column is not None and column.facts.type is Type.TEXT:
        return _same_text([_fixed(each) for each in others], column, dialect)
    known = [each for each in others if _fixed(each) is not None]  # nothing equals NULL
    return _any(*(_compared("eq", value, each, columns, dialect) for each in known)) if known else None


def _same_text(fixed: Sequence[Value], column: ComparedColumn, dialect: Dialect) -> StoredCondition | None:
    domain = column.facts.domain
    texts = [text for text in dict.fromkeys(fixed) if isinstance(text, str) and (domain is None or text in domain)]
    if not texts:
        return None
    written = [dialect.constant(text, Type.TEXT) for text in texts]
    if len(written) == 1:
        return StoredCondition(sql=f"{column.sql} = {written[0]}", exact=True)
    return StoredCondition(sql=f"{column.sql} IN ({', '.join(written)})", exact=True)


def inward(low: Value, high: Value) -> tuple[float | None, float | None]:
    """The doubles just inside a range of numbers, so that what is clamped to them lies in it; the nearest where none is
    inside."""
    first = None if low is None else _up(Fraction(low))  # type: ignore[arg-type]  # a number
    last = None if high is None else -_up(-Fraction(high))  # type: ignore[arg-type]  # a number
    if first is not None and last is not None and first > last:
        first = last = float(low)  # type: ignore[arg-type]  # a number
    return first, last


def _up(value: Fraction) -> float:
    near = float(value)
    return nextafter(near, inf) if Fraction(near) < value else near
