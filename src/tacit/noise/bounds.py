"""Rigorous integer bounds on exp(−γ): fixed point, rounded outward, to any precision.

An `Enclosure` (low, high) at `bits` states low ≤ x·2^bits ≤ high. Everything transcendental in a sampler goes through
here, so no floating-point library decides an outcome.
"""

from fractions import Fraction

from tacit.base import InputError

__all__ = ["Enclosure", "exp_minus", "narrow", "times"]

Enclosure = tuple[int, int]

GUARD = 24


def exp_minus(gamma: Fraction, bits: int) -> Enclosure:
    """Bounds on exp(−γ)·2^bits for γ ≥ 0, at most a few units apart.

    γ is halved s times until below 2^−8, exp(−x) is summed as an alternating series, and the result is squared s times
    in interval arithmetic. Squaring doubles the error, hence s more guard bits.
    """
    if gamma < 0:
        raise InputError("gamma must not be negative: exp(-gamma) would not be a probability")
    if gamma > bits + 1:  # exp(−γ)·2^bits < 1
        return 0, 1
    halvings = max(0, 8 + int(gamma).bit_length())
    work = bits + halvings + GUARD
    scaled = gamma * (1 << work) / (1 << halvings)
    below = scaled.numerator // scaled.denominator
    low, high = _series(below + 1, work)[0], _series(below, work)[1]
    for _ in range(halvings):
        low, high = times((low, high), (low, high), work)
    return narrow((low, high), work, bits)


def _series(x: int, work: int) -> Enclosure:
    """exp(−x/2^work) for 0 ≤ x ≤ 2^(work−8).

    Each floored term is off by less than 1 + 1/255 units, and so is the remainder: it is below the first term that
    is floored to 0.
    """
    term, total, k = 1 << work, 1 << work, 0
    while term:
        k += 1
        term = (term * x >> work) // k
        total += -term if k % 2 else term
    return total - 2 * k - 2, total + 2 * k + 2


def times(a: Enclosure, b: Enclosure, bits: int) -> Enclosure:
    """Product of two non-negative enclosures at the same precision."""
    return a[0] * b[0] >> bits, -(-(a[1] * b[1]) >> bits)


def narrow(x: Enclosure, bits: int, target: int) -> Enclosure:
    """The same enclosure with fewer bits, rounded outward, and never below zero."""
    drop = bits - target
    return max(0, x[0] >> drop), -(-x[1] >> drop)
