"""A client's question to the catalogue, from PostgreSQL's SQL to SQLite's. What has no counterpart is refused."""

from collections.abc import Callable, Mapping
from typing import ClassVar

from sqlglot import exp
from sqlglot.dialects.dialect import Dialect
from sqlglot.dialects.sqlite import SQLite
from sqlglot.errors import ErrorLevel, SqlglotError

from tacit.server.wire.catalog.types import is_absent, one_value, part_of, rows_of
from tacit.server.wire.fault import Fault
from tacit.server.wire.lex import pieces
from tacit.sql.parse import MOST_CHARACTERS, MOST_TOKENS

__all__ = ["read_catalog", "to_sqlite"]

MOST_OPEN = 40  # brackets within brackets; the longest of psql's own has a dozen
INTEGERS = ("INT", "BIGINT", "SMALLINT", "TINYINT", "OID")
TEXTS = ("TEXT", "VARCHAR", "CHAR", "NAME", "BPCHAR")
WORDS = {
    "select",
    "insert",
    "update",
    "delete",
    "table",
    "index",
    "values",
    "group",
    "order",
    "all",
    "default",
    "check",
}
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
        found = literals.get(exp.CurrentUser if _is_user(node) else type(node))
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


def _is_user(node: exp.Expr) -> bool:
    """Whether it is the word USER."""
    bare = isinstance(node, exp.Column) and not node.table and isinstance(node.this, exp.Identifier)
    return bare and node.name.lower() == "user" and not node.this.quoted


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
    inner = node.this
    return _function("tacit_array", inner.this if isinstance(inner, exp.Order) else inner)


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
