"""Laplace noise on a lattice: integers, or reals with a declared granularity."""

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from math import exp, expm1, log, sqrt
from typing import Any, ClassVar, Self

import numpy as np

from tacit.base import InputError, Relation, Size
from tacit.base.number import Number, Ratio, frozen, positive
from tacit.loss import PLD, DiscreteLaplacePart, Loss, Pure
from tacit.mechanism.additive import Additive, Rounding, outside
from tacit.mechanism.mechanism import Example, Family
from tacit.noise import Rng, discrete_laplace, discrete_laplaces

__all__ = ["DiscreteLaplace", "Laplace"]


@frozen
class DiscreteLaplace(Additive):
    """Integer noise with Pr[z] ∝ exp(−|z|/scale): the two-sided geometric distribution.

    Guarantee: ε = l1 sensitivity / scale, pure; for numbers and vectors alike its whole curve is that of one coordinate
    that moves by all of it. With sensitivity 1 it is exactly randomised response in its loss.
    """

    theory: ClassVar[str] = "laplace"

    scale: Ratio

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", positive(self.scale, "scale"))

    def loss(self, sensitivity: Size = None, *, relation: Relation = Relation.ADD_REMOVE, unit: str = "row") -> Pure:
        """The curve of one coordinate that moves by the whole l1 sensitivity: no vector of that norm is told apart
        better (docs/theory/laplace.md)."""
        shift = self._moved(self._reach(sensitivity, "l1").require("l1"))
        part = DiscreteLaplacePart(self._steps, shift)
        loss = PLD.of(((part, 1),), relation=relation, unit=unit)
        assert isinstance(loss, Pure)  # as its part is
        return loss

    @classmethod
    def from_loss(cls, loss: Loss, *, sensitivity: Size = None, **lattice: Any) -> Self:
        """The least noise with the pure guarantee `loss`: scale = l1 sensitivity / ε."""
        if not isinstance(loss, Pure) or not loss.bound:
            raise InputError("Laplace noise reaches a pure guarantee: pass loss=Pure(epsilon) with epsilon > 0")
        epsilon = loss.bound
        return cls._covering(lambda size, **on: cls(scale=size / epsilon, **on), sensitivity, "l1", lattice)

    @classmethod
    def from_error(cls, error: Number, *, confidence: Number = 0.95, dimension: int = 1, **lattice: Any) -> Self:
        """The most noise whose `error(confidence)` is at most `error`; its `loss` is then the price."""
        return cls._for_error(lambda size: cls(scale=size, **lattice), error, confidence, dimension)

    def draw(self, size: int, rng: Rng) -> Any:
        return discrete_laplaces(self._steps, size, rng)

    def draw_one(self, rng: Rng) -> int:
        return discrete_laplace(self._steps, rng)

    def tail(self, steps: int) -> float:
        rate = float(1 / self._steps)
        return 2 * exp(-(steps + 1) * rate) / (1 + exp(-rate))

    def weights(self) -> Sequence[float]:
        rate = float(1 / self._steps)
        zero = -expm1(-rate) / (1 + exp(-rate))
        return [float(p) for p in zero * np.exp(-rate * np.arange(self._listable(690 / rate) + 1))]

    @property
    def family(self) -> Family:
        return "laplace"

    @property
    def magnitude(self) -> Fraction:
        return self.scale

    @property
    def standard_deviation(self) -> float:
        return sqrt(2) * float(self.scale)

    def half_width(self, confidence: float = 0.95) -> float:
        return -log(outside(confidence)) * float(self.scale)

    def scaled(self, factor: Number) -> Self:
        return replace(self, scale=self.scale * positive(factor, "factor"))

    @property
    def _steps(self) -> Fraction:
        """The scale in steps of the lattice."""
        return self.scale / self.lattice.granularity

    @classmethod
    def examples(cls) -> Sequence[Example]:
        cases = [(cls(scale=Fraction(scale)), shift) for scale, shift in ((1, 1), ("7/3", 2), ("1/3", 1), (50, 3))]
        return [Example(m, 5, 5 + shift, m.loss(sensitivity=shift)) for m, shift in cases]


@frozen
class Laplace(Rounding, DiscreteLaplace):
    """value + Z with Pr[Z = z] ∝ exp(−|z|/scale) over the multiples z of `granularity`.

    Guarantee: ε = l1 sensitivity / scale, pure. Vectors get independent noise in each coordinate. What is off the
    lattice is rounded to it, and the sensitivity rounded up to whole steps: see `Rounding`.
    """

    def __post_init__(self) -> None:
        DiscreteLaplace.__post_init__(self)
        Rounding.__post_init__(self)

    @classmethod
    def examples(cls) -> Sequence[Example]:
        cases = ((1, 1, 1), (10, "1/2", 3), ("1/3", "1/8", 2), ("0.02", "0.01", 4))
        found = []
        for scale, step, shift in cases:
            m = cls(scale=Fraction(scale), granularity=Fraction(step))
            found.append(Example(m, 0, m.lattice.value(shift), m.loss(sensitivity=shift * m.lattice.granularity)))
        return found
