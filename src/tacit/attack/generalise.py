"""Make a table k-anonymous the classic way: coarser values from hierarchies, and rows that still stand out dropped.

A hierarchy has ever coarser labels for a value: zip codes with fewer digits, ages in wider bands, categories in larger
groups. The search is optimal: of all combinations of levels it returns one of least loss (Iyengar 2002): the average,
over all cells, of the share of other values that a label now stands for as well, a dropped cell counting as everything.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from math import prod
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tacit.attack.population import Codes, Data, Integers, chosen, combined, encoded, numeric, ranked, table_of
from tacit.base import InputError

__all__ = [
    "ANY",
    "Generalisation",
    "Hierarchy",
    "any_of",
    "covers",
    "generalise",
    "masked",
    "mondrian",
    "stretch",
]

ANY = "*"
NUMBER = r"-?\d+(?:\.\d+)?"
STRETCH = re.compile(rf"({NUMBER})-({NUMBER})")
BEYOND = re.compile(rf"(<=|>=|<|>)\s*({NUMBER})")


def masked(value: Any, hidden: int) -> str:
    """The value as text with its last `hidden` characters starred."""
    text = str(value)
    kept = max(0, len(text) - hidden)
    return text[:kept] + "*" * (len(text) - kept)


def stretch(low: Any, high: Any) -> str:
    """Everything from `low` to `high`."""
    return str(low) if low == high else f"{low}-{high}"


def any_of(values: Iterable[Any]) -> str:
    """One of `values`."""
    listed = sorted(map(str, values))
    return listed[0] if len(listed) == 1 else "{" + ", ".join(listed) + "}"


def covers(label: Any, value: Any) -> bool:
    """Whether a person with `value` may be behind a row that says `label`."""
    said, known = str(label), str(value)
    if said in {ANY, known}:
        return True
    if said.startswith("{") and said.endswith("}"):
        return known in said[1:-1].split(", ")
    if said.endswith("*"):
        return len(said) == len(known) and known.startswith(said.rstrip("*"))
    try:
        number = float(known)
    except ValueError:
        return False
    if found := STRETCH.fullmatch(said):
        return float(found[1]) <= number <= float(found[2])
    if found := BEYOND.fullmatch(said):
        end = float(found[2])
        return {"<": number < end, "<=": number <= end, ">": number > end, ">=": number >= end}[found[1]]
    return False


@dataclass(frozen=True)
class Hierarchy:
    """`levels[i]` gives the label of a value on level i + 1. Level 0 is the value itself, the topmost is `*`."""

    levels: tuple[Callable[[Any], str], ...] = ()

    @classmethod
    def digits(cls, *hidden: int) -> "Hierarchy":
        """Zip codes and the like: `digits(1, 2)` hides the last character, then the last two."""
        if any(n < 1 for n in hidden) or list(hidden) != sorted(set(hidden)):
            raise InputError(f"hidden is {hidden}: at least 1, and more on each level")
        return cls(tuple(partial(masked, hidden=n) for n in hidden))

    @classmethod
    def bands(cls, *widths: int) -> "Hierarchy":
        """Whole numbers: `bands(5, 10)` are 20-24, then 20-29. Each width is a multiple of the one before it."""
        before = (1, *widths)
        if any(wide <= narrow or wide % narrow for narrow, wide in zip(before, widths, strict=False)):
            raise InputError(
                f"widths are {widths}: each must be a larger multiple of the one before, and the first over 1"
            )
        return cls(tuple(partial(_band, width) for width in widths))

    @classmethod
    def tree(cls, *groups: Mapping[Any, str]) -> "Hierarchy":
        """Categories: each mapping names, for every value, its group on the next level."""
        return cls(tuple(partial(_group, dict(named)) for named in groups))

    @property
    def top(self) -> int:
        """The level on which nothing is told."""
        return len(self.levels) + 1

    def labels(self, values: Sequence[Any], level: int) -> list[Any]:
        """The labels of `values` on one level."""
        if level == 0:
            return list(values)
        return [ANY] * len(values) if level == self.top else [self.levels[level - 1](value) for value in values]


def _band(width: int, value: Any) -> str:
    if not isinstance(value, int):
        raise InputError("bands are for whole numbers without missing values: use tree for anything else")
    low = value // width * width
    return stretch(low, low + width - 1)


def _group(named: Mapping[Any, str], value: Any) -> str:
    if value not in named:
        raise InputError("a tree lacks a group for a value of its column: name one for each")
    return named[value]


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
    return np.bincount(group, weights=weights)[group] < k


def mondrian(data: Data, quasi: Sequence[str], *, k: int) -> pa.Table:
    """The table with each quasi-identifier as a label of its part: `20-29` for numbers, `{a, b}` for anything else.

    Rows keep their order, and none is dropped.
    """
    table = table_of(data)
    names = chosen(table, quasi, "quasi")
    if k < 1 or table.num_rows < k:
        raise InputError(f"k is {k}: it is at least 1 and at most the number of rows")
    columns = [ranked(encoded(table.column(name)), name) for name in names]
    parts = _parts(np.array([codes.of for codes in columns]), np.array([codes.size for codes in columns]), k)
    for codes, name in zip(columns, names, strict=True):
        labels, values = np.empty(table.num_rows, dtype=object), codes.values.to_pylist()
        for rows in parts:
            here = [values[rank] for rank in np.unique(codes.of[rows])]
            labels[rows] = stretch(here[0], here[-1]) if numeric(codes.values) else any_of(here)
        table = table.set_column(table.column_names.index(name), name, pa.array(labels, pa.string()))
    return table


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
