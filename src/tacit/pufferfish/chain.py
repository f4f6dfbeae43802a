"""Data models: who may depend on whom. A chain over time, or a small network; both are values, declared and public."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np

from tacit.base import InputError, exact, whole

__all__ = ["Chain", "Floats", "Network"]

Floats = np.ndarray[Any, np.dtype[np.float64]]
MOST_STATES, MOST_LENGTH, MOST_CELLS = 200, 1_000_000, 1 << 20


def _law(weights: Sequence[Any], what: str) -> tuple[Fraction, ...]:
    found = tuple(exact(each, what, toward="decimal") for each in weights)
    if not found or min(found) < 0 or sum(found) != 1:
        raise InputError(f'{what} must be probabilities that add up to 1 exactly: write thirds as "1/3"')
    return found


@dataclass(frozen=True)
class Chain:
    """A Markov chain: row x of `transition` says where it goes from state x, in each of `length` − 1 steps.

    It starts from `initial`; left out, from the law that it keeps, which there has to be one of.
    """

    transition: Sequence[Sequence[Any]]
    length: int
    initial: Sequence[Any] | None = None
    stationary: bool = field(init=False, default=False)

    def __post_init__(self) -> None:
        put = object.__setattr__
        rows = tuple(_law(row, f"row {place} of the transition") for place, row in enumerate(self.transition))
        if not 2 <= len(rows) <= MOST_STATES or any(len(row) != len(rows) for row in rows):
            raise InputError(f"a transition is a square of 2 to {MOST_STATES} states, all rows as long")
        put(self, "transition", rows)
        put(self, "length", whole(self.length, "length", least=1))
        if self.length > MOST_LENGTH:
            raise InputError(f"length must be at most {MOST_LENGTH:,}, not {self.length:,}")
        put(self, "stationary", self.initial is None)
        if self.initial is not None:
            start = _law(self.initial, "initial")
            if len(start) != len(rows):
                raise InputError(f"initial must have {len(rows)} probabilities, one for each state")
            put(self, "initial", start)

    @property
    def states(self) -> int:
        return len(self.transition)

    @property
    def matrix(self) -> Floats:
        return np.array([[float(p) for p in row] for row in self.transition])

    def start(self) -> Floats:
        """The law of the first state."""
        if self.initial is not None:
            return np.array([float(p) for p in self.initial])
        return self.kept()

    def kept(self) -> Floats:
        """The one law that the chain keeps."""
        # states are taken out one by one, without a subtraction: each chance is right to many digits, also a tiny one
        # (Grassmann, Taksar and Heyman 1985; O'Cinneide 1993)
        p, size = self.matrix, self.states
        for last in range(size - 1, 0, -1):
            leaves = p[last, :last].sum()
            if leaves <= 0 or p[:last, last].sum() <= 0:
                raise InputError(
                    "the chain does not come from each state to every other, so the law it keeps is not one of all "
                    "states: leave states out, or say initial=(…), the law of its first state"
                )
            p[:last, last] /= leaves
            p[:last, :last] += np.outer(p[:last, last], p[last, :last])
        law: Floats = np.ones(size)
        for state in range(1, size):
            law[state] = law[:state] @ p[:state, state]
        law /= law.sum()
        return law

    def reversible(self) -> bool:
        """Whether it looks the same backward, exactly: π(x)·P(x, y) = π(y)·P(y, x) for a law found along a tree."""
        rows, law, open_ = self.transition, {0: Fraction(1)}, [0]
        while open_:
            here = open_.pop()
            for there in range(self.states):
                if there not in law and rows[here][there] and rows[there][here]:
                    law[there] = law[here] * rows[here][there] / rows[there][here]
                    open_.append(there)
        pairs = [(x, y) for x in range(self.states) for y in range(x)]
        return len(law) == self.states and all(law[x] * rows[x][y] == law[y] * rows[y][x] for x, y in pairs)


@dataclass(frozen=True)
class Network:
    """A small Bayesian network: variables in an order in which parents come first.

    `parents[i]` are places of earlier variables; `tables[i]` has a row for each combination of their values, the last
    parent's running fastest, and a probability for each value of variable i.
    """

    parents: Sequence[Sequence[int]]
    tables: Sequence[Sequence[Sequence[Any]]]

    def __post_init__(self) -> None:
        put = object.__setattr__
        if len(self.parents) != len(self.tables) or not self.parents:
            raise InputError("a network has parents and a table for each variable")
        tables = tuple(
            tuple(_law(row, f"a row of table {place}") for row in table) for place, table in enumerate(self.tables)
        )
        sizes = [len(table[0]) if table else 0 for table in tables]
        for place, (above, table) in enumerate(zip(self.parents, tables, strict=True)):
            rows = int(np.prod([sizes[each] for each in above if 0 <= each < place], dtype=object)) if above else 1
            if any(not 0 <= each < place for each in above) or len(set(above)) != len(above):
                raise InputError(f"parents of variable {place} must be different variables before it")
            if len(table) != rows or any(len(row) != sizes[place] for row in table) or sizes[place] < 2:
                raise InputError(f"table {place} must have {rows} rows, a probability for each of 2 or more values")
        if np.prod(sizes, dtype=object) > MOST_CELLS:
            raise InputError(f"a network may have at most {MOST_CELLS:,} combinations of values: split it")
        put(self, "parents", tuple(tuple(each) for each in self.parents))
        put(self, "tables", tables)

    @property
    def sizes(self) -> tuple[int, ...]:
        return tuple(len(table[0]) for table in self.tables)

    def joint(self) -> Floats:
        """The probability of every combination of values."""
        found = np.ones(self.sizes)
        for place, (above, table) in enumerate(zip(self.parents, self.tables, strict=True)):
            wide = np.array([[float(p) for p in row] for row in table])
            wide = wide.reshape([self.sizes[each] for each in above] + [self.sizes[place]])
            order = np.argsort([*above, place])
            shape = [self.sizes[each] if each in (*above, place) else 1 for each in range(len(self.sizes))]
            found = found * wide.transpose(order).reshape(shape)
        return found

    def neighbours(self) -> list[set[int]]:
        """Who is beside whom when parents of one child are joined and arrows forgotten."""
        beside: list[set[int]] = [set() for _ in self.parents]
        for place, above in enumerate(self.parents):
            for left, right in product((*above, place), repeat=2):
                if left != right:
                    beside[left].add(right)
        return beside
