"""One quantile, by the exponential mechanism over every lattice point between declared bounds."""

from collections.abc import Sequence
from fractions import Fraction
from math import log
from typing import Any, ClassVar, Self

import numpy as np

from tacit.base import InputError, Lattice, LossError, Relation, Sensitivity, Size
from tacit.base.number import Number, Ratio, between, default, exact, frozen, positive, show, whole
from tacit.loss import ZCDP, Loss, Pure
from tacit.loss.mu import range_mu_squared
from tacit.mechanism.mechanism import Example, Mechanism, Pmf
from tacit.mechanism.selection import one_row
from tacit.noise import Rng, rng_or_default
from tacit.noise.choice import choose

__all__ = ["BoundedRange", "Quantile", "draw_quantile", "fraction", "point_masses", "rank_sensitivity", "rows_owned"]

Array = np.ndarray[Any, np.dtype[Any]]

LISTED = 1_000_000  # lattice points a pmf may list


@frozen
class BoundedRange(Mechanism):
    """Data and answers on the lattice points from `lower` to `upper`: what one quantile and many share.

    The bounds are declared, not taken from the data; values beyond them count as the nearer bound.
    """

    lower: Ratio
    upper: Ratio
    scale: Ratio
    granularity: Ratio = default(Fraction(1))

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", positive(self.scale, "scale"))
        object.__setattr__(self, "granularity", positive(self.granularity, "granularity", toward="decimal"))
        for name in ("lower", "upper"):
            bound = exact(getattr(self, name), name, toward="decimal")
            if (bound / self.granularity).denominator != 1:
                raise InputError(
                    f"{name} must be a multiple of the granularity {show(self.granularity)}: {show(bound)}"
                )
            object.__setattr__(self, name, bound)
        if self.lower >= self.upper:
            raise InputError(f"lower must be less than upper, not {show(self.lower)} and {show(self.upper)}")

    @property
    def lattice(self) -> Lattice:
        return Lattice(self.granularity)

    @property
    def _ends(self) -> tuple[int, int]:
        """The bounds in steps of the lattice."""
        return int(self.lower / self.granularity), int(self.upper / self.granularity)

    def _clamped(self, values: Any) -> Array:
        """The values in steps, brought within the bounds."""
        steps, (low, high) = self.lattice.steps(one_row(values, "values")), self._ends
        assert isinstance(steps, np.ndarray)  # an array in, an array out
        if max(abs(low), abs(high)) >= 2**62:
            return np.asarray(np.clip(steps.astype(object), low, high))
        return np.asarray(np.clip(steps, low, high), dtype=np.int64)


@frozen
class Quantile(BoundedRange):
    """A lattice point y with probability proportional to exp(−m(y)/scale), m(y) being by how many ranks y misses.

    Of n values, let L(y) lie below y and R(y) at or below it. A q-quantile is a y with L(y) ≤ q·n ≤ R(y), and m(y) is
    the distance of q·n from [L(y), R(y)] (Smith 2011, with ties made right). Guarantee: ε = 2Δ/scale, pure, with
    Δ = max(q, 1 − q) under add/remove, where n is secret and moves too, and Δ = 1 under replace; ε²/8 in zCDP.
    No data is fine: every point is then equally likely.
    """

    theory: ClassVar[str] = "quantile"

    quantile: Ratio

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "quantile", fraction(self.quantile, "quantile"))

    def loss(self, sensitivity: Size = None, *, relation: Relation = Relation.ADD_REMOVE, unit: str = "row") -> Pure:
        """`sensitivity` is the number of rows one unit may own, one when left out."""
        shift = rows_owned(sensitivity) * rank_sensitivity(self.quantile, Relation(relation))
        return Pure(2 * shift / self.scale, relation=relation, unit=unit)

    def concentrated(
        self, sensitivity: Size = None, *, relation: Relation = Relation.ADD_REMOVE, unit: str = "row"
    ) -> ZCDP:
        """The same release in zCDP: ρ = ε²/8 by bounded range, with the ε of `loss`."""
        span = self.loss(sensitivity, relation=relation).bound
        return ZCDP(span**2 / 8, mu_squared=range_mu_squared(span), relation=relation, unit=unit)

    @classmethod
    def from_loss(cls, loss: Loss, *, quantile: Number, sensitivity: Size = None, **bounds: Any) -> Self:
        """The least noise with the pure guarantee `loss`, for the relation that it names."""
        if not isinstance(loss, Pure) or not loss.bound:
            raise InputError("a quantile reaches a pure guarantee: pass loss=Pure(epsilon) with epsilon > 0")
        shift = rows_owned(sensitivity) * rank_sensitivity(fraction(quantile, "quantile"), loss.relation)
        return cls(quantile=fraction(quantile, "quantile"), scale=2 * shift / loss.bound, **bounds)

    @classmethod
    def from_error(cls, error: Number, *, confidence: Number = 0.95, **options: Any) -> Self:
        """The most noise whose `error(confidence)` is at most `error` ranks."""
        unit = cls(scale=Fraction(1), **options).error(confidence) * (1 + 4e-15)
        return cls(scale=positive(error, "error", toward="down") / Fraction(unit), **options)

    def sample(self, value: Any, rng: Rng | None = None) -> int | float:
        """One lattice point, from all the values."""
        low, high = self._ends
        values = np.sort(self._clamped(value))
        return self.lattice.value(draw_quantile(values, low, high, self.quantile, self.scale, rng_or_default(rng)))

    def error(self, confidence: Number = 0.95) -> float:
        """Ranks e such that the answer misses q·n by at most e with probability ≥ `confidence`: scale·log(N/β).

        N is the number of lattice points; each that misses by more than e has at most e^(−e/scale) of the weight of one
        that does not miss at all, and such a one always exists.
        """
        low, high = self._ends
        failure = 1 - between(confidence, "confidence", 0, 1)
        return float(self.scale) * log((high - low + 1) / failure) * (1 + 2e-15)

    def pmf(self, value: Any) -> Pmf:
        low, high = self._ends
        if high - low >= LISTED:
            raise LossError(f"pmf would list {high - low + 1} points: declare a coarser granularity to look at it")
        masses = point_masses(self._clamped(value), low, high, self.quantile, self.scale)
        return {self.lattice.value(low + i): float(p) for i, p in enumerate(masses)}

    @classmethod
    def examples(cls) -> Sequence[Example]:
        """Nearly all points lie in one gap that is exact before and misses after; a far point moves the other way."""
        found = []
        for quantile, scale, step in (("1/2", "1", "1"), ("3/4", "1/2", "1"), ("1/3", "2", "1/4"), ("1/10", "1", "10")):
            q, top = Fraction(quantile), 2000
            g, s = Fraction(step), Fraction(scale)
            m = cls(quantile=q, lower=Fraction(0), upper=top * g, scale=s, granularity=g)
            below, above = q.numerator, q.denominator - q.numerator
            left = [0] * below + [top - 1] * above if 2 * q >= 1 else [1] * below + [top] * above
            extra, moved = (top, [*left[1:], top]) if 2 * q >= 1 else (0, [*left[:-1], 0])
            for right, relation in (([*left, extra], Relation.ADD_REMOVE), (moved, Relation.REPLACE)):
                before, after = ([m.lattice.value(point) for point in data] for data in (left, right))
                found.append(Example(m, before, after, m.loss(relation=relation)))
        m = cls(quantile=Fraction(1, 2), lower=Fraction(0), upper=Fraction(9), scale=Fraction(1))
        usual = Example(m, [1, 2, 3, 5, 8], [1, 2, 3, 5, 8, 9], m.loss(), tight=False)
        return [*found, Example(m, [], [4], m.loss(), tight=False), usual]


