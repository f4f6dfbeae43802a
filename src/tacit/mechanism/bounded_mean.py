"""The mean of values clamped to public bounds: a noisy sum around the midpoint over a noisy (or public) count."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from itertools import product
from math import ceil, floor
from typing import Any, ClassVar, Self

import numpy as np

from tacit.base import InputError, Number, Ratio, Relation, Sensitivity, Size, between, exact, frozen, whole
from tacit.loss import ZCDP, Loss, Pure
from tacit.mechanism.additive import Additive, fine_granularity
from tacit.mechanism.gaussian import DiscreteGaussian, Gaussian
from tacit.mechanism.laplace import DiscreteLaplace, Laplace
from tacit.mechanism.mechanism import Example, Mechanism, Pmf
from tacit.noise import Rng, rng_or_default

__all__ = [
    "BoundedMean",
    "Mean",
    "Moment",
    "Moments",
    "Range",
    "error_of",
    "granularity_for",
    "law",
    "needed_n",
    "noise_for",
    "quotient",
    "total",
]

TINY = 1e-300
SAFE = 1 << 62
FINEST = 1 << 40  # steps between the bounds


@dataclass(frozen=True)
class Range:
    """The interval [low, high], in steps of a lattice, and the lattice point `centre` in its middle.

    Bounds off the lattice move inward to it. A value is clamped and then rounded to the lattice: both depend on that
    value alone, so they change no sensitivity.
    """

    low: int
    high: int
    step: Fraction

    @classmethod
    def of(cls, lower: Number, upper: Number, step: Fraction) -> "Range":
        least, most = exact(lower, "lower", toward="decimal"), exact(upper, "upper", toward="decimal")
        if least >= most:
            raise InputError(f"lower must be below upper, not {float(least):g} and {float(most):g}")
        found = cls(ceil(least / step), floor(most / step), step)
        if found.low >= found.high:
            raise InputError("granularity is coarser than the distance of the bounds: declare a finer one")
        if found.width > FINEST:
            raise InputError("granularity is finer than 2^-40 of the distance of the bounds: declare a coarser one")
        return found

    @property
    def centre(self) -> int:
        return (self.low + self.high) // 2

    @property
    def reach(self) -> int:
        """The furthest a value lies from the centre."""
        return self.high - self.centre

    @property
    def width(self) -> int:
        return self.high - self.low

    def centred(self, values: Any) -> np.ndarray[Any, np.dtype[np.int64]]:
        """Clamped values as whole steps from the centre."""
        array = np.asarray(values)
        if array.ndim != 1 or (array.size and array.dtype.kind not in "biufO"):
            raise InputError("value must be a one-dimensional array of numbers, one for each unit")
        ends = self.low - self.centre, self.high - self.centre
        if array.dtype.kind == "O":
            near = [floor(exact(v, "value") / self.step + Fraction(1, 2)) - self.centre for v in array]
            return np.array([min(max(d, ends[0]), ends[1]) for d in near], dtype=np.int64)
        numbers = array.astype(np.float64)
        if not np.isfinite(numbers).all():
            raise InputError("value must be finite: it holds NaN or infinity; drop or replace such rows first")
        steps = (numbers - float(self.centre * self.step)) * float(1 / self.step)
        return np.rint(np.clip(steps, *ends)).astype(np.int64)


def total(values: np.ndarray[Any, np.dtype[np.int64]], largest: int) -> int:
    """The exact sum of integers of size at most `largest`: blocks that cannot overflow, added as Python integers."""
    block = max(1, (SAFE - 1) // max(1, largest))
    return sum(int(values[start : start + block].sum()) for start in range(0, values.size, block))


def quotient(sum_at: float, sum_error: float, count_at: float, count_error: float) -> tuple[float, float]:
    """The range of S/N for S and N ≥ 1 within their errors of what was released."""
    fewest, most = max(1.0, count_at - count_error), max(1.0, count_at + count_error)
    low, high = sum_at - sum_error, sum_at + sum_error
    return min(low / fewest, low / most), max(high / fewest, high / most)


def noise_for(loss: Loss, share: Fraction, sensitivity: Fraction, granularity: Fraction) -> Additive:
    """Laplace noise for a share of a pure guarantee, Gaussian for a share of zCDP."""
    if isinstance(loss, Pure) and loss.bound:
        return Laplace.from_loss(Pure(loss.bound * share), sensitivity=sensitivity, granularity=granularity)
    if isinstance(loss, ZCDP) and loss.rho and not loss.slack:
        return Gaussian.from_loss(ZCDP(loss.rho * share), sensitivity=sensitivity, granularity=granularity)
    raise InputError("loss must be Pure(epsilon) for Laplace noise or ZCDP(rho) for Gaussian noise, above 0")


def law(noise: Additive, centre: int) -> dict[float, float]:
    """Probability of each noisy answer when the truth is `centre` steps."""
    half = noise.weights()
    return {float(noise.lattice.value(centre + sign * z)): p for z, p in enumerate(half) for sign in (1, -1)}


@lru_cache(maxsize=256)
def error_of(noise: Additive, confidence: Fraction, dimension: int) -> float:
    """`noise.error`, remembered: releases ask for it again and again."""
    return noise.error(confidence, dimension=dimension)


class Moment(ABC):
    """What is released: noisy parts, from which everything else is computed, free of charge."""

    __slots__ = ()

    @abstractmethod
    def interval(self, confidence: Number = 0.95) -> tuple[float, float]:
        """Where the statistic of the clamped values lies, with probability at least `confidence` over the noise.

        The box of the noises' exact errors, each at a root of the confidence: conservative, never short.
        """

    @property
    def lower(self) -> float:
        return self.interval()[0]

    @property
    def upper(self) -> float:
        return self.interval()[1]


class Moments(Mechanism):
    """Sums of values clamped to [`lower`, `upper`] with `sum_noise`, and their number with `count_noise`, or public."""

    theory: ClassVar[str] = "bounded-mean"

    lower: Fraction
    upper: Fraction
    sum_noise: Additive
    count_noise: Additive | None
    n: int | None

    def __post_init__(self) -> None:
        object.__setattr__(self, "lower", exact(self.lower, "lower", toward="decimal"))
        object.__setattr__(self, "upper", exact(self.upper, "upper", toward="decimal"))
        object.__setattr__(self, "n", _checked_count(self.count_noise, self.n))
        _ = self.range  # refuses bounds that make no sense

    @property
    def range(self) -> Range:
        """The bounds on the lattice of the sum."""
        return Range.of(self.lower, self.upper, self.sum_noise.lattice.granularity)

    def _neighbours(self, sensitivity: Size, relation: Relation | None) -> Relation:
        """The relation asked for, by default the one the parts are made for."""
        if sensitivity is not None:
            raise InputError("sensitivity follows from the bounds: leave it out")
        if relation is None:
            return Relation.ADD_REMOVE if self.n is None else Relation.REPLACE
        if Relation(relation) is Relation.ADD_REMOVE and self.n is not None:
            raise InputError("relation must be 'replace': n is public here, so no unit can be added or removed unseen")
        return Relation(relation)

    def _centred(self, value: Any) -> np.ndarray[Any, np.dtype[np.int64]]:
        steps = self.range.centred(value)
        if self.n is not None and steps.size != self.n:
            raise InputError(f"value holds {steps.size} units, but n is {self.n}: n is public and must be right")
        return steps

    def _noisy_count(self, count: int, rng: Rng) -> float:
        return float(count if self.count_noise is None else self.count_noise.sample(count, rng))

    def _count_law(self, count: int) -> dict[float, float]:
        if self.count_noise is None:
            return {float(count): 1.0}
        return law(self.count_noise, int(count / self.count_noise.lattice.granularity))


@dataclass(frozen=True, slots=True)
class Mean(Moment):
    """What is released: the noisy parts. Everything else is computed from them, free of charge."""

    noisy_sum: float
    noisy_count: float
    mechanism: "BoundedMean" = field(compare=False, repr=False)

    @property
    def value(self) -> float:
        """midpoint + sum/count, kept within the bounds and safe for a noisy count below 1."""
        m = self.mechanism
        return m._inside(m._middle + self.noisy_sum / max(1.0, self.noisy_count))

    def interval(self, confidence: Number = 0.95) -> tuple[float, float]:
        m, level = self.mechanism, between(confidence, "confidence", 0, 1)
        parts = 1 if m.count_noise is None else 2
        around = error_of(m.sum_noise, level, parts)
        slack = 0.0 if m.count_noise is None else error_of(m.count_noise, level, parts)
        low, high = quotient(self.noisy_sum, around, self.noisy_count, slack)
        return m._inside(m._middle + low), m._inside(m._middle + high)


@frozen
class BoundedMean(Moments):
    """Noisy sum of (x − midpoint), x clamped to [lower, upper], and a noisy count; or a public count `n`.

    Add/remove (pass `count_noise`): one unit moves the count by 1 and the sum by at most h = (upper − lower)/2, so the
    loss is that of both noises together; Laplace: h/sum scale + 1/count scale. Replace with a public number of units
    (pass `n`): the sum moves by at most upper − lower. `sum_noise` carries the lattice the values are rounded to; where
    the midpoint is not on it, h is half a step more.
    """

    lower: Ratio
    upper: Ratio
    sum_noise: Additive
    count_noise: Additive | None = None
    n: int | None = None

    def loss(self, sensitivity: Size = None, *, relation: Relation | None = None, unit: str = "row") -> Loss:
        """Under add/remove with a noisy count (the default there) or replace, where the count does not move."""
        span, neighbours = self.range, self._neighbours(sensitivity, relation)
        if neighbours is Relation.REPLACE:
            return self.sum_noise.loss(Sensitivity.scalar(span.width * span.step), relation=neighbours, unit=unit)
        assert self.count_noise is not None  # add/remove has one: _neighbours
        moved = self.sum_noise.loss(Sensitivity.scalar(span.reach * span.step), relation=neighbours, unit=unit)
        return moved + self.count_noise.loss(Sensitivity.scalar(1), relation=neighbours, unit=unit)

    @classmethod
    def from_loss(
        cls,
        loss: Loss,
        *,
        lower: Number,
        upper: Number,
        relation: Relation | None = None,
        n: int | None = None,
        count_share: Number = Fraction(1, 2),
        granularity: Number | None = None,
    ) -> Self:
        """Laplace noise for Pure(ε), Gaussian for ZCDP(ρ), under `relation` (by default the loss's own).

        Half of the budget for the count is best when the mean may lie at a bound; less is better near the midpoint.
        """
        step = granularity_for(lower, upper, granularity)
        span, neighbours = Range.of(lower, upper, step), Relation(relation or loss.relation)
        least, most = exact(lower, "lower", toward="decimal"), exact(upper, "upper", toward="decimal")
        if neighbours is Relation.REPLACE:
            around = noise_for(loss, Fraction(1), span.width * step, step)
            return cls(lower=least, upper=most, sum_noise=around, n=needed_n(n))
        share = between(count_share, "count_share", 0, 1)
        return cls(
            lower=least,
            upper=most,
            sum_noise=noise_for(loss, 1 - share, span.reach * step, step),
            count_noise=noise_for(loss, share, Fraction(1), Fraction(1)),
            n=n,
        )

    def sample(self, value: Any, rng: Rng | None = None) -> Mean:
        """A release on one value of each unit. Values beyond the bounds are clamped; NaN and infinity are refused."""
        source = rng_or_default(rng)
        moved, count = self._parts(value)
        noisy = float(self.sum_noise.lattice.value(moved + self.sum_noise.draw_one(source)))
        return Mean(noisy, self._noisy_count(count, source), self)

    def pmf(self, value: Any) -> Pmf:
        moved, count = self._parts(value)
        pairs = product(law(self.sum_noise, moved).items(), self._count_law(count).items())
        return {Mean(s, c, self): p * q for (s, p), (c, q) in pairs if p * q > TINY}

    def error(self, confidence: Number = 0.95, *, count: int | None = None) -> float:
        """Half-width e with Pr[|value − mean| ≤ e] ≥ confidence, for data of `count` units (or the public n).

        value − mean = (Z − mean·Z')/(count + Z') before clamping, for noises Z of the sum and Z' of the count.
        """
        level, span = between(confidence, "confidence", 0, 1), self.range
        if self.count_noise is None:
            return min(error_of(self.sum_noise, level, 1) / needed_n(self.n), float(span.width * span.step))
        if count is None:
            raise InputError("count is missing: with a secret number of units the error depends on it; pass a guess")
        units, slack = whole(count, "count", least=1), error_of(self.count_noise, level, 2)
        around = error_of(self.sum_noise, level, 2) + float(span.reach * span.step) * slack
        return min(around / max(1.0, units - slack), float(span.width * span.step))

    def _parts(self, value: Any) -> tuple[int, int]:
        steps = self._centred(value)
        return total(steps, self.range.reach), int(steps.size)

    def _inside(self, mean: float) -> float:
        return min(max(mean, float(self.lower)), float(self.upper))

    @property
    def _middle(self) -> float:
        return float(self.range.centre * self.range.step)

    @classmethod
    def examples(cls) -> Sequence[Example]:
        found = []
        least, most = Fraction(0), Fraction(2)
        cases: list[tuple[Additive, Additive]] = [
            (DiscreteLaplace(scale=Fraction(1, 3)), DiscreteLaplace(scale=Fraction(1, 4))),
            (Laplace(scale=Fraction(1, 4), granularity=Fraction(1, 2)), DiscreteLaplace(scale=Fraction(1, 5))),
            (DiscreteGaussian(sigma=Fraction(3)), DiscreteGaussian(sigma=Fraction(2))),
            (Gaussian(sigma=Fraction(3, 2), granularity=Fraction(1, 2)), DiscreteGaussian(sigma=Fraction(5, 2))),
        ]
        for sums, counts in cases:
            m = cls(lower=least, upper=most, sum_noise=sums, count_noise=counts)
            found += [Example(m, [0, 2], [0, 2, 2], m.loss())]
            found += [Example(m, [0, 2], [0, 2, 1], m.loss(), tight=False)]
            m = cls(lower=least, upper=most, sum_noise=sums, n=2)
            found += [Example(m, [1, -5], [1, 5], m.loss())]
        return found


def _checked_count(count_noise: Additive | None, n: int | None) -> int | None:
    """Either the count is noisy, on a lattice that holds the integers, or it is public."""
    if (count_noise is None) == (n is None):
        raise InputError("pass either count_noise (the number of units is secret) or n (it is public)")
    if count_noise is not None and (1 / count_noise.lattice.granularity).denominator != 1:
        raise InputError("count_noise must be on a lattice that holds the integers: use granularity 1")
    return None if n is None else whole(n, "n", least=1)


def needed_n(n: int | None) -> int:
    """The public number of units, which relation replace needs."""
    if n is None:
        raise InputError("n is missing: relation 'replace' means that the number of units is public; pass it")
    return whole(n, "n", least=1)


def granularity_for(lower: Number, upper: Number, granularity: Number | None) -> Fraction:
    """The declared granularity, or a power of two about a millionth of the distance of the bounds."""
    if granularity is not None:
        return exact(granularity, "granularity", toward="decimal")
    width = exact(upper, "upper", toward="decimal") - exact(lower, "lower", toward="decimal")
    if width <= 0:
        raise InputError("lower must be below upper")
    return fine_granularity(width)
