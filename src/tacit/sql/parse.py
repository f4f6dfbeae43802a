"""Stage 1: text becomes one syntax tree of exactly one SELECT, within limits. Nothing is decided here about meaning.

What is said about privacy inside a query is taken out before the parser runs (clause.py), and what other systems
spell differently is brought to one spelling: in the tokens (foreign.py) and in the tree (spellings.py).
"""

from collections.abc import Sequence
from difflib import get_close_matches
from itertools import pairwise
from typing import Any

from sqlglot import exp
from sqlglot.errors import ErrorLevel, ParseError
from sqlglot.tokenizer_core import Token, TokenType

from tacit.base import InputError, Mistake, RefusalKind, Refused
from tacit.sql.clause import CLAUSE, NAMED, Clause, clause_of, clause_start, named_arguments
from tacit.sql.foreign import dialect_of, respelled_tokens
from tacit.sql.mistake import at, check_tokens, unread, unreadable
from tacit.sql.spellings import respell

__all__ = [
    "CLAUSE",
    "DIALECTS",
    "MOST_CHARACTERS",
    "MOST_NESTED",
    "MOST_TOKENS",
    "NAMED",
    "Clause",
    "parse",
    "sql_text",
]

DIALECTS = ("duckdb", "postgres", "spark", "bigquery", "snowflake")
MOST_CHARACTERS = 50_000
MOST_TOKENS = 5_000
MOST_NESTED = 24  # the parser takes some 25 calls of Python for each

BEGINS = (TokenType.SELECT, TokenType.WITH, TokenType.L_PAREN, TokenType.FROM)  # the last is DuckDB's FROM t SELECT …
OPENING = {TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.L_BRACE, TokenType.CASE}
CLOSING = {TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.R_BRACE, TokenType.END}
SETS: dict[type, str] = {exp.Union: "UNION", exp.Except: "EXCEPT", exp.Intersect: "INTERSECT"}
PREFIX = {TokenType.NOT, TokenType.DASH, TokenType.PLUS, TokenType.TILDE, TokenType.INTERVAL, TokenType.LT}


def parse(sql: str, dialect: str | None = None) -> exp.Select:
    """The tree of one SELECT, or WITH … SELECT. Anything else, or anything too large, is `Refused`.

    `dialect` says how quotes and functions are read: one of DIALECTS. Without it, that is DuckDB's way, and BigQuery's
    where the query begins with SELECT WITH DIFFERENTIAL_PRIVACY. What that clause says is kept beside the tree.
    """
    if not isinstance(sql, str):
        raise Refused(f"a question is a text in SQL, not {type(sql).__name__}", kind=RefusalKind.MISTAKE)
    if dialect is not None and dialect not in DIALECTS:
        known = ", ".join(DIALECTS)
        raise Refused(f"dialect {str(dialect)[:40]!r} is not read: use one of {known}", kind=RefusalKind.UNSUPPORTED)
    if len(sql) > MOST_CHARACTERS:
        told = f"this question has {len(sql):,} characters, and at most {MOST_CHARACTERS:,} are read: ask less"
        raise Refused(told, kind=RefusalKind.LIMIT)
    if "\x00" in sql or any("\ud800" <= c <= "\udfff" for c in sql):
        told = "this question holds a character that no database takes (NUL, or half of a pair): remove it"
        raise Refused(told, kind=RefusalKind.MISTAKE)
    reader = dialect or "duckdb"
    tokens = _tokens(sql, reader)
    if dialect is None and clause_start(tokens) is not None:
        reader = "bigquery"
        tokens = _tokens(sql, reader)
    tokens = _one_statement(tokens)
    tokens, clause = clause_of(tokens)
    if reader == "duckdb":
        tokens = respelled_tokens(tokens, sql)
    tree = _tree(named_arguments(tokens), sql, reader)
    respell(tree, reader)
    tree.meta[CLAUSE] = clause
    return tree


def sql_text(question: Any) -> str:
    """SQL as text; an Ibis expression through its own."""
    if isinstance(question, str):
        return question
    if type(question).__module__.split(".")[0] == "ibis":
        import ibis

        return str(ibis.to_sql(question, dialect="duckdb"))
    raise InputError(f"ask in SQL, or with an Ibis expression, not with {type(question).__name__}")


