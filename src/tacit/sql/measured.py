"""A SELECT over private rows that is measured: its keys, its aggregates, and what is made of them after the noise."""

from dataclasses import replace
from fractions import Fraction

from sqlglot import exp

from tacit.base import RefusalKind
from tacit.plan.bounded import Key
from tacit.plan.combined import Levels
from tacit.plan.expression import Column, Expression, constant
from tacit.plan.facts import Facts, Type
from tacit.plan.groups import listed
from tacit.plan.node import Node
from tacit.plan.operation import call
from tacit.plan.question import INTERVAL_ENDS, Aggregate, LoweredQuestion
from tacit.plan.work import check_work
from tacit.sql.aggregates import asked, is_aggregate
from tacit.sql.allow import MISPLACED
from tacit.sql.constants import literal
from tacit.sql.grouped import Aggregates, Grouped, group_by, items_of, key_node, uses_rows
from tacit.sql.grouping import grouping_sets
from tacit.sql.listing import SelectList, default_name, number_of
from tacit.sql.mistake import refused, shown
from tacit.sql.prune import prune, used
from tacit.sql.scalars import Scalars
from tacit.sql.scope import Context, Scope
from tacit.sql.tail import Tail
from tacit.sql.windows import WindowCalls, has_window, uses_aggregate, windows_named

__all__ = ["Measured"]

MOST_COLUMNS = 200
NO_AGGREGATE = (
    "a query without an aggregate",
    "it would release rows as they are",
    "select COUNT(*), AVG(x) …, with GROUP BY, or DISTINCT values",
)
OWN_PASS = {
    "quantile",
    "min",
    "max",
    "mode",
    "histogram",
    "count_distinct",
    "sum_distinct",
}
"""For each of these rows are read anew."""


