"""Where blocks of losses come from: finite pairs as they are, mixtures of Gaussians by quadrature, discrete Laplace
noise in closed form, and any other pair by cells, which bound it from either side."""

from abc import ABC, abstractmethod
from math import ceil, log2
from typing import Any

import numpy as np

from tacit.base import LossError
from tacit.loss.block import AtomBlock, Block, TwoSidedBlock
from tacit.loss.cells import merged, spread_out
from tacit.loss.pair import UNIT, Atoms, DiscreteLaplacePair, Floats, Pair
from tacit.loss.quadrature import Mixture, nodes

__all__ = ["Celled", "Rows", "Source", "Terms", "sources"]

Terms = list[tuple[int, Pair]]
Rows = Any  # a list of row numbers, or all of them

WIDE = 25.0  # deviations between the centres of a mixture beyond which it is cut into cells
BULK = 6.0  # tilted deviations on either side of the mean in which cells are narrow
HAIR = 1e-12  # the width of a cell for one loss alone, and more than the rounding of its place
GROWTH = 1.15  # each further cell is so much wider


class Source(ABC):
    """Rows of one kind, each for `count` copies of a pair."""

    counts: Floats
    exact = True  # whether one block serves for both bounds

    fixed = True  # whether a block is right at every tilt

    def rough(self, theta: float) -> Block:
        """All rows, well enough to choose a tilt."""
        return self.block(theta, 0.0, 1, slice(None))

    @abstractmethod
    def block(self, theta: float, frequency: float, sign: int, rows: Rows) -> Block:
        """Some rows, right at a tilt and up to a frequency; as bounds from above (1) or below (−1)."""


class Listed(Source):
    """Finite pairs with up to so many outcomes."""

    def __init__(self, terms: list[tuple[int, Atoms]]) -> None:
        width = max(len(pair.losses) for _, pair in terms)
        self.counts = np.array([float(count) for count, _ in terms])
        self._losses, self._log_p = np.zeros((len(terms), width)), np.full((len(terms), width), -np.inf)
        self._blur = np.zeros((len(terms), width))
        with np.errstate(divide="ignore"):
            for row, (_, pair) in enumerate(terms):
                self._losses[row, : len(pair.losses)] = pair.losses
                self._log_p[row, : len(pair.losses)] = np.log(pair.p)
                self._blur[row, : len(pair.losses)] = pair.off

    def block(self, theta: float, frequency: float, sign: int, rows: Rows) -> Block:
        losses, log_p = self._losses[rows], self._log_p[rows]
        return AtomBlock(
            losses,
            log_p,
            self.counts[rows],
            blur=self._blur[rows],
            doubt=8 * UNIT * (1 + np.abs(log_p)),
            error=np.zeros(len(losses)),
        )


class Spaced(Source):
    """Discrete Laplace noise in closed form."""

    def __init__(self, terms: list[tuple[int, DiscreteLaplacePair]]) -> None:
        self.counts = np.array([float(count) for count, _ in terms])
        self._scale = np.array([pair.scale for _, pair in terms])
        self._shift = np.array([pair.shift for _, pair in terms])

    def block(self, theta: float, frequency: float, sign: int, rows: Rows) -> Block:
        return TwoSidedBlock(self._scale[rows], self._shift[rows], self.counts[rows])


class Mixed(Source):
    """Mixtures of Gaussians, all with as many centres."""

    fixed = False

    def __init__(self, terms: list[tuple[int, Mixture]]) -> None:
        self.counts = np.array([float(count) for count, _ in terms])
        self._mixtures = [mixture for _, mixture in terms]
        self.listable = not all(mixture.fine for mixture in self._mixtures)

    def block(self, theta: float, frequency: float, sign: int, rows: Rows) -> Block:
        chosen = self._mixtures[rows] if isinstance(rows, slice) else [self._mixtures[row] for row in rows]
        found = nodes(chosen, theta, frequency)
        if found is None:
            raise LossError("this composition needs more points than there is room for: ask for less accuracy")
        return AtomBlock(
            found.losses, found.log_p, self.counts[rows], blur=found.blur, doubt=found.doubt, error=found.error
        )


