"""A client's question to the catalogue, from PostgreSQL's SQL to SQLite's. What has no counterpart is refused."""

from collections.abc import Callable, Mapping
from typing import ClassVar

from sqlglot import exp
from sqlglot.dialects.dialect import Dialect
from sqlglot.dialects.sqlite import SQLite
from sqlglot.errors import ErrorLevel, SqlglotError

from tacit.server.problem import Fault
from tacit.server.wire.lex import pieces
from tacit.sql.parse import MOST_CHARACTERS, MOST_TOKENS

__all__ = ["read_catalog", "rows_of", "to_sqlite"]

MOST_OPEN = 40  # brackets within brackets; the longest of psql's own has a dozen
INTEGERS = ("INT", "BIGINT", "SMALLINT", "TINYINT", "OID")
TEXTS = ("TEXT", "VARCHAR", "CHAR", "NAME", "BPCHAR")
WORDS = frozenset({"select", "insert", "update", "delete", "table", "index", "values", "group", "order", "all"})
WORDS |= {"default", "check"}
REGISTERED = ("regclass", "regtype", "regnamespace", "regproc", "regrole")
AS_THEY_ARE = (  # types whose values are written here as PostgreSQL writes them
    "boolean bool float float4 float8 double real decimal numeric date timestamp timestamptz time interval json "
    "jsonb uuid xml bytea array anyarray xid cid tid int2vector oidvector pg_lsn aclitem pg_node_tree refcursor "
    "regprocedure regoper regoperator regcollation regconfig regdictionary sql_identifier character_data "
    "yes_or_no cardinal_number time_stamp unknown"
)


class Catalogue(SQLite):
    """SQLite's SQL, with names in backticks: in double quotes it takes a name that it does not know for a text."""

    class Tokenizer(SQLite.Tokenizer):
        IDENTIFIERS: ClassVar[list[str | tuple[str, str]]] = ["`"]


def read_catalog(sql: str) -> exp.Expr | None:
    """The tree of a statement, if it can be read as PostgreSQL's SQL and is one SELECT (or UNION, or VALUES)."""
    depth, sql = 0, _named(sql) if len(sql) <= MOST_CHARACTERS else sql
    for piece in pieces(sql):
        depth += (piece.text in "([") - (piece.text in ")]") if piece.kind == "other" else 0
        if depth > MOST_OPEN or len(sql) > MOST_CHARACTERS:
            return None
    try:
        dialect = Dialect.get_or_raise("postgres")
        tokens = dialect.tokenize(sql)
        if len(tokens) > MOST_TOKENS:
            return None
        found = dialect.parser(error_level=ErrorLevel.IMMEDIATE).parse(tokens, sql)
    except (SqlglotError, RecursionError, ValueError, IndexError, AttributeError, TypeError, KeyError):
        return None
    tree = found[0] if len(found) == 1 else None
    return tree if isinstance(tree, exp.Query) else None


def _named(sql: str) -> str:
    """With quotes round a name after AS that sqlglot or SQLite would take for a word of SQL, as in `… AS select,`."""
    found = list(pieces(sql))
    solid = [place for place, piece in enumerate(found) if piece.kind != "space"]
    for before, here, after in zip(solid, solid[1:], solid[2:], strict=False):
        words = [found[place].text.lower() for place in (before, here, after)]
        if words[0] == "as" and words[1] in WORDS and words[2] in (",", "from", ")"):
            found[here] = found[here]._replace(text=f'"{found[here].text}"')
    return "".join(piece.text for piece in found)


def to_sqlite(tree: exp.Expr, named: Mapping[str, str]) -> str:
    """The same question for SQLite. `named` has current_user and its like."""
    literals = {kind: exp.Literal.string(named[name]) for kind, name in CURRENT.items()}

    def step(node: exp.Expr) -> exp.Expr:
        for kind, rewrite in REWRITES.items():
            if isinstance(node, kind):
                return rewrite(node)
        bare = isinstance(node, exp.Column) and not node.table and isinstance(node.this, exp.Identifier)
        user = bare and node.name.lower() == "user" and not node.this.quoted  # the word USER
        found = literals.get(exp.CurrentUser if user else type(node))
        return node if found is None else found.copy()

    try:
        root = tree.copy()
        for node in reversed(list(root.dfs())):  # what is inside comes first
            changed = step(node)
            if changed is not node:
                root = changed if node is root else root
                node.replace(changed)
        text = root.sql(dialect=Catalogue, unsupported_level=ErrorLevel.RAISE)
    except (SqlglotError, RecursionError, ValueError, AttributeError, TypeError, KeyError):
        raise Fault("0A000", "this catalogue query is not understood") from None
    return text


