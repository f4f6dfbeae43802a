"""Put names to rows without names: look them up by zip code, birth date and sex in a list that has names.

As Sweeney (1997, 2000) found the governor of Massachusetts in hospital data, with a voter list.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from tacit.attack.population import Data, Integers, chance, chosen, country, grouped, table_of
from tacit.attack.posterior import normalised, private_evidence, sure_and_right
from tacit.attack.registry import Attempt, Outcome, bars
from tacit.base import InputError
from tacit.session.single import EACH_ROW, ask

__all__ = ["Linkage", "link", "stage", "uniqueness"]

DIAGNOSES = ("flu", "asthma", "diabetes", "depression", "cancer", "HIV", "epilepsy", "hepatitis")
COMMON = np.array([0.3, 0.2, 0.15, 0.12, 0.1, 0.05, 0.05, 0.03])


@dataclass(frozen=True)
class Linkage:
    """`row[i]` is the one row of the register that fits row i of the release, or -1 if none or several do."""

    row: Integers

    @property
    def share(self) -> float:
        """How many rows of the release were given a name."""
        return float((self.row >= 0).mean())


def link(release: Data, register: Data, on: Sequence[str]) -> Linkage:
    """Each row of `release` with the only row of `register` that agrees with it in all columns `on`."""
    shown, listed = table_of(release, "release"), table_of(register, "register")
    names = chosen(shown, on, "on")
    chosen(listed, names, "on of register")
    try:
        both = pa.concat_tables([shown.select(names), listed.select(names)], promote_options="permissive")
    except pa.ArrowException:
        raise InputError("a column of `on` has another type in the register: cast it to the same first") from None
    _, key = np.unique(grouped(both, names).of, return_inverse=True)
    mine, theirs = key[: shown.num_rows], key[shown.num_rows :]
    count = np.bincount(theirs, minlength=int(key.max()) + 1)
    where = np.full(len(count), -1)
    where[theirs] = np.arange(len(theirs))
    return Linkage(np.where(count[mine] == 1, where[mine], -1))


def uniqueness(data: Data, on: Sequence[str]) -> float:
    """The share of rows that are alone with their values in the columns `on`."""
    table = table_of(data)
    _, counts = np.unique(grouped(table, chosen(table, on, "on")).of, return_counts=True)
    return float((counts == 1).sum() / table.num_rows)


def stage(
    *, seed: int = 1, places: int = 30, patients: int = 10_000, coverage: float = 1.0, epsilon: float = 1.0
) -> Outcome:
    """Hospital rows without names, against a voter list that has a share `coverage` of everybody."""
    dice = chance(seed)
    home = country(seed=seed, places=places)
    everybody = home.people
    who = dice.permutation(everybody.num_rows)[:patients]
    sick = dice.choice(len(DIAGNOSES), patients, p=COMMON)
    hospital = everybody.take(pa.array(who)).append_column("diagnosis", pa.array(np.array(DIAGNOSES)[sick]))
    voters = np.flatnonzero(dice.random(everybody.num_rows) < coverage)
    register, nameless = everybody.take(pa.array(voters)), hospital.drop_columns(["name"])
    ways = {
        "zip code, birth date, sex": ["zip", "birth_date", "sex"],
        "place, birth date, sex": ["place", "birth_date", "sex"],
    }
    hits, named = {}, {}
    for way, on in ways.items():
        rows = link(nameless, register, on).row
        named[way] = int((rows >= 0).sum())
        hits[way] = int((voters[rows[rows >= 0]] == who[rows >= 0]).sum())
    zips = sorted(set(everybody.column("zip").unique().to_pylist()))
    by = "zip, birth_date, sex, diagnosis"
    question = f"SELECT {by}, COUNT(*) AS many FROM data GROUP BY {by}"
    listed = ask(nameless, question, unit_column=EACH_ROW, epsilon=epsilon / 2).table.num_rows
    keys: dict[str, Sequence[Any]] = {"zip": zips, "sex": ("F", "M"), "diagnosis": DIAGNOSES}
    posterior = normalised(COMMON * private_evidence(nameless, keys, COMMON, epsilon=epsilon / 2))
    private, guessed = sure_and_right(posterior, sick)[1], float((posterior.argmax(axis=1) == sick).mean())
    against = "hospital rows without names", f"tacit's counts at ε = {epsilon:g}"
    first = next(iter(ways))

    return Outcome(
        name="linkage",
        headline="Zip code, birth date and sex are a name",
        measure="patients whose name and diagnosis a voter list brings together, rightly",
        chance=0.0,
        undefended=Attempt.counted(against[0], hits[first], patients),
        defended=Attempt.counted(against[1], private, patients),
        remarks=(
            f"of {everybody.num_rows:,} people {uniqueness(everybody, ways[first]):.1%} are alone with zip code, birth "
            f"date and sex, {uniqueness(everybody, list(ways.values())[1]):.1%} with place, birth date and sex",
            f"asked for rows by zip code, birth date, sex and diagnosis, tacit shows {listed} groups; it counts "
            f"by zip code, sex and diagnosis; both cost ε = {epsilon:g} in all and δ = 10⁻⁶",
            f"the best guess from the counts is right for {guessed:.1%}, the commonest diagnosis for {COMMON[0]:.0%}",
        ),
        facts={"epsilon": epsilon, "people": everybody.num_rows, "patients": patients, "groups_listed": listed}
        | {"right": hits, "named": named, "private": private, "guess_private": guessed},
        draw=bars(
            [
                ("", Attempt.counted(label, count, patients), label not in hits)
                for label, count in (*hits.items(), ("tacit's counts", private))
            ],
            title=("Who is in the hospital's table, and with what", " against ".join(against)),
            axis="patients whose diagnosis is known by name",
        ),
    )
