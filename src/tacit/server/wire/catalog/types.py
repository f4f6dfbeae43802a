"""What types the columns of a catalogue question have, told from its text alone: describing must not run anything."""

from sqlglot import exp

from tacit.server.wire.catalog.tables import TABLES
from tacit.server.wire.fault import Fault
from tacit.server.wire.value import KINDS, WireField

__all__ = ["check_tables", "fields_of", "is_absent", "is_catalog", "one_value", "part_of", "rows_of"]

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


def fields_of(tree: exp.Expr) -> list[WireField]:
    """Names and types of the result."""
    aliases = {alias.alias: alias.this for alias in tree.find_all(exp.Alias)}
    return [WireField(_name(item), KINDS[_kind(item, aliases, 0)]) for item in _items(tree)]


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


SCHEMAS = {schema for schema, _ in TABLES}
NAMES = {name for schema, name in TABLES if schema == "pg_catalog"}

# lists in tables that never have a row here
ABSENT = (
    "indkey indcollation indclass indoption conkey confkey conpfeqop conppeqop conffeqop confdelsetcols conexclop "
    "prattrs stxkeys stxkind polroles proargtypes proallargtypes proargmodes proargnames proconfig proacl "
    "partattrs partclass partcollation evttags extconfig extcondition ftoptions srvoptions fdwoptions srvacl "
    "fdwacl lanacl tgattr spcacl spcoptions"
)
# and in tables that do, where they are NULL
UNFILLED = "relacl reloptions attacl attoptions attfdwoptions attmissingval datacl nspacl typacl rolconfig useconfig"
NEVER, NOWHERE = frozenset(ABSENT.split()), frozenset(f"{ABSENT} {UNFILLED}".split())
OF_LISTS = {"unnest", "generate_series", "generate_subscripts", "_pg_expandarray", "aclexplode", "pg_options_to_table"}
ONE_ROW = {"string_to_array", "tacit_split", "current_schemas", "current_setting"}  # the first becomes the second
NO_ROWS = {"pg_get_keywords": ["word", "catcode", "barelabel", "catdesc", "baredesc"]}  # no words are listed here
SPELLED: dict[type[exp.Expr], str] = {
    exp.ExplodingGenerateSeries: "generate_series",
    exp.GenerateSeries: "generate_series",
    exp.Explode: "unnest",
    exp.Unnest: "unnest",
    exp.StringToArray: "string_to_array",
}


def is_catalog(tree: exp.Expr) -> bool:
    """Whether it names no table, or tables of the catalogue only."""
    own = _own(tree)
    for table in tree.find_all(exp.Table):
        schema, name = table.db.lower(), table.name.lower()
        if not isinstance(table.this, exp.Identifier):
            continue  # a function
        if schema in SCHEMAS or (not schema and (name in own or name.startswith("pg_"))):
            continue
        return False
    return True


def check_tables(tree: exp.Expr) -> None:
    """A `Fault` for a table or a function with rows that this catalogue does not have."""
    own = _own(tree)
    for unnested in tree.find_all(exp.Unnest):
        rows_of(unnested)
    for table in tree.find_all(exp.Table):
        if not isinstance(table.this, exp.Identifier):
            rows_of(table)
            continue
        schema, name = table.db.lower(), table.name.lower()
        if (schema or "pg_catalog", name) not in TABLES and (schema or name not in own):
            raise Fault(
                "42P01", f'there is no table "{name[:100]}" in the catalogue', "it has the tables of the policy"
            )


def _own(tree: exp.Expr) -> set[str]:
    return {cte.alias.lower() for cte in tree.find_all(exp.CTE)}


