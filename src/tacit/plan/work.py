"""How much a question computes for each row, and for each group of its answer; too much is refused before it runs."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from tacit.base import RefusalKind, Refused
from tacit.plan.expression import Column, Constant, Expression
from tacit.plan.facts import Facts, Type, domain_of
from tacit.plan.node import Group, Node, Project, Scan, about
from tacit.plan.operation.text import LONGEST

__all__ = ["MOST_PARTS", "MOST_WORK", "Work", "check_answer", "check_work", "work_of"]

MOST_PARTS = 5_000  # of one expression
MOST_WORK = 20_000  # of one row: operations, with everything that is computed on the way written out
MOST_PASSED = 200_000  # the same, times how often the rows are read
MOST_ANSWER = 20_000_000  # operations on released values
PIECE = 64  # characters of text that count as one operation
MOST_KNOWN = 1_000  # texts whose lengths are looked at


@dataclass(frozen=True)
class Work:
    """What a relation takes for one row: `total` operations, and how many each of its columns stands for."""

    total: int
    columns: Mapping[str, int]


def check_work(source: Node, expressions: Iterable[Expression], *, passes: int = 1) -> None:
    """Refuse a question that would compute too much for each row, or that reads much in many passes over the rows."""
    below = work_of(source)
    seen: dict[int, int] = {}
    total = below.total + sum(_weight(expression, below.columns, seen) for expression in expressions)
    if total > MOST_WORK:
        raise Refused(
            f"this question is refused, since each row of it would take {about(total)} operations when what WITH and "
            f"subqueries compute is written out, and {MOST_WORK:,} is the most: compute less of what is computed "
            "already, and use each computed column fewer times",
            kind=RefusalKind.LIMIT,
        )
    if total * passes > MOST_PASSED:
        raise Refused(
            f"this question is refused, since its quantiles, histograms and counts of different values read the rows "
            f"{passes} times, with {about(total)} operations each: ask for fewer of them at once",
            kind=RefusalKind.LIMIT,
        )


def work_of(node: Node) -> Work:
    """The work of the relation `node`."""
    below = [work_of(each) for each in node.inputs]
    known = {name: size for each in below for name, size in each.columns.items()}
    seen: dict[int, int] = {}
    made = [_weight(expression, known, seen) for expression in node.expressions]
    total = sum(each.total for each in below) + sum(made)
    match node:
        case Project():
            carried = {node.unit: 1} if node.unit is not None else {}
            names = (name for name, _ in node.columns)
            return Work(total, {**carried, **dict(zip(names, made, strict=True))})
        case Scan() | Group():  # what is grouped has been computed, and is not computed again
            return Work(total, dict.fromkeys(node.schema, 1))
    return Work(total, known)


def _weight(expression: Expression, columns: Mapping[str, int], seen: dict[int, int]) -> int:
    """Operations of one expression. Parts that are shared are met once and counted each time."""
    found = seen.get(id(expression))
    if found is None:
        if isinstance(expression, Column):
            found = columns.get(expression.name, 1)
        else:
            found = 1 + _pieces(expression) + sum(_weight(part, columns, seen) for part in expression.parts)
        seen[id(expression)] = found
    return found


def _pieces(expression: Expression) -> int:
    """What a text that is made, or written down, adds for its length; texts that are made are cut at LONGEST."""
    if expression.facts.type is not Type.TEXT:
        return 0
    known = _longest(expression.facts)
    if isinstance(expression, Constant):
        return (known or 0) // PIECE
    return min(LONGEST, LONGEST if known is None else known) // PIECE


def _longest(facts: Facts) -> int | None:
    values = domain_of(facts, MOST_KNOWN)
    return None if values is None else max((len(value) for value in values if isinstance(value, str)), default=0)


def _named(expression: Expression) -> int:
    return len({part.name for part in expression.walk() if isinstance(part, Column)})


def check_answer(expressions: Iterable[Expression], groups: int) -> None:
    """Refuse to compute too much of an answer after its release: it is done in Python, group by group, and twice more
    for each number that noise moves."""
    made = [expression for expression in expressions if not isinstance(expression, Column)]  # others are there already
    parts = sum(expression.size * (1 + 2 * _named(expression)) for expression in made)
    if parts * groups > MOST_ANSWER:
        raise Refused(
            f"this question is refused, since its {groups:,} groups would take {about(parts * groups)} operations "
            "after their release: ask for the aggregates, and compute with them yourself",
            kind=RefusalKind.LIMIT,
        )
