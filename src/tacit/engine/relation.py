"""A tree of relations as nested SELECTs: its columns under their names in the plan, and the unit beside them.

Aggregates over the rows of one unit inside a subquery are exact (sums.py).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Literal

from tacit.base import InputError
from tacit.engine.combined import levels_sql, match_sql, stack_sql, unit_windows_sql
from tacit.engine.dialect import Dialect
from tacit.engine.expression import expression_sql
from tacit.engine.keys import KEY, equal_sql, once_sql
from tacit.engine.owner import OWNER_KEY, unit_kinds
from tacit.engine.push import conditions_of
from tacit.engine.scan import RAW_COPY, UNIT, WHOLE_COPY, clamped, compared_columns, copies, scan_sql
from tacit.engine.stored import stored_condition, unclamped
from tacit.engine.sums import mean_sql, sum_sql, within_facts, zeroless_sql
from tacit.engine.unit import StoredTable, UnitKind
from tacit.plan.combined import Levels, Match, Stack, UnitWindows
from tacit.plan.expression import Call, Column, Expression
from tacit.plan.facts import Type
from tacit.plan.node import Filter, Group, Join, Node, Project, Scan, SubAggregate

__all__ = ["columns_of", "has_unit", "relation_sql", "scanned"]


def has_unit(node: Node) -> bool:
    """Whether rows name their unit; else each row is a unit of its own."""
    return node.private and node.unit is not None


def relation_sql(node: Node, dialect: Dialect, tables: Mapping[str, StoredTable], *, unowned: bool = False) -> str:
    """The SELECT that makes the rows of `node`; `unowned` without their units, which another side of a join has."""
    _check_names(node)
    match node:
        case Scan():
            return scan_sql(node, dialect, tables, unowned=unowned)
        case Filter():
            return _filter(node, dialect, tables, unowned=unowned)
        case Join():
            return _join(node, dialect, tables, unowned=unowned)
        case _ if unowned:
            raise InputError(f"a link is not followed through a {type(node).__name__}")
        case Project():
            return _project(node, dialect, tables)
        case Group():
            return _group(node, dialect, tables)
        case Stack():
            _check_kinds(node.parts, tables, dialect)
            return stack_sql(node, dialect, lambda part: relation_sql(part, dialect, tables))
        case Match():
            if node.right.private:
                _check_kinds(node.inputs, tables, dialect)
            return match_sql(node, dialect, lambda part: relation_sql(part, dialect, tables))
        case UnitWindows():
            return unit_windows_sql(node, dialect, lambda part: relation_sql(part, dialect, tables))
        case Levels():
            return levels_sql(node, dialect, lambda part: relation_sql(part, dialect, tables))
        case _:
            raise InputError(f"no engine can run a {type(node).__name__}")


def _check_kinds(nodes: Sequence[Node], tables: Mapping[str, StoredTable], dialect: Dialect) -> None:
    """Units that are compared are of one kind."""
    if len({_kinds(node, tables, dialect) for node in nodes}) > 1:
        raise InputError("units of two kinds are not compared: declare one type for both")


def _filter(node: Filter, dialect: Dialect, tables: Mapping[str, StoredTable], *, unowned: bool) -> str:
    """Of a table, conditions are said where it is read as far as they can be, and the others after that."""
    conditions, below = conditions_of(node)
    if isinstance(below, Scan):
        below, conditions = _there(below, conditions)
        columns = compared_columns(below, dialect, tables)
        said = [stored_condition(each, columns, dialect) for each in conditions]
        first = [each.sql for each in said if each is not None]
        if dialect.any_text:
            below = _within_domain(below, [c for c, each in zip(conditions, said, strict=True) if each and each.exact])
        sql = scan_sql(below, dialect, tables, unowned=unowned, conditions=first)
        conditions = tuple(c for c, each in zip(conditions, said, strict=True) if each is None or not each.exact)
    else:
        sql = relation_sql(below, dialect, tables, unowned=unowned)
    raws = {name.removeprefix(RAW_COPY): name for name in copies(below, dialect) if name.startswith(RAW_COPY)}
    written = [expression_sql(unclamped(each, raws, dialect), dialect) for each in conditions]
    return f"SELECT * FROM ({sql}) AS r WHERE {' AND '.join(written)}" if written else sql


def _within_domain(scan: Scan, exact: Sequence[Expression]) -> Scan:
    """Without the domains of texts of which some are asked for: those are in it."""
    named = {
        each.arguments[0].name
        for each in exact
        if isinstance(each, Call) and each.operation in ("eq", "in") and isinstance(each.arguments[0], Column)
    }
    return _read(scan, {s.name for s in scan.columns if s.name in named and s.facts.type is Type.TEXT}, domain=None)


def _there(scan: Scan, conditions: tuple[Expression, ...]) -> tuple[Scan, tuple[Expression, ...]]:
    """Conditions that a column is not NULL, said by the facts it is read with: rows where it would be are left out."""
    named = {source.name for source in scan.columns if source.canonical is None} - {scan.unit}
    names = {name for each in conditions if (name := _not_null(each)) in named and name is not None}
    return _read(scan, names, nullable=False), tuple(each for each in conditions if _not_null(each) not in names)


def _not_null(condition: Expression) -> str | None:
    """The column of which a condition says just that it is not NULL."""
    if isinstance(condition, Call) and condition.operation == "is_not_null":
        (column,) = condition.arguments
        return column.name if isinstance(column, Column) else None
    return None


def _read(scan: Scan, names: set[str], **facts: object) -> Scan:
    """With other facts of these columns."""
    read = (replace(s, facts=s.facts.but(**facts)) if s.name in names else s for s in scan.columns)
    return replace(scan, columns=tuple(read))


def _project(node: Project, dialect: Dialect, tables: Mapping[str, StoredTable]) -> str:
    columns = [f"{expression_sql(value, dialect)} AS {dialect.identifier(name)}" for name, value in node.columns]
    if has_unit(node):
        columns.append(dialect.identifier(UNIT))
        assert node.unit is not None
        if node.unit not in dict(node.columns):
            columns.append(dialect.identifier(node.unit))
    return f"SELECT {', '.join(columns) or '1 AS one'} FROM ({relation_sql(node.below, dialect, tables)}) AS r"


def _group(node: Group, dialect: Dialect, tables: Mapping[str, StoredTable]) -> str:
    """One row per unit and keys. The unit's own column follows from the unit, so any of its values will do."""
    if not has_unit(node):
        raise InputError("a subquery that groups needs rows that name their unit")
    assert node.unit is not None
    unit, name = dialect.identifier(UNIT), dialect.identifier(node.unit)
    columns = [unit, f"{dialect.extreme('MIN', node.schema[node.unit].type)}({name}) AS {name}"]
    groups = [unit]
    for key, expression in node.keys:
        sql = expression_sql(expression, dialect)
        columns.append(f"{sql} AS {dialect.identifier(key)}")
        groups.append(sql)
    columns += [f"{_aggregate(each, dialect)} AS {dialect.identifier(each.name)}" for each in node.aggregates]
    below = relation_sql(node.below, dialect, tables)
    return f"SELECT {', '.join(columns)} FROM ({below}) AS r GROUP BY {', '.join(groups)}"


