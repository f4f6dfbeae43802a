"""FROM: declared tables, WITH queries and subqueries as relations, joined one after the other.

A private table joins public ones on any key, and private ones on the unit; LEFT keeps the private side. Rows that are
units join public tables on a key that is declared unique there, which engines enforce. All else is refused with its
reason.
"""

from collections.abc import Mapping
from dataclasses import replace

from sqlglot import exp

from tacit.base import Mistake, Refused
from tacit.base.problem import declare
from tacit.plan.combined import Match
from tacit.plan.expression import Column, Expression
from tacit.plan.facts import Facts, Type
from tacit.plan.node import Filter, Join, Node, Scan, Source, check_rows
from tacit.plan.operation import call
from tacit.plan.released import ReleasedTable, is_released
from tacit.sql.catalog import AskableTable, Catalog, nearest
from tacit.sql.expressions import Expressions, chain
from tacit.sql.mistake import place, quoted, refused, shown
from tacit.sql.scope import Context, Derived, Field, NamedRelation, Scope

__all__ = ["read_from"]

ON = "write JOIN … ON a.key = b.key, or USING (key)"
Pair = tuple[Expression, Expression]


def read_from(select: exp.Select, context: Context) -> tuple[Node, Scope]:
    """The rows that FROM and JOIN give, and the names in them."""
    given = select.args.get("from_")
    if given is None:
        raise refused("a SELECT without FROM", "there is nothing to protect in it", "name a table in FROM", at=select)
    node, relation = _item(given.this, context)
    scope = Scope(relations=(relation,))
    for each in select.args.get("joins") or ():
        right, relation = _item(each.this, context)
        node, scope = _join(each, (node, scope), (right, relation), context)
    return node, scope


def _item(item: exp.Expr, context: Context) -> tuple[Node, NamedRelation]:
    if type(item) is exp.Table and type(item.this) is exp.Identifier:
        found = _table(item, context)
    elif type(item) is exp.Subquery and type(item.this) in (exp.Select, exp.Union):
        found = context.nested(item.this, context)
    elif type(item) is exp.Table:
        raise refused("a table function", "questions read declared tables only", "name a table of the policy", at=item)
    else:
        raise refused(
            "this item of FROM", "it is neither a table nor a subquery", "name a table of the policy", at=item
        )
    alias = item.args.get("alias")
    fields = found.fields if alias is None else _renamed(found.fields, alias)
    name = alias.name if alias is not None and alias.name else item.name
    # a subquery without a name has one that cannot be written
    return found.node, NamedRelation(alias=name or f" subquery {context.names.relations}", fields=fields)


def _renamed(fields: tuple[Field, ...], alias: exp.Expr) -> tuple[Field, ...]:
    columns = alias.args.get("columns") or []
    if not columns:
        return fields
    shown = [field for field in fields if not field.hidden]
    if len(columns) != len(shown):
        raise Mistake(
            f"{place(alias)}{quoted(alias.name)} names {len(columns)} columns and has {len(shown)}: name each once"
        )
    return tuple(replace(field, name=column.name) for field, column in zip(shown, columns, strict=True))


def _table(item: exp.Table, context: Context) -> Derived:
    name = item.name
    query = context.queries.get(name.casefold())
    if query is not None:
        given, around = query
        if type(given.this) not in (exp.Select, exp.Union):
            raise refused(f"WITH {quoted(name)}", "it is not one SELECT", at=given)
        found = context.nested(given.this, around)
        return Derived(node=found.node, fields=_renamed(found.fields, given.args["alias"]))
    declared = context.catalog.find(name)
    if declared is None:
        looks_like_file = any(c in name for c in "./\\:*?")
        hint = "files are not read: ask the curator to declare a table" if looks_like_file else None
        raise Mistake(
            f"{place(item)}there is no table {quoted(name)}: "
            f"{hint or nearest(name, list(context.catalog.tables), 'tables')}"
        )
    return _scan(*declared, context)


def _scan(name: str, table: AskableTable, context: Context) -> Derived:
    """A Scan of all columns; what is not used is left out in the end.

    The unit is read once more under a name of its own and without bounds or domain, so that nothing that is enforced on
    its values can make two units one.
    """
    if not table.owned:
        raise Refused(
            f"table {quoted(name)} does not say whose rows they are, so nobody would be protected: the curator must "
            "declare unit, each_row_is_a_unit or public for it"
        )
    number = context.names.relation()
    unit = None if table.unit is None or not table.private else context.names.column("unit", number)
    sources: list[Source] = []
    fields: list[Field] = []
    unit_type = table.unit_type
    if unit is not None and table.unit is not None:
        if unit_type is None and table.unit in table.columns:
            unit_type = table.columns[table.unit].type
        sources.append(Source(name=unit, column=table.unit, facts=Facts(type=unit_type or Type.TEXT)))
    for column, facts in table.columns.items():
        source = Source(name=context.names.column(column, number), column=column, facts=facts)
        sources.append(source)
        is_unit = table.private and column == table.unit
        fields.append(Field(name=column, value=Column(name=source.name, facts=facts), is_unit=is_unit))
    untyped = table.untyped | ({table.unit} if table.private and table.unit is not None else set())
    for column in sorted(untyped - table.columns.keys() - table.hidden):
        where = declare(" in the policy", f' (types={{"{column}": …}})')
        why = f"column {quoted(column)} has no type{where}, so it cannot be computed with"
        fields.append(Field(name=column, value=None, is_unit=column == table.unit and table.private, missing=why))
    fields += [Field(name=column, value=None, hidden=True) for column in sorted(table.hidden)]
    node = Scan(
        table=name,
        columns=tuple(sources),
        is_private=table.private,
        unit_name=unit,
        rows_per_unit=table.rows_per_unit,
        rows=table.rows,
        unit_type=unit_type,
    )
    return Derived(node=node, fields=tuple(fields))


