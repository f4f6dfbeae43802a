"""The data of the accuracy benchmark: four small tables of sales, alike but for how much single people do, and where.

skewed: a tenth as many people as rows, by a lognormal weight, so that half have 5 rows or fewer, the busiest hundreds;
six rows in ten are in a person's home region. even: everybody has ten rows. concentrated: as skewed, but the busiest
2 % are at home in three of the 50 regions, with nearly all of their rows. single: one row for each person. The names
of products say nothing of how popular one is: a peer that keeps a person's first groups by name would keep those.
"""

from functools import cache
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import csv

from bench.sql_data import REGION_NAMES, REGIONS, ZIPF, folder

__all__ = ["AMOUNT", "PEOPLE", "SHAPES", "made"]

SHAPES = ("skewed", "even", "concentrated", "single")
PEOPLE = 10_000
EACH = 10  # rows of a person, on average
AMOUNT = 500  # the most that a sale may be: all of them are below
PRODUCTS = 1000
NAMES = np.random.default_rng(PRODUCTS).permutation(PRODUCTS)  # from the most popular on
SPREAD, HOME, AT_HOME = 1.2, 0.6, 0.95
BUSIEST, CROWDED = 0.02, (10, 25, 40)


@cache
def made(shape: str, people: int = PEOPLE) -> Path:
    """One Parquet file, beside it the same as CSV; `single` has as many people as the others have rows."""
    path = folder() / f"accuracy-{shape}-{people}-named.parquet"
    if not path.exists():
        draw, rows = np.random.default_rng(SHAPES.index(shape)), people * EACH
        people = rows if shape == "single" else people
        counts = _counts(shape, people, rows, draw)
        person = np.repeat(np.arange(people), counts)
        popular = 1 / np.arange(1, REGIONS + 1) ** 0.5
        home = draw.choice(REGIONS, people, p=popular / popular.sum())
        stays = np.full(people, HOME)
        if shape == "concentrated":
            busiest = np.argsort(counts)[-int(people * BUSIEST) :]
            home[busiest], stays[busiest] = draw.choice(CROWDED, len(busiest)), AT_HOME
        elsewhere = draw.choice(REGIONS, rows, p=popular / popular.sum())
        region = np.where(draw.random(rows) < stays[person], home[person], elsewhere)
        sold = 1 / np.arange(1, PRODUCTS + 1) ** ZIPF
        columns = {
            "person": person,
            "region": np.array(REGION_NAMES)[region],
            "product": NAMES[draw.choice(PRODUCTS, rows, p=sold / sold.sum())],
            "amount": np.minimum(np.round(draw.lognormal(3, 1, rows), 2), AMOUNT),
        }
        order = draw.permutation(rows)
        table = pa.table({name: values[order] for name, values in columns.items()})
        csv.write_csv(table, path.with_suffix(".csv"))
        arriving = path.with_suffix(".part")
        pq.write_table(table, arriving)
        arriving.replace(path)
    return path


def _counts(
    shape: str, people: int, rows: int, draw: np.random.Generator
) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
    if shape in ("even", "single"):
        return np.full(people, rows // people, dtype=np.int64)
    weights = draw.lognormal(0, SPREAD, people)
    return 1 + draw.multinomial(rows - people, weights / weights.sum())
