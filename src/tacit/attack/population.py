"""A made-up country whose places and zip codes are as large as real ones, and so is how few people share a birth date.

Sweeney (2000) found 87 % of Americans alone with their zip code, birth date and sex, and about half with
their place instead. Nothing here is set to these numbers: sizes and ages are, and the shares follow.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from scipy.stats import norm

from tacit.attack.hierarchy import Integers, encoded
from tacit.attack.posterior import Floats
from tacit.base import InputError

__all__ = ["Chance", "Country", "Records", "chance", "comparable", "country"]

Chance = np.random.Generator


def chance(seed: int) -> Chance:
    """A source that a seed fixes, so that pictures and tests can be repeated. Noise comes from tacit.noise instead."""
    return np.random.default_rng(seed)


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


CLOSE = 1e-9  # distances that differ by less are the same


@dataclass(frozen=True)
class Records:
    """A column of `cells` for each of `names`; those that are not `numeric` hold codes, which are equal or not."""

    cells: Floats
    numeric: NDArray[np.bool_]
    names: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.cells)

    def take(self, rows: Integers) -> "Records":
        """Some of the rows."""
        return Records(self.cells[rows], self.numeric, self.names)

    def nearest(self, target: Floats, columns: Sequence[int]) -> NDArray[np.bool_]:
        """Which rows are nearest to `target` in those columns: Gower's distance, as far as numbers lie apart here."""
        apart = np.zeros(len(self))
        for column in columns:
            cells = self.cells[:, column]
            if self.numeric[column]:
                apart += np.abs(cells - target[column]) / self.reach(column)
            else:
                apart += cells != target[column]
        found: NDArray[np.bool_] = apart <= apart.min() + CLOSE
        return found

    def reach(self, column: int) -> float:
        """How far the numbers of a column lie apart at most, or 1 if they do not."""
        return float(np.ptp(self.cells[:, column])) or 1.0

    def band(self, column: int, value: float) -> tuple[float, float]:
        """The values nearer to `value` than to any other in the column; a code has only itself."""
        if not self.numeric[column]:
            return value, value
        others = np.unique(self.cells[:, column])
        place = int(np.searchsorted(others, value))
        low = (others[place - 1] + value) / 2 if place else -np.inf
        high = (others[place + 1] + value) / 2 if place + 1 < len(others) else np.inf
        return float(low), float(high)


def comparable(tables: Sequence[pa.Table]) -> list[Records]:
    """Tables with the same columns, in which equal values get equal numbers."""
    names = tuple(tables[0].column_names)
    if any(set(table.column_names) != set(names) for table in tables) or not names:
        raise InputError("the tables must have the same columns: there are " + ", ".join(map(repr, names)) + " in one")
    columns, numeric = [], []
    for name in names:
        parts = [table.column(name) for table in tables]
        counted = all(pa.types.is_integer(part.type) or pa.types.is_floating(part.type) for part in parts)
        if counted:
            whole = np.concatenate([part.to_numpy().astype(float) for part in parts])
            if not np.isfinite(whole).all():
                raise InputError(f'"{name}" has missing or infinite numbers: fill or drop them first')
        else:
            try:
                whole = encoded(pa.chunked_array(parts)).of.astype(float)
            except (pa.ArrowException, TypeError):
                raise InputError(f'"{name}" has another type in one of the tables: cast it to the same first') from None
        columns.append(whole)
        numeric.append(counted)
    cells = np.column_stack(columns)
    ends = np.cumsum([table.num_rows for table in tables])[:-1]
    return [Records(part, np.array(numeric), names) for part in np.split(cells, ends)]
