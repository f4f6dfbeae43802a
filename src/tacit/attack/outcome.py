"""What an attack achieved: the same attempt on an undefended release and on tacit's release of the same thing."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from scipy.stats import beta

from tacit.base import InputError, TacitError

__all__ = ["Attempt", "Outcome", "interval"]


def interval(successes: int, trials: int, confidence: float = 0.95) -> tuple[float, float]:
    """The Clopper–Pearson interval of a share."""
    if not 0 <= successes <= trials or trials < 1:
        raise InputError(f"{successes} successes in {trials} trials is not a share")
    tail = (1 - confidence) / 2
    low = 0.0 if successes == 0 else float(beta.ppf(tail, successes, trials - successes + 1))
    high = 1.0 if successes == trials else float(beta.ppf(1 - tail, successes + 1, trials - successes))
    return low, high


@dataclass(frozen=True, kw_only=True)
class Attempt:
    """How far the attack got `against` one release: a share, with the interval that covers it with 95 %."""

    against: str
    success: float
    low: float
    high: float

    @classmethod
    def counted(cls, against: str, successes: int, trials: int) -> "Attempt":
        low, high = interval(successes, trials)
        return cls(against=against, success=successes / trials, low=low, high=high)


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """Both attempts. `measure` says what success is a share of, `chance` what somebody without the release gets."""

    name: str
    headline: str
    measure: str
    chance: float
    undefended: Attempt
    defended: Attempt
    remarks: tuple[str, ...] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)
    draw: Callable[[], Any] = field(repr=False, compare=False)

    def plot(self, path: Path | str | None = None) -> Any:
        """The picture, as an Altair chart; with `path` also written there. Needs the extra `plot`."""
        try:
            from tacit.plot import page, write
        except ImportError as missing:
            raise TacitError(
                f"plot() needs {missing.name}, which is not installed: pip install 'tacit[plot]'"
            ) from missing
        chart = self.draw()
        if path is not None:
            write(page([[chart]], title=self.headline, subtitle=self.measure), Path(path))
        return chart

    def json(self) -> dict[str, Any]:
        """Everything but the picture, as JSON has it."""
        attempts = {
            side: {"against": it.against, "success": it.success, "low": it.low, "high": it.high}
            for side, it in (("undefended", self.undefended), ("defended", self.defended))
        }
        said = {"attack": self.name, "headline": self.headline, "measure": self.measure, "chance": self.chance}
        return said | attempts | {"remarks": list(self.remarks), "facts": dict(self.facts)}
