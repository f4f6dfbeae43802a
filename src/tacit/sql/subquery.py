"""Subqueries and WITH: rows chosen and computed, or one row for each unit, so that every row keeps its one owner. One
that aggregates over several units is measured, and what is used of it is its answer."""

from dataclasses import replace
from typing import Literal

from sqlglot import exp

from tacit.base import RefusalKind
from tacit.plan.expression import Column, Expression
from tacit.plan.node import Filter, Group, Node, Project, Scan, SubAggregate
from tacit.plan.released import ReleasedTable, beside, is_released
from tacit.sql.aggregates import asked, has_aggregate
from tacit.sql.allow import MISPLACED
from tacit.sql.expressions import Expressions
from tacit.sql.grouped import Grouped, Item, group_by, items_of, only_where
from tacit.sql.grouping import grouping_sets
from tacit.sql.matches import Matches
from tacit.sql.mistake import quoted, refused, shown
from tacit.sql.released import measured_table, released_rows
from tacit.sql.scalars import Scalars
from tacit.sql.scope import Context, Derived, Field, NamedRelation, Scope
from tacit.sql.sources import not_joined, read_from
from tacit.sql.stacks import stacked
from tacit.sql.unit_facts import OwnBounds
from tacit.sql.unit_windows import OwnWindows
from tacit.sql.windows import has_window, uses_aggregate

__all__ = ["check_released", "items_written_out", "nested", "where"]

Function = Literal["count", "count_distinct", "sum", "avg", "min", "max"]
FUNCTIONS: dict[str, Function] = {
    "count": "count", "count_distinct": "count_distinct", "sum": "sum", "avg": "avg", "min": "min", "max": "max"
}  # fmt: skip


def nested(select: exp.Expr, context: Context) -> Derived:
    """The rows of a subquery. Over private rows ORDER BY and LIMIT are refused in it: which rows they keep depends on
    everybody's."""
    if not isinstance(select, exp.Select):
        return stacked(select, context)
    context.names.read(select)
    context = context.within(select)
    node, scope = read_from(select, context)
    node = where(select, node, scope, context)
    items = items_written_out(select, scope, context)
    if is_released(node):
        check_released(node, select)
        return released_rows(select, node, scope, items, context)
    if node.private and grouping_sets(select) is not None:
        return measured_table(select, node, scope, context)
    keys = group_by(select, scope)
    distinct = select.args.get("distinct") is not None
    aggregated = select.args.get("having") is not None or any(uses_aggregate(item) for _, item in items)
    grouped = bool(keys) or aggregated or select.args.get("group") is not None
    by = keys if grouped else [item for _, item in items]
    if (grouped or distinct) and node.private and not scope.units(by):
        return measured_table(select, node, scope, context)
    windows = OwnWindows(select, node, scope, context)
    qualify = select.args.get("qualify")
    used = [*(item for _, item in items), *([qualify] if qualify is not None else [])]
    if any(has_window(part) for part in used) and not grouped and not distinct and node.private:
        return _with_windows(windows, select, node, scope, items, context)
    if (qualify is not None or select.args.get("windows")) and not grouped:
        raise refused(*MISPLACED["Qualify"], at=select)
    for name, what in (("limit", "LIMIT"), ("offset", "OFFSET"), ("order", "ORDER BY")):
        if select.args.get(name) is not None:
            why = "an order has no effect there" if name == "order" else "which rows are left depends on other people's"
            raise refused(f"{what} in a subquery", why, "move it to the outermost SELECT", at=select)
    if grouped:
        if distinct:
            raise refused(
                "DISTINCT beside GROUP BY in a subquery", "its rows are different already", "leave it out", at=select
            )
        return _Units(select, node, scope, context).derived(keys, items, windows)
    if distinct:
        return _Units(select, node, scope, context).derived([item for _, item in items], items, windows)
    return _computed(node, scope, items, context, Expressions(scope))


