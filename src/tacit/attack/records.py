"""Rows of several tables as numbers that can be compared: who is alike, and who is nearest."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tacit.attack.classes import Integers, encoded
from tacit.attack.posterior import Floats
from tacit.base import InputError

__all__ = ["Records", "comparable"]

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
        found: NDArray[np.bool_] = apart <= apart.min() + CLOSE
        return found

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
    columns, numeric = [], []
    for name in names:
        parts = [table.column(name) for table in tables]
        counted = all(pa.types.is_integer(part.type) or pa.types.is_floating(part.type) for part in parts)
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
        numeric.append(counted)
    cells = np.column_stack(columns)
    ends = np.cumsum([table.num_rows for table in tables])[:-1]
    return [Records(part, np.array(numeric), names) for part in np.split(cells, ends)]
