"""What a release costs one unit: a sound bound that knows how to combine itself."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

from tacit.base import Number, Relation, same_neighbours, whole
from tacit.loss.interval import Interval

__all__ = ["Loss"]


@dataclass(frozen=True, kw_only=True)
class Loss(ABC):
    """A privacy guarantee for one `unit` under one `relation`.

    Addition is composition of mechanisms whose parameters were fixed before any of them ran. `n * loss` is n-fold
    addition, written here once for every kind.
    """

    relation: Relation = Relation.ADD_REMOVE
    unit: str = "row"

    def __post_init__(self) -> None:
        object.__setattr__(self, "relation", Relation(self.relation))

    @abstractmethod
    def epsilon(self, delta: Number) -> Interval:
        """The ε at which the guarantee is (ε, δ)-DP."""

    @abstractmethod
    def delta(self, epsilon: Number) -> Interval:
        """The δ at which the guarantee is (ε, δ)-DP."""

    @abstractmethod
    def grouped(self, size: int) -> "Loss":
        """The guarantee for a group of `size` units that change together."""

    @abstractmethod
    def _plus(self, other: "Loss") -> "Loss":
        """Composition with a loss for the same neighbours."""

    def __add__(self, other: object) -> "Loss":
        if not isinstance(other, Loss):
            return NotImplemented
        same_neighbours((self.relation, self.unit), (other.relation, other.unit))
        return self._plus(other)

    def __rmul__(self, times: int) -> "Loss":
        times = whole(times, "times", least=1)
        total: Loss | None = None
        power: Loss = self
        while True:  # repeated doubling: the same additions, fewer of them
            if times & 1:
                total = power if total is None else total + power
            times >>= 1
            if not times:
                assert total is not None  # times ≥ 1 has a bit set
                return total
            power = power + power

    @property
    def neighbours(self) -> dict[str, Any]:
        """`relation` and `unit`, as arguments for another loss about the same neighbours."""
        return {"relation": self.relation, "unit": self.unit}
