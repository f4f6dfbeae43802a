"""Spellings of other systems, brought to the one that is lowered: in the tree, before anything is allowed or refused.

Only what means the same is rewritten. What looks alike and is not, such as BigQuery's EXTRACT(WEEK …), is refused and
says so. The result is checked against the allow-list like any other tree.
"""

from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import partial

from sqlglot import exp

from tacit.base import RefusalKind
from tacit.sql.mistake import refused, shown
from tacit.sql.named_spellings import ANONYMOUS, counted_apart
from tacit.sql.regressions import REGRESSIONS, regression
from tacit.sql.set_spellings import set_operation

__all__ = ["respell"]

Respelling = Callable[[exp.Expr, str], exp.Expr | None]
"""A node in its one spelling, in the dialect it was written in; None where it stays."""

MISSING = RefusalKind.UNSUPPORTED
MONDAY_BEFORE = ("MONDAY", "SUNDAY", "SATURDAY", "FRIDAY", "THURSDAY", "WEDNESDAY", "TUESDAY")
FROM_ONE = ("bigquery", "spark")  # where Sunday is day 1 of the week; elsewhere it is 0
PREFIXES = ("anon_", "dp_")
SCHEMAS = ("public", "main", "dbo", "default")
"""Where a table is if nobody says so: in PostgreSQL, DuckDB, SQL Server and Spark."""


def respell(tree: exp.Expr, dialect: str) -> None:
    """Rewrite the tree in place, from the leaves up."""
    for node in reversed(list(tree.walk())):
        rule = RULES.get(type(node))
        made = None if rule is None else rule(node, dialect)
        if made is not None and made is not node:
            made.meta.update(node.meta)
            node.replace(made)


def _days(node: exp.Expr, amount: int) -> exp.Expr:
    if not amount:
        return node
    number: exp.Expr = exp.Literal.number(abs(amount))
    return exp.DateAdd(this=node, expression=exp.Neg(this=number) if amount < 0 else number, unit=exp.var("DAY"))


def _sketch(node: exp.Expr, dialect: str) -> exp.Expr | None:
    """APPROX_COUNT_DISTINCT: the noise is far larger than a sketch's own error would be."""
    return None if node.args.get("accuracy") is not None or node.args.get("expressions") else counted_apart(node.this)


def _fetch(node: exp.Expr, dialect: str) -> exp.Expr | None:
    options = node.args.get("limit_options")
    odd = options is not None and (options.args.get("percent") or options.args.get("with_ties"))
    return None if odd else exp.Limit(expression=node.args.get("count") or exp.Literal.number(1))


def _symmetric(node: exp.Expr, dialect: str) -> exp.Expr | None:
    if not node.args.get("symmetric"):
        return None
    value, low, high = node.this, node.args["low"], node.args["high"]
    other = exp.Between(this=value.copy(), low=high.copy(), high=low.copy())
    return exp.Paren(this=exp.Or(this=exp.Between(this=value, low=low, high=high), expression=other))


def _one_of(node: exp.Expr, dialect: str) -> exp.Expr | None:
    """x = ANY (ARRAY['a', 'b']) and x LIKE ANY ('a%', 'b%'), of constants."""
    given = node.args.get("expression")
    if type(given) is not exp.Any:
        return None
    listed = given.this.unnest()
    if type(listed) not in (exp.Array, exp.Tuple) or not listed.expressions:
        return None
    if type(node) is exp.EQ:
        return exp.In(this=node.this, expressions=listed.expressions)
    parts = [type(node)(this=node.this.copy(), expression=each) for each in listed.expressions]
    found = parts[0]
    for part in parts[1:]:
        found = exp.Or(this=found, expression=part)
    return exp.Paren(this=found)


def _of_table(node: exp.Expr, dialect: str) -> exp.Expr | None:
    """PUMS.PUMS, as some tutorials write: a table of a schema that is called as it is; and public.orders, of the schema
    that tables are in where nobody says one. The same before columns."""
    table = node.args.get("table") if type(node) is exp.Column else node.this
    schema = node.args.get("db")
    if schema is None or table is None or node.args.get("catalog") is not None:
        return None
    if schema.name.casefold() in (table.name.casefold(), *SCHEMAS):
        node.set("db", None)
    return None


# --- weeks


