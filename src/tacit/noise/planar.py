"""Planar Laplace noise on the points of a square lattice: Pr[(i, j)] ∝ exp(−√(i² + j²)/scale), exactly.

Two independent discrete Laplace numbers with weights exp(−c(|i| + |j|)/scale), c a little below 1/√2, are a proposal
that is never too light, since √(i² + j²) ≥ (|i| + |j|)/√2. It is accepted with probability exp(−γ),
γ = (√(i² + j²) − c(|i| + |j|))/scale, about 0.785 of the time for any scale that is not tiny. γ is irrational: a coin
is decided by floating-point estimates where their error cannot matter, and else by integer bounds on γ.
"""

from fractions import Fraction
from math import isqrt
from typing import Any

import numpy as np

from tacit.base import positive
from tacit.noise.bounds import exp_minus
from tacit.noise.coin import MARGIN, estimate_exp
from tacit.noise.laplace import discrete_laplace, discrete_laplaces
from tacit.noise.rng import Rng

__all__ = ["planar_laplace", "planar_laplaces"]

Array = np.ndarray[Any, np.dtype[Any]]

SLANT = Fraction(7071, 10000)  # c, below 1/√2 = 0.70710678…
WIDEST = Fraction(2**40)  # up to here the numbers below are exact in doubles, or rounded as reckoned
SURE = 48.0  # distances in scales up to which γ is reckoned in doubles


def planar_laplace(scale: Fraction, rng: Rng) -> tuple[int, int]:
    """One draw."""
    scale = positive(scale, "scale")
    while True:
        east, north = discrete_laplace(scale / SLANT, rng), discrete_laplace(scale / SLANT, rng)
        if _accepted(rng.bits(64), east, north, scale, rng):
            return east, north


def planar_laplaces(scale: Fraction, size: int, rng: Rng) -> Array:
    """`size` independent draws, one a row: int64, or Python integers for enormous scales."""
    scale = positive(scale, "scale")
    if scale > WIDEST or size < 8:
        drawn = [planar_laplace(scale, rng) for _ in range(size)]
        return np.array(drawn, dtype=object if scale > WIDEST else np.int64).reshape(size, 2)
    out = np.empty((size, 2), dtype=np.int64)
    done = 0
    while done < size:
        want = int((size - done) * 1.3) + 8
        offsets = discrete_laplaces(scale / SLANT, 2 * want, rng).reshape(want, 2)
        good = offsets[_coins(offsets, scale, rng)][: size - done]
        out[done : done + len(good)] = good
        done += len(good)
    return out


def _coins(offsets: Array, scale: Fraction, rng: Rng) -> Array:
    """Whether each proposal is accepted.

    With distances r up to 48 scales, r/scale and c(|i| + |j|)/scale are at most 68 and each is off by a few relative
    2^−53, so γ is off by less than 2^−44, and exp(−γ) by a relative 2^−44 beside the 2^−43 of `estimate_exp`.
    """
    words = rng.words(len(offsets))
    sizes = np.abs(offsets).astype(np.float64)
    rate = float(1 / scale)
    far = np.sqrt(sizes[:, 0] * sizes[:, 0] + sizes[:, 1] * sizes[:, 1]) * rate
    gamma = np.maximum(far - (sizes[:, 0] + sizes[:, 1]) * float(SLANT / scale), 0.0)
    estimate, uniform = estimate_exp(gamma), words * 2.0**-64
    accepted: Array = uniform < estimate * (1 - MARGIN) - 2.0**-63
    doubtful = (far > SURE) | (~accepted & (uniform <= estimate * (1 + MARGIN)))
    for at in np.flatnonzero(doubtful):
        accepted[at] = _accepted(int(words[at]), int(offsets[at, 0]), int(offsets[at, 1]), scale, rng)
    return accepted


def _accepted(known: int, east: int, north: int, scale: Fraction, rng: Rng) -> bool:
    """U < exp(−γ) for U whose first 64 bits are `known`, decided with integers."""
    square, across, bits = east * east + north * north, abs(east) + abs(north), 64
    while True:
        root = isqrt(square << 2 * bits)  # √square lies in [root, root + 1]/2^bits
        least = Fraction(root, 1 << bits) - SLANT * across
        most = least if root * root == square << 2 * bits else least + Fraction(1, 1 << bits)
        low, high = exp_minus(most / scale, bits)[0], exp_minus(max(least, Fraction(0)) / scale, bits)[1]
        if known < low:
            return True
        if known >= high:
            return False
        known, bits = known << 64 | rng.bits(64), bits + 64
