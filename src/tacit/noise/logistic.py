"""Exact coins with probability 1/(1 + m·exp(−γ)): the keep-probabilities of randomised response.

e^ε/(1 + e^ε) is γ = ε, m = 1; e^ε/(e^ε + k − 1) is γ = ε, m = k − 1. The probability is known only through rigorous
bounds, and a coin reads bits of its uniform number until the bounds decide, so nothing is rounded.
"""

from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache, partial
from typing import Any

import numpy as np

from tacit.base import InputError
from tacit.noise.bounds import Enclosure, exp_minus
from tacit.noise.rng import Rng
from tacit.noise.table import InversionTable, in_chunks

__all__ = ["logistic", "logistic_bounds", "logistics"]

Bools = np.ndarray[Any, np.dtype[np.bool_]]

WORD = 64
GUARD = 8


@lru_cache(maxsize=256)
def logistic_bounds(gamma: Fraction, weight: Fraction, bits: int) -> Enclosure:
    """Bounds on 2^bits/(1 + weight·exp(−gamma)), for gamma ≥ 0 and weight ≥ 0, at most a few units apart."""
    if gamma < 0 or weight < 0:
        raise InputError("gamma and weight of a logistic coin must not be negative")
    n, d = weight.numerator, weight.denominator
    # an error of u in exp(−γ) moves the result by at most weight·u, hence the digits of the weight on top
    work = bits + GUARD + max(0, n.bit_length() - d.bit_length() + 1)
    low, high = exp_minus(gamma, work)
    above = d << (work + bits)
    return above // ((d << work) + n * high), -(-above // ((d << work) + n * low))


def logistic(gamma: Fraction, weight: Fraction, rng: Rng) -> bool:
    """True with probability exactly 1/(1 + weight·exp(−gamma))."""
    known, bits = rng.bits(WORD), WORD
    while True:
        low, high = logistic_bounds(gamma, weight, bits)
        if known < low:
            return True
        if known >= high:
            return False
        known, bits = known << WORD | rng.bits(WORD), bits + WORD


def logistics(gamma: Fraction, weight: Fraction, size: int, rng: Rng) -> Bools:
    """`size` independent draws of `logistic`."""
    drawn: Bools = in_chunks(partial(_coin(gamma, weight).draw, rng=rng), size) == 1
    return drawn


@lru_cache(maxsize=32)
def _coin(gamma: Fraction, weight: Fraction) -> InversionTable:
    def cumulative(bits: int) -> Iterator[Enclosure]:
        yield logistic_bounds(gamma, weight, bits)

    return InversionTable(cumulative, lambda cell: 1 - cell, finite=True)
