"""Which units a step is made from: each by its own coin, or by a group that was drawn for it alone.

Nobody's place depends on who else is there, so that adding or removing one unit changes nothing for the others.
Batches may be empty: an empty batch is a step like any other, of noise alone.
"""

from fractions import Fraction
from typing import Any

import numpy as np

from tacit.base import InputError
from tacit.noise import Rng, heads
from tacit.noise.rng import uniform

__all__ = ["GroupSampler", "Indices", "PoissonSampler"]

Indices = np.ndarray[Any, np.dtype[np.int64]]


class PoissonSampler:
    """Each unit takes part in each step with probability exactly `rate`, whatever the others do."""

    def __init__(self, rate: Fraction, units: int) -> None:
        self.rate, self.units = rate, units

    def batch(self, step: int, rng: Rng) -> Indices:
        """The units of a step: fresh coins at each call."""
        del step
        return _taken(self.rate, self.units, rng)


class GroupSampler:
    """A unit takes part only in steps t with t mod `separation` equal to its group; there surely, or by a coin.

    Groups are drawn once, uniformly and for each unit alone. They are kept with how far a training is, so that a unit
    stays `separation` steps apart from itself after a crash too.
    """

    def __init__(self, separation: int, groups: Indices, rate: Fraction | None = None) -> None:
        if len(groups) and not 0 <= int(groups.min()) <= int(groups.max()) < separation:
            raise InputError("a unit's group is not one of those there are: what was saved does not fit the plan")
        self.separation, self.groups, self.rate = separation, groups, rate

    @classmethod
    def draw(cls, separation: int, units: int, rate: Fraction | None, rng: Rng) -> "GroupSampler":
        return cls(separation, uniform(separation, units, rng), rate)

    def batch(self, step: int, rng: Rng) -> Indices:
        """The units of a step."""
        due = np.flatnonzero(self.groups == step % self.separation)
        return due if self.rate is None else due[_taken(self.rate, len(due), rng)]


def _taken(rate: Fraction, units: int, rng: Rng) -> Indices:
    return np.arange(units) if rate == 1 else heads(rate, units, rng)
