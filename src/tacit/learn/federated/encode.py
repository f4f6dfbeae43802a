"""From a client's vector to whole numbers modulo 2^bits, and from a sum of those back to numbers.

A vector is clipped, rotated at random so that no coordinate stands out, and rounded to a lattice at random without
bias, until the whole numbers are no longer than a bound. The bound is checked on the integers, exactly:
the guarantee rests on nothing that floating point does. After Kairouz, Liu and Steinke 2021;
docs/theory/distributed-noise.md.
"""

from hashlib import sha256
from typing import Any

import numpy as np

from tacit.base import InputError
from tacit.learn.federated.channel import SEED, add_mask
from tacit.noise import Rng

__all__ = ["Floats", "Integers", "centred", "rotated", "rotated_back", "rounded"]

Floats = np.ndarray[Any, np.dtype[np.float64]]
Integers = np.ndarray[Any, np.dtype[np.int64]]
TRIES = 500  # each has a chance of at least 0.39 (docs/theory/distributed-noise.md)
LARGEST = 2.0**31  # steps of one coordinate: their squares add up exactly


def _signs(name: bytes, size: int) -> Floats:
    """Public random signs, the same for everybody who knows the name of the round."""
    words = np.zeros(-(-size // 16), dtype="<u2")
    add_mask(words, sha256(b"tacit rotation 1\0" + name).digest()[:SEED])
    signs: Floats = 1.0 - 2.0 * np.unpackbits(words.view(np.uint8))[:size].astype(np.float64)
    return signs


def _hadamard(vector: Floats) -> Floats:
    """The Walsh–Hadamard transform, scaled so that lengths stay: its own inverse. The size is a power of two."""
    out, half = vector.copy(), 1
    while half < out.size:
        pairs = out.reshape(-1, 2, half)
        left, right = pairs[:, 0] + pairs[:, 1], pairs[:, 0] - pairs[:, 1]
        pairs[:, 0], pairs[:, 1] = left, right
        half *= 2
    out /= np.sqrt(out.size)
    return out


def rotated(vector: Floats, *, name: bytes, size: int) -> Floats:
    """The vector, filled up with zeros to `size`, turned by a public random rotation."""
    filled = np.zeros(size)
    filled[: vector.size] = vector
    return _hadamard(filled * _signs(name, size))


def rotated_back(vector: Floats, *, name: bytes, size: int) -> Floats:
    """The first `size` numbers of the vector before it was rotated."""
    return (_hadamard(vector) * _signs(name, vector.size))[:size]


def rounded(vector: Floats, *, longest: int, rng: Rng) -> Integers:
    """Each number to one of the two whole ones beside it, unbiased, until their squares add up to at most `longest`."""
    if not (np.abs(vector) < LARGEST).all():  # NaN too
        raise InputError("a vector is not finite, or far longer than its clip: it cannot be rounded")
    low = np.floor(vector)
    share = vector - low
    for _ in range(TRIES):
        coins = rng.words(vector.size).astype(np.float64) * 2.0**-64
        whole = (low + (coins < share)).astype(np.int64)
        # squares up to 2^62 and their floating sum: a sum that could overflow is refused before it is made
        if float(np.square(whole.astype(np.float64)).sum()) < 2.0**61 and int((whole * whole).sum()) <= longest:
            return whole
    raise InputError(f"rounding did not come below its bound in {TRIES} tries: this vector was not clipped")


def centred(words: Any, *, bits: int) -> Integers:
    """Whole numbers from −2^(bits − 1) on, from numbers modulo 2^bits."""
    values = np.asarray(words).astype(np.int64) & ((1 << bits) - 1)
    return np.where(values >= 1 << (bits - 1), values - (1 << bits), values)
