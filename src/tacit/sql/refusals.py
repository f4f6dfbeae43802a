"""How a refusal reads: where, what, why, and what to write instead."""

from sqlglot import exp
from sqlglot.errors import ErrorLevel

from tacit.base import Refused

__all__ = ["WITH_ARGUMENTS", "place", "quoted", "refused", "shown"]

LONGEST = 60
WITH_ARGUMENTS = "with named arguments"  # a function that nobody can write, since its name has spaces


def refused(what: str, why: str, instead: str = "", *, at: exp.Expr | None = None) -> Refused:
    """The error for one construct. `what` is a noun phrase; `why` a clause; `instead` an order."""
    way_out = f": {instead}" if instead else ""
    return Refused(f"{place(at)}{what} is refused, since {why}{way_out}")


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
