"""Every attack that can be staged on made-up data. Adding one is its file, its page and an entry here."""

from collections.abc import Callable
from dataclasses import dataclass
from difflib import get_close_matches
from importlib import import_module
from inspect import signature
from typing import Any

from tacit.attack.outcome import Outcome
from tacit.base import InputError, whole

__all__ = ["ATTACKS", "Attack", "attack_named", "staged"]


@dataclass(frozen=True)
class Attack:
    """`module` holds the function `stage`, imported when it is needed; `page` is what there is to read."""

    name: str
    title: str
    module: str

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
    Attack("membership-in-models", "A model knows who it was trained on", "tacit.attack.membership"),
    Attack("canary-exposure", "A model learns a secret by heart", "tacit.attack.exposure"),
    Attack("gradient-leakage", "A gradient is a picture of what caused it", "tacit.attack.gradients"),
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


def staged(name: str, *, seed: int = 1, progress: Callable[[float], None] | None = None, **sizes: Any) -> Outcome:
    """The attack on made-up data, undefended and against tacit; `progress` is told the share done.

    `seed` fixes the data, not tacit's noise. `sizes` are those of the attack's own `stage`.
    """
    stage = import_module(attack_named(name).module).stage
    options = dict(sizes)
    if progress is not None and "progress" in signature(stage).parameters:
        options["progress"] = progress
    found: Outcome = stage(seed=whole(seed, "seed", least=0), **options)
    return found