class Measured:
    """One SELECT on its way. `prefix` sets the names of its keys and aggregates apart from those of others."""

    def __init__(
        self, select: exp.Select, source: Node, scope: Scope, prefix: str = "", context: Context | None = None
    ) -> None:
        self.select, self.source, self.scope, self.prefix = select, source, scope, prefix
        self.scalars = None if context is None else Scalars(context)
        self.min_units: int | None = None  # as of Options
        self.grouped = Grouped(self.scope, lambda node: self.aggregates.one(node))
        self.aggregates = Aggregates(scope=self.scope, rows=self.grouped.rows, prefix=prefix)
        self.windows = WindowCalls(
            rows=self.grouped.over,
            name=lambda: f"{prefix}window{len(self.windows.found) + 1}",
            named=windows_named(select),
        )
        self.grouped.window = self.windows.one
        self.grouped.scalar = None if self.scalars is None else self.scalars.one
        self.listed = SelectList(select, self.grouped.over.lower)
        self.grouped.aliases = self.listed.aliases
        self.keys: list[Key] = []

    def question(self) -> tuple[LoweredQuestion, Tail | None]:
        """What is measured; and what is made of its answer, where that looks at all rows of it at once: then the answer
        has a column for each key and aggregate, under its own name."""
        self._check_items()
        sets = grouping_sets(self.select)
        if sets is None:
            for node in self._key_nodes():
                self._key(node)
        else:
            self._levels(sets)
        for alias, item in items_of(self.select):
            self._item(alias, item)
        having, qualify = self.select.args.get("having"), self.select.args.get("qualify")
        if having is not None and has_window(having):
            raise refused(
                "a window in HAVING", "groups are chosen before windows look at them", "use QUALIFY", at=having
            )
        condition = None if having is None else self.grouped.over.condition(having.this, "HAVING")
        if self.min_units is not None:
            condition = self._enough(condition, self.min_units)
        kept = None if qualify is None else self.grouped.over.condition(qualify.this, "QUALIFY")
        order = self.listed.order()
        question = LoweredQuestion(
            source=self.source,
            keys=tuple(self.keys),
            aggregates=tuple(self.aggregates.found),
            output=tuple(self.listed.output),
            having=condition,
            order=order,
            limit=number_of(self.select, "limit"),
            offset=number_of(self.select, "offset") or 0,
            distinct=self.select.args.get("distinct") is not None,
        )
        if not question.aggregates:
            question = self._present(question)
        question = self._pruned(question)
        scalars = () if self.scalars is None else tuple(self.scalars.found)
        if not self.windows.found and kept is None and not scalars:
            return question, None
        having = question.having if scalars else None
        return _bare(question if having is None else replace(question, having=None), having), Tail(
            scalars=scalars,
            having=having,
            windows=tuple(self.windows.found),
            qualify=kept,
            order=question.order,
            output=question.output,
            distinct=question.distinct,
            limit=question.limit,
            offset=question.offset,
        )

    def _enough(self, condition: Expression | None, units: int) -> Expression:
        """Only groups in which so many units are counted, with noise."""
        counted = Aggregate(name="", function="count_units", text="COUNT(DISTINCT unit)")
        enough = call("ge", self.aggregates.added(counted), constant(units))
        return enough if condition is None else call("and", condition, enough)

    def _pruned(self, question: LoweredQuestion) -> LoweredQuestion:
        """The same without columns that nothing needs."""
        arguments = [argument for aggregate in question.aggregates for argument in aggregate.arguments]
        computed = [*arguments, *(key.expression for key in question.keys)]
        check_work(self.source, computed, passes=1 + sum(a.function in OWN_PASS for a in question.aggregates))
        return replace(question, source=prune(self.source, used(computed)))

    def _present(self, question: LoweredQuestion) -> LoweredQuestion:
        """Groups without a number: which of them there are is itself private.

        Keys that nobody listed are shown by their own mechanism. Listed ones are counted, by units, and those are shown
        whose count is above zero for sure, at the confidence of the answer.
        """
        if not question.keys:
            raise refused(*NO_AGGREGATE, at=self.select)
        if any(key.values is None for key in listed(question.keys)):
            return question
        counted = Aggregate(name=f"{self.prefix}count_units1", function="count_units", text="COUNT(DISTINCT unit)")
        return replace(question, aggregates=(counted,), present=True)

    def _key_nodes(self) -> list[exp.Expr]:
        keys = group_by(self.select, self.scope)
        items = items_of(self.select)
        if not keys and self.select.args.get("distinct") and not any(uses_aggregate(item) for _, item in items):
            keys = [item for _, item in items if literal(item) is None and not has_window(item)]
        if len(keys) > MOST_COLUMNS:
            raise refused(
                f"GROUP BY of {len(keys)} keys", f"at most {MOST_COLUMNS} are told apart at once", at=self.select
            )
        return keys

    def _check_items(self) -> None:
        items = items_of(self.select)
        if not 1 <= len(items) <= MOST_COLUMNS:
            raise refused(
                f"a SELECT of {len(items)} columns", f"from 1 to {MOST_COLUMNS} are released at once", at=self.select
            )
        for _, item in items:
            if type(item) is exp.Star or (type(item) is exp.Column and type(item.this) is exp.Star):
                raise refused(
                    "SELECT * in the outermost query",
                    "rows are never released as they are",
                    "select COUNT(*), AVG(x) …, with GROUP BY",
                    at=item,
                )
        others = [self.select.args.get(name) for name in ("having", "order", "qualify")]
        parts = [*(item for _, item in items), *(node for node in others if node is not None)]
        grouped = self.select.args.get("group") is not None or self.select.args.get("distinct") is not None
        if not grouped and not any(map(uses_aggregate, parts)):
            raise refused(*(MISPLACED["Window"] if any(map(has_window, parts)) else NO_AGGREGATE), at=self.select)

    def _key(self, node: exp.Expr) -> None:
        if self.scope.unit(node):
            raise refused(
                f"grouping by the unit, {shown(node)}",
                "each group would be one person's",
                "count units with COUNT(DISTINCT …), or group by unit in a subquery and aggregate that",
                at=node,
            )
        value = self.grouped.rows.lower(node)
        if not uses_rows(value):
            raise refused(
                f"GROUP BY {shown(node)}",
                "it is a constant",
                "group by a column; names are in double quotes, or in backticks in BigQuery",
                at=node,
            )
        if all(value != known for known, _ in self.grouped.keys):
            name = f"{self.prefix}key{len(self.keys) + 1}"  # unlike any column, which ends in _1
            self.keys.append(Key(name=name, expression=value))
            self.grouped.keys.append((value, Column(name=name, facts=value.facts)))

    def _levels(self, sets: list[tuple[exp.Expr, ...]]) -> None:
        """Several groupings: each row is there once for each, with the keys of that one, and so is every group."""
        places: list[tuple[int, ...]] = []
        for nodes in sets:
            found = set()
            for node in nodes:
                self._key(key_node(node, self.select, self.scope))
                value = self.grouped.rows.lower(key_node(node, self.select, self.scope))
                found.add(next(place for place, (known, _) in enumerate(self.grouped.keys) if known == value))
            places.append(tuple(sorted(found)))
        level = f"{self.prefix}level"
        names = tuple((f"level_{key.name}", key.expression) for key in self.keys)
        made = Levels(below=self.source, level=f"row_{level}", keys=names, sets=tuple(places))
        self.source = made
        values = [value for value, _ in self.grouped.keys]
        masked = [
            Key(name=key.name, expression=made.column(name)) for key, (name, _) in zip(self.keys, names, strict=True)
        ]
        self.keys = [Key(name=level, expression=made.column(made.level)), *masked]
        columns = [Column(name=key.name, facts=key.facts) for key in masked]
        self.grouped.keys[:] = list(zip(values, columns, strict=True))

        def grouping(node: exp.Expr) -> Expression:
            total: Expression = constant(0)
            for each in node.expressions:
                value = self.grouped.rows.lower(key_node(each, self.select, self.scope))
                if value not in values:
                    raise refused(shown(node), "it is not among the keys of GROUP BY", at=node)
                place = values.index(value)
                absent = [constant(number) for number, keys in enumerate(places) if place not in keys]
                here = Column(name=level, facts=self.keys[0].facts)
                bit = call("case", call("in", here, *absent), constant(1), constant(0)) if absent else constant(0)
                total = call("add", call("multiply", total, constant(2)), bit)
            return total

        self.grouped.grouping = grouping

    def _end(self, node: exp.Expr) -> Column | None:
        """Snowflake's DP_INTERVAL_LOW('n') and DP_INTERVAL_HIGH(n), of a column that is selected before."""
        name = str(node.this).lower() if type(node) is exp.Anonymous else ""
        if name not in INTERVAL_ENDS or len(node.expressions) != 1:
            return None
        value = self.listed.aliases.get(node.expressions[0].name.casefold())
        if not isinstance(value, Column) or all(each.name != value.name for each in self.aggregates.found):
            why, way = "it is of an aggregate of the same SELECT", "write COUNT(*) AS n, DP_INTERVAL_LOW('n')"
            raise refused(shown(node), why, way, RefusalKind.MISTAKE, at=node)
        return Column(name=value.name + INTERVAL_ENDS[name], facts=Facts(type=Type.NUMBER))

    def _item(self, alias: str | None, item: exp.Expr) -> None:
        plain = item.unnest()
        end = self._end(plain)
        if end is not None:
            self.listed.named(alias or default_name(item), end)
            self.listed.positions.append(end)
            return
        ask = asked(plain) if is_aggregate(plain) else None
        name = alias or default_name(item)
        if ask is not None and ask.several:
            values = self.aggregates.many(ask)
            for value, order in zip(values, ask.fractions, strict=True):
                self.listed.named(f"{name}_p{_percent(order)}", value)
            self.listed.positions.append(None)
        elif ask is not None and ask.is_list:
            self.listed.named(name, self.aggregates.many(ask)[0])
            self.listed.positions.append(None)
        else:
            self.listed.add(alias, item, self.grouped.over.lower(item))


def _bare(question: LoweredQuestion, having: Expression | None = None) -> LoweredQuestion:
    """The same with all that it measured for columns, and in no order."""
    keys = [(key.name, Column(name=key.name, facts=key.facts)) for key in question.keys]
    lists = [aggregate for aggregate in question.aggregates if aggregate.is_list]
    if lists:
        raise refused(f"{lists[0].text} beside a window", "it is a list of values", "ask for it by itself")
    parts = [part for _, value in question.output for part in value.walk()]
    parts += [part for by in question.order for part in by.expression.walk()]
    parts += [] if having is None else having.walk()
    found = {part.name: part for part in parts if isinstance(part, Column)}
    aggregates = [(each.name, found[each.name]) for each in question.aggregates if each.name in found]
    return replace(question, output=(*keys, *aggregates), order=(), limit=None, offset=0, distinct=False)


def _percent(order: Fraction) -> str:
    """0.25 as 25, 0.333 as 33.3."""
    percent = order * 100
    return str(int(percent)) if percent.denominator == 1 else f"{float(percent):.10g}"
