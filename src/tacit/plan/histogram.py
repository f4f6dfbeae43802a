"""The value by which MODE and HISTOGRAM count: itself, or the cell of its range that it lies in."""

from fractions import Fraction

from tacit.base import RefusalKind, Refused
from tacit.base.problem import declare
from tacit.plan.expression import Expression
from tacit.plan.facts import domain_of
from tacit.plan.moments import grid_of, number, range_of
from tacit.plan.operation import call
from tacit.plan.question import Aggregate

__all__ = ["listed_value"]


def listed_value(aggregate: Aggregate) -> Expression:
    """A value whose every value is known."""
    value = aggregate.arguments[0]
    domain = domain_of(value.facts)
    if domain is None or aggregate.cells is not None:
        if aggregate.cells is None:
            raise Refused(
                f"{aggregate.text or aggregate.function} needs a value whose possible values are declared "
                f"({declare('group_keys = […] in the policy', 'group_keys={…}')}), or a number of cells: "
                "HISTOGRAM(x, 20)",
                kind=RefusalKind.DECLARATION,
            )
        grid_of(value, aggregate.text or "HISTOGRAM")
        low, high = range_of(value)
        width = (high - low) / aggregate.cells or Fraction(1)  # of a point: all of it is in the first cell
        cell = call("floor", call("divide", call("subtract", value, number(low)), number(width)))
        value = call("clamp", cell, number(0), number(aggregate.cells - 1))
    return value
