"""Mistakes and refusals, told as a person would: where, what is wrong there, and what to write. The parser's own words,
which name its classes, go no further than this file.

Most mistakes are seen in the tokens, before the parser runs: it passes over some of them in silence, and of others it
says where it gave up and not where they are.
"""

import re
from collections.abc import Sequence
from difflib import get_close_matches

from sqlglot import exp
from sqlglot.errors import ErrorLevel, ParseError
from sqlglot.tokenizer_core import Token, TokenType

from tacit.base import Mistake, RefusalKind, Refused

__all__ = ["WITH_ARGUMENTS", "at", "check_tokens", "place", "quoted", "refused", "shown", "unread", "unreadable"]

LONGEST = 60
WITH_ARGUMENTS = "with named arguments"  # a function that nobody can write, since its name has spaces
KEYWORDS = ("select", "from", "where", "group by", "having", "order by", "limit", "offset", "join", "left", "inner",
            "on", "using", "and", "or", "not", "between", "case", "when", "then", "else", "distinct")  # fmt: skip
PAIRS = {
    TokenType.R_PAREN: TokenType.L_PAREN,
    TokenType.R_BRACKET: TokenType.L_BRACKET,
    TokenType.R_BRACE: TokenType.L_BRACE,
    TokenType.END: TokenType.CASE,
}
CLOSES = {opening: "END" if opening is TokenType.CASE else sign for opening, sign in
          zip(PAIRS.values(), (")", "]", "}", "END"), strict=True)}  # fmt: skip
CURLY = "\u201c\u201d\u201e\u2018\u2019\xab\xbb"

VALUE = "write a value"
NUMBER = "write a number of rows, or leave it out"
TABLE = "write the name of a table"
CONDITION = "write a condition"
COMPARISONS = (TokenType.EQ, TokenType.NEQ, TokenType.LT, TokenType.LTE, TokenType.GT, TokenType.GTE)
NEEDS: dict[TokenType, str] = {
    TokenType.SELECT: "write what to compute, as in SELECT COUNT(*)",
    TokenType.DISTINCT: "write a column",
    TokenType.FROM: TABLE,
    TokenType.JOIN: TABLE,
    TokenType.ON: "write the columns to match, as in ON a.id = b.id",
    TokenType.WHERE: "write a condition, as in WHERE age > 30, or leave WHERE out",
    TokenType.HAVING: "write a condition, as in HAVING COUNT(*) > 100, or leave HAVING out",
    TokenType.GROUP_BY: "write the columns to group by, or leave GROUP BY out",
    TokenType.ORDER_BY: "write the columns to order by, or leave ORDER BY out",
    TokenType.ALIAS: "write a name or a type, or leave AS out",
    TokenType.COMMA: "write it, or remove the comma",
    TokenType.AND: CONDITION,
    TokenType.OR: CONDITION,
    TokenType.NOT: CONDITION,
    TokenType.WHEN: CONDITION,
    TokenType.THEN: VALUE,
    TokenType.ELSE: VALUE,
    TokenType.LIKE: "write a pattern, as in LIKE 'a%'",
    TokenType.ILIKE: "write a pattern, as in ILIKE 'a%'",
    TokenType.IN: "write a list, as in IN (1, 2)",
    TokenType.BETWEEN: "write two values, as in BETWEEN 1 AND 9",
    TokenType.IS: "write NULL, NOT NULL, TRUE or FALSE",
    **dict.fromkeys((*COMPARISONS, TokenType.DASH, TokenType.PLUS, TokenType.SLASH, TokenType.DPIPE), VALUE),
}
"""What must follow these, in words."""

AT_END: dict[TokenType, str] = {TokenType.LIMIT: NUMBER, TokenType.OFFSET: NUMBER}
"""The same of words that are names of columns elsewhere."""

STOPS = {TokenType.R_PAREN, TokenType.COMMA, TokenType.FROM, TokenType.WHERE, TokenType.GROUP_BY, TokenType.HAVING,
         TokenType.ORDER_BY, TokenType.JOIN, TokenType.AND, TokenType.OR, TokenType.WHEN, TokenType.THEN,
         TokenType.ELSE, TokenType.END, TokenType.SLASH, TokenType.DPIPE, *COMPARISONS}  # fmt: skip
