"""`/v1/lab`: what a guarantee means, what two neighbours' answers look like, and what attacks do.

Nothing here touches a dataset: everything follows from the numbers that are sent, so each answer is worked out once.
"""

from collections.abc import Callable, Hashable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cache, lru_cache
from inspect import cleandoc
from math import inf, isclose, log
from typing import Annotated, Any

import numpy as np
from fastapi import APIRouter, Query
from fastapi.responses import JSONResponse

from tacit.base import InputError, Sensitivity, TacitError
from tacit.loss import Approx, Loss, Pure, Tradeoff
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
from tacit.server.auth.identify import Looks

__all__ = ["Knob", "Play", "densities", "explored", "playground", "router"]

FEW = 40  # outputs without an order that are shown
MANY = 201  # numbers that are shown
FAINT = 1e-5  # of the largest probability: what no picture shows
STATED = Fraction(1, 10**6)  # the delta at which a claim is stated that has none of its own
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
    staged: Callable[..., Example]

    def json(self) -> dict[str, Any]:
        told = {"name": self.name, "words": self.words, "theory": self.theory}
        return {**told, "knobs": [asdict(knob) for knob in self.knobs]}


SCALE = Knob(label="scale of the noise", low=0.25, high=10, step=0.25, value=1)
SIGMA = Knob(label="standard deviation of the noise", low=0.5, high=10, step=0.25, value=3)
APART = Knob(label="how far one person moves the truth", low=1, high=5, step=1, value=1)
EPSILON = Knob(label="epsilon", low=0.05, high=5, step=0.05, value=1)
CHOICES = Knob(label="possible answers", low=2, high=12, step=1, value=4)


def _noise(mechanism: DiscreteLaplace | DiscreteGaussian, apart: int) -> Example:
    return Example(mechanism, 0, apart, mechanism.loss(Sensitivity.scalar(apart)))


def _response(mechanism: RandomizedResponse | KaryResponse) -> Example:
    return Example(mechanism, 0, 1, mechanism.loss())


def _choice(mechanism: Exponential | PermuteAndFlip) -> Example:
    moved = [SCORES[0] - 1, *(score + 1 for score in SCORES[1:])]
    return Example(mechanism, list(SCORES), moved, mechanism.loss(1))


def _exact(value: float) -> Fraction:
    return Fraction(str(value))


Staged = Callable[..., Example]
KNOBS: Mapping[type, tuple[tuple[Knob, ...], Staged]] = {
    DiscreteLaplace: ((SCALE, APART), lambda b, apart: _noise(DiscreteLaplace(scale=_exact(b)), int(apart))),
    DiscreteGaussian: ((SIGMA, APART), lambda s, apart: _noise(DiscreteGaussian(sigma=_exact(s)), int(apart))),
    RandomizedResponse: ((EPSILON,), lambda e: _response(RandomizedResponse(epsilon=_exact(e)))),
    KaryResponse: ((EPSILON, CHOICES), lambda e, k: _response(KaryResponse(epsilon=_exact(e), categories=int(k)))),
    Exponential: ((SCALE,), lambda b: _choice(Exponential(scale=_exact(b)))),
    PermuteAndFlip: ((SCALE,), lambda b: _choice(PermuteAndFlip(scale=_exact(b)))),
}


@cache
def playground() -> tuple[Play, ...]:
    """Those with knobs first, then every other registered mechanism with the neighbours of its own tests."""
    found = [_play(kind, *KNOBS[kind]) for kind in KNOBS if kind in MECHANISMS]
    for kind in MECHANISMS:
        examples = () if kind in KNOBS else kind.examples()
        if examples:
            knob = Knob(label="example", low=1, high=len(examples), step=1, value=1)
            found.append(_play(kind, (knob,), lambda place, examples=examples: examples[int(place) - 1]))
    return tuple(found)


