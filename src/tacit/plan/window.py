"""A window: a value for each row, made of the other rows of its partition."""

from dataclasses import dataclass, field
from typing import Literal

from tacit.plan.expression import Expression
from tacit.plan.facts import Facts
from tacit.plan.owner import IF_GIVEN

__all__ = ["FRAMED", "Order", "WindowCall", "WindowFrame"]

FRAMED = {"count", "sum", "avg", "min", "max", "first_value", "last_value"}
"""Functions that look at a part of their partition."""


@dataclass(frozen=True, kw_only=True)
class Order:
    """One key of ORDER BY."""

    expression: Expression
    descending: bool = False
    nulls: Literal["first", "last"] = "last"


@dataclass(frozen=True, kw_only=True)
class WindowFrame:
    """The rows from `first` to `last`, counted from the row itself; None is as far as the partition goes. With `peers`
    rows that stand equal in the order are in it together (RANGE)."""

    first: int | None = None
    last: int | None = None
    peers: bool = False


@dataclass(frozen=True, kw_only=True)
class WindowCall:
    """`function` over the rows with equal `partition`, in `order`, within `frame` where the function has one."""

    name: str
    function: str
    facts: Facts
    arguments: tuple[Expression, ...] = ()
    partition: tuple[Expression, ...] = ()
    order: tuple[Order, ...] = ()
    frame: WindowFrame = WindowFrame()
    assumed: bool = field(default=False, metadata=IF_GIVEN)  # as of a SubAggregate

    @property
    def expressions(self) -> tuple[Expression, ...]:
        """All that it computes of a row."""
        return (*self.arguments, *self.partition, *(by.expression for by in self.order))
