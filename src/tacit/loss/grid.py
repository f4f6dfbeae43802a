"""From a dominating pair to masses on a grid, bounding the privacy curve from above and from below.

As a function of Y = e^(−L) under P, (1 − e^ε·Y)+ is convex and decreasing. So its expectation, for every ε and after
any composition, only grows when Y is spread with its mean kept (upper bound: a cell's mass goes to its two ends), and
only falls when masses are merged at their mean or L is lowered (lower bound: a cell becomes one point, rounded down).

Where the losses lie on a lattice of their own, composing them discretises nothing; a few atoms are simply listed.
"""

from dataclasses import dataclass
from fractions import Fraction
from math import ceil, expm1, floor, gcd, lcm, log1p
from typing import Any

import numpy as np

from tacit.loss.pair import UNIT, Atoms, Floats, Pair, dot

__all__ = [
    "LARGEST",
    "LatticePair",
    "Masses",
    "Outcomes",
    "Span",
    "TooFineError",
    "common_lattice",
    "lower",
    "outcomes",
    "upper",
]

Ints = np.ndarray[Any, np.dtype[np.int64]]

LARGEST = 2**22  # points of a grid, in the bulk
TAILS = 8  # as many times as wide may be all that it spans
COARSE = 64  # outside the bulk, cells are this many steps wide
PLACES = (0.0, 0.02, 0.05, 0.1, 0.2)  # of a grid point above the middle of its cell, in steps
HAIR = 2e-9  # how far all points are lowered, in steps, so that an atom on a point is not taken to lie below it
SLOP = 2e-14  # how far rounding may displace an edge of a cell near zero


class TooFineError(Exception):
    """The grid would have `size` points, more than there is room for."""

    def __init__(self, size: int) -> None:
        super().__init__(f"a grid of {size} points")
        self.size = size


@dataclass(frozen=True)
class Span:
    """Where L lives: [low, high] but for a negligible part, [bulk_low, bulk_high] but for a small one."""

    low: float
    high: float
    bulk_low: float
    bulk_high: float


@dataclass(frozen=True)
class Masses:
    """P-mass `p[j]` at loss (first + j)·step + offset, and `infinite` mass at L = ∞."""

    step: float
    first: int
    p: Floats
    offset: float = 0.0
    infinite: float = 0.0

    @property
    def losses(self) -> Floats:
        return np.asarray((self.first + np.arange(len(self.p))) * self.step + self.offset, dtype=np.float64)


def upper(pair: Pair, step: float, span: Span) -> Masses:
    """Masses whose curve lies above the pair's: connect-the-dots (Doroshenko et al. 2022), rounded against us."""
    below, bulk, above = _indices(step, span)
    index = np.concatenate([below, bulk, above])
    c = pair.cells(index * step)
    p = c.p + c.p_error
    inner, width = p[1:-1], np.diff(index) * step
    # mass b goes to the right end and p − b to the left one, so that both P and Q keep their mass in the cell
    right = np.clip((c.excess + c.excess_error)[1:-1] / -np.expm1(-width), 0.0, inner)
    first = int(index[0])
    masses = np.bincount(index[1:] - first, weights=right).astype(np.float64)
    masses += np.bincount(index[:-1] - first, weights=inner - right, minlength=len(masses))
    masses[0] += p[0]  # what lies below the grid is raised to its first point; what lies above, to infinity
    return Masses(step, first, masses, _slop(span), float(p[-1]) + pair.leaks[0])


def lower(pair: Pair, step: float, span: Span, theta: float) -> Masses:
    """Masses whose curve lies below the pair's: cells around grid points, merged, then moved onto the points.

    Of a few placements of the points within their cells the one with the largest moment at tilt θ is the tightest.
    """
    below, bulk, above = _indices(step, span)
    edges = np.concatenate([below * step, (np.append(bulk, bulk[-1] + 1) - 0.5) * step, above * step])
    # the highest point has nothing above to draw on, so no lower mass is mixed into it
    top = floor(span.high / step + 1e-9)
    if bulk[0] < top <= bulk[-1]:
        edges[len(below) + top - bulk[0]] = (top - HAIR / 2) * step
    c = pair.cells(edges)
    p, q = np.maximum(0.0, (c.p - c.p_error)[1:-1]), (c.q + c.q_error)[1:-1]
    live = (p > 0) & (q > 0)
    losses = edges[:-1].copy()  # where q underflows: no more than the cell's left end
    losses[live] = np.log(p[live]) - np.log(q[live])
    losses = np.clip(losses, edges[:-1] - step, edges[1:])  # rounding cannot make L larger than its cell
    inside = slice(len(below), len(below) + len(bulk))
    outer = np.ones(len(p), dtype=bool)
    outer[inside] = False
    options = []
    for place in PLACES:
        offset = (place - HAIR) * step
        moved = _moved(p[inside], np.clip(losses[inside] - bulk * step - offset, -step, step), step)
        sunk = np.floor((losses[outer] - offset) / step).astype(np.int64)
        first = int(min(bulk[0] - 1, sunk.min(initial=bulk[0])))
        masses = np.zeros(max(int(bulk[-1]), int(sunk.max(initial=0))) + 2 - first)
        np.add.at(masses, sunk - first, p[outer])
        start = int(bulk[0]) - 1 - first
        masses[start : start + len(moved)] += moved
        options.append(Masses(step, first, masses * (1 - 1e-15), offset - _slop(span), pair.leaks[0]))
    return max(options, key=lambda m: dot(m.p, np.exp(theta * (m.losses - span.high))))


