"""Spellings of other systems, brought to the one that is lowered: in the tree, before anything is allowed or refused.

Only what means the same is rewritten. What looks alike and is not, such as BigQuery's EXTRACT(WEEK …), is refused and
says so. The result is checked against the allow-list like any other tree.
"""

from collections.abc import Callable, Mapping
from functools import partial

from sqlglot import exp

from tacit.base import RefusalKind
from tacit.sql.mistake import refused, shown

__all__ = ["ANONYMOUS", "respell"]

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


def _distinct(node: exp.Expr, value: exp.Expr) -> exp.Expr | None:
    return exp.Count(this=exp.Distinct(expressions=[value]), big_int=True)


def _sketch(node: exp.Expr, dialect: str) -> exp.Expr | None:
    """APPROX_COUNT_DISTINCT: the noise is far larger than a sketch's own error would be."""
    return None if node.args.get("accuracy") is not None or node.args.get("expressions") else _distinct(node, node.this)


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


def _set_operation(node: exp.Expr, dialect: str) -> exp.Expr | None:
    """UNION as the different rows of UNION ALL; INTERSECT and EXCEPT of one column as rows with a match or none."""
    if any(node.args.get(name) for name in ("order", "limit", "offset", "with_", "by_name", "on")):
        return None
    if type(node) is exp.Union:
        if not node.args.get("distinct"):
            return None
        whole = node.copy()
        whole.set("distinct", False)
        return _different(whole, "together")
    names = [side.unnest().named_selects for side in (node.this, node.args["expression"])]
    if node.args.get("distinct") is False or any(len(each) != 1 or each[0] in ("", "*") for each in names):
        return None
    left, right = (exp.column(exp.to_identifier(each[0], quoted=True), table=table) for each, table in
                   zip(names, ("one", "other"), strict=True))  # fmt: skip
    other = exp.Subquery(this=node.args["expression"].unnest().copy(), alias=_named_as("other"))
    inner = exp.Select(
        expressions=[exp.Literal.number(1)],
        from_=exp.From(this=other),
        where=exp.Where(this=exp.EQ(this=left, expression=right)),
    )
    match: exp.Expr = exp.Exists(this=inner)
    found = _different(node.this.unnest().copy(), "one")
    found.set("where", exp.Where(this=exp.Not(this=match) if type(node) is exp.Except else match))
    return found


def _different(rows: exp.Expr, alias: str) -> exp.Select:
    inner = exp.From(this=exp.Subquery(this=rows, alias=_named_as(alias)))
    return exp.Select(expressions=[exp.Star()], distinct=exp.Distinct(), from_=inner)


def _named_as(alias: str) -> exp.TableAlias:
    return exp.TableAlias(this=exp.to_identifier(alias))


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


# --- names


def _renamed(kind: type[exp.Expr], *names: str) -> Callable[[list[exp.Expr]], exp.Expr | None]:
    """A node with the arguments under these names, where there are as many."""

    def made(arguments: list[exp.Expr]) -> exp.Expr | None:
        return kind(**dict(zip(names, arguments, strict=True))) if len(arguments) == len(names) else None

    return made


def _counted(arguments: list[exp.Expr]) -> exp.Expr | None:
    return exp.Count(this=arguments[0], big_int=True) if len(arguments) == 1 else None


def _counted_apart(arguments: list[exp.Expr]) -> exp.Expr | None:
    return _distinct(arguments[0], arguments[0]) if len(arguments) == 1 else None


def _part(arguments: list[exp.Expr]) -> exp.Expr | None:
    if len(arguments) != 2 or type(arguments[0]) not in (exp.Column, exp.Literal, exp.Var) or not arguments[0].name:
        return None
    return exp.Extract(this=exp.var(arguments[0].name.upper()), expression=arguments[1])


def _moved(kind: type[exp.Expr], arguments: list[exp.Expr]) -> exp.Expr | None:
    """DATEADD(day, 3, x), and DATE_SUB(x, INTERVAL 3 DAY)."""
    if len(arguments) == 3 and type(arguments[0]) in (exp.Column, exp.Literal, exp.Var):
        unit, amount, value = arguments
        return kind(this=value, expression=amount, unit=exp.var(unit.name.upper()))
    if len(arguments) == 2 and type(arguments[1]) is exp.Interval:
        return kind(this=arguments[0], expression=arguments[1])
    return None


def _between_moments(arguments: list[exp.Expr]) -> exp.Expr | None:
    """TIMESTAMPDIFF(HOUR, from, to)."""
    if len(arguments) != 3 or type(arguments[0]) not in (exp.Column, exp.Literal, exp.Var):
        return None
    return exp.TimestampDiff(this=arguments[2], expression=arguments[1], unit=exp.var(arguments[0].name.upper()))