def rank_sensitivity(quantile: Fraction, relation: Relation) -> Fraction:
    """How far one row moves m(y): L − q·n and R − q·n each move by at most this, so their distance from 0 does."""
    return max(quantile, 1 - quantile) if relation is Relation.ADD_REMOVE else Fraction(1)


def draw_quantile(values: Array, low: int, high: int, quantile: Fraction, scale: Fraction, rng: Rng) -> int:
    """One point of [low, high] for the sorted `values` in it: first a run of points that miss alike, then one of it."""
    first = np.flatnonzero(np.diff(values, prepend=low - 1))  # where a new value begins
    points, below = values[first], first
    upto = np.append(first[1:], len(values)) if len(values) else first
    starts = np.concatenate(([low], points + 1, points)).astype(values.dtype)  # runs between values, then the values
    ends = np.concatenate((points, [high + 1], points + 1)).astype(values.dtype)
    ranks_below = np.concatenate(([0], upto, below))
    ranks_upto = np.concatenate(([0], upto, upto))
    there = np.flatnonzero(ends > starts)
    starts, counts = starts[there], (ends - starts)[there]
    part, parts = quantile.numerator, quantile.denominator
    kind = np.int64 if parts * (len(values) + 1) < 2**62 else object
    over = ranks_below[there].astype(kind) * parts - part * len(values)
    under = part * len(values) - ranks_upto[there].astype(kind) * parts
    misses = np.maximum(np.maximum(over, under), 0)
    i = choose(misses, 1 / (parts * scale), rng, counts)
    return int(starts[i]) + rng.below(int(counts[i]))


def point_masses(values: Array, low: int, high: int, quantile: Fraction, scale: Fraction) -> Array:
    """The law of `draw_quantile`, point by point."""
    points, ordered, target = np.arange(low, high + 1), np.sort(values), float(quantile * len(values))
    over = np.searchsorted(ordered, points, side="left") - target
    under = target - np.searchsorted(ordered, points, side="right")
    weights = np.exp(-np.maximum(np.maximum(over, under), 0) / float(scale))
    return np.asarray(weights / weights.sum())


def fraction(value: object, name: str) -> Fraction:
    """A quantile: a rational from 0 to 1, a float read as the decimal it prints as."""
    number = exact(value, name, toward="decimal")
    if not 0 <= number <= 1:
        raise InputError(f"{name} must lie between 0 and 1, not {show(number)}")
    return number


def rows_owned(sensitivity: Size) -> int:
    """How many rows one unit may own."""
    return 1 if sensitivity is None else whole(Sensitivity.of(sensitivity, "l1").require("l1"), "sensitivity", least=1)
