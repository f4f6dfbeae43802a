"""A small dataset on disk to learn from, a model, a loss and a loop."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

__all__ = ["FEATURES", "loop_of", "points", "policy_of", "softmax_loss"]

FEATURES = ("a", "b", "c")

POLICY = """\
[dataset]
name = "points"
ledger = "points.ledger"

[privacy]
unit = "person"
currency = "epsilon"
budget = 20
delta = 1e-3

[tables.points]
source = "points.parquet"
unit_column = "person"
clip_rows = 5

[tables.points.columns]
person = { type = "integer" }
a = { type = "float", bounds = [-1, 1] }
b = { type = "float", bounds = [-1, 1] }
c = { type = "float", bounds = [0, 4] }
kind = { type = "text", group_keys = ["no", "yes"], nullable = false }

[analysts.cora]
limit = 20
"""


# of people with one row each, for rows that are made elsewhere
FLAT = """\
[tables.flat]
source = "flat.parquet"
each_row_is_a_unit = true

[tables.flat.columns]
a = { type = "float", bounds = [-1, 1] }

"""


def points(count: int = 600, rows: int = 1) -> pa.Table:
    """People on a grid, of whom those with a + b > 0 are "yes"; each has so many rows."""
    person = np.repeat(np.arange(count), rows)
    a, b = ((person * step % 101) / 50 - 1 for step in (17, 41))
    kind = np.where(a + b > 0, "yes", "no")
    return pa.table({"person": person, "a": a, "b": b, "c": (person % 5).astype(float), "kind": kind})


def policy_of(folder: Path, table: pa.Table | None = None, *, flat: bool = False) -> Path:
    """A policy over such points; their folder holds everything."""
    pq.write_table(points() if table is None else table, folder / "points.parquet")
    if flat:
        pq.write_table(points().select(["a"]), folder / "flat.parquet")
    declared = POLICY.replace("[tables.points]", FLAT + "[tables.points]", 1) if flat else POLICY
    (folder / "tacit.toml").write_text(declared, encoding="utf-8")
    return folder / "tacit.toml"


def softmax_loss(model: Any, inputs: Any, labels: Any) -> Any:
    from torch.nn.functional import cross_entropy

    return cross_entropy(model(inputs), labels, reduction="none")


def loop_of(model: Any, *, lr: float = 1.0, steps: list[int] | None = None) -> Any:
    """Plain gradient steps with momentum; `steps` is told which were taken."""
    import torch

    def loop(run: Any) -> None:
        optimiser = torch.optim.SGD(model.parameters(), lr=lr, momentum=0.5)
        run.track(optimiser=optimiser)
        for step in run:
            optimiser.step()
            if steps is not None:
                steps.append(step)

    return loop