def _join(
    node: exp.Join, left: tuple[Node, Scope], right: tuple[Node, NamedRelation], context: Context
) -> tuple[Node, Scope]:
    """Both sides matched, and the names of both."""
    side, kind = (str(node.args.get(word) or "").upper() for word in ("side", "kind"))
    if kind in ("SEMI", "ANTI") and side in ("", "LEFT"):
        return _kept(node, left, right, context), left[1]
    released = is_released(left[0]) and is_released(right[0])  # of which any rows may be matched
    if side not in ("", "LEFT", "RIGHT") or kind not in ("", "INNER", "OUTER", *(["CROSS"] if released else [])):
        what = f"{side} {kind}".strip()
        why = "it matches rows without equal keys" if kind == "CROSS" else "some of its rows would have no owner"
        raise refused(f"{what} JOIN", why, f"{ON}; LEFT JOIN keeps the rows of the left side", at=node)
    scope = left[1].adding(right[1])
    work = _Join(node, left, right, scope, side, context.catalog)
    work.read()
    if not work.pairs and not work.unit and not released:
        raise refused(
            f"a join without equal keys ({shown(node)})", "it would match every row with every row", ON, at=node
        )
    made = work.made()
    return made, replace(scope, relations=_after(scope, made, side), merged=work.merged)


def _kept(node: exp.Join, left: tuple[Node, Scope], right: tuple[Node, NamedRelation], context: Context) -> Node:
    """SEMI JOIN keeps the rows of the left that have a match, and ANTI JOIN the others."""
    work = _Join(node, left, right, left[1].adding(right[1]), "", context.catalog)
    work.read()
    below, on = right[0], list(work.pairs)
    for condition in work.right_only:
        below = Filter(below=below, condition=condition)
    if work.both or not (on or work.unit) or not left[0].private or is_released(below):
        why = "it keeps private rows by equal keys alone"
        raise refused(f"this {node.args['kind']} JOIN", why, "write ON a.key = b.key", at=node)
    if below.private:
        on = list(work.keys(left[0], below, tuple(on), unique=True))
    name = context.names.column("match", context.names.relation())
    match = Match(kind="exists", name=name, left=left[0], right=below, on=tuple(on))
    found: Expression = Column(name=name, facts=match.schema[name])
    return Filter(below=match, condition=call("not", found) if node.args["kind"] == "ANTI" else found)


