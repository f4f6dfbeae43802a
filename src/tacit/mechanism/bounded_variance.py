"""The variance of values clamped to public bounds: noisy count, sum and sum of squares, in exact fixed point."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import product
from math import floor, sqrt
from typing import Any, Self

from tacit.base import InputError, Number, Ratio, Relation, Sensitivity, Size, between, exact, frozen, round_up
from tacit.loss import ZCDP, Loss, Pure
from tacit.mechanism.additive import Additive
from tacit.mechanism.bounded_mean import (
    TINY,
    Moment,
    Moments,
    Range,
    error_of,
    granularity_for,
    law,
    needed_n,
    noise_for,
    quotient,
    total,
)
from tacit.mechanism.gaussian import DiscreteGaussian
from tacit.mechanism.laplace import DiscreteLaplace, Laplace
from tacit.mechanism.mechanism import Example, Pmf
from tacit.noise import Rng, rng_or_default

__all__ = ["BoundedVariance", "Variance"]


@dataclass(frozen=True, slots=True)
class Variance(Moment):
    """What is released: the noisy parts. Everything else is computed from them, free of charge."""

    noisy_squares: float
    noisy_sum: float
    noisy_count: float
    mechanism: "BoundedVariance" = field(compare=False, repr=False)

    @property
    def value(self) -> float:
        """Mean square less squared mean, around the midpoint, kept within [0, ((upper − lower)/2)²]."""
        m, count = self.mechanism, max(1.0, self.noisy_count)
        return m._inside(self.noisy_squares / count + m._half - (self.noisy_sum / count) ** 2)

    def interval(self, confidence: Number = 0.95) -> tuple[float, float]:
        m, level = self.mechanism, between(confidence, "confidence", 0, 1)
        parts = 2 if m.count_noise is None else 3
        slack = 0.0 if m.count_noise is None else error_of(m.count_noise, level, parts)
        count = self.noisy_count, slack
        squares = quotient(self.noisy_squares, error_of(m.square_noise, level, parts), *count)
        mean = quotient(self.noisy_sum, error_of(m.sum_noise, level, parts), *count)
        least = 0.0 if mean[0] <= 0 <= mean[1] else min(abs(mean[0]), abs(mean[1]))
        most = max(abs(mean[0]), abs(mean[1]))
        return m._inside(squares[0] + m._half - most**2), m._inside(squares[1] + m._half - least**2)


@frozen
class BoundedVariance(Moments):
    """Noisy count and sums of y and y² − h²/2; y = x − midpoint, x clamped to [lower, upper], h = (upper − lower)/2.

    Add/remove (pass `count_noise`): one unit moves the parts by (1, y, y² − h²/2), furthest in all of them at once when
    |y| = h: by 1, h and h²/2, and the loss is that of the three noises together. Replace with a public number of units
    (pass `n`): by (y − y', y² − y'²), whose worst pair is found exactly. The noises are all Laplace or all Gaussian.
    The squares lie on a lattice that holds the square of the sum's granularity.
    """

    lower: Ratio
    upper: Ratio
    sum_noise: Additive
    square_noise: Additive
    count_noise: Additive | None = None
    n: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        noises = [noise for noise in (self.sum_noise, self.square_noise, self.count_noise) if noise is not None]
        if len({noise.family for noise in noises}) > 1:
            raise InputError("the noises of a variance must be all Laplace or all Gaussian")
        if (self.range.step**2 / self.square_noise.lattice.granularity).denominator != 1:
            raise InputError("square_noise must be on a lattice that holds the square of sum_noise's granularity")

    def loss(self, sensitivity: Size = None, *, relation: Relation | None = None, unit: str = "row") -> Loss:
        """Under add/remove with a noisy count (the default there) or replace, where the count does not move."""
        span, neighbours = self.range, self._neighbours(sensitivity, relation)
        if neighbours is Relation.REPLACE:
            kind = Pure if self.sum_noise.family == "laplace" else ZCDP
            return kind(self._worst_replacement(), relation=neighbours, unit=unit)
        assert self.count_noise is not None  # add/remove has one: _neighbours
        moved = self.sum_noise.loss(Sensitivity.scalar(span.reach * span.step), relation=neighbours, unit=unit)
        squared = (span.reach**2 - self._offset) * span.step**2
        moved += self.square_noise.loss(Sensitivity.scalar(squared), relation=neighbours, unit=unit)
        return moved + self.count_noise.loss(Sensitivity.scalar(1), relation=neighbours, unit=unit)

    def _worst_replacement(self) -> Fraction:
        """The greatest ε (Laplace) or ρ (Gaussian) of replacing one value."""
        return max(self._cost(y - other, y**2 - other**2) for y, other in self._worst_pairs())

    def _cost(self, by: int, squared: int) -> Fraction:
        step, pair = self.range.step, (self.sum_noise, self.square_noise)
        moves = abs(by) * step, abs(squared) * step**2
        shifts = [move / noise.magnitude for noise, move in zip(pair, moves, strict=True)]
        return sum((s if self.sum_noise.family == "laplace" else s**2 / 2 for s in shifts), Fraction(0))

    def _worst_pairs(self) -> Iterator[tuple[int, int]]:
        """Pairs (y, y') among which the costliest replacement is, in steps.

        With |y'| ≤ |y| both moves grow with |y|, so y is an end; take it positive. In y' the Laplace cost
        a(y − y') + b(y² − y'²) is concave with its top at −a/2b. The Gaussian a(y − y')² + b(y² − y'²)² is stationary
        where 2y'² + 2y·y' + a/b = 0, at whose greater root it has a maximum; else the far end is the worst.
        """
        step, ends = self.range.step, (self.range.low - self.range.centre, self.range.high - self.range.centre)
        for y in {abs(end) for end in ends}:
            tops = [-y, 0]
            ratio = self.square_noise.magnitude / (self.sum_noise.magnitude * step)
            if self.sum_noise.family == "laplace":
                tops += [floor(-ratio / 2)]
            else:
                inner = y**2 - 2 * ratio**2
                tops += [floor((sqrt(inner) - y) / 2)] if inner > 0 else []
            sign = 1 if y == ends[1] else -1
            for near in {top + extra for top in tops for extra in (-1, 0, 1, 2)}:
                if ends[0] <= sign * near <= ends[1] and abs(near) <= y:
                    yield sign * y, sign * near

    @classmethod
    def from_loss(
        cls,
        loss: Loss,
        *,
        lower: Number,
        upper: Number,
        relation: Relation | None = None,
        n: int | None = None,
        granularity: Number | None = None,
    ) -> Self:
        """Laplace noise for Pure(ε), Gaussian for ZCDP(ρ), in equal shares, under `relation` (or the loss's own)."""
        step = granularity_for(lower, upper, granularity)
        span, neighbours = Range.of(lower, upper, step), Relation(relation or loss.relation)
        least, most = exact(lower, "lower", toward="decimal"), exact(upper, "upper", toward="decimal")
        public = neighbours is Relation.REPLACE
        share = Fraction(1, 2) if public else Fraction(1, 3)
        moved = span.width if public else span.reach
        squared = span.reach**2 - (0 if public else span.reach**2 // 2)
        found = cls(
            lower=least,
            upper=most,
            sum_noise=noise_for(loss, share, moved * step, step),
            square_noise=noise_for(loss, share, squared * step**2, step**2),
            count_noise=None if public else noise_for(loss, share, Fraction(1), Fraction(1)),
            n=needed_n(n) if public else n,
        )
        if not public:
            return found
        # no pair moves both parts furthest at once, so the loss is below what was asked: less noise will do
        asked = loss.rho if isinstance(loss, ZCDP) else loss.bound if isinstance(loss, Pure) else Fraction(0)
        factor = found._worst_replacement() / asked
        sums, squares = _shrunk(found.sum_noise, factor), _shrunk(found.square_noise, factor)
        return replace(found, sum_noise=sums, square_noise=squares)

    def sample(self, value: Any, rng: Rng | None = None) -> Variance:
        """A release on one value of each unit. Values beyond the bounds are clamped; NaN and infinity are refused."""
        source = rng_or_default(rng)
        squares, moved, count = self._parts(value)
        noisy = [
            float(noise.lattice.value(steps + noise.draw_one(source)))
            for noise, steps in ((self.square_noise, squares), (self.sum_noise, moved))
        ]
        return Variance(noisy[0], noisy[1], self._noisy_count(count, source), self)

    def pmf(self, value: Any) -> Pmf:
        squares, moved, count = self._parts(value)
        laws, counts = (law(self.square_noise, squares), law(self.sum_noise, moved)), self._count_law(count)
        result: Pmf = {}
        for (q, a), (s, b) in product(laws[0].items(), laws[1].items()):
            if a * b > TINY:
                result |= {Variance(q, s, c, self): a * b * p for c, p in counts.items() if a * b * p > TINY}
        return result

    def _parts(self, value: Any) -> tuple[int, int, int]:
        """Σ(y² − h²/2) in steps of the squares' lattice, Σy in steps of the sum's, and the count."""
        span, steps = self.range, self._centred(value)
        if span.reach**2 >= 2**62:
            squares = sum(y * y for y in steps.tolist())
        else:
            squares = total(steps * steps, span.reach**2)
        finer = int(span.step**2 / self.square_noise.lattice.granularity)
        return (squares - steps.size * self._offset) * finer, total(steps, span.reach), int(steps.size)

    @property
    def _offset(self) -> int:
        """h²/2 in squared steps of the sum's lattice, rounded down."""
        return self.range.reach**2 // 2

    @property
    def _half(self) -> float:
        return float(self._offset * self.range.step**2)

    def _inside(self, variance: float) -> float:
        return min(max(variance, 0.0), float((self.upper - self.lower) / 2) ** 2)

    @classmethod
    def examples(cls) -> Sequence[Example]:
        least, most = Fraction(0), Fraction(2)
        fine = DiscreteLaplace(scale=Fraction(1, 14))
        m = cls(lower=least, upper=most, sum_noise=fine, square_noise=fine, count_noise=fine)
        found = [Example(m, [1], [1, 2], m.loss()), Example(m, [1], [1, 1], m.loss(), tight=False)]
        sums = Laplace(scale=Fraction(1, 10), granularity=Fraction(1, 2))
        squares = Laplace(scale=Fraction(1, 8), granularity=Fraction(1, 4))
        m = cls(lower=least, upper=most, sum_noise=sums, square_noise=squares, n=1)
        found += [Example(m, [9], [0.5], m.loss()), Example(m, [2], [0], m.loss(), tight=False)]
        half, one = DiscreteGaussian(sigma=Fraction(1, 2)), DiscreteGaussian(sigma=Fraction(1))
        m = cls(
            lower=least, upper=most, sum_noise=replace(half, sigma=Fraction(3, 4)), square_noise=half, count_noise=half
        )
        found += [Example(m, [1], [1, 0], m.loss())]
        m = cls(lower=least, upper=2 * most, sum_noise=replace(half, sigma=Fraction(5)), square_noise=one, n=1)
        # which replacement is worst for Gaussians depends on δ, so the claim is the greatest ρ and not one pair's curve
        return [*found, *(Example(m, [4], [y], m.loss(), tight=False) for y in (0, 1, 2))]


def _shrunk(noise: Additive, factor: Fraction) -> Additive:
    """The noise whose loss is 1/factor times as large."""
    if noise.family == "laplace":
        return noise.scaled(factor)
    return noise.scaled(round_up(float(noise.magnitude) * sqrt(factor) * (1 + 1e-14)) / noise.magnitude)
