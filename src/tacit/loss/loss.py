"""What a release costs one unit: a sound bound that knows how to combine itself, and answers between two bounds."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import inf, nextafter
from typing import TYPE_CHECKING, Any

from tacit.base import LossError, Number, Relation, same_neighbours, whole

if TYPE_CHECKING:  # these are written in terms of Loss, so its methods import them when called
    from tacit.loss.cost import Cost
    from tacit.loss.meaning import Meaning
    from tacit.loss.tradeoff import Tradeoff

__all__ = ["ACCURACY", "Interval", "Loss"]

ACCURACY = 1e-5  # relative width of an answer unless another is asked for
ULPS = 16  # what a closed form of a dozen elementary functions may be off by, taken generously


@dataclass(frozen=True)
class Interval:
    """The true value lies in [lower, upper]. `float()` is the upper end: the guarantee; `round` and `format` are its.

    A comparison is true only if it holds wherever in there the value is, so it never claims more privacy than is
    proven: `e < 2` says that upper < 2, `e > 2` that lower > 2, and both may be false. Where the bounds are an
    approximation (`rigorous` is False) nothing is proven, and comparing is an error.
    """

    lower: float
    upper: float
    rigorous: bool = True

    @classmethod
    def around(cls, value: float, *, lower: float | None = None) -> "Interval":
        """A closed form evaluated in floating point, widened outward by its rounding error and kept non-negative."""
        low, high = value if lower is None else lower, value
        for _ in range(ULPS):
            low, high = nextafter(low, -inf), nextafter(high, inf)
        return cls(max(0.0, low), high)

    def __float__(self) -> float:
        return self.upper

    def __format__(self, spec: str) -> str:
        return format(float(self), spec) if spec else str(self)

    def __round__(self, digits: int | None = None) -> float:
        return round(float(self), digits)

    def __lt__(self, other: object) -> bool:
        return NotImplemented if (ends := self._ends(other)) is None else self.upper < ends[0]

    def __le__(self, other: object) -> bool:
        return NotImplemented if (ends := self._ends(other)) is None else self.upper <= ends[0]

    def __gt__(self, other: object) -> bool:
        return NotImplemented if (ends := self._ends(other)) is None else self.lower > ends[1]

    def __ge__(self, other: object) -> bool:
        return NotImplemented if (ends := self._ends(other)) is None else self.lower >= ends[1]

    def _ends(self, other: object) -> tuple[float | Fraction, float | Fraction] | None:
        """Between what the other number lies; nothing if it is no number."""
        if not isinstance(other, Interval | int | float | Fraction):
            return None
        if not (self.rigorous and (not isinstance(other, Interval) or other.rigorous)):
            raise LossError("an approximation proves nothing, so it cannot be compared: compare its upper, if you must")
        return (other.lower, other.upper) if isinstance(other, Interval) else (other, other)


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

    def curve(self, epsilons: Sequence[Number], *, accuracy: float = ACCURACY) -> list[Interval]:
        """`delta` at each of several ε, which ascend. Where that is much cheaper the bounds from below are left out."""
        return [self.delta(epsilon, accuracy=accuracy) for epsilon in epsilons]

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
