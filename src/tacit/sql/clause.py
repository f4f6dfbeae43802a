"""What is said about privacy inside a query: SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (…), named arguments such as
SUM(x, contribution_bounds_per_group => (0, 100)), and ZetaSQL's ANON_SUM(x CLAMPED BETWEEN 0 AND 100).

It is taken out before the parser runs, which knows none of it: out of the tokens, and not the text, so that neither a
comment nor a string can pass for one.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

from sqlglot.tokenizer_core import Token, TokenType

from tacit.base import Mistake, RefusalKind, Refused
from tacit.plan.question import Options
from tacit.sql.constants import number, whole
from tacit.sql.mistake import WITH_ARGUMENTS, at

__all__ = ["CLAUSE", "NAMED", "Clause", "clause_of", "clause_start", "like", "named_arguments"]

CLAUSE = "tacit_clause"  # where a tree keeps its clause
NAMED = {"contribution_bounds_per_group": 2, "contribution_bounds_per_row": 2, "max_values_per_unit": 1}
PRICES = ("epsilon", "rho", "mu_squared")
WHOLE = {"max_groups_contributed": "max_groups", "max_rows_contributed": "max_rows",
         "min_privacy_units_per_group": "min_units"}  # fmt: skip
NUMBERS = (*PRICES, "delta", *WHOLE)
FORMER = {"kappa": "max_groups_contributed"}  # ZetaSQL's name of it
UNIT, STRATEGY = "privacy_unit_column", "group_selection_strategy"
KNOWN = (*NUMBERS, UNIT, STRATEGY)
CLAUSES = ("differential_privacy", "anonymization")
ELSEWHERE = {
    "report": "an answer says its intervals by itself",
}
"""Options of others that have no equal here, and why."""
BY_ROW = ("percentile", "quantile", "approx")  # functions that ZetaSQL clamps value by value


@dataclass(frozen=True, kw_only=True)
class Clause:
    """What SELECT WITH DIFFERENTIAL_PRIVACY said; `unit` is the column it names as the privacy unit."""

    options: Options = field(default_factory=Options)
    unit: str | None = None


def clause_start(tokens: Sequence[Token]) -> int | None:
    """Where SELECT WITH DIFFERENTIAL_PRIVACY begins, or SELECT WITH ANONYMIZATION."""
    for i in range(len(tokens) - 2):
        kinds = tokens[i].token_type, tokens[i + 1].token_type
        if kinds != (TokenType.SELECT, TokenType.WITH):
            continue
        if any(_is(tokens, i + 2, word) for word in CLAUSES):
            return i
        if _is(tokens, i + 2, "aggregation_threshold"):
            raise Refused(
                f"{at(tokens[i])}WITH AGGREGATION_THRESHOLD is refused, since a threshold alone protects nobody: leave "
                "it out, and every answer has noise",
                kind=RefusalKind.UNSUPPORTED,
            )
    return None


def _is(tokens: Sequence[Token], i: int, word: str) -> bool:
    return i < len(tokens) and tokens[i].token_type is TokenType.VAR and tokens[i].text.lower() == word


def clause_of(tokens: list[Token]) -> tuple[list[Token], Clause]:
    """The tokens without the clause, and the clause. It may stand in a subquery, but only once: all that is measured is
    paid for together."""
    start = clause_start(tokens)
    if start is None:
        return tokens, Clause()
    again = clause_start(tokens[start + 3 :])
    if again is not None:
        told = "a second WITH DIFFERENTIAL_PRIVACY is refused, since all of a question is paid for together: keep one"
        raise Refused(f"{at(tokens[start + 3 + again])}{told}", kind=RefusalKind.UNSUPPORTED)
    reader = _Reader(tokens, start + 3)
    given: dict[str, Fraction | str] = {}
    if not reader.word("options"):
        return [*tokens[: start + 1], *tokens[reader.at :]], Clause()
    if not reader.sign(TokenType.L_PAREN):
        raise reader.wrong("( after OPTIONS")
    first = True
    while not reader.sign(TokenType.R_PAREN):
        if not first and not reader.sign(TokenType.COMMA):
            raise reader.wrong("a comma or ) in OPTIONS")
        first = False
        name = reader.name("the name of an option").lower()
        name = FORMER.get(name, name)
        if name not in KNOWN:
            why = ELSEWHERE.get(name, f"it is not one of {', '.join(KNOWN)}")
            told = f"option {name[:40]} of WITH DIFFERENTIAL_PRIVACY is refused, since {why}: leave it out"
            raise Refused(told, kind=RefusalKind.UNSUPPORTED)
        if name in given:
            raise Refused(f"option {name} is given twice: keep one", kind=RefusalKind.MISTAKE)
        if not reader.sign(TokenType.EQ):
            raise reader.wrong(f"= after option {name}")
        if name in WHOLE and reader.sign(TokenType.NULL):
            continue  # BigQuery's way of not saying it
        given[name] = reader.number() if name in NUMBERS else reader.name("a column" if name == UNIT else "a word")
    _check_strategy(given)
    return [*tokens[: start + 1], *tokens[reader.at :]], _clause(given)


def _check_strategy(given: dict[str, Fraction | str]) -> None:
    """Groups are found by the better of two ways, as LAPLACE_THRESHOLD finds them; other ways are not to be chosen."""
    said = str(given.get(STRATEGY, "LAPLACE_THRESHOLD")).upper()
    if said != "LAPLACE_THRESHOLD":
        told = f"{STRATEGY} = {said[:40]} is refused, since keys are public where the policy declares them (group_keys)"
        raise Refused(f"{told}: leave it out", kind=RefusalKind.UNSUPPORTED)


def _clause(given: dict[str, Fraction | str]) -> Clause:
    numbers = {name: value for name, value in given.items() if isinstance(value, Fraction)}
    for name, value in numbers.items():
        if value < 0 or (value == 0 and name != "delta"):
            raise Refused(f"option {name} must be greater than 0", kind=RefusalKind.MISTAKE)
    if numbers.get("delta", Fraction(0)) >= 1:
        raise Refused("option delta must be less than 1", kind=RefusalKind.MISTAKE)
    if len(twice := [name for name in PRICES if name in numbers]) > 1:
        raise Refused(f"options {' and '.join(twice)} say the price twice: keep one", kind=RefusalKind.MISTAKE)
    counts = {WHOLE[name]: whole(value, f"option {name}", least=1) for name, value in numbers.items() if name in WHOLE}
    unit = given.get(UNIT)
    prices = {name: numbers.get(name) for name in (*PRICES, "delta")}
    options = replace(Options(**prices), **counts)  # type: ignore[arg-type]  # names of fractions, and of whole numbers
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
                    f"{', '.join(NAMED)}",
                    kind=RefusalKind.UNSUPPORTED,
                )
            if any(each.text == name for each in frames[-1][1]):
                told = f"line {token.line}: the named argument {name} is given twice: keep one"
                raise Refused(told, kind=RefusalKind.MISTAKE)
            at = _argument(tokens, at, name, frames[-1][1])
            continue
        if frames and _is(tokens, at, "clamped") and at + 1 < len(tokens) and tokens[at + 1].token_type is BETWEEN:
            at = _clamped(tokens, at, out[frames[-1][0]].text.lower(), frames[-1][1])
            continue
        if kind is TokenType.L_PAREN:
            frames.append((max(0, len(out) - 1), []))
        out.append(token)
        if kind is TokenType.R_PAREN and frames:
            start, given = frames.pop()
            if given:
                opening = like(token, TokenType.L_PAREN, "(")
                out[start:start] = [like(token, TokenType.VAR, WITH_ARGUMENTS), opening]
                out += [*given, token]
        at += 1
    return out


def _argument(tokens: list[Token], at: int, name: str, given: list[Token]) -> int:
    """Reads `, name => value` or `, name => (value, value)` into `given`; the position after it."""
    comma, label = tokens[at], tokens[at + 1]
    reader = _Reader(tokens, at + 3)
    many = NAMED[name]
    given += [comma, like(label, TokenType.STRING, name)]
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


BETWEEN = TokenType.BETWEEN


def _clamped(tokens: list[Token], at: int, function: str, given: list[Token]) -> int:
    """Reads `CLAMPED BETWEEN low AND high` as bounds of what a unit adds to a group, or of each value of a quantile."""
    by_row = any(function.removeprefix("anon_").startswith(word) for word in BY_ROW)
    name = f"contribution_bounds_per_{'row' if by_row else 'group'}"
    reader, comma = _Reader(tokens, at + 2), like(tokens[at], TokenType.COMMA, ",")
    given += [comma, like(tokens[at], TokenType.STRING, name)]
    for i in range(2):
        if i and not reader.sign(TokenType.AND):
            raise reader.wrong("CLAMPED BETWEEN low AND high")
        begin = reader.at
        reader.number()
        given += [comma, *tokens[begin : reader.at]]
    return reader.at


def like(token: Token, kind: TokenType, text: str) -> Token:
    """A token in the place of another."""
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
        while self.ahead(TokenType.DOT) and self.at + 1 < len(self.tokens):  # of a column, its table before it
            self.at += 2
        return self.tokens[self.at - 1].text

    def number(self) -> Fraction:
        sign = -1 if self.sign(TokenType.DASH) else 1
        point = "." if self.sign(TokenType.DOT) else ""  # some dialects read .01 as two tokens
        if not self.ahead(TokenType.NUMBER):
            raise self.wrong("a number")
        self.at += 1
        return sign * number(point + self.tokens[self.at - 1].text)

    def wrong(self, expected: str) -> Mistake:
        if self.at >= len(self.tokens):
            return Mistake(f"the question ends where {expected} was expected")
        token = self.tokens[self.at]
        return Mistake(f"{at(token)}{expected} was expected, not {token.text[:40]!r}")
