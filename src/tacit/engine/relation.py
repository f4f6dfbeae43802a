"""A tree of relations as nested SELECTs: its columns under their names in the plan, and the unit beside them.

Aggregates over the rows of one unit inside a subquery are exact (sums.py).
"""

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Literal

from tacit.base import InputError
from tacit.engine.combined import levels_sql, match_sql, stack_sql, unit_windows_sql
from tacit.engine.dialect import Dialect
from tacit.engine.expression import expression_sql
from tacit.engine.owner import OWNER_KEY, unit_kinds
from tacit.engine.scan import RAW_COPY, UNIT, WHOLE_COPY, clamped, copied, scan_sql
from tacit.engine.sums import mean_sql, sum_sql, within_facts, zeroless_sql
from tacit.engine.unit import StoredTable, UnitKind
from tacit.plan.combined import Levels, Match, Stack, UnitWindows
from tacit.plan.expression import Column, Expression
from tacit.plan.node import Filter, Group, Join, Node, Project, Scan, SubAggregate

__all__ = ["columns_of", "copies", "has_unit", "relation_sql", "scanned"]

KEY = "tacit key "


def has_unit(node: Node) -> bool:
    """Whether rows name their unit; else each row is a unit of its own."""
    return node.private and node.unit is not None


def relation_sql(node: Node, dialect: Dialect, tables: Mapping[str, StoredTable]) -> str:
    """The SELECT that makes the rows of `node`."""
    _check_names(node)
    match node:
        case Scan():
            return scan_sql(node, dialect, tables)
        case Filter():
            below = relation_sql(node.below, dialect, tables)
            return f"SELECT * FROM ({below}) AS r WHERE {expression_sql(node.condition, dialect)}"
        case Project():
            return _project(node, dialect, tables)
        case Group():
            return _group(node, dialect, tables)
        case Join():
            return _join(node, dialect, tables)
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


def _unowned(node: Node, dialect: Dialect, tables: Mapping[str, StoredTable]) -> str:
    """The rows of the side of a join that has its units from the other: as they are, without a unit."""
    match node:
        case Scan():
            return scan_sql(node, dialect, tables, unowned=True)
        case Filter():
            below = _unowned(node.below, dialect, tables)
            return f"SELECT * FROM ({below}) AS r WHERE {expression_sql(node.condition, dialect)}"
        case Join():
            return _join(node, dialect, tables, unowned=True)
        case _:
            raise InputError(f"a link is not followed through a {type(node).__name__}")


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
        linked: _unowned(below, dialect, tables),
        owner: _unowned(other, dialect, tables) if unowned else relation_sql(other, dialect, tables),
    }
    condition = " AND ".join(f"{expression_sql(a, dialect)} = {expression_sql(b, dialect)}" for a, b in node.on)
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


def _join(node: Join, dialect: Dialect, tables: Mapping[str, StoredTable], *, unowned: bool = False) -> str:
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
        f"l.{unit} = r.{unit}"
        if _units(node, left, right)
        else f"{expression_sql(left, dialect)} = {expression_sql(right, dialect)}"
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
        (_unowned if unowned and side.private else relation_sql)(side, dialect, tables)
        for side in (node.left, node.right)
    )
    if node.unique:
        right = _once(node, right, dialect)
    return (
        f"SELECT {', '.join(columns)} FROM ({left}) AS l {kind} JOIN ({right}) AS r "
        f"ON {' AND '.join(conditions) or 'TRUE'}"
    )


def _once(node: Join, right: str, dialect: Dialect) -> str:
    """The right side without the rows whose keys occur twice, so that no row of the left has two matches.

    Of a group of one row MIN gives that row. Adding zero makes one of the two zeros of doubles, which are equal and
    which a GROUP BY might tell apart.
    """
    if node.right.private:
        raise InputError("only public rows are matched once: a private side has as many as its units do")
    names, keys = [dialect.identifier(f"{KEY}{i}") for i in range(len(node.on))], []
    for name, (_, key) in zip(names, node.on, strict=True):
        sql = expression_sql(key, dialect)
        keys.append(f"{f'({sql} + {dialect.number(0.0)})' if key.facts.type.numeric else sql} AS {name}")
    least = {name: dialect.extreme("MIN", facts.type) for name, facts in node.right.schema.items()}
    least |= dict.fromkeys(copies(node.right, dialect), "MIN")
    columns = [f"{least[name]}({quoted}) AS {quoted}" for name in least for quoted in [dialect.identifier(name)]]
    keyed = f"SELECT *, {', '.join(keys)} FROM ({right}) AS p"
    return f"SELECT {', '.join(columns)} FROM ({keyed}) AS o GROUP BY {', '.join(names)} HAVING COUNT(*) = 1"


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


def copies(node: Node, dialect: Dialect) -> tuple[str, ...]:
    """Columns that are there a second time (see `copied`): those of a table that nothing was made of yet."""
    if isinstance(node, Scan):
        return copied(node, dialect)
    return (
        tuple(name for below in node.inputs for name in copies(below, dialect))
        if isinstance(node, Filter | Join)
        else ()
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