def _slop(span: Span) -> float:
    return SLOP + 16 * UNIT * max(abs(span.low), abs(span.high))


def _indices(step: float, span: Span) -> tuple[Ints, Ints, Ints]:
    """Grid points: every one in the bulk, every 64th on either side of it."""
    first, last = floor(span.bulk_low / step) - 1, ceil(span.bulk_high / step) + 1
    size = max(last - first, (span.high - span.low) / (step * TAILS))
    if size > LARGEST:
        raise TooFineError(ceil(size))
    left = max(0, ceil((first * step - span.low) / (COARSE * step)))
    right = max(0, ceil((span.high - last * step) / (COARSE * step)))
    below, above = first - COARSE * np.arange(left, 0, -1), last + COARSE * np.arange(1, right + 1)
    return below, np.arange(first, last + 1), above


def _moved(p: Floats, off: Floats, step: float) -> Floats:
    """Masses at the grid points (and one below them) from masses p that lie `off` above their points.

    Small parts of the neighbours are merged in to bring each mass exactly to its point: from the cell above when it
    lies below, from the cell below when it lies above. Where the neighbour has too little, L is lowered instead: to the
    point, or to the next one below.
    """
    above, below = np.append(off[1:], 0.0) + step, step - np.append(0.0, off[:-1])
    spare_above, spare_below = np.append(p[1:], 0.0) * 0.45, np.append(0.0, p[:-1]) * 0.45
    # merging a mass a at distance x above the point with p at distance d below it: a·(1 − e^−x) = p·(e^d − 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        from_above = np.where(off < 0, p * np.expm1(-off) / -np.expm1(-above), 0.0)
        pulled = np.where(off > 0, -np.expm1(-off) / np.expm1(below), 0.0)
        scarce = ~(pulled * p <= spare_below)
    sinks = ~(from_above <= spare_above) | (off <= -step)
    from_above[sinks] = 0.0
    pulled[scarce] = 0.0
    given = np.append(0.0, from_above[:-1]) + np.append((pulled * p)[1:], 0.0)
    from_below = pulled * (p - given)  # at most what the mass that stays can balance, so L is not overstated
    given = np.append(0.0, from_above[:-1]) + np.append(from_below[1:], 0.0)
    stays = p - given
    masses = np.append(0.0, np.where(sinks, 0.0, stays) + from_above + from_below)
    masses[:-1] += np.where(sinks, stays, 0.0)
    return np.asarray(masses)


SPREAD = 2**21  # positions a common lattice may have


@dataclass(frozen=True, eq=False)
class LatticePair(Atoms):
    """Atoms at positions·unit + offset with an exact `unit`."""

    positions: Ints | None = None
    unit: Fraction = Fraction(1)
    offset: float = 0.0

    @classmethod
    def at(
        cls,
        positions: Ints,
        unit: Fraction,
        p: Floats,
        *,
        offset: float = 0.0,
        only_p: float = 0.0,
        only_q: float = 0.0,
        rare: Floats | None = None,
    ) -> "LatticePair":
        losses = np.asarray(positions * float(unit) + offset, dtype=np.float64)
        return cls(losses, p, only_p, only_q, rare, positions, unit, offset)

    @property
    def swapped(self) -> Pair:
        assert self.positions is not None
        ends = {"only_p": self.only_q, "only_q": self.only_p}
        return LatticePair.at(-self.positions, self.unit, self.q, offset=-self.offset, **ends, rare=self.p)

    def on(self, unit: Fraction) -> Masses:
        """Its masses on a lattice that its own is a multiple of."""
        assert self.positions is not None
        scaled = self.positions * int(self.unit / unit)
        first = int(scaled.min())
        p = np.bincount(scaled - first, weights=self.p).astype(np.float64)
        return Masses(float(unit), first, p, self.offset, self.only_p)


def common_lattice(pairs: list[Pair]) -> Fraction | None:
    """The coarsest unit of which all the pairs' units are multiples, if all have one and it is not too fine."""
    units = [pair.unit for pair in pairs if isinstance(pair, LatticePair)]
    if len(units) < len(pairs):
        return None
    denominator = lcm(*(unit.denominator for unit in units))
    common = Fraction(gcd(*(int(unit * denominator) for unit in units)), denominator)
    widest = max(float(np.ptp(pair.losses)) for pair in pairs if isinstance(pair, LatticePair))
    return common if widest < SPREAD * common else None


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
