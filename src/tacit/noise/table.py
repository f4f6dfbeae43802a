"""Exact sampling by inversion: a few random bits decide almost always, and more are drawn until they do.

A table splits [0, 1) into consecutive cells; a uniform number U falls into exactly one of them and that cell's value is
the sample. U is never rounded: it is a stream of bits of which some prefix is known. Sixteen bits are looked up in a
guide. Where a cell boundary lies inside their interval, 64 bits are compared with rigorous integer bounds on the
boundaries. Where even that leaves a doubt (about one word in 2^64 a boundary) the boundaries are recomputed to more
digits and U is given more bits, until the cell is certain. So the law is exactly the table's: nothing is rounded.
"""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from tacit.noise.bounds import Enclosure
from tacit.noise.rng import Rng

__all__ = ["CHUNK", "UNDECIDED", "WORD", "InversionTable", "in_chunks"]

Ints = np.ndarray[Any, np.dtype[np.int64]]

UNDECIDED = np.iinfo(np.int64).min
CHUNK = 1 << 14  # what fits the cache
WORD = 64


def in_chunks(draw: Callable[[int], Ints], size: int) -> Ints:
    """`size` samples from a sampler that is fastest on arrays that stay in the cache."""
    if size <= CHUNK:
        return draw(size)
    out = np.empty(size, dtype=np.int64)
    for start in range(0, size, CHUNK):
        out[start : start + CHUNK] = draw(min(CHUNK, size - start))
    return out


class InversionTable:
    """A distribution over int64 given by its cells.

    `cumulative(bits)` yields, cell after cell, bounds on Pr[cell or an earlier one]·2^bits, for as many cells as that
    precision tells apart; `value(cell)` is the sample a cell stands for. A finite table has one more cell than bounds:
    the last takes what is left.
    """

    def __init__(
        self, cumulative: Callable[[int], Iterator[Enclosure]], value: Callable[[int], int], *, finite: bool = False
    ) -> None:
        self._cumulative, self._value, self._finite = cumulative, value, finite
        extra = 32
        bounds = list(cumulative(WORD + extra))
        top = (1 << WORD) - 1
        self._low = np.array([min(low >> extra, top) for low, _ in bounds], dtype=np.uint64)
        self._high = np.array([min(high >> extra, top) for _, high in bounds], dtype=np.uint64)
        last = [value(len(bounds))] if finite else [UNDECIDED]
        self._values = np.array([value(cell) for cell in range(len(bounds))] + last, dtype=np.int64)
        self._guide = self.decided(np.arange(1 << 16, dtype=np.uint64) << np.uint64(48), 16)

    def decided(self, starts: np.ndarray[Any, np.dtype[np.uint64]], bits: int) -> Ints:
        """The sample where all words that begin with the first `bits` bits of these have one; else UNDECIDED."""
        cells = np.searchsorted(self._high, starts, side="left")
        ends = starts | np.uint64((1 << (WORD - bits)) - 1)
        same = cells == np.searchsorted(self._low, ends, side="right")
        return np.where(same, self._values[cells], UNDECIDED)

    def draw(self, size: int, rng: Rng) -> Ints:
        """`size` independent samples."""
        prefix = rng.words(size, np.uint16)
        out = np.take(self._guide, prefix, mode="wrap")
        undecided = np.flatnonzero(out == UNDECIDED)
        if len(undecided):
            out[undecided] = self._by_word(prefix[undecided], rng)
        return out

    def _by_word(self, prefix: np.ndarray[Any, np.dtype[np.uint16]], rng: Rng) -> Ints:
        """Samples given the first 16 bits of each U: read on to 64 bits and search the boundaries."""
        return self.searched(
            (prefix.astype(np.uint64) << np.uint64(48)) | (rng.words(len(prefix)) >> np.uint64(16)), rng
        )

    def searched(self, word: np.ndarray[Any, np.dtype[np.uint64]], rng: Rng) -> Ints:
        """Samples given the first 64 bits of each U."""
        cells = np.searchsorted(self._high, word, side="left")
        result = self._values[cells]
        result[cells != np.searchsorted(self._low, word, side="right")] = UNDECIDED
        for i in np.flatnonzero(result == UNDECIDED):
            result[i] = self._value(self.refine(int(word[i]), WORD, rng))
        return result

    def refine(self, known: int, bits: int, rng: Rng) -> int:
        """The cell of U, whose first `bits` bits are `known`, reading further bits of it until the cell is certain."""
        while True:
            known, bits = known << WORD | rng.bits(WORD), bits + WORD
            cell = -1
            for cell, (low, high) in enumerate(self._cumulative(bits)):
                if known < low:  # U < boundary
                    return cell
                if known < high:  # cannot tell yet
                    break
            else:
                if self._finite:
                    return cell + 1
