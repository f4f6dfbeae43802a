"""Stage 2: a syntax tree becomes a question, or is refused. Deny by default; nothing of the text goes further."""

from collections.abc import Iterable
from dataclasses import replace
from fractions import Fraction

from sqlglot import exp

from tacit.base import Refused
from tacit.plan.bounded import Key
from tacit.plan.expression import Column, Expression
from tacit.plan.node import Filter, Group, Join, Node, Project, Scan, check_work
from tacit.plan.question import LoweredQuestion, Order
from tacit.sql.aggregates import asked, has_aggregate, is_aggregate
from tacit.sql.allow import check
from tacit.sql.catalog import Catalog
from tacit.sql.constants import literal, whole
from tacit.sql.grouped import Aggregates, Grouped, group_by, items_of, uses_rows
from tacit.sql.mistake import quoted, refused, shown
from tacit.sql.parse import CLAUSE, Clause
from tacit.sql.scope import Context, Scope
from tacit.sql.sources import read_from
from tacit.sql.subquery import nested, where

__all__ = ["lower", "prune", "used"]


def used(expressions: Iterable[Expression]) -> set[str]:
    """The columns that expressions name."""
    return {part.name for expression in expressions for part in expression.walk() if isinstance(part, Column)}


def prune(node: Node, needed: set[str]) -> Node:
    """The same rows with the needed columns, and with the unit."""
    match node:
        case Scan():
            keep = tuple(s for s in node.columns if s.name in needed or s.name == node.unit_name)
            return replace(node, columns=keep or (() if node.path is not None else node.columns[:1]))
        case Filter():
            return replace(node, below=prune(node.below, needed | used(node.expressions)))
        case Project():
            columns = tuple((name, value) for name, value in node.columns if name in needed)
            if all(isinstance(value, Column) and value.name == name for name, value in columns):
                return prune(node.below, needed)
            kept = replace(node, columns=columns)
            return replace(kept, below=prune(node.below, used(kept.expressions)))
        case Group():
            fewer = replace(node, aggregates=tuple(each for each in node.aggregates if each.name in needed))
            return replace(fewer, below=prune(node.below, used(fewer.expressions)))
        case Join():
            both = needed | used(node.expressions)
            return replace(node, left=prune(node.left, both), right=prune(node.right, both))
    raise AssertionError(f"no rule for {type(node).__name__}")


MOST_COLUMNS = 200
NO_AGGREGATE = (
    "a query without an aggregate",
    "it would release rows as they are, or groups without a number",
    "select COUNT(*), AVG(x) …, with GROUP BY",
)
OWN_PASS = {"quantile", "min", "max", "mode", "histogram", "count_distinct"}  # for each of which rows are read anew


def lower(tree: exp.Select, catalog: Catalog) -> LoweredQuestion:
    """The question that a tree of `parse` asks of the tables in `catalog`; what is not understood is `Refused`."""
    if type(tree) is not exp.Select:
        raise Refused("a question is one SELECT, or WITH … SELECT")
    try:
        check(tree)
        return _Lowered(tree, Context(catalog=catalog, nested=nested)).question()
    except RecursionError:
        raise Refused("this is nested too deeply to be understood: take parts of it out into WITH") from None


