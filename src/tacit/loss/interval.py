"""A number known between two bounds."""

from dataclasses import dataclass
from fractions import Fraction
from math import inf, nextafter

from tacit.base import LossError

__all__ = ["Interval"]

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
