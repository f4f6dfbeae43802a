"""Plans without the columns that nothing is made of."""

from collections.abc import Iterable
from dataclasses import replace

from tacit.plan.combined import Levels, Match, Stack, UnitWindows
from tacit.plan.expression import Column, Expression
from tacit.plan.node import Filter, Group, Join, Node, Project, Scan

__all__ = ["prune", "used"]


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
        case Match():
            if node.name not in needed:
                return prune(node.left, needed)
            left, right = ({*used(pair[side] for pair in node.on)} for side in (0, 1))
            return replace(node, left=prune(node.left, needed | left), right=prune(node.right, right))
        case Stack():
            stacked = tuple(each for each in node.columns if each.name in needed)
            below = [{each.sources[place] for each in stacked} for place in range(len(node.parts))]
            parts = tuple(prune(part, names) for part, names in zip(node.parts, below, strict=True))
            return replace(node, parts=parts, columns=stacked)
        case UnitWindows():
            calls = tuple(call for call in node.calls if call.name in needed)
            if not calls:
                return prune(node.below, needed)
            fewer_calls = replace(node, calls=calls)
            return replace(fewer_calls, below=prune(node.below, needed | used(fewer_calls.expressions)))
        case Levels():
            return replace(node, below=prune(node.below, needed | used(node.expressions)))
    raise AssertionError(f"no rule for {type(node).__name__}")
