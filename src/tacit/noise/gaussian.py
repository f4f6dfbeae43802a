"""Exact discrete Gaussian noise, Pr[Z = z] ∝ exp(−z²/2σ²), with any rational σ².

Large arrays are drawn by inversion. The integers are cut into cells of B = 2^k: [qB, (q+1)B) and its complement
{~z}, and a cell is drawn with weight exp(−a²/2σ²), where a is the least |z| in it (qB, or qB + 1 on the negative side).
The place within the cell is uniform, and z is kept with probability exp(−(z² − a²)/2σ²) ≤ 1, else all is drawn again:
plain rejection, so the law is exact. For σ < 1024 cells have one element and nothing is rejected; beyond, cells are
narrow (B ≤ σ/512) and more than 99 % is kept.
Single draws, and σ beyond 2^40, follow Canonne, Kamath and Steinke (2020), Algorithm 3, in Python integers.
"""

from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache, partial
from math import isqrt
from typing import Any

import numpy as np

from tacit.base import positive
from tacit.noise.bounds import Enclosure, exp_minus, times
from tacit.noise.coin import bernoulli_exp_ratio, words_below_exp
from tacit.noise.laplace import discrete_laplace
from tacit.noise.rng import Rng, uniform
from tacit.noise.table import InversionTable, in_chunks

__all__ = ["discrete_gaussian", "discrete_gaussians", "gaussian_cells"]

Array = np.ndarray[Any, np.dtype[Any]]

FEW = 1000  # fewer draws than this do not pay for building a table, which takes as long as 300 to 8,000 of them
NARROW = 10  # σ below 2^NARROW uses cells of one element
WIDEST = 2**80  # σ² beyond this goes one by one


def discrete_gaussian(variance: Fraction, rng: Rng) -> int:
    """One draw (CKS 2020, Algorithm 3). `variance` is the parameter σ²."""
    variance = positive(variance, "variance")
    n, d, scale = variance.numerator, variance.denominator, isqrt(int(variance)) + 1
    proposal = Fraction(scale)
    while True:
        z = discrete_laplace(proposal, rng)
        # (|z| − σ²/t)²/2σ² over the common denominator
        if bernoulli_exp_ratio((abs(z) * d * scale - n) ** 2, 2 * n * d * scale * scale, rng):
            return z


def discrete_gaussians(variance: Fraction, size: int, rng: Rng) -> Array:
    """`size` independent draws of `discrete_gaussian`: int64, or Python integers for enormous σ."""
    variance = positive(variance, "variance")
    if size < FEW or variance > WIDEST:
        kind = object if variance > WIDEST else np.int64
        return np.array([discrete_gaussian(variance, rng) for _ in range(size)], dtype=kind)
    shift = max(0, isqrt(int(variance)).bit_length() - NARROW)
    if shift:
        return in_chunks(partial(_wide, variance, shift, rng=rng), size)
    return in_chunks(partial(gaussian_cells(variance, 0).draw, rng=rng), size)


def _wide(variance: Fraction, shift: int, size: int, rng: Rng) -> Array:
    """Cell, place within it, coin; what the coin refuses is drawn again."""
    cell = gaussian_cells(variance, shift).draw(size, rng)
    z: Array = cell ^ uniform(1 << shift, size, rng)
    refused = np.flatnonzero(~_kept(cell, z, variance, rng))
    if len(refused):
        z[refused] = _wide(variance, shift, len(refused), rng)
    return z


def _kept(cell: Array, z: Array, variance: Fraction, rng: Rng) -> Any:
    """Coins of bias exp(−(z² − a²)/2σ²)."""
    # a = |cell| is the least magnitude in the cell, on both sides: |qB| = qB, |~qB| = qB + 1
    least, size = np.abs(cell), np.abs(z)
    inverse = variance.denominator / (2 * variance.numerator)
    # both factors are exact doubles (< 2^53), so three roundings: a relative 2^−51
    gamma = (size - least).astype(float) * (size + least).astype(float) * inverse

    def exact(i: int) -> Fraction:
        return (int(size[i]) ** 2 - int(least[i]) ** 2) / (2 * variance)

    return words_below_exp(rng.words(len(cell)), gamma, exact, rng)


@lru_cache(maxsize=16)
def gaussian_cells(variance: Fraction, shift: int) -> InversionTable:
    """Cells (+, 0), (−, 0), (+, 1), (−, 1), … with weights exp(−(qB)²/2σ²) and exp(−(qB+1)²/2σ²)."""
    width = 1 << shift

    def weights(work: int) -> tuple[list[Enclosure], int]:
        """The weights that `work` bits can tell from zero, and a bound on the sum of all later ones."""

        def exp(numerator: int) -> Enclosure:
            return exp_minus(numerator / (2 * variance), work)

        here = (1 << work,) * 2
        to_next, faster = exp(width * width), exp(2 * width * width)  # (q+1)²B² − q²B², and its growth
        aside, further = exp(1), exp(2 * width)  # (qB+1)² − q²B², and its growth
        found = []
        while here[0] >> 16:
            found += [here, times(here, aside, work)]
            here, to_next, aside = times(here, to_next, work), times(to_next, faster, work), times(aside, further, work)
        # ratios fall from here on, so each side is below a geometric series of the present one
        return found, 2 * (here[1] << work) // ((1 << work) - to_next[1]) + 2

    def cumulative(bits: int) -> Iterator[Enclosure]:
        work = bits + 32
        masses, rest = weights(work)
        low, high = sum(mass[0] for mass in masses), sum(mass[1] for mass in masses) + rest
        below, above = 0, 0
        for mass in masses:
            below, above = below + mass[0], above + mass[1]
            yield (below << bits) // high, min(1 << bits, -(-(above << bits) // low))

    return InversionTable(cumulative, lambda cell: ~(cell // 2 << shift) if cell % 2 else cell // 2 << shift)
