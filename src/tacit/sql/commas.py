"""FROM a, b WHERE a.x = b.y: the equalities of WHERE that are keys of joins, and what of WHERE is left as a filter.

An equality is not true of NULL, and neither is a key, so as the key of an inner join it keeps the same rows.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sqlglot import exp

from tacit.sql.expressions import chain
from tacit.sql.scope import Scope

__all__ = ["CommaKey", "comma_keys", "is_of", "not_joined", "tying"]


@dataclass(frozen=True, kw_only=True)
class CommaKey:
    """An equality between columns of different tables. `is_whole` if it is a condition of WHERE itself, which the join
    then does; else each branch of an OR has it, and the OR stays."""

    condition: exp.EQ
    is_whole: bool


def comma_keys(condition: exp.Expr, scope: Scope) -> list[CommaKey]:
    """What can tie one table to another."""
    found = []
    for part in chain(condition):
        plain = part.unnest()
        if type(plain) is exp.EQ:
            found.append(CommaKey(condition=plain, is_whole=True))
        elif type(plain) is exp.Or:
            found += [CommaKey(condition=each, is_whole=False) for each in _of_every_branch(plain)]
    return [key for key in found if _ties(key.condition, scope)]


def _of_every_branch(condition: exp.Or) -> Iterable[exp.EQ]:
    """Equalities that are in each branch, as they are written in the first."""
    branches = [[part.unnest() for part in chain(branch)] for branch in chain(condition, exp.Or)]
    first, *others = branches
    return [part for part in first if type(part) is exp.EQ and all(part in branch for branch in others)]


def _ties(condition: exp.EQ, scope: Scope) -> bool:
    """Whether each side of an equality is of one table, and these are two."""
    sides = [_tables(end, scope) for end in (condition.this, condition.expression)]
    return all(len(side) == 1 for side in sides) and sides[0] != sides[1]


def _tables(part: exp.Expr, scope: Scope) -> set[int]:
    if part.find(exp.Subquery, exp.Select, exp.AggFunc) is not None:
        return set()
    return {
        number
        for column in part.find_all(exp.Column)
        for number, relation in enumerate(scope.relations)
        if is_of(column, Scope(relations=(relation,)))
    }


def is_of(part: exp.Expr, scope: Scope) -> bool:
    """Whether all columns of an expression are of this scope, by the name of their table or, without one, by theirs."""
    return all(
        any(
            relation.alias.casefold() == column.args["table"].name.casefold()
            if column.args.get("table") is not None
            else relation.find(column.name)
            for relation in scope.relations
        )
        for column in part.find_all(exp.Column)
    )


def tying(keys: Sequence[CommaKey], one: Scope, other: Scope) -> list[CommaKey]:
    """The keys that tie two relations."""
    found = []
    for key in keys:
        ends = key.condition.this, key.condition.expression
        if any(is_of(a, one) and is_of(b, other) for a, b in (ends, ends[::-1])):
            found.append(key)
    return found


def not_joined(condition: exp.Expr, scope: Scope) -> exp.Expr | None:
    """What of WHERE is not the key of a join already; None if nothing is."""
    if not scope.joined:
        return condition
    rest = [part for part in chain(condition) if id(part.unnest()) not in scope.joined]
    return exp.and_(*rest, copy=False) if rest else None
