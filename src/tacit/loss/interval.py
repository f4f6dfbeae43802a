"""A number known between two bounds."""

from dataclasses import dataclass
from math import inf, nextafter

__all__ = ["Interval"]

ULPS = 16  # what a closed form of a dozen elementary functions may be off by, taken generously


@dataclass(frozen=True)
class Interval:
    """The true value lies in [lower, upper]. `float()` is the upper end: the guarantee."""

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