class Celled(Source):
    """Any other pairs, cut into cells of L: bounds, not values, that close in with the square of the width."""

    exact = False

    def __init__(self, terms: Terms, tail: float) -> None:
        self.counts = np.array([float(count) for count, _ in terms])
        self.pairs = [pair for _, pair in terms]
        self._reach = [pair.reach(tail) for pair in self.pairs]
        spans = np.geomspace(1e-6, 1.0, 150)
        spans = np.concatenate([-spans[::-1], [0.0], spans])
        coarse = [self._within(row, [spans * max(map(abs, reach))]) for row, reach in enumerate(self._reach)]
        self._coarse = _stacked([merged(p, e) for p, e in zip(self.pairs, coarse, strict=True)], self.counts)
        self.cells = 1000  # in the bulk of each row

    def rough(self, theta: float) -> Block:
        return self._coarse

    def block(self, theta: float, frequency: float, sign: int, rows: Rows) -> Block:
        seen = self._coarse.tilted(theta)
        bound = spread_out if sign > 0 else merged
        numbers = range(len(self.pairs))[rows] if isinstance(rows, slice) else rows
        found = []
        for row in numbers:
            edges = self._edges(row, float(seen.mean[row]), float(seen.variance[row]) ** 0.5)
            found.append(bound(self.pairs[row], edges))
        return _stacked(found, self.counts[rows])

    def _edges(self, row: int, mean: float, deviation: float) -> Floats:
        low, high = self._reach[row]
        first, last = max(low, mean - BULK * deviation), min(high, mean + BULK * deviation)
        if not first < last:
            first, last = low, high
        width = (last - first) / self.cells
        parts = [np.linspace(first, last, self.cells + 1)]
        far = width * np.cumsum(GROWTH ** np.arange(400))
        parts += [first - far[: np.searchsorted(far, first - low)], last + far[: np.searchsorted(far, high - last)]]
        return self._within(row, parts)

    def _within(self, row: int, parts: list[Floats]) -> Floats:
        """Edges in reach, with a cell of its own for what may lie at either end or at an anchor."""
        low, high = self._reach[row]
        anchor = self.pairs[row].anchor
        alone = np.array([low, high] + ([] if anchor is None else [anchor, -anchor]))
        hair = HAIR * (1 + np.abs(alone))
        edges = np.concatenate([*parts, alone, alone - hair, alone + hair])
        return np.asarray(np.unique(np.clip(edges, low - hair[0], high + hair[1])))


def _stacked(rows: list[tuple[Floats, Floats]], counts: Floats) -> AtomBlock:
    width = max(len(losses) for losses, _ in rows)
    losses, masses = np.zeros((len(rows), width)), np.zeros((len(rows), width))
    for row, (where, p) in enumerate(rows):
        losses[row, : len(where)], masses[row, : len(where)] = where, p
    with np.errstate(divide="ignore"):
        log_p = np.log(masses)
    return AtomBlock(
        losses,
        log_p,
        counts,
        blur=4 * UNIT * np.abs(losses),
        doubt=np.full((1, 1), 8 * UNIT),
        error=np.zeros(len(rows)),
    )


def sources(terms: Terms, tail: float, *, cut: bool) -> tuple[list[Source], float]:
    """All that is not Gaussian, in as few tables as there are shapes, and the μ² of what is Gaussian.

    `tail` is what a pair that is cut into cells may leave out on either side; `cut` says that mixtures are.
    """
    square = 0.0
    listed: dict[int, list[tuple[int, Atoms]]] = {}
    mixed: dict[tuple[int, int], list[tuple[int, Mixture]]] = {}
    spaced: list[tuple[int, DiscreteLaplacePair]] = []
    celled: Terms = []
    for count, pair in terms:
        mixture = pair.mixture
        if pair.square is not None:
            square += count * pair.square
        elif mixture is not None and mixture.width < WIDE and (mixture.fine or not cut):
            mixed.setdefault((len(mixture.centres), ceil(log2(mixture.width))), []).append((count, mixture))
        elif isinstance(pair, Atoms):
            listed.setdefault(len(pair.losses).bit_length(), []).append((count, pair))
        elif isinstance(pair, DiscreteLaplacePair):
            spaced.append((count, pair))
        else:
            celled.append((count, pair))
    found: list[Source] = [Listed(group) for group in listed.values()]
    found += [Mixed(group) for group in mixed.values()]
    found += [Spaced(spaced)] if spaced else []
    found += [Celled(celled, tail)] if celled else []
    return found, square * (1 + 1e-15)
