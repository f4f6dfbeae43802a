"""Comparisons and logic as SQL, nearly the same everywhere; texts compare by their bytes."""

from tacit.engine.dialect import text_sql
from tacit.engine.operation_text import lowered
from tacit.engine.writer import Render, Writer
from tacit.plan.expression import Call
from tacit.plan.facts import Type
from tacit.plan.operation_kind import text_constant
from tacit.plan.operation_logic import LOWER, pattern_tokens

__all__ = ["RENDERS", "binary"]

MARK = "!"  # the escape character of every pattern that needs one


def binary(w: Writer, call: Call, arguments: list[str]) -> list[str]:
    """The arguments, of which PostgreSQL compares texts by their bytes whatever the column's collation."""
    if w.dialect != "postgres" or all(argument.facts.type is not Type.TEXT for argument in call.arguments):
        return arguments
    return [f'({arguments[0]} COLLATE "C")', *arguments[1:]]


def _infix(sign: str) -> Render:
    def render(w: Writer, call: Call, arguments: list[str]) -> str:
        x, y = binary(w, call, arguments)
        return f"({x} {sign} {y})"

    return render


def _between(w: Writer, call: Call, arguments: list[str]) -> str:
    x, low, high = binary(w, call, arguments)
    return f"({x} BETWEEN {low} AND {high})"


def _in(w: Writer, call: Call, arguments: list[str]) -> str:
    x, *values = binary(w, call, arguments)
    return f"({x} IN ({', '.join(values)}))"


def _like(w: Writer, call: Call, arguments: list[str]) -> str:
    folded = call.operation == "ilike"
    texts = [text_constant(argument) for argument in call.arguments[1:]]
    if folded:
        texts = [text.translate(LOWER) for text in texts]
    tokens = pattern_tokens(*texts)
    marked = any(token in ("%", "_", "\\") for token in tokens)
    special = ("%", "_", MARK) if marked else ()
    written = "".join(
        "%" if token is None else "_" if token == "" else MARK + token if token in special else token
        for token in tokens
    )
    escape = f" ESCAPE '{MARK}'" if marked else ""
    text = lowered(arguments[0]) if folded else arguments[0]
    text = f'({text} COLLATE "C")' if w.dialect == "postgres" else text
    return f"({text} LIKE {text_sql(written, w.dialect)}{escape})"


def _joined(word: str) -> Render:
    return lambda w, call, arguments: f"({f' {word} '.join(arguments)})"


def _suffix(words: str) -> Render:
    return lambda w, call, arguments: f"({arguments[0]} {words})"


RENDERS: dict[str, Render] = {
    "eq": _infix("="),
    "ne": _infix("<>"),
    "lt": _infix("<"),
    "le": _infix("<="),
    "gt": _infix(">"),
    "ge": _infix(">="),
    "is_null": _suffix("IS NULL"),
    "is_not_null": _suffix("IS NOT NULL"),
    "is_distinct": _infix("IS DISTINCT FROM"),
    "is_not_distinct": _infix("IS NOT DISTINCT FROM"),
    "between": _between,
    "in": _in,
    "like": _like,
    "ilike": _like,
    "and": _joined("AND"),
    "or": _joined("OR"),
    "not": lambda w, call, arguments: f"(NOT {arguments[0]})",
    "is_true": _suffix("IS TRUE"),
    "is_false": _suffix("IS FALSE"),
}
