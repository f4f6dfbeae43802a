"""The aggregates of the outermost SELECT, as the question holds them."""

from dataclasses import dataclass, field, replace
from fractions import Fraction

from sqlglot import exp

from tacit.plan.expression import Column, Expression
from tacit.plan.facts import Facts, Type
from tacit.plan.question import Aggregate
from tacit.sql.aggregates import Asked, asked
from tacit.sql.expressions import Expressions
from tacit.sql.grouped import only_where
from tacit.sql.refusals import refused, shown
from tacit.sql.scope import Scope

__all__ = ["Aggregates"]

NUMBERS = ("sum", "avg", "var_samp", "var_pop", "stddev_samp", "stddev_pop", "covar_samp", "covar_pop", "corr")


@dataclass(kw_only=True)
class Aggregates:
    """Collects aggregates; the same one asked for twice is one. What it gives stands for the released value."""

    scope: Scope
    rows: Expressions
    found: list[Aggregate] = field(default_factory=list)

    def one(self, node: exp.Expr) -> Expression:
        """The released value of an aggregate that gives one."""
        ask = asked(node)
        if ask.several or ask.function == "histogram" or ask.top is not None:
            raise refused(
                f"{shown(node)} inside an expression", "it is a list of values", "select it by itself", at=node
            )
        return self.many(ask)[0]

    def many(self, ask: Asked) -> list[Column]:
        """The released values, several where several quantiles were asked for."""
        made = self._made(ask)
        orders: tuple[Fraction | None, ...] = ask.fractions or (None,)
        return [self._added(replace(made, fraction=order)) for order in orders]

    def _made(self, ask: Asked) -> Aggregate:
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

    def _arguments(self, ask: Asked) -> tuple[str, tuple[Expression, ...]]:
        conditions = [] if ask.condition is None else [self.rows.condition(ask.condition, "FILTER")]
        function, given = ask.function, list(ask.arguments)
        if ask.distinct:
            function = "count_distinct"
            owner = self._unit_where(given[0])
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

    def _check(self, ask: Asked, function: str, arguments: tuple[Expression, ...]) -> None:
        for argument in arguments:
            if function in NUMBERS and not argument.facts.type.numeric:
                way = "use COUNT_IF(x)" if argument.facts.type is Type.BOOLEAN else "use a number"
                raise refused(shown(ask.node), f"it needs a number, not a {argument.facts.type}", way, at=ask.node)
        if (
            function.startswith("co")
            and function not in ("count", "count_units", "count_distinct")
            and len(arguments) != 2
        ):
            raise refused(shown(ask.node), "it needs two values", at=ask.node)
        if ask.cap is not None and function != "count_distinct":
            raise refused("max_values_per_unit", "a unit counts once here", "leave it out", at=ask.node)

    def _added(self, made: Aggregate) -> Column:
        for known in self.found:
            if replace(known, name="") == made:
                return Column(name=known.name, facts=_facts(known))
        named = replace(made, name=f"{made.function}{len(self.found) + 1}")
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
    whole = kind is Type.INTEGER and (function == "sum" or (function == "quantile" and aggregate.discrete))
    return Facts(type=Type.INTEGER if whole else Type.NUMBER)