"""What begins no value."""

SAID: tuple[tuple[str, str], ...] = (
    (r"(AS|TYPE) after (TRY_)?CAST", "CAST needs a type: write CAST(x AS INTEGER)"),
    (r"after EXTRACT", "EXTRACT is written EXTRACT(year FROM x)"),
    (r"END after CASE", "CASE is written CASE WHEN x > 1 THEN 'a' ELSE 'b' END"),
    (r"'high' missing", "BETWEEN is written x BETWEEN 1 AND 9"),
    (r"following CTE", "after WITH a SELECT must follow: WITH name AS (SELECT …) SELECT …"),
    (r"CTE to have alias", "WITH needs a name and a query: WITH name AS (SELECT …) SELECT …"),
    (r"Expecting \($", "a ( is missing before {highlight}"),
    (r"Expecting \)$", "a comma or a ) is missing before {highlight}"),
    (r"table name", "the name of a table is missing near {highlight}"),
    (r"Required keyword", "something is missing near {highlight}: complete it"),
    (r"Unexpected token", "{highlight} is not expected here"),
)
"""The parser's own descriptions, as patterns, and what they mean."""


def at(token: Token) -> str:
    """Where a token begins."""
    return f"line {token.line}, column {token.col - (token.end - token.start)}: "


def refused(
    what: str,
    why: str,
    instead: str = "",
    kind: RefusalKind = RefusalKind.DANGER,
    *,
    at: exp.Expr | None = None,
) -> Refused:
    """The error for one construct. `what` is a noun phrase; `why` a clause; `instead` an order. It is a danger unless
    `kind` says that only a feature is missing, or something else."""
    way_out = f": {instead}" if instead else ""
    return Refused(f"{place(at)}{what} is refused, since {why}{way_out}", kind=kind)


def place(node: exp.Expr | None) -> str:
    """Line and column of the first name inside a node, where the parser kept them."""
    for part in () if node is None else node.find_all(exp.Identifier, exp.Star, exp.Anonymous):
        meta = part.meta
        if "line" in meta and "col" in meta:
            column = meta["col"] - (meta.get("end", 0) - meta.get("start", 0))
            return f"line {meta['line']}, column {column}: "
    return ""


def quoted(name: str) -> str:
    """A name in messages, cut when it is long."""
    return f'"{name[:LONGEST]}…"' if len(name) > LONGEST else f'"{name}"'


def shown(node: exp.Expr) -> str:
    """A piece of the query in messages, on one line, without comments."""
    if any(part.this == WITH_ARGUMENTS for part in node.find_all(exp.Anonymous)):
        node = node.transform(_without_arguments)
    try:
        text = " ".join(node.sql(comments=False, unsupported_level=ErrorLevel.IGNORE).split())
    except Exception:  # the generator meets trees that only the parser of another dialect makes
        text = "a part of it"
    return f"{text[:LONGEST]}…" if len(text) > LONGEST else text


def _without_arguments(node: exp.Expr) -> exp.Expr:
    return node.expressions[0] if type(node) is exp.Anonymous and node.this == WITH_ARGUMENTS else node


def check_tokens(tokens: Sequence[Token]) -> None:
    """`Mistake` for what is open, missing or misplaced whatever the rest of the question says."""
    _check_curly(tokens)
    _check_needs(tokens)
    _check_pairs(tokens)


def _check_curly(tokens: Sequence[Token]) -> None:
    for token in tokens:
        if token.token_type is TokenType.VAR and any(sign in token.text for sign in CURLY):
            raise Mistake(f"{at(token)}this text is in curly quotes: write it in straight ones, as in 'east'")


def _check_needs(tokens: Sequence[Token]) -> None:
    """Words that something must follow, and nothing does."""
    for i, token in enumerate(tokens):
        kind, before = token.token_type, tokens[i - 1].token_type if i else None
        following = tokens[i + 1] if i + 1 < len(tokens) else None
        if before in (TokenType.DOT, TokenType.ALIAS):  # a name, whatever word it is
            continue
        if kind is TokenType.DISTINCT and before in (TokenType.IS, TokenType.NOT):
            continue  # IS DISTINCT FROM
        needed = NEEDS.get(kind) or (AT_END.get(kind) if following is None else None)
        if needed is None or (following is not None and following.token_type not in STOPS):
            continue
        if kind is TokenType.SELECT and following is not None and following.token_type is TokenType.FROM:
            raise Mistake(f"{at(token)}there is nothing between SELECT and FROM: {needed}")
        what = "this comma" if kind is TokenType.COMMA else token.text.upper()
        raise Mistake(f"{at(token)}something is missing after {what}: {needed}")


