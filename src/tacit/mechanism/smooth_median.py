"""The median with noise scaled to its smooth sensitivity: little on data that pin it down, much on data that do not."""

from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Self

from tacit.base import (
    InputError,
    Lattice,
    Number,
    Ratio,
    Relation,
    RelationError,
    Sensitivity,
    between,
    default,
    exact,
    frozen,
    positive,
    warn_of_delta,
)
from tacit.loss import Approx, Loss
from tacit.mechanism.laplace import Laplace
from tacit.mechanism.mechanism import Example, Mechanism, Pmf
from tacit.mechanism.smooth import Bounds, Ints, ScaleGrid, largest_growth, smooth_level
from tacit.noise import Rng

__all__ = ["SmoothMedian"]


@frozen
class SmoothMedian(Mechanism):
    """Median (the lower one of an even number) plus discrete Laplace noise whose scale fits the data.

    Guarantee: (ε, δ)-DP under replacement of one record, the number n of records being public. Of ε, the part
    α = share·ε covers the move of the median and the rest the change of scale between neighbours (`smooth`). Records
    lie on the lattice within [lower, upper]; answers may fall outside, and clamping them is free.
    """

    theory: ClassVar[str] = "smooth-sensitivity"

    epsilon: Ratio
    delta: Ratio
    lower: Ratio
    upper: Ratio
    granularity: Ratio = default(Fraction(1))
    share: Ratio = default(Fraction(1, 2))

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", positive(self.epsilon, "epsilon", toward="decimal"))
        object.__setattr__(self, "delta", between(self.delta, "delta", 0, 1))
        object.__setattr__(self, "lower", exact(self.lower, "lower", toward="decimal"))
        object.__setattr__(self, "upper", exact(self.upper, "upper", toward="decimal"))
        object.__setattr__(self, "granularity", positive(self.granularity, "granularity", toward="decimal"))
        object.__setattr__(self, "share", between(self.share, "share", 0, 1))
        assert self.bounds.top  # refuses bad bounds now rather than at the first answer

    @cached_property
    def bounds(self) -> Bounds:
        return Bounds(self.lower, self.upper, Lattice(self.granularity))

    @cached_property
    def grid(self) -> ScaleGrid:
        alpha = self.share * self.epsilon
        return ScaleGrid(alpha, largest_growth(self.epsilon, self.delta, alpha), self.bounds.top)

    def loss(
        self,
        sensitivity: Sensitivity | Number | None = None,
        *,
        relation: Relation = Relation.REPLACE,
        unit: str = "row",
    ) -> Approx:
        """(ε, δ) under replacement, where a `unit` owns one record. The sensitivity is found in the data."""
        if sensitivity is not None:
            raise InputError("the median finds its sensitivity in the data: leave sensitivity out")
        if Relation(relation) is not Relation.REPLACE:
            raise RelationError(
                "the smooth median is private under replacement with a public number of records, not under add/remove, "
                "where the middle rank itself moves: use an exponential-mechanism quantile there"
            )
        return Approx(self.epsilon, self.delta, relation=Relation.REPLACE, unit=unit)

    @classmethod
    def from_loss(cls, loss: Loss, *, lower: Number, upper: Number, **rest: Any) -> Self:
        """The mechanism with the guarantee `loss`, an Approx(ε, δ) under replacement."""
        if not isinstance(loss, Approx) or not loss.slack or not loss.bound:
            raise InputError("the smooth median reaches loss=Approx(epsilon, delta) with epsilon > 0 and delta > 0")
        if loss.relation is not Relation.REPLACE:
            raise RelationError("the smooth median needs loss=Approx(..., relation='replace'): n is public")
        low, high = exact(lower, "lower", toward="decimal"), exact(upper, "upper", toward="decimal")
        return cls(epsilon=loss.bound, delta=loss.slack, lower=low, upper=high, **rest)

    def sample(self, value: Any, rng: Rng | None = None) -> int | float:
        """A noisy median of the records `value`."""
        centre, noise = self._fitted(value)
        warn_of_delta(self.delta, len(value))  # under replace the number of records is public
        answer: int | float = noise.sample(centre, rng)
        return answer

    def pmf(self, value: Any) -> Pmf:
        centre, noise = self._fitted(value)
        return noise.pmf(centre)

    def error(self, confidence: Number = 0.95, *, values: Any) -> float:
        """Half-width of the noise on these records, on which it depends: plan with public data, never publish."""
        return self._fitted(values)[1].error(confidence)

    def _fitted(self, values: Any) -> tuple[int | float, Laplace]:
        """The true median and the noise that these records need."""
        ordered: Ints = self.bounds.ordered(values)
        rank = (len(ordered) + 1) // 2
        scale = self.grid.scales[smooth_level(ordered, rank, self.grid)]
        noise = Laplace(scale=scale * self.granularity, granularity=self.granularity)
        return self.bounds.value(int(ordered[rank - 1])), noise

    @classmethod
    def examples(cls) -> Sequence[Example]:
        """Half of the records at 0 and half at 1, in a range of two steps: their number decides the level.

        With just so many, the neighbour with one more 1 sits one level lower and its median one step higher: both parts
        of ε are spent at once. The claim is attained up to the lattice, so most closely for small ε and δ.
        """
        found = []
        for epsilon, delta, share, step, tight in (
            ("1/4", "1e-6", "1/2", "1", True),
            ("1/10", "1e-7", "1/2", "1/2", True),
            ("1/2", "1e-9", "1/3", "1", True),
            ("1", "1e-2", "1/2", "1", False),
            ("3", "1e-4", "3/4", "1", False),
        ):
            g = Fraction(step)
            m = cls(
                epsilon=Fraction(epsilon),
                delta=Fraction(delta),
                lower=Fraction(0),
                upper=2 * g,
                granularity=g,
                share=Fraction(share),
            )
            half = max(2, m.grid.level(2) - m.grid.level(1) - 1)
            left, right = ((0.0,) * (half - i) + (float(g),) * (half + i) for i in (0, 1))
            found.append(Example(m, left, right, m.loss(), tight=tight))
        return found
