"""Composition of a few atoms by listing every outcome: no grid, no transform."""

from math import expm1, log1p
from typing import Any

import numpy as np

from tacit.loss.lattice import LatticePair
from tacit.loss.pair import UNIT, Atoms, Floats, Pair, dot

__all__ = ["Outcomes", "outcomes"]

LISTED = 2**17  # outcomes of all terms together
SPAN = 2**12  # lattice positions of one term after all its repetitions


class Outcomes:
    """All values of the summed loss with their probabilities, each right to a relative `error`."""

    def __init__(self, losses: Floats, p: Floats, infinite: float, error: float) -> None:
        order = np.argsort(losses)
        self._losses, self._p = losses[order], p[order]
        self._infinite, self._error = infinite, error

    def delta(self, epsilon: float, sign: int) -> float:
        """δ(ε), rounded up (sign = 1) or down (−1)."""
        epsilon -= sign * self._error * (1 + abs(epsilon))  # losses are right to a few units
        first = int(np.searchsorted(self._losses, epsilon, side="right"))
        total = dot(self._p[first:], -np.expm1(epsilon - self._losses[first:])) + self._infinite
        return min(1.0, max(0.0, total * (1 + sign * self._error)))


def outcomes(terms: list[tuple[int, Pair]]) -> Outcomes | None:
    """The list of outcomes if every term is a finite pair and the list is short; else None."""
    losses, p = np.zeros(1), np.ones(1)
    infinite, operations = 0.0, 64
    for count, pair in terms:
        part = _repeated(pair, count) if isinstance(pair, Atoms) else None
        if part is None or len(part[0]) * len(losses) > LISTED:
            return None
        losses, p = (losses[:, None] + part[0]).ravel(), (p[:, None] * part[1]).ravel()
        infinite += count * log1p(-pair.leaks[0])
        operations += 8 if count == 1 else 8 * count.bit_length() * len(part[0])
    return Outcomes(losses, p, -expm1(infinite), operations * UNIT)


def _repeated(pair: Atoms, count: int) -> tuple[Floats, Floats] | None:
    """The atoms of `count` independent copies. Sums of products of non-negative numbers: no cancellation."""
    if count == 1:
        return pair.losses, pair.p
    if not isinstance(pair, LatticePair) or pair.positions is None:
        return None
    first, span = int(pair.positions.min()), int(np.ptp(pair.positions))
    if span * count > SPAN:
        return None
    step: Any = np.bincount(pair.positions - first, weights=pair.p)
    total: Any = np.ones(1)
    for bit in bin(count)[2:]:
        total = np.convolve(total, total)
        if bit == "1":
            total = np.convolve(total, step)
    places = count * first + np.arange(len(total))
    live = total > 0
    return places[live] * float(pair.unit) + count * pair.offset, total[live]
