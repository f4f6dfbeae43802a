"""A junction tree over small domains, and exact marginals of a log-linear model on it.

A model is p(x) ∝ exp(Σ θ_C(x_C)) over the maximal cliques C of a triangulated graph. Marginals of all cliques follow
from two passes over a tree of them (Lauritzen and Spiegelhalter 1988). A potential of −∞ is a combination that cannot
be.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import prod
from typing import Any

import numpy as np

from tacit.base import InputError, cached_property

__all__ = ["Beliefs", "Clique", "Floats", "JunctionTree", "clique_of", "expanded", "tree_cells"]

Floats = np.ndarray[Any, np.dtype[np.float64]]
TINY = 1e-290  # a probability below it is none: one over it would be no number
Clique = tuple[int, ...]
"""The places of some columns, rising."""

Beliefs = list[Floats]
"""The probabilities of each maximal clique, in the order of the tree."""


def clique_of(places: Iterable[int]) -> Clique:
    return tuple(sorted(set(places)))


def _maximal(sizes: Sequence[int], cliques: Iterable[Clique]) -> list[Clique]:
    """The maximal cliques of a triangulation: again and again the column goes that leaves the smallest table."""
    near: dict[int, set[int]] = {place: set() for place in range(len(sizes))}
    for clique in cliques:
        for a, b in combinations(clique, 2):
            near[a].add(b)
            near[b].add(a)
    found: list[Clique] = []
    left = set(near)
    cost = {place: _missing(near, place, sizes) for place in left}
    while left:
        place = min(left, key=lambda each: (cost[each], each))
        around = near[place]
        together = clique_of((place, *around))
        if not any(set(together) <= set(other) for other in found):
            found.append(together)
        for a, b in combinations(sorted(around), 2):
            near[a].add(b)
            near[b].add(a)
        changed = set(around)
        for other in around:
            near[other].discard(place)
            changed |= near[other]
        left.remove(place)
        for other in changed & left:
            cost[other] = _missing(near, other, sizes)
    return [each for each in found if not any(set(each) < set(other) for other in found)]


def _missing(near: Mapping[int, set[int]], place: int, sizes: Sequence[int]) -> tuple[int, int]:
    """How many pairs of its neighbours are not joined yet, and the cells of the table it would make."""
    around = near[place]
    lacking = sum(b not in near[a] for a, b in combinations(around, 2))
    return lacking, prod(sizes[each] for each in (place, *around))


def tree_cells(sizes: Sequence[int], cliques: Iterable[Clique]) -> int:
    """How many numbers a model with these tables holds: the cells of the maximal cliques."""
    return sum(prod(sizes[place] for place in each) for each in _maximal(sizes, cliques))


@dataclass(frozen=True, eq=False)
class JunctionTree:
    """`cliques` in an order in which each comes after its parent; `parents[0]` is −1. Sizes are of the columns."""

    sizes: tuple[int, ...]
    cliques: tuple[Clique, ...]
    parents: tuple[int, ...]

    @classmethod
    def over(cls, sizes: Sequence[int], cliques: Iterable[Clique], *, root: Clique = ()) -> "JunctionTree":
        """The tree of a graph in which the columns of each of `cliques` are joined; `root` is inside its first."""
        if not sizes:
            raise InputError("a model needs at least one column")
        found = _maximal(sizes, (*cliques, root))
        first = next(place for place, each in enumerate(found) if set(root) <= set(each))
        order, parents, open_ones = [first], [-1], set(range(len(found))) - {first}
        while open_ones:  # Prim's maximum spanning tree of shared columns
            _, child, parent = max(
                (len(set(found[a]) & set(found[b])), -a, -place) for a in open_ones for place, b in enumerate(order)
            )
            order.append(-child)
            parents.append(-parent)
            open_ones.remove(-child)
        return cls(tuple(sizes), tuple(found[each] for each in order), tuple(parents))

    @property
    def cells(self) -> int:
        return sum(prod(self.shape(each)) for each in self.cliques)

    def shape(self, clique: Clique) -> tuple[int, ...]:
        return tuple(self.sizes[place] for place in clique)

    @cached_property
    def separators(self) -> tuple[Clique, ...]:
        """What each clique shares with its parent."""
        return tuple(
            clique_of(set(clique) & set(self.cliques[parent])) if parent >= 0 else ()
            for clique, parent in zip(self.cliques, self.parents, strict=True)
        )

    def home(self, clique: Clique) -> int | None:
        """The smallest clique of the tree that holds these columns."""
        inside = [place for place, each in enumerate(self.cliques) if set(clique) <= set(each)]
        return min(inside, key=lambda place: prod(self.shape(self.cliques[place])), default=None)

    def zeros(self) -> list[Floats]:
        return [np.zeros(self.shape(clique)) for clique in self.cliques]

    def beliefs(self, potentials: Sequence[Floats]) -> tuple[Beliefs, float]:
        """The probabilities of each clique, and the logarithm of what the exponentials add up to.

        One exponential a clique: upward the exponentials are added up over what the parent does not have, downward they
        are multiplied by what the parent knows better.
        """
        logs: list[Floats] = list(potentials)
        owned = [False] * len(logs)
        weights: list[Floats] = [np.empty(0)] * len(logs)
        sums: list[Floats] = [np.empty(0)] * len(logs)
        for place in range(len(logs) - 1, -1, -1):
            top = float(logs[place].max())
            if top == -np.inf:
                raise InputError("the declared impossible combinations leave nothing possible: take one of them away")
            if not owned[place]:
                logs[place] = logs[place] - top
            else:
                logs[place] -= top
            weights[place] = np.exp(logs[place], out=logs[place])
            clique, separator, parent = self.cliques[place], self.separators[place], self.parents[place]
            sums[place] = _summed(weights[place], clique, separator)
            if parent < 0:
                total = top + float(np.log(sums[place]))
                break
            with np.errstate(divide="ignore"):
                message = np.log(sums[place]) + top
            if owned[parent]:
                logs[parent] += expanded(message, separator, self.cliques[parent])
            else:
                logs[parent] = logs[parent] + expanded(message, separator, self.cliques[parent])
                owned[parent] = True
        weights[0] /= sums[0]
        for place in range(1, len(logs)):
            clique, separator, parent = self.cliques[place], self.separators[place], self.parents[place]
            known = _summed(weights[parent], self.cliques[parent], separator)
            ratio = np.divide(known, sums[place], out=np.zeros_like(known), where=sums[place] > TINY)
            weights[place] *= expanded(ratio, separator, clique)
        return weights, total

    def marginal(self, beliefs: Beliefs, clique: Clique) -> Floats | None:
        """The probabilities of some columns, where one clique holds them all."""
        home = self.home(clique)
        return None if home is None else _summed(beliefs[home], self.cliques[home], clique)

    def any_marginal(self, beliefs: Beliefs, clique: Clique) -> Floats:
        """The probabilities of any columns: cliques between them are multiplied, all else is summed out early."""
        found = self.marginal(beliefs, clique)
        if found is not None:
            return found
        tables: list[tuple[Clique, Floats]] = []
        for place in self._between(clique):
            belief, whole = beliefs[place], self.cliques[place]
            separator, parent = self.separators[place], self.parents[place]
            if parent >= 0 and parent in self._between(clique):
                below = _summed(belief, whole, separator)
                rest = np.divide(1.0, below, out=np.zeros_like(below), where=below > TINY)
                belief = belief * expanded(rest, separator, whole)
            tables.append((whole, belief))
        places = {place for whole, _ in tables for place in whole}
        for place in sorted(places - set(clique), key=lambda at: self._joined_cells(tables, at)):
            touched = [each for each in tables if place in each[0]]
            tables = [each for each in tables if place not in each[0]]
            left = clique_of(at for whole, _ in touched for at in whole if at != place)
            tables.append((left, _contracted(touched, left)))
        return _contracted(tables, clique)

    def _joined_cells(self, tables: Sequence[tuple[Clique, Floats]], place: int) -> int:
        return prod(self.sizes[at] for at in {at for whole, _ in tables if place in whole for at in whole})

    def _between(self, clique: Clique) -> list[int]:
        """The smallest part of the tree that holds these columns: leaves that bring none of them are left out."""
        kept = set(range(len(self.cliques)))
        while True:
            edges: dict[int, list[int]] = {place: [] for place in kept}
            for place in kept:
                if self.parents[place] in kept:
                    edges[place].append(self.parents[place])
                    edges[self.parents[place]].append(place)
            for place in sorted(kept, reverse=True):
                mine = set(self.cliques[place]) & set(clique)
                if len(edges[place]) <= 1 and len(kept) > 1:
                    other = self.cliques[edges[place][0]] if edges[place] else ()
                    if mine <= set(other):
                        kept.remove(place)
                        break
            else:
                return sorted(kept)


def _contracted(tables: Sequence[tuple[Clique, Floats]], clique: Clique) -> Floats:
    """The product of some tables, summed over all that is not in `clique`."""
    places = sorted({place for whole, _ in tables for place in whole} | set(clique))
    letters = {place: number for number, place in enumerate(places)}
    arguments: list[Any] = []
    for whole, table in tables:
        arguments += [table, [letters[place] for place in whole]]
    return np.asarray(np.einsum(*arguments, [letters[place] for place in clique], optimize=len(tables) > 2))


def _summed(table: Floats, clique: Clique, kept: Clique) -> Floats:
    """The table summed over the columns that are not kept. Neighbouring axes go together, by products with a row of
    ones, which is several times faster than a sum over short axes."""
    if len(clique) == len(kept):
        return table.copy()
    runs: list[tuple[bool, int]] = []  # whether it stays, and its cells
    for place, size in zip(clique, table.shape, strict=True):
        stays = place in kept
        if runs and runs[-1][0] == stays:
            runs[-1] = (stays, runs[-1][1] * size)
        else:
            runs.append((stays, size))
    shape = [size for place, size in zip(clique, table.shape, strict=True) if place in kept]
    while any(not stays for stays, _ in runs):
        at = max((each for each, (stays, _) in enumerate(runs) if not stays), key=lambda each: runs[each][1])
        before, size, after = prod(s for _, s in runs[:at]), runs[at][1], prod(s for _, s in runs[at + 1 :])
        if after == 1:
            table = table.reshape(before, size) @ np.ones(size)
        else:
            table = np.matmul(np.ones((1, size)), table.reshape(before, size, after))
        runs = [*runs[:at], *runs[at + 1 :]]
    return np.asarray(table.reshape(shape))


def expanded(table: Floats, clique: Clique, into: Clique) -> Floats:
    """The same table with an axis of length one for each further column of `into`, to be broadcast."""
    shape = iter(table.shape)
    return table.reshape([next(shape) if place in clique else 1 for place in into])
