"""Rows as whole numbers, and exact sums of their outer products: what every model here learns from.

A row's part in a model is l⊗r: a gradient is x⊗(p − y), a second moment x⊗x, a histogram (which bin)⊗(which class). The
factors are vectors of whole numbers with a norm of at most `STEPS`, so the part has a norm of at most STEPS², and
sums of whole numbers below 2^53 are exact in doubles, in whichever order a library adds them. So the sensitivity of a
sum is what is stated, with nothing to add for rounding (docs/theory/private-sums.md).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import isqrt

import numpy as np

from tacit.base import InputError
from tacit.learn.estimator.bounds import Array

__all__ = ["STEPS", "Factors", "SumBlock", "SumVector", "exact_product", "in_ball", "one_hot", "shrunk", "whole_steps"]

STEPS = 2**14  # a factor has a norm of at most one, in so many steps
NEAR = 16.0  # numbers further out than so many radii count as being there
COLUMNS = 2**17  # squares of so many numbers below NEAR·STEPS add up to less than 2^53
ROWS = 2**24  # rows at once: 2^24 · STEPS² < 2^53
MOST = 2**26  # rows whose weighted sums fit into 64 bits
CELLS = 2**21  # numbers of single parts that are held at once
DIAGONAL, ABOVE = 29, 41  # 41² = 2·29² − 1, so these weights on x⊗x never pass 29‖x‖²

Factors = tuple[Array, Array]


def in_ball(values: Array, radius: float) -> Array:
    """Each row divided by `radius`, scaled down to the unit ball where it is outside, as whole numbers of 1/STEPS.

    Norms are measured on whole numbers, so a row comes out the same whatever rows are beside it. The ball is smaller by
    √d + 2 steps, which is more than rounding can add: half a step a number in the norm, and half a step in the end.
    """
    return shrunk(values, radius)[0]


def shrunk(values: Array, radius: float) -> Factors:
    """What `in_ball` gives, and for each row by how much it was scaled down, from 0 to 1: a column."""
    size = values.shape[1]
    if size > COLUMNS:
        raise InputError(f"{size} columns are too many: these models take at most {COLUMNS}")
    units = np.clip(values / radius, -NEAR, NEAR)
    norm = np.sqrt(np.sum(np.rint(units * STEPS) ** 2, axis=1)) / STEPS
    scale = 1 / np.maximum(norm, 1.0)[:, None]
    steps = np.rint(units * scale * (STEPS - isqrt(size) - 2))
    steps[np.sum(steps * steps, axis=1) > STEPS**2] = 0  # never, by the above; and then it counts for nothing
    return steps, scale


def one_hot(codes: Array, count: int) -> Array:
    """A one in the place that a code names, in steps; nothing for a code outside."""
    found = np.zeros((len(codes), count))
    inside = np.flatnonzero((codes >= 0) & (codes < count))
    found[inside, codes[inside]] = STEPS
    return found


def whole_steps(values: Array) -> Array:
    """Numbers in [−1, 1] as one column of steps, for what is released beside a vector."""
    return np.asarray(np.rint(np.clip(values, -1.0, 1.0) * STEPS)).reshape(-1, 1)


def exact_product(rows: Array, weights: Array) -> Array:
    """Rows of `in_ball` times weights, which are rounded to 2^−20: whole numbers, so exact whatever is beside them."""
    rounded = np.rint(np.clip(weights, -(2.0**10), 2.0**10) * 2.0**20)
    return np.asarray(rows @ rounded) * (2.0**-20 / STEPS)


@dataclass(frozen=True, kw_only=True)
class SumBlock:
    """One matrix among those that are released as one vector: `left` × `right` numbers, with a whole `weight`.

    A `symmetric` block is x⊗x, of which the diagonal and what is above it are released.
    """

    left: int
    right: int = 1
    weight: int = 1
    symmetric: bool = False

    @property
    def size(self) -> int:
        return self.left * (self.left + 1) // 2 if self.symmetric else self.left * self.right


@dataclass(frozen=True)
class SumVector:
    """Sums of several blocks as one vector of whole numbers, of which one row moves at most one, in l2.

    The squares of the weights add up to `norm`² at most. A number of the vector is a whole number of `granularity`.
    """

    blocks: tuple[SumBlock, ...]
    norm: int = 1

    def __post_init__(self) -> None:
        if sum(block.weight**2 for block in self.blocks) > self.norm**2:
            raise InputError("the weights of the blocks pass the norm of the vector")

    @property
    def size(self) -> int:
        return sum(block.size for block in self.blocks)

    @property
    def limit(self) -> int:
        """The norm of one row's part, in steps."""
        return self.norm * self._parts * STEPS**2

    @property
    def granularity(self) -> Fraction:
        return Fraction(1, self.limit)

    @property
    def _parts(self) -> int:
        """In how many parts a step is cut, so that the weights of a symmetric matrix are whole numbers."""
        return DIAGONAL if any(block.symmetric for block in self.blocks) else 1

    def total(self, factors: Sequence[Factors], offsets: Array | None = None) -> Array:
        """The sum over all rows, in steps. With `offsets`, where units begin and end, the rows of a unit are clipped
        together: what they add up to is scaled down to the `limit`, so that it moves the sum by no more."""
        count = len(factors[0][0])
        if count > MOST:
            raise InputError(f"there are more than {MOST} rows: learn from a part of them")
        if offsets is not None:  # as declared, never by what the rows are: both ways round otherwise
            found = np.zeros(self.size, dtype=np.int64)
            for first, last in self._groups(offsets):
                found += self._unit_sums(factors, offsets, first, last)
            return found
        return np.concatenate([self._block_sum(*pair) for pair in zip(self.blocks, factors, strict=True)])

    def values(self, steps: Array) -> list[Array]:
        """The blocks as matrices, from steps with noise."""
        found, start = [], 0
        for block in self.blocks:
            numbers = steps[start : start + block.size].astype(float) / (block.weight * self._parts * STEPS**2)
            start += block.size
            if not block.symmetric:
                found.append(numbers.reshape(block.left, block.right))
                continue
            matrix = np.zeros((block.left, block.left))
            rows, columns = np.triu_indices(block.left)
            matrix[rows, columns] = numbers * np.where(rows == columns, 1.0, DIAGONAL / ABOVE)
            found.append(matrix + np.triu(matrix, 1).T)
        return found

    def _block_sum(self, block: SumBlock, factors: Factors) -> Array:
        left, right = factors
        matrix = np.zeros((left.shape[1], right.shape[1]), dtype=np.int64)
        for start in range(0, len(left), ROWS):
            some = slice(start, start + ROWS)
            matrix += (left[some].T @ right[some]).astype(np.int64)
        return np.asarray(self._flat(block, matrix[None])[0])

    def _flat(self, block: SumBlock, matrices: Array) -> Array:
        """Matrices as vectors, with their weights."""
        if not block.symmetric:
            return np.asarray(matrices.reshape(len(matrices), block.size) * (block.weight * self._parts))
        rows, columns = np.triu_indices(block.left)
        weights = np.where(rows == columns, DIAGONAL, ABOVE) * block.weight
        return np.asarray(matrices[:, rows, columns] * weights)

    def _unit_sums(self, factors: Sequence[Factors], offsets: Array, first: int, last: int) -> Array:
        """The sum over the units from `first` to `last`, each clipped."""
        some = slice(int(offsets[first]), int(offsets[last]))
        parts = []
        for block, (left, right) in zip(self.blocks, factors, strict=True):
            product = left[some].astype(np.int64)[:, :, None] * right[some].astype(np.int64)[:, None, :]
            parts.append(self._flat(block, product))
        starts = (offsets[first:last] - offsets[first]).astype(np.intp)
        sums = np.add.reduceat(np.concatenate(parts, axis=1), starts, axis=0).astype(float)
        norms = np.sqrt(np.sum(sums * sums, axis=1))
        # 1e-9 is more than all roundings here; towards zero no norm grows
        scale = np.where(norms > self.limit * (1 - 1e-9), self.limit * (1 - 1e-9) / np.maximum(norms, 1.0), 1.0)
        return np.asarray(np.trunc(sums * scale[:, None]).astype(np.int64).sum(axis=0))

    def _groups(self, offsets: Array) -> Iterator[tuple[int, int]]:
        """Units in a row that have so many rows together as are held at once, and at least one unit."""
        first, count = 0, len(offsets) - 1
        while first < count:
            room = offsets[first] + max(1, CELLS // self.size)
            last = min(max(int(np.searchsorted(offsets, room, side="right")) - 1, first + 1), count)
            yield first, last
            first = last
