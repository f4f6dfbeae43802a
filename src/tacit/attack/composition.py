"""Break k-anonymity twice over: two releases, harmless each, whose possible secrets meet in one.

After Ganta, Kasiviswanathan and Smith (2008), whose two hospital tables are HOSPITALS.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tacit.attack.generalise import mondrian
from tacit.attack.hierarchy import Data, Integers, table_of
from tacit.attack.outcome import Attempt, Outcome
from tacit.attack.population import chance
from tacit.attack.posterior import Floats, evidence, private_counts, sure_and_right, suspects
from tacit.base import InputError

__all__ = ["HOSPITALS", "Intersection", "compose", "stage"]

ZIPS, AGES, SEXES = tuple(str(19100 + n) for n in range(12)), tuple(range(25, 75)), ("F", "M")
CONDITIONS = tuple(f"condition {n}" for n in range(1, 61))
COMMON = 1 / np.arange(10.0, 70) / (1 / np.arange(10.0, 70)).sum()  # some are common, many rare
KS = (4, 6)


def _hospital(*classes: tuple[str, str]) -> pa.Table:
    rows = [(age, condition) for age, listed in classes for condition in listed.split(", ")]
    ages, conditions = zip(*rows, strict=True)
    return pa.table(
        {"zip": ["130**"] * len(rows), "age": ages, "nationality": ["*"] * len(rows), "condition": conditions}
    )


HOSPITALS = (
    _hospital(
        ("<30", "AIDS, Heart Disease, Viral Infection, Viral Infection"),
        (">=40", "Cancer, Heart Disease, Viral Infection, Viral Infection"),
        ("30-39", "Cancer, Cancer, Cancer, Cancer"),
    ),
    _hospital(
        ("<35", "AIDS, Tuberculosis, Flu, Tuberculosis, Cancer, Cancer"),
        (">=35", "Cancer, Cancer, Cancer, Tuberculosis, Viral Infection, Viral Infection"),
    ),
)


@dataclass(frozen=True)
class Intersection:
    """`possible[i, v]` says whether every release leaves `values[v]` possible for person i; `alone[i]` is how many

    values the most telling release leaves by itself. A person in none of the rows of a release has nothing possible.
    """

    possible: NDArray[np.bool_]
    alone: Integers
    values: tuple[Any, ...]

    def of(self, person: int = 0) -> set[Any]:
        """What one person's secret may be."""
        return {value for value, may in zip(self.values, self.possible[person], strict=True) if may}

    @property
    def certain(self) -> NDArray[np.bool_]:
        """Whose secret is down to one value."""
        found: NDArray[np.bool_] = self.possible.sum(axis=1) == 1
        return found


def compose(
    releases: Sequence[Data], people: Data | Mapping[str, Any], quasi: Sequence[str], sensitive: str
) -> Intersection:
    """What all `releases` together leave possible for people who are in each of them with the same secret."""
    if not releases:
        raise InputError("releases is empty: at least one table is needed, and two for the attack to be one")
    found = [suspects(release, people, quasi, sensitive) for release in releases]
    values = tuple(dict.fromkeys(value for each in found for value in each.values))
    possible = np.ones((len(found[0].rows), len(values)), bool)
    alone = []
    for each in found:
        mine = np.zeros_like(possible)
        mine[:, [values.index(value) for value in each.values]] = each.rows > 0
        possible &= mine
        alone.append(mine.sum(axis=1))
    return Intersection(possible, np.min(alone, axis=0), values)


def patients(*, seed: int, both: int, each: int) -> tuple[pa.Table, pa.Table]:
    """Two made-up hospitals with `each` patients, of whom the first `both` are in either, with the same condition."""
    dice = chance(seed)
    count = 2 * each - both
    people = pa.table(
        {
            "zip": np.array(ZIPS)[dice.integers(0, len(ZIPS), count)],
            "age": np.array(AGES)[dice.integers(0, len(AGES), count)],
            "sex": np.array(SEXES)[dice.integers(0, len(SEXES), count)],
            "condition": np.array(CONDITIONS)[dice.choice(len(CONDITIONS), count, p=COMMON)],
        }
    )
    return people.slice(0, each), pa.concat_tables([people.slice(0, both), people.slice(each)])


def stage(*, seed: int = 1, both: int = 250, each: int = 2500, epsilon: float = 1.0) -> Outcome:
    """Two hospitals publish k-anonymous tables, against both publishing private counts at half the budget."""
    tables = patients(seed=seed, both=both, each=each)
    quasi = ["zip", "age", "sex"]
    targets = table_of(tables[0].slice(0, both))
    released = [mondrian(table, quasi, k=k) for table, k in zip(tables, KS, strict=True)]
    exact = compose(released, targets, quasi, "condition")
    single = [compose([release], targets, quasi, "condition") for release in released]
    truth = np.array([CONDITIONS.index(value) for value in targets.column("condition").to_pylist()])
    weight = np.tile(COMMON, (both, 1))
    for table in tables:
        weight *= _told(table, both, epsilon / 2)
    posterior = weight / weight.sum(axis=1, keepdims=True)
    _, private = sure_and_right(posterior, truth)
    guessed = float((posterior.argmax(axis=1) == truth).mean())
    hits = [int(found.certain.sum()) for found in (*single, exact)]
    against = f"a {KS[0]}- and a {KS[1]}-anonymous table", f"tacit's counts at ε = {epsilon / 2:g} each"

    def draw() -> Any:
        from tacit.plot import Share, shares

        labels = [f"the {k}-anonymous table alone" for k in KS] + ["both tables", "both of tacit's releases"]
        bars = []
        for label, count in zip(labels, [*hits, private], strict=True):
            found = Attempt.counted(label, count, both)
            bars.append(Share("both", label, label == labels[-1], found.success, found.low, found.high))
        title = ("Patients of two hospitals, each of which publishes", " against ".join(against))
        return shares(bars, title=title, axis="patients whose condition is certain", chance=0.0)

    return Outcome(
        name="composition",
        headline="Two anonymous tables together are not anonymous",
        measure="patients of both hospitals whose condition is certain, given zip code, age and sex",
        chance=0.0,
        undefended=Attempt.counted(against[0], hits[-1], both),
        defended=Attempt.counted(against[1], private, both),
        remarks=(
            f"the tables make {hits[0] / both:.1%} and {hits[1] / both:.1%} certain, and together {hits[2] / both:.1%}",
            f"private losses add up: ε = {epsilon / 2:g} twice is {epsilon:g} in all, whoever publishes what",
            f"certain means a posterior of 95 %; the best guess from both private releases is right for {guessed:.1%}, "
            f"the commonest condition for {COMMON[0]:.1%}",
        ),
        facts={"epsilon": epsilon, "k": list(KS), "people": both, "alone": hits[:2], "together": hits[2]}
        | {"private": private, "guess_private": guessed},
        draw=draw,
    )


def _told(table: pa.Table, both: int, epsilon: float) -> Floats:
    """What one hospital's private counts tell about each of its first `both` patients."""
    keys: dict[str, Sequence[Any]] = {"zip": ZIPS, "age": AGES, "sex": SEXES, "condition": CONDITIONS}
    noisy = private_counts(table, keys, epsilon=epsilon)
    where = tuple(
        np.array([keys[name].index(value) for value in table.column(name).to_pylist()]) for name in list(keys)[:3]
    )
    present = np.zeros(noisy.shape[:3], np.int64)
    np.add.at(present, where, 1)
    mine = tuple(axis[:both] for axis in where)
    return evidence(noisy[mine], present[mine] - 1, COMMON, epsilon=epsilon)
