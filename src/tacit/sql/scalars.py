"""(SELECT …) as a value beside answers: an answer of one row, joined to them. It is out already, as they are."""

from sqlglot import exp

from tacit.base import RefusalKind
from tacit.plan.expression import Column
from tacit.plan.node import Node
from tacit.plan.released import is_released, rows_of
from tacit.sql.mistake import refused, shown
from tacit.sql.scope import Context

__all__ = ["Scalars"]


class Scalars:
    """The subqueries that stand for values in one SELECT over released rows."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self.found: list[Node] = []
        self.known: dict[exp.Expr, Column] = {}  # by what is written: the same twice is measured once

    def one(self, node: exp.Expr) -> Column | None:
        """What stands for a subquery; None for all else."""
        if type(node) is not exp.Subquery or type(node.unnest()) is not exp.Select:
            return None
        if node not in self.known:
            self.known[node] = self._made(node)
        return self.known[node]

    def _made(self, node: exp.Expr) -> Column:
        derived = self.context.nested(node.unnest(), self.context)
        fields = [field for field in derived.fields if not field.hidden]
        if not is_released(derived.node):
            raise refused(
                f"the subquery {shown(node)} as a value",
                "its rows are people's own",
                "aggregate it, as in (SELECT COUNT(*) FROM …)",
                at=node,
            )
        if rows_of(derived.node) != 1 or len(fields) != 1 or fields[0].value is None:
            raise refused(
                f"the subquery {shown(node)} as a value",
                "a value is one column of one row",
                "leave GROUP BY out, or join with it in FROM",
                RefusalKind.UNSUPPORTED,
                at=node,
            )
        value = fields[0].value
        assert isinstance(value, Column)  # as of every answer
        self.found.append(derived.node)
        return Column(name=value.name, facts=value.facts.but(nullable=True))
