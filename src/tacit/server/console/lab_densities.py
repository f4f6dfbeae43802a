"""The playground: the laws of a mechanism's output on two neighbours, side by side.

A few mechanisms have knobs here; every other registered one shows the neighbours that its claim is tested on. All laws
come from the mechanisms' own `pmf`, so what is seen is what the product does.
"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from functools import cache
from inspect import cleandoc
from math import inf, isclose, log
from typing import Any

from tacit.base import InputError, Sensitivity
from tacit.loss import Approx, Loss
from tacit.mechanism import (
    MECHANISMS,
    DiscreteGaussian,
    DiscreteLaplace,
    Exponential,
    KaryResponse,
    PermuteAndFlip,
    RandomizedResponse,
)
from tacit.mechanism.mechanism import Example, Pmf

__all__ = ["Knob", "Play", "densities", "playground"]

FEW = 40  # outputs without an order that are shown
MANY = 201  # numbers that are shown
FAINT = 1e-5  # of the largest probability: what no picture shows
STATED = Fraction(1, 10**6)  # the delta at which a claim that is not pure is stated
SCORES = (4, 3, 1, 0)


@dataclass(frozen=True, kw_only=True)
class Knob:
    """A parameter: its range, the step of its slider, and where it begins."""

    label: str
    low: float
    high: float
    step: float
    value: float


@dataclass(frozen=True, kw_only=True)
class Play:
    """A mechanism on the page. `staged` makes two neighbours out of the knobs' values."""

    name: str
    words: str
    theory: str
    knobs: tuple[Knob, ...]
    staged: Callable[[tuple[float, ...]], Example]

    def json(self) -> dict[str, Any]:
        told = {"name": self.name, "words": self.words, "theory": self.theory}
        return {**told, "knobs": [asdict(knob) for knob in self.knobs]}


SCALE = Knob(label="scale of the noise", low=0.25, high=10, step=0.25, value=1)
SIGMA = Knob(label="standard deviation of the noise", low=0.5, high=10, step=0.25, value=3)
APART = Knob(label="how far one person moves the truth", low=1, high=5, step=1, value=1)
EPSILON = Knob(label="epsilon", low=0.05, high=5, step=0.05, value=1)
CHOICES = Knob(label="possible answers", low=2, high=12, step=1, value=4)


def _laplace(values: tuple[float, ...]) -> Example:
    scale, apart = values
    mechanism = DiscreteLaplace(scale=Fraction(scale))
    return Example(mechanism, 0, int(apart), mechanism.loss(int(apart)))


def _gaussian(values: tuple[float, ...]) -> Example:
    sigma, apart = values
    mechanism = DiscreteGaussian(sigma=Fraction(sigma))
    return Example(mechanism, 0, int(apart), mechanism.loss(Sensitivity.scalar(int(apart))))


def _coin(values: tuple[float, ...]) -> Example:
    mechanism = RandomizedResponse(epsilon=_short(values[0]))
    return Example(mechanism, 0, 1, mechanism.loss())


def _answers(values: tuple[float, ...]) -> Example:
    mechanism = KaryResponse(epsilon=_short(values[0]), categories=int(values[1]))
    return Example(mechanism, 0, 1, mechanism.loss())


def _choosing(kind: type[Exponential] | type[PermuteAndFlip]) -> Callable[[tuple[float, ...]], Example]:
    def staged(values: tuple[float, ...]) -> Example:
        mechanism = kind(scale=Fraction(values[0]))
        moved = [SCORES[0] - 1, *(score + 1 for score in SCORES[1:])]
        return Example(mechanism, list(SCORES), moved, mechanism.loss(1))

    return staged


KNOBS: Mapping[type, tuple[tuple[Knob, ...], Callable[[tuple[float, ...]], Example]]] = {
    DiscreteLaplace: ((SCALE, APART), _laplace),
    DiscreteGaussian: ((SIGMA, APART), _gaussian),
    RandomizedResponse: ((EPSILON,), _coin),
    KaryResponse: ((EPSILON, CHOICES), _answers),
    Exponential: ((SCALE,), _choosing(Exponential)),
    PermuteAndFlip: ((SCALE,), _choosing(PermuteAndFlip)),
}


