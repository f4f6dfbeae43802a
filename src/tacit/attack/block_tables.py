"""Tables of a census block: for some groups of people their number, mean age and median age; small numbers withheld."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import mean, median
from typing import Any

from tacit.base import InputError

__all__ = ["Domain", "Group", "Person", "Row", "in_group", "publish"]

Domain = Mapping[str, Sequence[Any]]  # every column with its possible values; "age" is one of them
Person = Mapping[str, Any]
Group = Mapping[str, Any]  # a column with its value, or with (least, most)


@dataclass(frozen=True)
class Row:
    """What is published of one group. A count of None is withheld: it is 1 to `withheld`."""

    group: Group
    count: int | None
    mean: float | None = None
    median: float | None = None
    withheld: int = 2
    places: int = 1

    def __post_init__(self) -> None:
        if self.count is None and (self.mean is not None or self.median is not None):
            raise InputError(f"the row of {dict(self.group)} has an average of a number that is withheld")
        if self.median is not None and 2 * self.median != int(2 * self.median):
            raise InputError(f"the median of {dict(self.group)} must be whole, or half way between two whole ages")


def in_group(person: Person, group: Group) -> bool:
    """Whether a person is counted in a group."""
    for column, wanted in group.items():
        value = person[column]
        if not (wanted[0] <= value <= wanted[1] if isinstance(wanted, tuple) else value == wanted):
            return False
    return True


def publish(
    people: Sequence[Person], groups: Sequence[Group], *, ages: Sequence[Group] = (), places: int = 1, withhold: int = 0
) -> list[Row]:
    """Exact tables: a count for each of `groups`, mean and median age too for those of `ages`.

    Counts of 1 to `withhold` are withheld, as offices did to protect the few. Empty groups are published as such.
    """
    rows = []
    for group in (*groups, *ages):
        found = [person["age"] for person in people if in_group(person, group)]
        if 0 < len(found) <= withhold:
            rows.append(Row(group, None, withheld=withhold))
        elif found and group in ages:
            rows.append(Row(group, len(found), round(mean(found), places), float(median(found)), places=places))
        else:
            rows.append(Row(group, len(found)))
    return rows