def _play(kind: type, knobs: tuple[Knob, ...], staged: Staged) -> Play:
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
    example = play.staged(*values)
    left, right = example.mechanism.pmf(example.left), example.mechanism.pmf(example.right)
    shown, ordered = _shown(left, right)
    chances = [(left.get(output, 0.0), right.get(output, 0.0)) for output in shown]
    return {
        "mechanism": name,
        "inputs": [_label(example.left), _label(example.right)],
        "outputs": [output if ordered else _label(output) for output in shown],
        "ordered": ordered,
        "left": [one for one, _ in chances],
        "right": [other for _, other in chances],
        # ln of how much likelier an output is on the left; None where one of them never gives it
        "ratio": [log(one / other) if one > 0 and other > 0 else None for one, other in chances],
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


def _label(value: Hashable | Any) -> str:
    text = str(value)
    return text if len(text) <= 60 else f"{text[:57]}…"


POINTS = 101


def explored(epsilon: Decimal, delta: Decimal, times: int, prior: Decimal) -> dict[str, Any]:
    """Everything the page shows of `times` releases, each with (ε, δ)."""
    near: dict[str, Any] = {"unit": "person"}
    one: Loss = Approx(Fraction(epsilon), Fraction(delta), **near) if delta else Pure(Fraction(epsilon), **near)
    whole = times * one
    stated = Fraction(delta) if times == 1 else 2 * times * Fraction(delta) or STATED
    meaning = whole.meaning(prior, delta=min(stated, Fraction(1, 2)))
    curves = [_curve("any mechanism with this guarantee", whole)]
    if delta:  # pure, it cannot be
        size, noise = Sensitivity.scalar(1), list[Loss]()
        with suppress(TacitError):  # the least noise that has this guarantee
            noise = [DiscreteGaussian.from_loss(one, sensitivity=size).loss(size, unit="person")]
        curves += [_curve("Gaussian noise with this guarantee", times * each) for each in noise]
    return {
        "epsilon": float(epsilon),
        "delta": float(delta),
        "times": times,
        "meaning": meaning.json(),
        "words": str(meaning).splitlines()[1:],
        "curves": curves,
    }


def _curve(label: str, loss: Loss) -> dict[str, Any]:
    """The least misses at each share of false alarms: no test gets below."""
    with np.errstate(all="ignore"):  # huge guarantees overflow in the bound from above, which is not shown
        alarms, misses, _ = Tradeoff(loss).curve(POINTS)
    return {"label": label, "alarms": alarms.tolist(), "misses": np.clip(np.nan_to_num(misses), 0, 1).tolist()}


router = APIRouter()

Values = Annotated[str, Query(max_length=100, pattern=r"^[0-9]{1,4}(\.[0-9]{1,4})?(,[0-9]{1,4}(\.[0-9]{1,4})?){0,3}$")]

_explored, _densities = lru_cache(maxsize=512)(explored), lru_cache(maxsize=256)(densities)


@router.get("/v1/lab/tradeoff", tags=["lab"])
def tradeoff(
    who: Looks,
    epsilon: Annotated[Decimal, Query(gt=0, le=20, max_digits=8, decimal_places=4)] = Decimal(1),
    delta: Annotated[Decimal, Query(ge=0, le=Decimal("0.1"), max_digits=20, decimal_places=16)] = Decimal("0.000001"),
    times: Annotated[int, Query(ge=1, le=100, description="How often such a release is made.")] = 1,
    prior: Annotated[Decimal, Query(gt=0, lt=1, max_digits=6, decimal_places=4)] = Decimal("0.5"),
) -> JSONResponse:
    """Odds, beliefs, the power of membership tests, and the trade-off curve of releases with this guarantee."""
    return JSONResponse(_explored(epsilon, delta, times, prior))


@router.get("/v1/lab/mechanisms", tags=["lab"])
def mechanisms(who: Looks) -> JSONResponse:
    """Mechanisms whose outputs can be listed, and the parameters that each has here."""
    return JSONResponse({"items": [each.json() for each in playground()]})


@router.get("/v1/lab/densities", tags=["lab"])
def two_neighbours(who: Looks, mechanism: Annotated[str, Query(max_length=60)], values: Values = "1") -> JSONResponse:
    """How likely each output is for two neighbours, and how far the two are apart, beside the claim."""
    found: dict[str, Any] = _densities(mechanism, tuple(map(float, values.split(","))))
    return JSONResponse(found)
