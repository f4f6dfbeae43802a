"""What is known of a column or an expression without looking at a single row."""

from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from enum import StrEnum
from fractions import Fraction
from math import ceil, floor

from tacit.base import InputError

__all__ = ["MOST_VALUES", "WHOLE", "Facts", "Type", "Value", "domain_of", "exact_step"]

Value = bool | int | Fraction | str | date | datetime | None
"""A constant of a query or a key of a group; numbers are exact."""

WHOLE = 2**53  # up to here every whole number is a double
MOST_VALUES = 1_000_000  # of a domain that is enumerated


class Type(StrEnum):
    """The few types that mean the same in every engine."""

    BOOLEAN = "boolean"
    INTEGER = "integer"  # whole numbers up to 2^53 in size, exact in arithmetic; beyond they are numbers
    NUMBER = "number"  # double precision in the engine, put on a lattice before anything is added up
    TEXT = "text"
    DATE = "date"  # proleptic Gregorian, years 1 to 9999
    TIMESTAMP = "timestamp"  # without time zone, microseconds, years 1 to 9999

    @property
    def numeric(self) -> bool:
        return self in (Type.INTEGER, Type.NUMBER)

    @property
    def temporal(self) -> bool:
        return self in (Type.DATE, Type.TIMESTAMP)


@dataclass(frozen=True, kw_only=True)
class Facts:
    """Type, range, domain and whether NULL can occur: true of every row whatever the data, since reading enforces it.

    `low` and `high` bound numbers, dates and timestamps; `step` says all values are multiples of it; `domain` lists
    every value that can occur (NULL apart), in the order groups are shown. `why` is what a person should declare when a
    fact is missing, in words. `typical` is no fact but a public guess of a usual number, on which only errors depend.

    An engine holds numbers as doubles, and a fact speaks of them so: a value v has double(low) ≤ v ≤ double(high), and
    is the double of one in the domain. A step that is a whole number of 1/2^k is exact (see `exact_step`); of another,
    such as 1/100, values are multiples up to the rounding of double arithmetic, and nothing private rests on it.
    """

    type: Type
    low: Value = None
    high: Value = None
    step: Fraction | None = None
    domain: tuple[Value, ...] | None = None
    nullable: bool = True
    why: str = ""
    typical: Fraction | None = None

    def __post_init__(self) -> None:
        if self.low is not None and self.high is not None and self.low > self.high:  # type: ignore[operator]  # one type
            raise InputError(f"the range {self.low}..{self.high} is reversed")

    @property
    def bounded(self) -> bool:
        return self.low is not None and self.high is not None

    def but(self, **changes: object) -> "Facts":
        return replace(self, **changes)  # type: ignore[arg-type]  # the names are checked by replace itself


def exact_step(facts: Facts) -> Fraction | None:
    """A step of which every value is a multiple to the last bit, so that what is not 0 is at least a step in size."""
    if facts.type is Type.INTEGER:
        return facts.step if facts.step is not None and facts.step.denominator == 1 else Fraction(1)
    if facts.type is not Type.NUMBER or facts.step is None or not facts.bounded:
        return None
    dyadic = facts.step.denominator & (facts.step.denominator - 1) == 0
    largest = max(abs(_number(facts.low)), abs(_number(facts.high)))
    return facts.step if dyadic and facts.step.denominator <= WHOLE and largest <= WHOLE * facts.step else None


def domain_of(facts: Facts, most: int = MOST_VALUES) -> tuple[Value, ...] | None:
    """Every value that can occur, NULL apart, where there are at most `most`: listed, or counted out between bounds."""
    if facts.domain is not None:
        return facts.domain if len(facts.domain) <= most else None
    if facts.type is Type.BOOLEAN:
        return (False, True) if most >= 2 else None
    if not facts.bounded:
        return None
    if facts.type is Type.DATE:
        low, high = facts.low, facts.high
        assert isinstance(low, date)  # a range of dates is made of dates
        assert isinstance(high, date)
        days = (high - low).days
        return tuple(low + timedelta(days=i) for i in range(days + 1)) if days < most else None
    step = exact_step(facts)
    if step is None:
        return None
    first, last = ceil(_number(facts.low) / step), floor(_number(facts.high) / step)
    if last - first >= most:
        return None
    if facts.type is Type.INTEGER:
        return tuple(i * int(step) for i in range(first, last + 1))
    return tuple(i * step for i in range(first, last + 1))


def _number(value: Value) -> Fraction:
    assert isinstance(value, int | Fraction)  # a range of numbers is made of numbers
    return Fraction(value)
