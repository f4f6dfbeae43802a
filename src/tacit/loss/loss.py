"""What a release costs one unit: a sound bound that knows how to combine itself."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tacit.base import LossError, Number, Relation, same_neighbours, whole
from tacit.loss.interval import Interval

if TYPE_CHECKING:  # these are written in terms of Loss, so its methods import them when called
    from tacit.loss.cost import Cost
    from tacit.loss.meaning import Meaning
    from tacit.loss.tradeoff import Tradeoff

__all__ = ["ACCURACY", "Loss"]

ACCURACY = 1e-5  # relative width of an answer unless another is asked for


@dataclass(frozen=True, kw_only=True)
class Loss(ABC):
    """A privacy guarantee for one `unit` under one `relation`.

    Addition is composition of mechanisms whose parameters were fixed before any of them ran. `n * loss` and `loss * n`
    are n-fold addition, written here once for every kind.
    """

    relation: Relation = Relation.ADD_REMOVE
    unit: str = "row"

    def __post_init__(self) -> None:
        object.__setattr__(self, "relation", Relation.from_json(self.relation))

    @abstractmethod
    def epsilon(self, delta: Number, *, accuracy: float = ACCURACY) -> Interval:
        """The ε at which the guarantee is (ε, δ)-DP; bounds are `accuracy` apart, relatively, where they are computed
        on a grid, and as close as can be where there is a closed form."""

    @abstractmethod
    def delta(self, epsilon: Number, *, accuracy: float = ACCURACY) -> Interval:
        """The δ at which the guarantee is (ε, δ)-DP."""

    @abstractmethod
    def grouped(self, size: int) -> "Loss":
        """The guarantee for a group of `size` units that all come, or all go, or under replace are all replaced."""

    @abstractmethod
    def _plus(self, other: "Loss") -> "Loss":
        """Composition with a loss for the same neighbours."""

    def __add__(self, other: object) -> "Loss":
        if not isinstance(other, Loss):
            return NotImplemented
        same_neighbours((self.relation, self.unit), (other.relation, other.unit))
        return self._plus(other)

    def __mul__(self, times: int) -> "Loss":
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

    __rmul__ = __mul__

    def sampled(self, rate: Number) -> "Loss":
        """The loss when each unit takes part with probability `rate` only."""
        raise LossError(
            f"{type(self).__name__} says too little about a mechanism to be sampled: start from its own loss"
        )

    def shuffled(self, reports: int) -> "Loss":
        """The loss of one respondent when so many reports of a local mechanism are shuffled together."""
        raise LossError(
            f"{type(self).__name__} says too little about a mechanism to be shuffled: start from its own loss"
        )

    def tradeoff(self) -> "Tradeoff":
        """The f-DP view: the least share of missed members at a given share of false alarms."""
        from tacit.loss.tradeoff import Tradeoff

        return Tradeoff(self)

    def cost(self, delta: Number | None = None) -> "Cost":
        """Additive units for a ledger, rounded up.

        Where a part has none (a sampled Gaussian, say), and always when `delta` is given, the finished program is
        priced as a whole at that δ (1e-6 unless another is given).
        """
        from tacit.loss.cost import cost_at, cost_of

        if delta is None:
            try:
                return cost_of(self)
            except LossError:
                delta = 1e-6
        return cost_at(self, delta)

    def meaning(self, prior: Number = 0.5, *, delta: Number = 1e-6, population: int | None = None) -> "Meaning":
        """What the guarantee means for one person: odds, beliefs, tests, and one plain sentence."""
        from tacit.loss.meaning import explain

        return explain(self, prior, delta, population)

    def json(self) -> dict[str, Any]:
        """Plain data, exact; `from_json` reads it."""
        from tacit.loss.encode import to_json

        return to_json(self)

    @property
    def neighbours(self) -> dict[str, Any]:
        """`relation` and `unit`, as arguments for another loss about the same neighbours."""
        return {"relation": self.relation, "unit": self.unit}
