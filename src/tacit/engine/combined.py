"""The SQL of relations that combine others row by row. `below` makes that of what they are made of."""

from collections.abc import Callable

from tacit.base import InputError
from tacit.engine.dialect import Dialect
from tacit.engine.expression import expression_sql
from tacit.engine.scan import UNIT
from tacit.engine.sums import mean_sql, sum_sql, within_facts, zeroless_sql
from tacit.plan.combined import Levels, Match, Stack, UnitWindows
from tacit.plan.expression import Column, Expression
from tacit.plan.node import Node
from tacit.plan.window import FRAMED, Order, WindowCall, WindowFrame

__all__ = ["levels_sql", "match_sql", "stack_sql", "unit_windows_sql"]

MATCH = "tacit match "  # keys of what is matched
Below = Callable[[Node], str]


def stack_sql(node: Stack, dialect: Dialect, below: Below) -> str:
    """One SELECT for each part, with its columns under their common names."""
    selects = []
    for place, part in enumerate(node.parts):
        if not part.private or part.unit is None:
            raise InputError("only rows that name their unit are stacked")
        columns = [dialect.identifier(UNIT), f"{dialect.identifier(part.unit)} AS {dialect.identifier(node.unit_name)}"]
        columns += [
            f"{dialect.identifier(each.sources[place])} AS {dialect.identifier(each.name)}" for each in node.columns
        ]
        selects.append(f"SELECT {', '.join(columns)} FROM ({below(part)}) AS p{place}")
    return " UNION ALL ".join(selects)


def match_sql(node: Match, dialect: Dialect, below: Below) -> str:
    """A left join with the different keys of the right, so that no row of the left is there twice."""
    if node.right.private and (node.left.unit is None or node.right.unit is None or not node.on):
        raise InputError("private rows are matched by their unit, and these are not")
    names = [dialect.identifier(f"{MATCH}{place}") for place in range(len(node.on))]
    unit = dialect.identifier(UNIT)
    sides = [
        (f"l.{unit}", unit) if _is_units(node, pair) else (_key(pair[0], dialect), _key(pair[1], dialect))
        for pair in node.on
    ]
    if node.right.private and not any(_is_units(node, pair) for pair in node.on):
        raise InputError("private rows are matched by their unit, and these are not")
    found = dialect.identifier(MATCH + "found")
    keys = ", ".join((*(f"{right} AS {name}" for (_, right), name in zip(sides, names, strict=True)), f"1 AS {found}"))
    distinct = f"SELECT DISTINCT {keys} FROM ({below(node.right)}) AS r"
    on = " AND ".join(f"{left} = m.{name}" for (left, _), name in zip(sides, names, strict=True))
    truth = f"m.{found} IS NOT NULL"
    if node.nullable:
        truth = _three_valued(node, truth, sides[0], dialect, below)
    return (
        f"SELECT l.*, {truth} AS {dialect.identifier(node.name)} FROM ({below(node.left)}) AS l "
        f"LEFT JOIN ({distinct}) AS m ON {on or 'TRUE'}"
    )


def _three_valued(node: Match, truth: str, side: tuple[str, str], dialect: Dialect, below: Below) -> str:
    """IN of one public column, as SQL has it."""
    left, right = side
    rows = f"(SELECT COUNT(*) FROM ({below(node.right)}) AS a)"
    nulls = f"(SELECT COUNT(*) FROM ({below(node.right)}) AS b WHERE {right} IS NULL)"
    unknown = f"{nulls} > 0 OR ({left} IS NULL AND {rows} > 0)"
    return f"CASE WHEN {truth} THEN TRUE WHEN {unknown} THEN NULL ELSE FALSE END"


def _key(value: Expression, dialect: Dialect) -> str:
    return zeroless_sql(expression_sql(value, dialect), value, dialect)


def _is_units(node: Match, pair: tuple[Expression, Expression]) -> bool:
    left, right = pair
    return (
        node.right.private
        and isinstance(left, Column)
        and isinstance(right, Column)
        and (left.name, right.name) == (node.left.unit, node.right.unit)
    )


