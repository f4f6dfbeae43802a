"""Rows from a model: clique by clique, each row's new columns given those it has already.

Of the rows that agree in what they have, as many get each combination as the model expects, rounded down, and the rest
goes by chance in proportion to what was cut off: a number between 0 and 1 is added to running totals (systematic
rounding). It is uniform for the first group and goes on by the golden ratio, so that groups make up for each other.
Every count is within one of what is expected, and is expected exactly. Independent draws would add the
noise of a sample on top.
"""

from collections.abc import Mapping
from math import prod
from typing import Any

import numpy as np

from tacit.noise import rng_or_default
from tacit.synth.tree import Clique, Floats, JunctionTree

__all__ = ["Codes", "sampled", "shares", "uniforms"]

GOLDEN = (5**0.5 - 1) / 2
Codes = np.ndarray[Any, np.dtype[np.int64]]


def uniforms(count: int) -> Floats:
    """Doubles from 0 to below 1, from the cryptographic generator."""
    return np.asarray((rng_or_default(None).words(count) >> np.uint64(11)) * 2.0**-53)


def shares(expected: Floats) -> Codes:
    """Whole numbers for rows of expected counts: each within one of what is expected, each row with its rounded sum."""
    ends = np.cumsum(expected, axis=1)
    whole = np.rint(ends[:, -1:])
    with np.errstate(invalid="ignore", divide="ignore"):
        ends = np.where(ends[:, -1:] > 0, ends * (whole / ends[:, -1:]), 0.0)
    starts = (uniforms(1) + np.arange(len(ends)) * GOLDEN) % 1.0
    found = np.floor(ends + starts[:, None])
    found[:, -1:] = whole
    found = np.minimum(found, whole)
    return np.diff(found, axis=1, prepend=0.0).astype(np.int64)


def sampled(
    tree: JunctionTree, beliefs: list[Floats], rows: int, given: Mapping[int, Codes] | None = None
) -> dict[int, Codes]:
    """The cells of so many rows, by the place of the column. `given` are columns that the rows have already: all of
    them in the first clique of the tree."""
    known: dict[int, Codes] = dict(given or {})
    for clique, belief in zip(tree.cliques, beliefs, strict=True):
        have = tuple(place for place in clique if place in known)
        new = tuple(place for place in clique if place not in known)
        if not new:
            continue
        table = np.transpose(belief, [clique.index(place) for place in (*have, *new)])
        table = table.reshape(prod(tree.shape(have)), prod(tree.shape(new)))
        drawn = _drawn(table, _index(tree, have, known, rows))
        known |= dict(zip(new, np.unravel_index(drawn, tree.shape(new)), strict=True))
    mixed = np.argsort(uniforms(rows), kind="stable")
    return known if given else {place: codes[mixed] for place, codes in known.items()}


def _index(tree: JunctionTree, have: Clique, known: Mapping[int, Codes], rows: int) -> Codes:
    """Which group each row is in."""
    if not have:
        return np.zeros(rows, np.int64)
    return np.asarray(np.ravel_multi_index([known[place] for place in have], tree.shape(have)), np.int64)


def _drawn(table: Floats, group: Codes) -> Codes:
    """A cell for each row, from the row of `table` that its group has. A group that the model does not expect takes
    the cells as they are without a condition."""
    there, sizes = np.unique(group, return_counts=True)
    chances = table[there]
    empty = chances.sum(axis=1) <= 0
    if empty.any():
        chances[empty] = table.sum(axis=0)
    expected = chances * (sizes / chances.sum(axis=1))[:, None]
    counts = shares(expected)
    cells = np.repeat(np.tile(np.arange(table.shape[1]), len(there)), counts.ravel())
    order = np.lexsort((uniforms(len(group)), group))  # the rows group by group, mixed within each
    found = np.empty(len(group), np.int64)
    found[order] = cells
    return found