def _with_windows(
    windows: OwnWindows, select: exp.Select, node: Node, scope: Scope, items: list[Item], context: Context
) -> Derived:
    """Rows with windows over those of their own unit, and QUALIFY."""
    rows = Expressions(scope, windows.special)
    for _, item in items:
        if has_window(item):
            rows.lower(item)
    qualify = select.args.get("qualify")
    condition = None if qualify is None else rows.condition(qualify.this, "QUALIFY")
    if any(select.args.get(name) is not None for name in ("limit", "offset", "order")):
        raise refused("ORDER BY or LIMIT in a subquery", "which rows are left depends on other people's", at=select)
    node = windows.over(node)
    if condition is not None:
        node = Filter(below=node, condition=condition)
    return _computed(node, scope, items, context, rows, plain=True)


def where(select: exp.Select, node: Node, scope: Scope, context: Context) -> Node:
    """The rows that WHERE leaves."""
    given = select.args.get("where")
    if given is None:
        return node
    rest = not_joined(given.this, scope)
    if has_aggregate(given.this):
        raise refused(
            f"the aggregate in WHERE {shown(given.this)}",
            "rows are chosen before they are aggregated",
            "use HAVING, on released values",
            at=given,
        )
    if rest is None:
        return node
    if is_released(node):
        scalars = Scalars(context)
        condition = Expressions(scope, scalars.one).condition(rest, "WHERE")
        return Filter(below=beside(node, scalars.found), condition=condition)
    matches = Matches(node, scope, context)
    condition = Expressions(scope, matches.special).condition(rest, "WHERE")
    return Filter(below=matches.node, condition=condition)


def check_released(node: Node, select: exp.Select) -> None:
    """Released tables stand by themselves: rows beside them would be chosen by noise that is yet to be drawn."""
    if any(isinstance(each, Scan) and not isinstance(each, ReleasedTable) for each in node.walk()):
        raise refused(
            "a join of an aggregated subquery with a table",
            "its answer is out before the table's rows are read",
            "aggregate both and join the answers, or ask twice and write the released numbers as constants",
            at=select,
        )


def items_written_out(select: exp.Select, scope: Scope, context: Context) -> list[Item]:
    """The items of SELECT, with * written out."""
    found: list[Item] = []
    for alias, item in items_of(select):
        if type(item) is exp.Star or (type(item) is exp.Column and type(item.this) is exp.Star):
            table = item.args.get("table") if type(item) is exp.Column else None
            fields = list(scope.fields(table))
            context.names.written(len(fields))
            found += [(None, _column(owner, field)) for owner, field in fields]
        else:
            found.append((alias, item))
    return found


def _column(owner: NamedRelation, field: Field) -> exp.Expr:
    """A column of the query that means this field and no other."""
    return exp.Column(
        this=exp.to_identifier(field.name, quoted=True), table=exp.to_identifier(owner.alias, quoted=True)
    )


def _computed(
    node: Node, scope: Scope, items: list[Item], context: Context, rows: Expressions, *, plain: bool = False
) -> Derived:
    """Columns renamed and computed; a Project only where something is computed. `plain` says rows are as they were."""
    as_they_were = plain or rows.special is None
    fields: list[Field] = []
    computed: list[tuple[str, Expression]] = []
    number = 0
    for alias, item in items:
        inner = item.unnest()
        if type(inner) is exp.Column and (as_they_were or scope.unit(inner)):
            field = scope.resolve(inner)
            if not as_they_were:
                why = f"the unit {quoted(field.name)} is counted, joined on and grouped by here, and not computed with"
                field = replace(field, value=None, missing=why)
            fields.append(replace(field, name=alias or field.name))
            continue
        value = rows.lower(item)
        if not isinstance(value, Column):
            number = number or context.names.relation()
            name = context.names.column("computed", number)  # whatever it is called, it is the same
            computed.append((name, value))
            value = Column(name=name, facts=value.facts)
        fields.append(Field(name=alias or (inner.name if type(inner) is exp.Column else shown(item)), value=value))
    if computed:
        kept = {field.value.name: field.value for field in fields if isinstance(field.value, Column)}
        made = {name for name, _ in computed}
        carried = tuple((name, value) for name, value in kept.items() if name not in made and name != node.unit)
        node = Project(below=node, columns=(*carried, *computed))
    return Derived(node=node, fields=tuple(fields))


