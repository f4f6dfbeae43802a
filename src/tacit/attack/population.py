"""Tables of people, real and made up: read, written as codes, compared, and drawn.

The made-up country has places and zip codes as large as real ones, and so is how few people share a birth date. Sweeney
(2000) found 87 % of Americans alone with their zip code, birth date and sex, and about half with their place instead.
Nothing here is set to these numbers: sizes and ages are, and the shares follow.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pyarrow.csv import read_csv
from pyarrow.parquet import read_table
from scipy.special import ndtri

from tacit.base import InputError
from tacit.engine.engine import opening

__all__ = [
    "Array",
    "Chance",
    "Codes",
    "Country",
    "Data",
    "Floats",
    "Integers",
    "Records",
    "chance",
    "chosen",
    "combined",
    "comparable",
    "country",
    "encoded",
    "grouped",
    "numeric",
    "patients",
    "ranked",
    "table_of",
]

Array = np.ndarray[Any, np.dtype[Any]]
Chance = np.random.Generator


def chance(seed: int) -> Chance:
    """A source that a seed fixes, so that pictures and tests can be repeated. Noise comes from tacit.noise instead."""
    return np.random.default_rng(seed)


Data: TypeAlias = pa.Table | Path | str
Integers = NDArray[np.int64]
Floats = NDArray[np.float64]

LARGEST = 1 << 62  # combinations that have a number; beyond it those that occur are numbered anew


@dataclass(frozen=True)
class Codes:
    """A column as numbers from 0 to `size` - 1; `values` says what each stands for, None if nothing can."""

    of: Integers
    size: int
    values: Any = None


def table_of(data: Data, name: str = "data") -> pa.Table:
    """An Arrow table as it is, or the Parquet or CSV file at a path; it must hold at least one row."""
    if isinstance(data, pa.Table):
        table = data
    elif isinstance(data, str | Path):
        path = Path(data)
        if path.suffix.lower() not in {".parquet", ".csv"} or not path.is_file():
            raise InputError(f'{name}: "{path}" is no Parquet or CSV file that can be read')
        read = read_csv if path.suffix.lower() == ".csv" else read_table
        # what a library says of a file may quote people's values
        table = opening(f'{name}: "{path.name}" cannot be read as a table: correct it first', lambda: read(path))
    else:
        raise InputError(f"{name} must be an Arrow table or a path, not {type(data).__name__}")
    if not table.num_rows:
        raise InputError(f"{name} has no rows: there is nobody to look for")
    return table


def chosen(table: pa.Table, columns: Sequence[str], name: str) -> list[str]:
    """`columns` as a list, each of them there and named once."""
    if isinstance(columns, str):
        raise InputError(f'{name} must be a list of columns, as in {name}=["{columns}"]')
    found = list(columns)
    unknown = [column for column in found if column not in table.column_names]
    if unknown:
        raise InputError(f'{name}: there is no column "{unknown[0]}"; there are {", ".join(table.column_names)}')
    if not found or len(set(found)) != len(found):
        raise InputError(f"{name} must name at least one column, and each only once")
    return found


def encoded(column: pa.ChunkedArray | pa.Array) -> Codes:
    """One column as codes in order of first appearance; a missing value is a value of its own."""
    whole = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if not pa.types.is_dictionary(whole.type):
        whole = whole.dictionary_encode(null_encoding="encode")
    elif whole.null_count:
        whole = whole.dictionary_decode().dictionary_encode(null_encoding="encode")
    return Codes(whole.indices.to_numpy(zero_copy_only=False).astype(np.int64), len(whole.dictionary), whole.dictionary)


def combined(columns: Sequence[Codes]) -> Codes:
    """The combination of several columns as one; few of the codes below `size` need occur."""
    of, size = columns[0].of, columns[0].size
    for column in columns[1:]:
        if size * column.size > LARGEST:
            values, of = np.unique(of, return_inverse=True)
            size = len(values)
        of = of * column.size + column.of
        size *= column.size
    return Codes(of, size)


def numeric(column: pa.ChunkedArray | pa.Array) -> bool:
    """Whether it holds numbers."""
    return bool(pa.types.is_integer(column.type) or pa.types.is_floating(column.type))


def ranked(codes: Codes, name: str, order: Sequence[Any] | None = None) -> Codes:
    """The same column with its values in this order, else in their natural one."""
    if codes.values.null_count:
        raise InputError(f'"{name}" has missing values, which have no place in an order: fill or drop them first')
    if order is None:
        places = pc.sort_indices(codes.values)
        return Codes(np.argsort(places.to_numpy())[codes.of], codes.size, codes.values.take(places))
    place, values = {value: number for number, value in enumerate(order)}, codes.values.to_pylist()
    if len(place) != len(order) or not place.keys() >= set(values):
        raise InputError(f'ordered must list each value of "{name}" once')
    return Codes(np.array([place[value] for value in values])[codes.of], len(place))


def grouped(table: pa.Table, names: Sequence[str]) -> Codes:
    """The combination of these columns."""
    return combined([encoded(table.column(name)) for name in names])


def patients(keys: Mapping[str, Sequence[Any]], common: Floats, count: int, dice: Chance) -> pa.Table:
    """A made-up hospital: columns with any of their values, and a last one, as `common`, that follows from none."""
    *others, secret = keys
    places = {name: dice.integers(0, len(keys[name]), count) for name in others}
    places[secret] = dice.choice(len(common), count, p=common)
    return pa.table({name: np.array(list(keys[name]))[place] for name, place in places.items()})


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
    steps = ndtri((np.arange(places) + 0.5) / places)
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
        return np.asarray(apart <= apart.min() + CLOSE)

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
    columns, counts = [], []
    for name in names:
        parts = [table.column(name) for table in tables]
        counted = all(map(numeric, parts))
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
        counts.append(counted)
    cells = np.column_stack(columns)
    ends = np.cumsum([table.num_rows for table in tables])[:-1]
    return [Records(part, np.array(counts), names) for part in np.split(cells, ends)]
