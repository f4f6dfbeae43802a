"""The hash functions of local hashing: multiply, add, shift, in words of 32 bits.

h(v) = ((a·v + b) mod 2^32) >> 16 for answers v < 2^17, with a and b uniform words. For v ≠ w the pair (h(v), h(w)) is
uniform on all 2^32 pairs: v − w is an odd number times 2^s with s ≤ 16, so a·(v − w) is uniform on the multiples of 2^s
and its upper 16 bits are uniform whatever a·w + b is, which is itself uniform by b (Dietzfelbinger 1996).

The bucket is (h·g) >> 16 for g buckets. Bucket j holds the h from ⌈j·2^16/g⌉ on, so its weight is a known multiple of
2^-16, and whether an answer falls into it is one comparison: (a·v + b − start) mod 2^32 < length.

Functions of one text or answer are those that a device computes. They take whole numbers, or arrays of int64 element by
element: what passes 63 bits wraps round, and the low 32 bits are kept.
"""

from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np

from tacit.base import InputError
from tacit.survey.protocol import Array

__all__ = [
    "ANSWERS",
    "BUCKETS",
    "absorbed",
    "bucket_at",
    "bucket_of",
    "bucket_of_text",
    "bucket_weights",
    "encoded",
    "finished",
    "meeting",
    "started",
    "supported",
]

ANSWERS = 1 << 17
BUCKETS = 1 << 12
HALF = 16
WORD = (1 << 32) - 1
BLOCK = 1 << 14  # reports that stay in the cache while every answer passes them


def bucket_of(a: Any, b: Any, answer: Any, buckets: int) -> Any:
    """The bucket of an answer under the function (a, b)."""
    return ((a * answer + b & WORD) >> HALF) * buckets >> HALF


def _starts(buckets: int) -> list[int]:
    """The first h of every bucket, and 2^16."""
    return [-(-(j << HALF) // buckets) for j in range(buckets + 1)]


def bucket_weights(buckets: int) -> list[Fraction]:
    """The probability of each bucket under a uniform hash function."""
    return [Fraction(end - start, 1 << HALF) for start, end in pairwise(_starts(buckets))]


@lru_cache(maxsize=256)
def meeting(buckets: int) -> Fraction:
    """The probability that two answers, or two texts, fall into one bucket."""
    return sum((weight * weight for weight in bucket_weights(buckets)), Fraction(0))


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


def started(function: Any) -> Any:
    """The state of a function of texts before the first byte."""
    return (function + 1) * START & WORD


def absorbed(state: Any, byte: Any) -> Any:
    """The state after one more byte."""
    state = (state ^ byte) * STEP & WORD
    return state ^ state >> 15


def finished(state: Any) -> Any:
    """The hash of a text that ends here, a word of 32 bits."""
    state = (state ^ state >> 16) * FIRST & WORD
    state = (state ^ state >> 13) * SECOND & WORD
    return state ^ state >> 16


def bucket_at(state: Any, buckets: int) -> Any:
    """The bucket of a text that ends here, one of at most 2^16, by the upper half of its hash."""
    return (finished(state) >> HALF) * buckets >> HALF


def bucket_of_text(function: Any, text: bytes, buckets: int) -> Any:
    """The bucket of one text under one function, or under each of many."""
    state = started(function)
    for byte in text:
        state = absorbed(state, byte)
    return bucket_at(state, buckets)
