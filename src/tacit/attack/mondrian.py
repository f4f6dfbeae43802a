"""Make a large table k-anonymous: cut it in halves, one column at a time, as long as k rows stay on either side.

After LeFevre, DeWitt and Ramakrishnan (2006), strict: rows that agree on the column cut stay together.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tacit.attack.classes import Data, Integers, chosen, encoded, table_of
from tacit.attack.label import any_of, stretch
from tacit.base import InputError

__all__ = ["mondrian"]


def mondrian(data: Data, quasi: Sequence[str], *, k: int) -> pa.Table:
    """The table with each quasi-identifier as a label of its part: `20-29` for numbers, `{a, b}` for anything else.

    Rows keep their order, and none is dropped.
    """
    table = table_of(data)
    names = chosen(table, quasi, "quasi")
    if k < 1 or table.num_rows < k:
        raise InputError(f"k is {k}: it is at least 1 and at most the number of rows")
    ranks, values = zip(*(_ranked(table, name) for name in names), strict=True)
    parts = _parts(np.array(ranks), np.array([len(each) for each in values]), k)
    for column, name in enumerate(names):
        labels = np.empty(table.num_rows, dtype=object)
        numeric = pa.types.is_integer(table.schema.field(name).type) or pa.types.is_floating(
            table.schema.field(name).type
        )
        for rows in parts:
            labels[rows] = _label(values[column], np.unique(ranks[column][rows]), numeric=numeric)
        table = table.set_column(table.column_names.index(name), name, pa.array(labels, pa.string()))
    return table


def _ranked(table: pa.Table, name: str) -> tuple[Integers, list[Any]]:
    """A column as places in its sorted values, and these."""
    codes = encoded(table.column(name))
    assert codes.values is not None
    if codes.values.null_count:
        raise InputError(f'"{name}" has missing values: fill or drop them first')
    order = pc.sort_indices(codes.values)
    rank = np.empty(codes.size, np.int64)
    rank[order.to_numpy()] = np.arange(codes.size)
    return rank[codes.of], codes.values.take(order).to_pylist()


def _parts(ranks: Integers, sizes: Integers, k: int) -> list[Integers]:
    """The rows of each part that cannot be cut any more."""
    done, ahead = [], [np.arange(ranks.shape[1])]
    while ahead:
        rows = ahead.pop()
        here = ranks[:, rows]
        widths = (here.max(axis=1) - here.min(axis=1)) / sizes
        for column in np.argsort(-widths, kind="stable"):
            left = _cut(here[column], k)
            if left is not None:
                ahead += [rows[left], rows[~left]]
                break
        else:
            done.append(rows)
    return done


def _cut(rank: Integers, k: int) -> Any:
    """Which rows lie below the cut nearest to the middle, or None if every cut leaves fewer than k on one side."""
    rank = rank - rank.min()
    below = np.cumsum(np.bincount(rank))  # rows up to each rank
    fits = np.flatnonzero((below >= k) & (len(rank) - below >= k))
    if not len(fits):
        return None
    return rank <= fits[np.argmin(np.abs(below[fits] - len(rank) / 2))]


def _label(values: Sequence[Any], ranks: Integers, *, numeric: bool) -> str:
    if numeric:
        return stretch(values[ranks[0]], values[ranks[-1]])
    return any_of(values[rank] for rank in ranks)
