"""Noise scaled to a smooth bound on the sensitivity of any whole number, for whoever can bound it near their data.

The level and the proof are those of `tacit.mechanism.smooth_median`, which needs two facts of its statistic alone: how
far it can move within k changes, and that neighbours see each other's moves one change further.
"""

from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Any, ClassVar, Self

from tacit.base import InputError, Relation, Size, cached_property
from tacit.base.number import Number, Ratio, between, default, frozen, positive, whole
from tacit.loss import Approx, Loss
from tacit.mechanism.laplace import DiscreteLaplace
from tacit.mechanism.mechanism import Example, Mechanism, Pmf
from tacit.mechanism.smooth_median import ScaleGrid, largest_growth
from tacit.noise import Rng

__all__ = ["SmoothNoise"]

WIDEST = 2**53


@frozen
class SmoothNoise(Mechanism):
    """A whole number plus discrete Laplace noise whose scale fits a smooth bound on its sensitivity.

    The value is (answer, moves): `moves[k]` bounds how far one unit moves the answer on any data within k changes of
    these, the last entry stands for all later ones, and none is above `top`. Whoever passes them promises that
    moves[k] on some data is at most moves[k + 1] on its neighbours. Guarantee: (ε, δ)-DP for the relation in which the
    changes are counted.
    """

    theory: ClassVar[str] = "smooth-sensitivity"

    epsilon: Ratio
    delta: Ratio
    top: int
    share: Ratio = default(Fraction(1, 2))

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", positive(self.epsilon, "epsilon", toward="decimal"))
        object.__setattr__(self, "delta", between(self.delta, "delta", 0, 1))
        object.__setattr__(self, "top", whole(self.top, "top", least=1))
        object.__setattr__(self, "share", between(self.share, "share", 0, 1))
        if self.top > WIDEST:
            raise InputError("top is above 2^53 steps: count in coarser ones")

    @cached_property
    def grid(self) -> ScaleGrid:
        alpha = self.share * self.epsilon
        return ScaleGrid(alpha, largest_growth(self.epsilon, self.delta, alpha), self.top)

    def loss(self, sensitivity: Size = None, *, relation: Relation = Relation.ADD_REMOVE, unit: str = "row") -> Approx:
        """(ε, δ). The sensitivity is found in the data."""
        if sensitivity is not None:
            raise InputError("smooth noise finds its sensitivity in the data: leave sensitivity out")
        return Approx(self.epsilon, self.delta, relation=Relation(relation), unit=unit)

    @classmethod
    def from_loss(cls, loss: Loss, *, top: int, **rest: Any) -> Self:
        """The mechanism with the guarantee `loss`, an Approx(ε, δ)."""
        if not isinstance(loss, Approx) or not loss.slack or not loss.bound:
            raise InputError("smooth noise reaches loss=Approx(epsilon, delta) with epsilon > 0 and delta > 0")
        return cls(epsilon=loss.bound, delta=loss.slack, top=top, **rest)

    def sample(self, value: Any, rng: Rng | None = None) -> int:
        """The noisy answer."""
        answer, noise = self._fitted(value)
        found: int = noise.sample(answer, rng)
        return found

    def pmf(self, value: Any) -> Pmf:
        answer, noise = self._fitted(value)
        return noise.pmf(answer)

    def error(self, confidence: Number = 0.95, *, value: Any) -> float:
        """Half-width of the noise on these data, on which it depends: never publish it."""
        return self._fitted(value)[1].error(confidence)

    def level(self, moves: Sequence[int]) -> int:
        """max over k of level(moves[k]) − k."""
        listed = [whole(move, "a move") for move in moves]
        if not listed or any(a > b for a, b in pairwise(listed)) or listed[-1] > self.top:
            raise InputError(f"moves must be whole numbers that never fall, at most top = {self.top}, at least one")
        return max(self.grid.level(move) - k for k, move in enumerate(listed))

    def _fitted(self, value: Any) -> tuple[int, DiscreteLaplace]:
        try:
            answer, moves = value
        except (TypeError, ValueError):
            raise InputError("value must be (answer, moves): a whole number, and how far it may move") from None
        scale = self.grid.scales[max(0, self.level(moves))]
        return whole(answer, "answer"), DiscreteLaplace(scale=scale)

    @classmethod
    def examples(cls) -> Sequence[Example]:
        """An answer that moves by one, on data whose levels differ by one: both parts of ε are spent at once."""
        found = []
        for epsilon, delta, share, tight in (
            ("1/4", "1e-6", "1/2", True),
            ("1/2", "1e-9", "1/3", True),
            ("1", "1e-2", "1/2", False),
            ("3", "1e-4", "3/4", False),
        ):
            m = cls(epsilon=Fraction(epsilon), delta=Fraction(delta), top=2, share=Fraction(share))
            still = m.grid.level(2) - m.grid.level(1) - 1
            left, right = ((at, (1,) * (still + at) + (2,)) for at in (0, 1))
            found.append(Example(m, left, right, m.loss(), tight=tight))
        return found
