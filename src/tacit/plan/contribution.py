"""How much one unit may give: what the curator declared, what the query said, and what follows from the rows' shape."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from math import isqrt
from typing import Literal

from tacit.plan.node import Filter, Group, Join, Node, Project, Scan

__all__ = ["PRIVATE", "Contribution", "root_up", "rows_per_unit"]


PRIVATE = "private"


@dataclass(frozen=True, kw_only=True)
class Contribution:
    """What was declared of how much one unit may give, in the units of the measures themselves.

    `rows` is a clip norm for counts, and for whatever has none of its own: so many rows, each as large as one can be.
    `columns` are clip norms of sums over a column. Either may be "private": chosen by the query for a small share of
    its price. `max_groups` with `rows_per_group` or `per_group` bounds make clip norms in the way BigQuery's users
    know. `missing` is what to say when a clip is needed and nothing was declared.
    """

    rows: Fraction | Literal["private"] | None = None
    columns: Mapping[str, Fraction | Literal["private"]] = field(default_factory=dict)
    max_groups: int | None = None
    rows_per_group: int | None = None
    per_group: Mapping[str, tuple[Fraction, Fraction]] = field(default_factory=dict)
    missing: str = "nothing says how much one unit may count: declare clip_rows for its table in the policy"


def rows_per_unit(node: Node) -> int | None:
    """The most rows of `node` that one unit can own, where that is known in advance."""
    match node:
        case Scan():
            return 1 if node.unit is None else node.rows_per_unit
        case Filter() | Project():
            return rows_per_unit(node.below)
        case Group():
            return rows_per_unit(node.below) if node.keys else 1
        case Join():
            return rows_per_unit(node.left) if node.unique and node.left.private and not node.right.private else None
        case _:
            return None


def root_up(value: Fraction, digits: int = 12) -> Fraction:
    """A fraction just above the square root."""
    scaled = value * 10 ** (2 * digits)
    whole = -(-scaled.numerator // scaled.denominator)
    root = isqrt(whole)
    return Fraction(root + (root * root < whole), 10**digits)
