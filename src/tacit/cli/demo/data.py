"""Data for the demos: people, bidders, respondents and customers who never existed.

numpy's seeded generator is right here and nowhere else in the product: this is data, not noise.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

__all__ = [
    "AGE_BANDS", "DRUGS", "GENDERS", "REGIONS", "SMALL_MARKET", "WARDS", "MadeUpPeople", "Visits", "bidders", "people",
    "shop", "smokers", "visits",
]  # fmt: skip

Integers = np.ndarray[tuple[int], np.dtype[Any]]

SEED = 4711
AGE_LIMIT = 100
AGE_BANDS = {"0–17": 0, "18–29": 18, "30–44": 30, "45–59": 45, "60–74": 60, "75–100": 75}  # label: first year
GENDERS = ("women", "men")
REGIONS = ("North", "South", "Coast", "Islands")
WARDS = ("east", "north", "south", "west")
DRUGS = ("aspirin", "ibuprofen", "insulin", "metformin", "salbutamol", "heparin", "warfarin", "lithium", "thalidomide")
SMALL_MARKET = (100, 101, 301)  # what three bidders would pay, in cents
CUSTOMERS = 2000
BRANCHES = ("east", "harbour", "north", "station")
HEAD = "customer,age,branch,paid,day"


@dataclass(frozen=True)
class MadeUpPeople:
    """One row a person: age in whole years 0–100, and the positions of gender and region in their lists."""

    age: Integers
    gender: Integers
    region: Integers

    def cells(self) -> np.ndarray[Any, np.dtype[Any]]:
        """How many people there are in each age band × gender × region."""
        band = np.searchsorted(list(AGE_BANDS.values()), self.age, side="right") - 1
        counts = np.zeros((len(AGE_BANDS), len(GENDERS), len(REGIONS)), dtype=np.int64)
        np.add.at(counts, (band, self.gender, self.region), 1)
        return counts


def people(size: int = 10_000) -> MadeUpPeople:
    """A town: ages like a real pyramid, three regions of a fair size and one where hardly anybody lives."""
    source = np.random.default_rng(SEED)
    age = np.clip(np.rint(source.gamma(3.2, 13.5, size)), 0, AGE_LIMIT).astype(np.int64)
    gender = (source.random(size) < 0.49).astype(np.int64)
    region = source.choice(len(REGIONS), size=size, p=[0.45, 0.33, 0.215, 0.005])
    return MadeUpPeople(age, gender, region)


@dataclass(frozen=True)
class Visits:
    """One row a visit to a clinic: whose, the positions of ward and drug in their lists, age, and cost in cents."""

    patient: Integers
    ward: Integers
    drug: Integers
    age: Integers
    cents: Integers


def visits(size: int = 40_000, patients: int = 8_000) -> Visits:
    """Some patients come often and most seldom; the common drugs are very common, and one is hardly ever given."""
    source = np.random.default_rng(SEED + 3)
    often = source.gamma(1.5, 1.0, patients)
    patient = source.choice(patients, size=size, p=often / often.sum())
    age = np.clip(np.rint(source.gamma(6.0, 8.5, patients)), 0, 110).astype(np.int64)
    ward = source.choice(len(WARDS), size=size, p=[0.4, 0.3, 0.2, 0.1])
    drug = source.choice(len(DRUGS), size=size, p=[0.3, 0.25, 0.15, 0.12, 0.08, 0.06, 0.03, 0.0098, 0.0002])
    cents = np.clip(np.rint(source.gamma(2.0, 180.0, size) * (1 + ward / 4) * 100), 0, 500_000).astype(np.int64)
    return Visits(patient, ward, drug, age[patient], cents)


def bidders(size: int = 500) -> Integers:
    """What each bidder of a large market would pay, in cents: at most 10 dollars."""
    source = np.random.default_rng(SEED + 1)
    return np.clip(np.rint(source.lognormal(1.2, 0.45, size) * 100), 0, 1000).astype(np.int64)


def smokers(size: int = 10_000) -> Integers:
    """The true answer of each respondent to an awkward yes/no question: one in five says yes."""
    return (np.random.default_rng(SEED + 2).random(size) < 0.2).astype(np.int64)


def shop(folder: Path) -> Path:
    """The folder, with `shop.csv` in it: about five purchases of each customer, always the same, not declared yet."""
    path = folder / "shop.csv"
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        path.write_text("\n".join([HEAD, *map(_line, range(CUSTOMERS * 5))]) + "\n", encoding="utf-8")
    return folder


def _line(number: int) -> str:
    """A row out of a number, by arithmetic: made-up data need no chance."""
    customer = number * 7919 % CUSTOMERS
    age = 18 + (customer * customer // 7 + customer) % 73
    branch = BRANCHES[(customer // 3 + number * number) % 11 % len(BRANCHES)]
    cents = 199 + (number * number * 31 + customer * 97) % 14_800
    day = f"2026-{1 + number * 13 % 12:02}-{1 + number * 29 % 28:02}"
    return f"{customer},{age},{branch},{cents // 100}.{cents % 100:02},{day}"
