"""How anonymous a table claims to be: k-anonymity, l-diversity in three readings, t-closeness.

None of them is a promise against an attacker; they are measured here to be broken in the files beside this one.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tacit.attack.population import Codes, Data, Integers, chosen, combined, encoded, grouped, ranked, table_of
from tacit.base import InputError

__all__ = ["Anonymity", "ClassCounts", "cells", "measure"]

DENSE = 1 << 22  # combinations that are counted by place, used or not; beyond it sorting is faster


@dataclass(frozen=True, kw_only=True)
class Anonymity:
    """What the worst class of rows with equal quasi-identifiers is like; without a sensitive column only its size.

    `k`: its rows (Sweeney 2002). `distinct`: sensitive values in it, `entropy`: e to their entropy, `recursive`: the
    bound above which every c makes the table recursively (c, `order`)-diverse, infinite where a class has fewer than
    `order` values (Machanavajjhala and others 2006). `t`: the earth mover's distance to the whole table (Li, Li and
    Venkatasubramanian 2007).
    """

    rows: int
    classes: int
    unique: int
    k: int
    distinct: int | None = None
    entropy: float | None = None
    recursive: float | None = None
    order: int | None = None
    t: float | None = None


@dataclass(frozen=True)
class ClassCounts:
    """Pairs of a class and a sensitive value that occur, sorted, with their number of rows.

    Classes are numbered from 0; `starts` is where each begins, `sizes` its rows, and `values` how many there could be.
    """

    group: Integers
    value: Integers
    rows: Integers
    starts: Integers
    sizes: Integers
    values: int

    @property
    def shares(self) -> NDArray[np.float64]:
        """The share of each value in its class."""
        return self.rows / self.sizes[self.group]

    @property
    def distinct(self) -> Integers:
        """How many values each class has."""
        return np.diff(self.starts, append=len(self.rows))


def measure(
    data: Data,
    quasi: Sequence[str],
    sensitive: str | None = None,
    *,
    ordered: bool | Sequence[Any] = False,
    order: int | None = None,
) -> Anonymity:
    """k of a table, and l and t of its column `sensitive`.

    `ordered` says that the sensitive values lie on a line, so that moving mass from one to the next is cheap: True
    takes their natural order, a list states it. `order` is the l of the recursive reading, else the distinct l and at
    least 2.
    """
    table = table_of(data)
    names = chosen(table, quasi, "quasi")
    groups = grouped(table, names)
    if sensitive is None:
        return Anonymity(rows=table.num_rows, **_sizes(_counted(groups)[1]))
    if sensitive in names:
        raise InputError(f'"{sensitive}" cannot be sensitive and a quasi-identifier at once')
    found = cells(groups, _placed(table, sensitive, ordered))
    distinct = int(found.distinct.min())
    level = max(2, distinct) if order is None else order
    if level < 2:
        raise InputError(f"order is {level}: recursive diversity starts at 2")
    return Anonymity(
        rows=table.num_rows,
        **_sizes(found.sizes),
        distinct=distinct,
        entropy=_entropy(found),
        recursive=_recursive(found, level),
        order=level,
        t=_differing(found) if ordered is False else _moved(found),
    )


def _sizes(sizes: Integers) -> Any:
    return {"classes": len(sizes), "unique": int((sizes == 1).sum()), "k": int(sizes.min())}


def cells(groups: Codes, secret: Codes) -> ClassCounts:
    """How many rows each class has of each sensitive value."""
    key, rows = _counted(combined([groups, secret]))
    group = key // secret.size
    opens = np.diff(group, prepend=-1) != 0
    starts = np.flatnonzero(opens)
    return ClassCounts(
        np.cumsum(opens) - 1, key - group * secret.size, rows, starts, np.add.reduceat(rows, starts), secret.size
    )


def _counted(codes: Codes) -> tuple[Integers, Integers]:
    """The codes that occur, in order, and how often."""
    if codes.size <= DENSE:
        counts = np.bincount(codes.of, minlength=codes.size)
        there = np.flatnonzero(counts)
        return there, counts[there]
    return np.unique(codes.of, return_counts=True)


def _placed(table: pa.Table, sensitive: str, ordered: bool | Sequence[Any]) -> Codes:
    """The sensitive column as codes; if it is ordered, then in that order."""
    (name,) = chosen(table, [sensitive], "sensitive")
    secret = encoded(table.column(name))
    if ordered is False or secret.values is None:
        return secret
    return ranked(secret, sensitive, None if ordered is True else ordered)


def _entropy(found: ClassCounts) -> float:
    """e to the least entropy: log N - Σ n log n / N in a class of N."""
    mass = np.add.reduceat(found.rows * np.log(found.rows), found.starts)
    return float(np.exp((np.log(found.sizes) - mass / found.sizes).min()))


def _recursive(found: ClassCounts, order: int) -> float:
    """The largest r_1 / (r_l + … + r_m), where r are a class's counts from the most frequent value down."""
    if order > found.distinct.min():
        return inf  # a class without an l-th value
    top = int(found.rows.max()) + 1
    counts = top - np.sort(found.group * top + (top - found.rows)) % top  # one sort: by class, most frequent first
    first = counts[np.arange(order - 1)[:, None] + found.starts].sum(axis=0)  # of the l - 1 most frequent
    return float((counts[found.starts] / (found.sizes - first)).max())


def _whole(found: ClassCounts) -> NDArray[np.float64]:
    """The share of each value in the whole table."""
    counts = np.bincount(found.value, weights=found.rows, minlength=found.values)
    return np.asarray(counts / found.rows.sum())


def _differing(found: ClassCounts) -> float:
    """Equal distances: the mass of a class that lies where the table has less, which is half the L1 distance."""
    excess = found.shares - _whole(found)[found.value]
    return float(np.add.reduceat(np.maximum(excess, 0), found.starts).max())


def _moved(found: ClassCounts) -> float:
    """Ordered distance: Σ |Q_i - P_i| / (m - 1) over cumulative shares; exact, though a class lists only its values.

    From one of its values to the next, Q stays what it is while P rises, so they cross at most once, and sums of P
    over a stretch are differences of its running sum.
    """
    if found.values == 1:
        return 0.0
    above = np.cumsum(_whole(found))
    running = np.concatenate(([0.0], np.cumsum(above)))
    reached = np.cumsum(found.rows)
    level = (reached - (reached[found.starts] - found.rows[found.starts])[found.group]) / found.sizes[found.group]
    here, last = found.value, np.append(found.starts[1:], len(found.rows)) - 1
    ahead = np.append(here[1:], found.values)
    ahead[last] = found.values
    crossing = np.clip(np.searchsorted(above, level), here, ahead)
    below = level * (crossing - here) - (running[crossing] - running[here])
    beyond = (running[ahead] - running[crossing]) - level * (ahead - crossing)
    work = np.add.reduceat(below + beyond, found.starts) + running[here[found.starts]]
    return float(work.max() / (found.values - 1))
