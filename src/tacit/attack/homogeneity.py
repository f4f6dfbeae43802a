"""Break k-anonymity: a class whose rows agree gives its secret away, and a little knowledge parts the others.

After Machanavajjhala, Gehrke, Kifer and Venkitasubramaniam (2006).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tacit.attack.anonymity import cells
from tacit.attack.generalise import mondrian
from tacit.attack.population import Data, chance, chosen, encoded, grouped, patients, table_of
from tacit.attack.posterior import normalised, places_of, private_evidence, ruled_out, sure_and_right
from tacit.attack.registry import Attempt, Outcome, bars
from tacit.base import InputError

__all__ = ["Homogeneity", "homogeneity", "stage"]

DIAGNOSES = ("flu", "asthma", "diabetes", "cancer", "HIV")
COMMON = np.array([0.45, 0.25, 0.15, 0.10, 0.05])
KEYS = {"zip": [str(19100 + n) for n in range(20)], "age": range(20, 70), "sex": "FM", "diagnosis": DIAGNOSES}
QUASI = ["zip", "age", "sex"]
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
    found = cells(grouped(table, names), secret)
    people = np.bincount(found.distinct, weights=found.sizes, minlength=2)[1:]
    return Homogeneity(table.num_rows, tuple(int(n) for n in np.cumsum(people)))


def stage(*, seed: int = 1, people: int = 4000, k: int = 3, epsilon: float = 1.0) -> Outcome:
    """A k-anonymous hospital table, against private counts by the same zip code, age, sex and diagnosis."""
    table = patients(KEYS, COMMON, people, chance(seed))
    broken = homogeneity(mondrian(table, QUASI, k=k), QUASI, "diagnosis")
    posterior = normalised(COMMON * private_evidence(table, KEYS, COMMON, epsilon=epsilon))
    *_, truth = places_of(table, KEYS)
    guessed = float((posterior.argmax(axis=1) == truth).mean())
    private = [sure_and_right(ruled_out(posterior, truth, facts), truth)[1] for facts in range(len(FACTS))]
    exact = [round(broken.share(facts) * people) for facts in range(len(FACTS))]
    against = f"{k}-anonymous table", f"tacit's counts at ε = {epsilon:g}"

    attempts = [
        (row, Attempt.counted(against[defended], hits[defended], people), defended)
        for row, *hits in zip(FACTS, exact, private, strict=True)
        for defended in (False, True)
    ]
    return Outcome(
        name="homogeneity",
        headline=f"A {k}-anonymous table tells diagnoses all the same",
        measure="patients whose diagnosis is certain, given zip code, age, sex and one diagnosis it is not",
        chance=0.0,
        undefended=attempts[2][1],
        defended=attempts[3][1],
        remarks=(
            f"private counts cost ε = {epsilon:g} in all; certain means a posterior of 95 %",
            f"the best guess from private counts is right for {guessed:.1%}, the commonest diagnosis for "
            f"{COMMON[0]:.0%}; a person's row moves the odds between two diagnoses by at most e^{2 * epsilon:g}",
            f"two diagnoses ruled out leave little to guess: {private[2] / people:.1%} are then certain from private "
            f"counts, {exact[2] / people:.1%} from the table",
        ),
        facts={"epsilon": epsilon, "k": k, "people": people, "certain": exact, "certain_private": private}
        | {"guess_private": guessed},
        draw=bars(
            attempts,
            title=("What somebody who knows zip code, age and sex learns", " against ".join(against)),
            axis="patients whose diagnosis is certain",
        ),
    )
