"""Break k-anonymity: a class whose rows agree gives its secret away, and a little knowledge parts the others.

After Machanavajjhala, Gehrke, Kifer and Venkitasubramaniam (2006).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from tacit.attack.anonymity import cells
from tacit.attack.generalise import mondrian
from tacit.attack.hierarchy import Data, chosen, combined, encoded, table_of
from tacit.attack.outcome import Attempt, Outcome
from tacit.attack.population import chance
from tacit.attack.posterior import evidence, private_counts, ruled_out, sure_and_right
from tacit.base import InputError

__all__ = ["Homogeneity", "homogeneity", "stage"]

DIAGNOSES = ("flu", "asthma", "diabetes", "cancer", "HIV")
COMMON = np.array([0.45, 0.25, 0.15, 0.10, 0.05])
ZIPS, AGES, SEXES = tuple(str(19100 + n) for n in range(20)), tuple(range(20, 70)), ("F", "M")
FACTS = ("nothing else known", "one wrong diagnosis ruled out", "two ruled out")


@dataclass(frozen=True)
class Homogeneity:
    """Of `rows` people, `known[j]` have their secret known for certain to somebody who can rule out j wrong values."""

    rows: int
    known: tuple[int, ...]

    def share(self, facts: int = 0) -> float:
        """The share of people that so many facts about each of them are enough for."""
        if facts < 0:
            raise InputError(f"facts is {facts}: it is a number of values that can be ruled out")
        return self.known[min(facts, len(self.known) - 1)] / self.rows


def homogeneity(release: Data, quasi: Sequence[str], sensitive: str) -> Homogeneity:
    """Count the people in classes of one sensitive value, of two, and so on, for who knows everybody's `quasi`."""
    table = table_of(release, "release")
    names = chosen(table, quasi, "quasi")
    secret = encoded(table.column(chosen(table, [sensitive], "sensitive")[0]))
    found = cells(combined([encoded(table.column(name)) for name in names]), secret)
    people = np.bincount(found.distinct, weights=found.sizes, minlength=2)[1:]
    return Homogeneity(table.num_rows, tuple(int(n) for n in np.cumsum(people)))


def patients(*, seed: int, people: int) -> pa.Table:
    """A made-up hospital in which the diagnosis has nothing to do with zip code, age and sex."""
    dice = chance(seed)
    return pa.table(
        {
            "zip": np.array(ZIPS)[dice.integers(0, len(ZIPS), people)],
            "age": np.array(AGES)[dice.integers(0, len(AGES), people)],
            "sex": np.array(SEXES)[dice.integers(0, len(SEXES), people)],
            "diagnosis": np.array(DIAGNOSES)[dice.choice(len(DIAGNOSES), people, p=COMMON)],
        }
    )


def stage(*, seed: int = 1, people: int = 4000, k: int = 3, epsilon: float = 1.0) -> Outcome:
    """A k-anonymous hospital table, against private counts by the same zip code, age, sex and diagnosis."""
    table = patients(seed=seed, people=people)
    quasi = ["zip", "age", "sex"]
    broken = homogeneity(mondrian(table, quasi, k=k), quasi, "diagnosis")
    keys: dict[str, Sequence[Any]] = {"zip": ZIPS, "age": AGES, "sex": SEXES, "diagnosis": DIAGNOSES}
    noisy = private_counts(table, keys, epsilon=epsilon)
    place = [np.array([values.index(v) for v in table.column(name).to_pylist()]) for name, values in keys.items()]
    *where, truth = place
    present = np.zeros(noisy.shape[:3], np.int64)
    np.add.at(present, tuple(where), 1)
    factors = evidence(noisy[tuple(where)], present[tuple(where)] - 1, COMMON, epsilon=epsilon)
    posterior = factors * COMMON / (factors * COMMON).sum(axis=1, keepdims=True)
    guessed = float((posterior.argmax(axis=1) == truth).mean())
    private = [sure_and_right(ruled_out(posterior, truth, facts), truth)[1] for facts in range(len(FACTS))]
    exact = [round(broken.share(facts) * people) for facts in range(len(FACTS))]
    against = f"{k}-anonymous table", f"tacit's counts at ε = {epsilon:g}"

    def draw() -> Any:
        from tacit.plot import Share, shares

        bars = []
        for row, *hits in zip(FACTS, exact, private, strict=True):
            for defended in (False, True):
                found = Attempt.counted(against[defended], hits[defended], people)
                bars.append(Share(row, found.against, defended, found.success, found.low, found.high))
        title = ("What somebody who knows zip code, age and sex learns", " against ".join(against))
        return shares(bars, title=title, axis="patients whose diagnosis is certain", chance=0.0)

    return Outcome(
        name="homogeneity",
        headline=f"A {k}-anonymous table tells diagnoses all the same",
        measure="patients whose diagnosis is certain, given zip code, age, sex and one diagnosis it is not",
        chance=0.0,
        undefended=Attempt.counted(against[0], exact[1], people),
        defended=Attempt.counted(against[1], private[1], people),
        remarks=(
            f"private counts cost ε = {epsilon:g} in all; certain means a posterior of 95 %",
            f"the best guess from private counts is right for {guessed:.1%}, the commonest diagnosis for "
            f"{COMMON[0]:.0%}; a person's row moves the odds between two diagnoses by at most e^{2 * epsilon:g}",
            f"two diagnoses ruled out leave little to guess: {private[2] / people:.1%} are then certain from private "
            f"counts, {exact[2] / people:.1%} from the table",
        ),
        facts={"epsilon": epsilon, "k": k, "people": people, "certain": exact, "certain_private": private}
        | {"guess_private": guessed},
        draw=draw,
    )
