"""What BigQuery's users say about privacy inside a query: SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (…), and named
arguments such as SUM(x, contribution_bounds_per_group => (0, 100)).

The parser does not know them, so they are taken out of the tokens before it runs; tokens, and not text, so that neither
a comment nor a string can pass for one.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from sqlglot.tokenizer_core import Token, TokenType

from tacit.base import Mistake, Refused
from tacit.plan.question import Options
from tacit.sql.constants import number, whole
from tacit.sql.mistake import at
from tacit.sql.refusals import WITH_ARGUMENTS

__all__ = ["CLAUSE", "NAMED", "Clause", "clause_of", "has_clause", "named_arguments"]

CLAUSE = "tacit_clause"  # where a tree keeps its clause
NAMED = {"contribution_bounds_per_group": 2, "contribution_bounds_per_row": 2, "max_values_per_unit": 1}
NUMBERS = ("epsilon", "rho", "delta", "max_groups_contributed")
UNIT = "privacy_unit_column"


@dataclass(frozen=True, kw_only=True)
class Clause:
    """What SELECT WITH DIFFERENTIAL_PRIVACY said; `unit` is the column it names as the privacy unit."""

    options: Options = field(default_factory=Options)
    unit: str | None = None


def has_clause(tokens: Sequence[Token]) -> bool:
    return _start(tokens) is not None


def _start(tokens: Sequence[Token]) -> int | None:
    for i in range(len(tokens) - 2):
        kinds = tokens[i].token_type, tokens[i + 1].token_type
        if kinds == (TokenType.SELECT, TokenType.WITH) and _is(tokens, i + 2, "differential_privacy"):
            return i
    return None


def _is(tokens: Sequence[Token], i: int, word: str) -> bool:
    return i < len(tokens) and tokens[i].token_type is TokenType.VAR and tokens[i].text.lower() == word


def clause_of(tokens: list[Token]) -> tuple[list[Token], Clause]:
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
    if "epsilon" in numbers and "rho" in numbers:
        raise Refused("options epsilon and rho say the price twice: keep one")
    groups = numbers.get("max_groups_contributed")
    unit = given.get(UNIT)
    options = Options(
        epsilon=numbers.get("epsilon"),
        rho=numbers.get("rho"),
        delta=numbers.get("delta"),
        max_groups=None if groups is None else whole(groups, "option max_groups_contributed", least=1),
    )
    return Clause(options=options, unit=unit if isinstance(unit, str) else None)


def named_arguments(tokens: list[Token]) -> list[Token]:
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
