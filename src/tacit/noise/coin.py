"""Exact coins: Bernoulli(p), Bernoulli(exp(−γ)), Bernoulli(1/(1 + m·exp(−γ))), one at a time, many alike, or each with
its own γ.

One-at-a-time coins follow Canonne, Kamath and Steinke, "The Discrete Gaussian for Differential Privacy" (2020),
Algorithm 1: only uniform integers are compared. Many alike coins are a two-cell `InversionTable`. Coins that each have
their own γ compare a 64-bit word with a floating-point estimate of exp(−γ) whose error is bounded by IEEE-754
arithmetic alone; a word inside the margin is decided with integers.

1/(1 + m·exp(−γ)) is the keep-probability of randomised response: e^ε/(1 + e^ε) is γ = ε, m = 1, and
e^ε/(e^ε + k − 1) is γ = ε, m = k − 1. It is known through rigorous bounds, and a coin reads bits until they decide.
"""

from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import lru_cache, partial
from operator import index
from typing import Any

import numpy as np

from tacit.base import InputError
from tacit.noise.bounds import Enclosure, exp_minus
from tacit.noise.rng import Rng
from tacit.noise.table import CHUNK, InversionTable, in_chunks

__all__ = [
    "below_exp",
    "bernoulli",
    "bernoulli_exp",
    "bernoulli_exp_ratio",
    "coins",
    "coins_exp_each",
    "estimate_exp",
    "exp_steps",
    "is_below",
    "logistic",
    "logistic_bounds",
    "logistics",
    "words_below_exp",
]

Bools = np.ndarray[Any, np.dtype[np.bool_]]
Floats = np.ndarray[Any, np.dtype[np.float64]]
Words = np.ndarray[Any, np.dtype[np.uint64]]


def bernoulli(p: Fraction, rng: Rng) -> bool:
    """True with probability exactly p."""
    if not 0 <= p <= 1:
        raise InputError(f"a probability must lie in [0, 1], not {float(p)}")
    return rng.below(p.denominator) < p.numerator


def bernoulli_exp(gamma: Fraction, rng: Rng) -> bool:
    """True with probability exactly exp(−γ), γ ≥ 0 (CKS 2020, Algorithm 1)."""
    if gamma < 0:
        raise InputError("gamma must not be negative: exp(-gamma) would not be a probability")
    return bernoulli_exp_ratio(gamma.numerator, gamma.denominator, rng)


def bernoulli_exp_ratio(numerator: int, denominator: int, rng: Rng) -> bool:
    """`bernoulli_exp` for γ = numerator/denominator, which need not be in lowest terms.

    For γ ≤ 1, the first k at which a coin of bias γ/k fails is odd with probability exactly exp(−γ).
    """
    while numerator > denominator:
        if not bernoulli_exp_ratio(1, 1, rng):
            return False
        numerator -= denominator
    k = 1
    while rng.below(denominator * k) < numerator:
        k += 1
    return k % 2 == 1


def coins(p: Fraction, size: int, rng: Rng) -> Bools:
    """`size` independent coins, each True with probability exactly p."""
    heads: Bools = in_chunks(partial(_rational_coin(p).draw, rng=rng), size) == 1
    return heads


@lru_cache(maxsize=32)
def _rational_coin(p: Fraction) -> InversionTable:
    if not 0 <= p <= 1:
        raise InputError(f"a probability must lie in [0, 1], not {float(p)}")

    def bounds(bits: int) -> Enclosure:
        scaled = p * (1 << bits)
        floor = scaled.numerator // scaled.denominator
        return floor, floor if scaled.denominator == 1 else floor + 1

    return _two_cells(bounds)


def _two_cells(bounds: Callable[[int], Enclosure]) -> InversionTable:
    """1 with the probability that is known by its bounds at any number of bits, else 0."""

    def cumulative(bits: int) -> Iterator[Enclosure]:
        yield bounds(bits)

    return InversionTable(cumulative, lambda cell: 1 - cell, finite=True)


def coins_exp_each(multiples: np.ndarray[Any, np.dtype[np.int64]], unit: Fraction, rng: Rng) -> Bools:
    """Independent coins, the i-th True with probability exactly exp(−multiples[i]·unit); multiples are ≥ 0."""
    if multiples.min(initial=0) < 0 or unit < 0:
        raise InputError("multiples and unit must not be negative: exp(-multiple * unit) would not be a probability")
    if multiples.dtype != np.int64 or multiples.max(initial=0) >= 2**53 or not 2.0**-900 < unit < 2.0**900:
        return np.array([bernoulli_exp(index(m) * unit, rng) for m in multiples.tolist()], dtype=bool)
    # two correctly rounded operations: a relative 2^−52
    gamma = multiples.astype(np.float64) * (unit.numerator / unit.denominator)
    return words_below_exp(rng.words(len(multiples)), gamma, lambda i: int(multiples[i]) * unit, rng)