def _truncated(node: exp.Expr, dialect: str) -> exp.Expr | None:
    """TIME_TRUNC, DATETIME_TRUNC … in one form; weeks that begin on another day than Monday by moving there and
    back."""
    unit = node.args.get("unit")
    moved = 0
    if type(unit) is exp.WeekStart:
        moved, unit = MONDAY_BEFORE.index(unit.this.name.upper()), exp.var("WEEK")
    elif type(node) in (exp.DateTrunc, exp.TimestampTrunc) and node.args.get("zone") is None:
        return None
    if node.args.get("zone") is not None:
        return None
    return _days(exp.TimestampTrunc(this=_days(node.this, moved), unit=unit), -moved)


def _difference(node: exp.Expr, dialect: str) -> exp.Expr | None:
    """Most systems count beginnings of a unit between two dates. Spark counts complete units, and DuckDB complete
    weeks; BigQuery's weeks begin on Sunday."""
    unit = node.args.get("unit")
    named = unit.name.upper() if isinstance(unit, exp.Var) else ""
    if (dialect == "duckdb" and named in ("WEEK", "WEEKS")) or (dialect == "spark" and named not in ("", "DAY")):
        parts = [each.this if type(each) is exp.TsOrDsToDate else each for each in (node.this, node.args["expression"])]
        return exp.TimestampDiff(this=parts[0], expression=parts[1], unit=unit)
    if type(unit) is not exp.WeekStart:
        return None
    moved = MONDAY_BEFORE.index(unit.this.name.upper())
    first, second = _days(node.this, moved), _days(node.args["expression"], moved)
    return exp.DateDiff(this=first, expression=second, unit=exp.var("WEEK"))


def _extracted(node: exp.Expr, dialect: str) -> exp.Expr | None:
    field = node.this.name.upper() if isinstance(node.this, exp.Var) else ""
    if type(node.this) is exp.WeekStart or (dialect == "bigquery" and field == "WEEK"):
        why = "weeks are counted from the first Sunday there, and by ISO 8601 here"
        raise refused(shown(node), why, "write ISOWEEK", MISSING, at=node)
    if dialect in FROM_ONE and field in ("DAYOFWEEK", "WEEKDAY", "DW"):
        return _from_one(exp.Extract(this=exp.var("DOW"), expression=node.args["expression"]))
    return None


def _weekday(node: exp.Expr, dialect: str) -> exp.Expr | None:
    return _from_one(exp.Extract(this=exp.var("DOW"), expression=node.this)) if dialect in FROM_ONE else None


def _from_one(node: exp.Expr) -> exp.Expr:
    return exp.Paren(this=exp.Add(this=node, expression=exp.Literal.number(1)))


def _windowed(node: exp.Expr, dialect: str) -> exp.Expr | None:
    """RATIO_TO_REPORT(x) OVER (…) as x / SUM(x) OVER (…)."""
    inner = node.this
    if type(inner) is not exp.Anonymous or str(inner.this).upper() != "RATIO_TO_REPORT" or len(inner.expressions) != 1:
        return None
    value = inner.expressions[0]
    whole = node.copy()
    whole.set("this", exp.Sum(this=value.copy()))
    return exp.Div(this=exp.Paren(this=value.copy()), expression=whole, typed=False, safe=True)


def _no_keys(node: exp.Expr, dialect: str) -> exp.Expr | None:
    """GROUP BY (): one group of everything."""
    given = node.args.get("expressions") or []
    empty = [each for each in given if type(each) is exp.Tuple and not each.expressions]
    if given and len(empty) == len(given) and not any(node.args.get(n) for n in ("rollup", "cube", "grouping_sets")):
        node.set("expressions", [])
    return None


OTHERS = {"sum", "avg", "count", "var_pop", "stddev_pop", "percentile_cont", "quantiles"}  # with a prefix only


def _named(node: exp.Expr, dialect: str) -> exp.Expr | None:
    name = node.this.lower() if isinstance(node.this, str) else ""
    bare = next((name.removeprefix(prefix) for prefix in PREFIXES if name.startswith(prefix)), name)
    rule = ANONYMOUS.get(bare) if bare != name or bare not in OTHERS else None
    return None if rule is None else rule(list(node.expressions))


def _plain(kind: type[exp.Expr], node: exp.Expr, dialect: str) -> exp.Expr | None:
    return kind(**{name: value for name, value in node.args.items() if value is not None})


