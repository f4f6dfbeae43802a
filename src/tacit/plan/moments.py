"""Aggregates of one or two values as sums of powers around the middle of their range, which need the least noise.

All moments of a value are whole numbers of the same size, `half` steps for half of the range, and rows count `half`
each. So one vector, one clip and one noise serve COUNT, SUM, AVG and VARIANCE of the same value together.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor

from tacit.base import PolicyError, RefusalKind, Refused
from tacit.base.problem import declare
from tacit.plan.bounded import Measure
from tacit.plan.expression import Column, Constant, Expression
from tacit.plan.facts import Facts, Type, Value
from tacit.plan.node import Node, scans_of
from tacit.plan.operation import call
from tacit.plan.question import Aggregate

__all__ = [
    "FINE",
    "MOST_STEPS",
    "PAIRS",
    "QUANTILES",
    "VARIANCES",
    "Grid",
    "coarse",
    "column_of",
    "families",
    "fraction_of",
    "grid_of",
    "moment",
    "number",
    "product",
    "range_of",
    "rows",
    "source_column",
    "values",
]

MOST_STEPS = 2**26  # of half a range: finer steps are merged, so that thousands of rows stay within a clip's largest
FINE = 2**18  # steps of half a range whose step nobody declared
LARGEST = Fraction(2) ** 480  # of a value, and the inverse of the least range: squares and steps of them are doubles


@dataclass(frozen=True)
class Grid:
    """The range of a value: middle ± half steps."""

    middle: Fraction
    step: Fraction
    half: int

    def round(self, near: Fraction, facts: Facts) -> "Grid":
        """The same steps round a number near `near`, as many as reach both ends of the range."""
        low, high = Fraction(facts.low), Fraction(facts.high)  # type: ignore[arg-type]  # numbers, as the type says
        middle = self.middle + self.step * floor((min(max(near, low), high) - self.middle) / self.step)
        return Grid(middle, self.step, ceil(max(high - middle, middle - low) / self.step))


def grid_of(value: Expression, what: str, *, half: int | None = None, least: int = 1) -> Grid:
    """The grid of a bounded value; an error that names the missing declaration if it has no bounds.

    With `half` the step is made to fit, so that two values have grids of the same size. Half of the range has `least`
    steps or more: clipping rounds toward zero, which should not be most of what a row counts.
    """
    facts = value.facts
    if not facts.type.numeric:
        raise Refused(
            f"{what} needs a number, and this is a {facts.type}: turn it into one, as in DATE_DIFF('day', DATE "
            "'2000-01-01', x) or LENGTH(x), or count its values with GROUP BY",
            kind=RefusalKind.UNSUPPORTED,
        )
    if not facts.bounded:
        raise PolicyError(
            f"{what} needs a value with known bounds: {facts.why or 'this expression has none'}; "
            f"{declare('declare bounds = [low, high] in the policy, ', '')}or write LEAST(GREATEST(x, low), high)"
        )
    low, high = Fraction(facts.low), Fraction(facts.high)  # type: ignore[arg-type]  # numbers, as the type says
    if max(abs(low), abs(high)) > LARGEST or 0 < high - low < 1 / LARGEST:
        raise PolicyError(
            f"{what} is over a range that doubles cannot divide into steps: bound the value more closely, as in "
            "LEAST(GREATEST(x, low), high)"
        )
    if half is not None:
        return Grid((low + high) / 2, (high - low) / (2 * half) or Fraction(1), half)
    step = facts.step
    if step is None or (high - low) / step > 2 * MOST_STEPS:
        step = _power((high - low) / (2 * FINE))
    # an odd number of steps has its middle between two of them: the step is halved
    steps = -(-(high - low) // step)
    if steps % 2:
        step, steps = step / 2, 2 * -(-(high - low) // step)
    found = max(1, steps // 2)
    finer = 1 << max(0, (-(-least // found) - 1).bit_length())
    return Grid(low + step * (steps // 2), step / finer, found * finer)


def coarse(step: Fraction, largest: Fraction, most: int) -> Fraction:
    """The step, or a power of two that makes at most so many steps of the largest value."""
    return step if largest <= most * step else 2 * _power(largest / most)


def _power(size: Fraction) -> Fraction:
    """The power of two at or below a positive size; one for a range that is a point."""
    if size <= 0:
        return Fraction(1)
    power = Fraction(2) ** (size.numerator.bit_length() - size.denominator.bit_length())
    return power if power <= size else power / 2


def number(value: Fraction | int) -> Constant:
    exact = Fraction(value)
    kind = Type.INTEGER if exact.denominator == 1 else Type.NUMBER
    return Constant(value=exact, facts=Facts(type=kind, low=exact, high=exact, nullable=False))


def rows(name: str, half: int = 1) -> Measure:
    """Each row counts `half`."""
    return Measure(name=name, low=half, high=half)


def values(name: str, *of: Expression, half: int = 1) -> Measure:
    """Each row in which every one of `of` has a value counts `half`."""
    there = [call("is_not_null", value) for value in of if value.facts.nullable]
    if not there:
        return rows(name, half)
    both = there[0]
    for more in there[1:]:
        both = call("and", both, more)
    counted = call("case", both, number(half), Constant(value=None, facts=number(half).facts.but(nullable=True)))
    return Measure(name=name, value=counted, low=half, high=half)


def centred(value: Expression, grid: Grid) -> Expression:
    return value if grid.middle == 0 else call("subtract", value, number(grid.middle))


def moment(name: str, value: Expression, grid: Grid, *, power: int = 1, beside: Expression | None = None) -> Measure:
    """(value − middle), or its square over half the range less a half, in −half..half steps (halved for the square).

    `beside` is another value that must be there too for the row to count.
    """
    shape = centred(value, grid)
    if power == 2:
        reach = number(grid.half * grid.step)
        shape = call(
            "subtract", call("divide", call("multiply", shape, shape), reach), number(grid.half * grid.step / 2)
        )
    low, high = (-grid.half, grid.half) if power == 1 else (-(grid.half // 2) - 1, grid.half // 2 + 1)
    return Measure(name=name, value=_if(beside, shape), step=grid.step, low=low, high=high)


def product(name: str, x: Expression, y: Expression, of_x: Grid, of_y: Grid) -> Measure:
    """(x − middle)(y − middle) over half of y's range: in −half..half steps of x."""
    shape = call("multiply", centred(x, of_x), call("divide", centred(y, of_y), number(of_y.half * of_y.step)))
    return Measure(name=name, value=shape, step=of_x.step, low=-of_x.half, high=of_x.half)


