"""Every attack that can be staged on made-up data, and what one achieves. Adding one is its file, page and line here.

An outcome is the same attempt twice: on an undefended release, and on tacit's release of the same thing.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from importlib import import_module
from importlib.util import find_spec
from inspect import signature
from pathlib import Path
from typing import Any

from scipy.special import betaincinv

from tacit.base import InputError, TacitError, whole

__all__ = [
    "ATTACKS",
    "Attack",
    "Attempt",
    "Outcome",
    "Progress",
    "attack_named",
    "bars",
    "interval",
    "silent",
    "staged",
]

Progress = Callable[[float], None]  # is told the share done


def silent(share: float) -> None:
    """Nobody asked how far it is."""


def interval(successes: int, trials: int, confidence: float = 0.95) -> tuple[float, float]:
    """The Clopper–Pearson interval of a share."""
    if not 0 <= successes <= trials or trials < 1:
        raise InputError(f"{successes} successes in {trials} trials is not a share")
    tail = (1 - confidence) / 2
    low = 0.0 if successes == 0 else float(betaincinv(successes, trials - successes + 1, tail))
    high = 1.0 if successes == trials else float(betaincinv(successes + 1, trials - successes, 1 - tail))
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


Draw = Callable[[], Any]


def bars(rows: Sequence[tuple[str, Attempt, bool]], *, title: tuple[str, ...], axis: str, chance: float = 0.0) -> Draw:
    """A picture of attempts, each with its row and whether it was defended against; drawn when it is asked for."""

    def draw() -> Any:
        from tacit.plot import Share, shares

        drawn = [Share(row, it.against, safe, it.success, it.low, it.high) for row, it, safe in rows]
        return shares(drawn, title=title, axis=axis, chance=chance)

    return draw


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
    draw: Draw = field(repr=False, compare=False)

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
        attempts = {"undefended": dict(vars(self.undefended)), "defended": dict(vars(self.defended))}
        said = {"attack": self.name, "headline": self.headline, "measure": self.measure, "chance": self.chance}
        return said | attempts | {"remarks": list(self.remarks), "facts": dict(self.facts)}


@dataclass(frozen=True)
class Attack:
    """`module` holds the function `stage`, imported when it is needed; `page` is what there is to read; `needs` is a
    module that not every installation has."""

    name: str
    title: str
    module: str
    needs: str | None = None

    @property
    def missing(self) -> str | None:
        """A module that it needs and that is not installed."""
        return self.needs if self.needs is not None and find_spec(self.needs) is None else None

    @property
    def page(self) -> str:
        return f"docs/attacks/{self.name}.md"


ATTACKS: tuple[Attack, ...] = (
    Attack(
        "homogeneity",
        "A k-anonymous table gives secrets away where its classes agree",
        "tacit.attack.homogeneity",
    ),
    Attack("composition", "Two anonymous tables together are not anonymous", "tacit.attack.composition"),
    Attack("linkage", "Zip code, birth date and sex are a name", "tacit.attack.linkage"),
    Attack("sparse", "A few ratings find a person among anonymous records", "tacit.attack.sparse"),
    Attack("differencing", "The difference of two harmless answers is one person", "tacit.attack.differencing"),
    Attack("reconstruction", "Enough answers, each a little wrong, give everybody away", "tacit.attack.reconstruction"),
    Attack("microdata", "Published tables of a few people are those people", "tacit.attack.microdata"),
    Attack("frequencies", "Averages over a whole study tell who was in it", "tacit.attack.frequencies"),
    Attack("membership-in-models", "A model knows who it was trained on", "tacit.attack.membership", "torch"),
    Attack("canary-exposure", "A model learns a secret by heart", "tacit.attack.exposure", "torch"),
    Attack("verbatim-extraction", "A text model says its secrets when it is asked", "tacit.attack.extraction", "torch"),
    Attack("gradient-leakage", "A gradient is a picture of what caused it", "tacit.attack.gradients", "torch"),
    Attack(
        "federated-leakage",
        "The server of a federation sees pictures, or noise, or nothing",
        "tacit.attack.together",
        "torch",
    ),
    Attack("synthetic", "Synthetic rows are not private because they are synthetic", "tacit.attack.synthetic"),
    Attack("reused-holdout", "A holdout that is asked often says what you want to hear", "tacit.attack.reuse"),
    Attack("search-logs", "A search log without names is full of names", "tacit.attack.searches"),
    Attack("movements", "Four places and times are a name", "tacit.attack.movements"),
    Attack("tracing", "Many averages tell who was asked, however they are rounded", "tacit.attack.tracing"),
    Attack("networks", "A friendship is hidden, and the friend with all hers is not", "tacit.attack.networks"),
    Attack("pixels", "Every pixel is randomised, and everybody can read the picture", "tacit.attack.pixels"),
    Attack("opting-out", "What a study finds out about everybody holds for who opted out", "tacit.attack.opting_out"),
    Attack("risk", "Singling out, linking and inferring from a released table", "tacit.attack.risk"),
)


def attack_named(name: str) -> Attack:
    """The entry of that name; a name that is nearly right is told what it may have meant."""
    known = {attack.name: attack for attack in ATTACKS}
    if name in known:
        return known[name]
    near = get_close_matches(name, known, n=1)
    meant = f'did you mean "{near[0]}"?' if near else f"there are {', '.join(known)}"
    raise InputError(f'there is no attack "{name}": {meant}')


def staged(name: str, *, seed: int = 1, progress: Progress = silent, **sizes: Any) -> Outcome:
    """The attack on made-up data, undefended and against tacit; `progress` is told the share done.

    `seed` fixes the data, not tacit's noise. `sizes` are those of the attack's own `stage`.
    """
    stage = import_module(attack_named(name).module).stage
    if "progress" in signature(stage).parameters:
        sizes["progress"] = progress
    found: Outcome = stage(seed=whole(seed, "seed", least=0), **sizes)
    return found