def _place(node: exp.Expr, dialect: str) -> exp.Expr | None:
    """SPLIT(x, '-')[OFFSET(0)], whose first piece is always there, and APPROX_QUANTILES(x, 100)[OFFSET(50)]."""
    inner, places = node.this, node.expressions
    if type(inner) is exp.ApproxQuantiles and len(places) == 1 and type(places[0]) is exp.Literal:
        place, pieces = places[0].name, inner.args["expression"]
        first = 1 if dialect == "duckdb" and not node.args.get("offset") else 0
        if place.isdigit() and type(pieces) is exp.Literal and pieces.name.isdigit() and int(pieces.name) > 0:
            order = Fraction(int(place) - first * (dialect == "duckdb"), int(pieces.name))
            if 0 <= order <= 1:
                return exp.Quantile(this=inner.this, quantile=exp.Literal.number(f"{float(order):.12g}"))
        return None
    if type(inner) is not exp.Split or len(places) != 1 or places[0].name != "0" or dialect != "bigquery":
        return None
    return exp.SplitPart(this=inner.this, delimiter=inner.args["expression"], part_index=exp.Literal.number(1))


def _similar(node: exp.Expr, dialect: str) -> exp.Expr | None:
    """SIMILAR TO is a regular expression for the whole text in DuckDB, and SQL's own pattern elsewhere."""
    return exp.RegexpFullMatch(this=node.this, expression=node.args["expression"]) if dialect == "duckdb" else None


def _is_null(node: exp.Expr, dialect: str) -> exp.Expr | None:
    node.set("is_null", None)  # SQL Server's ISNULL(x, y)
    node.set("is_nvl", None)
    return None


def _raw(node: exp.Expr, dialect: str) -> exp.Expr | None:
    """A text without escapes, which BigQuery writes with an r before it."""
    return exp.Literal.string(node.name)


def _cast(node: exp.Expr, dialect: str) -> exp.Expr | None:
    """A constant TIMESTAMP '…' has a zone in BigQuery and Spark; here it has none, like the columns beside it."""
    to, plain = node.args["to"], type(node.this) is exp.Literal and node.this.is_string
    if (
        plain
        and dialect in ("bigquery", "spark")
        and type(to) is exp.DataType
        and to.this == exp.DataType.Type.TIMESTAMPTZ
    ):
        node.set("to", exp.DataType.build("timestamp"))
    return None


def _safe(node: exp.Expr, dialect: str) -> exp.Expr | None:
    return node.this if isinstance(node.this, exp.Expr) else None


def _rows_at(node: exp.Expr, dialect: str) -> exp.Expr | None:
    """ADD_MONTHS(x, 2)."""
    return exp.DateAdd(this=node.this, expression=node.args["expression"], unit=exp.var("MONTH"))


RULES: Mapping[type[exp.Expr], Respelling] = {
    exp.RawString: _raw,
    exp.Anonymous: _named, exp.Fetch: _fetch, exp.Between: _symmetric, exp.EQ: _one_of, exp.Like: _one_of,
    exp.ILike: _one_of, exp.Table: _of_table, exp.Column: _of_table, exp.ApproxDistinct: _sketch, exp.Hll: _sketch,
    exp.Bracket: _place, exp.SimilarTo: _similar, exp.Coalesce: _is_null, exp.SafeFunc: _safe,
    exp.Extract: _extracted, exp.DayOfWeek: _weekday, exp.DateDiff: _difference, exp.Cast: _cast,
    exp.AddMonths: _rows_at,
    **dict.fromkeys((exp.Union, exp.Intersect, exp.Except), set_operation),
    **dict.fromkeys((exp.TimestampTrunc, exp.DateTrunc, exp.DatetimeTrunc, exp.TimeTrunc), _truncated),
    **dict.fromkeys((exp.TimestampAdd, exp.DatetimeAdd, exp.TsOrDsAdd), partial(_plain, exp.DateAdd)),
    **dict.fromkeys((exp.TimestampSub, exp.DatetimeSub), partial(_plain, exp.DateSub)),
    **dict.fromkeys(REGRESSIONS, regression),
    exp.Window: _windowed, exp.Group: _no_keys,
    exp.SafeAdd: partial(_plain, exp.Add), exp.SafeSubtract: partial(_plain, exp.Sub),
    exp.SafeMultiply: partial(_plain, exp.Mul), exp.SafeNegate: partial(_plain, exp.Neg),
}  # fmt: skip
