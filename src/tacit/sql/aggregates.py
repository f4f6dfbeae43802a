"""Aggregates as analysts write them, in every spelling, brought to one form."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction

from sqlglot import exp

from tacit.base import RefusalKind, Refused
from tacit.sql.clause import NAMED
from tacit.sql.constants import literal, number, whole
from tacit.sql.mistake import WITH_ARGUMENTS, place, refused, shown

__all__ = ["AggregateCall", "asked", "has_aggregate", "is_aggregate"]

MOST_QUANTILES = 100
MISTAKE, MISSING, LIMIT = RefusalKind.MISTAKE, RefusalKind.UNSUPPORTED, RefusalKind.LIMIT


@dataclass(frozen=True, kw_only=True)
class AggregateCall:
    """One aggregate before its arguments are lowered. `distinct` is of different values, as in COUNT(DISTINCT x);
    `fractions` are the orders of quantiles, and `several` says that a list of them was asked for."""

    node: exp.Expr
    function: str
    arguments: tuple[exp.Expr, ...] = ()
    distinct: bool = False
    condition: exp.Expr | None = None
    fractions: tuple[Fraction, ...] = ()
    several: bool = False
    discrete: bool = False
    top: int | None = None
    cells: int | None = None
    cap: int | None = None
    group_bounds: tuple[Fraction, Fraction] | None = None
    row_bounds: tuple[Fraction, Fraction] | None = None

    @property
    def is_list(self) -> bool:
        """Whether its value in a group is a list: counts, or the most frequent values."""
        return self.function == "histogram" or self.top is not None


PLAIN: dict[type[exp.Expr], str] = {
    exp.Sum: "sum",
    exp.Avg: "avg",
    exp.Min: "min",
    exp.Max: "max",
    exp.Variance: "var_samp",
    exp.VariancePop: "var_pop",
    exp.Stddev: "stddev_samp",
    exp.StddevSamp: "stddev_samp",
    exp.StddevPop: "stddev_pop",
    exp.CovarSamp: "covar_samp",
    exp.CovarPop: "covar_pop",
    exp.Corr: "corr",
}
DISTINCT = ("min", "max", "sum", "avg", "var_samp", "var_pop", "stddev_samp", "stddev_pop")
"""What may be asked of the different values of a column."""
PERCENTILES: dict[type[exp.Expr], bool] = {exp.PercentileCont: False, exp.PercentileDisc: True, exp.Quantile: False}
OTHERS = (
    exp.Count,
    exp.CountIf,
    exp.Median,
    exp.Mode,
    exp.ApproxQuantile,
    exp.ApproxQuantiles,
    exp.ApproxTopK,
    exp.Filter,
    exp.WithinGroup,
)
NAMES = ("mean", "histogram", "top_k", "quantile", "covariance", WITH_ARGUMENTS)


def is_aggregate(node: exp.Expr) -> bool:
    """Whether this very node is an aggregate, with its FILTER and WITHIN GROUP."""
    kind = type(node)
    return kind in PLAIN or kind in PERCENTILES or kind in OTHERS or _name(node) in NAMES


def has_aggregate(node: exp.Expr) -> bool:
    """Whether there is one inside. Subqueries are not looked into: they are refused in expressions."""
    return any(is_aggregate(part) for part in node.walk(prune=lambda part: isinstance(part, exp.Query)))


def _name(node: exp.Expr) -> str:
    return node.this.lower() if type(node) is exp.Anonymous and isinstance(node.this, str) else ""


def asked(node: exp.Expr) -> AggregateCall:
    """The one form of an aggregate, or `Refused`."""
    found = _asked(node)
    for argument in found.arguments:
        if has_aggregate(argument):
            raise refused(
                f"an aggregate inside an aggregate, {shown(node)}",
                "it has no order of doing",
                "aggregate by unit in a subquery first",
                MISTAKE,
                at=node,
            )
    if found.condition is not None and has_aggregate(found.condition):
        raise refused(
            f"an aggregate inside FILTER, {shown(node)}",
            "it chooses rows before they are aggregated",
            "",
            MISTAKE,
            at=node,
        )
    return replace(found, node=node)


def _asked(node: exp.Expr) -> AggregateCall:
    kind, name = type(node), _name(node)
    if kind is exp.Filter:
        return _filtered(node)
    if kind is exp.WithinGroup:
        return _within(node)
    if name == WITH_ARGUMENTS:
        return _with_arguments(node)
    if kind in PLAIN:
        return _plain(node, PLAIN[kind], _given(node.args.get("this"), node.args.get("expression")))
    if kind in PERCENTILES:
        return _quantiles(node, node.this, node.args.get("expression") or node.args.get("quantile"), PERCENTILES[kind])
    if kind is exp.ApproxQuantile:
        return _quantiles(node, node.this, node.args.get("quantile"))
    if name:
        return _named(node, name)
    return SPECIAL[kind](node)


def _given(*nodes: exp.Expr | None) -> tuple[exp.Expr, ...]:
    return tuple(node for node in nodes if node is not None)


def _plain(node: exp.Expr, function: str, arguments: tuple[exp.Expr, ...]) -> AggregateCall:
    first = arguments[0] if arguments else None
    distinct = type(first) is exp.Distinct
    if type(first) is exp.Distinct:
        arguments = tuple(first.expressions)
        if function not in DISTINCT or len(arguments) != 1:
            raise refused(shown(node), "it takes one value", "leave DISTINCT out", MISSING, at=node)
        distinct = function not in ("min", "max")  # which are the same without it
    if not arguments or type(first) is exp.Star:
        raise refused(shown(node), "it needs a value", "name a column", MISTAKE, at=node)
    return AggregateCall(node=node, function=function, arguments=arguments, distinct=distinct)


def _count(node: exp.Expr) -> AggregateCall:
    value = node.args.get("this")
    if value is None or type(value) is exp.Star:
        return AggregateCall(node=node, function="count")
    if type(value) is exp.Distinct:
        given = value.expressions
        if len(given) == 1 and type(given[0].unnest()) is exp.Tuple:
            given = given[0].unnest().expressions
        if any(type(each) is exp.Star for each in given):
            raise refused(shown(node), "it counts values", "name columns", MISSING, at=node)
        return AggregateCall(node=node, function="count", arguments=(_as_one(given),), distinct=True)
    known = literal(value)
    return AggregateCall(
        node=node, function="count", arguments=() if known is not None and known.value is not None else (value,)
    )


def _as_one(values: list[exp.Expr]) -> exp.Expr:
    """One value, or several as a text that no other values have: each with its length before it. NULL if one is."""
    if len(values) == 1:
        return values[0]
    texts = [exp.Cast(this=value.copy(), to=exp.DataType.build("text")) for value in values]
    parts: list[exp.Expr] = []
    for text in texts:
        length = exp.Cast(this=exp.Length(this=text), to=exp.DataType.build("text"))
        parts += [length, exp.Literal.string(":"), text.copy()]
    found = parts[0]
    for part in parts[1:]:
        found = exp.DPipe(this=found, expression=part, safe=True)
    return found


def _mode(node: exp.Expr) -> AggregateCall:
    if node.args.get("this") is None:
        raise refused(shown(node), "it needs a value", "write MODE(x)", MISTAKE, at=node)
    return AggregateCall(node=node, function="mode", arguments=(node.this,))


def _top(node: exp.Expr) -> AggregateCall:
    top = _whole(node, node.args.get("expression"), "the number of values", 1000)
    return AggregateCall(node=node, function="mode", arguments=(node.this,), top=top)


def _approx_quantiles(node: exp.Expr) -> AggregateCall:
    pieces = _whole(node, node.args.get("expression"), "the number of pieces", MOST_QUANTILES)
    orders = tuple(Fraction(i, pieces) for i in range(pieces + 1))
    return AggregateCall(node=node, function="quantile", arguments=(node.this,), fractions=orders, several=True)


def _median(node: exp.Expr) -> AggregateCall:
    return replace(_plain(node, "quantile", (node.this,)), fractions=(Fraction(1, 2),))


SPECIAL: dict[type[exp.Expr], Callable[[exp.Expr], AggregateCall]] = {
    exp.Count: _count,
    exp.CountIf: lambda node: AggregateCall(node=node, function="count", condition=node.this),
    exp.Median: _median,
    exp.Mode: _mode,
    exp.ApproxTopK: _top,
    exp.ApproxQuantiles: _approx_quantiles,
}


def _whole(node: exp.Expr, value: exp.Expr | None, what: str, most: int) -> int:
    known = None if value is None else literal(value)
    if known is None or isinstance(known.value, bool | str) or not isinstance(known.value, int):
        raise refused(shown(node), f"{what} must be a whole number in the query", "", MISTAKE, at=node)
    return whole(Fraction(known.value), f"{place(node)}{what} in {shown(node)}", least=1, most=most)


def _quantiles(
    node: exp.Expr, value: exp.Expr | None, orders: exp.Expr | None, discrete: bool = False
) -> AggregateCall:
    if value is None or orders is None:
        raise refused(
            shown(node),
            "it needs a value and an order",
            "write QUANTILE_CONT(x, 0.5), or PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY x)",
            MISTAKE,
            at=node,
        )
    several = type(orders) is exp.Array
    found = tuple(_order(node, each) for each in (orders.expressions if several else [orders]))
    if not 1 <= len(found) <= MOST_QUANTILES:
        raise refused(shown(node), f"from 1 to {MOST_QUANTILES} quantiles are given at once", "", LIMIT, at=node)
    return AggregateCall(
        node=node, function="quantile", arguments=(value,), fractions=found, several=several, discrete=discrete
    )


def _order(node: exp.Expr, order: exp.Expr) -> Fraction:
    plain = order.unnest()
    if type(plain) is not exp.Literal or plain.is_string or not 0 <= (found := number(plain.name)) <= 1:
        why = "the order of a quantile is a number from 0 to 1 in the query"
        raise refused(shown(node), why, "", MISTAKE, at=node)
    return found


def _within(node: exp.Expr) -> AggregateCall:
    order = node.args["expression"]
    keys = order.expressions if type(order) is exp.Order else []
    if len(keys) != 1 or type(keys[0]) is not exp.Ordered:
        raise refused(shown(node), "WITHIN GROUP orders by one value", "", MISTAKE, at=node)
    inner, key = node.this, keys[0]
    if type(inner) is exp.Mode and inner.args.get("this") is None:
        return AggregateCall(node=node, function="mode", arguments=(key.this,))
    if type(inner) not in PERCENTILES or inner.args.get("expression") is not None:
        why = "WITHIN GROUP is for PERCENTILE_CONT, PERCENTILE_DISC and MODE"
        raise refused(shown(node), why, "", MISSING, at=node)
    found = _quantiles(node, key.this, inner.this, PERCENTILES[type(inner)])
    orders = tuple(1 - order for order in found.fractions) if key.args.get("desc") else found.fractions
    return replace(found, fractions=orders)


def _filtered(node: exp.Expr) -> AggregateCall:
    where = node.args["expression"]
    if not is_aggregate(node.this) or type(where) is not exp.Where:
        raise refused(shown(node), "FILTER (WHERE …) belongs to an aggregate", "", MISTAKE, at=node)
    found = _asked(node.this)
    condition = where.this if found.condition is None else exp.And(this=found.condition, expression=where.this)
    return replace(found, condition=condition)


def _with_arguments(node: exp.Expr) -> AggregateCall:
    inner, *given = node.expressions
    if not is_aggregate(inner):
        what = f"a named argument of {shown(inner)}"
        raise refused(what, "only aggregates have them", "leave it out", MISTAKE, at=node)
    found = _asked(inner)
    at = 0
    while at < len(given):
        name = given[at].name
        ends = [
            Fraction(value) for each in given[at + 1 : at + 1 + NAMED[name]] if (value := _number(each)) is not None
        ]
        at += 1 + NAMED[name]
        if name == "max_values_per_unit":
            if not found.distinct:
                raise refused(name, "it is for COUNT(DISTINCT x) and its like", "leave it out", MISTAKE, at=node)
            found = replace(found, cap=whole(ends[0], name, least=1, most=10**6))
            continue
        if ends[0] >= ends[1]:
            raise Refused(f"{place(node)}{name} must have the lower end first", kind=MISTAKE)
        per_group = name == "contribution_bounds_per_group" and found.function in ("sum", "count")
        found = (
            replace(found, group_bounds=(ends[0], ends[1]))
            if per_group
            else replace(found, row_bounds=(ends[0], ends[1]))
        )
    return found


def _number(node: exp.Expr) -> Fraction | None:
    known = literal(node)
    return Fraction(known.value) if known is not None and isinstance(known.value, int | Fraction) else None


def _named(node: exp.Expr, name: str) -> AggregateCall:
    arguments = tuple(node.expressions)
    if name == "mean":
        return _plain(node, "avg", arguments[:1] if len(arguments) == 1 else ())
    if name == "covariance" and len(arguments) == 2:
        return AggregateCall(node=node, function="covar_samp", arguments=arguments)
    if name == "quantile" and len(arguments) == 2:
        return _quantiles(node, *arguments)
    if name == "top_k" and len(arguments) == 2:
        top = _whole(node, arguments[1], "the number of values", 1000)
        return AggregateCall(node=node, function="mode", arguments=arguments[:1], top=top)
    if name == "histogram" and 1 <= len(arguments) <= 2:
        cells = None if len(arguments) == 1 else _whole(node, arguments[1], "the number of cells", 10_000)
        return AggregateCall(node=node, function="histogram", arguments=arguments[:1], cells=cells)
    way = "write HISTOGRAM(x, 20), QUANTILE(x, 0.5)"
    raise refused(shown(node), "it has another number of arguments", way, MISTAKE, at=node)
