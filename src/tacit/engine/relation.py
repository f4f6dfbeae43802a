"""A tree of relations as nested SELECTs: its columns under their names in the plan, and the unit beside them."""

from collections.abc import Iterator, Mapping
from fractions import Fraction

from tacit.base import InputError
from tacit.engine.dialect import Dialect, double_sql, identifier
from tacit.engine.expression import expression_sql
from tacit.engine.scan import RAW, UNIT, WHOLE, clamped, native_type, raw_name, scan_sql, unit_name, whole_name
from tacit.engine.subaggregate import subaggregate_sql
from tacit.engine.unit import Stored, UnitKind, unit_kind
from tacit.plan.expression import Column, Expression
from tacit.plan.facts import Facts, Type
from tacit.plan.node import Filter, Group, Join, Node, Project, Scan

__all__ = ["columns_of", "has_unit", "raws", "relation_sql", "scanned", "tables_of", "wholes"]


KEY = "tacit key "


def has_unit(node: Node) -> bool:
    """Whether rows name their unit; else each row is a unit of its own."""
    return node.private and node.unit is not None


def relation_sql(node: Node, dialect: Dialect, tables: Mapping[str, Stored]) -> str:
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
        case _:
            raise InputError(f"no engine can run a {type(node).__name__}")


def _project(node: Project, dialect: Dialect, tables: Mapping[str, Stored]) -> str:
    columns = [f"{expression_sql(value, dialect)} AS {identifier(name, dialect)}" for name, value in node.columns]
    if has_unit(node):
        columns.append(unit_name(dialect))
        assert node.unit is not None
        if node.unit not in dict(node.columns):
            columns.append(identifier(node.unit, dialect))
    return f"SELECT {', '.join(columns) or '1 AS one'} FROM ({relation_sql(node.below, dialect, tables)}) AS r"


def _group(node: Group, dialect: Dialect, tables: Mapping[str, Stored]) -> str:
    """One row per unit and keys. The unit's own column follows from the unit, so any of its values will do."""
    if not has_unit(node):
        raise InputError("a subquery that groups needs rows that name their unit")
    assert node.unit is not None
    unit, name = unit_name(dialect), identifier(node.unit, dialect)
    columns = [unit, f"{_least(node.schema[node.unit], dialect)}({name}) AS {name}"]
    groups = [unit]
    for key, expression in node.keys:
        sql = expression_sql(expression, dialect)
        columns.append(f"{sql} AS {identifier(key, dialect)}")
        groups.append(sql)
    columns += [
        f"{subaggregate_sql(aggregate, dialect)} AS {identifier(aggregate.name, dialect)}"
        for aggregate in node.aggregates
    ]
    below = relation_sql(node.below, dialect, tables)
    return f"SELECT {', '.join(columns)} FROM ({below}) AS r GROUP BY {', '.join(groups)}"


def _join(node: Join, dialect: Dialect, tables: Mapping[str, Stored]) -> str:
    unit = unit_name(dialect)
    both = has_unit(node.left) and has_unit(node.right)
    if node.left.private and node.right.private and not both:
        raise InputError("two private tables are joined by their units, and one of these has none")
    if both and not any(_units(node, left, right) for left, right in node.on):
        raise InputError("two private tables are joined by their units, and these are not")
    if both and _kind(node.left, tables) is not _kind(node.right, tables):
        raise InputError("units of two kinds are not compared: declare one type for both")
    conditions = [
        f"l.{unit} = r.{unit}"
        if _units(node, left, right)
        else f"{expression_sql(left, dialect)} = {expression_sql(right, dialect)}"
        for left, right in node.on
    ]
    columns = [f"l.{identifier(name, dialect)}" for name in node.left.schema]
    columns += [f"r.{identifier(name, dialect)}" for name in node.right.schema]
    columns += [f"l.{whole_name(name, dialect)}" for name in wholes(node.left, dialect)]
    columns += [f"r.{whole_name(name, dialect)}" for name in wholes(node.right, dialect)]
    columns += [f"l.{raw_name(name, dialect)}" for name in raws(node.left, dialect)]
    columns += [f"r.{raw_name(name, dialect)}" for name in raws(node.right, dialect)]
    # A public row that no private one matches belongs to nobody and is left out.
    kind = "LEFT" if node.kind == "left" and (node.left.private or not node.right.private) else "INNER"
    if has_unit(node):
        columns.append(f"{'l' if node.left.private else 'r'}.{unit}")
    left, right = (relation_sql(side, dialect, tables) for side in (node.left, node.right))
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
    names = [identifier(f"{KEY}{i}", dialect) for i in range(len(node.on))]
    keys = []
    for name, (_, key) in zip(names, node.on, strict=True):
        sql = expression_sql(key, dialect)
        keys.append(f"{f'({sql} + {double_sql(0.0, dialect)})' if key.facts.type.numeric else sql} AS {name}")
    columns = []
    for name, facts in node.right.schema.items():
        columns.append(f"{_least(facts, dialect)}({identifier(name, dialect)}) AS {identifier(name, dialect)}")
    beside = [whole_name(name, dialect) for name in wholes(node.right, dialect)]
    beside += [raw_name(name, dialect) for name in raws(node.right, dialect)]
    columns += [f"MIN({name}) AS {name}" for name in beside]
    keyed = f"SELECT *, {', '.join(keys)} FROM ({right}) AS p"
    return f"SELECT {', '.join(columns)} FROM ({keyed}) AS o GROUP BY {', '.join(names)} HAVING COUNT(*) = 1"


