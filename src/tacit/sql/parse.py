"""Stage 1: text becomes one syntax tree of exactly one SELECT, within limits. Nothing is decided here about meaning.

What BigQuery's users say about privacy inside a query, SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (…) and named arguments
such as SUM(x, contribution_bounds_per_group => (0, 100)), is taken out before the parser runs, which knows neither: out
of the tokens, and not the text, so that neither a comment nor a string can pass for one.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from fractions import Fraction
from itertools import pairwise
from typing import Any

from sqlglot import exp
from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import ErrorLevel, ParseError
from sqlglot.tokenizer_core import Token, TokenType

from tacit.base import InputError, Mistake, RefusalKind, Refused
from tacit.plan.question import Options
from tacit.sql.constants import number, whole
from tacit.sql.mistake import WITH_ARGUMENTS, at, check_tokens, unread, unreadable

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

DIALECTS = ("duckdb", "postgres", "spark", "bigquery")
MOST_CHARACTERS = 50_000
MOST_TOKENS = 5_000
MOST_NESTED = 24  # the parser takes some 25 calls of Python for each

OPENING = {TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.L_BRACE, TokenType.CASE}
CLOSING = {TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.R_BRACE, TokenType.END}
SETS: dict[type, str] = {exp.Union: "UNION", exp.Except: "EXCEPT", exp.Intersect: "INTERSECT"}
PREFIX = {TokenType.NOT, TokenType.DASH, TokenType.PLUS, TokenType.TILDE, TokenType.INTERVAL, TokenType.LT}
CLAUSE = "tacit_clause"  # where a tree keeps its clause
NAMED = {"contribution_bounds_per_group": 2, "contribution_bounds_per_row": 2, "max_values_per_unit": 1}
PRICES = ("epsilon", "rho", "mu_squared")
NUMBERS = (*PRICES, "delta", "max_groups_contributed")
UNIT = "privacy_unit_column"


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
    if dialect is None and _start(tokens) is not None:
        reader = "bigquery"
        tokens = _tokens(sql, reader)
    tokens = _one_statement(tokens)
    tokens, clause = _clause_of(tokens)
    tree = _tree(_named_arguments(tokens), sql, reader)
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
        return list(Dialect.get_or_raise(dialect).tokenize(sql))
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
    if first.token_type not in (TokenType.SELECT, TokenType.WITH):
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


def _tree(tokens: list[Token], sql: str, dialect: str) -> exp.Select:
    try:
        found = Dialect.get_or_raise(dialect).parser(error_level=ErrorLevel.IMMEDIATE).parse(tokens, sql)
    except ParseError as error:
        raise unreadable(error, tokens) from None
    except RecursionError:
        told = "this is nested too deeply to be read: take parts of it out into WITH"
        raise Refused(told, kind=RefusalKind.LIMIT) from None
    except Exception:  # the parser is not ours, and whatever stops it must not stop a server
        raise Mistake("this cannot be read as SQL: write it more simply") from None
    if len(found) != 1 or not isinstance(found[0], exp.Select) or type(found[0]) is not exp.Select:
        kind = type(found[0]) if found else type(None)
        told = f"{SETS.get(kind, 'this')} is refused, since a question is one SELECT, or WITH … SELECT"
        raise Refused(told, kind=RefusalKind.UNSUPPORTED if kind in SETS else RefusalKind.DANGER)
    return found[0]


@dataclass(frozen=True, kw_only=True)
class Clause:
    """What SELECT WITH DIFFERENTIAL_PRIVACY said; `unit` is the column it names as the privacy unit."""

    options: Options = field(default_factory=Options)
    unit: str | None = None


def _start(tokens: Sequence[Token]) -> int | None:
    for i in range(len(tokens) - 2):
        kinds = tokens[i].token_type, tokens[i + 1].token_type
        if kinds == (TokenType.SELECT, TokenType.WITH) and _is(tokens, i + 2, "differential_privacy"):
            return i
    return None


def _is(tokens: Sequence[Token], i: int, word: str) -> bool:
    return i < len(tokens) and tokens[i].token_type is TokenType.VAR and tokens[i].text.lower() == word


def _clause_of(tokens: list[Token]) -> tuple[list[Token], Clause]:
    """The tokens without the clause, and the clause. It belongs to the outermost SELECT and to no other."""
    start = _start(tokens)
    if start is None:
        return tokens, Clause()
    depth = 0
    for token in tokens[:start]:
        depth += (token.token_type is TokenType.L_PAREN) - (token.token_type is TokenType.R_PAREN)
    if depth:
        raise Refused(
            f"line {tokens[start].line}: WITH DIFFERENTIAL_PRIVACY in a subquery is refused, since only the outermost "
            "SELECT is released: move it there"
        )
    reader = _Reader(tokens, start + 3)
    if not reader.word("options") or not reader.sign(TokenType.L_PAREN):
        raise reader.wrong("OPTIONS (epsilon = …) after WITH DIFFERENTIAL_PRIVACY")
    given: dict[str, Fraction | str] = {}
    while not reader.sign(TokenType.R_PAREN):
        if given and not reader.sign(TokenType.COMMA):
            raise reader.wrong("a comma or ) in OPTIONS")
        name = reader.name("the name of an option")
        if name.lower() not in (*NUMBERS, UNIT):
            known = ", ".join((*NUMBERS, UNIT))
            raise Refused(f"option {name[:40]} of WITH DIFFERENTIAL_PRIVACY is refused, since it is not one of {known}")
        if name.lower() in given:
            raise Refused(f"option {name.lower()} is given twice: keep one")
        if not reader.sign(TokenType.EQ):
            raise reader.wrong(f"= after option {name.lower()}")
        given[name.lower()] = reader.name("a column") if name.lower() == UNIT else reader.number()
    return [*tokens[: start + 1], *tokens[reader.at :]], _clause(given)


def _clause(given: dict[str, Fraction | str]) -> Clause:
    numbers = {name: value for name, value in given.items() if isinstance(value, Fraction)}
    for name, value in numbers.items():
        if value < 0 or (value == 0 and name != "delta"):
            raise Refused(f"option {name} must be greater than 0")
    if numbers.get("delta", Fraction(0)) >= 1:
        raise Refused("option delta must be less than 1")
    if len(twice := [name for name in PRICES if name in numbers]) > 1:
        raise Refused(f"options {' and '.join(twice)} say the price twice: keep one")
    groups = numbers.get("max_groups_contributed")
    unit = given.get(UNIT)
    options = Options(
        **{name: numbers.get(name) for name in PRICES},
        delta=numbers.get("delta"),
        max_groups=None if groups is None else whole(groups, "option max_groups_contributed", least=1),
    )
    return Clause(options=options, unit=unit if isinstance(unit, str) else None)


def _named_arguments(tokens: list[Token]) -> list[Token]:
    """F(x, name => value) becomes WITH_ARGUMENTS(F(x), 'name', value), which the parser reads in every dialect."""
    out: list[Token] = []
    frames: list[
        tuple[int, list[Token]]
    ] = []  # where the function before each open parenthesis begins; what it is given
    at = 0
    while at < len(tokens):
        token = tokens[at]
        kind = token.token_type
        if kind is TokenType.COMMA and at + 2 < len(tokens) and tokens[at + 2].token_type is TokenType.FARROW:
            name = tokens[at + 1].text.lower()
            if not frames or tokens[at + 1].token_type is not TokenType.VAR or name not in NAMED:
                raise Refused(
                    f"line {token.line}: the named argument {name[:40]} is refused, since the known ones are "
                    f"{', '.join(NAMED)}"
                )
            if any(each.text == name for each in frames[-1][1]):
                raise Refused(f"line {token.line}: the named argument {name} is given twice: keep one")
            at = _argument(tokens, at, name, frames[-1][1])
            continue
        if kind is TokenType.L_PAREN:
            frames.append((max(0, len(out) - 1), []))
        out.append(token)
        if kind is TokenType.R_PAREN and frames:
            start, given = frames.pop()
            if given:
                opening = _like(token, TokenType.L_PAREN, "(")
                out[start:start] = [_like(token, TokenType.VAR, WITH_ARGUMENTS), opening]
                out += [*given, token]
        at += 1
    return out


def _argument(tokens: list[Token], at: int, name: str, given: list[Token]) -> int:
    """Reads `, name => value` or `, name => (value, value)` into `given`; the position after it."""
    comma, label = tokens[at], tokens[at + 1]
    reader = _Reader(tokens, at + 3)
    many = NAMED[name]
    given += [comma, _like(label, TokenType.STRING, name)]
    if many == 2 and not reader.sign(TokenType.L_PAREN):
        raise reader.wrong(f"{name} => (low, high)")
    for i in range(many):
        if i and not reader.sign(TokenType.COMMA):
            raise reader.wrong(f"{name} => (low, high)")
        begin = reader.at
        reader.number()
        given += [comma, *tokens[begin : reader.at]]
    if many == 2 and not reader.sign(TokenType.R_PAREN):
        raise reader.wrong(f"{name} => (low, high)")
    if not reader.ahead(TokenType.COMMA) and not reader.ahead(TokenType.R_PAREN):
        raise reader.wrong(f"a comma or ) after {name}")
    return reader.at


def _like(token: Token, kind: TokenType, text: str) -> Token:
    return Token(kind, text, line=token.line, col=token.col, start=token.start, end=token.end)


class _Reader:
    """A place among tokens that moves on when it finds what it is asked for."""

    def __init__(self, tokens: Sequence[Token], at: int) -> None:
        self.tokens, self.at = tokens, at

    def ahead(self, kind: TokenType) -> bool:
        return self.at < len(self.tokens) and self.tokens[self.at].token_type is kind

    def sign(self, kind: TokenType) -> bool:
        found = self.ahead(kind)
        self.at += found
        return found

    def word(self, word: str) -> bool:
        found = _is(self.tokens, self.at, word)
        self.at += found
        return found

    def name(self, what: str) -> str:
        if not self.ahead(TokenType.VAR) and not self.ahead(TokenType.IDENTIFIER):
            raise self.wrong(what)
        self.at += 1
        return self.tokens[self.at - 1].text

    def number(self) -> Fraction:
        sign = -1 if self.sign(TokenType.DASH) else 1
        if not self.ahead(TokenType.NUMBER):
            raise self.wrong("a number")
        self.at += 1
        return sign * number(self.tokens[self.at - 1].text)

    def wrong(self, expected: str) -> Mistake:
        if self.at >= len(self.tokens):
            return Mistake(f"the question ends where {expected} was expected")
        token = self.tokens[self.at]
        return Mistake(f"{at(token)}{expected} was expected, not {token.text[:40]!r}")
