"""Joins along declared links: what the keys of a join say of the units of its two sides.

Where a linked column equals the key that its link leads to, both rows are the same unit's. So are two rows whose
columns stand for the same key. Such a join need not name the unit, and where one side is linked to the other it has its
units from there: nothing is looked up a second time.
"""

from dataclasses import replace
from typing import Literal

from tacit.plan.expression import Column, Expression
from tacit.plan.facts import Facts, Type
from tacit.plan.node import Filter, Join, Node, Scan, Source, scans_of
from tacit.plan.owner import CanonicalForm
from tacit.sql.catalog import Catalog

__all__ = ["implied", "linked_join"]

Pair = tuple[Expression, Expression]
Side = Literal["left", "right"]


def implied(left: Node, right: Node, pairs: tuple[Pair, ...], catalog: Catalog) -> bool:
    """Whether one of the keys says that both rows are one unit's."""
    for a, b in pairs:
        ends = [_stands_for(value, side, catalog) for value, side in ((a, left), (b, right))]
        if ends[0] is not None and ends[0] == ends[1]:
            return True
    return False


def _stands_for(value: Expression, node: Node, catalog: Catalog) -> tuple[str, str] | None:
    found = _stored(value, node)
    return None if found is None or not found[0].private else catalog.link_key(found[0].table, found[1].column)


def _stored(value: Expression, node: Node) -> tuple[Scan, Source] | None:
    """The table and the column that a value was read from, as it is."""
    if not isinstance(value, Column):
        return None
    return next(((scan, s) for scan in scans_of(node) for s in scan.columns if s.name == value.name), None)


def linked_join(left: Node, right: Node, pairs: tuple[Pair, ...], kind: Literal["inner", "left"]) -> Join | None:
    """The join along a link from one side to the other; None where there is none that can be followed.

    A linked side that is kept is not: its rows without a match would lose their unit.
    """
    for place, (a, b) in enumerate(pairs):
        one, two = _stored(a, left), _stored(b, right)
        if one is None or two is None:
            continue
        sides: tuple[Side, ...] = ("left", "right") if kind == "inner" else ("right",)
        for side in sides:
            (scan, column), (target, key) = (one, two) if side == "left" else (two, one)
            if not _leads(scan, column, target, key) or _owner(left if side == "left" else right) is not scan:
                continue
            assert scan.path is not None
            link = scan.path.links[0]
            linked, owner = _form(column, link.column_type), _form(key, link.key_type)
            names = (linked, owner) if side == "left" else (owner, linked)
            made = _reading(left, names[0], one[1]), _reading(right, names[1], two[1])
            if made[0] is None or made[1] is None:
                continue
            first = (Column(name=names[0].name, facts=names[0].facts), Column(name=names[1].name, facts=names[1].facts))
            rest = (*pairs[:place], *pairs[place + 1 :])
            return Join(kind=kind, left=made[0], right=made[1], on=(first, *rest), along=side)
    return None


def _leads(scan: Scan, column: Source, target: Scan, key: Source) -> bool:
    if scan.path is None or not scan.path.links or not target.private or target.unit is None:
        return False
    link = scan.path.links[0]
    return (link.column, link.table, link.key) == (column.column, target.table, key.column)


def _owner(node: Node) -> Scan | None:
    """The linked table whose link says whose all these rows are, where nothing else is needed to follow it."""
    match node:
        case Scan():
            return node if node.path is not None and node.path.links else None
        case Filter():
            return _owner(node.below)
        case Join() if node.along is not None:
            return _owner(node.right if node.along == "left" else node.left)
        case Join() if node.left.private is not node.right.private:
            return _owner(node.left if node.left.private else node.right)
    return None


def _form(source: Source, declared: Type | None) -> Source:
    """The same column once more, as links compare it: bounds and domains do not change it."""
    facts = Facts(type=declared or Type.TEXT)
    return Source(name=f"{source.name}_key", column=source.column, facts=facts, canonical=CanonicalForm(type=declared))


def _reading(node: Node, more: Source, beside: Source) -> Node | None:
    """The same rows with one more column, read from the table that has `beside`; None where it would not come up."""
    match node:
        case Scan():
            if beside not in node.columns:
                return None
            return node if more in node.columns else replace(node, columns=(*node.columns, more))
        case Filter():
            below = _reading(node.below, more, beside)
            return None if below is None else replace(node, below=below)
        case Join():
            left, right = (_reading(side, more, beside) for side in (node.left, node.right))
            if left is None and right is None:
                return None
            return replace(node, left=left or node.left, right=right or node.right)
    return None
