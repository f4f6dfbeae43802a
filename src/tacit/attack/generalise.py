"""Make a table k-anonymous the classic way: coarser values from hierarchies, and rows that still stand out dropped.

The search is optimal: of all combinations of levels it returns one of least loss (Iyengar 2002): the average, over all
cells, of the share of other values that a label now stands for as well, a dropped cell counting as everything.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tacit.attack.hierarchy import (
    Codes,
    Data,
    Hierarchy,
    Integers,
    any_of,
    chosen,
    combined,
    encoded,
    stretch,
    table_of,
)
from tacit.base import InputError

__all__ = ["Generalisation", "generalise", "mondrian"]

NODES = 100_000  # combinations of levels; a larger lattice is for mondrian


@dataclass(frozen=True, kw_only=True)
class Generalisation:
    """The table without dropped rows, the level of each quasi-identifier, and what it cost.

    `kept` says which rows of the original remain, in their order; `loss` lies between 0 and 1; `looked` counts the
    combinations of levels that had to be tried.
    """

    table: pa.Table
    levels: Mapping[str, int]
    kept: NDArray[np.bool_]
    loss: float
    looked: int


@dataclass(frozen=True)
class ColumnLevel:
    """One column on one level: the number of each value's label, its loss, and the average loss of a row."""

    of: Integers
    labels: list[Any]
    lost: NDArray[np.float64]
    average: float


def generalise(data: Data, hierarchies: Mapping[str, Hierarchy], *, k: int, suppress: float = 0.0) -> Generalisation:
    """The k-anonymous table of least loss that drops at most the share `suppress` of all rows."""
    table = table_of(data)
    names = chosen(table, list(hierarchies), "hierarchies")
    if k < 1 or not 0 <= suppress <= 1:
        raise InputError(f"k is {k} and suppress {suppress}: k is at least 1, suppress a share between 0 and 1")
    if table.num_rows < k:
        raise InputError(f"the table has fewer than {k} rows: nothing made of it is {k}-anonymous")
    if prod(hierarchies[name].top + 1 for name in names) > NODES:
        raise InputError(f"there are over {NODES:,} combinations of levels: use fewer levels, or mondrian")
    columns = [encoded(table.column(name)) for name in names]
    ladders = [_ladder(codes, hierarchies[name], name) for codes, name in zip(columns, names, strict=True)]
    levels, loss, looked = _search(columns, ladders, k, int(suppress * table.num_rows))
    steps = [ladder[level] for ladder, level in zip(ladders, levels, strict=True)]
    kept = ~_small(steps, [codes.of for codes in columns], np.ones(table.num_rows, np.int64), k)
    shown = table
    for name, codes, step, level in zip(names, columns, steps, levels, strict=True):
        if level:
            labels = pa.array(step.labels, pa.string()).take(pa.array(codes.of))
            shown = shown.set_column(shown.column_names.index(name), name, labels)
    return Generalisation(
        table=shown.filter(pa.array(kept)),
        levels=dict(zip(names, levels, strict=True)),
        kept=kept,
        loss=loss,
        looked=looked,
    )


def _search(
    columns: Sequence[Codes], ladders: Sequence[Sequence[ColumnLevel]], k: int, allowed: int
) -> tuple[tuple[int, ...], float, int]:
    """The best levels, their loss, and how many were tried, starting where the least is lost.

    Dropping rows only adds to the loss of a combination, so once the next one's loss without dropping is no less than
    the best found, neither it nor any after it can win. The topmost is always k-anonymous, so one is found.
    """
    _, who, weights = np.unique(combined(columns).of, return_index=True, return_counts=True)
    first = [codes.of[who] for codes in columns]  # one row for each combination of values, weighing as many as it has
    least = {
        node: sum(ladder[level].average for ladder, level in zip(ladders, node, strict=True)) / len(ladders)
        for node in product(*(range(len(ladder)) for ladder in ladders))
    }
    best, found, looked = tuple(len(ladder) - 1 for ladder in ladders), 1.0, 0
    for node in sorted(least, key=least.__getitem__):
        if least[node] >= found:
            break
        looked += 1
        steps = [ladder[level] for ladder, level in zip(ladders, node, strict=True)]
        small = _small(steps, first, weights, k)
        if weights[small].sum() > allowed:
            continue
        lost = np.mean([step.lost[codes] for step, codes in zip(steps, first, strict=True)], axis=0)
        loss = float((weights * np.where(small, 1.0, lost)).sum() / weights.sum())
        if loss < found:
            best, found = node, loss
    return best, found, looked


def _ladder(codes: Codes, hierarchy: Hierarchy, name: str) -> list[ColumnLevel]:
    """All levels of one column; each must only join what the one below it kept apart."""
    assert codes.values is not None
    values = codes.values.to_pylist()
    share = np.bincount(codes.of, minlength=codes.size) / len(codes.of)
    ladder: list[ColumnLevel] = []
    for level in range(hierarchy.top + 1):
        labels = hierarchy.labels(values, level)
        number = {label: place for place, label in enumerate(dict.fromkeys(labels))}
        of = np.array([number[label] for label in labels], np.int64)
        lost = (np.bincount(of)[of] - 1) / max(1, len(values) - 1)
        if ladder and len(set(zip(ladder[-1].of, of, strict=True))) > len(set(ladder[-1].of)):
            raise InputError(f'level {level} of "{name}" parts values that level {level - 1} had joined')
        ladder.append(ColumnLevel(of, labels, lost, float(share @ lost)))
    return ladder


def _small(steps: Sequence[ColumnLevel], columns: Sequence[Integers], weights: Integers, k: int) -> NDArray[np.bool_]:
    """Which rows are in a class of fewer than k."""
    shown = [Codes(step.of[codes], int(step.of.max()) + 1) for step, codes in zip(steps, columns, strict=True)]
    _, group = np.unique(combined(shown).of, return_inverse=True)
    found: NDArray[np.bool_] = np.bincount(group, weights=weights)[group] < k
    return found


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
