"""What must hold of every question that was accepted, checked on the plan alone and without the code that made it."""

from tacit.plan.combined import Levels, Match, Stack, UnitWindows
from tacit.plan.expression import Call, Column, Constant, Expression
from tacit.plan.facts import Facts
from tacit.plan.node import Filter, Group, Join, Node, Project, Scan
from tacit.plan.operation import OPERATIONS
from tacit.plan.question import FUNCTIONS, LoweredQuestion
from tacit.plan.released import ReleasedTable
from tacit.sql import Catalog

__all__ = ["check_sound"]


def check_sound(question: LoweredQuestion, catalog: Catalog) -> None:
    """Assert that rows have one owner, that names are known, and that nothing but declared columns is read."""
    if question.after is not None:
        for node in question.after.walk():
            assert not node.private
            assert isinstance(node, ReleasedTable) or not isinstance(node, Scan)
        for each in question.measured:
            check_sound(each, catalog)
        return
    source = question.source
    assert source.private
    assert not any(isinstance(node, ReleasedTable) for node in source.walk())
    _node(source, catalog)
    for key in question.keys:
        _known(key.expression, source)
        assert not (isinstance(key.expression, Column) and key.expression.name == source.unit)
    for aggregate in question.aggregates:
        assert aggregate.function in FUNCTIONS
        for argument in aggregate.arguments:
            _known(argument, source)
    assert question.aggregates or question.keys
    released = [key.name for key in question.keys] + [aggregate.name for aggregate in question.aggregates]
    assert len(set(released)) == len(released)
    assert not set(released) & _columns(source)
    after = [value for _, value in question.output] + [order.expression for order in question.order]
    for expression in [*after, *([] if question.having is None else [question.having])]:
        _closed(expression)
        assert {part.name for part in expression.walk() if isinstance(part, Column)} <= set(released)
    names = [name for name, _ in question.output]
    assert len({name.casefold() for name in names}) == len(names) >= 1


def _node(node: Node, catalog: Catalog) -> None:
    match node:
        case Scan():
            _scan(node, catalog)
        case Filter():
            _node(node.below, catalog)
            _known(node.condition, node.below)
        case Project():
            _node(node.below, catalog)
            for name, value in node.columns:
                _known(value, node.below)
                assert name != node.unit
        case Group():
            _node(node.below, catalog)
            assert node.private
            assert node.unit is not None
            for part in [*(value for _, value in node.keys), *(a.argument for a in node.aggregates)]:
                if part is not None:
                    _known(part, node.below)
        case Join():
            _join(node, catalog)
        case Match():
            _node(node.left, catalog)
            _node(node.right, catalog)
            assert node.left.private
            for left, right in node.on:
                _known(left, node.left)
                _known(right, node.right)
            keys = [(left.name, right.name) for left, right in node.on if type(left) is type(right) is Column]
            assert not node.right.private or (node.left.unit, node.right.unit) in keys
        case Stack():
            for below in node.parts:
                _node(below, catalog)
                assert below.private
                assert below.unit is not None
                assert below.unit not in {name for each in node.columns for name in each.sources}
        case UnitWindows():
            _node(node.below, catalog)
            assert node.unit is not None
            for value in node.expressions:
                _known(value, node.below)
        case Levels():
            _node(node.below, catalog)
            for _, value in node.keys:
                _known(value, node.below)
                assert not (isinstance(value, Column) and value.name == node.unit)
        case _:
            raise AssertionError(f"unknown node {node}")
    if node.unit is not None:
        assert node.unit in node.schema


def _join(node: Join, catalog: Catalog) -> None:
    _node(node.left, catalog)
    _node(node.right, catalog)
    assert node.on
    assert not node.left.schema.keys() & node.right.schema.keys()
    for left, right in node.on:
        _known(left, node.left)
        _known(right, node.right)
    if node.left.private and node.right.private:
        units = node.left.unit, node.right.unit
        assert None not in units
        pairs = [(a.name, b.name) for a, b in node.on if isinstance(a, Column) and isinstance(b, Column)]
        assert units in pairs
    elif node.left.private or node.right.private:
        assert node.left.private  # so that a left join keeps rows that have an owner
        assert node.left.unit is not None  # and a row that is matched twice is still one unit's


def _scan(node: Scan, catalog: Catalog) -> None:
    table = catalog.tables[node.table]
    assert table.owned
    assert node.is_private == table.private
    assert (node.unit is None) == (table.unit is None)
    for source in node.columns:
        assert source.column not in table.hidden
        if source.name == node.unit:
            assert source.column == table.unit
            assert source.facts == Facts(type=source.facts.type)  # nothing is enforced that could make two units one
        else:
            assert source.facts == table.columns[source.column]


def _known(expression: Expression, node: Node) -> None:
    _closed(expression)
    schema = node.schema
    for part in expression.walk():
        if isinstance(part, Column):
            assert part.facts == schema[part.name]


def _closed(expression: Expression) -> None:
    for part in expression.walk():
        assert isinstance(part, Column | Constant | Call)
        assert not isinstance(part, Call) or part.operation in OPERATIONS


def _columns(node: Node) -> set[str]:
    found = set(node.schema)
    for name in ("below", "left", "right"):
        if hasattr(node, name):
            found |= _columns(getattr(node, name))
    return found