def _if(beside: Expression | None, value: Expression) -> Expression:
    if beside is None or not beside.facts.nullable:
        return value
    return call("case", call("is_not_null", beside), value, Constant(value=None, facts=value.facts.but(nullable=True)))


VARIANCES = {"var_samp", "var_pop", "stddev_samp", "stddev_pop"}
PAIRS = {"covar_samp", "covar_pop", "corr"}
QUANTILES = {"quantile", "min", "max"}


def families(
    asked: list[Aggregate], apart: Callable[[Expression], bool] = lambda _: False
) -> Iterator[tuple[tuple[Expression, ...], list[Aggregate]]]:
    """Aggregates by the values they are over. COUNT(*) joins a family of values that are always there, if there is one,
    but not the sums of a value that has a clip of its own (`apart`); each quantile's value, each pair, each distinct
    count and each sum with bounds per group, whose clip is its own, is a family by itself."""
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
        elif a.function in {"count_units", "count_distinct", "sum_distinct"}:
            kind = "distinct"
        elif a.group_bounds is not None:
            kind = f"{a.function} within {a.group_bounds}"
        found.setdefault((kind, arguments), []).append(a)
    counts = found.get(("moments", ()))
    if counts is not None:
        for (kind, arguments), family in found.items():
            if kind != "moments" or not arguments or ({a.function for a in family} == {"sum"} and apart(arguments[0])):
                continue
            if not arguments[0].facts.nullable and arguments[0].facts.bounded:
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
    return source_column(value, node) if value.facts.type.numeric else None


def source_column(value: Expression, node: Node) -> str | None:
    """The same of a column of any type."""
    if not isinstance(value, Column):
        return None
    sources = (source for scan in scans_of(node) for source in scan.columns)
    return next((source.column for source in sources if source.name == value.name), None)
