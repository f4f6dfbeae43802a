"""IN (SELECT …) and EXISTS: rows marked by whether they have a match, on the unit or in public tables.

A subquery over private tables is matched by the unit, so that a row depends on the rows of its own unit alone.
"""

from sqlglot import exp

from tacit.plan.combined import Match
from tacit.plan.expression import Column, Expression
from tacit.plan.node import Filter, Node
from tacit.plan.released import is_released
from tacit.sql.expressions import Expressions, chain
from tacit.sql.mistake import refused, shown
from tacit.sql.scope import Context, Scope
from tacit.sql.sources import read_from

__all__ = ["Matches"]

Pair = tuple[Expression, Expression]
BY_UNIT = "match it by the unit, as in WHERE unit IN (SELECT unit …) or EXISTS (… WHERE a.unit = b.unit)"
PLAIN = {"expressions", "from_", "joins", "where", "distinct", "kind", "with_"}


class Matches:
    """The rows of one WHERE, with a column for each subquery in it."""

    def __init__(self, node: Node, scope: Scope, context: Context) -> None:
        self.node, self.scope, self.context = node, scope, context

    def special(self, node: exp.Expr) -> Expression | None:
        """What stands for IN (SELECT …) or EXISTS; None for all else."""
        if type(node) is exp.In and node.args.get("query") is not None:
            return self._in(node)
        return self._exists(node) if type(node) is exp.Exists else None

    def _in(self, node: exp.Expr) -> Expression:
        select = node.args["query"].unnest()
        if type(select) is not exp.Select:
            raise refused(shown(node), "IN takes a list or one SELECT", at=node)
        found = self.context.nested(select, self.context)
        fields = [field for field in found.fields if not field.hidden]
        if len(fields) != 1:
            raise refused(shown(node), "the SELECT in IN has one column", "select one", at=node)
        if fields[0].is_unit and self.scope.unit(node.this):
            return self._matched("in", node, found.node, [])
        if found.node.private:
            raise self._owners(node)
        value = fields[0].value
        if value is None:
            raise refused(shown(node), fields[0].missing or "its column cannot be compared", at=node)
        return self._matched("in", node, found.node, [(Expressions(self.scope).lower(node.this), value)])

    def _exists(self, node: exp.Expr) -> Expression:
        select = node.this.unnest()
        if type(select) is not exp.Select or any(value and name not in PLAIN for name, value in select.args.items()):
            raise refused(shown(node), "EXISTS takes SELECT … FROM … WHERE", "leave the rest out", at=node)
        self.context.names.read(select)
        context = self.context.within(select)
        right, scope = read_from(select, context)
        pairs: list[Pair] = []
        by_unit = False
        given = select.args.get("where")
        for part in chain(given.this) if given is not None else ():
            sides = self._split(part, scope)
            if sides is None:
                right = Filter(below=right, condition=Expressions(scope).condition(part, "WHERE"))
            elif self.scope.unit(sides[0]) and scope.unit(sides[1]):
                by_unit = True
            else:
                pairs.append((Expressions(self.scope).lower(sides[0]), Expressions(scope).lower(sides[1])))
        if right.private and not by_unit:
            raise self._owners(node)
        return self._matched("exists", node, right, pairs)

    def _split(self, part: exp.Expr, scope: Scope) -> tuple[exp.Expr, exp.Expr] | None:
        """The two sides of an equality of an outer value with an inner one; None where all is inside."""
        if not any(self._outer(column, scope) for column in part.find_all(exp.Column)):
            return None
        plain = part.unnest()
        if type(plain) is exp.EQ:
            for one, two in ((plain.this, plain.expression), (plain.expression, plain.this)):
                outside = [self._outer(column, scope) for column in one.find_all(exp.Column)]
                inside = [self._outer(column, scope) for column in two.find_all(exp.Column)]
                if outside and all(outside) and inside and not any(inside):
                    return one, two
        raise refused(
            f"{shown(part)} in EXISTS", "an outer row is matched by equal keys alone", "write a.key = b.key", at=part
        )

    def _outer(self, column: exp.Column, scope: Scope) -> bool:
        table = column.args.get("table")
        if table is not None:
            return all(relation.alias.casefold() != table.name.casefold() for relation in scope.relations)
        return not any(relation.find(column.name) for relation in scope.relations)

    def _matched(self, kind: str, node: exp.Expr, right: Node, pairs: list[Pair]) -> Expression:
        left = self.node
        if is_released(right) or is_released(left):
            raise refused(shown(node), "released tables are joined, not looked up", "join them", at=node)
        if not left.private:
            raise refused(shown(node), "rows of public tables would be chosen by private ones", BY_UNIT, at=node)
        for one, two in pairs:
            kinds = {one.facts.type, two.facts.type}
            if len(kinds) > 1 and not all(each.numeric for each in kinds):
                raise refused(shown(node), f"it compares {' with '.join(sorted(kinds))}", "CAST one of them", at=node)
        on = list(pairs)
        if right.private:
            if left.unit is None or right.unit is None:
                raise self._owners(node)
            units = [Column(name=side.unit, facts=side.schema[side.unit]) for side in (left, right) if side.unit]
            on.insert(0, (units[0], units[1]))
        name = self.context.names.column("match", self.context.names.relation())
        made = Match(kind="in" if kind == "in" else "exists", name=name, left=left, right=right, on=tuple(on))
        self.node = made
        return Column(name=name, facts=made.schema[name])

    def _owners(self, node: exp.Expr) -> Exception:
        return refused(
            f"the subquery in {shown(node)}", "other people's rows would decide about a row", BY_UNIT, at=node
        )