class _Join:
    """The condition of one join, taken apart."""

    def __init__(
        self,
        node: exp.Join,
        left: tuple[Node, Scope],
        right: tuple[Node, NamedRelation],
        scope: Scope,
        side: str,
        catalog: Catalog,
    ) -> None:
        self.node, self.scope, self.side, self.catalog = node, scope, side, catalog
        (self.left, self.left_scope), (self.right, relation) = left, right
        self.right_scope = Scope(relations=(relation,))
        self.pairs: list[Pair] = []
        self.unit = False  # whether the units are among the keys
        self.right_only: list[Expression] = []
        self.both: list[exp.Expr] = []
        self.merged = scope.merged

    def read(self) -> None:
        for name in self.node.args.get("using") or ():
            column = exp.column(exp.to_identifier(name.name, quoted=True))
            self.pair(column, column, self.node)
            self.merge(name.name)
        condition = self.node.args.get("on")
        for part in chain(condition) if condition is not None else ():
            self.part(part)

    def merge(self, name: str) -> None:
        """From now on the name alone means the column of the side that is kept."""
        side = self.right_scope if self.side == "RIGHT" else self.left_scope
        before = None if self.side == "RIGHT" else dict(self.merged).get(name.casefold())
        keeper = before or next(relation.alias for relation in side.relations if relation.find(name))
        self.merged = (*(pair for pair in self.merged if pair[0] != name.casefold()), (name.casefold(), keeper))

    def part(self, part: exp.Expr) -> None:
        sides = self.sides(part)
        if type(part) is exp.EQ:
            ends = self.sides(part.this), self.sides(part.expression)
            if ends == ({"left"}, {"right"}):
                return self.pair(part.this, part.expression, part)
            if ends == ({"right"}, {"left"}):
                return self.pair(part.expression, part.this, part)
        if sides == {"right"}:
            self.right_only.append(Expressions(self.right_scope).condition(part, "ON"))
        else:
            self.both.append(part)
        return None

    def sides(self, part: exp.Expr) -> set[str]:
        found = set()
        for column in part.find_all(exp.Column):
            table = column.args.get("table")
            fields = self.scope.resolve(column)
            right = self.right_scope.relations[0]
            of_right = right.alias.casefold() == table.name.casefold() if table is not None else fields in right.fields
            found.add("right" if of_right else "left")
        return found

    def pair(self, left: exp.Expr, right: exp.Expr, at: exp.Expr) -> None:
        if self.left_scope.unit(left) and self.right_scope.unit(right):
            self.unit = True
            return
        ends = Expressions(self.left_scope).lower(left), Expressions(self.right_scope).lower(right)
        kinds = {end.facts.type for end in ends}
        if len(kinds) > 1 and not all(kind.numeric for kind in kinds):
            raise refused(
                f"the key {shown(at)}", f"it compares {' with '.join(sorted(kinds))}", "CAST one of them", at=at
            )
        self.pairs.append(ends)

    def made(self) -> Node:
        left, right, pairs = self.left, self.right, tuple(self.pairs)
        if (self.side and self.both) or (self.side == "RIGHT" and self.right_only):
            raise refused(
                "a condition on the kept side of an outer join",
                "rows that fail it are kept all the same",
                "move it to WHERE, or into a CASE",
                at=self.node,
            )
        for condition in self.right_only:
            right = Filter(below=right, condition=condition)
        if self.side == "RIGHT" or (not self.side and right.private and not left.private):
            # in plans the kept side is on the left, and so is the private one
            left, right, pairs = right, left, tuple((b, a) for a, b in pairs)
        if self.side and right.private and not left.private:
            raise refused(
                f"{self.side} JOIN that keeps a public table",
                "its rows without a match would have no owner",
                "keep the private side, or use JOIN",
                at=self.node,
            )
        unique = _unique(right, pairs, self.catalog)
        on = self.keys(left, right, pairs, unique)
        joined = Join(kind="left" if self.side else "inner", left=left, right=right, on=on, unique=unique)
        check_rows(joined, place(self.node))
        node: Node = joined
        for part in self.both:
            node = Filter(below=node, condition=Expressions(self.scope).condition(part, "ON"))
        return node

    def keys(self, left: Node, right: Node, pairs: tuple[Pair, ...], unique: bool) -> tuple[Pair, ...]:
        if left.private and not right.private and left.unit is None and not unique:
            raise refused(
                "a join of a table whose rows are units",
                "a row with two matches would count as two units and be protected as one",
                "ask the curator to declare unique = true for the public table's key if no value of it occurs twice, "
                "or ask it without the join",
                at=self.node,
            )
        if not (left.private and right.private):
            return pairs
        if left.unit is None or right.unit is None:
            raise refused(
                "a join of private tables",
                "each row of one of them is a unit of its own, so a matched row would have two owners",
                "join with public tables only, or ask each table by itself",
                at=self.node,
            )
        if not self.unit:
            names = " and ".join(quoted(name) for name in (*sorted(left.tables), *sorted(right.tables)))
            raise Refused(
                f"{place(self.node)}a join of the private tables {names} on other keys than the unit is refused, since "
                f"a matched row would have two owners: add the unit, as in ON {self.units()}"
            )
        units = (
            Column(name=left.unit, facts=left.schema[left.unit]),
            Column(name=right.unit, facts=right.schema[right.unit]),
        )
        return (units, *pairs)

    def units(self) -> str:
        names = []
        for scope in (self.left_scope, self.right_scope):
            names += [f"{r.alias}.{field.name}" for r in scope.relations for field in r.fields if field.is_unit][:1]
        return " = ".join(names) if len(names) == 2 else "both unit columns"


def _unique(right: Node, pairs: tuple[Pair, ...], catalog: Catalog) -> bool:
    """Whether one of the right keys is a column of a public table that is declared to have no value twice."""
    while isinstance(right, Filter):
        right = right.below
    if isinstance(right, ReleasedTable):
        return right.keys is not None and {*right.keys} <= {key.name for _, key in pairs if isinstance(key, Column)}
    if not isinstance(right, Scan) or right.private:
        return False
    table = catalog.tables[right.table]
    names = {source.name for source in right.columns if source.column in table.unique}
    return any(isinstance(key, Column) and key.name in names for _, key in pairs)


def _after(scope: Scope, node: Node, side: str) -> tuple[NamedRelation, ...]:
    """The fields as they are after the join: those of a side that is not kept can be NULL, and then name no unit."""
    schema = node.schema
    last = len(scope.relations) - 1
    optional = {"": (), "LEFT": (last,), "RIGHT": tuple(range(last))}[side]
    return tuple(
        replace(relation, fields=tuple(_field(field, schema, i in optional) for field in relation.fields))
        for i, relation in enumerate(scope.relations)
    )


def _field(field: Field, schema: Mapping[str, Facts], optional: bool) -> Field:
    value = field.value
    if isinstance(value, Column):
        value = Column(name=value.name, facts=schema[value.name])
    return replace(field, value=value, is_unit=field.is_unit and not optional)
