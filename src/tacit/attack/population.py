"""A made-up country whose places and zip codes are as large as real ones, and so is how few people share a birth date.

Sweeney (2000) found 87 % of Americans alone with their zip code, birth date and sex, and about half with
their place instead. Nothing here is set to these numbers: sizes and ages are, and the shares follow.
"""

from dataclasses import dataclass
from datetime import date

import numpy as np
import pyarrow as pa
from scipy.stats import norm

from tacit.attack.chance import chance
from tacit.attack.classes import Integers
from tacit.attack.posterior import Floats

__all__ = ["Country", "country"]

TODAY = date(2000, 1, 1)
DAYS = 3652.5  # a decade
DECADES = np.array([14.1, 14.5, 13.6, 15.4, 15.1, 11.0, 7.2, 5.8, 2.7, 0.6])  # per cent of Americans by age in 2000
MEDIAN, SPREAD = 6300, 1.4  # of the places' sizes, which are log-normal
ZIP = 7500  # people a zip code is meant for; a larger place has several


@dataclass(frozen=True)
class Country:
    """Everybody: columns name, zip, place, birth_date, sex; `zips` and `places` are how many live in each."""

    people: pa.Table
    zips: Integers
    places: Integers

    def expected(self, sizes: Integers) -> float:
        """The share of people who should be alone with birth date and sex in areas of these sizes."""
        decades: Floats = DECADES / DECADES.sum()
        alone = (decades * np.exp(-(sizes[:, None] - 1) * decades / DAYS / 2)).sum(axis=1)
        return float((alone * sizes).sum() / sizes.sum())


def country(*, seed: int = 1, places: int = 30) -> Country:
    """`places` places, of sizes at even steps through their distribution, so that a few do not decide by luck."""
    dice = chance(seed)
    steps = norm.ppf((np.arange(places) + 0.5) / places)
    sizes = np.rint(MEDIAN * np.exp(SPREAD * steps)).astype(np.int64)
    zips: list[int] = []
    where: list[int] = []
    for place, size in enumerate(sizes):
        count = max(1, round(size / ZIP))
        shares = dice.uniform(0.5, 1.5, count)
        ends = np.rint(np.cumsum(shares / shares.sum()) * size).astype(np.int64)
        zips += np.diff(ends, prepend=0).tolist()
        where += [place] * count
    people = int(sizes.sum())
    decade = dice.choice(len(DECADES), people, p=DECADES / DECADES.sum())
    age_days = ((decade + dice.random(people)) * DAYS).astype(np.int64)
    home = np.repeat(np.arange(len(zips)), zips)
    epoch = TODAY.toordinal() - date(1970, 1, 1).toordinal()
    table = pa.table(
        {
            "name": pa.array(np.char.add("person ", dice.permutation(people).astype(str))),
            "zip": pa.array(np.array([str(10000 + n) for n in range(len(zips))])[home]),
            "place": pa.array(np.array([f"place {n}" for n in where])[home]),
            "birth_date": pa.array((epoch - age_days).astype(np.int32), pa.date32()),
            "sex": pa.array(np.array(["F", "M"])[dice.integers(0, 2, people)]),
        }
    )
    return Country(table, np.array(zips), sizes)
