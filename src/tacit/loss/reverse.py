"""The other order of the neighbours: a unit that comes for one that goes."""

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from tacit.loss.pair import Pair
from tacit.loss.part import Part

__all__ = ["Reversed"]


@dataclass(frozen=True)
class Reversed(Part):
    """Another part with its two neighbours exchanged."""

    kind: ClassVar[str] = "reversed"
    lopsided: ClassVar[bool] = True

    base: Part

    def pair(self) -> Pair:
        return self.base.pair().swapped

    def reversed(self) -> Part:
        return self.base

    @property
    def attained(self) -> bool:
        return self.base.attained

    @property
    def replace_only(self) -> bool:
        return self.base.replace_only

    @property
    def bound(self) -> Fraction | None:
        return self.base.bound

    @property
    def reached(self) -> Fraction | None:
        return self.base.reached

    @property
    def slack(self) -> Fraction:
        return self.base.slack

    @property
    def rho(self) -> Fraction | None:
        return self.base.rho

    def renyi(self, order: float) -> float:
        return self.base.renyi(order)

    def grouped(self, size: int) -> Part:
        return self.base.grouped(size).reversed()

    def replaced(self) -> Part:
        return self.base.replaced().reversed()
