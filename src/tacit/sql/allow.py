"""The allow-list of syntax: which nodes of the parser's tree are known, and which of their arguments.

The whole tree is checked before anything is lowered. What is not listed is refused, also when a new release of the
parser adds a node, or an argument to a node that is listed.
"""

from sqlglot import exp

from tacit.base import Mistake, Refused
from tacit.sql.refusals import ARGUMENTS, CLASSES, place, refused, shown

__all__ = ["ALLOWED", "MOST_DEEP", "MOST_NODES", "check"]

MOST_NODES = 10_000
MOST_DEEP = 100

ONE = {"this"}
TWO = {"this", "expression"}
ALLOWED: dict[type[exp.Expr], set[str]] = {
    # queries
    exp.Select: {"with_", "expressions", "distinct", "from_", "joins", "where", "group", "having", "order", "limit",
                 "offset"},
    exp.From: ONE,
    exp.Join: {"this", "on", "side", "kind", "using"},
    exp.Where: ONE,
    exp.Group: {"expressions", "all"},
    exp.Having: ONE,
    exp.Order: {"expressions"},
    exp.Ordered: {"this", "desc", "nulls_first"},
    exp.Limit: {"expression"},
    exp.Offset: {"expression"},
    exp.With: {"expressions"},
    exp.CTE: {"this", "alias", "materialized"},
    exp.Subquery: {"this", "alias"},
    exp.Table: {"this", "alias"},
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
    exp.In: {"this", "expressions"},
    exp.Between: {"this", "low", "high"},
    exp.Like: {"this", "expression", "negate"},
    exp.ILike: {"this", "expression", "negate"},
    exp.Escape: TWO,
    exp.StartsWith: TWO, exp.EndsWith: TWO, exp.Contains: TWO,
    exp.Case: {"this", "ifs", "default"},
    exp.If: {"this", "true", "false"},
    exp.Coalesce: {"this", "expressions"},
    exp.Nullif: TWO,
    # arithmetic
    exp.Add: TWO, exp.Sub: TWO, exp.Mul: TWO, exp.Mod: TWO, exp.IntDiv: TWO, exp.SafeDivide: TWO,
    exp.Div: {"this", "expression", "typed", "safe"},
    exp.Neg: ONE, exp.Abs: ONE, exp.Sign: ONE, exp.Sqrt: ONE, exp.Ln: ONE, exp.Exp: ONE,
    exp.Floor: ONE, exp.Ceil: ONE, exp.Trunc: ONE,
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
    exp.Concat: {"expressions", "safe", "coalesce"},
    # dates
    exp.TimestampTrunc: {"this", "unit"},
    exp.DateTrunc: {"this", "unit"},
    exp.Extract: TWO,
    exp.Year: ONE, exp.Quarter: ONE, exp.Month: ONE, exp.Day: ONE, exp.Hour: ONE, exp.Minute: ONE, exp.Second: ONE,
    exp.DateDiff: {"this", "expression", "unit", "date_part_boundary"},
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
    exp.Anonymous: {"this", "expressions"},  # by name, in functions.py and aggregates.py
}  # fmt: skip


def check(tree: exp.Expr) -> None:
    """Refuse a tree that holds anything unknown, or that is too large or too deep."""
    ahead: list[tuple[exp.Expr, int]] = [(tree, 1)]
    seen = 0
    while ahead:
        node, depth = ahead.pop()
        seen += 1
        if seen > MOST_NODES:
            raise Refused(f"this question has more than {MOST_NODES:,} parts: ask less at a time")
        if depth > MOST_DEEP:
            raise Refused(
                f"{place(node)}this is nested more than {MOST_DEEP} deep: write long sums as several columns, long "
                "lists of alternatives with IN, and take parts out into WITH"
            )
        _known(node)
        for name, value in node.args.items():
            # AND and OR are flattened when they are lowered, so a long chain of them is not deep
            flat = name == "this" and type(node) in (exp.And, exp.Or) and type(value) is type(node)
            for part in value if isinstance(value, list) else [value]:
                if isinstance(part, exp.Expr):
                    ahead.append((part, depth + (not flat)))
                elif isinstance(part, list | tuple | dict):
                    raise refused(shown(node), "it is not among the known constructs", at=node)


def _known(node: exp.Expr) -> None:
    kind = type(node)
    allowed = ALLOWED.get(kind)
    if allowed is None:
        what, why, instead = CLASSES.get(kind.__name__, ("", "it is not among the known constructs", ""))
        text = shown(node)
        label = f"{what} ({text})" if what and len(text) <= 40 else what or text
        raise refused(label, why, instead, at=node)
    for name, needed in kind.arg_types.items():
        if needed and node.args.get(name) is None:
            raise Mistake(f"{place(node)}{shown(node)} is unfinished: complete it")
    for name, value in node.args.items():
        if value is None or value is False or value == [] or name in allowed:
            continue
        what, why, instead = ARGUMENTS.get((kind.__name__, name)) or ARGUMENTS.get(("", name)) or ("", "", "")
        label = f"{name.strip('_').upper()} in {shown(node)}"
        raise refused(what or label, why or "it is not among the known constructs", instead, at=node)
