"""The lattice: real answers are integers times a declared granularity, so that noise on them is exact.

`steps` and `value` convert between the two worlds, and a value off the lattice is an error. `nearest` and `round` are
for the caller who wants rounding and counts it in the sensitivity with `sensitivity`.
"""

from dataclasses import dataclass
from fractions import Fraction
from math import floor, isqrt
from typing import Any

import numpy as np

from tacit.base.errors import InputError, LatticeError, SensitivityError
from tacit.base.number import Number, exact, positive, show, whole
from tacit.base.sensitivity import Sensitivity

__all__ = ["Lattice"]

Array = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True, init=False)
class Lattice:
    """All integer multiples of `granularity`."""

    granularity: Fraction

    def __init__(self, granularity: Number) -> None:
        object.__setattr__(self, "granularity", positive(granularity, "granularity", toward="decimal"))

    def steps(self, value: object) -> int | Array:
        """The integer number of steps of a value (or array of values) that lies on the lattice; else an error.

        A float counts as on the lattice when it is the double nearest to one lattice point (0.7 is on the lattice of
        tenths). Only the integer goes on from here, so the float's own rounding cannot leak.
        """
        if isinstance(value, np.ndarray | list | tuple):
            return self._array_steps(_array(value))
        steps = _double(value) / self.granularity
        nearest = floor(steps + Fraction(1, 2))
        # below 2^52 steps no double is nearest to two lattice points
        close = isinstance(value, float | np.floating) and abs(nearest) < 2**52 and self.value(nearest) == float(value)
        if steps != nearest and not close:
            raise LatticeError(
                f"value is not a multiple of the granularity {show(self.granularity)}: declare a finer granularity, "
                "or round it with Lattice.round and use Lattice.sensitivity for what that costs"
            )
        return nearest

    def _array_steps(self, values: Array) -> Array:
        if values.dtype == object:
            return np.array([self.steps(v) for v in values.ravel()], dtype=object).reshape(values.shape)
        if values.dtype.kind not in "iuf":
            raise InputError(f"value must be numeric, not an array of {values.dtype}")
        if self.granularity == 1 and values.dtype.kind in "iu":
            if values.dtype == np.uint64 and values.size and int(values.max()) >= 2**63:
                return values.astype(object)
            return values.astype(np.int64)
        if values.dtype.kind in "iu":
            return self._array_steps(values.astype(object))
        if not np.isfinite(values).all():
            raise InputError("value must be finite: it holds NaN or infinity")
        values = values.astype(np.float64)  # in single precision the quotient below would be steps away
        steps = np.rint(values * (self.granularity.denominator / self.granularity.numerator))
        if np.abs(steps).max(initial=0.0) >= 2.0**48:  # below, all roundings here together are under half a step
            return self._array_steps(values.astype(object))
        result = steps.astype(np.int64)
        for value in values[self.values(result) != values]:  # off the lattice, unless `values` is itself an ulp off
            self.steps(float(value))
        return result

    def value(self, steps: int) -> int | float:
        """The number that so many steps stand for (an int when the granularity is a whole number)."""
        product = steps * self.granularity
        if self.granularity.denominator == 1:
            return int(product)
        return float(product)

    def values(self, steps: Array) -> Array:
        """`value` for an array; a function of the steps alone."""
        if self.granularity == 1:
            return steps
        if steps.dtype == object or (steps.size and max(abs(int(steps.max())), abs(int(steps.min()))) >= 2**53):
            flat = [self.value(int(s)) for s in steps.ravel()]
            kind = object if self.granularity.denominator == 1 else float
            return np.array(flat, dtype=kind).reshape(steps.shape)
        if self.granularity.denominator == 1:
            return np.array([self.value(int(s)) for s in steps.ravel()], dtype=object).reshape(steps.shape)
        return np.asarray(steps * float(self.granularity.numerator) / float(self.granularity.denominator))

    def nearest(self, value: object) -> int | Array:
        """⌊x/granularity + 1/2⌋, the steps of the nearest lattice point, halves upward; see `sensitivity` for its cost.

        A float is the double it is: reading it as its decimal would move two neighbours apart by more than they are.
        """
        if isinstance(value, np.ndarray | list | tuple):
            array = _array(value)
            return np.array([self.nearest(item) for item in array.ravel()], dtype=object).reshape(array.shape)
        return floor(_double(value) / self.granularity + Fraction(1, 2))

    def round(self, value: Number) -> int | float:
        """The nearest lattice point, as `nearest` has it."""
        steps = self.nearest(value)
        assert isinstance(steps, int)  # one number in, one out
        return self.value(steps)

    def sensitivity(self, sensitivity: Sensitivity | Number, *, dimension: int = 1) -> Sensitivity:
        """The sensitivity of an answer of `dimension` numbers after `round`.

        Halves go upward everywhere, so two numbers at distance x land at most ⌈x⌉ steps apart. For one number that is
        the sensitivity rounded up to the lattice; for d numbers each may gain up to one step: l1 + d·g, l2 + √d·g.
        """
        g, dimension = self.granularity, whole(dimension, "dimension", least=1)
        if dimension > 1 and not isinstance(sensitivity, Sensitivity):
            raise SensitivityError(
                f"sensitivity {show(exact(sensitivity, 'sensitivity'))} of {dimension} numbers does not say its norm: "
                "pass Sensitivity(l1=...) or Sensitivity(l2=...)"
            )
        s = Sensitivity.of(sensitivity, "linf")
        if dimension == 1:
            return Sensitivity.scalar(-(-s.require("linf") // g) * g)
        root = Fraction(isqrt(dimension * 10**12) + 1, 10**6)
        return Sensitivity(
            l1=None if s.l1 is None else s.l1 + dimension * g,
            l2=None if s.l2 is None else s.l2 + root * g,
            linf=None if s.linf is None else -(-s.linf // g) * g,
            dimension=dimension,
        )


def _double(value: object) -> Fraction:
    """A number as it is, a float as the double it is."""
    number = exact(value, "value")
    return Fraction(float(value)) if isinstance(value, float | np.floating) else number


def _array(value: object) -> Array:
    """A list as an array; where numpy would turn large integers to floats, as an array of objects."""
    array = np.asarray(value)
    if array.dtype.kind == "f" and not isinstance(value, np.ndarray):
        items = np.array(value, dtype=object)
        if any(isinstance(item, int | np.integer) and abs(int(item)) > 2**53 for item in items.ravel()):
            return items
    return array
