"""Gaussian noise on a lattice at the price of table look-ups: exact discrete Gaussians, one a digit.

z = k·x₁ + x₂ with independent x of variance V is, by completing the square and Poisson summation, a discrete Gaussian
of variance V(k² + 1) up to a factor within 1 ± DISTANCE at every integer: docs/theory/training-noise.md. The x are
exact, so this is all there is between the law that is drawn and the one that is priced. A third digit makes the lattice
k times finer.
"""

from fractions import Fraction
from functools import lru_cache
from math import isqrt
from typing import Any

import numpy as np

from tacit.noise.gaussian import gaussian_cells
from tacit.noise.rng import Rng
from tacit.noise.table import UNDECIDED, InversionTable

__all__ = ["BASE", "DIGIT", "DISTANCE", "DigitTable", "wide_gaussians", "wide_steps", "wide_variance"]

Ints = np.ndarray[Any, np.dtype[Any]]

DIGIT = 150**2  # V, the variance of one digit
BASE = 83  # k: digits overlap, so that their sum is smooth: V/(1 + k²) ≥ 1.8²
DISTANCE = Fraction(1, 10**26)  # more than 9θ, θ = 2.01·exp(−2π²·V/(1 + k²)) < 1e-27
CHUNK = 1 << 17  # draws whose arrays stay in the cache
DOUBTFUL = 2**14  # from here on, not a value but a row of the next table


def wide_variance(digits: int = 2) -> int:
    """σ² of the law, in squared steps."""
    squares: list[int] = [BASE ** (2 * place) for place in range(digits)]
    return DIGIT * sum(squares)


def wide_steps(digits: int = 2) -> int:
    """σ in steps, rounded down: 12,450 for two digits, just below 2^20 for three."""
    return isqrt(wide_variance(digits))


def wide_gaussians(size: int, rng: Rng, digits: int = 2) -> Ints:
    """`size` independent draws of the law of this file, in steps of its lattice, as 32-bit integers."""
    table, out = _digits(), np.empty(size, dtype=np.int32)
    for start in range(0, size, CHUNK):
        part: Ints = out[start : start + CHUNK]
        first, *more = table.drawn(digits, len(part), rng)
        np.multiply(first, np.int32(BASE), out=part)
        for digit in more[:-1]:
            part += digit
            part *= np.int32(BASE)
        part += more[-1]
    return out


class DigitTable:
    """An exact table that is looked up by 16 bits, and by 8 more where they leave a doubt, before it is searched."""

    def __init__(self, table: InversionTable) -> None:
        self._table = table
        first = table.decided(np.arange(1 << 16, dtype=np.uint64) << np.uint64(48), 16)
        doubtful = np.flatnonzero(first == UNDECIDED)
        starts = doubtful.astype(np.uint64)[:, None] << np.uint64(8) | np.arange(256, dtype=np.uint64)
        second = table.decided(starts.ravel() << np.uint64(40), 24)
        wanting = np.flatnonzero(second == UNDECIDED)
        self._third = (starts.ravel()[wanting] << np.uint64(40)).astype(np.uint64)
        second[wanting] = DOUBTFUL + np.arange(len(wanting))
        first[doubtful] = DOUBTFUL + np.arange(len(doubtful))
        assert max(len(doubtful), len(wanting)) < DOUBTFUL, "rows of the next table are 15 bits"
        self._first, self._second = first.astype(np.int16), second.astype(np.int16)

    def drawn(self, rows: int, size: int, rng: Rng) -> Ints:
        """So many rows of independent samples, 16-bit integers."""
        words = np.empty(rows * size, dtype=np.uint16)
        rng.fill(words)
        found = np.empty(rows * size, dtype=np.int16)
        for start in range(0, len(words), size):  # what is looked up and where stay in the cache
            np.take(self._first, words[start : start + size], mode="wrap", out=found[start : start + size])
        return self._settled(found, rng).reshape(rows, size)

    def _settled(self, found: Ints, rng: Rng) -> Ints:
        """The same with samples in place of rows of the second table."""
        doubtful = np.flatnonzero(found >= DOUBTFUL)
        rows = found[doubtful].astype(np.int32) - DOUBTFUL
        second = self._second[256 * rows + rng.words(len(rows), np.uint8)]
        deep = np.flatnonzero(second >= DOUBTFUL)
        if len(deep):
            words = self._third[second[deep] - DOUBTFUL] | rng.words(len(deep)) >> np.uint64(24)
            second[deep] = self._table.searched(words, rng)
        found[doubtful] = second
        return found


@lru_cache(maxsize=1)
def _digits() -> DigitTable:
    return DigitTable(gaussian_cells(Fraction(DIGIT), 0))
