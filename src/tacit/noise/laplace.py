"""Exact geometric and discrete Laplace noise with any rational scale, on the line and in the plane.

With r = exp(−1/scale), the geometric G on {0, 1, …} has Pr[G ≥ m] = r^m and the discrete Laplace Z has
Pr[Z = z] ∝ r^|z|.

Large arrays are drawn by inversion from small tables. Three exact facts make that possible:
- Z ≥ 0 with probability 1/(1 + r), and given its sign, Z is G or −1 − G. In two's complement −1 − G is `~G`.
- G = B·Q + R with independent Q (geometric of ratio r^B) and R (Pr[R = j] ∝ r^j on [0, B)), by memorylessness. Applied
  again, G is a string of independent digits with a geometric in front.
- With B a power of two, `~` acts on all digits alike, so the sign can be drawn with the leading part:
  Z = lead ^ digit_1 ^ … ^ digit_k, where lead is B^k·Q or its complement.
Single draws, and scales beyond 2^48, follow Canonne, Kamath and Steinke (2020), Algorithm 2, in Python integers.

In the plane, Pr[(i, j)] ∝ exp(−√(i² + j²)/scale) on the points of a square lattice, exactly. Two independent discrete
Laplace numbers with weights exp(−c(|i| + |j|)/scale), c a little below 1/√2, are a proposal that is never too light,
since √(i² + j²) ≥ (|i| + |j|)/√2. It is accepted with probability exp(−γ), γ = (√(i² + j²) − c(|i| + |j|))/scale, about
0.785 of the time for any scale that is not tiny. γ is irrational: a coin is decided by floating-point estimates where
their error cannot matter, and else by integer bounds on γ.
"""

from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache, partial
from math import isqrt
from typing import Any

import numpy as np

from tacit.base import positive
from tacit.noise.bounds import Enclosure, exp_minus, narrow, times
from tacit.noise.coin import MARGIN, bernoulli_exp_ratio, estimate_exp, is_below
from tacit.noise.rng import Rng
from tacit.noise.table import InversionTable, in_chunks

__all__ = [
    "FEW",
    "discrete_laplace",
    "discrete_laplaces",
    "geometric",
    "geometrics",
    "planar_laplace",
    "planar_laplaces",
]

Array = np.ndarray[Any, np.dtype[Any]]

DIGIT = 10  # bits a digit
LEAD = 64  # the leading part is a table of this scale at most
WIDEST = 2**48  # beyond this scale values may not fit int64
FEW = 400  # fewer draws than this do not pay for building tables


def geometric(scale: Fraction, rng: Rng) -> int:
    """One draw of G with Pr[G ≥ m] = exp(−m/scale)."""
    scale = positive(scale, "scale")
    n, d = scale.numerator, scale.denominator
    while True:
        remainder = rng.below(n)
        if bernoulli_exp_ratio(remainder, n, rng):
            break
    quotient = 0
    while bernoulli_exp_ratio(1, 1, rng):
        quotient += 1
    return (remainder + n * quotient) // d


def discrete_laplace(scale: Fraction, rng: Rng) -> int:
    """One draw of Z with Pr[Z = z] ∝ exp(−|z|/scale) (CKS 2020, Algorithm 2)."""
    while True:
        magnitude, negative = geometric(scale, rng), rng.bits(1)
        if magnitude or not negative:  # zero is counted once
            return -magnitude if negative else magnitude


def discrete_laplaces(scale: Fraction, size: int, rng: Rng) -> Array:
    """`size` independent draws of `discrete_laplace`: int64, or Python integers for enormous scales."""
    scale = positive(scale, "scale")
    if size < FEW or scale > WIDEST:
        return _one_by_one(discrete_laplace, scale, size, rng)
    return in_chunks(partial(_digits, _tables(scale, True), rng=rng), size)


def geometrics(scale: Fraction, size: int, rng: Rng) -> Array:
    """`size` independent draws of `geometric`."""
    scale = positive(scale, "scale")
    if size < FEW or scale > WIDEST:
        return _one_by_one(geometric, scale, size, rng)
    return in_chunks(partial(_digits, _tables(scale, False), rng=rng), size)


def _one_by_one(draw: Any, scale: Fraction, size: int, rng: Rng) -> Array:
    return np.array([draw(scale, rng) for _ in range(size)], dtype=object if scale > WIDEST else np.int64)


