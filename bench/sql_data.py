"""The data of the SQL benchmarks: sales of people with skewed activity, made once and kept outside the repository.

A file has ten million rows of one million people. Everybody has a row; the other nine tenths of the rows go to people
by a lognormal weight, so that the median has 5 rows, the busiest thousands. Six rows in ten are in a person's home
region. Products follow Zipf's law, amounts a lognormal one in cents. The seed is fixed.
"""

import os
from functools import cache
from pathlib import Path
from tempfile import gettempdir

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

__all__ = ["DAYS", "PRODUCTS", "REGIONS", "REGION_NAMES", "ROWS", "UNITS", "sales", "several"]

ROWS, UNITS, REGIONS, PRODUCTS, DAYS = 10_000_000, 1_000_000, 50, 1000, 365
REGION_NAMES = tuple(f"region {number:02}" for number in range(REGIONS))
SPREAD, HOME, ZIPF = 1.2, 0.6, 1.05
GROUP = 250_000  # rows of a row group


def folder() -> Path:
    """Where data is kept from one run to the next: TACIT_BENCH_DATA, or a folder in the system's temporary one."""
    place = Path(os.environ.get("TACIT_BENCH_DATA") or Path(gettempdir()) / "tacit-bench")
    place.mkdir(parents=True, exist_ok=True)
    return place


@cache
def sales(rows: int = ROWS) -> Path:
    """One Parquet file of so many rows and a tenth as many people."""
    path = folder() / f"sales-{rows}.parquet"
    if not path.exists():
        _write(path, rows, first=0, seed=1)
    return path


@cache
def several(files: int, rows: int = ROWS) -> Path:
    """A folder of files of so many rows, each of people of its own."""
    place = folder() / f"sales-{files}x{rows}"
    place.mkdir(exist_ok=True)
    for number in range(files):
        path = place / f"{number:03}.parquet"
        if not path.exists():
            _write(path, rows, first=number * (rows // 10), seed=2 + number)
    return place


def _write(path: Path, rows: int, *, first: int, seed: int) -> None:
    draw = np.random.default_rng(seed)
    units = rows // 10
    weights = draw.lognormal(0, SPREAD, units)
    counts = 1 + draw.multinomial(rows - units, weights / weights.sum())
    person = draw.permutation(np.repeat(np.arange(units), counts))
    popular = 1 / np.arange(1, REGIONS + 1) ** 0.5
    home = draw.choice(REGIONS, units, p=popular / popular.sum()).astype(np.int32)
    elsewhere = draw.choice(REGIONS, rows, p=popular / popular.sum()).astype(np.int32)
    region = np.where(draw.random(rows) < HOME, home[person], elsewhere)
    sold = 1 / np.arange(1, PRODUCTS + 1) ** ZIPF
    product = draw.choice(PRODUCTS, rows, p=sold / sold.sum()).astype(np.int32)
    table = pa.table(
        {
            "person": person + first,
            "region": pa.DictionaryArray.from_arrays(region, list(REGION_NAMES)).cast(pa.string()),
            "product": product,
            "day": draw.integers(0, DAYS, rows, dtype=np.int32),
            "amount": np.round(draw.lognormal(3, 1, rows), 2),
        }
    )
    arriving = path.with_suffix(".part")
    pq.write_table(table, arriving, row_group_size=GROUP)
    arriving.replace(path)
