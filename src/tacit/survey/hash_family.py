"""The hash functions of local hashing: multiply, add, shift, in words of 32 bits.

h(v) = ((a·v + b) mod 2^32) >> 16 for answers v < 2^17, with a and b uniform words. For v ≠ w the pair (h(v), h(w)) is
uniform on all 2^32 pairs: v − w is an odd number times 2^s with s ≤ 16, so a·(v − w) is uniform on the multiples of 2^s
and its upper 16 bits are uniform whatever a·w + b is, which is itself uniform by b (Dietzfelbinger 1996).

The bucket is (h·g) >> 16 for g buckets. Bucket j holds the h from ⌈j·2^16/g⌉ on, so its weight is a known multiple of
2^-16, and whether an answer falls into it is one comparison: (a·v + b − start) mod 2^32 < length.
"""

from fractions import Fraction
from itertools import pairwise

import numpy as np

from tacit.base import InputError
from tacit.survey.protocol import Array

__all__ = [
    "ANSWERS",
    "BUCKETS",
    "absorbed",
    "bucket_of",
    "bucket_of_text",
    "bucket_weights",
    "buckets_at",
    "buckets_of",
    "encoded",
    "finished",
    "hash_of_text",
    "started",
    "supported",
]

ANSWERS = 1 << 17
BUCKETS = 1 << 12
HALF = 16
WORD = (1 << 32) - 1
BLOCK = 1 << 14  # reports that stay in the cache while every answer passes them


def bucket_of(a: int, b: int, answer: int, buckets: int) -> int:
    """The bucket of one answer, as a device computes it."""
    return (((a * answer + b) & WORD) >> HALF) * buckets >> HALF


def buckets_of(a: Array, b: Array, answers: Array, buckets: int) -> Array:
    """The buckets of many answers, each under a function of its own."""
    words = a * answers.astype(np.uint32)
    words += b
    words >>= np.uint32(HALF)
    words *= np.uint32(buckets)
    words >>= np.uint32(HALF)
    return words


def _starts(buckets: int) -> list[int]:
    """The first h of every bucket, and 2^16."""
    return [-(-(j << HALF) // buckets) for j in range(buckets + 1)]


def bucket_weights(buckets: int) -> list[Fraction]:
    """The probability of each bucket under a uniform hash function."""
    starts = _starts(buckets)
    return [Fraction(end - start, 1 << HALF) for start, end in pairwise(starts)]


def supported(a: Array, b: Array, reported: Array, *, buckets: int, answers: int) -> Array:
    """For each of `answers` answers, how many of the functions put it into the bucket reported with them."""
    if answers > ANSWERS:
        raise InputError(f"these hash functions are for at most {ANSWERS} answers, not {answers}")
    starts = np.array(_starts(buckets), dtype=np.uint64) << np.uint64(HALF)
    lengths = (starts[1:] - starts[:-1]).astype(np.uint32)
    first = starts[:-1].astype(np.uint32)
    counts = np.zeros(answers, dtype=np.int64)
    for at in range(0, len(reported), BLOCK):
        part = slice(at, at + BLOCK)
        step = np.ascontiguousarray(a[part], dtype=np.uint32)
        place = np.ascontiguousarray(b[part], dtype=np.uint32) - first[reported[part]]
        along = _by_answer if len(step) > answers else _by_function
        along(counts, step, place, lengths[reported[part]])
    return counts


def _by_answer(counts: Array, step: Array, place: Array, length: Array) -> None:
    """All functions at once for one answer after the other: going to the next adds a, so nothing is multiplied."""
    inside = np.empty(len(step), dtype=bool)
    for answer in range(len(counts)):
        np.less(place, length, out=inside)
        counts[answer] += np.count_nonzero(inside)
        np.add(place, step, out=place)


def _by_function(counts: Array, step: Array, place: Array, length: Array) -> None:
    """All answers at once for one function after the other."""
    every = np.arange(len(counts), dtype=np.uint32)
    for i in range(len(step)):
        counts += every * step[i] + place[i] < length[i]


START, STEP, FIRST, SECOND = 0x9E3779B1, 0x85EBCA6B, 0x85EBCA6B, 0xC2B2AE35
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
