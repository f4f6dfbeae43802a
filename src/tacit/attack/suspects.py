"""Which secrets a released table leaves possible for people of whom the rest is known."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tacit.attack.classes import Data, Integers, chosen, combined, encoded, table_of
from tacit.attack.label import covers
from tacit.base import InputError

__all__ = ["Suspects", "suspects"]


@dataclass(frozen=True)
class Suspects:
    """`rows[i, v]` is how many released rows may be person i's and say `values[v]`."""

    rows: Integers
    values: tuple[Any, ...]

    def of(self, person: int = 0) -> dict[Any, int]:
        """The values possible for one person, with their rows."""
        found = self.rows[person]
        return {value: int(found[place]) for place, value in enumerate(self.values) if found[place]}


def suspects(release: Data, people: Data | Mapping[str, Any], quasi: Sequence[str], sensitive: str) -> Suspects:
    """The rows of `release` that each of `people` may be behind, by what they say in the column `sensitive`.

    `people` has the columns `quasi` with plain values, and `release` the same with labels as label.py reads them.
    """
    shown = table_of(release, "release")
    known = pa.table({name: [value] for name, value in people.items()}) if isinstance(people, Mapping) else people
    known = table_of(known, "people")
    names = chosen(shown, quasi, "quasi")
    chosen(known, names, "quasi of people")
    if sensitive in names:
        raise InputError(f'"{sensitive}" cannot be sensitive and a quasi-identifier at once')
    columns = [encoded(shown.column(name)) for name in names]
    secret = encoded(shown.column(chosen(shown, [sensitive], "sensitive")[0]))
    assert secret.values is not None
    _, first, group = np.unique(combined(columns).of, return_index=True, return_inverse=True)
    held = np.zeros((len(first), secret.size), np.int64)
    np.add.at(held, (group, secret.of), 1)
    fits: NDArray[np.bool_] = np.ones((known.num_rows, len(first)), bool)
    for name, codes in zip(names, columns, strict=True):
        mine = encoded(known.column(name))
        assert codes.values is not None
        assert mine.values is not None
        labels, values = codes.values.to_pylist(), mine.values.to_pylist()
        within = np.array([[covers(label, value) for label in labels] for value in values])
        fits &= within[mine.of][:, codes.of[first]]
    return Suspects(fits.astype(np.int64) @ held, tuple(secret.values.to_pylist()))
