"""SELECT over released tables: subqueries that were measured, and what is made of them. Nothing of it costs anything.

A subquery over private rows that aggregates, and not by unit, is measured by itself: its answer is a table that all the
rest of the question may use as it likes, since it is out already. So are windows, ranks and joins of such tables.
"""

from dataclasses import dataclass, replace

from sqlglot import exp

from tacit.plan.expression import Column, Expression
from tacit.plan.facts import Facts, Type
from tacit.plan.groups import listed, most_groups
from tacit.plan.node import Filter, Node, Source
from tacit.plan.question import LoweredQuestion
from tacit.plan.released import ReleasedTable, Total, Totals, beside
from tacit.sql.aggregates import asked
from tacit.sql.expressions import Expressions
from tacit.sql.grouped import Grouped, Item, group_by
from tacit.sql.listing import SelectList, number_of
from tacit.sql.measured import Measured
from tacit.sql.mistake import refused, shown
from tacit.sql.scalars import Scalars
from tacit.sql.scope import Context, Derived, Field, Scope
from tacit.sql.tail import Tail
from tacit.sql.windows import WindowCalls, has_window, uses_aggregate, windows_named

__all__ = ["measured_table", "released_rows", "released_table"]

NUMBERS = {"sum", "avg", "var_samp", "var_pop", "stddev_samp", "stddev_pop", "quantile"}
FUNCTIONS = {"count", "min", "max", *NUMBERS}


def measured_table(select: exp.Select, source: Node, scope: Scope, context: Context) -> Derived:
    """A subquery over private rows as a table of its answer. One that is used twice is measured once."""
    found = context.questions.get(id(select))
    if found is None:
        number = context.number(select)
        question, tail = Measured(select, source, scope, f"q{number + 1}_" if number else "", context).question()
        if any(aggregate.is_list for aggregate in question.aggregates):
            raise refused("a list of values in a subquery", "released tables hold plain values", "ask for it by itself")
        found = context.questions[id(select)] = (number, question, tail)
    number, question, tail = found
    relation = context.names.relation()
    names = tuple(context.names.column(name, relation) for name, _ in question.output)
    if tail is None:
        table = released_table(number, question, names)
        values = tuple(Column(name=name, facts=facts) for name, facts in table.schema.items())
        return _derived(table, [name for name, _ in question.output], values)
    own = tuple(name for name, _ in question.output)  # by which the tail knows them
    shown_names = tuple(context.names.column(name, relation) for name, _ in tail.output)
    node = tail.over(released_table(number, question, own), shown_names)
    return _derived(node, [name for name, _ in tail.output], tail.columns(shown_names))


def released_table(number: int, question: LoweredQuestion, names: tuple[str, ...]) -> ReleasedTable:
    columns = tuple(
        Source(name=name, column=column, facts=_plain(value.facts))
        for name, (column, value) in zip(names, question.output, strict=True)
    )
    shown = {value.name: name for name, (_, value) in zip(names, question.output, strict=True) if type(value) is Column}
    keys = tuple(shown[key.name] for key in question.keys if key.name in shown)
    return ReleasedTable(
        table=f"answer {number + 1}",
        columns=columns,
        is_private=False,
        rows=_most_rows(question),
        number=number,
        keys=keys if len(keys) == len(question.keys) else None,
    )


def _most_rows(question: LoweredQuestion) -> int | None:
    keys = listed(question.keys)
    if any(key.values is None for key in keys):
        return question.limit
    groups = most_groups(keys)
    return groups if question.limit is None else min(groups, question.limit)


def _plain(facts: Facts) -> Facts:
    """What is known of a released value: its type."""
    return Facts(type=facts.type)


def _derived(node: Node, names: list[str], values: tuple[Column, ...]) -> Derived:
    fields = tuple(Field(name=name, value=value) for name, value in zip(names, values, strict=True))
    return Derived(node=node, fields=fields)


def released_rows(
    select: exp.Select, node: Node, scope: Scope, items: list[Item], context: Context, *, outermost: bool = False
) -> Derived:
    """SELECT over released tables; `node` has its WHERE. The outermost one has columns under their own names."""
    relation = context.names.relation()
    made = _Rows(select, node, scope, relation, context).tail(items)
    columns = [name for name, _ in made.tail.output]
    names = tuple(columns) if outermost else tuple(context.names.column(name, relation) for name in columns)
    return _derived(made.tail.over(made.node, names), columns, made.tail.columns(names))


