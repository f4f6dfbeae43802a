"""Columns that nothing uses are not read."""

from collections.abc import Iterable
from dataclasses import replace

from tacit.plan.expression import Column, Expression
from tacit.plan.node import Filter, Group, Join, Node, Project, Scan

__all__ = ["prune", "used"]


def used(expressions: Iterable[Expression | None]) -> set[str]:
    """The columns that expressions name."""
    found = set()
    for expression in expressions:
        if expression is not None:
            found |= {part.name for part in expression.walk() if isinstance(part, Column)}
    return found


def prune(node: Node, needed: set[str]) -> Node:
    """The same rows with the needed columns, and with the unit."""
    match node:
        case Scan():
            keep = tuple(s for s in node.columns if s.name in needed or s.name == node.unit_name)
            return replace(node, columns=keep or node.columns[:1])
        case Filter():
            return replace(node, below=prune(node.below, needed | used([node.condition])))
        case Project():
            columns = tuple((name, value) for name, value in node.columns if name in needed)
            if all(isinstance(value, Column) and value.name == name for name, value in columns):
                return prune(node.below, needed)
            return replace(node, columns=columns, below=prune(node.below, used(value for _, value in columns)))
        case Group():
            kept = tuple(aggregate for aggregate in node.aggregates if aggregate.name in needed)
            below = used([*(value for _, value in node.keys), *(aggregate.argument for aggregate in kept)])
            return replace(node, aggregates=kept, below=prune(node.below, below))
        case Join():
            left = needed | used(a for a, _ in node.on)
            right = needed | used(b for _, b in node.on)
            return replace(node, left=prune(node.left, left), right=prune(node.right, right))
    raise AssertionError(f"no rule for {type(node).__name__}")
