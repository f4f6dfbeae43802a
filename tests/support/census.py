"""A small made-up country: states, counties, tracts and blocks, and people with a race, an age and an origin."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tacit.census import Spine

__all__ = ["AGES", "COLUMNS", "HISPANIC", "LEVELS", "QUERIES", "RACES", "country", "people", "policy_of"]

LEVELS = ("state", "county", "tract", "block")
RACES, AGES, HISPANIC = ("white", "black", "asian", "native", "other"), ("minor", "adult"), ("no", "yes")
COLUMNS: Mapping[str, Sequence[Any]] = {"race": RACES, "age": AGES, "hisp": HISPANIC}
QUERIES = {"total": 1, "race": 1, "age*hisp": 1, "detail": 1}

POLICY = """\
[dataset]
name = "country"
ledger = "country.ledger"

[privacy]
unit = "person"
relation = "RELATION"
currency = "CURRENCY"
budget = 1000
delta = 1e-10

[tables.people]
source = "people.parquet"
WHOSE
INVARIANTS

[tables.people.columns]
id = { type = "integer" }
block = { type = "text", nullable = false }
race = { type = "text", group_keys = ["white", "black", "asian", "native", "other"], nullable = false }
age = { type = "text", group_keys = ["minor", "adult"], nullable = false }
hisp = { type = "text", group_keys = ["no", "yes"], nullable = false }
street = { type = "text", nullable = false }
note = { type = "text", group_keys = ["a", "b"] }

[analysts.ana]
"""


def country(counties: int = 2, tracts: int = 2, blocks: int = 5, states: int = 1) -> Spine:
    """A spine of so many places in each wider one."""
    return Spine(
        *LEVELS,
        places=[
            (f"s{s}", f"c{s}{c}", f"t{s}{c}{t}", f"b{s}{c}{t}{b:03d}")
            for s in range(states)
            for c in range(counties)
            for t in range(tracts)
            for b in range(blocks)
        ],
    )


def people(spine: Spine, *, seed: int = 1, size: float = 30.0, vacant: float = 0.2) -> pa.Table:
    """People of each block: none in some of them, and unevenly many in the others."""
    rng = np.random.default_rng(seed)
    leaves = spine.names[-1]
    sizes = rng.poisson(rng.gamma(2, size / 2, len(leaves))) * (rng.random(len(leaves)) >= vacant)
    where = np.repeat(np.arange(len(leaves)), sizes)
    count = len(where)
    mix = rng.dirichlet([4, 2, 1, 0.3, 0.5], len(leaves))
    race = (rng.random(count)[:, None] > mix.cumsum(axis=1)[where]).sum(axis=1).clip(0, len(RACES) - 1)
    return pa.table(
        {
            "id": np.arange(count),
            "block": pa.array([leaves[place] for place in where], pa.string()),
            "race": pa.array([RACES[each] for each in race], pa.string()),
            "age": pa.array([AGES[each] for each in (rng.random(count) < 0.75).astype(int)], pa.string()),
            "hisp": pa.array([HISPANIC[each] for each in (rng.random(count) < 0.2).astype(int)], pa.string()),
            "street": pa.array(["x"] * count, pa.string()),
            "note": pa.array([None] * count, pa.string()),
        }
    )


def policy_of(
    folder: Path,
    table: pa.Table,
    *,
    relation: str = "replace",
    currency: str = "rho",
    invariants: Sequence[str] = (),
    whose: str = "each_row_is_a_unit = true",
) -> Path:
    """The data and a policy for them, in a folder."""
    pq.write_table(table, folder / "people.parquet")
    allowed = f"invariants = {list(invariants)!r}".replace("'", '"') if invariants else ""
    text = POLICY.replace("RELATION", relation).replace("CURRENCY", currency)
    path = folder / "country.toml"
    path.write_text(text.replace("WHOSE", whose).replace("INVARIANTS", allowed))
    return path
