"""Published tables as an integer programme: how many people there are of each kind that the tables allow."""

from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import csr_array

from tacit.attack.block_tables import Domain, Person, Row, in_group
from tacit.attack.subset_sums import Array
from tacit.base import InputError, TacitError

__all__ = ["Programme", "consistent"]

SECONDS = 60.0


class Programme:
    """Integer unknowns with bounds, sums of them with bounds, and a price to make small; HiGHS solves it.

    The first unknowns are how often each kind of person of `domain` occurs, at most `people` times.
    """

    def __init__(self, domain: Domain, people: int) -> None:
        if "age" not in domain or any(not values for values in domain.values()):
            raise InputError('the domain must list the possible values of each column, and "age" among them')
        self.kinds: list[Person] = [dict(zip(domain, values, strict=True)) for values in product(*domain.values())]
        self.ages = np.array([kind["age"] for kind in self.kinds])
        self.people = people
        self._low: list[float] = [0.0] * len(self.kinds)
        self._high: list[float] = [float(people)] * len(self.kinds)
        self._price: list[float] = [0.0] * len(self.kinds)
        self._whole: list[int] = [1] * len(self.kinds)
        self._rows: list[tuple[Array, Array, float, float]] = []

    def unknown(self, high: float, *, price: float = 0.0, whole: bool = True) -> int:
        """One more unknown in [0, high]."""
        for values, value in ((self._low, 0.0), (self._high, high), (self._price, price)):
            values.append(value)
        self._whole.append(int(whole))
        return len(self._low) - 1

    def require(self, places: Any, weights: Any, low: float, high: float) -> None:
        """low ≤ Σ weight · unknown ≤ high."""
        where = np.asarray(places, dtype=np.int64)
        self._rows.append((where, np.broadcast_to(np.asarray(weights, dtype=float), where.shape), low, high))

    def group(self, group: Any) -> Array:
        """The places of the kinds in a group."""
        return np.array([place for place, kind in enumerate(self.kinds) if in_group(kind, group)], dtype=np.int64)

    def solve(self) -> Array | None:
        """The unknowns at the least price; None if nothing fits."""
        at = np.concatenate([np.full(len(places), row) for row, (places, *_) in enumerate(self._rows)])
        columns = np.concatenate([places for places, *_ in self._rows])
        weights = np.concatenate([row[1] for row in self._rows])
        matrix = csr_array((weights, (at, columns)), shape=(len(self._rows), len(self._low)))
        solver: Any = milp  # its stub knows no sparse matrix
        found = solver(
            np.array(self._price),
            integrality=np.array(self._whole),
            bounds=Bounds(np.array(self._low), np.array(self._high)),
            constraints=LinearConstraint(matrix, [row[2] for row in self._rows], [row[3] for row in self._rows]),
            options={"time_limit": SECONDS},
        )
        if found.status == 2:
            return None
        if found.x is None or found.status != 0:
            raise TacitError(f"the integer programme was not solved in {SECONDS:g} seconds: take a smaller block")
        return np.asarray(found.x)


def consistent(rows: Sequence[Row], domain: Domain) -> Programme:
    """The programme whose solutions are the blocks that would have been published as `rows`, and no others."""
    totals = [row.count for row in rows if not row.group and row.count is not None]
    if not totals:
        raise InputError("the tables must say how many people there are: a row of the empty group {} with a count")
    programme = Programme(domain, totals[0])
    for row in rows:
        places = programme.group(row.group)
        if row.count is None:
            programme.require(places, 1, 1, row.withheld)
            continue
        programme.require(places, 1, row.count, row.count)
        if row.mean is not None:
            half = 0.5 * 10.0**-row.places + 1e-9
            total, slack = row.mean * row.count, half * row.count
            programme.require(places, programme.ages[places], total - slack, total + slack)
        if row.median is not None:
            _middle(programme, places, row.count, row.median)
    return programme


def _middle(programme: Programme, places: Array, count: int, median: float) -> None:
    """The middle age is `median`; of an even number, the two in the middle have it as their mean."""
    ages, position = programme.ages[places], (count + 1) // 2

    def at_most(age: float) -> Array:
        return places[ages <= age]

    if count % 2:
        programme.require(at_most(median), 1, position, count)
        programme.require(at_most(median - 1), 1, 0, position - 1)
        return
    # which pair it is, is a choice: one binary for the lower of each, and the sums hold only where it is 1
    lows = [int(age) for age in np.unique(ages[ages <= median]) if 2 * median - age in ages]
    chosen = [programme.unknown(1) for _ in lows]
    programme.require(chosen, 1, 1, 1)
    for low, choice in zip(lows, chosen, strict=True):
        for age, place in ((low, position), (int(2 * median) - low, position + 1)):
            below, upto = at_most(age - 1), at_most(age)
            programme.require([*upto, choice], [*np.ones(len(upto)), -place], 0, count)
            spare = count - place + 1
            programme.require([*below, choice], [*np.ones(len(below)), spare], 0, place - 1 + spare)
