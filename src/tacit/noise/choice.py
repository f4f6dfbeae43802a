"""One exact weighted choice: index i with probability proportional to counts[i]·exp(−multiples[i]·unit).

An integer envelope W_i, never below the true weight w_i times a power of two, is computed from floating-point
estimates whose error is bounded. A uniform integer below ΣW falls at place r of some cell i, and i is accepted when r
+ V < w_i for a uniform V in [0, 1). That is decided with integer bounds on w_i, so accepted indices have exactly the
law of w. A poor estimate can cost a repetition but never a wrong probability, as long as W_i ≥ w_i; and the estimates
are good, so the first draw almost always settles it, even among a million cells.
"""

from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from tacit.base import InputError
from tacit.noise.bounds import Enclosure, exp_minus
from tacit.noise.coin import CUT, estimate_exp, exp_steps, is_below
from tacit.noise.rng import Rng
from tacit.noise.table import CHUNK

__all__ = ["choose"]

Array = np.ndarray[Any, np.dtype[Any]]
Floats = np.ndarray[Any, np.dtype[np.float64]]

TOTAL = 60  # ΣW stays below about 2^60
SLACK = 1 + 2.0**-38  # covers the error of `_decay`
WIDEST = 900  # counts of more bits than this would leave the range of doubles
FAR = Fraction(2**20)  # beyond every cut of `_decay`, so γ is replaced by this where it would not fit a double


def choose(multiples: Array, unit: Fraction, rng: Rng, counts: Array | None = None) -> int:
    """An index i with probability exactly proportional to counts[i]·exp(−multiples[i]·unit).

    `multiples` are non-negative integers (int64, or Python integers), `unit` is a positive rational, `counts` are
    positive integers of any size up to 2^900, all one when left out.
    """
    if not len(multiples):
        raise InputError("multiples must not be empty: there is nothing to choose from")
    if unit <= 0:
        raise InputError(f"unit must be greater than 0, not {unit}")
    multiples = multiples - multiples.min()  # only differences matter, and now one γ is 0
    if counts is None and not multiples.any():
        return rng.below(len(multiples))
    shift, envelope = _envelope(_gammas(multiples, unit), counts)
    edges = np.cumsum(envelope)
    total = int(edges[-1])
    while True:
        place = rng.below(total)
        i = int(np.searchsorted(edges, place, side="right"))
        place -= int(edges[i - 1]) if i else 0
        count = 1 if counts is None else int(counts[i])
        if is_below(place, 0, partial(_weight, count, int(multiples[i]) * unit, shift), rng):
            return i


def _gammas(multiples: Array, unit: Fraction) -> Floats:
    """multiples·unit, within a relative 2^−50 (or 2^−1000 absolutely)."""
    if multiples.dtype == np.int64 and 2.0**-900 < unit < 2.0**900:
        return np.asarray(multiples * (unit.numerator / unit.denominator))  # at most three roundings of 2^−53
    return np.array([float(min(int(m) * unit, FAR)) for m in multiples.tolist()])


def _envelope(gammas: Floats, counts: Array | None) -> tuple[int, Array]:
    """(S, W) with W_i ≥ counts_i·exp(−γ_i)·2^S, ΣW < 2^62, and ΣW hardly more than what it bounds."""
    widest = 1 if counts is None else int(counts.max()).bit_length()
    if widest > WIDEST or (counts is not None and int(counts.min()) < 1):
        raise InputError(f"counts must be whole numbers from 1 to below 2^{WIDEST}")
    # One weight is at least 1 (γ = 0), so a count of b bits is negligible once exp(−γ) is below 2^−(b + 92) or so.
    weights = _decay(gammas, cuts=1 + (widest + 91) // 92)  # 64·log2(e) = 92.3
    if counts is not None:
        weights *= counts.astype(np.float64)
    shift = TOTAL - len(weights).bit_length() - int(np.frexp(weights.max())[1])
    return shift, np.ldexp(weights * SLACK, shift).astype(np.int64) + 2


def _decay(gammas: Floats, cuts: int) -> Floats:
    """exp(−min(γ, 64·cuts)) within a relative 2^−38.9, for up to 11 cuts of 64.

    γ is right to 704·2^−50 < 2^−40.5 absolutely, and each of the 11 factors is estimated to 2^−43 (`estimate_exp`).
    """
    # beyond the last cut all are the same, and most often most are
    result = np.full_like(gammas, exp_steps()[-1] ** cuts)
    near = np.flatnonzero(gammas < CUT * cuts)
    for start in range(0, len(near), CHUNK):
        part = gammas[near[start : start + CHUNK]]
        product = estimate_exp(part)
        for k in range(1, cuts):
            product *= estimate_exp(np.maximum(part - k * CUT, 0.0))
        result[near[start : start + CHUNK]] = product
    return result


def _weight(count: int, gamma: Fraction, shift: int, more: int) -> Enclosure:
    """Integer bounds on count·exp(−γ)·2^(shift + more), a few units apart."""
    shift += more
    bits = max(shift, 0) + count.bit_length()
    low, high = exp_minus(gamma, bits)
    return count * low >> bits - shift, -(-count * high >> bits - shift)
