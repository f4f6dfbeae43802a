"""Conditions moved down to the rows that they are about, so that joins get fewer, and engines can guess how many.

What a condition says of one side of an inner join is asked of that side, and so is what the left side of a left join is
asked. The rest stays where it was: what is said of both sides, and of the side that a left join fills with NULL. Where
each way of an OR names texts that a column may be, they are asked for besides: then its domain need not be. A side that
is matched once is looked at whole, since which keys are there twice follows from all of its rows.

A condition only picks rows, and none follows from which others are picked: rows of a join are pairs, and it is alike
whether their sides were picked before or after. So the rows are the same.
"""

from collections.abc import Callable, Iterable, Iterator, Set
from dataclasses import replace
from functools import reduce

from tacit.plan.combined import Levels, Match, Stack, UnitWindows
from tacit.plan.expression import Call, Column, Constant, Expression, constant
from tacit.plan.facts import Type
from tacit.plan.node import Filter, Group, Join, Node, Project, scans_of
from tacit.plan.operation import canonical_call

__all__ = ["conditions_of", "over", "pushed"]


def over(node: Node, change: Callable[[Node], Node]) -> Node:
    """The node over what `change` makes of each of its inputs."""
    match node:
        case Filter() | Project() | Group() | UnitWindows() | Levels():
            return replace(node, below=change(node.below))
        case Join() | Match():
            return replace(node, left=change(node.left), right=change(node.right))
        case Stack():
            return replace(node, parts=tuple(change(part) for part in node.parts))
    return node


def pushed(node: Node) -> Node:
    """The same rows."""
    if isinstance(node, Join):
        return _matchable(replace(node, left=pushed(node.left), right=pushed(node.right)))
    if not isinstance(node, Filter):
        return over(node, pushed)
    conditions, below = conditions_of(node)
    met = set(_met(below))
    return _filtered(pushed(below), [_without(each, met) for each in conditions])


def _met(node: Node) -> Iterator[tuple[Expression, Expression]]:
    """Numbers that are equal in every row, since rows were joined by them."""
    match node:
        case Filter():
            yield from _met(node.below)
        case Match():
            yield from _met(node.left)
        case Join():
            yield from _met(node.left)
            if node.kind == "inner":
                yield from _met(node.right)
                for one, two in node.on:
                    if one.facts.type.numeric and two.facts.type.numeric and not _of_units(node, one, two):
                        yield from ((one, two), (two, one))


def _of_units(node: Join, one: Expression, two: Expression) -> bool:
    """Whether keys are those of units, which are compared in another form."""
    both = isinstance(one, Column) and isinstance(two, Column) and node.left.private and node.right.private
    return both and (one.name, two.name) == (node.left.unit, node.right.unit)  # type: ignore[attr-defined]  # columns


def _without(condition: Expression, met: Set[tuple[Expression, ...]]) -> Expression:
    """The condition without what is met already."""
    if not isinstance(condition, Call):
        return condition
    if condition.operation == "eq" and condition.arguments in met:
        return constant(True)
    if condition.operation not in ("and", "or"):
        return condition
    return replace(condition, arguments=tuple(_without(each, met) for each in condition.arguments))


def _matchable(node: Join) -> Node:
    """Of an inner join on whole numbers, the rows with keys that are there: others match nothing. Units are compared by
    themselves, and may be there where their number is none."""
    if node.kind != "inner":
        return node
    found: Node = node
    for one, two in node.on[1:] if node.along is not None else node.on:
        if not isinstance(one, Column) or not isinstance(two, Column):
            continue
        if not _of_units(node, one, two) and one.facts.type is two.facts.type is Type.INTEGER:
            for key in (one, two):
                if key.facts.nullable:
                    found = _given(found, canonical_call("is_not_null", key))[0]
    return found


def conditions_of(node: Node) -> tuple[tuple[Expression, ...], Node]:
    """All conditions of the filters on top of a node, and the node."""
    found: list[Expression] = []
    while isinstance(node, Filter):
        found[:0] = _parts(node.condition)
        node = node.below
    return tuple(found), node


def _parts(condition: Expression) -> Iterator[Expression]:
    if isinstance(condition, Call) and condition.operation == "and":
        for part in condition.arguments:
            yield from _parts(part)
    else:
        yield condition


def _filtered(node: Node, conditions: Iterable[Expression]) -> Node:
    kept = []
    for condition in conditions:
        node, settled = _given(node, condition)
        if not settled:
            kept.append(condition)
    return reduce(lambda below, condition: Filter(below=below, condition=condition), kept, node)


def _given(node: Node, condition: Expression) -> tuple[Node, bool]:
    """The node with as much of the condition as can be asked below, and whether that is all of it."""
    names = {part.name for part in condition.walk() if isinstance(part, Column)}
    match node:
        case Join():
            return _given_to_join(node, condition, names)
        case Match() if node.name not in names:
            return replace(node, left=_filtered(node.left, [condition])), True
        case Filter():
            below, settled = _given(node.below, condition)
            node = replace(node, below=below)
            return (node if settled else Filter(below=node, condition=condition)), True
    return Filter(below=node, condition=condition), True


def _given_to_join(node: Join, condition: Expression, names: set[str]) -> tuple[Node, bool]:
    takes_right = node.kind == "inner" and not node.unique
    left = _asked_of(node, node.left, node.along == "left")
    right = _asked_of(node, node.right, node.along == "right") if takes_right else frozenset()
    if names and names <= left:
        return replace(node, left=_filtered(node.left, [condition])), True
    if names and names <= right:
        return replace(node, right=_filtered(node.right, [condition])), True
    found: Node = node
    if isinstance(condition, Call) and condition.operation == "or":
        for column in dict.fromkeys(part for part in condition.walk() if isinstance(part, Column)):
            texts = _texts(condition, column)
            if texts:
                found = _given(found, canonical_call("in", column, *texts))[0]
    return found, False


def _texts(condition: Expression, column: Column) -> tuple[Constant, ...]:
    """What a text is one of wherever the condition is true; nothing where that is not known."""
    if not isinstance(condition, Call):
        return ()
    parts = condition.arguments
    match condition.operation:
        case "and":
            return next(filter(None, (_texts(part, column) for part in parts)), ())
        case "or":
            ways = [_texts(part, column) for part in parts]
            return tuple(dict.fromkeys(text for way in ways for text in way)) if all(ways) else ()
        case "eq" | "in" if column in parts[:1] and column.facts.type is Type.TEXT:
            texts = tuple(part for part in parts[1:] if isinstance(part, Constant) and part.value is not None)
            return texts if len(texts) == len(parts) - 1 else ()
    return ()


def _asked_of(node: Join, side: Node, linked: bool) -> frozenset[str]:
    """The columns of a side. One that has its units from the other has none itself."""
    lost = {scan.unit for scan in scans_of(side) if scan.private} if linked else set()
    return frozenset(side.schema.keys() - lost)