CUT = 64
MARGIN = 2.0**-42


@lru_cache(maxsize=1)
def exp_steps() -> Floats:
    """exp(−i/32) for each i: computed when the first coin needs it, since it takes longer than many imports."""
    return np.array([exp_minus(Fraction(i, 32), 160)[0] / (1 << 160) for i in range(32 * CUT + 1)])


def estimate_exp(gamma: Floats) -> Floats:
    """exp(−min(γ, 64)) within a relative 2^−43, for doubles within a relative 2^−50 of the true γ ≥ 0.

    The estimate is steps[i]·exp(−f) with γ = i/32 + f. The error of γ moves the result by at most 64·2^−50 = 2^−44;
    steps are right to 2^−53; i/32 and f are exact in binary; the degree-8 sum for f < 1/32 is cut with an error below
    2^−63 and evaluated with fewer than 30 roundings of 2^−53. No mathematical library is trusted, only IEEE-754 + − ×.
    """
    rest = np.minimum(gamma, CUT)
    index = (rest * 32.0).astype(np.int64)
    rest -= index * (1 / 32)
    series = np.ones_like(rest)
    for k in range(8, 0, -1):  # Horner: 1 − f/1·(1 − f/2·(1 − …))
        series *= rest
        series *= -1 / k
        series += 1
    series *= exp_steps()[index]
    return series


def words_below_exp(words: Words, gamma: Floats, exact: Callable[[int], Fraction], rng: Rng) -> Bools:
    """Whether U_i < exp(−γ_i), where the first 64 bits of U_i are words[i] and further ones are drawn when needed.

    `gamma` holds doubles within a relative 2^−50 of the true γ_i ≥ 0, which `exact(i)` gives.
    """
    if len(words) > CHUNK:

        def part(start: int) -> Bools:
            chunk = slice(start, start + CHUNK)
            return words_below_exp(words[chunk], gamma[chunk], lambda i: exact(start + i), rng)

        return np.concatenate([part(start) for start in range(0, len(words), CHUNK)])
    estimate = estimate_exp(gamma)
    uniform = words * 2.0**-64
    result = uniform < estimate * (1 - MARGIN) - 2.0**-63  # U may exceed its first 64 bits by 2^−64
    doubtful = ~result & (uniform <= estimate * (1 + MARGIN))  # beyond the cut a zero word, as exp(−64) < 2^−64
    for i in np.flatnonzero(doubtful):
        result[i] = below_exp(int(words[i]), 64, exact(int(i)), rng)
    return result


def below_exp(known: int, bits: int, gamma: Fraction, rng: Rng) -> bool:
    """U < exp(−γ) for U whose first `bits` bits are `known`."""
    return is_below(known, bits, partial(exp_minus, gamma), rng)


def is_below(known: int, bits: int, bounds: Callable[[int], Enclosure], rng: Rng) -> bool:
    """U < x for U whose first `bits` bits are `known`, reading on until the bounds on x at so many bits decide."""
    while True:
        low, high = bounds(bits)
        if known < low:
            return True
        if known >= high:
            return False
        known, bits = known << 64 | rng.bits(64), bits + 64


@lru_cache(maxsize=256)
def logistic_bounds(gamma: Fraction, weight: Fraction, bits: int) -> Enclosure:
    """Bounds on 2^bits/(1 + weight·exp(−gamma)), for gamma ≥ 0 and weight ≥ 0, at most a few units apart."""
    if gamma < 0 or weight < 0:
        raise InputError("gamma and weight of a logistic coin must not be negative")
    n, d = weight.numerator, weight.denominator
    # an error of u in exp(−γ) moves the result by at most weight·u, hence the digits of the weight on top
    work = bits + 8 + max(0, n.bit_length() - d.bit_length() + 1)
    low, high = exp_minus(gamma, work)
    above = d << (work + bits)
    return above // ((d << work) + n * high), -(-above // ((d << work) + n * low))


def logistic(gamma: Fraction, weight: Fraction, rng: Rng) -> bool:
    """True with probability exactly 1/(1 + weight·exp(−gamma))."""
    return is_below(rng.bits(64), 64, partial(logistic_bounds, gamma, weight), rng)


def logistics(gamma: Fraction, weight: Fraction, size: int, rng: Rng) -> Bools:
    """`size` independent draws of `logistic`."""
    drawn: Bools = in_chunks(partial(_logistic_coin(gamma, weight).draw, rng=rng), size) == 1
    return drawn


@lru_cache(maxsize=32)
def _logistic_coin(gamma: Fraction, weight: Fraction) -> InversionTable:
    return _two_cells(partial(logistic_bounds, gamma, weight))
