"""What tacit would release instead of rows: how many there are of each combination of values, asked in SQL."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tacit.attack.classes import Integers
from tacit.session.single import EACH_ROW, ask

__all__ = ["private_counts"]


def private_counts(table: pa.Table, keys: Mapping[str, Sequence[Any]], *, epsilon: float) -> Integers:
    """Noisy counts of rows, an axis for each of `keys` in its order; every row is another person's."""
    names = ", ".join(f'"{name}"' for name in keys)
    release = ask(
        table,
        f"SELECT {names}, COUNT(*) AS many FROM data GROUP BY {names}",
        unit=EACH_ROW,
        keys=keys,
        epsilon=epsilon,
    )
    told = release.table.drop_null()  # the data have no missing values, and everybody knows
    places = tuple(
        pc.index_in(told.column(name), value_set=pa.array(list(values), told.schema.field(name).type)).to_numpy()
        for name, values in keys.items()
    )
    counts = np.zeros([len(values) for values in keys.values()], np.int64)
    counts[places] = told.column("many").to_numpy()
    return counts