def _aggregate(aggregate: SubAggregate, dialect: Dialect) -> str:
    if aggregate.argument is None and aggregate.function != "count":
        raise InputError(f"{aggregate.function} in a subquery needs an argument")
    value = "*" if aggregate.argument is None else expression_sql(aggregate.argument, dialect)
    if aggregate.function in ("min", "max"):
        return f"{dialect.extreme(aggregate.function.upper(), aggregate.facts.type)}({value})"
    if aggregate.argument is None or aggregate.function == "count":
        found = dialect.to_double(f"COUNT({value})")
    elif aggregate.function == "count_distinct":
        found = dialect.to_double(f"COUNT(DISTINCT {zeroless_sql(value, aggregate.argument, dialect)})")
    else:
        made = mean_sql if aggregate.function == "avg" else sum_sql
        found = made(value, aggregate.argument.facts, dialect)
    return within_facts(found, aggregate.facts, dialect)


def _owning(node: Join) -> Literal["left", "right"]:
    """The side that says whose the joined rows are."""
    if node.along is not None:
        return "right" if node.along == "left" else "left"
    return "left" if node.left.private else "right"


def _linked_join(node: Join, dialect: Dialect, tables: Mapping[str, StoredTable], *, unowned: bool) -> str:
    """A join along a link. The first pair of keys is the link itself, so the units need no comparison."""
    linked, owner = ("l", "r") if node.along == "left" else ("r", "l")
    below, other = (node.left, node.right) if node.along == "left" else (node.right, node.left)
    if not (has_unit(below) and has_unit(other)) or node.unique or not node.on:
        raise InputError("a join along a link is of two private tables, one of which has its units from the other")
    if node.kind == "left" and node.along == "left":
        raise InputError("rows that a join keeps without a match have no unit there: they cannot be the linked ones")
    if unit_kinds(owning_scan(below), tables, dialect) != unit_kinds(owning_scan(other), tables, dialect):
        raise InputError("units of two kinds are not compared: declare one type for both")
    name, lost = dialect.identifier, _unit_names(below)
    left_out = lost | _unit_names(other) if unowned else lost
    columns = [
        f"{side}.{name(column)}"
        for side, part in (("l", node.left), ("r", node.right))
        for column in (*part.schema, *copies(part, dialect))
        if column not in left_out
    ]
    if not unowned:
        assert other.unit is not None
        columns += [f"{owner}.{name(other.unit)} AS {name(unit)}" for unit in sorted(lost)]
        columns.append(f"{owner}.{name(UNIT)}")
    made = {
        linked: relation_sql(below, dialect, tables, unowned=True),
        owner: relation_sql(other, dialect, tables, unowned=unowned),
    }
    condition = " AND ".join(equal_sql(node, a, b, dialect) for a, b in node.on)
    kind = "LEFT" if node.kind == "left" else "INNER"
    chosen = ", ".join(columns) or "1 AS one"
    return f"SELECT {chosen} FROM ({made['l']}) AS l {kind} JOIN ({made['r']}) AS r ON {condition}"


