"""Find a person among anonymous records of many ratings, knowing a few of them roughly.

The scoreboard of Narayanan and Shmatikov (2008): rare items weigh more, near ratings and dates score more, and a record
is named only if its score stands out from the next by `eccentricity` standard deviations.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from tacit.attack.population import Chance, Data, Floats, Integers, chance, chosen, encoded, numeric, table_of
from tacit.attack.registry import Attempt, Outcome, Progress, silent
from tacit.base import InputError
from tacit.session.single import ask

__all__ = ["Aux", "Ratings", "RecordMatch", "ratings", "ratings_of", "stage"]

ECCENTRICITY = 1.5
RATING, DAYS = 1.5, 30.0  # how far off a rating or date may be before it scores e times less


@dataclass(frozen=True)
class Aux:
    """What is known of one person: items, and about what rating they were given and when, in days."""

    items: Sequence[Any]
    ratings: Sequence[float]
    days: Sequence[float] | None = None


@dataclass(frozen=True)
class RecordMatch:
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

    def find(self, aux: Aux, *, eccentricity: float = ECCENTRICITY) -> RecordMatch:
        """The record that fits `aux` best, and whether it stands out."""
        scores = self.scores(aux)
        if len(scores) < 2:
            raise InputError("with a single record there is nobody to tell it from")
        best = int(scores.argmax())
        spread = float(scores.std())
        second = float(np.partition(scores, -2)[-2])
        found = (float(scores[best]) - second) / spread if spread > 0 else 0.0
        return RecordMatch(self.people[best], found, found >= eccentricity)


def ratings_of(data: Data, *, person: str, item: str, rating: str, day: str | None = None) -> Ratings:
    """A table of ratings, one row for each, whose columns have these names; `day` counts days."""
    table = table_of(data)
    chosen(table, [person, item, rating, *([day] if day else [])], "columns")
    who, what = encoded(table.column(person)), encoded(table.column(item))
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
    if not numeric(column) or column.null_count:
        raise InputError(f'"{name}" must hold numbers, none of them missing')
    return np.asarray(column.to_numpy().astype(float))


SPAN = 2000  # days
OFF = 14  # days by which dates are known
HALF = 0.5
STANDS_OUT = 4.0  # with so few people the published 1.5 names many who are not there
SHELF = 50  # films in a record, about
KNOWN = (2, 4, 6, 8)


def ratings(*, people: int, items: int, dice: Chance) -> pa.Table:
    """Made-up ratings: few films are seen by many and many by few, and each person has a taste and a time."""
    popular = 1 / np.arange(10.0, items + 10) ** 0.9
    popular /= popular.sum()
    counts = np.clip(dice.lognormal(3.6, 0.7, people).astype(np.int64), 12, items // 4)
    quality = dice.normal(3.4, 0.6, items)
    who = np.repeat(np.arange(people), counts)
    what = np.concatenate([dice.choice(items, count, replace=False, p=popular) for count in counts])
    stars = np.rint(np.clip(quality[what] + dice.normal(0, 1, len(what)), 1, 5)).astype(np.int64)
    day = (dice.uniform(0, SPAN, people)[who] + dice.exponential(200, len(what))) % SPAN
    return pa.table({"person": who, "item": what, "rating": stars, "day": day.astype(np.int64)})


def known_of(table: pa.Table, person: int, count: int, wrong: int, dice: Chance) -> tuple[Aux, set[int]]:
    """A few ratings of one person, `wrong` of them about films never seen, dates off by days; and the other films."""
    mine = table.filter(pa.array(table.column("person").to_numpy() == person))
    order = dice.permutation(mine.num_rows)[:count]
    items, stars, days = (mine.column(name).to_numpy().copy() for name in ("item", "rating", "day"))
    rest = set(items.tolist()) - set(items[order].tolist())
    taken, given = items[order], np.clip(stars[order] + dice.integers(-1, 2, count), 1, 5)
    for place in range(wrong):
        taken[place] = dice.choice(table.column("item").to_numpy())
    about = days[order] + dice.integers(-OFF, OFF + 1, count)
    return Aux(taken.tolist(), given.tolist(), about.tolist()), rest


def stage(
    *,
    seed: int = 1,
    people: int = 4000,
    items: int = 1500,
    targets: int = 300,
    epsilon: float = 1.0,
    progress: Progress = silent,
) -> Outcome:
    """As many targets are in the release as are not, and these must not be named; tacit has no records to find."""
    dice = chance(seed)
    table = ratings(people=people, items=items, dice=dice)
    hidden = people // 20  # known people who are not in the release
    inside = table.filter(pa.array(table.column("person").to_numpy() >= hidden))
    released = ratings_of(inside, person="person", item="item", rating="rating", day="day")
    guess = ratings_of(
        _rebuilt(inside, people - hidden, items, chance(seed + 1), epsilon),
        person="person",
        item="item",
        rating="rating",
    )
    films = [_films(released), _films(guess)]
    most_counted = np.argsort(-np.diff(guess.starts), kind="stable")[:SHELF]
    shelf = {item for item, place in guess.places.items() if place in set(most_counted.tolist())}
    luck = {"inside": 0.0, "outside": 0.0}
    found: dict[tuple[str, int], int] = {}
    alarms = {"release": 0, "private": 0}
    for step, count in enumerate(KNOWN):
        wrong = count // 4
        for number in range(targets):
            aux, rest = known_of(table, hidden + number, count, wrong, dice)
            stranger, theirs = known_of(table, number % hidden, count, wrong, dice)
            for group, films_left in zip(luck, (rest, theirs), strict=True):
                luck[group] += len(shelf & films_left) / max(1, len(films_left)) / targets / len(KNOWN)
            for side, book, seen in zip(alarms, (released, guess), films, strict=True):
                verdict = book.find(aux, eccentricity=STANDS_OUT)
                shared = len(seen.get(verdict.person, set()) & rest) / max(1, len(rest))
                found[side, count] = found.get((side, count), 0) + (verdict.named and shared >= HALF)
                alarms[side] += book.find(stranger, eccentricity=STANDS_OUT).named and count == KNOWN[-1]
        progress((step + 1) / len(KNOWN))
    most = KNOWN[-1]
    against = "ratings without names", f"tacit's counts and averages at ε = {epsilon:g}"

    def draw() -> Any:
        from tacit.plot import LabelledCurve, curves

        lines = []
        for side, label in zip(alarms, against, strict=True):
            tries = [Attempt.counted(label, found[side, count], targets) for count in KNOWN]
            ends = [it.low for it in tries], [it.high for it in tries]
            lines.append(LabelledCurve(label, KNOWN, [it.success for it in tries], *ends))
        title = ("Knowing a few ratings, up to a quarter of them wrong", f"each within a star and {OFF} days")
        return curves(
            lines, title=title, axes=("ratings known of a person", "people whose record is found"), chance=0.0
        )

    return Outcome(
        name="sparse",
        headline="A few ratings are a fingerprint",
        measure=f"people whose record is found, {most} ratings being known, {most // 4} of them wrong",
        chance=0.0,
        undefended=Attempt.counted(against[0], found["release", most], targets),
        defended=Attempt.counted(against[1], found["private", most], targets),
        remarks=(
            f"people who are not in the release are named in {alarms['release'] / targets:.1%} of attempts",
            f"private counts and averages of {items:,} films cost ε = {epsilon:g} and δ = 10⁻⁷ in all, however many "
            "one person rated; the attacker draws records from them and searches these, a record counting as found "
            "if it holds half of what was not known",
            f"the {SHELF} films most counted hold {luck['inside']:.1%} of what was not known of people in the release, "
            f"and {luck['outside']:.1%} of people who are not in it",
        ),
        facts={"epsilon": epsilon, "people": people, "items": items, "targets": targets, "known": list(KNOWN)}
        | {side: [found[side, count] for count in KNOWN] for side in alarms}
        | {"false_alarms": alarms, "popular": luck},
        draw=draw,
    )


def _rebuilt(table: pa.Table, people: int, items: int, dice: Chance, epsilon: float) -> pa.Table:
    """The best records an attacker can draw from private counts and averages of each film."""
    answer = ask(
        table,
        "SELECT item, COUNT(*) AS many, AVG(rating) AS mean FROM data GROUP BY item",
        unit_column="person",
        group_keys={"item": list(range(items))},
        bounds={"rating": (1, 5)},
        epsilon=epsilon,
    ).table.drop_null()
    many, mean = np.zeros(items), np.full(items, 3.0)
    place = answer.column("item").to_numpy()
    many[place] = answer.column("many").to_numpy().clip(0)
    mean[place] = answer.column("mean").to_numpy().clip(1, 5)
    counts = np.rint(np.minimum(many, people)).astype(np.int64)
    what = np.repeat(np.arange(items), counts)
    who = np.concatenate([dice.permutation(people)[:count] for count in counts])
    return pa.table({"person": who, "item": what, "rating": mean[what]})


def _films(book: Ratings) -> dict[Any, set[Any]]:
    """The items of each person."""
    items = np.repeat(np.array(list(book.places)), np.diff(book.starts)).tolist()
    found: dict[Any, set[Any]] = {}
    for who, what in zip(book.person.tolist(), items, strict=True):
        found.setdefault(book.people[who], set()).add(what)
    return found
