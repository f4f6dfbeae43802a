"""A question as it was lowered from SQL: rows, groups, aggregates, and what is made of them after release."""

from dataclasses import dataclass, field, replace
from fractions import Fraction

from tacit.plan.bounded import Key
from tacit.plan.expression import Column, Expression
from tacit.plan.node import Node
from tacit.plan.window import Order

__all__ = ["FUNCTIONS", "INTERVAL_ENDS", "LISTED", "Aggregate", "LoweredQuestion", "Options", "Order"]

FUNCTIONS = (
    "count",  # of rows, or of values that are not NULL where there is an argument
    "count_units",  # COUNT(DISTINCT unit)
    "count_distinct",  # COUNT(DISTINCT x), `cap` values of each unit
    "sum_distinct",  # SUM(DISTINCT x), of the same pairs
    "sum",
    "avg",
    "var_samp",
    "var_pop",
    "stddev_samp",
    "stddev_pop",
    "covar_samp",
    "covar_pop",
    "corr",
    "min",  # an extreme quantile, labelled as such
    "max",
    "quantile",  # of order `fraction`; the median is one half
    "mode",  # of a value with a domain
    "histogram",  # counts over a domain or over `cells` of a range, as a list
)
LISTED = {"mode", "histogram"}
INTERVAL_ENDS = {"dp_interval_low": " low", "dp_interval_high": " high"}
"""What is put after an aggregate's name for the ends of its interval: no name of a column has a space."""


@dataclass(frozen=True, kw_only=True)
class Aggregate:
    """One aggregate of the SELECT list (or of HAVING, ORDER BY), named uniquely in the question."""

    name: str
    function: str
    arguments: tuple[Expression, ...] = ()
    fraction: Fraction | None = None  # of a quantile
    discrete: bool = False  # PERCENTILE_DISC: a value of the lattice
    cap: int | None = None
    top: int | None = None  # of mode: how many
    cells: int | None = None  # of a histogram over a range
    group_bounds: tuple[Fraction, Fraction] | None = None  # contribution_bounds_per_group
    text: str = field(default="", compare=False)  # as the analyst wrote it, for errors and quotes

    @property
    def is_list(self) -> bool:
        """Whether its value in a group is a list: counts, or the most frequent values."""
        return self.function == "histogram" or self.top is not None


@dataclass(frozen=True, kw_only=True)
class Options:
    """What SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (…) said; None is not said."""

    epsilon: Fraction | None = None
    rho: Fraction | None = None
    mu_squared: Fraction | None = None
    delta: Fraction | None = None
    max_groups: int | None = None
    max_rows: int | None = None  # of one unit, that count in full
    min_units: int | None = None  # groups of which fewer are counted, with noise, are left out


@dataclass(frozen=True, kw_only=True)
class LoweredQuestion:
    """Everything that was asked. Columns of `output`, `having` and `order` are names of keys and aggregates.

    Where it is made of several answers, or looks at all rows of one, `after` says how: its leaves are the answers of
    this question and of those `beside` it, which are measured and paid for together.
    """

    source: Node
    keys: tuple[Key, ...]
    aggregates: tuple[Aggregate, ...]
    output: tuple[tuple[str, Expression], ...]
    having: Expression | None = None
    order: tuple[Order, ...] = ()
    limit: int | None = None
    offset: int = 0
    distinct: bool = False
    options: Options = field(default_factory=Options)
    present: bool = False  # only groups whose count is above zero for sure, of all that were declared
    beside: "tuple[LoweredQuestion, ...]" = ()
    after: Node | None = None

    @property
    def measured(self) -> "tuple[LoweredQuestion, ...]":
        """The questions whose answers it is made of, by their numbers."""
        return (replace(self, beside=(), after=None), *self.beside)

    @property
    def tables(self) -> frozenset[str]:
        """The declared tables that are read."""
        return self.source.tables.union(*(each.source.tables for each in self.beside))

    @property
    def parts(self) -> int:
        """How many parts it is measured in: lists of counts have one of their own."""
        return 1 + sum(each.function in LISTED for each in self.aggregates)

    @property
    def columns(self) -> tuple[tuple[str, str], ...]:
        """Names and types of what it gives; a list is written with `[]` after what is in it."""
        if self.after is not None:
            return tuple((name, facts.type.value) for name, facts in self.after.schema.items())
        lists = {each.name: each.function for each in self.aggregates if each.is_list}
        found = []
        for name, made in self.output:
            kind = made.facts.type.value
            if isinstance(made, Column) and made.name in lists:
                kind = "integer[]" if lists[made.name] == "histogram" else f"{kind}[]"
            found.append((name, kind))
        return tuple(found)
