"""Microdata from published tables: the people of a census block, one by one, from its statistics.

Each table is an equation for how many people there are of each kind. There are few people and many tables, so often one
block alone fits: Garfinkel, Abowd and Martindale (2018); in 2019 the Census Bureau did it to its own tables of 2010.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import exp
from statistics import mean, median
from typing import Any

import numpy as np
import pyarrow as pa
from scipy.optimize import Bounds, LinearConstraint, milp

from tacit.attack.population import Array, Chance, chance
from tacit.attack.registry import Attempt, Outcome, Progress, bars, silent
from tacit.base import InputError, TacitError
from tacit.policy import Currency
from tacit.session.single import EACH_ROW, OneTable

__all__ = [
    "CensusBlock",
    "Domain",
    "Group",
    "Person",
    "Programme",
    "Row",
    "consistent",
    "fitted",
    "in_group",
    "overlap",
    "private_tables",
    "publish",
    "rebuild",
    "stage",
]

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


SECONDS = 60.0


class Programme:
    """Integer unknowns with bounds, sums of them with bounds, and a price to make small; HiGHS solves it.

    The first unknowns are how often each kind of person of `domain` occurs, at most `people` times.
    """

    def __init__(self, domain: Domain, people: int) -> None:
        if "age" not in domain or any(not values for values in domain.values()):
            raise InputError('the domain must list the possible values of each column, and "age" among them')
        self.kinds: list[Person] = [dict(zip(domain, values, strict=True)) for values in product(*domain.values())]
        self.ages = np.array([kind["age"] for kind in self.kinds])
        self.people = people
        self._unknown: list[tuple[float, float, int]] = [(people, 0.0, 1)] * len(
            self.kinds
        )  # most, price, whether whole
        self._rows: list[tuple[Any, Any, float, float]] = []

    def unknown(self, high: float, *, price: float = 0.0, whole: bool = True) -> int:
        """One more unknown in [0, high]."""
        self._unknown.append((high, price, int(whole)))
        return len(self._unknown) - 1

    def require(self, places: Any, weights: Any, low: float, high: float) -> None:
        """low ≤ Σ weight · unknown ≤ high."""
        self._rows.append((np.asarray(places, dtype=np.int64), weights, low, high))

    def group(self, group: Any) -> Array:
        """The places of the kinds in a group."""
        return np.array([place for place, kind in enumerate(self.kinds) if in_group(kind, group)], dtype=np.int64)

    def solve(self) -> Array | None:
        """How many there are of each kind, at the least price; None if nothing fits."""
        high, price, whole = np.array(self._unknown).T
        matrix = np.zeros((len(self._rows), len(high)))
        for row, (places, weights, *_) in zip(matrix, self._rows, strict=True):
            row[places] = weights
        *_, least, most = zip(*self._rows, strict=True)
        found = milp(
            price,
            integrality=whole,
            bounds=Bounds(0, high),
            constraints=LinearConstraint(matrix, least, most),
            options={"time_limit": SECONDS},
        )
        if found.status == 2:
            return None
        if found.x is None or found.status != 0:
            raise TacitError(f"the integer programme was not solved in {SECONDS:g} seconds: take a smaller block")
        return np.rint(found.x[: len(self.kinds)]).astype(int)

    def block(self, counts: Array) -> tuple[Person, ...]:
        """The people of whom there are so many of each kind."""
        return tuple(kind for kind, count in zip(self.kinds, counts, strict=True) for _ in range(int(count)))


def consistent(rows: Sequence[Row], domain: Domain) -> Programme:
    """The programme whose solutions are the blocks that would have been published as `rows`, and no others."""
    totals = [row.count for row in rows if not row.group and row.count is not None]
    if not totals:
        raise InputError("the tables must say how many people there are: a row of the empty group {} with a count")
    programme = Programme(domain, totals[0])
    for row in rows:
        places = programme.group(row.group)
        if row.count is None:
            programme.require(places, 1, 1, row.withheld)
            continue
        programme.require(places, 1, row.count, row.count)
        if row.mean is not None:
            half = 0.5 * 10.0**-row.places + 1e-9
            total, slack = row.mean * row.count, half * row.count
            programme.require(places, programme.ages[places], total - slack, total + slack)
        if row.median is not None:
            _middle(programme, places, row.count, row.median)
    return programme


def _middle(programme: Programme, places: Array, count: int, median: float) -> None:
    """The middle age is `median`; of an even number, the two in the middle have it as their mean."""
    ages, position = programme.ages[places], (count + 1) // 2

    def at_most(age: float) -> Array:
        return places[ages <= age]

    if count % 2:
        programme.require(at_most(median), 1, position, count)
        programme.require(at_most(median - 1), 1, 0, position - 1)
        return
    # which pair it is, is a choice: one binary for the lower of each, and the sums hold only where it is 1
    lows = [int(age) for age in np.unique(ages[ages <= median]) if 2 * median - age in ages]
    chosen = [programme.unknown(1) for _ in lows]
    programme.require(chosen, 1, 1, 1)
    for low, choice in zip(lows, chosen, strict=True):
        for age, place in ((low, position), (int(2 * median) - low, position + 1)):
            below, upto = at_most(age - 1), at_most(age)
            programme.require([*upto, choice], [*np.ones(len(upto)), -place], 0, count)
            spare = count - place + 1
            programme.require([*below, choice], [*np.ones(len(below)), spare], 0, place - 1 + spare)


@dataclass(frozen=True)
class CensusBlock:
    """People that fit the tables. Every block that fits, the true one too, has at least `least` of them."""

    people: tuple[Person, ...]
    least: int

    @property
    def unique(self) -> bool:
        return self.least == len(self.people)


def rebuild(rows: Sequence[Row], domain: Domain) -> CensusBlock:
    """A block that would be published as `rows`, and how far another one that would be can differ from it.

    Two integer programmes: the second asks for the block with the fewest people in common with the first.
    """
    programme = consistent(rows, domain)
    counts = programme.solve()
    if counts is None:
        raise InputError("no block of people fits these tables: a row is wrong, or the domain too narrow")
    for place in np.flatnonzero(counts):  # min(x, count) is priced at each kind that occurs
        count = int(counts[place])
        shared = programme.unknown(count, price=1.0)
        enough = programme.unknown(1)  # whether x may pass count: then all of count are shared
        programme.require([shared, place, enough], [1, -1, programme.people], 0, np.inf)
        programme.require([shared, enough], [1, -count], 0, np.inf)
    other = programme.solve()
    assert other is not None  # `counts` fits
    people = programme.block(counts)
    return CensusBlock(people=people, least=overlap(people, programme.block(other)))


def overlap(one: Sequence[Person], other: Sequence[Person]) -> int:
    """How many people both have, each counted as often as it occurs in both."""
    first, second = (Counter(tuple(sorted(person.items())) for person in block) for block in (one, other))
    return (first & second).total()


AGES, SEXES, RACES = range(90), ("female", "male"), ("black", "white", "other")
DECADES = range(9)
DOMAIN = {"age": AGES, "sex": SEXES, "race": RACES}
MOST = 15  # people in a block, publicly known
BY_AGE = "SELECT block, sex, decade, COUNT(*) AS n FROM people GROUP BY block, sex, decade"
BY_RACE = "SELECT block, sex, race, COUNT(*) AS n, SUM(age) AS total FROM people GROUP BY block, sex, race"
LABELS = {"exact": "exact tables: rebuilt", "sure": "exact tables: proven", "tacit": "tacit's tables: rebuilt"}
Noisy = list[tuple[Group, float, float | None]]


def stage(
    *,
    seed: int = 1,
    blocks: int = 20,
    epsilon: float = 1.0,
    progress: Progress = silent,
) -> Outcome:
    """Blocks of 4 to 9 people: their exact tables, and tacit's with `epsilon` for all tables together."""
    if blocks < 1:
        raise InputError("the stage needs at least one block")
    source = chance(seed)
    truth = [_block(source, int(source.integers(4, 10))) for _ in range(blocks)]
    private = private_tables(truth, epsilon=epsilon)
    found = dict.fromkeys(LABELS, 0)
    unique, everybody = 0, sum(len(people) for people in truth)
    for number, people in enumerate(truth):
        block = rebuild(publish(people, BY_DECADE, ages=WITH_AGES), DOMAIN)
        found["exact"] += overlap(block.people, people)
        found["sure"] += block.least
        unique += block.unique
        found["tacit"] += overlap(fitted(private[number]), people)
        progress((number + 1) / blocks)
    guesses = [overlap(_block(source, len(people)), people) / len(people) for people in truth for _ in range(50)]
    blind = float(np.mean(guesses))
    return Outcome(
        name="microdata",
        headline="The people behind the tables, one by one",
        measure=f"share of {everybody} people in {blocks} blocks rebuilt exactly: age in years, sex and race",
        chance=blind,
        undefended=Attempt.counted("exact tables of each block", found["exact"], everybody),
        defended=Attempt.counted(f"tacit, epsilon {epsilon:g} for all tables", found["tacit"], everybody),
        remarks=(
            f"{unique} of {blocks} blocks have only one solution, proven by a second programme; the attacker knows, "
            f"without the truth, that at least {found['sure']} of {everybody} people are right",
            f"tacit spends epsilon {epsilon:g} on both its tables of all blocks together, so nobody is rebuilt "
            f"more than e^{epsilon:g} = {exp(min(epsilon, 700)):.3g} times as often as without being in the data",
            "tacit's tables hold counts and sums of ages, and the attack takes the block that fits them best; the "
            "exact ones hold medians as well",
        ),
        facts={"blocks": blocks, "people": everybody, "unique": unique, "epsilon": epsilon, **found},
        draw=bars(
            [("", Attempt.counted(label, found[name], everybody), name == "tacit") for name, label in LABELS.items()],
            title=(
                "People rebuilt from the tables of their block",
                "proven: every solution shares so many with this one",
            ),
            axis=f"share of {everybody} people",
            chance=blind,
        ),
    )