def _formats(arguments: list[exp.Expr]) -> exp.Expr | None:
    """DATE_FORMAT(x, 'yyyy-MM'), as Spark has it; MySQL's signs only where strftime has the same."""
    if len(arguments) != 2 or type(arguments[1]) is not exp.Literal:
        return None
    text = arguments[1].name
    for sign in ("%Y", "%m", "%d", "%H"):
        text = text.replace(sign, "")
    return exp.TimeToStr(this=arguments[0], format=arguments[1]) if "%" not in text else None


ANONYMOUS: Mapping[str, Callable[[list[exp.Expr]], exp.Expr | None]] = {
    "var": _renamed(exp.Variance, "this"),
    "varp": _renamed(exp.VariancePop, "this"),
    "std": _renamed(exp.Stddev, "this"),
    "stdev": _renamed(exp.Stddev, "this"),
    "stddevp": _renamed(exp.StddevPop, "this"),
    "stdevp": _renamed(exp.StddevPop, "this"),
    "stdev_pop": _renamed(exp.StddevPop, "this"),
    "count": _counted,
    "sum": _renamed(exp.Sum, "this"),
    "avg": _renamed(exp.Avg, "this"),
    "var_pop": _renamed(exp.VariancePop, "this"),
    "stddev_pop": _renamed(exp.StddevPop, "this"),
    "percentile_cont": _renamed(exp.PercentileCont, "this", "expression"),
    "quantiles": _renamed(exp.ApproxQuantiles, "this", "expression"),
    "percentile": _renamed(exp.ApproxQuantile, "this", "quantile"),
    "percentile_approx": _renamed(exp.ApproxQuantile, "this", "quantile"),
    "approx_percentile": _renamed(exp.ApproxQuantile, "this", "quantile"),
    "approx_median": _renamed(exp.Median, "this"),
    "approx_top_count": _renamed(exp.ApproxTopK, "this", "expression"),
    "count_distinct": _counted_apart,
    "approx_count_distinct": _counted_apart,
    "iff": _renamed(exp.If, "this", "true", "false"),
    "datepart": _part,
    "dateadd": partial(_moved, exp.DateAdd),
    "date_add": partial(_moved, exp.DateAdd),
    "date_sub": partial(_moved, exp.DateSub),
    "timestampdiff": _between_moments,
    "format_date": lambda given: exp.TimeToStr(this=given[1], format=given[0]) if len(given) == 2 else None,
    "format_datetime": lambda given: exp.TimeToStr(this=given[1], format=given[0]) if len(given) == 2 else None,
    "format_timestamp": lambda given: exp.TimeToStr(this=given[1], format=given[0]) if len(given) == 2 else None,
    "date_format": _formats,
    "to_date": _renamed(exp.Date, "this"),
    "countif": _renamed(exp.CountIf, "this"),
    "dow": _renamed(exp.DayOfWeek, "this"),
    "regexp_contains": _renamed(exp.RegexpLike, "this", "expression"),
}
"""Functions that a parser knows by name only, with what they are elsewhere."""

OTHERS = {"sum", "avg", "count", "var_pop", "stddev_pop", "percentile_cont", "quantiles"}  # with a prefix only


def _named(node: exp.Expr, dialect: str) -> exp.Expr | None:
    name = node.this.lower() if isinstance(node.this, str) else ""
    bare = next((name.removeprefix(prefix) for prefix in PREFIXES if name.startswith(prefix)), name)
    rule = ANONYMOUS.get(bare) if bare != name or bare not in OTHERS else None
    return None if rule is None else rule(list(node.expressions))


def _plain(kind: type[exp.Expr], node: exp.Expr, dialect: str) -> exp.Expr | None:
    return kind(**{name: value for name, value in node.args.items() if value is not None})


def _first_piece(node: exp.Expr, dialect: str) -> exp.Expr | None:
    """SPLIT(x, '-')[OFFSET(0)]: the first piece is always there."""
    inner, places = node.this, node.expressions
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
    exp.Bracket: _first_piece, exp.SimilarTo: _similar, exp.Coalesce: _is_null, exp.SafeFunc: _safe,
    exp.Extract: _extracted, exp.DayOfWeek: _weekday, exp.DateDiff: _difference, exp.Cast: _cast,
    exp.AddMonths: _rows_at,
    **dict.fromkeys((exp.Union, exp.Intersect, exp.Except), _set_operation),
    **dict.fromkeys((exp.TimestampTrunc, exp.DateTrunc, exp.DatetimeTrunc, exp.TimeTrunc), _truncated),
    **dict.fromkeys((exp.TimestampAdd, exp.DatetimeAdd, exp.TsOrDsAdd), partial(_plain, exp.DateAdd)),
    **dict.fromkeys((exp.TimestampSub, exp.DatetimeSub), partial(_plain, exp.DateSub)),
    exp.SafeAdd: partial(_plain, exp.Add), exp.SafeSubtract: partial(_plain, exp.Sub),
    exp.SafeMultiply: partial(_plain, exp.Mul), exp.SafeNegate: partial(_plain, exp.Neg),
}  # fmt: skip
