"""Which aggregates of a question are made of the same measures."""

from collections.abc import Iterator
from fractions import Fraction

from tacit.plan.expression import Column, Expression
from tacit.plan.facts import Value
from tacit.plan.node import Node, Scan
from tacit.plan.question import Aggregate

__all__ = ["PAIRS", "QUANTILES", "VARIANCES", "column_of", "families", "fraction_of", "range_of"]

VARIANCES = {"var_samp", "var_pop", "stddev_samp", "stddev_pop"}
PAIRS = {"covar_samp", "covar_pop", "corr"}
QUANTILES = {"quantile", "min", "max"}


def families(asked: list[Aggregate]) -> Iterator[tuple[tuple[Expression, ...], list[Aggregate]]]:
    """Aggregates by the values they are over. COUNT(*) joins a family of values that are always there, if any needs
    a count of rows; each quantile's value, each pair, each distinct count and each sum with bounds per group, whose
    clip is its own, is a family by itself."""
    found: dict[tuple[str, tuple[Expression, ...]], list[Aggregate]] = {}
    for a in asked:
        arguments = () if a.function == "count" and not a.arguments[0:1] else a.arguments
        if a.function == "count" and arguments and not any(value.facts.nullable for value in arguments):
            arguments = ()
        kind = "moments"
        if a.function in QUANTILES:
            kind = "quantiles"
        elif a.function in PAIRS:
            kind = "pairs"
        elif a.function in {"count_units", "count_distinct"}:
            kind = "distinct"
        elif a.group_bounds is not None:
            kind = f"{a.function} within {a.group_bounds}"
        found.setdefault((kind, arguments), []).append(a)
    counts = found.get(("moments", ()))
    if counts is not None:
        for (kind, arguments), family in found.items():
            if kind == "moments" and arguments and not arguments[0].facts.nullable and arguments[0].facts.bounded:
                family += counts
                del found[("moments", ())]
                break
    for (_, arguments), family in found.items():
        yield arguments, family


def fraction_of(value: Value) -> Fraction:
    assert isinstance(value, int | Fraction)  # a number, as the type says
    return Fraction(value)


def range_of(value: Expression) -> tuple[Fraction, Fraction]:
    """The bounds of a value that is known to have them."""
    return fraction_of(value.facts.low), fraction_of(value.facts.high)


def column_of(value: Expression, node: Node) -> str | None:
    """The declared column that an expression is, if it is one as it stands."""
    if not isinstance(value, Column) or not value.facts.type.numeric:
        return None
    ahead = [node]
    while ahead:
        at = ahead.pop()
        if isinstance(at, Scan):
            for source in at.columns:
                if source.name == value.name:
                    return source.column
        ahead += [getattr(at, name) for name in ("below", "left", "right") if hasattr(at, name)]
    return None
