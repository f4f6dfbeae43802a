"""Noise whose scale depends on the data: what keeps that private, for discrete Laplace noise on the integers.

The scale is read off a public `ScaleGrid` t_0 < t_1 < … with t_{j+1} ≤ g·t_j. A dataset sits at the level
L(x) = max_k (level(A_k(x)) − k), where A_k is its largest local sensitivity within k changes and level(A) the least j
with A ≤ α·t_j. Neighbours have A_k(x) ≤ A_{k+1}(x'), so their levels differ by at most one and their scales by a factor
of at most g; and α·t_L ≥ A_0 covers the move of the statistic, seen from either side. This is the smooth sensitivity of
Nissim, Raskhodnikova and Smith (2007), with β = log g, computed in integers and rounded up to the grid.

Such noise is (ε, δ)-DP when α + log g ≤ ε and `dilation_delta` ≤ δ; the proof is in docs/theory/smooth-sensitivity.md.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from math import log
from typing import Any

import numpy as np

from tacit.base import InputError, Lattice, show
from tacit.noise.bounds import exp_minus

__all__ = ["Bounds", "ScaleGrid", "dilation_delta", "largest_growth", "smooth_level"]

Ints = np.ndarray[Any, np.dtype[np.int64]]

BITS = 64  # significant bits of a scale on the grid
FINE = 20  # significant bits of the growth
LEAST = Fraction(1, 64)  # noise of this scale is zero but for 2·exp(−64): no smaller one is needed
LEVELS = 1 << 17  # a finer grid than this takes seconds to build and gives noise beyond use
WIDEST = 1 << 60  # steps a range may have


def dilation_delta(epsilon: Fraction, alpha: Fraction, growth: Fraction, bits: int = 256) -> Fraction:
    """A rational upper bound on the δ at ε > α that a change of scale by a factor of at most `growth` = g costs.

    (1 − 1/g)·max{ e^(−2c/(g+1))·(e^(−(ε−α)/(g−1)) + e^(−(ε+α)/(g−1)))/(1 + e^(−α)), 2e^(−ε/(g−1)) }, c = α/sinh α.
    The first is for scales that cover a move (at least 1/α), the second for smaller ones, at which nothing moves.
    """
    one = 1 << bits

    def above(gamma: Fraction) -> Fraction:
        return Fraction(exp_minus(gamma, bits)[1], one)

    def below(gamma: Fraction) -> Fraction:
        return Fraction(exp_minus(gamma, bits)[0], one)

    sides = above((epsilon - alpha) / (growth - 1)) + above((epsilon + alpha) / (growth - 1))
    slope = 2 * alpha * below(alpha) / (1 - below(2 * alpha))  # c, from below
    moved = above(_coarse(2 * slope / (growth + 1))) * sides / (1 + below(alpha))
    still = 2 * above(epsilon / (growth - 1))
    return (1 - 1 / growth) * max(moved, still)


def _coarse(value: Fraction) -> Fraction:
    """`value` rounded down to 64 binary places: an unwieldy exponent, made smaller."""
    return Fraction((value.numerator << BITS) // value.denominator, 1 << BITS)


@lru_cache(maxsize=64)
def largest_growth(epsilon: Fraction, delta: Fraction, alpha: Fraction) -> Fraction:
    """The greatest g > 1 (to 20 bits, from below) with α + log g ≤ ε and `dilation_delta` ≤ δ, found with integers."""
    bits = 128 + (1 / delta).numerator.bit_length()

    def private(excess: Fraction) -> bool:
        g = 1 + excess
        fits = g * exp_minus(epsilon - alpha, bits)[1] <= 1 << bits  # log g ≤ ε − α
        return fits and dilation_delta(epsilon, alpha, g, bits) <= delta

    excess = Fraction(1 << 10)
    while not private(excess):
        excess /= 2
    step = excess / 2
    for _ in range(FINE):
        if private(excess + step):
            excess += step
        step /= 2
    return 1 + excess


@dataclass(frozen=True)
class ScaleGrid:
    """Public scales, in steps of the lattice: 1/α, and from there up and down by factors of at most `growth`.

    The highest covers a move over the whole range of `top` steps; below the lowest, noise would be zero anyway.
    """

    alpha: Fraction
    growth: Fraction
    top: int

    @cached_property
    def scales(self) -> tuple[Fraction, ...]:
        if log(self.top / (self.alpha * LEAST)) > LEVELS * log(self.growth):
            raise InputError("epsilon is too small, or the range has too many steps, for a smooth bound: change either")
        up = [1 / self.alpha]
        while up[-1] * self.alpha < self.top:
            up.append(_rounded(up[-1] * self.growth, up=False))
        down = [up[0]]
        while down[-1] > LEAST:
            down.append(_rounded(down[-1] / self.growth, up=True))
        return (*reversed(down[1:]), *up)

    @cached_property
    def covered(self) -> Ints:
        """The greatest whole move that each level covers."""
        return np.array([min(int(self.alpha * scale), self.top) for scale in self.scales], dtype=np.int64)

    def level(self, move: int) -> int:
        """The lowest level that covers a move of so many steps; a move of 0 is covered by the lowest."""
        return int(np.searchsorted(self.covered, move, side="left"))


def _rounded(value: Fraction, *, up: bool) -> Fraction:
    unit = Fraction(2) ** (value.numerator.bit_length() - value.denominator.bit_length() - BITS)
    return -(-value // unit) * unit if up else (value // unit) * unit


def smooth_level(ordered: Ints, rank: int, grid: ScaleGrid) -> int:
    """L(x) for the order statistic of the given rank (1 is the least) of sorted steps in [0, grid.top].

    A_k = max over 0 ≤ t ≤ k + 1 of x_{rank+t} − x_{rank+t−k−1}, where x is 0 before its first and `top` after its last
    entry (NRS 2007). As level(A_k) − k ≤ level(top) − k, only so many k matter as the grid has levels.
    """
    highest = grid.level(grid.top)
    pad = min(len(ordered), highest) + 2
    padded = np.concatenate([np.zeros(pad, np.int64), ordered, np.full(pad, grid.top, np.int64)])
    centre, best, k = pad + rank - 1, 0, 0
    while highest - k > best:
        spread = padded[centre : centre + k + 2] - padded[centre - k - 1 : centre + 1]
        best = max(best, grid.level(int(spread.max())) - k)
        k += 1
    return best


@dataclass(frozen=True)
class Bounds:
    """The public range [lower, upper] of every record, on a lattice."""

    lower: Fraction
    upper: Fraction
    lattice: Lattice

    def __post_init__(self) -> None:
        for name, value in (("lower", self.lower), ("upper", self.upper)):
            if (value / self.lattice.granularity).denominator != 1:
                raise InputError(f"{name} must be a multiple of the granularity {show(self.lattice.granularity)}")
        if self.lower >= self.upper:
            raise InputError(f"lower must be less than upper, not {show(self.lower)} and {show(self.upper)}")
        if self.top > WIDEST:
            raise InputError("the range has more than 2^60 steps: declare a coarser granularity")

    @property
    def top(self) -> int:
        """The number of steps from lower to upper."""
        return int((self.upper - self.lower) / self.lattice.granularity)

    def ordered(self, values: Any) -> Ints:
        """The records as sorted steps above lower. Records outside the bounds are refused: clamp them first."""
        steps = self.lattice.steps(np.asarray(values))
        if isinstance(steps, int) or steps.ndim != 1 or not len(steps):
            raise InputError("values must be a list of at least one number")
        first = int(self.lower / self.lattice.granularity)
        if int(steps.min()) < first or int(steps.max()) > first + self.top:
            raise InputError("values must lie within [lower, upper]: clamp them before")
        return np.sort((steps.astype(object) - first if abs(first) > WIDEST else steps - first).astype(np.int64))

    def value(self, steps: int) -> int | float:
        """The number that lies so many steps above lower."""
        return self.lattice.value(int(self.lower / self.lattice.granularity) + steps)
