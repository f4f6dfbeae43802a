"""What the interval of a column covers, as data; sentences about it are written last."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from tacit.desk.show import margin, number

__all__ = ["Coverage"]


@dataclass(frozen=True, kw_only=True)
class Coverage:
    """truth: the answer on the data as declared, nobody's rows clipped. noise: the noise alone; what was clipped comes
    on top of it. least: the same where what was clipped is only ever missing, so that the truth is at least the lower
    end.

    `missing` is between what clipping took: of the one number, or of all groups together where it is `grouped`. `noise`
    is the half-width of the noise alone. Both hold if units who count more than `given` are as rare as the profile's
    counts up to there let one expect.
    """

    of: Literal["truth", "least", "noise"]
    grouped: bool = False
    missing: tuple[float, float] | None = None
    noise: float | None = None
    given: float | None = None

    def words(self, column: str, unit: str) -> str | None:
        """A sentence for whoever reads the answer, where there is more to say than the label."""
        if self.missing is None:
            return None
        low, high = self.missing
        told = f"if {unit}s who count more than {number(self.given or 0)} go on getting rarer as they do up to there"
        if self.grouped:
            took = f"clipping takes up to {margin(high)} from all groups together"
            return f"{column}: {took}, {told}; from which is not known"
        if max(high, -low) <= (self.noise or 0) / 100:
            return f"{column}: clipping takes next to nothing, {told}"
        part = "" if self.noise is None else f"noise is ± {margin(self.noise)} of it, and "
        return f"{column}: the interval covers the truth: {part}clipping takes {number(low)} to {number(high)}, {told}"

    def json(self) -> dict[str, Any]:
        """Plain data that `from_json` turns into an equal one."""
        missing = None if self.missing is None else list(self.missing)
        return {"of": self.of, "grouped": self.grouped, "missing": missing, "noise": self.noise, "given": self.given}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "Coverage":
        """The inverse of `json`."""
        missing = None if data["missing"] is None else (data["missing"][0], data["missing"][1])
        return cls(**{**data, "missing": missing})