class _Units:
    """A subquery that aggregates: by unit, so that what it computes is about one unit each."""

    def __init__(self, select: exp.Select, node: Node, scope: Scope, context: Context) -> None:
        self.select, self.node, self.scope, self.context = select, node, scope, context
        self.number = context.names.relation()
        self.bounds = OwnBounds.of(node, context.catalog)
        self.aggregates: list[SubAggregate] = []
        self.grouped = Grouped(scope, self.aggregate)

    def derived(self, keys: list[exp.Expr], items: list[Item], windows: OwnWindows) -> Derived:
        if not self.node.private:
            raise refused(
                "an aggregate over public tables in a subquery",
                "only private tables are aggregated here",
                "join with the public table as it is",
                at=self.select,
            )
        if self.node.unit is None:
            raise refused(
                "an aggregate in a subquery",
                "each row is a unit of its own, so there is nothing to aggregate by unit",
                "aggregate in the outermost SELECT",
                at=self.select,
            )
        for key in keys:
            if not self.scope.unit(key):
                self.key(key)
        self.grouped.aliases = {}
        self.grouped.window = windows.one
        windows.calls.rows = self.grouped.over
        having, qualify = (self.select.args.get(name) for name in ("having", "qualify"))
        condition = None if having is None else self.grouped.over.condition(having.this, "HAVING")
        for _, item in items:
            if not self.scope.unit(item):
                self.grouped.over.lower(item)
        kept = None if qualify is None else self.grouped.over.condition(qualify.this, "QUALIFY")
        names = tuple((key.name, value) for value, key in self.grouped.keys)
        node: Node = Group(below=self.node, keys=names, aggregates=tuple(self.aggregates))
        if condition is not None:
            node = Filter(below=node, condition=condition)
        node = windows.over(node)
        if kept is not None:
            node = Filter(below=node, condition=kept)
        return _computed(node, self.scope, items, self.context, self.grouped.over)

    def key(self, node: exp.Expr) -> None:
        value = self.grouped.rows.lower(node)
        if all(value != known for known, _ in self.grouped.keys):
            name = self.context.names.column("key", self.number)
            self.grouped.keys.append((value, Column(name=name, facts=value.facts)))

    def aggregate(self, node: exp.Expr) -> Expression:
        found = asked(node)
        function = FUNCTIONS.get(found.function + "_distinct" * found.distinct)
        if function is None or found.group_bounds is not None:
            raise refused(
                f"{shown(node)} in a subquery",
                "COUNT, SUM, AVG, MIN and MAX are computed for each unit",
                "use one of these",
                RefusalKind.UNSUPPORTED,
                at=node,
            )
        rows = self.grouped.rows
        condition = None if found.condition is None else rows.condition(found.condition, "FILTER")
        counts_unit = function.startswith("count") and found.arguments and self.scope.unit(found.arguments[0])
        if counts_unit and found.distinct:
            way = "it is 1 in each row of this subquery"
            raise refused(f"{shown(node)} in a subquery by unit", way, "leave it out", RefusalKind.UNSUPPORTED, at=node)
        value = None if not found.arguments or counts_unit else rows.lower(found.arguments[0])
        argument = only_where(rows, found, condition, value)
        facts, assumed = self.bounds.aggregate(node, function, argument)
        for known in self.aggregates:
            if (known.function, known.argument) == (function, argument):
                return Column(name=known.name, facts=known.facts)
        name = self.context.names.column(function, self.number)
        self.aggregates.append(
            SubAggregate(name=name, function=function, argument=argument, facts=facts, assumed=assumed)
        )
        return Column(name=name, facts=facts)
