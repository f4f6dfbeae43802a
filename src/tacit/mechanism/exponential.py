"""The exponential mechanism."""

from collections.abc import Sequence
from fractions import Fraction
from math import sqrt
from typing import Any, ClassVar, Self

import numpy as np

from tacit.base import Number, Relation, Sensitivity, frozen, positive, round_up
from tacit.loss import ZCDP, Loss
from tacit.mechanism.mechanism import Example, Pmf, four_digits
from tacit.mechanism.selection import Selection, listed
from tacit.noise import Rng, rng_or_default
from tacit.noise.choice import choose

__all__ = ["Exponential"]


@frozen
class Exponential(Selection):
    """Candidate i with probability proportional to exp(score_i/scale) (McSherry and Talwar 2007).

    Guarantee: ε = 2Δ/scale, pure (Δ/scale if monotone), and ε²/8 in zCDP, because the losses of any two outputs lie
    within the same ε of each other (bounded range: Dong, Durfee and Rogers 2020; Cesar and Rogers 2021).
    """

    theory: ClassVar[str] = "exponential"
    listable: ClassVar[int] = 1_000_000

    @property
    def kind(self) -> str:
        return "the exponential mechanism"

    def words(self, unit: str = "unit") -> str:
        return f"{self.kind}, with a scale of {four_digits(self.scale)} {unit}s"

    def concentrated(
        self,
        sensitivity: Sensitivity | Number | None = None,
        *,
        relation: Relation = Relation.ADD_REMOVE,
        unit: str = "row",
    ) -> ZCDP:
        """The same release in zCDP: ρ = ε²/8 with the ε of `loss`, a quarter of what pure ε alone would give."""
        return ZCDP(self._range(sensitivity) ** 2 / 8, relation=relation, unit=unit)

    @classmethod
    def from_loss(
        cls, loss: Loss, *, sensitivity: Sensitivity | Number | None = None, monotone: bool = False, **options: Any
    ) -> Self:
        """The least noise for Pure(ε), or for ZCDP(ρ) through ε = √8ρ."""
        if isinstance(loss, ZCDP) and loss.rho and not loss.slack:
            size = positive(Sensitivity.of(sensitivity, "linf").require("linf"), "sensitivity")
            scale = round_up((1 if monotone else 2) * size * Fraction(1 / sqrt(8 * loss.rho) * (1 + 1e-15)))
            return cls(scale=scale, monotone=monotone, **options)
        return super().from_loss(loss, sensitivity=sensitivity, monotone=monotone, **options)

    def sample(self, value: Any, rng: Rng | None = None) -> int:
        """The index of one candidate, from the scores of all."""
        return choose(self._gaps(value), self._unit, rng_or_default(rng))

    def pmf(self, value: Any) -> Pmf:
        weights = np.exp(-self._listed_gaps(value))
        return listed(weights / weights.sum())

    @classmethod
    def examples(cls) -> Sequence[Example]:
        """Also many candidates alike, and the zCDP of one of them."""
        m = cls(scale=Fraction(2))
        crowd = [0] * 999
        return [
            *super().examples(),
            Example(m, [1, *crowd], [0, *(s + 1 for s in crowd)], m.loss(sensitivity=1)),
            Example(m, [1, 0], [-1, 2], m.concentrated(sensitivity=2), tight=False),
        ]
