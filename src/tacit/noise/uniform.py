"""Uniform integers, by rejection: no modulo bias, any size."""

from typing import Any

import numpy as np

from tacit.base import InputError
from tacit.noise.rng import Rng

__all__ = ["uniform"]


def uniform(bound: int, size: int, rng: Rng) -> np.ndarray[Any, np.dtype[Any]]:
    """`size` independent uniform integers in [0, bound): int64, or Python integers beyond 2^63."""
    if bound < 1:
        raise InputError(f"bound must be at least 1, not {bound}")
    if bound > 2**63:
        return np.array([rng.below(bound) for _ in range(size)], dtype=object)
    width = (bound - 1).bit_length()
    kind = next(k for k in (np.uint8, np.uint16, np.uint32, np.uint64) if np.dtype(k).itemsize * 8 >= width)
    shift = kind(np.dtype(kind).itemsize * 8 - width) if width else kind(0)
    mask = kind((1 << width) - 1)
    out = np.empty(size, dtype=np.int64)
    done = 0
    while done < size:
        want = int((size - done) * (1 << width) / bound * 1.02) + 16
        words = (rng.words(want, kind) >> shift) & mask
        good = words[words < bound][: size - done]
        out[done : done + len(good)] = good
        done += len(good)
    return out
