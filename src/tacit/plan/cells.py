"""The cells of a range, in which rows are counted for quantiles: all of one width, or the wider the farther from zero.

Numbers that people count (money, time, sizes) lie close together near zero and far apart beyond. `rising_cells` are
about equal in asinh(x/s), s being a thousandth of the range: even within ±s, and twice as wide for each power of two
beyond. Such edges are public, and an engine finds a cell by comparisons and one division.
"""

from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from math import ceil, lcm
from typing import Any

import numpy as np

__all__ = ["Piece", "cell_points", "rising_cells"]

Floats = np.ndarray[Any, np.dtype[np.float64]]

EXACT = 2**53
SMALL = 1000  # parts of a range, of which one is even


@dataclass(frozen=True, kw_only=True)
class Piece:
    """So many cells of one width, from `low` on."""

    low: Fraction
    width: Fraction
    cells: int

    @property
    def high(self) -> Fraction:
        return self.low + self.width * self.cells


def rising_cells(low: Fraction, high: Fraction, fine: Fraction, most: int) -> tuple[Piece, ...]:
    """At most `most` cells of the multiples of `fine` from low to high: one for each if that is enough.

    Edges lie halfway between multiples, and a cell holds an odd number of them: its middle is one.
    """
    values = -(-(high - low) // fine) + 1
    first = low - fine / 2
    if values <= most:
        return (Piece(low=first, width=fine, cells=values),)
    small = (high - low) / SMALL
    cuts = [low, *_cuts(low, high, small), high]
    units = [_unit(a, b, small) for a, b in pairwise(cuts)]
    length = sum((b - a) / unit for (a, b), unit in zip(pairwise(cuts), units, strict=True))
    each = length / max(1, most - 2 * len(units))  # of what is a cell, in units
    pieces: list[Piece] = []
    for cut, unit in zip(cuts[1:], units, strict=True):
        times = ceil(each * unit / fine)
        width = fine * (times + 1 - times % 2)
        cells = ceil((cut + fine / 2 - first) / width)
        if cells > 0:
            pieces.append(Piece(low=first, width=width, cells=cells))
            first = pieces[-1].high
    return tuple(pieces)


def _cuts(low: Fraction, high: Fraction, small: Fraction) -> list[Fraction]:
    """± the powers of two times `small` that lie within the range."""
    found, size = [], small
    while size < max(abs(low), abs(high)):
        found += [cut for cut in (-size, size) if low < cut < high]
        size *= 2
    return sorted(found)


def _unit(low: Fraction, high: Fraction, small: Fraction) -> Fraction:
    """The size of numbers between two cuts: of the nearer to zero, as a power of two, and `small` near zero itself."""
    nearer = min(abs(low), abs(high)) if low * high > 0 else Fraction(0)
    times = nearer // small
    return small * (1 << max(0, int(times).bit_length() - 1))


def cell_points(pieces: tuple[Piece, ...]) -> tuple[Floats, Floats]:
    """Where cells begin, with the end of the last one; and their middles. Each is the double nearest to it."""
    halves = [_halves(piece) for piece in pieces]
    ends = [each[:-1:2] for each in halves] + [halves[-1][-1:]]
    return np.concatenate(ends), np.concatenate([each[1::2] for each in halves])


def _halves(piece: Piece) -> Floats:
    """The ends and middles of the cells of a piece, from one division of whole numbers each."""
    under = lcm(piece.low.denominator, (piece.width / 2).denominator)
    first, step = int(piece.low * under), int(piece.width * under / 2)
    places = np.arange(2 * piece.cells + 1)
    if max(abs(first) + step * len(places), under) < EXACT:
        return np.asarray((first + step * places) / under, np.float64)
    return np.array([float(piece.low + i * piece.width / 2) for i in places.tolist()])
