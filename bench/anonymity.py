"""How fast k, l and t are measured on a million rows, beside pyCANON on the same table; processor time.

pyCANON needs older libraries than tacit has. Install it elsewhere and name that interpreter in PYCANON_PYTHON;
without it the limit alone is checked.
"""

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import process_time
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow.parquet import write_table
from rich.table import Table

from bench.peers import canon
from tacit.attack.anonymity import measure

__all__ = ["COUNT", "run"]

ROWS = 1_000_000
REPEATS = 7
LIMIT = 0.15  # seconds
QUASI, SENSITIVE = ["zip", "age", "sex"], "diagnosis"
COUNT = 2


def people() -> pa.Table:
    """Text, numbers, 1,200 classes, 20 diagnoses."""
    chance = np.random.default_rng(1)
    return pa.table(
        {
            "zip": np.array([f"191{n:02}" for n in range(50)])[chance.integers(0, 50, ROWS)],
            "age": chance.integers(0, 12, ROWS) * 5 + 20,
            "sex": np.array(["female", "male"])[chance.integers(0, 2, ROWS)],
            "diagnosis": np.array([f"diagnosis {n}" for n in range(20)])[chance.zipf(1.5, ROWS) % 20],
        }
    )


def run(tick: Callable[[str], None]) -> tuple[list[Table], bool]:
    """The two times and whether tacit kept to its limit and found the same numbers."""
    table = people()
    tick("tacit")
    found, times = measure(table, QUASI, SENSITIVE), []
    for _ in range(REPEATS):
        start = process_time()
        measure(table, QUASI, SENSITIVE)
        times.append(process_time() - start)
    ours = median(times)
    tick("pyCANON")
    peer = _peer(table)
    same = peer is None or (
        (peer["k"], peer["distinct"]) == (found.k, found.distinct) and abs(peer["t"] - (found.t or 0.0)) < 1e-9
    )
    shown = Table(title=f"k, l and t of {ROWS:,} rows in {found.classes:,} classes, seconds of processor time")
    for name in ("tacit (with entropy and recursive l)", "pyCANON", "ratio", "same numbers", f"within {LIMIT} s"):
        shown.add_column(name, justify="right")
    shown.add_row(
        f"{ours:.3f}",
        "not there: set PYCANON_PYTHON" if peer is None else f"{peer['seconds']:.2f}",
        "–" if peer is None else f"{peer['seconds'] / ours:,.0f}×",
        "–" if peer is None else "yes" if same else "no",
        "yes" if ours <= LIMIT else "no",
    )
    return [shown], ours <= LIMIT and same


def _peer(table: pa.Table) -> dict[str, Any] | None:
    """What pyCANON says, if there is one."""
    python = os.environ.get("PYCANON_PYTHON")
    if not python:
        return None
    with TemporaryDirectory() as folder:
        path = Path(folder) / "people.parquet"
        write_table(table, str(path))
        command = [python, str(canon.__file__), str(path), ",".join(QUASI), SENSITIVE]
        said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    found: dict[str, Any] = json.loads(said.splitlines()[-1])
    return found
