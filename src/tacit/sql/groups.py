"""The groups of an answer as columns, so that a million of them are found and matched without a loop over rows."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import prod
from typing import Any

import numpy as np

from tacit.engine.result import coded
from tacit.plan.facts import Value

__all__ = ["Groups"]

Codes = np.ndarray[Any, np.dtype[np.int64]]


@dataclass(frozen=True, kw_only=True, eq=False)
class Groups:
    """For each key its different values, and for each group which of them it has. Without keys there is one group.

    `complete` says that all combinations are there, in the order in which the last key goes fastest.
    """

    values: tuple[tuple[Value, ...], ...]
    codes: tuple[Codes, ...]
    size: int
    complete: bool = False

    def __len__(self) -> int:
        return self.size

    @classmethod
    def every(cls, domains: Sequence[tuple[Value, ...]]) -> "Groups":
        """All combinations of declared values."""
        sizes = tuple(map(len, domains))
        size = prod(sizes)
        codes = np.unravel_index(np.arange(size), sizes) if sizes and size else [np.zeros(0, np.int64)] * len(sizes)
        return cls(values=tuple(domains), codes=tuple(np.asarray(c, np.int64) for c in codes), size=size, complete=True)

    @classmethod
    def sorted(cls, columns: Sequence[Sequence[Value]], rows: Codes) -> "Groups":
        """These rows of some key columns, in the order of their values, NULL last."""
        values, codes = [], []
        for column in map(coded, columns):
            found = column.codes[rows]
            listed = [column.values[code] for code in np.unique(found).tolist()]
            ordered = tuple(sorted((value for value in listed if value is not None), key=_ordered))
            known = {value: code for code, value in enumerate(ordered)} | {None: len(ordered)}
            values.append((*ordered, None))
            codes.append(np.array([known.get(value, -1) for value in column.values], np.int64)[found])
        order = np.lexsort(codes[::-1])
        return cls(values=tuple(values), codes=tuple(code[order] for code in codes), size=len(rows))

    def column(self, key: int) -> list[Value]:
        """The value of one key in each group."""
        values = self.values[key]
        return [values[code] for code in self.codes[key].tolist()]

    def find(self, columns: Sequence[Sequence[Value]], rows: int) -> Codes:
        """The number of the group that each of `rows` rows of key columns is in; −1 for none."""
        mine, theirs = np.zeros(self.size, np.int64), np.zeros(rows, np.int64)
        inside = np.full(rows, self.size > 0)
        for values, codes, column in zip(self.values, self.codes, columns, strict=True):
            known = {_as_read(value): code for code, value in enumerate(values)}
            seen = coded(column)
            found = np.array([known.get(value, -1) for value in seen.values], np.int64)[seen.codes]
            inside &= found >= 0
            mine, theirs = mine * len(values) + codes, theirs * len(values) + found
            if not self.complete:  # numbers grow with each key: only the ones that occur are kept
                kept, mine = np.unique(mine, return_inverse=True)
                place = np.minimum(np.searchsorted(kept, theirs), max(len(kept) - 1, 0))
                inside &= kept[place] == theirs if len(kept) else False
                theirs = place
        if not self.complete:
            number = np.zeros(self.size, np.int64)
            number[mine] = np.arange(self.size)
            theirs = number[theirs] if self.size else theirs
        return np.where(inside, theirs, -1)


def _ordered(value: Value) -> Any:
    return value


def _as_read(value: Value) -> Value:
    """A key as an engine gives it back: a number is the double nearest to it."""
    return Fraction(float(value)) if isinstance(value, Fraction) else value