def private_tables(blocks: Sequence[Sequence[Person]], *, epsilon: float) -> list[Noisy]:
    """Two tables by tacit of all blocks at once, half of `epsilon` each: a block's groups, counts and sums of ages."""
    rows = [{"block": number, **person} for number, people in enumerate(blocks) for person in people]
    columns: dict[str, Any] = {name: [row[name] for row in rows] for name in ("block", "sex", "race", "age")}
    table = pa.table(columns | {"decade": [row["age"] // 10 for row in rows]})
    keys: dict[str, Sequence[Any]] = {"block": range(len(blocks)), "sex": SEXES, "race": RACES, "decade": DECADES}
    one = OneTable(
        data=table,
        unit_column=EACH_ROW,
        bounds={"age": (0, 89)},
        group_keys=keys,
        table="people",
        currency=Currency.EPSILON,
        budget=epsilon,
    )
    told: list[Noisy] = [[] for _ in blocks]
    with one.session() as session:
        by_age, by_race = (session.ask(sql, epsilon=epsilon / 2).table.to_pylist() for sql in (BY_AGE, BY_RACE))
    # columns may hold NULL as far as was declared, so there is noise about that too; everybody knows there are none
    for row in by_age:
        if None not in (row["block"], row["sex"], row["decade"]):
            told[row["block"]].append((_decade(row["sex"], row["decade"]), row["n"], None))
    for row in by_race:
        if None not in (row["block"], row["sex"], row["race"]):
            told[row["block"]].append(({"sex": row["sex"], "race": row["race"]}, row["n"], row["total"]))
    return told


def fitted(tables: Noisy) -> tuple[Person, ...]:
    """The block that fits noisy tables best: the least sum of errors, each in units of its own noise."""
    programme = Programme(DOMAIN, MOST)
    programme.require(np.arange(len(programme.kinds)), 1, 1, MOST)
    for group, count, total in tables:
        places = programme.group(group)
        told = [(np.ones(len(places)), count, 1.0)]
        if total is not None:
            told.append((programme.ages[places], total, 1 / max(AGES)))
        for weights, value, price in told:  # what is over, and what is under
            over, under = (programme.unknown(np.inf, price=price, whole=False) for _ in range(2))
            programme.require([*places, over, under], [*weights, -1, 1], value, value)
    found = programme.solve()
    assert found is not None  # one person always fits
    return programme.block(found)


def _decade(sex: str, decade: int) -> Group:
    return {"sex": sex, "age": (10 * decade, 10 * decade + 9)}


BY_DECADE = [_decade(sex, decade) for sex in SEXES for decade in DECADES]
WITH_AGES: list[Group] = [  # their mean and median age is published
    {},
    *({"sex": sex} for sex in SEXES),
    *({"race": race} for race in RACES),
    *({"sex": sex, "race": race} for sex in SEXES for race in RACES),
]


def _block(source: Chance, size: int) -> list[Person]:
    ages, sexes = source.integers(0, len(AGES), size), source.integers(0, 2, size)
    races = source.choice(len(RACES), size, p=[0.3, 0.5, 0.2])
    return [
        {"age": int(age), "sex": SEXES[sex], "race": RACES[race]}
        for age, sex, race in zip(ages, sexes, races, strict=True)
    ]
