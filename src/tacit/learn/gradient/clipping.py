"""How long the gradient of one example may be: flat, for each layer, or normalised.

A clipping turns the squared lengths of one example's gradient, one for each layer, into the factors that it is
multiplied by. Whatever the lengths are, the product is at most `length()` long, and zero where a length is not finite.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import isqrt

import torch
from torch import Tensor

from tacit.base import InputError, Number, positive
from tacit.learn.rounding import SLACK

__all__ = ["Clipping", "Factors", "Flat", "Normalised", "PerLayer", "rounded_down"]

DOWN = 1 - 2.0**-50  # more than the rounding of a root, a quotient and a sum of layers in double precision
FINE = 10**12  # steps in which a square root is rounded up


class Clipping(ABC):
    """A bound on what one example adds to the sum."""

    @abstractmethod
    def length(self) -> Fraction:
        """The length that a scaled gradient has at most, in exact arithmetic."""

    @abstractmethod
    def factors(self, squares: Tensor, layers: Sequence[str]) -> Tensor:
        """Factors (layer, example) for squared lengths (layer, example) that are finite; in double precision, and
        rounded down: the product is no longer than promised to the last bit."""

    def fits(self, layers: Sequence[str]) -> None:
        """Raise unless this clipping knows what to do with each of these layers."""
        del layers

    def sensitivity(self) -> Fraction:
        """How far one example moves the sum as a computer forms it: the length and the slack for rounding."""
        return self.length() * (1 + SLACK)

    def scale(self, squares: Tensor, layers: Sequence[str]) -> Tensor:
        """The factors, zero for an example one of whose lengths is NaN or infinite."""
        if squares.sum().isfinite():  # none is negative
            return self.factors(squares, layers)
        finite = squares.isfinite().all(0)
        return self.factors(torch.where(finite, squares, 0.0), layers) * finite


@dataclass(frozen=True)
class Flat(Clipping):
    """g · min(1, C/‖g‖): the whole gradient of an example is at most C long (Abadi et al. 2016)."""

    clip: Number

    def __post_init__(self) -> None:
        object.__setattr__(self, "clip", positive(self.clip, "clip"))

    def length(self) -> Fraction:
        return positive(self.clip, "clip")

    def factors(self, squares: Tensor, layers: Sequence[str]) -> Tensor:
        return _limited(squares.sum(0), self.length()).expand_as(squares)


@dataclass(frozen=True)
class PerLayer(Clipping):
    """Each layer's gradient is at most C_l long, so the whole at most C with C² = Σ C_l².

    `clips` maps the names of layers (modules that own trainable parameters) to their lengths; `PerLayer.even` gives
    each layer C/√L. Names that the model does not have, or layers without a length, are refused by `fits`.
    """

    clips: Mapping[str, Number] = field(hash=False)

    def __post_init__(self) -> None:
        if not self.clips:
            raise InputError("clips is empty: give a length for each layer, or use PerLayer.even")
        checked = {name: positive(clip, f"clips[{name!r}]") for name, clip in self.clips.items()}
        object.__setattr__(self, "clips", checked)

    @classmethod
    def even(cls, clip: Number, layers: Sequence[str]) -> "PerLayer":
        """The same length for each of these layers, C in all."""
        total = positive(clip, "clip")
        # rounded down, so that the squares add up to at most C²
        each = Fraction(isqrt(int(total**2 / len(layers) * FINE**2)), FINE) if layers else total
        return cls(dict.fromkeys(layers, each))

    def length(self) -> Fraction:
        square = sum((positive(clip, "clip") ** 2 for clip in self.clips.values()), Fraction(0))
        return Fraction(isqrt(int(square * FINE**2)) + 1, FINE)

    def fits(self, layers: Sequence[str]) -> None:
        if missing := sorted(set(layers) - set(self.clips)):
            raise InputError(f"clips has no length for the layer {missing[0]!r}: add it, or use PerLayer.even")
        if unknown := sorted(set(self.clips) - set(layers)):
            raise InputError(f"clips names {unknown[0]!r}, but the model's trainable layers are {', '.join(layers)}")

    def factors(self, squares: Tensor, layers: Sequence[str]) -> Tensor:
        rows = [_limited(row, positive(self.clips[name], name)) for row, name in zip(squares, layers, strict=True)]
        return torch.stack(rows)


@dataclass(frozen=True)
class Normalised(Clipping):
    """g / (‖g‖ + γ): shorter than 1 whatever the gradient is, so no length is chosen (Bu et al. 2022, AUTO-S)."""

    gamma: Number = Fraction(1, 100)

    def __post_init__(self) -> None:
        object.__setattr__(self, "gamma", positive(self.gamma, "gamma"))

    def length(self) -> Fraction:
        return Fraction(1)

    def factors(self, squares: Tensor, layers: Sequence[str]) -> Tensor:
        return (DOWN / (squares.sum(0).sqrt() + float(self.gamma))).expand_as(squares)


def _limited(squares: Tensor, clip: Fraction) -> Tensor:
    """min(1, C/‖g‖), rounded down; no gradient at all has factor 1."""
    return (float(clip) * DOWN / squares.sqrt()).clamp(max=1.0)


class Factors:
    """What each gradient of a layer is multiplied by: in double precision, and rounded down to others when wanted."""

    def __init__(self, exact: Tensor) -> None:
        self.exact = exact
        self._rounded: dict[torch.dtype, Tensor] = {exact.dtype: exact}

    def to(self, dtype: torch.dtype) -> Tensor:
        if dtype not in self._rounded:
            self._rounded[dtype] = rounded_down(self.exact, dtype)
        return self._rounded[dtype]

    @classmethod
    def rows(cls, factors: Tensor) -> list["Factors"]:
        """Of factors (layer, example); layers that share theirs share what is rounded."""
        if len(factors) and factors.stride(0) == 0:
            return [cls(factors[0])] * len(factors)
        return [cls(row) for row in factors]


def rounded_down(factors: Tensor, dtype: torch.dtype) -> Tensor:
    """Non-negative factors in another precision, none of them larger than before."""
    if factors.dtype == dtype:
        return factors
    near = factors.to(dtype)
    return torch.where(near.double() > factors, torch.nextafter(near, torch.zeros_like(near)), near)
