"""What types the columns of a catalogue question have, told from its text alone: describing must not run anything."""

from sqlglot import exp

from tacit.server.wire.catalog_tables import TABLES
from tacit.server.wire.value import KINDS, Field

__all__ = ["fields_of"]

COLUMNS = {column: kind for columns in TABLES.values() for column, kind in columns.items()}
COLUMNS |= {"description": "text", "name": "text", "oid": "oid"}

TRUTHS = (
    exp.Predicate,
    exp.Connector,
    exp.Not,
    exp.Boolean,
    exp.RegexpLike,
    exp.RegexpILike,
    exp.Operator,
    exp.LogicalAnd,
    exp.LogicalOr,
)
BOOLEAN = ("is_visible", "_privilege", "_is_publishable", "pg_is_in_recovery", "bool_and", "bool_or", "_is_other_temp")
INTEGER = {"pg_backend_pid": "int4", "array_upper": "int4", "array_length": "int4", "pg_table_size": "int8"}
INTEGER |= {"pg_total_relation_size": "int8", "pg_relation_size": "int8", "char_length": "int4", "length": "int4"}
SAME = (exp.Paren, exp.Min, exp.Max, exp.Neg, exp.Add, exp.Sub, exp.Mul, exp.Mod)
CASTS = {
    "int": "int4",
    "bigint": "int8",
    "smallint": "int2",
    "boolean": "bool",
    "oid": "oid",
    "double": "float8",
    "float": "float8",
    "decimal": "float8",
}


def fields_of(tree: exp.Expr) -> list[Field]:
    """Names and types of the result."""
    aliases = {alias.alias: alias.this for alias in tree.find_all(exp.Alias)}
    return [Field(_name(item), KINDS[_kind(item, aliases, 0)]) for item in _items(tree)]


def _items(tree: exp.Expr) -> list[exp.Expr]:
    """The SELECT list; with `*` written out, where it is the tables' own."""
    found: list[exp.Expr] = []
    select = tree
    while isinstance(select, exp.SetOperation | exp.Subquery):
        select = select.this
    for item in select.selects if isinstance(select, exp.Query) else []:
        if item.is_star:
            found += [exp.column(name) for name in _starred(select, item)]
        else:
            found.append(item)
    return found


def _starred(select: exp.Expr, item: exp.Expr) -> list[str]:
    wanted = item.table if isinstance(item, exp.Column) else ""
    sources = [select.args.get("from_"), *(select.args.get("joins") or [])]
    names: list[str] = []
    own = {cte.alias.lower(): cte.this for cte in select.root().find_all(exp.CTE)}
    for source in (one.this for one in sources if one is not None):
        if wanted and source.alias_or_name != wanted:
            continue
        ours = None if source.args.get("db") else own.get(source.name.lower())
        if isinstance(source, exp.Subquery) or ours is not None:
            names += [_name(inner) for inner in _items(source.this if ours is None else ours)]
        else:
            schema = source.db.lower() or "pg_catalog"
            names += TABLES.get((schema, source.name.lower()), {})
    return names


def _name(item: exp.Expr) -> str:
    if item.alias:
        return str(item.alias)
    if isinstance(item, exp.Column):
        return item.name
    inner = item
    while isinstance(inner, exp.Cast | exp.Paren | exp.Dot):
        inner = inner.expression if isinstance(inner, exp.Dot) else inner.this
    if isinstance(inner, exp.Column):
        return inner.name
    if isinstance(inner, exp.Anonymous):
        return str(inner.this).lower()
    if isinstance(inner, exp.Case):
        return "case"
    return inner.sql_name().lower() if isinstance(inner, exp.Func) else "?column?"


def _kind(node: exp.Expr | None, aliases: dict[str, exp.Expr], depth: int) -> str:
    if node is None or depth > 20:
        return "text"

    def of(inner: exp.Expr | None) -> str:
        return _kind(inner, aliases, depth + 1)

    if isinstance(node, (exp.Alias, *SAME)):
        return of(node.this)
    if isinstance(node, exp.Dot):
        return of(node.expression)
    if isinstance(node, exp.Cast):
        return CASTS.get(str(getattr(node.to.this, "value", node.to.this)).lower(), "text")
    if isinstance(node, exp.Column):
        behind = aliases.get(node.name)
        if node.name in COLUMNS or behind is None or behind is node:
            return COLUMNS.get(node.name.lower(), "text")
        return of(behind)
    if isinstance(node, exp.Case):
        branches = [one.args["true"] for one in node.args["ifs"]] + [node.args.get("default")]
        return of(next((one for one in branches if one is not None and not isinstance(one, exp.Null)), None))
    if isinstance(node, exp.Coalesce):
        return of(node.this)
    if isinstance(node, exp.Subquery | exp.Query):
        items = _items(node)
        return of(items[0]) if items else "text"
    return _simple(node)


def _simple(node: exp.Expr) -> str:
    if isinstance(node, exp.Literal):
        return "text" if node.is_string else "int4" if node.is_int else "float8"
    if isinstance(node, exp.Count):
        return "int8"
    if isinstance(node, TRUTHS):
        return "bool"
    if isinstance(node, exp.Array | exp.ArrayAgg):
        return "text[]"
    if isinstance(node, exp.Anonymous):
        name = str(node.this).lower()
        return "bool" if name.endswith(BOOLEAN) else INTEGER.get(name, "text")
    return "text"