@dataclass(frozen=True)
class _Made:
    """The rows below, aggregated if that was asked for, and what comes last."""

    node: Node
    tail: Tail


class _Rows:
    """One SELECT over released rows."""

    def __init__(self, select: exp.Select, node: Node, scope: Scope, relation: int, context: Context) -> None:
        self.select, self.node, self.scope, self.relation = select, node, scope, relation
        self.totals: list[Total] = []
        self.grouped = Grouped(scope, self.total)
        self.scalars = Scalars(context)

    def tail(self, items: list[Item]) -> _Made:
        keys = group_by(self.select, self.scope)
        parts = [self.select.args.get(name) for name in ("having", "order", "qualify")]
        given = [*(item for _, item in items), *(part for part in parts if part is not None)]
        grouped = bool(keys) or self.select.args.get("group") is not None or any(map(uses_aggregate, given))
        over = self.grouped.over if grouped else Expressions(self.scope, self._special)
        self.windows = WindowCalls(
            rows=over,
            name=lambda: f"released_window{len(self.windows.found) + 1}_{self.relation}",
            named=windows_named(self.select),
        )
        self.grouped.window = self.windows.one
        self.grouped.scalar = self.scalars.one
        for key in keys:
            self.key(key)
        listed = SelectList(self.select, over.lower)
        self.grouped.aliases = listed.aliases
        for alias, item in items:
            listed.add(alias, item, over.lower(item))
        having, qualify = self.select.args.get("having"), self.select.args.get("qualify")
        if having is not None and has_window(having):
            raise refused(
                "a window in HAVING", "groups are chosen before windows look at them", "use QUALIFY", at=having
            )
        condition = None if having is None else over.condition(having.this, "HAVING")
        kept = None if qualify is None else over.condition(qualify.this, "QUALIFY")
        order = listed.order()  # which may name more windows
        tail = Tail(
            order=order,
            windows=tuple(self.windows.found),
            qualify=kept,
            output=tuple(listed.output),
            distinct=self.select.args.get("distinct") is not None,
            limit=number_of(self.select, "limit"),
            offset=number_of(self.select, "offset") or 0,
        )
        node = self.node
        if grouped:
            named = tuple((key.name, value) for value, key in self.grouped.keys)
            node = Totals(below=node, keys=named, totals=tuple(self.totals))
        node = beside(node, self.scalars.found)
        if condition is not None:
            node = Filter(below=node, condition=condition)
        return _Made(node, tail)

    def _special(self, node: exp.Expr) -> Expression | None:
        return self.windows.one(node) if type(node) is exp.Window else self.scalars.one(node)

    def key(self, node: exp.Expr) -> None:
        value = self.grouped.rows.lower(node)
        if all(value != known for known, _ in self.grouped.keys):
            name = f"released_key{len(self.grouped.keys) + 1}_{self.relation}"
            self.grouped.keys.append((value, Column(name=name, facts=value.facts)))

    def total(self, node: exp.Expr) -> Expression:
        """An aggregate of released values."""
        found = asked(node)
        if found.function not in FUNCTIONS or found.several or found.is_list or found.group_bounds or found.row_bounds:
            raise refused(
                f"{shown(node)} of released values",
                "COUNT, SUM, AVG, MIN, MAX, MEDIAN, quantiles and spreads are",
                "use one of these",
                at=node,
            )
        rows = self.grouped.rows
        argument = rows.lower(found.arguments[0]) if found.arguments else None
        if found.function in NUMBERS and (argument is None or not argument.facts.type.numeric):
            raise refused(shown(node), "it needs a number", at=node)
        made = Total(
            name="",
            function=found.function,
            facts=_total_facts(found.function, argument),
            argument=argument,
            condition=None if found.condition is None else rows.condition(found.condition, "FILTER"),
            distinct=found.distinct,
            fraction=found.fractions[0] if found.fractions else None,
        )
        for known in self.totals:
            if replace(known, name="") == made:
                return Column(name=known.name, facts=known.facts)
        named = replace(made, name=f"total{len(self.totals) + 1}_{self.relation}")
        self.totals.append(named)
        return Column(name=named.name, facts=named.facts)


def _total_facts(function: str, argument: Expression | None) -> Facts:
    if function == "count" or argument is None:
        return Facts(type=Type.INTEGER, nullable=False)
    kind = argument.facts.type
    return Facts(type=kind if function in ("min", "max", "sum") else Type.NUMBER)
