"""Convolutions over one, two or three axes, with groups, strides, dilation and every kind of padding."""

from dataclasses import dataclass
from math import prod
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812  # torch's own name for it
from torch import Tensor

from tacit.learn.gradient.clipping import Factors
from tacit.learn.gradient.layout import Layout, UnplacedError
from tacit.learn.gradient.part import ROOM, Dense, Outer, Part, floor, roundoff, summed, wide
from tacit.learn.gradient.tape import Tape, rule, taped
from tacit.learn.rounding import DOUBLE, blocks

__all__ = ["convolution"]


@dataclass(frozen=True)
class Window:
    """How a kernel walks: one number for each axis, and the number of groups."""

    size: tuple[int, ...]
    stride: tuple[int, ...]
    padding: tuple[int, ...]
    dilation: tuple[int, ...]
    groups: int

    def patches(self, x: Tensor, places: tuple[int, ...]) -> Tensor:
        """(example, group, kernel numbers of the group, position): what the kernel sees at each position."""
        padded = (
            F.pad(x, [each for size in reversed(self.padding) for each in (size, size)]) if any(self.padding) else x
        )
        step = padded.stride()
        axes = range(2, padded.dim())
        seen = padded.as_strided(
            (*padded.shape[:2], *self.size, *places),
            (
                *step[:2],
                *(step[axis] * self.dilation[axis - 2] for axis in axes),
                *(step[axis] * self.stride[axis - 2] for axis in axes),
            ),
        )
        return seen.reshape(len(x), self.groups, -1, prod(places))

    def back(self, back: Tensor, x: Tensor, weight: Tensor, which: list[bool]) -> Any:
        zeros = [0 for _ in self.size]
        walk = (list(self.stride), list(self.padding), list(self.dilation), False, zeros, self.groups)
        return torch.ops.aten.convolution_backward(back, x, weight, None, *walk, which)


@dataclass(frozen=True)
class Patches(Part):
    """Gradients of a kernel as its inputs and what flows back, each with the examples first."""

    x: Tensor
    back: Tensor
    weight: Tensor
    window: Window

    def _slices(self) -> Any:
        places = tuple(self.back.shape[2:])
        step = max(1, ROOM // (prod(self.window.size) * self.x.shape[1] * prod(places)))
        for x, back in zip(self.x.split(step), self.back.split(step), strict=True):
            seen = self.window.patches(x, places)
            yield back.reshape(len(back), self.window.groups, -1, prod(places)), seen

    def squares(self) -> Tensor:
        groups = self.window.groups
        found = []
        for back, seen in self._slices():
            outer = Outer(back.flatten(0, 1).mT, seen.flatten(0, 1).mT)
            found.append(outer.squares().view(-1, groups).sum(1))
        return torch.cat(found)

    def total(self, factors: Factors, cell: int, out: Tensor | None = None) -> Tensor:
        """In double precision: the positions of one example may cancel."""
        unit, places = roundoff(self.x), prod(self.back.shape[2:])
        scaled = self.back.double() * factors.exact.view(-1, *[1] * (self.back.dim() - 1))
        x, weight = self.x.double(), self.weight.double()
        cuts = blocks(len(x), cell, places, floor(unit) ** -0.5, DOUBLE)
        return summed(self.window.back(scaled[rows], x[rows], weight, [False, True, False])[1] for rows in cuts)

    def dense(self) -> Tensor:
        return torch.cat([(back @ seen.mT).flatten(1) for back, seen in self._slices()])

    def without(self, bad: Tensor) -> "Patches":
        mask = bad.view(-1, *[1] * (self.x.dim() - 1))
        return Patches(self.x.masked_fill(mask, 0.0), self.back.masked_fill(mask, 0.0), self.weight, self.window)

    def grouped(self, index: Tensor) -> Part:
        return Dense(self.dense()).grouped(index)


class TapedConvolution(torch.autograd.Function):
    """A convolution with what its kernel and its bias get kept on a tape."""

    @staticmethod
    def forward(ctx: Any, anchor: Tensor, x: Tensor, weight: Tensor, bias: Any, use: "ConvolutionUse") -> Tensor:
        ctx.save_for_backward(x, weight)
        ctx.use = use
        window = use.window
        walk = (window.stride, window.padding, window.dilation, window.groups)
        call = (torch.conv1d, torch.conv2d, torch.conv3d)[len(window.size) - 1]
        return call(x, weight, bias, *walk)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, back: Tensor) -> Any:
        x, weight = ctx.saved_tensors
        given = None
        if ctx.needs_input_grad[1]:
            cast = (x.to(back.dtype), weight.to(back.dtype))
            given = ctx.use.window.back(back, *cast, [True, False, False])[0].to(x.dtype)
        ctx.use.keep(x, back, weight)
        return None, given, None, None, None


class ConvolutionUse:
    """One use of a kernel and a bias, either of which may be frozen."""

    def __init__(self, tape: Tape, weight: int | None, bias: int | None, window: Window) -> None:
        self.tape, self.weight, self.bias, self.window = tape, weight, bias, window

    def keep(self, x: Tensor, back: Tensor, weight: Tensor) -> None:
        rows = self.tape.rows

        def kernel(layout: Layout) -> Part:
            if layout.axis != 0:
                raise UnplacedError("a convolution whose first axis is not that of the examples")
            made = Patches(wide(x), wide(back), wide(weight), self.window)
            places = prod(back.shape[2:])
            room = places * (x.shape[1] + back.shape[1])
            if len(x) == rows and weight.numel() > room:
                return made
            return Dense(layout.examples_first(made.dense(), rows).reshape(rows, -1, weight.numel()).sum(1))

        def shift(layout: Layout) -> Part:
            summed = wide(back).flatten(2).sum(2)
            return Dense(layout.examples_first(summed, rows).reshape(rows, -1, summed.shape[1]).sum(1))

        if self.weight is not None:
            self.tape.keep(self.weight, "kernel", back, kernel)
        if self.bias is not None:
            self.tape.keep(self.bias, "channel", back, shift)


@rule(torch.conv1d, torch.conv2d, torch.conv3d)
def convolution(
    tape: Tape,
    input: Tensor,  # noqa: A002  # torch's name
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Any:
    numbers = tape.number(weight), tape.number(bias)
    if numbers == (None, None) or input.dim() != weight.dim():
        return NotImplemented
    size = tuple(weight.shape[2:])
    dilation = _each(dilation, size)
    if padding == "same":
        spare = [step * (width - 1) for step, width in zip(dilation, size, strict=True)]
        input = F.pad(input, [part for each in reversed(spare) for part in (each // 2, each - each // 2)])  # noqa: A001  # torch's name
    padding = _each(0 if isinstance(padding, str) else padding, size)
    use = ConvolutionUse(tape, *numbers, Window(size, _each(stride, size), padding, dilation, groups))
    plain = None if bias is None else bias.detach()
    return taped(TapedConvolution, tape.anchor, input, weight.detach(), plain, use)


def _each(value: Any, size: tuple[int, ...]) -> tuple[int, ...]:
    """One number for each axis."""
    if isinstance(value, int):
        return (value,) * len(size)
    return tuple(value) * (len(size) if len(value) == 1 else 1)
