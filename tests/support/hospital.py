"""A small hospital on disk, for questions that go all the way, and an engine that fails when it is told to."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tacit.base import Exact
from tacit.engine import Limits, Watch
from tacit.engine.result import Result
from tacit.plan.bounded import Bounded
from tacit.plan.node import Scan
from tacit.policy import Claim

__all__ = ["WARDS", "BrokenEngine", "hospital", "visits"]

WARDS = ("a", "b", "c")  # "d" is declared too, and empty

POLICY = """\
[dataset]
name = "hospital"
ledger = "hospital.ledger"

[privacy]
unit = "patient"
currency = "CURRENCY"
budget = BUDGET
delta = 1e-6
LEAST

[tables.visits]
source = "visits.parquet"
unit_column = "patient_id"
clip_rows = CLIP

[tables.visits.columns]
patient_id = { type = "integer" }
ward = { type = "text", group_keys = ["a", "b", "c", "d"], nullable = false }
drug = { type = "text", nullable = false }
cost = { type = "decimal", bounds = [0, 1000], step = 0.01, nullable = false }
age = { type = "integer", bounds = [0, 110], nullable = false }
urgent = { type = "boolean", nullable = false }
day = { type = "date", bounds = [2024-01-01, 2024-03-31], nullable = false }

[tables.wards]
public = true
source = "wards.parquet"

[tables.wards.columns]
ward = { type = "text", group_keys = ["a", "b", "c", "d"], nullable = false }
floor = { type = "integer", bounds = [0, 9], nullable = false }

[analysts.ana]
limit = LIMIT

[analysts.bob]
limit = 1
tables = []
"""


def visits(rows: int = 3000, patients: int = 1500) -> pa.Table:
    """The same every time. No patient has more than a dozen rows."""
    source = np.random.default_rng(11)
    names = np.array(["aspirin", "insulin", "heparin", *(f"rare{i}" for i in range(40))])
    common = np.array([0.5, 0.3, 0.18, *([0.02 / 40] * 40)])
    return pa.table(
        {
            "patient_id": source.integers(0, patients, rows),
            "ward": np.array(WARDS)[source.choice(3, rows, p=[0.5, 0.3, 0.2])],
            "drug": names[source.choice(len(names), rows, p=common / common.sum())],
            "cost": np.round(source.gamma(3, 80, rows).clip(0, 1000), 2),
            "age": source.integers(0, 101, rows),
            "urgent": source.random(rows) < 0.25,
            "day": pa.array([date.fromordinal(738_886 + int(d)) for d in source.integers(0, 91, rows)]),
        }
    )


def hospital(
    folder: Path,
    *,
    currency: str = "rho",
    clip: str = "20",
    limit: int = 40,
    least: str = "least = 0",
    table: pa.Table | None = None,
) -> Path:
    """The policy of a hospital whose files and ledger lie in `folder`."""
    pq.write_table(visits() if table is None else table, folder / "visits.parquet")
    floors = pa.table({"ward": ["a", "b", "c", "d"], "floor": [1, 1, 2, 3]})
    pq.write_table(floors, folder / "wards.parquet")
    place = folder / "tacit.toml"
    words = {"CURRENCY": currency, "CLIP": clip, "LIMIT": str(limit), "BUDGET": str(limit + 10), "LEAST": least}
    text = POLICY
    for word, value in words.items():
        text = text.replace(word, value)
    place.write_text(text)
    return place


@dataclass
class BrokenEngine:
    """An engine that raises, in the stage it is told to, an error full of what nobody may see."""

    secret: str = "secret-4711"
    version_fails: bool = False
    state: str = "v1"
    runs: int = 0
    seen: list[Any] = field(default_factory=list)

    @property
    def limits(self) -> Limits:
        return Limits()

    def run(self, bounded: Bounded, watch: Watch | None = None) -> Exact[Result]:
        self.runs += 1
        raise ValueError(f"row 17 has {self.secret}")

    def norms(self, bounded: Bounded, edges: Mapping[int, Sequence[int]], watch: Watch | None = None) -> Exact[Any]:
        raise ValueError(f"unit {self.secret}")

    def rows(self, scan: Scan, watch: Watch | None = None) -> Exact[Any]:
        raise AssertionError("no question reads rows")

    def version(self, tables: Collection[str]) -> str:
        if self.version_fails:
            raise ValueError(f"cannot reach {self.secret}")
        return self.state

    def columns(self, table: str) -> dict[str, str]:
        return {}

    def origins(self, table: str, unit: str | None) -> tuple[Claim, ...]:
        return ()

    def ready(self) -> None:
        pass

    def close(self) -> None:
        pass
