"""What can be seen of a table or view in a DuckDB file: all of it, since the file holds what its views are made of."""

import re
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError
from sqlglot.tokenizer_core import Token, TokenType

from tacit.base import PolicyError
from tacit.engine.dialect import DUCKDB
from tacit.engine.views.shape import View, check_shape
from tacit.policy.declaration import quoted

__all__ = ["is_steady"]

SERIES = {"generate_series", "range", "repeat", "repeat_row", "unnest"}  # tables out of nothing
SEVERAL = (exp.AggFunc, exp.Window, exp.Distinct, exp.Limit, exp.Offset, exp.Group, exp.SetOperation)
GENERATED = re.compile(r"GENERATED\s+ALWAYS\s+AS\s*\(", re.IGNORECASE)
QUERY = re.compile(r"\s*(SELECT|FROM|WITH|VALUES|\()\b", re.IGNORECASE)
REMEDY = "write the rows into a table of the file (CREATE TABLE … AS SELECT …) and declare that"


def is_steady(connection: Any, database: str, schema: str, name: str, unit: str | None, *, is_private: bool) -> bool:
    """Whether a table or view of an attached file is read the same way each time, whatever the order of its rows.

    PolicyError if it gives other rows at each reading, reads anything outside its file, or mixes units.
    """
    file = _File(connection, database)
    start = (schema.lower(), name.lower())
    file.relation(start)
    if is_private and start in file.views:
        check_shape(file.view(start), unit, DUCKDB, lambda parts: file.named(parts, schema), file.sums)
    return file.is_steady


@dataclass
class _File:
    connection: Any
    database: str
    is_steady: bool = True
    known: set[Any] = field(default_factory=set)

    def __post_init__(self) -> None:
        here = DUCKDB.text(self.database)
        views = self.ask(f"SELECT schema_name, view_name, sql FROM duckdb_views() WHERE database_name = {here}")
        tables = self.ask(f"SELECT schema_name, table_name, sql FROM duckdb_tables() WHERE database_name = {here}")
        self.views = {(schema.lower(), name.lower()): sql for schema, name, sql in views}
        self.tables = {(schema.lower(), name.lower()): sql or "" for schema, name, sql in tables}
        functions = self.ask(
            "SELECT lower(function_name), function_type, stability, macro_definition, database_name "
            f"FROM duckdb_functions() WHERE database_name IN ({here}, 'system')"
        )
        self.volatile = {name for name, _, stability, _, _ in functions if stability == "VOLATILE"}
        self.sums = {name for name, kind, _, _, _ in functions if kind == "aggregate"}
        self.sums -= {name for name, kind, _, _, _ in functions if kind == "scalar"}
        self.readers = {name for name, kind, _, _, _ in functions if kind == "table"} - SERIES
        self.readers -= {name for name, kind, _, _, _ in functions if kind not in ("table", "pragma")}
        self.macros: dict[str, list[str]] = {}
        for name, _, _, definition, _ in functions:
            if definition:
                self.macros.setdefault(name, []).append(definition)

    def ask(self, sql: str) -> list[tuple[Any, ...]]:
        return list(self.connection.execute(sql).fetchall())

    def view(self, at: tuple[str, str]) -> View:
        """The query of a view, and its own names for its columns."""
        sql = self.views[at].rstrip().removesuffix(";")
        depth = 0
        names: list[str] = []
        for token in _tokens(sql):
            depth += {TokenType.L_PAREN: 1, TokenType.R_PAREN: -1}.get(token.token_type, 0)
            if token.token_type is TokenType.ALIAS and depth == 0:
                return View(sql=sql[token.end + 1 :], columns=tuple(names))
            if depth == 1 and token.token_type not in (TokenType.L_PAREN, TokenType.COMMA):
                names.append(token.text)
        raise PolicyError(f"the definition of the view {quoted(at[1])} cannot be read: {REMEDY}")

    def named(self, parts: tuple[str, ...], schema: str) -> View | None:
        at = self.find(parts, schema.lower())
        return self.view(at) if at in self.views else None

    def find(self, parts: tuple[str, ...], schema: str) -> tuple[str, str] | None:
        *above, name = (part.lower() for part in parts)
        places = [above[-1]] if above else [schema, "main"]
        known = (*self.views, *self.tables)
        return next(((place, name) for place in places if (place, name) in known), None)

    def relation(self, at: tuple[str, str]) -> None:
        if at in self.known:
            return
        self.known.add(at)
        if at in self.views:
            self.query(self.view(at).sql, at[0])
        for start in GENERATED.finditer(self.tables.get(at, "")):
            self.text(_within_parentheses(self.tables[at][start.end() :]), at[0])

    def query(self, sql: str, schema: str) -> None:
        self.text(sql, schema)
        try:
            query = sqlglot.parse_one(sql, dialect="duckdb")
        except SqlglotError:
            raise PolicyError(f"its definition cannot be read: {REMEDY}") from None
        self.is_steady &= query.find(*SEVERAL) is None and not self.sums & _calls(sql)
        named = {each.alias.lower() for each in query.find_all(exp.CTE)}
        for table in query.find_all(exp.Table):
            if not isinstance(table.this, exp.Identifier):
                continue
            parts = tuple(part.name for part in table.parts)
            found = self.find(parts, schema)
            if found is not None:
                self.relation(found)
            elif not (len(parts) == 1 and parts[0].lower() in named):
                raise PolicyError(f"it reads {quoted('.'.join(parts))}, which is no table of its file: {REMEDY}")

    def text(self, sql: str, schema: str) -> None:
        """Any SQL: what it calls, and whether it takes a sample."""
        words = [token.text.upper() for token in _tokens(sql)]
        if "TABLESAMPLE" in words or ("USING", "SAMPLE") in pairwise(words):
            raise PolicyError(f"it takes a sample, which is another one each time it is read: {REMEDY}")
        for name in sorted(_calls(sql)):
            if name in self.volatile:
                raise PolicyError(
                    f"it calls the function {quoted(name)}, which gives another value each time, and rows are read "
                    f"more than once: {REMEDY}"
                )
            if name in self.readers:
                raise PolicyError(f"it calls {quoted(name)}, which reads more than the tables of its file: {REMEDY}")
            if name in self.macros and ("macro", name) not in self.known:
                self.known.add(("macro", name))
                for definition in self.macros[name]:
                    self.query(definition if QUERY.match(definition) else f"SELECT {definition}", schema)


def _tokens(sql: str) -> list[Token]:
    try:
        return sqlglot.tokenize(sql, read="duckdb")
    except SqlglotError:
        raise PolicyError(f"its definition cannot be read: {REMEDY}") from None


def _calls(sql: str) -> set[str]:
    """The names that stand before a parenthesis."""
    tokens = _tokens(sql)
    pairs = pairwise(tokens)
    return {token.text.lower() for token, after in pairs if after.token_type is TokenType.L_PAREN}


def _within_parentheses(text: str) -> str:
    """What stands before the parenthesis that closes one already open."""
    depth = 1
    for token in _tokens(text):
        depth += {TokenType.L_PAREN: 1, TokenType.R_PAREN: -1}.get(token.token_type, 0)
        if depth == 0:
            return text[: token.start]
    return text
