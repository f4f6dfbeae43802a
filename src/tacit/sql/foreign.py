"""Spellings of other systems that no parser of the default dialect reads: in the tokens, before the tree is made.

Backticks are quotes of names; so are brackets round a name, where no list can stand; SELECT TOP n is LIMIT n at the end
of its SELECT; DECODE with many arguments is Oracle's.
"""

from sqlglot import exp
from sqlglot.dialects.dialect import Dialect
from sqlglot.dialects.duckdb import DuckDB
from sqlglot.parsers.duckdb import DuckDBParser
from sqlglot.tokenizer_core import Token, TokenType

from tacit.base import Mistake, RefusalKind, Refused
from tacit.sql.clause import like
from tacit.sql.mistake import at

__all__ = ["dialect_of", "respelled_tokens"]


class TolerantSql(DuckDB):
    """DuckDB's SQL with names in backticks, and with functions of others that it has not."""

    class Tokenizer(DuckDB.Tokenizer):
        IDENTIFIERS = ['"', "`"]  # noqa: RUF012 - as the class above has it

    class Parser(DuckDBParser):
        FUNCTIONS = {  # noqa: RUF012 - as the class above has it
            **DuckDBParser.FUNCTIONS,
            "DECODE": lambda args: exp.DecodeCase(expressions=args),
            "TIMESTAMPDIFF": lambda args: exp.Anonymous(this="TIMESTAMPDIFF", expressions=args),
        }


def dialect_of(name: str) -> Dialect:
    """How a dialect is read."""
    return TolerantSql() if name == "duckdb" else Dialect.get_or_raise(name)


WORDS = (TokenType.VAR, TokenType.IDENTIFIER)
BEFORE_LIST = (*WORDS, TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.ARRAY)  # after which [ ] is a place or a list


def respelled_tokens(tokens: list[Token], sql: str) -> list[Token]:
    """The same tokens in the default spelling."""
    return _without_brackets(_without_top(tokens), sql)


def _without_brackets(tokens: list[Token], sql: str) -> list[Token]:
    """[name] as "name". A list of one column has no meaning in a question, so nothing else is lost."""
    found: list[Token] = []
    at_token = 0
    while at_token < len(tokens):
        token = tokens[at_token]
        name = _bracketed(tokens, at_token, found[-1] if found else None)
        if name is None:
            found.append(token)
            at_token += 1
            continue
        last = tokens[at_token + name + 1]
        made = Token(
            TokenType.IDENTIFIER, sql[token.start + 1 : last.start].strip(), line=token.line, col=last.col,
            start=token.start, end=last.end,
        )  # fmt: skip
        found.append(made)
        at_token += name + 2
    return found


def _bracketed(tokens: list[Token], place: int, before: Token | None) -> int | None:
    """How many words stand between brackets here, if nothing else does."""
    if tokens[place].token_type is not TokenType.L_BRACKET:
        return None
    if before is not None and before.token_type in BEFORE_LIST:
        return None
    for inside, token in enumerate(tokens[place + 1 :]):
        if token.token_type is TokenType.R_BRACKET:
            return inside or None
        if not token.text.replace("_", "a").isalnum() or token.token_type in (TokenType.NUMBER, TokenType.STRING):
            return None
    return None


def _without_top(tokens: list[Token]) -> list[Token]:
    """SELECT TOP n … as SELECT … LIMIT n."""
    found = list(tokens)
    for place in range(len(found) - 3, -1, -1):
        if found[place].token_type is TokenType.SELECT:
            found = _limited(found, place)
    return found


def _limited(tokens: list[Token], select: int) -> list[Token]:
    start = select + 1 + (tokens[select + 1].token_type is TokenType.DISTINCT)
    if not (tokens[start].token_type is TokenType.VAR and tokens[start].text.lower() == "top"):
        return tokens
    inner = tokens[start + 1 : start + 4]
    kinds = [token.token_type for token in inner]
    if kinds[:1] == [TokenType.NUMBER]:
        number, after = inner[0], start + 2
    elif kinds == [TokenType.L_PAREN, TokenType.NUMBER, TokenType.R_PAREN]:
        number, after = inner[1], start + 4
    else:
        return tokens  # a column may be called so
    if after < len(tokens) and tokens[after].text.lower() in ("percent", "with"):
        told = f"{at(tokens[start])}TOP in percent or WITH TIES is refused, since it depends on the data: write TOP 10"
        raise Refused(told, kind=RefusalKind.UNSUPPORTED)
    depth, end = 0, len(tokens)
    for place in range(after, len(tokens)):
        kind = tokens[place].token_type
        depth += (kind is TokenType.L_PAREN) - (kind is TokenType.R_PAREN)
        if depth < 0:
            end = place
            break
        if depth == 0 and kind is TokenType.LIMIT:
            raise Mistake(f"{at(tokens[place])}TOP and LIMIT say the same: keep one")
    limit = [like(number, TokenType.LIMIT, "LIMIT"), number]
    return [*tokens[:start], *tokens[after:end], *limit, *tokens[end:]]
