"""The allow-list of syntax: which nodes of the parser's tree are known, which of their arguments, and why others not.

The whole tree is checked before anything is lowered. What is not listed is refused, also when a new release of the
parser adds a node, or an argument to a node that is listed.
"""

from sqlglot import exp

from tacit.base import Mistake, RefusalKind, Refused
from tacit.sql.mistake import place, quoted, refused, shown
from tacit.sql.reasons import ARGUMENTS, CALLED, CLASSES, FUNCTIONS, MISPLACED, MISSING, SUBQUERY, UNKNOWN, Reason

__all__ = [
    "ALLOWED", "CALLED", "CLASSES", "FUNCTIONS", "MISPLACED", "MOST_DEEP", "MOST_NODES", "SUBQUERY", "Reason", "check",
]  # fmt: skip

MOST_NODES = 10_000
MOST_DEEP = 100

ONE = {"this"}
TWO = {"this", "expression"}
ALLOWED: dict[type[exp.Expr], set[str]] = {
    # queries
    exp.Select: {"with_", "expressions", "distinct", "from_", "joins", "where", "group", "having", "order", "limit",
                 "offset", "qualify", "windows"},
    exp.From: ONE,
    exp.Join: {"this", "on", "side", "kind", "using", "method"},
    exp.Where: ONE,
    exp.Group: {"expressions", "all", "rollup", "cube", "grouping_sets"},
    exp.Rollup: {"expressions"}, exp.Cube: {"expressions"}, exp.GroupingSets: {"expressions"},
    exp.Grouping: {"expressions"},
    exp.Tuple: {"expressions"},
    exp.Having: ONE,
    exp.Order: {"expressions"},
    exp.Ordered: {"this", "desc", "nulls_first"},
    exp.Limit: {"expression"},
    exp.Offset: {"expression"},
    exp.With: {"expressions"},
    exp.CTE: {"this", "alias", "materialized"},
    exp.Subquery: {"this", "alias"},
    exp.Table: {"this", "alias", "joins"},
    exp.TableAlias: {"this", "columns"},
    exp.Distinct: {"expressions"},
    # names and constants
    exp.Column: {"this", "table"},
    exp.Identifier: {"this", "quoted"},
    exp.Star: set(),
    exp.Alias: {"this", "alias"},
    exp.Literal: {"this", "is_string"},
    exp.Boolean: ONE,
    exp.Null: set(),
    exp.Var: ONE,
    exp.Interval: {"this", "unit"},
    exp.DataType: {"this", "expressions", "nested"},
    exp.DataTypeParam: ONE,
    exp.Array: {"expressions", "value_constructor", "bracket_notation"},
    # logic and comparison
    exp.Paren: ONE,
    exp.And: TWO, exp.Or: TWO, exp.Not: ONE,
    exp.EQ: TWO, exp.NEQ: TWO, exp.LT: TWO, exp.LTE: TWO, exp.GT: TWO, exp.GTE: TWO,
    exp.NullSafeEQ: TWO, exp.NullSafeNEQ: TWO,
    exp.Is: {"this", "expression", "negate"},
    exp.In: {"this", "expressions", "query"},
    exp.Exists: ONE,
    exp.Union: {"this", "expression", "distinct"},
    exp.Between: {"this", "low", "high"},
    exp.Like: {"this", "expression", "negate"},
    exp.ILike: {"this", "expression", "negate"},
    exp.Escape: TWO,
    exp.RegexpLike: {"this", "expression", "flag"}, exp.RegexpILike: {"this", "expression", "flag"},
    exp.RegexpFullMatch: {"this", "expression", "options"}, exp.SimilarTo: TWO,
    exp.StartsWith: TWO, exp.EndsWith: TWO, exp.Contains: TWO,
    exp.Case: {"this", "ifs", "default"},
    exp.If: {"this", "true", "false"},
    exp.Coalesce: {"this", "expressions"},
    exp.Nullif: TWO,
    exp.Nvl2: {"this", "true", "false"},
    exp.DecodeCase: {"expressions"},
    # arithmetic
    exp.Add: TWO, exp.Sub: TWO, exp.Mul: TWO, exp.Mod: TWO, exp.IntDiv: TWO, exp.SafeDivide: TWO,
    exp.Div: {"this", "expression", "typed", "safe"},
    exp.Neg: ONE, exp.Abs: ONE, exp.Sign: ONE, exp.Sqrt: ONE, exp.Ln: ONE, exp.Exp: ONE,
    exp.Floor: ONE, exp.Ceil: ONE, exp.Trunc: {"this", "decimals", "fractions_supported"},
    exp.Cbrt: ONE, exp.Degrees: ONE, exp.Radians: ONE, exp.Pi: set(),
    exp.WidthBucket: {"this", "min_value", "max_value", "num_buckets"},
    exp.Round: {"this", "decimals"},
    exp.Log: TWO, exp.Pow: TWO,
    exp.Least: {"this", "expressions", "ignore_nulls"},
    exp.Greatest: {"this", "expressions", "ignore_nulls"},
    exp.Cast: {"this", "to"},
    exp.TryCast: {"this", "to", "safe", "requires_string"},
    # text
    exp.Lower: ONE, exp.Upper: ONE,
    exp.Length: ONE,
    exp.Trim: {"this", "position"},
    exp.Substring: {"this", "start", "length"},
    exp.Left: TWO, exp.Right: TWO,
    exp.Replace: {"this", "expression", "replacement"},
    exp.DPipe: {"this", "expression", "safe"},
    exp.StrPosition: {"this", "substr", "clamp_position"},
    exp.SplitPart: {"this", "delimiter", "part_index", "part_index_zero_as_one", "empty_delimiter_returns_whole"},
    exp.ConcatWs: {"expressions", "safe", "coalesce", "flatten"},
    exp.Pad: {"this", "expression", "fill_pattern", "is_left"},
    exp.Concat: {"expressions", "safe", "coalesce"},
    # dates
    exp.TimestampTrunc: {"this", "unit"},
    exp.DateTrunc: {"this", "unit"},
    exp.Extract: TWO,
    exp.Year: ONE, exp.Quarter: ONE, exp.Month: ONE, exp.Day: ONE, exp.Hour: ONE, exp.Minute: ONE, exp.Second: ONE,
    exp.Week: ONE, exp.WeekOfYear: ONE, exp.DayOfYear: ONE, exp.DayOfMonth: ONE, exp.DayOfWeek: ONE,
    exp.DayOfWeekIso: ONE, exp.Monthname: {"this", "abbreviated"}, exp.Dayname: {"this", "abbreviated"},
    exp.LastDay: {"this", "unit"},
    exp.Date: ONE, exp.TsOrDsToDate: {"this", "safe"}, exp.TimeStrToTime: ONE, exp.TimeToUnix: ONE,
    exp.DateFromParts: {"year", "month", "day"},
    exp.TimeToStr: {"this", "format"}, exp.ToChar: {"this", "format"},
    exp.TimestampDiff: {"this", "expression", "unit"},
    exp.DatetimeDiff: {"this", "expression", "unit", "date_part_boundary"},
    exp.DateDiff: {"this", "expression", "unit", "date_part_boundary", "big_int"},
    exp.DateAdd: {"this", "expression", "unit"},
    exp.DateSub: {"this", "expression", "unit"},
    # aggregates
    exp.Count: {"this", "big_int"},
    exp.CountIf: ONE,
    exp.Sum: ONE, exp.Avg: ONE, exp.Min: ONE, exp.Max: ONE,
    exp.Variance: ONE, exp.VariancePop: ONE, exp.Stddev: ONE, exp.StddevPop: ONE, exp.StddevSamp: ONE,
    exp.CovarSamp: TWO, exp.CovarPop: TWO, exp.Corr: TWO,
    exp.Median: ONE, exp.Mode: ONE,
    exp.PercentileCont: TWO, exp.PercentileDisc: TWO,
    exp.WithinGroup: TWO,
    exp.Quantile: {"this", "quantile"},
    exp.ApproxQuantile: {"this", "quantile"},
    exp.ApproxQuantiles: TWO,
    exp.ApproxTopK: TWO,
    exp.Filter: TWO,
    # windows, over released values or over the rows of one unit
    exp.Window: {"this", "partition_by", "order", "spec", "over", "alias"},
    exp.WindowSpec: {"kind", "start", "start_side", "end", "end_side"},
    exp.Qualify: ONE,
    exp.RowNumber: set(), exp.Rank: set(), exp.DenseRank: set(), exp.PercentRank: set(), exp.CumeDist: set(),
    exp.Ntile: ONE, exp.FirstValue: ONE, exp.LastValue: ONE,
    exp.Lag: {"this", "offset", "default"}, exp.Lead: {"this", "offset", "default"},
    exp.Anonymous: {"this", "expressions"},  # by name, in expressions.py and aggregates.py
}  # fmt: skip


