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
from tacit.attack.population import Data, Integers, chance, patients, table_of
from tacit.attack.posterior import normalised, places_of, private_evidence, sure_and_right, suspects
from tacit.attack.registry import Attempt, Outcome, bars
from tacit.base import InputError

__all__ = ["HOSPITALS", "Intersection", "compose", "stage"]

CONDITIONS = [f"condition {n}" for n in range(1, 61)]
KEYS = {"zip": [str(19100 + n) for n in range(12)], "age": range(25, 75), "sex": "FM", "condition": CONDITIONS}
QUASI = ["zip", "age", "sex"]
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
        return np.asarray(self.possible.sum(axis=1) == 1)


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


def stage(*, seed: int = 1, both: int = 250, each: int = 2500, epsilon: float = 1.0) -> Outcome:
    """Two hospitals publish k-anonymous tables, against both publishing private counts at half the budget.

    Each has so many patients, of whom the first `both` are in either, with the same condition.
    """
    people = patients(KEYS, COMMON, 2 * each - both, chance(seed))
    tables = people.slice(0, each), pa.concat_tables([people.slice(0, both), people.slice(each)])
    targets = table_of(tables[0].slice(0, both))
    released = [mondrian(table, QUASI, k=k) for table, k in zip(tables, KS, strict=True)]
    exact = compose(released, targets, QUASI, "condition")
    single = [compose([release], targets, QUASI, "condition") for release in released]
    *_, truth = places_of(targets, KEYS)
    one, other = (private_evidence(table, KEYS, COMMON, epsilon=epsilon / 2, people=both) for table in tables)
    posterior = normalised(COMMON * one * other)
    _, private = sure_and_right(posterior, truth)
    guessed = float((posterior.argmax(axis=1) == truth).mean())
    hits = [int(found.certain.sum()) for found in (*single, exact)]
    against = f"a {KS[0]}- and a {KS[1]}-anonymous table", f"tacit's counts at ε = {epsilon / 2:g} each"

    labels = [f"the {k}-anonymous table alone" for k in KS] + ["both tables", "both of tacit's releases"]
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
        draw=bars(
            [
                ("both", Attempt.counted(label, count, both), label == labels[-1])
                for label, count in zip(labels, [*hits, private], strict=True)
            ],
            title=("Patients of two hospitals, each of which publishes", " against ".join(against)),
            axis="patients whose condition is certain",
        ),
    )