def _unit_names(node: Node) -> set[str]:
    """The columns that name units, of all tables below."""
    return {at.unit for at in _walk(node) if isinstance(at, Scan) and at.private and at.unit is not None}


def owning_scan(node: Node) -> Scan:
    """The table whose unit, or whose link to one, says whose the rows are."""
    match node:
        case Scan() if has_unit(node):
            return node
        case Filter() | Project() | Group() | UnitWindows() | Levels():
            return owning_scan(node.below)
        case Join():
            return owning_scan(node.left if _owning(node) == "left" else node.right)
        case Match():
            return owning_scan(node.left)
        case Stack():
            return owning_scan(node.parts[0])  # all of one kind
    raise InputError("these rows do not name their unit")


def _join(node: Join, dialect: Dialect, tables: Mapping[str, StoredTable], *, unowned: bool) -> str:
    if node.along is not None:
        return _linked_join(node, dialect, tables, unowned=unowned)
    unit = dialect.identifier(UNIT)
    if unowned and node.left.private and node.right.private:
        raise InputError("a link is not followed through a join by units")
    both = has_unit(node.left) and has_unit(node.right)
    if node.left.private and node.right.private and not both:
        raise InputError("two private tables are joined by their units, and one of these has none")
    if both and not any(_units(node, left, right) for left, right in node.on):
        raise InputError("two private tables are joined by their units, and these are not")
    if both and _kinds(node.left, tables, dialect) != _kinds(node.right, tables, dialect):
        raise InputError("units of two kinds are not compared: declare one type for both")
    conditions = [
        f"l.{unit} = r.{unit}" if _units(node, left, right) else equal_sql(node, left, right, dialect)
        for left, right in node.on
    ]
    columns = [
        f"{side}.{dialect.identifier(name)}"
        for side, below in (("l", node.left), ("r", node.right))
        for name in (*below.schema, *copies(below, dialect))
        if not (unowned and name in _unit_names(node))
    ]
    # A public row that no private one matches belongs to nobody and is left out.
    kind = "LEFT" if node.kind == "left" and (node.left.private or not node.right.private) else "INNER"
    if has_unit(node) and not unowned:
        columns.append(f"{'l' if node.left.private else 'r'}.{unit}")
    left, right = (
        relation_sql(side, dialect, tables, unowned=unowned and side.private) for side in (node.left, node.right)
    )
    if node.unique:
        right = once_sql(node, right, dialect)
    return (
        f"SELECT {', '.join(columns)} FROM ({left}) AS l {kind} JOIN ({right}) AS r "
        f"ON {' AND '.join(conditions) or 'TRUE'}"
    )


def _kinds(node: Node, tables: Mapping[str, StoredTable], dialect: Dialect) -> tuple[UnitKind, ...]:
    """What the units of some rows are compared as."""
    return unit_kinds(owning_scan(node), tables, dialect)


def _units(node: Join, left: Expression, right: Expression) -> bool:
    """Whether a pair of keys is the pair of units, which are compared in their canonical form."""
    return (
        has_unit(node.left)
        and has_unit(node.right)
        and isinstance(left, Column)
        and isinstance(right, Column)
        and (left.name, right.name) == (node.left.unit, node.right.unit)
    )


def scanned(node: Node) -> Mapping[str, tuple[Fraction, Fraction]]:
    """Columns that are read from a table and clamped there: their ranges hold to the last bit."""
    read: dict[str, tuple[Fraction, Fraction]] = {}
    made: set[str] = set()
    for at in _walk(node):
        match at:
            case Scan():
                for source in at.columns:
                    facts = source.facts
                    if clamped(facts):
                        read[source.name] = Fraction(facts.low), Fraction(facts.high)  # type: ignore[arg-type]  # numbers
            case Project():
                made |= {name for name, value in at.columns if not (isinstance(value, Column) and value.name == name)}
            case Group():
                made |= {name for name, _ in at.keys} | {aggregate.name for aggregate in at.aggregates}
                made |= {at.unit} if at.unit is not None else set()
    return {name: ends for name, ends in read.items() if name not in made}


def columns_of(node: Node) -> dict[str, set[str]]:
    """The tables that are read, each with the stored columns that are read of it."""
    found: dict[str, set[str]] = {}
    for at in _walk(node):
        if isinstance(at, Scan):
            found.setdefault(at.table, set()).update(source.column for source in at.columns)
            for table, column, _ in at.path.reads(at.table) if at.path is not None else ():
                found.setdefault(table, set()).add(column)
    return found


def _walk(node: Node) -> Iterator[Node]:
    yield node
    for below in node.inputs:
        yield from _walk(below)


def _check_names(node: Node) -> None:
    """Engines do not tell Ward from ward, so a plan must not need them to."""
    names = [name.casefold() for name in node.schema]
    ours = any(name in (UNIT, OWNER_KEY) or name.startswith((WHOLE_COPY, RAW_COPY, KEY)) for name in names)
    if ours or len(set(names)) < len(names):
        raise InputError("the columns of a relation need names that differ in more than upper and lower case")
