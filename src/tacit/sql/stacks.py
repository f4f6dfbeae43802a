"""UNION ALL: of private rows over the same units, or of answers."""

from collections.abc import Sequence

from sqlglot import exp

from tacit.base import RefusalKind
from tacit.plan.combined import Stack, StackedColumn
from tacit.plan.expression import Column, Expression
from tacit.plan.facts import Facts, Type
from tacit.plan.released import Appended, is_released
from tacit.sql.mistake import refused, shown
from tacit.sql.scope import Context, Derived, Field

__all__ = ["stacked"]


def stacked(union: exp.Expr, context: Context) -> Derived:
    """The rows of all parts, one after the other; columns go by their place, and are called as in the first."""
    parts = [context.nested(each, context) for each in _selects(union)]
    if all(is_released(part.node) for part in parts):
        return _appended(parts, union, context)
    if any(is_released(part.node) or not part.node.private or part.node.unit is None for part in parts):
        raise refused(
            "UNION ALL of these rows",
            "it is for private rows that name their unit, or for answers alone",
            "ask each part as a question of its own",
            RefusalKind.UNSUPPORTED,
            at=union,
        )
    fields = _fields(parts, union)
    number = context.names.relation()
    columns: list[StackedColumn] = []
    made: list[Field] = []
    for together in zip(*fields, strict=True):
        name = together[0].name
        units = [field.is_unit for field in together]
        values = [field.value for field in together]
        known = [value for value in values if value is not None]
        if len(known) < len(values):
            why = together[0].missing or "the unit is counted, joined on and grouped by after UNION ALL"
            made.append(Field(name=name, value=None, is_unit=all(units), missing=why))
            continue
        own = context.names.column(name, number)
        facts = _both([value.facts for value in known], name, union)
        columns.append(StackedColumn(name=own, facts=facts, sources=tuple(_name(value) for value in known)))
        made.append(Field(name=name, value=Column(name=own, facts=facts), is_unit=all(units)))
    unit = context.names.column("unit", number)
    nodes = tuple(part.node for part in parts)
    return Derived(node=Stack(parts=nodes, columns=tuple(columns), unit_name=unit), fields=tuple(made))


def _fields(parts: Sequence[Derived], union: exp.Expr) -> list[list[Field]]:
    """The columns of each part, as many in all."""
    fields = [[field for field in part.fields if not field.hidden] for part in parts]
    if len({len(each) for each in fields}) != 1:
        why, way = "its parts have different numbers of columns", "select as many in each"
        raise refused("UNION ALL", why, way, RefusalKind.MISTAKE, at=union)
    return fields


def _appended(parts: Sequence[Derived], union: exp.Expr, context: Context) -> Derived:
    """Of answers."""
    number = context.names.relation()
    columns: list[tuple[str, Facts, tuple[str, ...]]] = []
    made: list[Field] = []
    for together in zip(*_fields(parts, union), strict=True):
        values = [field.value for field in together if field.value is not None]
        kinds = {value.facts.type for value in values}
        if len(kinds) > 1 and not all(kind.numeric for kind in kinds):
            what = f'column "{together[0].name}" of UNION ALL'
            raise refused(what, f"it is {' and '.join(sorted(kinds))}", "CAST it", RefusalKind.MISTAKE, at=union)
        facts = Facts(type=kinds.pop() if len(kinds) == 1 else Type.NUMBER)
        name = context.names.column(together[0].name, number)
        columns.append((name, facts, tuple(_name(value) for value in values)))
        made.append(Field(name=together[0].name, value=Column(name=name, facts=facts)))
    node = Appended(parts=tuple(part.node for part in parts), columns=tuple(columns))
    return Derived(node=node, fields=tuple(made))


def _selects(union: exp.Expr) -> list[exp.Select]:
    found: list[exp.Select] = []
    ahead = [union]
    while ahead:
        node = ahead.pop().unnest()
        if isinstance(node, exp.Select):
            found.append(node)
            continue
        if type(node) is not exp.Union or any(node.args.get(name) for name in ("distinct", "order", "limit", "with_")):
            why = "only UNION ALL keeps each row with its one owner"
            raise refused(shown(node), why, "write UNION ALL", RefusalKind.UNSUPPORTED, at=node)
        ahead += [node.expression, node.this]
    return found


def _name(value: Expression) -> str:
    assert isinstance(value, Column)  # as subqueries compute what is not
    return value.name


def _both(facts: Sequence[Facts], name: str, union: exp.Expr) -> Facts:
    """What is true in all parts."""
    kinds = {each.type for each in facts}
    if len(kinds) > 1 and not all(kind.numeric for kind in kinds):
        raise refused(f'column "{name}" of UNION ALL', f"it is {' and '.join(sorted(kinds))}", "CAST it", at=union)
    kind = kinds.pop() if len(kinds) == 1 else Type.NUMBER
    bounded = all(each.bounded for each in facts)
    steps = {each.step for each in facts}
    domain = None
    if all(each.domain is not None for each in facts):
        domain = tuple(dict.fromkeys(value for each in facts for value in each.domain or ()))
    return Facts(
        type=kind,
        low=min(each.low for each in facts) if bounded else None,  # type: ignore[type-var]  # of one type
        high=max(each.high for each in facts) if bounded else None,  # type: ignore[type-var]  # of one type
        step=steps.pop() if len(steps) == 1 else None,
        domain=domain,
        nullable=any(each.nullable for each in facts),
        why=next((each.why for each in facts if each.why), ""),
    )
