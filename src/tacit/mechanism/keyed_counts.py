"""Noisy counts over keys that nobody listed: what is tested against the threshold is also what is shown."""

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import product
from math import ceil, expm1, fsum, isqrt, prod, sqrt
from typing import Any, ClassVar, Literal, Self

import numpy as np

from tacit.base import InputError, LossError, Relation, Sensitivity, Size
from tacit.base.number import Number, Ratio, between, frozen, positive, round_up
from tacit.loss import ZCDP, Approx, Loss, Pure
from tacit.mechanism.additive import Additive
from tacit.mechanism.gaussian import DiscreteGaussian
from tacit.mechanism.key_selection import LEAST_DELTA, ROUNDING, exposure, least_threshold, totals
from tacit.mechanism.laplace import DiscreteLaplace
from tacit.mechanism.mechanism import Example, Family, Mechanism, Pmf, four_digits
from tacit.noise import Rng, rng_or_default

__all__ = ["KeyedCounts"]

LISTED = 2_000_000  # outputs a pmf may list
TINY = 1e-300
ROOT = Fraction(1_414_213_562_374, 10**12)  # just above √2
LARGEST = 2**40  # of `most`


@frozen
class KeyedCounts(Mechanism):
    """For each key with a count c > 0: c plus integer noise, shown when that is at least `threshold()`, else nothing.

    One unit adds a vector of whole numbers ≥ 0 to the counts, with a norm of at most `most`: l1 for Laplace noise, l2
    for Gaussian noise. Guarantee over all keys together: that of the noise where one unit moves counts by `most` (by
    √2·most in l2, 2·most in l1 where it is replaced), and `delta` beside it. The threshold is for every vector that
    fits, on many keys or on one (docs/theory/key-selection.md). Where other numbers of the keys that are shown get the
    same noise, `loss` takes how far one unit moves all of them together.
    """

    theory: ClassVar[str] = "key-selection"

    noise: Additive
    delta: Ratio
    most: Ratio

    def __post_init__(self) -> None:
        if type(self.noise) not in (DiscreteLaplace, DiscreteGaussian):
            raise InputError("noise on counts by key must be a DiscreteLaplace or a DiscreteGaussian")
        object.__setattr__(self, "delta", between(self.delta, "delta", 0, 1))
        object.__setattr__(self, "most", positive(self.most, "most"))
        if self.delta < LEAST_DELTA:
            raise InputError("delta must be at least 1e-200: smaller ones cannot be told from 0 when tails are summed")
        if not 1 <= self.most <= LARGEST:
            raise InputError("most must be from 1 to 2^40 steps of a count: with less no unit would count")

    @property
    def norm(self) -> Literal["l1", "l2"]:
        """In which one unit's counts are bounded."""
        return "l1" if isinstance(self.noise, DiscreteLaplace) else "l2"

    def reach(self, relation: Relation = Relation.ADD_REMOVE) -> Sensitivity:
        """How far one unit moves the counts. None is negative, so in l2 a replaced unit moves them by √2·most."""
        if Relation(relation) is Relation.ADD_REMOVE:
            return Sensitivity(l1=self.most) if self.norm == "l1" else Sensitivity(l2=self.most)
        return Sensitivity(l1=2 * self.most) if self.norm == "l1" else Sensitivity(l2=ROOT * self.most)

    def loss(self, sensitivity: Size = None, *, relation: Relation = Relation.ADD_REMOVE, unit: str = "row") -> Loss:
        """That of the noise, and δ for keys that one unit alone has."""
        own = self.reach(relation)
        moved = own if sensitivity is None else Sensitivity.of(sensitivity, self.norm)
        if moved.require(self.norm) < own.require(self.norm):
            raise InputError("sensitivity is less than what `most` lets one unit move the counts by: leave it out")
        hidden = Approx(0, self.delta, relation=relation, unit=unit)
        return self.noise.loss(moved, relation=relation, unit=unit) + hidden

    @classmethod
    def from_loss(cls, loss: Loss, *, most: Number) -> Self:
        """The least noise with the guarantee ZCDP(ρ, delta=δ), in l2, or Approx(ε, δ), in l1, for its relation."""
        size, replaced = positive(most, "most"), Relation(loss.relation) is not Relation.ADD_REMOVE
        noise: Additive
        if isinstance(loss, ZCDP) and loss.rho and loss.slack:
            moved = ROOT * size if replaced else size
            noise = DiscreteGaussian(sigma=round_up(sqrt(moved**2 / (2 * loss.rho)) * (1 + 1e-15)))
        elif isinstance(loss, Approx) and loss.bound and loss.slack:
            noise = DiscreteLaplace(scale=(2 * size if replaced else size) / loss.bound)
        else:
            raise InputError("keys need delta to be shown: pass loss=ZCDP(rho, delta=...) or Approx(epsilon, delta)")
        return cls(noise=noise, delta=loss.slack, most=size)

    @property
    def kind(self) -> str:
        return f"{self.noise.kind}, and nothing below a threshold"

    @property
    def family(self) -> Family:
        return self.noise.family

    @property
    def magnitude(self) -> Fraction:
        return self.noise.magnitude

    def size_words(self, times: Fraction | int = 1) -> str:
        return f"threshold {four_digits(self.threshold() * Fraction(times))}, {self.noise.size_words(times)}"

    def words(self, unit: str = "unit") -> str:
        return f"{self.kind}, on counts by group: {self.size_words()}"

    @property
    def standard_deviation(self) -> float:
        return self.noise.standard_deviation

    def half_width(self, confidence: float = 0.95) -> float:
        return self.noise.half_width(confidence)

    def scaled(self, factor: Number) -> Self:
        """The same noise, in size, for counts that are `factor` times as large; the threshold is that of their lattice,
        so its part of δ stays."""
        return replace(self, noise=self.noise.scaled(factor), most=self.most * positive(factor, "factor"))

    def threshold(self) -> int:
        """The least noisy count that is ever shown."""
        return least_threshold(self.norm, self.noise.magnitude, self.most, self.delta)

    def needed(self, confidence: float = 0.95) -> int:
        """The count from which a key is shown with this probability, of at least ½, by the continuous law."""
        return ceil(self.threshold() + self.noise.half_width(2 * confidence - 1))

    def sample(self, value: Any, rng: Rng | None = None) -> np.ma.MaskedArray[Any, Any]:
        """The noisy count of each key, masked where it is not shown. A count of 0 is a key that nobody has."""
        counts, source = totals(value), rng_or_default(rng)
        noisy = counts + self.noise.draw(counts.size, source)
        shown = (counts > 0) & (noisy >= self.threshold())
        return np.ma.MaskedArray(np.where(shown, noisy, 0), mask=~shown)  # what is hidden is not even underneath

    def pmf(self, value: Any) -> Pmf:
        """The law of the tuple of noisy counts, None where one is not shown, for a few keys."""
        laws = [self._each(count) for count in totals(value).tolist()]
        if prod(map(len, laws)) > LISTED:
            raise LossError("pmf would list millions of outputs: look at fewer keys, or at less noise")
        found: Pmf = {}
        for outputs in product(*(law.items() for law in laws)):
            p = prod(p for _, p in outputs)
            if p > TINY:
                found[tuple(output for output, _ in outputs)] = p
        return found

    def _each(self, count: int) -> dict[int | None, float]:
        if not count:
            return {None: 1.0}
        limit = self.threshold()
        law = {count + sign * z: p for z, p in enumerate(self.noise.weights()) for sign in (1, -1)}
        shown: dict[int | None, float] = {noisy: p for noisy, p in law.items() if noisy >= limit}
        hidden = fsum(p for noisy, p in law.items() if noisy < limit)
        return shown | ({None: hidden} if hidden else {})

    @classmethod
    def examples(cls) -> Sequence[Example]:
        found = []
        for noise, most in (
            (DiscreteLaplace(scale=Fraction(3)), 2),
            (DiscreteLaplace(scale=Fraction(1, 2)), 1),
            (DiscreteGaussian(sigma=Fraction(7, 3)), 2),
            (DiscreteGaussian(sigma=Fraction(20)), 3),
        ):
            m = cls(noise=noise, delta=Fraction("1e-6"), most=Fraction(most))
            far = 2 * m.threshold() + int(40 * noise.magnitude)  # where the whole law shows: the noise alone
            found += [Example(m, (far,), (far + most,), noise.loss(Sensitivity.scalar(most)))]
        spread: list[tuple[DiscreteLaplace | DiscreteGaussian, Fraction, int, int]] = [
            (DiscreteLaplace(scale=Fraction(12)), Fraction(60), 200, 1),  # one heavy key is worst
            (DiscreteLaplace(scale=Fraction(1, 2)), Fraction(2), 12, 1),
            (DiscreteGaussian(sigma=Fraction(3)), round_up(sqrt(2)), 13, 2),  # two thin ones are
            (DiscreteGaussian(sigma=Fraction(1)), round_up(sqrt(3)), 5, 3),
            (DiscreteGaussian(sigma=Fraction(1)), Fraction(3), 8, 1),
        ]
        for noise, norm, t, keys in spread:
            size = "l1" if isinstance(noise, DiscreteLaplace) else "l2"
            used = -expm1(-exposure(size, noise.magnitude, norm, t)) * (1 + 2 * ROUNDING)  # a δ that T = t uses up
            m = cls(noise=noise, delta=round_up(used), most=norm)
            own = int(norm) if keys == 1 else isqrt(int(norm**2) // keys)
            found += [Example(m, (0,) * keys, (own,) * keys, Approx(0, m.delta))]
        for m in (
            cls.from_loss(Approx(2, "1e-4"), most=1),
            cls.from_loss(ZCDP("1/2", delta="1e-4"), most=2),
        ):
            near = m.threshold() - 1  # a key that others have, and one of its own
            found += [Example(m, (near, 0), (near + int(m.most), 0), m.noise.loss(m.reach()), tight=False)]
            found += [Example(m, (near, 0), (near + 1, 1), m.loss(), tight=False)]
            swapped = m.loss(relation=Relation.REPLACE)
            found += [Example(m, (near + int(m.most), near), (near, near + int(m.most)), swapped, tight=False)]
        m = cls.from_loss(Approx(1, "1e-3"), most=1)
        return [*found, Example(m, (m.threshold(),), (m.threshold() + 1,), Pure(1))]