@cache
def playground() -> tuple[Play, ...]:
    """Those with knobs first, then every other registered mechanism with the neighbours of its own tests."""
    found = [_play(kind, *KNOBS[kind]) for kind in KNOBS if kind in MECHANISMS]
    for kind in MECHANISMS:
        examples = () if kind in KNOBS else kind.examples()
        if examples:
            knob = Knob(label="example", low=1, high=len(examples), step=1, value=1)
            found.append(_play(kind, (knob,), _listed(examples)))
    return tuple(found)


def _listed(examples: Sequence[Example]) -> Callable[[tuple[float, ...]], Example]:
    return lambda values: examples[int(values[0]) - 1]


def _play(kind: type, knobs: tuple[Knob, ...], staged: Callable[[tuple[float, ...]], Example]) -> Play:
    words = " ".join(cleandoc(kind.__doc__ or "").partition("\n\n")[0].split())
    return Play(name=kind.__name__, words=words, theory=str(getattr(kind, "theory", "")), knobs=knobs, staged=staged)


def densities(name: str, values: tuple[float, ...]) -> dict[str, Any]:
    """The two laws, the log of their ratio for each output that is shown, and the claim."""
    play = next((each for each in playground() if each.name == name), None)
    if play is None:
        raise InputError(f'there is no mechanism "{name[:60]}" in the playground: `GET /v1/lab/mechanisms` lists them')
    if len(values) != len(play.knobs) or not all(_allowed(k, v) for k, v in zip(play.knobs, values, strict=True)):
        ranges = ", ".join(f"{knob.label} {knob.low:g} to {knob.high:g} by {knob.step:g}" for knob in play.knobs)
        raise InputError(f"{name} takes values={','.join('…' for _ in play.knobs)}: {ranges}")
    example = play.staged(values)
    left, right = example.mechanism.pmf(example.left), example.mechanism.pmf(example.right)
    shown, ordered = _shown(left, right)
    return {
        "mechanism": name,
        "inputs": [_label(example.left), _label(example.right)],
        "outputs": [output if ordered else _label(output) for output in shown],
        "ordered": ordered,
        "left": [left.get(output, 0.0) for output in shown],
        "right": [right.get(output, 0.0) for output in shown],
        "ratio": [_ratio(left.get(output, 0.0), right.get(output, 0.0)) for output in shown],
        "hidden": len(set(left) | set(right)) - len(shown),
        "claim": _claim(example.claim),
    }


def _allowed(knob: Knob, value: float) -> bool:
    steps = (value - knob.low) / knob.step
    return knob.low <= value <= knob.high and isclose(steps, round(steps), abs_tol=1e-6)


def _claim(loss: Loss) -> dict[str, Any]:
    """ε without exception where there is such a one, else at the loss's own δ, or at 10^−6."""
    pure = loss.epsilon(0).upper
    if pure < inf:
        return {"epsilon": pure, "delta": 0.0}
    delta = loss.slack if isinstance(loss, Approx) else STATED
    found = loss.epsilon(delta).upper
    return {"epsilon": None if found == inf else found, "delta": float(delta)}


def _shown(left: Pmf, right: Pmf) -> tuple[list[Any], bool]:
    """The outputs that a picture has room for: numbers in order around the most likely, else the likeliest."""
    mass = {output: max(left.get(output, 0.0), right.get(output, 0.0)) for output in {**left, **right}}
    faint = FAINT * max(mass.values())
    seen = [output for output, chance in mass.items() if chance > faint]
    if all(isinstance(output, int | float) and not isinstance(output, bool) for output in seen):
        likely: list[Any] = sorted(seen, key=lambda output: -mass[output])[:MANY]
        return sorted(likely), True
    return sorted(seen, key=lambda output: (-mass[output], str(output)))[:FEW], False


def _ratio(left: float, right: float) -> float | None:
    """ln of how much likelier an output is on the left; None where one of them never gives it."""
    return log(left / right) if left > 0 and right > 0 else None


def _label(value: Hashable | Any) -> str:
    text = str(value)
    return text if len(text) <= 60 else f"{text[:57]}…"


def _short(value: float) -> Fraction:
    """A knob's value as it is written."""
    return Fraction(str(value))