def _least(facts: Facts, dialect: Dialect) -> str:
    """The aggregate that gives the one value of some rows which all have it."""
    return "BOOL_AND" if facts.type is Type.BOOLEAN and dialect == "postgres" else "MIN"


def _kind(node: Node, tables: Mapping[str, Stored]) -> UnitKind:
    """What the units of some rows are compared as."""
    for at in _walk(node):
        if isinstance(at, Scan) and has_unit(at):
            source = next(source for source in at.columns if source.name == at.unit)
            return unit_kind(at.unit_type, native_type(tables[at.table], source))
    raise InputError("these rows do not name their unit")


def _units(node: Join, left: Expression, right: Expression) -> bool:
    """Whether a pair of keys is the pair of units, which are compared in their canonical form."""
    return (
        has_unit(node.left)
        and has_unit(node.right)
        and isinstance(left, Column)
        and isinstance(right, Column)
        and (left.name, right.name) == (node.left.unit, node.right.unit)
    )


def wholes(node: Node, dialect: Dialect) -> tuple[str, ...]:
    """Integer columns that are there a second time, as integers: those of a table that nothing was made of yet."""
    match node:
        case Scan() if dialect == "duckdb":
            return tuple(source.name for source in node.columns if source.facts.type is Type.INTEGER)
        case Filter():
            return wholes(node.below, dialect)
        case Join():
            return (*wholes(node.left, dialect), *wholes(node.right, dialect))
        case _:
            return ()


def raws(node: Node, dialect: Dialect) -> tuple[str, ...]:
    """Bounded numbers that are there a second time, not clamped: those of a table that nothing was made of yet."""
    match node:
        case Scan() if dialect == "duckdb":
            return tuple(source.name for source in node.columns if clamped(source.facts))
        case Filter():
            return raws(node.below, dialect)
        case Join():
            return (*raws(node.left, dialect), *raws(node.right, dialect))
        case _:
            return ()


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


def tables_of(node: Node) -> frozenset[str]:
    """The tables that are read."""
    return frozenset(at.table for at in _walk(node) if isinstance(at, Scan))


def columns_of(node: Node) -> dict[str, set[str]]:
    """The same, each with the stored columns that are read of it."""
    found: dict[str, set[str]] = {}
    for at in _walk(node):
        if isinstance(at, Scan):
            found.setdefault(at.table, set()).update(source.column for source in at.columns)
    return found


def _walk(node: Node) -> Iterator[Node]:
    yield node
    match node:
        case Filter() | Project() | Group():
            yield from _walk(node.below)
        case Join():
            yield from _walk(node.left)
            yield from _walk(node.right)


def _check_names(node: Node) -> None:
    """Engines do not tell Ward from ward, so a plan must not need them to."""
    names = [name.casefold() for name in node.schema]
    if any(name == UNIT or name.startswith((WHOLE, RAW, KEY)) for name in names) or len(set(names)) < len(names):
        raise InputError("the columns of a relation need names that differ in more than upper and lower case")
