"""Made-up people with known dependencies, for synthetic tables; counts of them, and a policy over them."""

from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tacit.base import Relation
from tacit.plan.facts import Type
from tacit.synth.counts import Reach
from tacit.synth.domain import CategoryCells, Domain
from tacit.synth.workload import Workload

__all__ = [
    "ADDED", "REPLACED", "SIZES", "Table", "histogram", "made_domain", "made_up_table", "pairs_workload", "people",
    "policy_of",
]  # fmt: skip

SIZES = (4, 3, 5, 2, 6)
ADDED, REPLACED = (Reach(one=1, relation=relation) for relation in (Relation.ADD_REMOVE, Relation.REPLACE))
Codes = np.ndarray[Any, np.dtype[np.int64]]


def people(count: int, seed: int = 0) -> Codes:
    """Rows of five columns: 1 follows 0, 2 follows 1, 3 is a coin, 4 follows 2 and 3 together."""
    source = np.random.default_rng(seed)
    first = source.choice(4, count, p=[0.4, 0.3, 0.2, 0.1])
    second = np.where(source.random(count) < 0.8, first % 3, source.integers(0, 3, count))
    third = np.where(source.random(count) < 0.7, second + 1, source.integers(0, 5, count))
    coin = source.integers(0, 2, count)
    last = np.where(source.random(count) < 0.6, (third + 3 * coin) % 6, source.integers(0, 6, count))
    return np.stack([first, second, third, coin, last], axis=1)


def histogram(rows: Codes, clique: Sequence[int], sizes: Sequence[int] = SIZES) -> Any:
    shape = tuple(sizes[place] for place in clique)
    cells = np.ravel_multi_index([rows[:, place] for place in clique], shape)
    return np.bincount(cells, minlength=prod(shape)).reshape(shape).astype(float)


class Table:
    """True marginals of rows in memory, in steps."""

    def __init__(self, rows: Codes, sizes: Sequence[int] = SIZES, one: int = 1) -> None:
        self.rows, self.sizes, self.one = rows, sizes, one

    def prepare(self, cliques: Any) -> None:
        pass

    def __getitem__(self, clique: tuple[int, ...]) -> Codes:
        return np.asarray(histogram(self.rows, clique, self.sizes).astype(np.int64) * self.one)


def pairs_workload(columns: int) -> dict[tuple[int, ...], int]:
    return Workload({each: Fraction(1) for each in combinations(range(columns), 2)}).candidates()


POLICY = """\
[dataset]
name = "people"
ledger = "people.ledger"

[privacy]
unit = "person"
currency = "{currency}"
budget = 20
delta = 1e-6
relation = "{relation}"

[tables.people]
source = "people.parquet"
{unit}

[tables.people.columns]
age = {{ type = "integer", bounds = [0, 99] }}
sex = {{ type = "text", group_keys = ["F", "M"], nullable = false }}
job = {{ type = "text", group_keys = ["none", "cook", "clerk", "nurse"] }}
town = {{ type = "text" }}
income = {{ type = "decimal", bounds = [0, 60000], step = "0.01" }}
born = {{ type = "date", bounds = [1920-01-01, 2019-12-31] }}
free = {{ type = "float" }}
many = {{ type = "integer", bounds = [0, 1000000000] }}

[analysts.ana]
limit = 20
"""


def made_up_table(count: int, rows: int = 1, seed: int = 0) -> pa.Table:
    """So many people, each with so many rows."""
    from datetime import date, timedelta

    source = np.random.default_rng(seed)
    total = count * rows
    age = source.integers(0, 100, total)
    sex = np.where(source.random(total) < 0.5, "F", "M")
    working = source.choice(["cook", "clerk", "nurse"], total, p=[0.5, 0.3, 0.2])
    job = [None if i % 29 == 0 else "none" if a < 16 else j for i, (a, j) in enumerate(zip(age, working, strict=True))]
    income = np.clip(np.where(age < 16, 0, age * 400 + source.normal(0, 4000, total)), 0, 60000).round(2)
    return pa.table(
        {
            "id": np.repeat(np.arange(count), rows),
            "age": age,
            "sex": sex,
            "job": pa.array(job),
            "town": source.choice(["Ulm", "Bonn", "Kiel"], total, p=[0.6, 0.3, 0.1]),
            "income": income,
            "born": pa.array([date(2019, 12, 31) - timedelta(365 * int(a)) for a in age], pa.date32()),
            "free": source.random(total),
            "many": source.integers(0, 10**9, total),
        }
    )


def policy_of(
    folder: Path,
    table: pa.Table | None = None,
    *,
    currency: str = "rho",
    relation: str = "add_remove",
    unit: str = 'unit_column = "id"\nmax_rows_per_unit = 1',
) -> Path:
    """A policy over such people; their folder holds everything."""
    pq.write_table(made_up_table(2000) if table is None else table, folder / "people.parquet")
    text = POLICY.format(currency=currency, relation=relation, unit=unit)
    (folder / "tacit.toml").write_text(text, encoding="utf-8")
    return folder / "tacit.toml"


def made_domain() -> Domain:
    """Five columns of categories a, b, c …, of these sizes."""
    return Domain(
        tuple(
            CategoryCells(name=f"c{place}", type=Type.TEXT, nullable=False, categories=tuple("abcdef"[:size]))
            for place, size in enumerate(SIZES)
        )
    )