CURRENT: dict[type[exp.Expr], str] = {
    exp.CurrentSchema: "schema",
    exp.CurrentUser: "user",
    exp.SessionUser: "user",
    exp.CurrentDatabase: "database",
    exp.CurrentCatalog: "database",
}


def _function(name: str, *arguments: exp.Expr | None) -> exp.Expr:
    return exp.Anonymous(this=name, expressions=[one for one in arguments if one is not None])


def _dot(node: exp.Expr) -> exp.Expr:
    """pg_catalog.f(x) is f(x)."""
    inner: exp.Expr = node.expression
    if isinstance(inner, exp.Func | exp.Null):
        return inner
    return part_of(node) if isinstance(node.this, exp.Paren | exp.Func | exp.Null) else node


def _operator(node: exp.Expr) -> exp.Expr:
    sign = str(node.args.get("operator")).rpartition(".")[2]
    plain = node.expression
    pattern = plain.this if isinstance(plain, exp.Collate) else plain
    wanted = {"~": "tacit_matches", "!~": "tacit_matches", "~*": "tacit_imatches", "!~*": "tacit_imatches"}.get(sign)
    if wanted is not None:
        found = _function(wanted, node.this, pattern)
        return exp.Not(this=found) if sign.startswith("!") else found
    if sign == "=":
        return exp.EQ(this=node.this, expression=pattern)
    raise Fault("0A000", f"the operator {sign} is not understood")


def _cast(node: exp.Expr) -> exp.Expr:
    kind = _type(node.args["to"])
    inner: exp.Expr = node.this
    if kind in REGISTERED:
        return _function("tacit_oid", exp.Literal.string(kind), inner)
    if kind.upper() in TEXTS:
        if isinstance(inner, exp.Anonymous) and inner.name == "tacit_oid":
            return _function("tacit_name", *inner.expressions)
        return exp.Cast(this=inner, to=exp.DataType.build("TEXT"))
    if kind.upper() in INTEGERS:
        return exp.Cast(this=inner, to=exp.DataType.build("BIGINT"))
    if kind not in AS_THEY_ARE.split():
        raise Fault("42704", f'the type "{kind[:100]}" is not known here')
    return inner


def _type(kind: exp.Expr) -> str:
    """The bare name of a type."""
    inside = kind.args.get("kind")
    if isinstance(inside, exp.Expr):
        return str(inside.name).lower()
    if isinstance(inside, str):
        return inside.rpartition(".")[2].strip('"').lower()
    found = kind.this
    return str(getattr(found, "value", found)).lower()


def _equal(node: exp.Expr) -> exp.Expr:
    """x = ANY (…): a list, a question, or an array."""
    if not isinstance(node.expression, exp.Any):
        return node
    inner = node.expression.this
    while isinstance(inner, exp.Paren):
        inner = inner.this
    if isinstance(inner, exp.Array) and not _asks(inner):
        return exp.In(this=node.this, expressions=inner.expressions)
    if isinstance(inner, exp.Subquery | exp.Query):
        return exp.In(this=node.this, query=inner if isinstance(inner, exp.Subquery) else exp.Subquery(this=inner))
    return _function("tacit_member", node.this, inner)


def _unequal(node: exp.Expr) -> exp.Expr:
    """x <> ALL (array)."""
    every = node.expression
    if isinstance(every, exp.Anonymous) and str(every.this).lower() == "all" and len(every.expressions) == 1:
        return exp.Not(this=_function("tacit_member", node.this, every.expressions[0]))
    return node


def _asks(array: exp.Expr) -> bool:
    return len(array.expressions) == 1 and isinstance(array.expressions[0], exp.Query)


def _array(node: exp.Expr) -> exp.Expr:
    if isinstance(node.parent.parent if isinstance(node.parent, exp.Paren) else node.parent, exp.Any):
        return node  # x = ANY (ARRAY[…]) as a whole becomes x IN (…)
    if not _asks(node):
        return _function("tacit_list", *node.expressions)
    asked = node.expressions[0].copy()
    asked.selects[0].replace(exp.alias_(asked.selects[0].unalias().copy(), "one"))
    inner = exp.Subquery(this=asked, alias=exp.TableAlias(this=exp.to_identifier("many")))
    gathered = _function("coalesce", _function("tacit_array", exp.column("one")), exp.Literal.string(""))
    return exp.Subquery(this=exp.Select(expressions=[gathered]).from_(inner))


def _gathered(node: exp.Expr) -> exp.Expr:
    return _function("tacit_array", node.this.this if isinstance(node.this, exp.Order) else node.this)


def _table(node: exp.Expr) -> exp.Expr:
    if not isinstance(node.this, exp.Identifier):
        return rows_of(node)
    node.set("catalog", None)
    return node


