"""Blocks of made-up people, published exactly and by tacit, and rebuilt from both."""

from collections.abc import Callable, Mapping, Sequence
from math import exp
from typing import Any

import numpy as np
import pyarrow as pa

from tacit.attack.microdata import Group, Person, Programme, overlap, publish, rebuild
from tacit.attack.outcome import Attempt, Outcome
from tacit.attack.population import Chance, chance
from tacit.base import InputError
from tacit.session.single import EACH_ROW, OneTable

__all__ = ["fitted", "private_tables", "stage"]

AGES, SEXES, RACES = range(90), ("female", "male"), ("black", "white", "other")
DECADES = range(9)
DOMAIN = {"age": AGES, "sex": SEXES, "race": RACES}
MOST = 15  # people in a block, publicly known
BY_AGE = "SELECT block, sex, decade, COUNT(*) AS n FROM people GROUP BY block, sex, decade"
BY_RACE = "SELECT block, sex, race, COUNT(*) AS n, SUM(age) AS total FROM people GROUP BY block, sex, race"
Noisy = list[tuple[Group, float, float | None]]


def stage(
    *,
    seed: int = 1,
    blocks: int = 20,
    epsilon: float = 1.0,
    progress: Callable[[float], None] | None = None,
) -> Outcome:
    """Blocks of 4 to 9 people: their exact tables, and tacit's with `epsilon` for all tables together."""
    if blocks < 1:
        raise InputError("the stage needs at least one block")
    source = chance(seed)
    truth = [_block(source, int(source.integers(4, 10))) for _ in range(blocks)]
    private = private_tables(truth, epsilon=epsilon)
    found = {"exact": 0, "sure": 0, "tacit": 0}
    unique, everybody = 0, sum(len(people) for people in truth)
    for number, people in enumerate(truth):
        block = rebuild(publish(people, _by_age(), ages=_with_ages()), DOMAIN)
        found["exact"] += overlap(block.people, people)
        found["sure"] += block.least
        unique += block.unique
        found["tacit"] += overlap(fitted(private[number]), people)
        if progress is not None:
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
        draw=lambda: _draw(found, everybody, blind),
    )


def private_tables(blocks: Sequence[Sequence[Person]], *, epsilon: float) -> list[Noisy]:
    """Two tables by tacit of all blocks at once, half of `epsilon` each: a block's groups, counts and sums of ages."""
    rows = [{"block": number, **person} for number, people in enumerate(blocks) for person in people]
    columns: dict[str, Any] = {name: [row[name] for row in rows] for name in ("block", "sex", "race", "age")}
    table = pa.table(columns | {"decade": [row["age"] // 10 for row in rows]})
    keys: dict[str, Sequence[Any]] = {"block": range(len(blocks)), "sex": SEXES, "race": RACES, "decade": DECADES}
    one = OneTable(data=table, unit=EACH_ROW, bounds={"age": (0, 89)}, keys=keys, table="people", budget=epsilon)
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
        _near(programme, places, np.ones(len(places)), count, weight=1.0)
        if total is not None:
            _near(programme, places, programme.ages[places], total, weight=1 / max(AGES))
    found = programme.solve()
    assert found is not None  # one person always fits
    counts = np.rint(found[: len(programme.kinds)]).astype(int)
    return tuple(kind for kind, count in zip(programme.kinds, counts, strict=True) for _ in range(count))


def _near(programme: Programme, places: Any, weights: Any, value: float, *, weight: float) -> None:
    """Price |Σ weight · unknown − value|, as what is over and what is under."""
    over, under = (programme.unknown(np.inf, price=weight, whole=False) for _ in range(2))
    programme.require([*places, over, under], [*weights, -1, 1], value, value)


def _with_ages() -> list[Group]:
    """Groups whose mean and median age is published."""
    both = [{"sex": sex, "race": race} for sex in SEXES for race in RACES]
    return [{}, *({"sex": sex} for sex in SEXES), *({"race": race} for race in RACES), *both]


def _by_age() -> list[Group]:
    return [_decade(sex, decade) for sex in SEXES for decade in DECADES]


def _decade(sex: str, decade: int) -> Mapping[str, Any]:
    return {"sex": sex, "age": (10 * decade, 10 * decade + 9)}


def _block(source: Chance, size: int) -> list[Person]:
    ages, sexes = source.integers(0, len(AGES), size), source.integers(0, 2, size)
    races = source.choice(len(RACES), size, p=[0.3, 0.5, 0.2])
    return [
        {"age": int(age), "sex": SEXES[sex], "race": RACES[race]}
        for age, sex, race in zip(ages, sexes, races, strict=True)
    ]


def _draw(found: dict[str, int], everybody: int, blind: float) -> Any:
    from tacit.plot import Share, shares

    labels = {"exact": "exact tables: rebuilt", "sure": "exact tables: proven", "tacit": "tacit's tables: rebuilt"}
    bars = []
    for name, label in labels.items():
        attempt = Attempt.counted(label, found[name], everybody)
        bars.append(Share("", label, name == "tacit", attempt.success, attempt.low, attempt.high))
    return shares(
        bars,
        title=("People rebuilt from the tables of their block", "proven: every solution shares so many with this one"),
        axis=f"share of {everybody} people",
        chance=blind,
    )