class _Lowered:
    """The outermost SELECT on its way."""

    def __init__(self, select: exp.Select, context: Context) -> None:
        self.select = select
        context.names.read(select)
        node, self.scope = read_from(select, context.within(select))
        self.source = where(select, node, self.scope)
        if not self.source.private:
            raise refused(
                "a question about public tables alone",
                "there is nobody to protect in it",
                "ask them without tacit, or join them with a private table",
                at=select,
            )
        self.grouped = Grouped(self.scope, lambda node: self.aggregates.one(node))
        self.aggregates = Aggregates(scope=self.scope, rows=self.grouped.rows)
        self.keys: list[Key] = []
        self.output: list[tuple[str, Expression]] = []
        self.positions: list[Expression | None] = []

    def question(self) -> LoweredQuestion:
        clause = _clause(self.select, self.source, self.scope)
        self._check_items()
        keys = group_by(self.select, self.scope)
        if len(keys) > MOST_COLUMNS:
            raise refused(
                f"GROUP BY of {len(keys)} keys", f"at most {MOST_COLUMNS} are told apart at once", at=self.select
            )
        for node in keys:
            self._key(node)
        for alias, item in items_of(self.select):
            self._item(alias, item)
        having = self.select.args.get("having")
        condition = None if having is None else self.grouped.over.condition(having.this, "HAVING")
        order = self._order()
        if not self.aggregates.found:
            raise refused(*NO_AGGREGATE, at=self.select)
        arguments = [argument for aggregate in self.aggregates.found for argument in aggregate.arguments]
        computed = [*arguments, *(key.expression for key in self.keys)]
        check_work(self.source, computed, passes=1 + sum(a.function in OWN_PASS for a in self.aggregates.found))
        needed = used(computed)
        return LoweredQuestion(
            source=prune(self.source, needed),
            keys=tuple(self.keys),
            aggregates=tuple(self.aggregates.found),
            output=tuple(self.output),
            having=condition,
            order=order,
            limit=_number(self.select, "limit"),
            offset=_number(self.select, "offset") or 0,
            distinct=self.select.args.get("distinct") is not None,
            options=clause.options,
        )

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
        inside = any(has_aggregate(item) for _, item in items)
        others = [self.select.args.get(name) for name in ("having", "order")]
        if not inside and not any(node is not None and has_aggregate(node) for node in others):
            raise refused(*NO_AGGREGATE, at=self.select)

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
            key = Key(name=f"key{len(self.keys) + 1}", expression=value)  # unlike any column, which ends in _1
            self.keys.append(key)
            self.grouped.keys.append((value, Column(name=key.name, facts=value.facts)))

    def _item(self, alias: str | None, item: exp.Expr) -> None:
        name = alias or _default_name(item, self.scope)
        plain = item.unnest()
        ask = asked(plain) if is_aggregate(plain) else None
        if ask is not None and ask.several:
            values = self.aggregates.many(ask)
            for value, order in zip(values, ask.fractions, strict=True):
                self._named(f"{name}_p{_percent(order)}", value)
            self.positions.append(None)
            return
        if ask is not None and ask.is_list:
            self._named(name, self.aggregates.many(ask)[0])
            self.positions.append(None)
            return
        single = self.grouped.over.lower(item)
        self._named(name, single)
        self.positions.append(single)
        if alias is not None:
            self.grouped.aliases.setdefault(alias.casefold(), single)

    def _named(self, name: str, value: Expression) -> None:
        taken = {known.casefold() for known, _ in self.output}
        found, again = name, 1
        while found.casefold() in taken:
            again += 1
            found = f"{name}_{again}"
        self.output.append((found, value))

    def _order(self) -> tuple[Order, ...]:
        given = self.select.args.get("order")
        return tuple(self._order_key(node) for node in (given.expressions if given is not None else ()))

    def _order_key(self, node: exp.Expr) -> Order:
        if type(node) is not exp.Ordered:
            raise refused(f"ORDER BY {shown(node)}", "it is not a value that was selected", at=node)
        known = literal(node.this)
        if known is not None:
            found = self._positioned(node, known.value)
        else:
            found = self.grouped.alias(node.this) or self.grouped.over.lower(node.this)
        first = bool(node.args.get("nulls_first"))
        return Order(expression=found, descending=bool(node.args.get("desc")), nulls="first" if first else "last")

    def _positioned(self, node: exp.Expr, value: object) -> Expression:
        inside = isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= len(self.positions)
        found = self.positions[value - 1] if inside and isinstance(value, int) else None
        if found is None:
            raise refused(f"ORDER BY {shown(node.this)}", "there is no such column to order by", at=node)
        return found


def _clause(select: exp.Select, source: Node, scope: Scope) -> Clause:
    clause = select.meta.get(CLAUSE)
    found = clause if isinstance(clause, Clause) else Clause()
    if found.unit is not None and not scope.unit(exp.Column(this=exp.to_identifier(found.unit, quoted=True))):
        raise refused(
            f"privacy_unit_column = {quoted(found.unit)}",
            "the policy names another unit for these tables",
            "leave it out, or name that one",
            at=select,
        )
    return found


def _number(select: exp.Select, name: str) -> int | None:
    given = select.args.get(name)
    if given is None:
        return None
    known = literal(given.args.get("expression"))
    if known is None or isinstance(known.value, bool) or not isinstance(known.value, int):
        raise refused(shown(given), "it is not a whole number", "write one, as in LIMIT 10", at=given)
    return whole(Fraction(known.value), name.upper())


def _default_name(item: exp.Expr, scope: Scope) -> str:
    plain = item.unnest()
    if type(plain) is exp.Column:
        return plain.name
    return shown(plain).lower()


def _percent(order: Fraction) -> str:
    """0.25 as 25, 0.333 as 33.3."""
    percent = order * 100
    return str(int(percent)) if percent.denominator == 1 else f"{float(percent):.10g}"