def _digits(tables: tuple[InversionTable, ...], size: int, rng: Rng) -> Array:
    result = tables[0].draw(size, rng)
    for table in tables[1:]:
        result ^= table.draw(size, rng)
    return result


@lru_cache(maxsize=16)
def _tables(scale: Fraction, signed: bool) -> tuple[InversionTable, ...]:
    digits = 0
    while scale > LEAD << DIGIT * digits:
        digits += 1
    lead = _lead(scale, DIGIT * digits) if signed else _unsigned_lead(scale, DIGIT * digits)
    return (lead, *(_digit(scale, DIGIT * position) for position in range(digits)))


def _lead(scale: Fraction, shift: int) -> InversionTable:
    """Sign and leading part: cells (+, 0), (−, 0), (+, 1), (−, 1), …"""
    block = Fraction(1 << shift) / scale

    def cumulative(bits: int) -> Iterator[Enclosure]:
        work = bits + 32
        one = 1 << work
        ratio, r = exp_minus(block, work), exp_minus(1 / scale, work)
        plus = (((one - ratio[1]) << work) // (one + r[1]), -(-((one - ratio[0]) << work) // (one + r[0])))
        power = one, one  # ratio^q
        while power[0] >> 32:
            half = times(power, plus, work)
            yield narrow((one - power[1] + half[0], one - power[0] + half[1]), work, bits)
            power = times(power, ratio, work)
            yield narrow((one - power[1], one - power[0]), work, bits)

    return InversionTable(cumulative, lambda cell: ~(cell // 2 << shift) if cell % 2 else cell // 2 << shift)


def _unsigned_lead(scale: Fraction, shift: int) -> InversionTable:
    """Leading part of a geometric: Pr[Q ≤ q] = 1 − ratio^(q+1)."""

    def cumulative(bits: int) -> Iterator[Enclosure]:
        work = bits + 32
        ratio = exp_minus(Fraction(1 << shift) / scale, work)
        power = ratio
        while True:  # the first boundary always: for small scales it is all there is
            yield narrow(((1 << work) - power[1], (1 << work) - power[0]), work, bits)
            power = times(power, ratio, work)
            if not power[0] >> 32:
                return

    return InversionTable(cumulative, lambda cell: cell << shift)


def _digit(scale: Fraction, shift: int) -> InversionTable:
    """The digit of weight 2^shift: Pr[R ≤ j] = (1 − ρ^(j+1))/(1 − ρ^B) with ρ = exp(−2^shift/scale)."""
    size = 1 << DIGIT

    def cumulative(bits: int) -> Iterator[Enclosure]:
        work = bits + 32 + int(scale).bit_length()  # 1 − ρ may be as small as 1/scale
        one = 1 << work
        ratio = exp_minus(Fraction(1 << shift) / scale, work)
        powers = [ratio]
        for _ in range(size - 1):
            powers.append(times(powers[-1], ratio, work))
        whole = one - powers[-1][1], one - powers[-1][0]
        for power in powers[:-1]:
            yield ((one - power[1]) << bits) // whole[1], -(-((one - power[0]) << bits) // whole[0])

    return InversionTable(cumulative, lambda cell: cell << shift, finite=True)


SLANT = Fraction(7071, 10000)  # c, below 1/√2 = 0.70710678…
WIDEST_PLANE = Fraction(2**40)  # up to here the numbers below are exact in doubles, or rounded as reckoned
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
    if scale > WIDEST_PLANE or size < 8:
        drawn = [planar_laplace(scale, rng) for _ in range(size)]
        return np.array(drawn, dtype=object if scale > WIDEST_PLANE else np.int64).reshape(size, 2)
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
    square, across = east * east + north * north, abs(east) + abs(north)

    def bounds(bits: int) -> Enclosure:
        root = isqrt(square << 2 * bits)  # √square lies in [root, root + 1]/2^bits
        least = Fraction(root, 1 << bits) - SLANT * across
        most = least if root * root == square << 2 * bits else least + Fraction(1, 1 << bits)
        return exp_minus(most / scale, bits)[0], exp_minus(max(least, Fraction(0)) / scale, bits)[1]

    return is_below(known, 64, bounds, rng)
