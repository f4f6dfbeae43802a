"""Find a person among anonymous records of many ratings, knowing a few of them roughly.

The scoreboard of Narayanan and Shmatikov (2008): rare items weigh more, near ratings and dates score more, and a record
is named only if its score stands out from the next by `eccentricity` standard deviations.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from tacit.attack.classes import Data, Integers, chosen, encoded, table_of
from tacit.attack.posterior import Floats
from tacit.base import InputError

__all__ = ["Aux", "Ratings", "Verdict", "ratings_of"]

ECCENTRICITY = 1.5
RATING, DAYS = 1.5, 30.0  # how far off a rating or date may be before it scores e times less


@dataclass(frozen=True)
class Aux:
    """What is known of one person: items, and about what rating they were given and when, in days."""

    items: Sequence[Any]
    ratings: Sequence[float]
    days: Sequence[float] | None = None


@dataclass(frozen=True)
class Verdict:
    """The best record, how far it stands out from the second in standard deviations, and whether that is enough."""

    person: Any
    eccentricity: float
    named: bool


@dataclass(frozen=True)
class Ratings:
    """A released table of ratings, ready to be searched: rows sorted by item, which start at `starts`."""

    people: tuple[Any, ...]
    places: dict[Any, int]
    person: Integers
    rating: Floats
    day: Floats | None
    starts: Integers

    def scores(self, aux: Aux) -> Floats:
        """The score of every person's record."""
        if len(aux.items) != len(aux.ratings) or (aux.days is not None and len(aux.days) != len(aux.items)):
            raise InputError("aux: each item needs a rating, and a day if days are known")
        total = np.zeros(len(self.people))
        for number, item in enumerate(aux.items):
            if item not in self.places:
                continue
            rows = slice(self.starts[self.places[item]], self.starts[self.places[item] + 1])
            near = np.exp(-np.abs(self.rating[rows] - aux.ratings[number]) / RATING)
            if aux.days is not None and self.day is not None:
                near = near + np.exp(-np.abs(self.day[rows] - aux.days[number]) / DAYS)
            total[self.person[rows]] += near / np.log(max(2, rows.stop - rows.start))
        return total

    def find(self, aux: Aux, *, eccentricity: float = ECCENTRICITY) -> Verdict:
        """The record that fits `aux` best, and whether it stands out."""
        scores = self.scores(aux)
        if len(scores) < 2:
            raise InputError("with a single record there is nobody to tell it from")
        best = int(scores.argmax())
        spread = float(scores.std())
        second = float(np.partition(scores, -2)[-2])
        found = (float(scores[best]) - second) / spread if spread > 0 else 0.0
        return Verdict(self.people[best], found, found >= eccentricity)


def ratings_of(data: Data, *, person: str, item: str, rating: str, day: str | None = None) -> Ratings:
    """A table of ratings, one row for each, whose columns have these names; `day` counts days."""
    table = table_of(data)
    chosen(table, [person, item, rating, *([day] if day else [])], "columns")
    who, what = encoded(table.column(person)), encoded(table.column(item))
    assert who.values is not None
    assert what.values is not None
    order = np.argsort(what.of, kind="stable")
    return Ratings(
        people=tuple(who.values.to_pylist()),
        places={value: place for place, value in enumerate(what.values.to_pylist())},
        person=who.of[order],
        rating=_numbers(table, rating)[order],
        day=None if day is None else _numbers(table, day)[order],
        starts=np.concatenate(([0], np.cumsum(np.bincount(what.of, minlength=what.size)))),
    )


def _numbers(table: pa.Table, name: str) -> Floats:
    column = table.column(name)
    if not (pa.types.is_integer(column.type) or pa.types.is_floating(column.type)) or column.null_count:
        raise InputError(f'"{name}" must hold numbers, none of them missing')
    found: Floats = column.to_numpy().astype(float)
    return found
