"""Noise added to numbers on a lattice: what Laplace and Gaussian share."""

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import field
from fractions import Fraction
from math import expm1, log
from typing import Any, Self

import numpy as np

from tacit.base import InputError, Lattice, LatticeError, LossError, Sensitivity, Size
from tacit.base.number import Number, OptionalRatio, between, default, frozen, positive, show, whole
from tacit.base.sensitivity import Norm
from tacit.mechanism.mechanism import Mechanism, Pmf
from tacit.noise import Rng, rng_or_default

__all__ = ["Additive", "Rounding", "fine_granularity", "least", "least_whole", "most", "outside"]

LISTED = 1_000_000  # outputs a pmf may list
FINE = 20  # without a declared granularity, a lattice has about 2^20 steps a scale


class Additive(Mechanism):
    """value + noise, with noise drawn independently for each coordinate on the integers of a lattice."""

    @property
    def lattice(self) -> Lattice:
        """Where values and answers lie: the integers, unless a subclass declares a granularity."""
        return Lattice(Fraction(1))

    @abstractmethod
    def draw(self, size: int, rng: Rng) -> Any:
        """`size` independent noises, in steps of the lattice."""

    @abstractmethod
    def draw_one(self, rng: Rng) -> int:
        """One noise, in steps of the lattice."""

    @abstractmethod
    def tail(self, steps: int) -> float:
        """Pr[|noise| > steps]."""

    @abstractmethod
    def weights(self) -> Sequence[float]:
        """Pr[noise = 0], Pr[noise = 1 step], …: half of the symmetric law, down to about 1e-300."""

    def reaches(self, steps: int) -> tuple[float, float]:
        """Pr[noise ≥ steps] and Pr[noise < steps]; the law is symmetric, so the smaller one is half a two-sided tail,
        and each has full relative accuracy."""
        rare = self.tail(steps - 1 if steps > 0 else -steps) / 2
        return (rare, 1 - rare) if steps > 0 else (1 - rare, rare)

    @property
    def kind(self) -> str:
        return f"discrete {self.family.capitalize()} noise"

    def words(self, unit: str = "unit") -> str:
        return f"{self.kind}, {self.size_words()}"

    def sample(self, value: Any, rng: Rng | None = None) -> Any:
        """A noisy copy of `value`: a number, or an array of them, on the lattice."""
        source = rng_or_default(rng)
        steps = self._steps_of(value)
        if isinstance(steps, int):
            return self.lattice.value(steps + self.draw_one(source))
        noise = self.draw(steps.size, source).reshape(steps.shape)
        if steps.dtype != object and steps.size and max(abs(int(steps.max())), abs(int(steps.min()))) > 2**61:
            steps = steps.astype(object)
        return self.lattice.values(steps + noise)

    def _steps_of(self, value: Any) -> Any:
        return self.lattice.steps(value)

    def _reach(self, sensitivity: Size, norm: Norm) -> Sensitivity:
        """How far one unit moves what the noise is added to."""
        return Sensitivity.of(sensitivity, norm)

    @classmethod
    def _covering(cls, build: Callable[..., Self], sensitivity: Size, norm: Norm, lattice: dict[str, Any]) -> Self:
        """What `build` makes for a sensitivity, and again for what rounding to the lattice of the first makes of it."""
        size = positive(Sensitivity.of(sensitivity, norm).require(norm), "sensitivity")
        made = build(size, **lattice)
        moved = made._reach(sensitivity, norm).require(norm)
        return made if moved == size else build(moved, **lattice | {"granularity": made.lattice.granularity})

    def error(self, confidence: Number = 0.95, *, dimension: int = 1) -> float:
        """The least e with Pr[every one of `dimension` noises is at most e in size] ≥ confidence."""
        return float(self._error_steps(confidence, dimension) * self.lattice.granularity)

    def _error_steps(self, confidence: Number, dimension: int) -> int:
        # each of d independent noises may fail with probability 1 − confidence^(1/d)
        level = float(between(confidence, "confidence", 0, 1))
        allowed = -expm1(log(level) / whole(dimension, "dimension", least=1))
        return least_whole(lambda steps: self.tail(steps) <= allowed)

    @classmethod
    def _for_error(cls, build: Callable[[Fraction], Self], error: Number, confidence: Number, dimension: int) -> Self:
        """The largest noise that `build` makes of a scale with an error of at most `error`."""
        target = positive(error, "error", toward="down")

        def fits(size: float) -> bool:
            return Fraction(build(Fraction(size)).error(confidence, dimension=dimension)) <= target

        return build(Fraction(most(fits, float(target))))

    def _moved(self, size: Fraction) -> Fraction:
        """A sensitivity in steps. Values on the lattice move by whole steps, so less than one is a mistake."""
        steps = size / self.lattice.granularity
        if 0 < steps < 1:
            raise LatticeError(
                f"sensitivity {show(size)} is less than one step of {show(self.lattice.granularity)}: values on this "
                "lattice cannot move so little; declare a finer granularity, or the sensitivity after rounding"
            )
        return steps

    def pmf(self, value: Any) -> Pmf:
        if isinstance(value, np.ndarray | list | tuple):
            raise InputError("pmf is for one number; the coordinates of a vector are independent")
        half, centre = self.weights(), self.lattice.steps(value)
        assert isinstance(centre, int)
        signed = [(z, p) for z, p in enumerate(half)] + [(-z, p) for z, p in enumerate(half) if z]
        return {self.lattice.value(centre + z): p for z, p in signed}

    def _listable(self, count: float) -> int:
        if count > LISTED:
            raise LossError(f"pmf would list {count:.0f} outputs: declare a coarser granularity to look at it")
        return int(count)