def _tokens(sql: str, dialect: str) -> list[Token]:
    try:
        return list(dialect_of(dialect).tokenize(sql))
    except Exception:  # the tokenizer is not ours, and what it says is for its makers
        raise unread(sql, dialect) from None


def _one_statement(tokens: list[Token]) -> list[Token]:
    """The tokens without a closing semicolon, if they are one query of a size that can be read."""
    while tokens and tokens[-1].token_type is TokenType.SEMICOLON:
        tokens = tokens[:-1]
    if not tokens:
        raise Refused("there is no question: write a SELECT", kind=RefusalKind.MISTAKE)
    if len(tokens) > MOST_TOKENS:
        raise Refused(
            f"this question has {len(tokens):,} words and signs, and at most {MOST_TOKENS:,} are read: ask less",
            kind=RefusalKind.LIMIT,
        )
    for token in tokens:
        if token.token_type is TokenType.SEMICOLON:
            raise Refused(f"{at(token)}a second statement is refused, since one question is asked at a time")
    first = tokens[0]
    if first.token_type not in BEGINS:
        if first.token_type is TokenType.VAR and get_close_matches(first.text.upper(), ("SELECT", "WITH"), n=1):
            raise Mistake(f"{at(first)}{first.text[:40]} begins no question: did you mean SELECT?")
        raise Refused(
            f"{first.text[:40].upper()} is refused, since a question only reads: begin with SELECT, or WITH … SELECT"
        )
    _check_depth(tokens)
    check_tokens(tokens)
    return tokens


def _check_depth(tokens: Sequence[Token]) -> None:
    depth = run = 0
    for before, token in pairwise([tokens[0], *tokens]):
        kind = token.token_type
        run = run + 1 if kind in PREFIX and (run == 0 or before.token_type in PREFIX) else run
        if kind in OPENING:
            depth += 1
        elif kind in CLOSING:
            depth, run = max(0, depth - 1), 0
        elif kind in (TokenType.COMMA, TokenType.FROM, TokenType.WHERE, TokenType.AND, TokenType.OR):
            run = 0
        if depth + run > MOST_NESTED:
            told = f"{at(token)}this is nested more than {MOST_NESTED} deep: take parts of it out into WITH"
            raise Refused(told, kind=RefusalKind.LIMIT)


def _selected(union: exp.Union) -> exp.Select:
    """SELECT * FROM (… UNION ALL …), with what stands round the union."""
    outer = {name: union.args[name] for name in ("with_", "order", "limit", "offset") if union.args.get(name)}
    for name in outer:
        union.set(name, None)
    inner = exp.Subquery(this=union, alias=exp.TableAlias(this=exp.to_identifier("together")))
    return exp.Select(expressions=[exp.Star()], from_=exp.From(this=inner), **outer)


def _tree(tokens: list[Token], sql: str, dialect: str) -> exp.Select:
    try:
        found = dialect_of(dialect).parser(error_level=ErrorLevel.IMMEDIATE).parse(tokens, sql)
    except ParseError as error:
        raise unreadable(error, tokens) from None
    except RecursionError:
        told = "this is nested too deeply to be read: take parts of it out into WITH"
        raise Refused(told, kind=RefusalKind.LIMIT) from None
    except Exception:  # the parser is not ours, and whatever stops it must not stop a server
        raise Mistake("this cannot be read as SQL: write it more simply") from None
    if len(found) == 1 and type(found[0]) is exp.Subquery and not found[0].args.get("alias"):
        found = [found[0].unnest()]
    if len(found) == 1 and type(found[0]) is exp.Union:
        return _selected(found[0])
    if len(found) != 1 or not isinstance(found[0], exp.Select) or type(found[0]) is not exp.Select:
        kind = type(found[0]) if found else type(None)
        told = f"{SETS.get(kind, 'this')} is refused, since a question is one SELECT, or WITH … SELECT"
        raise Refused(told, kind=RefusalKind.UNSUPPORTED if kind in SETS else RefusalKind.DANGER)
    return found[0]
