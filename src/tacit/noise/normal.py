"""Gaussian noise on a fine lattice at the price of a table: exact discrete Gaussians, one a digit.

z = k²·x₁ + k·x₂ + x₃ with independent x of variance V is, by completing the square and Poisson summation, a discrete
Gaussian of variance V(k⁴ + k² + 1) up to a factor within 1 ± DISTANCE at every integer: docs/theory/training-noise.md.
The x are exact, so this is all there is between the law that is drawn and the one that is priced. A fourth digit makes
the lattice k times finer.
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
CHUNK = 1 << 15  # draws that stay in the cache
WANTING = np.int32(2**30)  # in place of a value that the first bits do not decide


def wide_variance(digits: int = 3) -> int:
    """σ² of the law, in squared steps."""
    squares: list[int] = [BASE ** (2 * place) for place in range(digits)]
    return DIGIT * sum(squares)


def wide_steps(digits: int = 3) -> int:
    """σ in steps, rounded down: just below 2^20 for three digits, 2^26 for four."""
    return isqrt(wide_variance(digits))


def wide_gaussians(size: int, rng: Rng, digits: int = 3) -> Ints:
    """`size` independent draws of the law of this file, in steps of its lattice."""
    table = _digits()
    out: Ints = np.empty(size, dtype=np.int32 if digits <= 3 else np.int64)
    for start in range(0, size, CHUNK):
        part: Any = out[start : start + CHUNK]
        drawn = table.digits(digits * len(part), rng).reshape(digits, len(part))
        part[:] = drawn[0]
        for digit in drawn[1:]:
            part *= BASE
            part += digit
    return out


class DigitTable:
    """An exact table that is looked up by 16 bits, and by 8 more where they leave a doubt, before it is searched."""

    def __init__(self, table: InversionTable) -> None:
        self._table = table
        first = table.decided(np.arange(1 << 16, dtype=np.uint64) << np.uint64(48), 16)
        doubtful = np.flatnonzero(first == UNDECIDED)
        starts = doubtful.astype(np.uint64)[:, None] << np.uint64(8) | np.arange(256, dtype=np.uint64)
        self._second = table.decided(starts.ravel() << np.uint64(40), 24)
        self._row = np.zeros(1 << 16, dtype=np.int64)
        self._row[doubtful] = np.arange(len(doubtful)) * 256
        self._first = np.where(first == UNDECIDED, WANTING, first).astype(np.int32)

    def digits(self, size: int, rng: Rng) -> Ints:
        """`size` independent samples, as 32-bit integers."""
        prefix = rng.words(size, np.uint16)
        out: Ints = np.take(self._first, prefix, mode="wrap")
        doubtful = np.flatnonzero(out == WANTING)
        if len(doubtful):
            more = rng.words(len(doubtful), np.uint8)
            found = self._second[self._row[prefix[doubtful]] + more]
            deep = np.flatnonzero(found == UNDECIDED)
            known = (prefix[doubtful[deep]].astype(np.uint64) << np.uint64(8) | more[deep]) << np.uint64(40)
            found[deep] = self._table.searched(known | rng.words(len(deep)) >> np.uint64(24), rng)
            out[doubtful] = found
        return out


@lru_cache(maxsize=1)
def _digits() -> DigitTable:
    return DigitTable(gaussian_cells(Fraction(DIGIT), 0))
