"""Window functions over private rows: within the rows of one unit, so that no other unit's rows matter."""

from sqlglot import exp

from tacit.base import RefusalKind
from tacit.plan.combined import UnitWindows
from tacit.plan.expression import Column
from tacit.plan.node import Node
from tacit.sql.allow import MISPLACED
from tacit.sql.expressions import Expressions
from tacit.sql.mistake import refused, shown
from tacit.sql.scope import Context, Scope
from tacit.sql.unit_facts import OwnBounds
from tacit.sql.windows import WindowCalls, windows_named

__all__ = ["OwnWindows"]

BY_UNIT = "add the unit, as in OVER (PARTITION BY unit ORDER BY …)"


class OwnWindows:
    """The windows of one subquery over private rows."""

    def __init__(self, select: exp.Select, node: Node, scope: Scope, context: Context) -> None:
        self.node, self.scope = node, scope
        number = context.names.relation()
        self.calls = WindowCalls(
            rows=Expressions(scope),
            name=lambda: context.names.column("window", number),
            named=windows_named(select),
            facts=OwnBounds.of(node, context.catalog).window,
        )

    def special(self, node: exp.Expr) -> Column | None:
        """What stands for a window; None for all else."""
        return self.one(node) if type(node) is exp.Window else None

    def one(self, node: exp.Expr) -> Column:
        """What stands for a window."""
        by = self.calls.over(node).args.get("partition_by") or []
        if self.node.unit is None or not self.scope.units(by):
            reason = MISPLACED["Window"]
            raise refused(reason.what, reason.why, BY_UNIT, at=node)
        made = self.calls.one(node, partition=[each for each in by if not self.scope.unit(each)])
        call = next(each for each in self.calls.found if each.name == made.name)
        ends = {"first_value": call.frame.first, "last_value": call.frame.last}
        if call.frame.peers and ends.get(call.function) is not None:
            why = "which of the rows that stand equal is meant is not said"
            raise refused(shown(node), why, "write ROWS BETWEEN …", RefusalKind.UNSUPPORTED, at=node)
        return made

    def over(self, node: Node) -> Node:
        """The rows with the windows that were found."""
        return UnitWindows(below=node, calls=tuple(self.calls.found)) if self.calls.found else node
