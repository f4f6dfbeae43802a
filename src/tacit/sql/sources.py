"""FROM: declared tables, WITH queries and subqueries as relations, joined one after the other.

A private table joins public ones on any key, and private ones on the unit or along a declared link; LEFT keeps the
private side. Rows that are units join public tables on a key that is declared unique there, which engines enforce. All
else is refused with its reason. Tables between commas are joined by the equalities of WHERE, in any order.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from sqlglot import exp

from tacit.base import Mistake, RefusalKind, Refused
from tacit.plan.combined import Match
from tacit.plan.expression import Column, Expression
from tacit.plan.node import Filter, Join, Node, Scan, check_rows
from tacit.plan.operation import call
from tacit.plan.released import OneRow, check_released_rows, is_released, meets_one
from tacit.sql.catalog import Catalog, nearest
from tacit.sql.commas import CommaKey, comma_keys, is_of, not_joined, tying
from tacit.sql.expressions import Expressions, chain
from tacit.sql.joined_fields import joined_fields
from tacit.sql.linked import implied, linked_join
from tacit.sql.mistake import place, quoted, refused, shown
from tacit.sql.reasons import ARGUMENTS
from tacit.sql.scope import Context, Derived, Field, NamedRelation, Scope, whole_unit
from tacit.sql.table import read_table

__all__ = ["not_joined", "read_from"]

ON = "write JOIN … ON a.key = b.key, or USING (key)"
Pair = tuple[Expression, Expression]


def read_from(select: exp.Select, context: Context) -> tuple[Node, Scope]:
    """The rows that FROM and JOIN give, and the names in them."""
    given = select.args.get("from_")
    if given is None and any(item.find(exp.Subquery) for item in select.expressions):
        return OneRow(), Scope(relations=())
    if given is None:
        raise refused("a SELECT without FROM", "there is nothing to protect in it", "name a table in FROM", at=select)
    condition = select.args.get("where")
    joins = select.args.get("joins") or ()
    return _joined(given.this, joins, context, None if condition is None else condition.this)


def _joined(
    first: exp.Expr, joins: Sequence[exp.Join], context: Context, condition: exp.Expr | None = None
) -> tuple[Node, Scope]:
    """Chains of JOIN … ON, and between them commas, which equalities of WHERE turn into joins."""
    chains = [_item(first, context)]
    commas: list[exp.Join] = []
    for each in joins:
        right = _item(each.this, context)
        if _is_comma(each) and not (is_released(chains[-1][0]) and is_released(right[0])):
            chains.append(right)
            commas.append(each)
        else:
            chains[-1] = _join(each, chains[-1], right, context)
    if not commas:
        return chains[0]
    return together(chains, commas, condition, context)


def _is_comma(join: exp.Join) -> bool:
    """A comma or CROSS JOIN: no keys, and all rows of both."""
    side, kind = (str(join.args.get(word) or "").upper() for word in ("side", "kind"))
    bare = not any(join.args.get(name) for name in ("on", "using", "method"))
    return bare and not side and kind in ("", "CROSS", "INNER")


def together(
    chains: list[tuple[Node, Scope]], commas: list[exp.Join], condition: exp.Expr | None, context: Context
) -> tuple[Node, Scope]:
    """Join relations that a comma separates by the equalities of WHERE, each as soon as one ties it to those before.

    Private ones come first, then public ones by a key that is declared unique: so no row is multiplied on the way.
    """
    everything = chains[0][1]
    for _, more in chains[1:]:
        everything = everything.adding(more)
    keys = [] if condition is None else comma_keys(condition, everything)
    node, scope = chains.pop(next((i for i, (each, _) in enumerate(chains) if each.private), 0))
    while chains:
        tied = [(i, found) for i, (_, other) in enumerate(chains) if (found := tying(keys, scope, other))]
        if not tied:
            alias = chains[0][1].relations[0].alias
            raise refused(
                f"a join without equal keys ({quoted(alias)})",
                "it would match every row with every row",
                f"tie it to another table with an equality in WHERE, or {ON}",
                at=commas[0],
            )
        place, found = min(tied, key=lambda each: (_order(chains[each[0]], each[1], context.catalog), each[0]))
        right = chains.pop(place)
        join = exp.Join(
            this=exp.to_identifier(right[1].relations[0].alias), on=exp.and_(*(k.condition for k in found), copy=False)
        )
        node, scope = _join(join, (node, scope), right, context)
        scope = replace(scope, joined=scope.joined | {id(key.condition) for key in found if key.is_whole})
    return node, scope


def _order(right: tuple[Node, Scope], keys: Sequence[CommaKey], catalog: Catalog) -> int:
    node, scope = right
    if node.private:
        return 0
    ends = [end for key in keys for end in (key.condition.this, key.condition.expression)]
    own = [end for end in ends if is_of(end, scope)]
    values = [Expressions(scope).lower(end) for end in own]
    return 1 if _unique(node, tuple((value, value) for value in values), catalog) else 2


def _item(item: exp.Expr, context: Context) -> tuple[Node, Scope]:
    if type(item) is exp.Subquery and type(item.this) in (exp.Table, exp.Subquery) and not item.args.get("alias"):
        return _item(item.this, context)  # parentheses
    if type(item) is exp.Table and item.args.get("joins"):
        bare = item.copy()
        bare.set("joins", None)
        return _joined(bare, item.args["joins"], context)
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
    relation = NamedRelation(alias=name or f" subquery {context.names.relations}", fields=fields)
    return found.node, Scope(relations=(relation,))


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
    return read_table(*declared, context)


def _join(node: exp.Join, left: tuple[Node, Scope], right: tuple[Node, Scope], context: Context) -> tuple[Node, Scope]:
    """Both sides matched, and the names of both."""
    side, kind = (str(node.args.get(word) or "").upper() for word in ("side", "kind"))
    if kind in ("SEMI", "ANTI") and side in ("", "LEFT"):
        return _kept(node, left, right, context), left[1]
    released = is_released(left[0]) and is_released(right[0])  # of which any rows may be matched
    sides = ("", "LEFT", "RIGHT", *(["FULL"] if released else []))
    if side not in sides or kind not in ("", "INNER", "OUTER", *(["CROSS"] if released else [])):
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
    kept = joined_fields(scope, len(left[1].relations), made, side)
    return made, replace(scope, relations=kept, merged=work.merged)


def _kept(node: exp.Join, left: tuple[Node, Scope], right: tuple[Node, Scope], context: Context) -> Node:
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
        right: tuple[Node, Scope],
        scope: Scope,
        side: str,
        catalog: Catalog,
    ) -> None:
        self.node, self.scope, self.side, self.catalog = node, scope, side, catalog
        (self.left, self.left_scope), (self.right, self.right_scope) = left, right
        self.pairs: list[Pair] = []
        self.parts: dict[tuple[int, int], Pair] = {}  # of units of several columns
        self.unit = False  # whether the units are among the keys
        self.right_only: list[Expression] = []
        self.both: list[exp.Expr] = []
        self.merged = scope.merged

    def read(self) -> None:
        for name in self.named():
            column = exp.column(exp.to_identifier(name, quoted=True))
            self.pair(column, column, self.node)
            self.merge(name)
        condition = self.node.args.get("on")
        for part in chain(condition) if condition is not None else ():
            self.part(part)
        if whole_unit(self.parts):
            self.unit = True
        else:
            self.pairs += self.parts.values()

    def named(self) -> list[str]:
        """The columns that USING names, or that both sides have in a NATURAL join."""
        method = str(self.node.args.get("method") or "").upper()
        if method not in ("", "NATURAL"):
            raise refused(*ARGUMENTS["Join", "method"], at=self.node)
        names = [each.name for each in self.node.args.get("using") or ()]
        if method:
            sides = [{field.name.casefold(): field.name for _, field in scope.fields()} for scope in
                     (self.left_scope, self.right_scope)]  # fmt: skip
            names = [name for folded, name in sides[0].items() if folded in sides[1]]
            if not names:
                why, way = "no column is called the same on both sides", "write JOIN … ON a.key = b.key"
                raise refused("this NATURAL JOIN", why, way, RefusalKind.MISTAKE, at=self.node)
        if names and self.side == "FULL":
            why, way = "its one column would be of either side", "write ON a.key = b.key, and COALESCE(a.key, b.key)"
            raise refused("FULL JOIN with USING", why, way, RefusalKind.UNSUPPORTED, at=self.node)
        return names

    def merge(self, name: str) -> None:
        """From now on the name alone means the column of the side that is kept."""
        side = self.right_scope if self.side == "RIGHT" else self.left_scope
        before = None if self.side == "RIGHT" else dict(self.merged).get(name.casefold())
        keeper = before or next(relation.alias for relation in side.relations if relation.find(name))
        self.merged = (*(pair for pair in self.merged if pair[0] != name.casefold()), (name.casefold(), keeper))

    def part(self, part: exp.Expr) -> None:
        part = part.unnest()
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
            table, field = column.args.get("table"), self.scope.resolve(column)
            named = (
                relation.alias.casefold() == table.name.casefold() if table is not None else field in relation.fields
                for relation in self.right_scope.relations
            )
            found.add("right" if any(named) else "left")
        return found

    def pair(self, left: exp.Expr, right: exp.Expr, at: exp.Expr) -> None:
        if self.left_scope.unit(left) and self.right_scope.unit(right):
            self.unit = True
            return
        part = self.left_scope.part(left)
        ends = Expressions(self.left_scope).lower(left), Expressions(self.right_scope).lower(right)
        if part is not None and part == self.right_scope.part(right):
            self.parts[part] = ends
            return
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
        kind: Literal["inner", "left"] = "left" if self.side else "inner"
        joined = None if not (left.private and right.private) else linked_join(left, right, pairs, kind)
        joined = joined or Join(
            kind="full" if self.side == "FULL" else kind, left=left, right=right, on=on, unique=unique
        )
        (check_released_rows if is_released(joined) else check_rows)(joined, place(self.node))
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
        if not self.unit and not implied(left, right, pairs, self.catalog):
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
    if is_released(right):
        return meets_one(right, pairs)
    while isinstance(right, Filter):
        right = right.below
    if not isinstance(right, Scan) or right.private:
        return False
    table = catalog.tables[right.table]
    names = {source.name for source in right.columns if source.column in table.unique}
    return any(isinstance(key, Column) and key.name in names for _, key in pairs)