def levels_sql(node: Levels, dialect: Dialect, below: Below) -> str:
    """Each row beside each level; a key is there in the levels that have it."""
    number = dialect.identifier("tacit level")
    rows = " UNION ALL ".join(f"SELECT {place} AS {number}" for place in range(len(node.sets)))
    columns = [f"{dialect.to_double(f'v.{number}')} AS {dialect.identifier(node.level)}"]
    for place, (name, value) in enumerate(node.keys):
        levels = [str(level) for level, keys in enumerate(node.sets) if place in keys]
        sql = expression_sql(value, dialect)
        inside = f"CASE WHEN v.{number} IN ({', '.join(levels)}) THEN {sql} END" if levels else "NULL"
        columns.append(f"{inside} AS {dialect.identifier(name)}")
    return f"SELECT r.*, {', '.join(columns)} FROM ({below(node.below)}) AS r CROSS JOIN ({rows}) AS v"


def unit_windows_sql(node: UnitWindows, dialect: Dialect, below: Below) -> str:
    """Windows within the rows of one unit."""
    if not node.private or node.unit is None:
        raise InputError("windows over private rows need rows that name their unit")
    ties = [f"{dialect.identifier(name)} NULLS LAST" for name in node.below.schema if name != node.unit]
    columns = [f"{_window(call, ties, dialect)} AS {dialect.identifier(call.name)}" for call in node.calls]
    return f"SELECT r.*, {', '.join(columns)} FROM ({below(node.below)}) AS r"


UNTIED = {"rank", "dense_rank", "percent_rank", "cume_dist"}  # equal for rows that stand equal


def _window(call: WindowCall, ties: list[str], dialect: Dialect) -> str:
    arguments = [expression_sql(each, dialect) for each in call.arguments]
    if call.function in ("lag", "lead") and len(arguments) > 1:
        arguments[1] = f"CAST({arguments[1]} AS INTEGER)"
    if call.function == "ntile":
        arguments[0] = f"CAST({arguments[0]} AS INTEGER)"
    over = _over(call, ties, dialect)
    if call.function in ("sum", "avg"):
        made = sum_sql if call.function == "sum" else mean_sql
        return within_facts(made(arguments[0], call.arguments[0].facts, dialect, over), call.facts, dialect)
    name = call.function.upper()
    if call.function in ("min", "max"):
        name = dialect.extreme(name, call.facts.type)
    sql = f"{name}({', '.join(arguments) or ('*' if call.function == 'count' else '')}){over}"
    if not call.facts.type.numeric:
        return sql
    found = dialect.to_double(sql)
    return within_facts(found, call.facts, dialect) if call.function == "count" else found


def _over(call: WindowCall, ties: list[str], dialect: Dialect) -> str:
    partition = ", ".join((dialect.identifier(UNIT), *(expression_sql(each, dialect) for each in call.partition)))
    order = [_ordered(by, dialect) for by in call.order]
    frame = call.frame
    if call.function in ("count", "sum", "avg", "min", "max") and frame == WindowFrame():
        return f" OVER (PARTITION BY {partition})"
    if call.function not in UNTIED and not frame.peers:
        order += ties
    framed = f" {'RANGE' if frame.peers else 'ROWS'} BETWEEN {_edge(frame.first, 'PRECEDING')} AND " + _edge(
        frame.last, "FOLLOWING"
    )
    by = f" ORDER BY {', '.join(order)}" if order else ""
    return f" OVER (PARTITION BY {partition}{by}{framed if call.function in FRAMED and by else ''})"


def _edge(rows: int | None, way: str) -> str:
    if rows is None:
        return f"UNBOUNDED {way}"
    if rows == 0:
        return "CURRENT ROW"
    return f"{abs(rows)} {'PRECEDING' if rows < 0 else 'FOLLOWING'}"


def _ordered(by: Order, dialect: Dialect) -> str:
    way = "DESC" if by.descending else "ASC"
    return f"{expression_sql(by.expression, dialect)} {way} NULLS {by.nulls.upper()}"
