"""Where the heads are among many coins of a small bias: gaps between heads are drawn, and not each coin.

With bias p the number of tails before the next head is G with Pr[G ≥ j] = (1 − p)^j. An exact table holds the values
below `block` and one more cell for G ≥ block, after which, by memorylessness, everything begins anew. So the places are
those of independent coins of probability exactly p, for a price that follows the heads and not the coins.
"""

from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache
from math import ceil
from typing import Any

import numpy as np

from tacit.noise.bounds import Enclosure, narrow, times
from tacit.noise.coin import coins
from tacit.noise.rng import Rng
from tacit.noise.table import InversionTable

__all__ = ["heads"]

Places = np.ndarray[Any, np.dtype[np.int64]]

DENSE = Fraction(1, 64)  # from this bias on, and for few coins, tossing them is as quick
FEW = 1 << 12
LONGEST = 1 << 12  # cells of a table
PART = 1 << 22  # coins tossed at a time


def heads(p: Fraction, size: int, rng: Rng) -> Places:
    """The places of the heads among `size` independent coins, each a head with probability exactly p; ascending."""
    if p >= DENSE or p <= 0 or size < FEW:
        starts = range(0, size, PART)
        parts = [np.flatnonzero(coins(p, min(PART, size - start), rng)) + start for start in starts]
        return np.concatenate(parts) if parts else np.zeros(0, dtype=np.int64)
    block = _block(p)
    share = float(p) / -np.expm1(block * np.log1p(-float(p)))  # draws for each coin, on average
    table, found, last = _gaps(p), list[Places](), -1
    while last < size - 1:
        gaps = table.draw(int((size - last) * share * 1.02) + 32, rng)
        places = last + np.cumsum(gaps + (gaps < block))  # a gap below `block` ends at a head
        found.append(places[gaps < block])
        last = int(places[-1])
    whole = np.concatenate(found)
    return whole[: int(np.searchsorted(whole, size))]


def _block(p: Fraction) -> int:
    return min(LONGEST, ceil(3 / p))


@lru_cache(maxsize=16)
def _gaps(p: Fraction) -> InversionTable:
    block, tail = _block(p), 1 - p

    def cumulative(bits: int) -> Iterator[Enclosure]:
        work = bits + 32
        one = 1 << work
        scaled = tail * one
        below = scaled.numerator // scaled.denominator
        ratio = below, below + (scaled.denominator != 1)
        power = ratio
        for _ in range(block):
            yield narrow((one - power[1], one - power[0]), work, bits)
            power = times(power, ratio, work)

    return InversionTable(cumulative, lambda cell: cell, finite=True)