def check(tree: exp.Expr) -> None:
    """Refuse a tree that holds anything unknown, or that is too large or too deep."""
    ahead: list[tuple[exp.Expr, int]] = [(tree, 1)]
    seen = 0
    while ahead:
        node, depth = ahead.pop()
        seen += 1
        if seen > MOST_NODES:
            raise Refused(
                f"this question has more than {MOST_NODES:,} parts: ask less at a time", kind=RefusalKind.LIMIT
            )
        if depth > MOST_DEEP:
            raise Refused(
                f"{place(node)}this is nested more than {MOST_DEEP} deep: write long sums as several columns, long "
                "lists of alternatives with IN, and take parts out into WITH",
                kind=RefusalKind.LIMIT,
            )
        _known(node)
        for name, value in node.args.items():
            # AND and OR are flattened when they are lowered, so a long chain of them is not deep
            flat = name == "this" and type(node) in (exp.And, exp.Or) and type(value) is type(node)
            for part in value if isinstance(value, list) else [value]:
                if isinstance(part, exp.Expr):
                    ahead.append((part, depth + (not flat)))
                elif isinstance(part, list | tuple | dict):
                    raise refused(shown(node), UNKNOWN, "", MISSING, at=node)


def _known(node: exp.Expr) -> None:
    kind = type(node)
    allowed = ALLOWED.get(kind)
    if allowed is None:
        what, why, instead, said = CLASSES.get(kind.__name__, Reason("", UNKNOWN, "", MISSING))
        text = shown(node)
        label = f"{what} ({text})" if what and len(text) <= 40 else what or text
        raise refused(label, why, instead, said, at=node)
    if kind is exp.Anonymous:
        _known_name(node)
    for name, needed in kind.arg_types.items():
        if needed and node.args.get(name) is None:
            raise Mistake(f"{place(node)}{shown(node)} is unfinished: complete it")
    for name, value in node.args.items():
        if value is None or value is False or value == [] or name in allowed:
            continue
        found = ARGUMENTS.get((kind.__name__, name)) or ARGUMENTS.get(("", name)) or Reason("", UNKNOWN, "", MISSING)
        label = f"{name.strip('_').upper()} in {shown(node)}"
        raise refused(found.what or label, found.why, found.instead, found.kind, at=node)


def _known_name(node: exp.Expr) -> None:
    """A function that the parser knows by name only must be one that we know, whatever it stands in."""
    name = node.this.lower() if isinstance(node.this, str) else ""
    if name in FUNCTIONS:
        what, why, instead, kind = FUNCTIONS[name]
        raise refused(f"{what} ({name.upper()})", why, instead, kind, at=node)
    if name not in CALLED and isinstance(node.this, str):
        called = f"the function {quoted(name)}"
        way = "see the SQL reference for those there are"
        raise refused(called, "it is not among the known functions", way, MISSING, at=node)