@frozen
class Rounding(Additive):
    """Noise on real numbers: a lattice of `granularity`, to which a number off it is rounded.

    ⌊x/granularity + 1/2⌋ moves by ⌈Δ⌉ steps at most where x moves by Δ steps, so `loss` takes a sensitivity of whole
    steps, rounded up. An array whose numbers are off the lattice is refused unless `dimension` says how many there may
    be: each may gain up to a step, which `loss` then adds (docs/theory/laplace.md). One call of `sample` is one
    release: numbers that are rounded in calls of their own have each their own sensitivity and loss. Without a declared
    granularity the lattice is the power of two about a millionth of the scale.
    """

    granularity: OptionalRatio = default(None)
    dimension: int | None = field(default=None, metadata={"stored": "if given"})

    def __post_init__(self) -> None:
        step = fine_granularity(self.magnitude) if self.granularity is None else self.granularity
        object.__setattr__(self, "granularity", Lattice(step).granularity)
        if self.dimension is not None:
            object.__setattr__(self, "dimension", whole(self.dimension, "dimension", least=1))

    @property
    def lattice(self) -> Lattice:
        assert self.granularity is not None  # set in __post_init__
        return Lattice(self.granularity)

    def _steps_of(self, value: Any) -> Any:
        try:
            return self.lattice.steps(value)
        except LatticeError:
            size = np.size(value) if isinstance(value, np.ndarray | list | tuple) else 1
            if size > (self.dimension or 1):
                raise LatticeError(
                    f"these {size} numbers are not multiples of the granularity {show(self.lattice.granularity)}, and "
                    f"rounding each may cost a step: say dimension={size} when you make the {type(self).__name__}, "
                    "which adds that to its loss, or declare a granularity that they are multiples of"
                ) from None
            return self.lattice.nearest(value)

    def _reach(self, sensitivity: Size, norm: Norm) -> Sensitivity:
        size, step = Sensitivity.of(sensitivity, norm), self.lattice.granularity
        if self.dimension is not None and self.dimension > 1:
            return self.lattice.sensitivity(size, dimension=self.dimension)
        if size.dimension is not None and size.dimension > 1:
            return size  # of an array, which is on the lattice, or refused
        norms = {name: getattr(size, name) for name in ("l1", "l2", "linf")}
        whole_steps = {name: None if value is None else -(-value // step) * step for name, value in norms.items()}
        return Sensitivity(**whole_steps, dimension=size.dimension)


def fine_granularity(scale: Fraction) -> Fraction:
    """A power of two about 2^−20 of the scale."""
    return Fraction(2) ** (scale.numerator.bit_length() - scale.denominator.bit_length() - FINE)


def least_whole(holds: Callable[[int], bool]) -> int:
    """The least whole number m ≥ 0 with holds(m), for a property that holds from some number on."""
    low, high = -1, 1
    while not holds(high):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def most(holds: Callable[[float], bool], guess: float) -> float:
    """The greatest x > 0 with holds(x), for a property that holds below some threshold: within 1e-9, from below."""
    low = guess
    while not holds(low):
        low /= 2
        if low < 1e-300:
            raise InputError("error is too small: no noise fits it on this lattice; declare a finer granularity")
    high = 2 * low
    while holds(high):
        low, high = high, 2 * high
    while high - low > 1e-9 * low:
        middle = (low + high) / 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low


def least(holds: Callable[[float], bool], guess: float) -> float:
    """The least x > 0 with holds(x), for a property that holds above some threshold: within 1e-9, from above."""
    return 1 / most(lambda inverse: holds(1 / inverse), 1 / guess)


def outside(confidence: float) -> float:
    """The chance that is left: with none of it an interval would have to be everything."""
    if not confidence < 1:
        raise InputError(f"confidence must be less than 1, not {confidence:g}")
    return 1 - confidence
