"""What stands in SELECT, HAVING and ORDER BY of a grouped query: expressions over its keys and its aggregates."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from fractions import Fraction

from sqlglot import exp

from tacit.base import Refused
from tacit.plan.expression import Call, Column, Constant, Expression, constant
from tacit.plan.facts import Facts, Type
from tacit.plan.moments import PAIRS
from tacit.plan.operation import call, canonical_call
from tacit.plan.question import Aggregate
from tacit.sql.aggregates import AggregateCall, asked, has_aggregate, is_aggregate
from tacit.sql.allow import MISPLACED
from tacit.sql.constants import literal
from tacit.sql.expressions import Expressions
from tacit.sql.grouping import grouping_sets
from tacit.sql.mistake import quoted, refused, shown
from tacit.sql.scope import Scope
from tacit.sql.windows import has_window, uses_aggregate

__all__ = ["Aggregates", "Grouped", "Item", "group_by", "items_of", "key_node", "only_where", "uses_rows"]

Item = tuple[str | None, exp.Expr]
"""The alias of an item of SELECT, and the expression."""


class Grouped:
    """Lowers expressions over `keys` and over what `aggregate` makes of aggregates. Other columns have no one value."""

    def __init__(self, scope: Scope, aggregate: Callable[[exp.Expr], Expression]) -> None:
        self.scope, self.aggregate = scope, aggregate
        self.rows = Expressions(scope)
        self.keys: list[tuple[Expression, Column]] = []
        self.aliases: dict[str, Expression] = {}
        self.window: Callable[[exp.Expr], Expression] | None = None  # of released values
        self.grouping: Callable[[exp.Expr], Expression] | None = None  # GROUPING(key)
        self.scalar: Callable[[exp.Expr], Expression | None] | None = None  # (SELECT …)
        self.over = Expressions(scope, self._special)

    def _special(self, node: exp.Expr) -> Expression | None:
        if type(node) is exp.Window and self.window is not None:
            return self.window(node)
        if type(node) is exp.Grouping and self.grouping is not None:
            return self.grouping(node)
        if type(node) is exp.Subquery and self.scalar is not None:
            return self.scalar(node)
        if is_aggregate(node):
            return self.aggregate(node)
        if has_aggregate(node) or literal(node) is not None:
            return None
        try:
            row = self.rows.lower(node)
        except Refused:
            row = None  # a name of SELECT perhaps, and else refused where it is met by itself
        for expression, key in self.keys:
            if row == expression:
                return key
        if type(node) is not exp.Column:
            return None
        alias = self.alias(node)
        if alias is not None:
            return alias
        if row is None:
            return self.rows.lower(node)  # refused once more, and now for good
        raise refused(
            f"column {quoted(node.name)} by itself",
            "it is neither grouped by nor aggregated",
            "add it to GROUP BY, or aggregate it",
            at=node,
        )

    def alias(self, node: exp.Expr) -> Expression | None:
        """What an item of SELECT was called this way."""
        plain = type(node) is exp.Column and node.args.get("table") is None
        return self.aliases.get(node.name.casefold()) if plain else None


def items_of(select: exp.Select) -> list[Item]:
    """The items of SELECT with their aliases."""
    return [
        (item.alias, item.this) if type(item) is exp.Alias else (None, item)
        for item in select.args["expressions"] or ()
    ]


def group_by(select: exp.Select, scope: Scope) -> list[exp.Expr]:
    """The expressions of GROUP BY: by position, by alias, or as they stand."""
    given = select.args.get("group")
    items = items_of(select)
    if given is None:
        return []
    if grouping_sets(select) is not None:
        raise refused(*MISPLACED["Rollup"], at=given)
    if given.args.get("all"):
        if given.expressions:
            raise refused("GROUP BY ALL with more keys", "ALL names all keys already", "leave one out", at=given)
        return [
            item for _, item in items if not uses_aggregate(item) and not has_window(item) and literal(item) is None
        ]
    return [_key(node, items, scope) for node in given.expressions]


def key_node(node: exp.Expr, select: exp.Select, scope: Scope) -> exp.Expr:
    """What one key of GROUP BY means."""
    return _key(node, items_of(select), scope)


def _key(node: exp.Expr, items: list[Item], scope: Scope) -> exp.Expr:
    known = literal(node)
    if known is not None:
        found = _positioned(node, known, items)
    elif type(node) is exp.Column and node.args.get("table") is None and not _in_scope(node, scope):
        named = [item for alias, item in items if alias is not None and alias.casefold() == node.name.casefold()]
        found = named[0] if len(named) == 1 else node
    else:
        found = node
    if has_aggregate(found):
        raise refused(f"GROUP BY {shown(found)}", "rows are grouped before they are aggregated", at=node)
    return found


def _positioned(node: exp.Expr, known: Constant, items: list[Item]) -> exp.Expr:
    if isinstance(known.value, int) and not isinstance(known.value, bool) and 1 <= known.value <= len(items):
        return items[known.value - 1][1]
    raise refused(
        f"GROUP BY {shown(node)}",
        "it is a constant and no column of SELECT",
        "name a column; names are in double quotes, or in backticks in BigQuery",
        at=node,
    )


def _in_scope(node: exp.Column, scope: Scope) -> bool:
    return any(relation.find(node.name) for relation in scope.relations)


def only_where(
    rows: Expressions, asked: AggregateCall, condition: Expression | None, value: Expression | None
) -> Expression | None:
    """The argument of an aggregate: where FILTER holds, and within bounds per row if there are any."""
    if asked.row_bounds is not None:
        if value is None:
            raise refused("contribution_bounds_per_row", "it needs a value to bound", "leave it out", at=asked.node)
        low, high = (constant(end) for end in asked.row_bounds)
        value = rows.call(asked.node, "clamp", value, low, high)
    if condition is None:
        return value
    return rows.call(asked.node, "case", condition, value or constant(1), constant(None))


def uses_rows(expression: Expression) -> bool:
    """Whether an expression depends on anything but constants."""
    return isinstance(expression, Column) or (
        isinstance(expression, Call) and any(map(uses_rows, expression.arguments))
    )


NUMBERS = (
    "sum",
    "sum_distinct",
    "avg",
    "var_samp",
    "var_pop",
    "stddev_samp",
    "stddev_pop",
    "covar_samp",
    "covar_pop",
    "corr",
)


@dataclass(kw_only=True)
class Aggregates:
    """Collects aggregates; the same one asked for twice is one. What it gives stands for the released value."""

    scope: Scope
    rows: Expressions
    found: list[Aggregate] = field(default_factory=list)
    prefix: str = ""

    def one(self, node: exp.Expr) -> Expression:
        """The released value of an aggregate that gives one."""
        ask = asked(node)
        if ask.distinct and ask.function not in ("count", "sum"):
            return self._of_different(ask)
        if ask.several or ask.is_list:
            raise refused(
                f"{shown(node)} inside an expression", "it is a list of values", "select it by itself", at=node
            )
        return self.many(ask)[0]

    def _of_different(self, ask: AggregateCall) -> Expression:
        """AVG, VARIANCE and STDDEV of the different values, from their number, their sum and that of their squares.

        Values are measured from the least that they can be, so that no two different ones have the same square.
        """
        value = self.rows.lower(ask.arguments[0])
        least = value.facts.low if value.facts.type.numeric and value.facts.bounded else 0
        above = self.rows.call(ask.node, "subtract", value, constant(least))

        def total(power: int) -> Expression:
            made: Expression = above if power else value
            for _ in range(power - 1):
                made = self.rows.call(ask.node, "multiply", made, above)
            function = "sum_distinct" if power else "count_distinct"
            condition = None if ask.condition is None else self.rows.condition(ask.condition, "FILTER")
            argument = only_where(self.rows, ask, condition, made)
            arguments = () if argument is None else (argument,)
            self._check(ask, function, arguments)
            text = shown(ask.node)
            return self.added(Aggregate(name="", function=function, arguments=arguments, cap=ask.cap, text=text))

        count = total(0)
        mean = canonical_call("divide", total(1), count)
        if ask.function == "avg":
            return canonical_call("add", mean, constant(least))
        spread = canonical_call("subtract", canonical_call("divide", total(2), count), call("multiply", mean, mean))
        spread = call("greatest", spread, constant(0))
        if ask.function.endswith("samp"):
            more = call("case", call("gt", count, constant(1)), call("subtract", count, constant(1)), constant(None))
            spread = call("multiply", spread, call("divide", count, more))
        return call("sqrt", spread) if ask.function.startswith("stddev") else spread

    def many(self, ask: AggregateCall) -> list[Column]:
        """The released values, several where several quantiles were asked for."""
        made = self._made(ask)
        orders: tuple[Fraction | None, ...] = ask.fractions or (None,)
        return [self.added(replace(made, fraction=order)) for order in orders]

    def _made(self, ask: AggregateCall) -> Aggregate:
        function, arguments = self._arguments(ask)
        self._check(ask, function, arguments)
        return Aggregate(
            name="",
            function=function,
            arguments=arguments,
            discrete=ask.discrete,
            cap=ask.cap,
            top=ask.top,
            cells=ask.cells,
            group_bounds=ask.group_bounds,
            text=shown(ask.node),
        )

    def _arguments(self, ask: AggregateCall) -> tuple[str, tuple[Expression, ...]]:
        conditions = [] if ask.condition is None else [self.rows.condition(ask.condition, "FILTER")]
        function, given = ask.function, list(ask.arguments)
        if ask.distinct:
            function = f"{function}_distinct"
            owner = self._unit_where(given[0]) if function == "count_distinct" else None
            if owner is not None:
                function, given = "count_units", []
                conditions += [self.rows.condition(part, "WHEN") for part in owner]
        elif function == "count" and given and self.scope.unit(given[0]):
            given = []  # rows without a unit are in no answer, so each row that counts has one
        condition = None
        if conditions:
            condition = conditions[0] if len(conditions) == 1 else self.rows.call(ask.node, "and", *conditions)
        if not given:
            argument = only_where(self.rows, ask, condition, None)
            return function, () if argument is None else (argument,)
        values = [only_where(self.rows, ask, condition, self.rows.lower(each)) for each in given]
        return function, tuple(value for value in values if value is not None)

    def _unit_where(self, node: exp.Expr) -> list[exp.Expr] | None:
        """The condition in CASE WHEN condition THEN unit END, none for the unit alone; None for any other value."""
        plain = node.unnest()
        if self.scope.unit(plain):
            return []
        branches = plain.args["ifs"] if type(plain) is exp.Case else []
        simple = len(branches) == 1 and plain.args.get("this") is None and plain.args.get("default") is None
        return [branches[0].this] if simple and self.scope.unit(branches[0].args["true"]) else None

    def _check(self, ask: AggregateCall, function: str, arguments: tuple[Expression, ...]) -> None:
        for argument in arguments:
            if function in NUMBERS and not argument.facts.type.numeric:
                way = "use COUNT_IF(x)" if argument.facts.type is Type.BOOLEAN else "use a number"
                raise refused(shown(ask.node), f"it needs a number, not a {argument.facts.type}", way, at=ask.node)
        if function in PAIRS and len(arguments) != 2:
            raise refused(shown(ask.node), "it needs two values", at=ask.node)
        if ask.cap is not None and function not in ("count_distinct", "sum_distinct"):
            raise refused("max_values_per_unit", "a unit counts once here", "leave it out", at=ask.node)

    def added(self, made: Aggregate) -> Column:
        """What stands for the released value."""
        for known in self.found:
            if replace(known, name="") == made:
                return Column(name=known.name, facts=_facts(known))
        named = replace(made, name=f"{self.prefix}{made.function}{len(self.found) + 1}")
        self.found.append(named)
        return Column(name=named.name, facts=_facts(named))


def _facts(aggregate: Aggregate) -> Facts:
    """What is known of a released value: its type. Noise has no bounds."""
    function = aggregate.function
    if function.startswith("count"):
        return Facts(type=Type.INTEGER, nullable=False)
    kind = aggregate.arguments[0].facts.type
    if function in ("min", "max", "mode", "histogram") or (function == "quantile" and not kind.numeric):
        return Facts(type=kind)
    whole = kind is Type.INTEGER and (
        function in ("sum", "sum_distinct") or (function == "quantile" and aggregate.discrete)
    )
    return Facts(type=Type.INTEGER if whole else Type.NUMBER)
