"""Hash functions of texts: numbered, public, frozen, in words of 32 bits so that a browser computes them too.

Function s starts at (s + 1)·0x9E3779B1 mod 2^32. Each byte c turns the state h into (h ^ c)·0x85EBCA6B mod 2^32 and
then into h ^ (h >> 15). The end mixes once more as MurmurHash3 does. Privacy does not rest on these functions; how well
texts are told apart does.
"""

import numpy as np

from tacit.base import InputError
from tacit.survey.protocol import Array

__all__ = ["absorbed", "bucket_of_text", "buckets_at", "encoded", "finished", "hash_of_text", "started"]

WORD = (1 << 32) - 1
START, STEP, FIRST, SECOND = 0x9E3779B1, 0x85EBCA6B, 0x85EBCA6B, 0xC2B2AE35
HALF = 16
LONGEST = 256


def encoded(values: Array, longest: int = LONGEST) -> Array:
    """Texts of 1 to `longest` bytes as their UTF-8, or an `InputError`."""
    if not values.size:
        return np.zeros(values.shape, dtype="S1")
    if values.dtype.kind != "U":
        raise InputError("answers must be texts")
    try:
        texts = np.asarray(np.char.encode(values, "utf-8"))
    except UnicodeEncodeError:
        raise InputError("answers must be texts that UTF-8 can write") from None
    sizes = np.char.str_len(texts)
    if int(sizes.min()) < 1 or int(sizes.max()) > longest:
        raise InputError(f"answers must be texts of 1 to {longest} bytes of UTF-8")
    return texts


def hash_of_text(function: int, text: bytes) -> int:
    """A word of 32 bits, as a device computes it."""
    state = (function + 1) * START & WORD
    for byte in text:
        state = (state ^ byte) * STEP & WORD
        state ^= state >> 15
    state ^= state >> 16
    state = state * FIRST & WORD
    state ^= state >> 13
    state = state * SECOND & WORD
    return state ^ state >> 16


def bucket_of_text(function: int, text: bytes, buckets: int) -> int:
    """One of at most 2^16 buckets, by the upper half of the hash."""
    return (hash_of_text(function, text) >> HALF) * buckets >> HALF


def started(functions: Array) -> Array:
    """The states of many functions before the first byte."""
    return (functions.astype(np.uint32) + np.uint32(1)) * np.uint32(START)


def absorbed(states: Array, byte: Array) -> Array:
    """The states after one more byte, element by element."""
    states = (states ^ byte.astype(np.uint32)) * np.uint32(STEP)
    states ^= states >> np.uint32(15)
    return states


def finished(states: Array) -> Array:
    """The hashes of texts that end here."""
    states = states ^ (states >> np.uint32(16))
    states *= np.uint32(FIRST)
    states ^= states >> np.uint32(13)
    states *= np.uint32(SECOND)
    states ^= states >> np.uint32(16)
    return states


def buckets_at(states: Array, buckets: int) -> Array:
    """The buckets of texts that end here."""
    return ((finished(states) >> np.uint32(HALF)) * np.uint32(buckets)) >> np.uint32(HALF)
