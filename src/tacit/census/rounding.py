"""Real counts to whole ones, by a linear programme: each goes to one of its two neighbours, and every sum that must
hold does.

The sums are in two nested families where fixed and kept queries are nested: those of one cell over all children, and
those of one child over its cells. Such a matrix is a network's, so the programme has whole solutions, and the real
counts show that there is one (docs/theory/topdown.md). Where fixed queries overlap, whole numbers are asked for. Only
where the two neighbours do not suffice, because sums that are fixed were met but for a little, may counts go further.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import coo_array, csr_array, hstack

from tacit.base import TacitError

__all__ = ["rounded"]

Floats = np.ndarray[Any, np.dtype[np.float64]]
Whole = np.ndarray[Any, np.dtype[np.int64]]
SAME = 1e-6  # so near to a whole number a count is one
FURTHER = 4.0  # what it costs to go one further


def rounded(
    counts: Floats,
    *,
    parent: Whole | None,
    fixed: Sequence[tuple[Whole, Whole]],
    kept: Sequence[Whole],
) -> Whole:
    """Whole counts near `counts`, with the sums of `parent` by column, and by row the sums of `fixed`, exactly; sums of
    `kept` move by less than one where that is possible."""
    near = np.rint(counts)
    floor = np.where(np.abs(counts - near) < SAME, near, np.floor(counts)).astype(np.int64)
    part = np.clip(counts - floor, 0.0, 1.0) * (np.abs(counts - near) >= SAME)
    if not kept and not fixed:
        more = np.rint(part).astype(np.int64) if parent is None else _largest(part, parent - floor.sum(axis=0))
        return floor + more
    rows, columns = np.nonzero(part)
    found = _solved(floor, part, rows, columns, parent, fixed, kept, wide=False)
    if found is None:
        rows, columns = np.indices(floor.shape).reshape(2, -1)
        for soft in (kept, ()):
            found = _solved(floor, part, rows, columns, parent, fixed, soft, wide=True)
            if found is not None:
                break
        else:
            raise TacitError("no whole counts have the sums that must hold")
    return found


def _largest(part: Floats, more: Whole) -> Whole:
    """In each column the `more` largest parts go up: the nearest whole numbers with that sum."""
    ranks = np.argsort(np.argsort(-part, axis=0, kind="stable"), axis=0, kind="stable")
    return np.asarray(ranks < more, dtype=np.int64)


def _solved(
    floor: Whole,
    part: Floats,
    rows: Whole,
    columns: Whole,
    parent: Whole | None,
    fixed: Sequence[tuple[Whole, Whole]],
    kept: Sequence[Whole],
    *,
    wide: bool,
) -> Whole | None:
    """`floor` with something added at these places; None if nothing fits. With `wide` a count may go further."""
    sums: list[tuple[Whole, Floats, Floats]] = []  # of each place the sum it is in, and the ends of each sum
    if parent is not None:
        rest = (parent - floor.sum(axis=0)).astype(float)
        sums.append((columns, rest, rest))
    for codes, values in fixed:
        left = (values - _grouped(floor, codes, values.shape[1])).astype(float).ravel()
        sums.append((rows * values.shape[1] + codes[columns], left, left))
    for codes in kept:
        groups = int(codes.max()) + 1
        total = _grouped(part, codes, groups).ravel()
        sums.append((rows * groups + codes[columns], np.floor(total + SAME), np.ceil(total - SAME)))
    size = len(rows)
    if not size and all((low <= 0).all() and (high >= 0).all() for _, low, high in sums):
        return floor.copy()
    if not size:
        return None
    price = 1 - 2 * part[rows, columns]
    upper = np.ones(size)
    matrix = _matrix(sums, size)
    if wide:  # one up as before, further up, and down
        matrix = csr_array(hstack([matrix, matrix, -matrix]))
        price = np.concatenate([price, np.full(size, FURTHER), np.full(size, FURTHER)])
        upper = np.concatenate([upper, np.full(size, np.inf), floor[rows, columns]])
    low, high = (np.concatenate([each[end] for each in sums]) for end in (1, 2))
    chosen = _programme(price, upper, matrix, low, high)
    if chosen is None:
        return None
    if wide:
        chosen = chosen[:size] + chosen[size : 2 * size] - chosen[2 * size :]
    found = floor.copy()
    np.add.at(found, (rows, columns), chosen)
    return found


def _grouped(values: Any, codes: Whole, groups: int) -> Any:
    """Sums of the columns that have one code, for each row."""
    found = np.zeros((len(values), groups), dtype=values.dtype)
    np.add.at(found.T, codes, values.T)
    return found


def _matrix(sums: Sequence[tuple[Whole, Floats, Floats]], size: int) -> csr_array:
    starts = np.cumsum([0, *(len(low) for _, low, _ in sums)])
    places = np.concatenate([each[0] + start for each, start in zip(sums, starts, strict=False)])
    across = np.tile(np.arange(size), len(sums))
    return csr_array(coo_array((np.ones(len(places)), (places, across)), shape=(int(starts[-1]), size)))


def _programme(price: Floats, upper: Floats, matrix: csr_array, low: Floats, high: Floats) -> Whole | None:
    """The cheapest point of the polytope, whole; None if it is empty. Whole numbers are only asked for if the first
    answer has others."""
    used = np.flatnonzero(np.diff(matrix.indptr))
    empty = np.ones(len(low), dtype=np.bool_)
    empty[used] = False
    if (low[empty] > 0).any() or (high[empty] < 0).any():
        return None
    constraint = LinearConstraint(matrix[used], low[used], high[used])
    for whole in (0, 1):
        found = milp(price, integrality=np.full(len(price), whole), bounds=Bounds(0, upper), constraints=constraint)
        if found.x is None:
            return None
        nearest = np.rint(found.x)
        if np.abs(found.x - nearest).max() < SAME:
            return np.asarray(nearest, dtype=np.int64)
    return None