def rows_of(node: exp.Expr) -> exp.Expr:
    """A function in FROM, as a subquery that gives its rows."""
    function = node if isinstance(node, exp.Unnest) else node.this
    if not isinstance(function, exp.Func):
        raise Fault("0A000", "this list of functions in FROM is not understood here")
    name = _called(function)
    columns = _columns(node, name)
    if name in NO_ROWS or (name in OF_LISTS and _of(function, NOWHERE)):
        return _subquery(node, exp.select(*(_named(exp.null(), each) for each in columns)).where(exp.false()))
    if function.find(exp.Column) is None:
        if name == "generate_series":
            return _subquery(node, _series(function, columns[0]))
        if name in ONE_ROW:
            return _subquery(node, exp.select(_named(function.copy(), columns[0])))
    known = name in OF_LISTS or name in ONE_ROW
    said = "is not understood with these arguments here" if known else "is not among the functions that give rows here"
    raise Fault("0A000" if known else "42883", f'"{name[:100]}" {said}', "ask the tables that \\d lists")


def one_value(node: exp.Expr) -> exp.Expr:
    """A function with rows in the list of SELECT: of a list that no row has, it is nothing."""
    if _of(node, NEVER):
        return exp.null()
    name = _called(node)
    raise Fault("0A000", f'"{name[:100]}" is not understood in the list of SELECT here: write it in FROM')


def part_of(node: exp.Expr) -> exp.Expr:
    """(f(x)).part and (x).part: of what is made of a list that no row has, it is nothing."""
    if is_absent(node.this):
        return exp.null()
    raise Fault("0A000", "a part of a composite value is not understood here: there are none in this catalogue")


def is_absent(node: exp.Expr) -> bool:
    """Whether it is a list that no row has, what is made of one, or another name for such."""
    while isinstance(node, exp.Paren):
        node = node.this
    if isinstance(node, exp.Null) or _of(node, NEVER):
        return True
    if not isinstance(node, exp.Column):
        return False
    behind = (alias.this for alias in node.root().find_all(exp.Alias) if alias.alias.lower() == node.name.lower())
    return any(isinstance(each, exp.Null) or _of(each, NEVER) for each in behind)


def _called(function: exp.Expr) -> str:
    if isinstance(function, exp.Anonymous):
        return str(function.this).lower()
    if type(function) in SPELLED:
        return SPELLED[type(function)]
    return function.sql_name().lower() if isinstance(function, exp.Func) else "this"


def _of(function: exp.Expr, lists: frozenset[str]) -> bool:
    """Whether one of these lists is what a function with rows is about."""
    return any(column.name.lower() in lists for column in function.find_all(exp.Column))


def _columns(node: exp.Expr, function: str) -> list[str]:
    alias = node.args.get("alias")
    given = [column.name for column in alias.columns] if alias is not None else []
    more = ["ordinality"] if node.args.get("ordinality") or node.args.get("offset") else []
    return given or [*(NO_ROWS.get(function) or [node.alias or function]), *more]


def _subquery(node: exp.Expr, query: exp.Expr) -> exp.Expr:
    name = node.alias or "rows"
    return exp.Subquery(this=query, alias=exp.TableAlias(this=exp.to_identifier(name, quoted=True)))


def _named(value: exp.Expr, name: str) -> exp.Expr:
    return exp.alias_(value, name, quoted=True)


def _series(function: exp.Expr, name: str) -> exp.Expr:
    """The whole numbers from the first argument to the second, by ones."""
    given = [function.args.get("start"), function.args.get("end"), function.args.get("step")]
    first, last, step = given if not isinstance(function, exp.Anonymous) else [*function.expressions, None, None][:3]
    if first is None or last is None or step is not None:
        raise Fault("0A000", "generate_series takes two whole numbers here")
    begin = exp.select(_named(first.copy(), "n")).where(exp.LTE(this=first.copy(), expression=last.copy()))
    more = exp.select(_named(exp.Add(this=exp.column("n"), expression=exp.Literal.number(1)), "n")).from_(
        "tacit_series"
    )
    more = more.where(exp.LT(this=exp.column("n"), expression=last.copy()))
    found = exp.select(_named(exp.column("n"), name)).from_("tacit_series")
    return found.with_("tacit_series", as_=exp.union(begin, more, distinct=False), recursive=True)