def _item(node: exp.Expr) -> exp.Expr:
    """x[n]. sqlglot counts a number that is written out from 0, and leaves everything else as it is."""
    if is_absent(node.this):
        return exp.null()
    place = node.expressions[0] if len(node.expressions) == 1 else None
    if isinstance(place, exp.Literal) and place.is_int:
        return _function("tacit_item", node.this, place)
    if isinstance(place, exp.Column):
        return _function("tacit_item", node.this, exp.Sub(this=place, expression=exp.Literal.number(1)))
    raise Fault("0A000", "an element of a list is taken with a number or a column here: x[1]")


def _anonymous(node: exp.Expr) -> exp.Expr:
    name = str(node.this).lower()
    if name in RENAMED:
        return _function(RENAMED[name], *node.expressions)
    if name in ("generate_subscripts", "unnest", "_pg_expandarray", "aclexplode", "generate_series"):
        return node if isinstance(node.parent, exp.Table) else one_value(node)
    return node


# --- functions with rows

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


def rows_of(node: exp.Expr) -> exp.Expr:
    """A function in FROM, as a subquery that gives its rows."""
    function = node if isinstance(node, exp.Unnest) else node.this
    if not isinstance(function, exp.Func):
        raise Fault("0A000", "this list of functions in FROM is not understood here")
    name = _called(function)
    columns = _columns(node, name)
    if name in NO_ROWS or (name in OF_LISTS and _of(function, NOWHERE)):
        return _subquery(node, exp.select(*(_called_as(exp.null(), each) for each in columns)).where(exp.false()))
    if function.find(exp.Column) is None:
        if name == "generate_series":
            return _subquery(node, _series(function, columns[0]))
        if name in ONE_ROW:
            return _subquery(node, exp.select(_called_as(function.copy(), columns[0])))
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


def _called_as(value: exp.Expr, name: str) -> exp.Expr:
    return exp.alias_(value, name, quoted=True)


def _series(function: exp.Expr, name: str) -> exp.Expr:
    """The whole numbers from the first argument to the second, by ones."""
    given = [function.args.get("start"), function.args.get("end"), function.args.get("step")]
    first, last, step = given if not isinstance(function, exp.Anonymous) else [*function.expressions, None, None][:3]
    if first is None or last is None or step is not None:
        raise Fault("0A000", "generate_series takes two whole numbers here")
    begin = exp.select(_called_as(first.copy(), "n")).where(exp.LTE(this=first.copy(), expression=last.copy()))
    more = exp.select(_called_as(exp.Add(this=exp.column("n"), expression=exp.Literal.number(1)), "n")).from_(
        "tacit_series"
    )
    more = more.where(exp.LT(this=exp.column("n"), expression=last.copy()))
    found = exp.select(_called_as(exp.column("n"), name)).from_("tacit_series")
    return found.with_("tacit_series", as_=exp.union(begin, more, distinct=False), recursive=True)


# --- everything that is rewritten

RENAMED = {
    "json_build_object": "json_object",
    "bool_and": "min",
    "bool_or": "max",
    "every": "min",
    "array_to_string": "tacit_join",
    "array_agg": "tacit_array",
    "string_agg": "group_concat",
}

REWRITES: dict[type[exp.Expr], Callable[[exp.Expr], exp.Expr]] = {
    exp.Dot: _dot,
    exp.Operator: _operator,
    exp.RegexpLike: lambda node: _function("tacit_matches", node.this, node.expression),
    exp.RegexpILike: lambda node: _function("tacit_imatches", node.this, node.expression),
    exp.Collate: lambda node: node.this,
    exp.ByteString: lambda node: exp.Literal.string(node.name),
    exp.Cast: _cast,
    exp.EQ: _equal,
    exp.NEQ: _unequal,
    exp.Array: _array,
    exp.ArrayAgg: _gathered,
    exp.ArrayToString: lambda node: _function("tacit_join", node.this, node.expression),
    exp.ArraySize: lambda node: _function("array_length", node.this, node.args.get("expression")),
    exp.StringToArray: lambda node: _function("tacit_split", node.this, node.expression),
    exp.Bracket: _item,
    exp.Explode: lambda node: node if isinstance(node.parent, exp.Table) else one_value(node),
    exp.ExplodingGenerateSeries: lambda node: node if isinstance(node.parent, exp.Table) else one_value(node),
    exp.Unnest: rows_of,
    exp.Table: _table,
    exp.Anonymous: _anonymous,
    exp.CurrentVersion: lambda node: _function("version"),
    exp.Format: lambda node: _function("tacit_format", node.this, *node.expressions),
}
