"""Mechanisms that are slightly wrong, for tests that must notice: another claim, another constant, another sampler."""

import sys
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass, replace
from fractions import Fraction
from typing import Any

from tacit.base import TacitError
from tacit.loss import (
    PLD,
    ZCDP,
    Approx,
    DiscreteLaplacePart,
    DiscreteNormal,
    Loss,
    Normal,
    Part,
    Pure,
    RangePart,
    ResponsePart,
)
from tacit.mechanism import Example, Mechanism

__all__ = ["constants", "own_modules", "resized", "samplers", "weakened", "weaker"]

LESS = {"scale", "sigma", "threshold_scale", "query_scale", "numeric_scale", "test_scale", "noise_scale", "f"}
MORE = {"epsilon", "delta", "truth"}  # a larger one of these means less noise


def resized(claim: Loss, factor: Fraction) -> Loss:
    """The claim of a mechanism whose noise is 1/factor times as large."""

    def part(p: Part) -> Part:
        if isinstance(p, ResponsePart):
            return ResponsePart(p.epsilon * factor, p.delta)
        if isinstance(p, RangePart):
            return RangePart(p.epsilon * factor)
        if isinstance(p, DiscreteLaplacePart):
            return DiscreteLaplacePart(p.scale / factor, p.shift)
        if isinstance(p, DiscreteNormal):
            return DiscreteNormal(p.variance / factor**2, p.shift)
        assert isinstance(p, Normal)
        return Normal(p.square * factor**2)

    if isinstance(claim, ZCDP):
        return ZCDP(claim.rho * factor**2, delta=claim.slack)
    if isinstance(claim, Approx) and not isinstance(claim, Pure):
        return Approx(claim.bound * factor, claim.slack * factor)
    assert isinstance(claim, PLD)
    return PLD.of(tuple((part(p), count) for p, count in claim.parts))


def constants(mechanism: Mechanism) -> Iterator[str]:
    """Names of the constants that decide how much noise there is, `sum_noise.scale` for one of a part."""
    assert is_dataclass(mechanism)
    for each in fields(mechanism):
        value = getattr(mechanism, each.name)
        if isinstance(value, Mechanism):
            yield from (f"{each.name}.{name}" for name in constants(value))
        elif each.init and each.name in LESS | MORE and isinstance(value, Fraction) and value > 0:
            yield each.name


def weaker(example: Example, name: str, factor: Fraction) -> Example | None:
    """The example, with a mechanism whose constant `name` means 1/factor times the noise; None if it cannot be built.

    `factor` is above 1. The claim stays what it was, so it is wrong, unless the constant makes no difference.
    """
    try:
        mechanism = _changed(example.mechanism, name.split("."), factor)
        mechanism.pmf(example.left)
    except TacitError:
        return None
    return replace(example, mechanism=mechanism)


def _changed(mechanism: Any, path: list[str], factor: Fraction) -> Any:
    first, *rest = path
    value = getattr(mechanism, first)
    if rest:
        return replace(mechanism, **{first: _changed(value, rest, factor)})
    return replace(mechanism, **{first: value / factor if first in LESS else value * factor})


def own_modules(mechanism: type[Mechanism]) -> list[Any]:
    """The modules of `tacit.mechanism` that a mechanism is written in and draws from."""
    names = {cls.__module__ for cls in mechanism.__mro__ if cls.__module__.startswith("tacit.mechanism.")}
    imported = {
        value.__module__
        for name in names
        for value in vars(sys.modules[name]).values()
        if getattr(value, "__module__", "").startswith("tacit.mechanism.")
    }
    return [sys.modules[name] for name in names | imported]


def samplers(mechanism: type[Mechanism]) -> set[str]:
    """Names of the noise functions that the mechanism's modules can draw from."""
    found = set()
    for module in own_modules(mechanism):
        for name, value in vars(module).items():
            if callable(value) and getattr(value, "__module__", "").startswith("tacit.noise.") and name.islower():
                found.add(name)
    return found - {"rng_or_default", "uniform", "in_chunks", "exp_minus", "estimate_exp", "narrow", "times"}


def weakened(function: Callable[..., Any], factor: Fraction, calls: list[int]) -> Callable[..., Any]:
    """The sampler with its first rational argument (a scale, variance, unit, exponent or probability) changed."""

    def mutant(*args: Any, **kwargs: Any) -> Any:
        calls.append(1)
        place = next(i for i, a in enumerate(args) if isinstance(a, Fraction))
        changed = args[place] * factor
        return function(*args[:place], changed, *args[place + 1 :], **kwargs)

    return mutant
