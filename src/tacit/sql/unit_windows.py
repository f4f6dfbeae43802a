"""Window functions over private rows: within the rows of one unit, so that no other unit's rows matter."""

from sqlglot import exp

from tacit.plan.combined import UnitWindows
from tacit.plan.expression import Expression
from tacit.plan.node import Node
from tacit.plan.window import WindowFrame
from tacit.sql.allow import MISPLACED
from tacit.sql.expressions import Expressions
from tacit.sql.mistake import refused, shown
from tacit.sql.scope import Context, Scope
from tacit.sql.windows import WindowCalls, windows_named

__all__ = ["OwnWindows"]

KNOWN = {"row_number", "rank", "dense_rank", "lag", "lead", "count", "min", "max"}
BY_UNIT = "add the unit, as in OVER (PARTITION BY unit ORDER BY …)"


class OwnWindows:
    """The windows of one subquery over private rows."""

    def __init__(self, select: exp.Select, node: Node, scope: Scope, context: Context) -> None:
        self.node, self.scope = node, scope
        number = context.names.relation()
        self.calls = WindowCalls(
            rows=Expressions(scope), name=lambda: context.names.column("window", number), named=windows_named(select)
        )

    def special(self, node: exp.Expr) -> Expression | None:
        """What stands for a window; None for all else."""
        if type(node) is not exp.Window:
            return None
        by = node.args.get("partition_by") or []
        if self.node.unit is None or not self.scope.units(by):
            reason = MISPLACED["Window"]
            raise refused(reason.what, reason.why, BY_UNIT, at=node)
        plain = node.copy()
        plain.set("partition_by", [each.copy() for each in by if not self.scope.unit(each)])
        made = self.calls.one(plain)
        call = self.calls.found[[each.name for each in self.calls.found].index(made.name)]
        whole = call.frame == WindowFrame() or not call.order
        if call.function not in KNOWN or not whole or (call.function in ("count", "min", "max") and call.order):
            raise refused(
                shown(node),
                "over the rows of a unit there are ROW_NUMBER, RANK, DENSE_RANK, LAG, LEAD, and COUNT, MIN and MAX of "
                "all of them",
                "use one of these, or aggregate by unit in a subquery",
                at=node,
            )
        return made

    def over(self, node: Node) -> Node:
        """The rows with the windows that were found."""
        return UnitWindows(below=node, calls=tuple(self.calls.found)) if self.calls.found else node