def _check_pairs(tokens: Sequence[Token]) -> None:
    """Parentheses, and CASE with its END."""
    opened: list[Token] = []
    for token in tokens:
        if token.token_type in PAIRS.values():
            opened.append(token)
        elif token.token_type in PAIRS:
            wanted = PAIRS[token.token_type]
            if wanted is TokenType.CASE and (not opened or opened[-1].token_type is not wanted):
                continue  # a column may be called so
            if opened and opened[-1].token_type is TokenType.CASE and wanted is not TokenType.CASE:
                raise _unclosed(opened[-1])
            if not opened or opened.pop().token_type is not wanted:
                raise Mistake(f"{at(token)}this {token.text} closes nothing: remove it, or write what it closes")
    if opened:
        raise _unclosed(opened[-1])


def _unclosed(token: Token) -> Mistake:
    closing = CLOSES[token.token_type]
    return Mistake(f"{at(token)}this {token.text.upper()} is never closed: write {closing} at its end")


def unreadable(error: ParseError, tokens: Sequence[Token]) -> Mistake:
    """What the parser gave up on, in a sentence."""
    details = error.errors[0] if error.errors else {}
    highlight, description = str(details.get("highlight") or ""), str(details.get("description") or "")
    line, end = details.get("line"), details.get("col")
    where = ""
    if isinstance(line, int) and isinstance(end, int):
        where = f"line {line}, column {max(1, end - len(highlight) + 1)}: "
    for pattern, words in SAID:
        if re.search(pattern, description):
            told = words.format(highlight=quoted(" ".join(highlight.split())) if highlight else "the end")
            return Mistake(f"{where}this cannot be read as SQL: {told}{_meant(tokens, line, end)}")
    return Mistake(f"{where}this cannot be read as SQL: look at what stands before this place")


def _meant(tokens: Sequence[Token], line: object, end: object) -> str:
    """A keyword that the word there, or the one before it, may be a slip of."""
    place = next((i for i, token in enumerate(tokens) if (token.line, token.col) == (line, end)), None)
    if place is None:
        return ""
    for token in (tokens[place - 1], tokens[place]) if place else (tokens[place],):
        close = get_close_matches(token.text.lower(), KEYWORDS, n=1, cutoff=0.75)
        if token.token_type is TokenType.VAR and close and close[0] != token.text.lower():
            return f"; did you mean {close[0].upper()} instead of {token.text}?"
    return "; did you mean >=?" if tokens[place].token_type is TokenType.FARROW else ""


def unread(sql: str, dialect: str) -> Mistake:
    """What stops the text from being cut into words: a quote or a comment that is left open, or a foreign sign."""
    found = _open(sql, escapes=dialect in ("bigquery", "spark"))
    if found is None:
        return Mistake("this cannot be read as SQL: a sign in it, or a quote before it, is not SQL's")
    start, sign = found
    line, column = sql.count("\n", 0, start) + 1, start - sql.rfind("\n", 0, start)
    what, closing = ("comment", "*/") if sign == "/*" else ("quote", sign)
    return Mistake(f"line {line}, column {column}: this {what} {sign} is never closed: write {closing} at its end")


def _open(sql: str, *, escapes: bool) -> tuple[int, str] | None:
    """Where a quote or a comment begins that has no end."""
    i = 0
    while i < len(sql):
        if sql.startswith("--", i):
            i = sql.find("\n", i)
            if i < 0:
                return None
        elif sql.startswith("/*", i):
            end = sql.find("*/", i + 2)
            if end < 0:
                return i, "/*"
            i = end + 1
        elif sql[i] in "'\"`":
            start, mark = i, sql[i]
            i += 1
            while i < len(sql) and sql[i] != mark:
                i += 2 if escapes and sql[i] == "\\" else 1
            if i >= len(sql):
                return start, mark
        i += 1
    return None
