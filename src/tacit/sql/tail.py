"""What comes last in every SELECT over released rows: windows, QUALIFY, ORDER BY, the list, DISTINCT, LIMIT."""

from dataclasses import dataclass

from tacit.plan.expression import Column, Expression
from tacit.plan.node import Filter, Node, Project
from tacit.plan.released import DistinctRows, Page, Windows, beside
from tacit.plan.window import Order, WindowCall

__all__ = ["Tail"]


@dataclass(frozen=True, kw_only=True)
class Tail:
    """In the order of SQL. `output` is under the names that the analyst gave."""

    scalars: tuple[Node, ...] = ()
    having: Expression | None = None  # where it needs one of them
    windows: tuple[WindowCall, ...] = ()
    qualify: Expression | None = None
    order: tuple[Order, ...] = ()
    output: tuple[tuple[str, Expression], ...]
    distinct: bool = False
    limit: int | None = None
    offset: int = 0

    def over(self, node: Node, names: tuple[str, ...] | None = None) -> Node:
        """The rows that it makes of `node`, under the names of the output or under others."""
        node = beside(node, self.scalars)
        if self.having is not None:
            node = Filter(below=node, condition=self.having)
        if self.windows:
            node = Windows(below=node, calls=self.windows)
        if self.qualify is not None:
            node = Filter(below=node, condition=self.qualify)
        if self.order:
            node = Page(below=node, order=self.order)
        columns = tuple(zip(names or [name for name, _ in self.output], [v for _, v in self.output], strict=True))
        node = Project(below=node, columns=columns)
        if self.distinct:
            node = DistinctRows(below=node)
        if self.limit is not None or self.offset:
            node = Page(below=node, limit=self.limit, offset=self.offset)
        return node

    def columns(self, names: tuple[str, ...]) -> tuple[Column, ...]:
        """What stands for its output under these names."""
        return tuple(Column(name=name, facts=value.facts) for name, (_, value) in zip(names, self.output, strict=True))
