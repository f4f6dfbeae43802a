"""What multiplies or shifts numbers one by one: the ends of all normalisations, and plain `x * w`, `x + b`."""

from inspect import signature
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812  # torch's own name for it
from torch import Tensor

from tacit.base import InputError
from tacit.learn.gradient.layout import Layout, UnplacedError
from tacit.learn.gradient.part import Dense, Part, wide
from tacit.learn.gradient.tape import Tape, rule, taped

__all__ = ["add", "add_into", "expand", "mul"]


def _reduced(value: Tensor, shape: tuple[int, ...], layout: Layout, rows: int) -> Part:
    """`value` summed over the axes along which a parameter of this shape was repeated, for each example apart."""
    padded = (1,) * (value.dim() - len(shape)) + shape
    if len(padded) != value.dim() or padded[layout.axis] != 1:
        raise UnplacedError("a parameter with numbers for each place in the batch")
    first = layout.examples_first(value, rows)
    spread = first.dim() - value.dim()  # one more axis where examples lie with their positions
    kept = [1] * spread + [size for axis, size in enumerate(padded) if axis != layout.axis]
    summed = [axis for axis, size in enumerate(kept, start=1) if size == 1 and first.shape[axis] != 1]
    return Dense((wide(first).sum(summed) if summed else wide(first)).reshape(rows, -1))


class TapedAffine(torch.autograd.Function):
    """x * weight + bias, each of which may be absent, with what they get kept on a tape."""

    @staticmethod
    def forward(ctx: Any, anchor: Tensor, x: Tensor, weight: Any, bias: Any, use: "AffineUse") -> Tensor:
        ctx.save_for_backward(x if weight is not None else None, weight)
        ctx.use, ctx.shape = use, x.shape
        if weight is None:
            found: Tensor = x + bias
        else:
            found = x * weight if bias is None else torch.addcmul(bias, x, weight)
        return found

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, back: Tensor) -> Any:
        x, weight = ctx.saved_tensors
        ctx.use.keep(x, back)
        if not ctx.needs_input_grad[1]:
            return None, None, None, None, None
        given = back if weight is None else back * weight
        return None, given.sum_to_size(ctx.shape), None, None, None


class AffineUse:
    """One use of a factor and a shift; `shapes` are theirs as they were spread over the input."""

    def __init__(self, tape: Tape, weight: int | None, bias: int | None, shapes: Any) -> None:
        self.tape, self.weight, self.bias, self.shapes = tape, weight, bias, shapes

    def keep(self, x: Tensor | None, back: Tensor) -> None:
        rows = self.tape.rows
        if self.weight is not None and x is not None:
            self.tape.keep(self.weight, "scale", back, lambda here: _reduced(back * x, self.shapes[0], here, rows))
        if self.bias is not None:
            self.tape.keep(self.bias, "shift", back, lambda here: _reduced(back, self.shapes[1], here, rows))


def _affine(tape: Tape, x: Tensor, weight: Any, bias: Any, shape: tuple[int, ...] | None = None) -> Tensor:
    values = [None if each is None else each.detach().reshape(shape or each.shape) for each in (weight, bias)]
    shapes = [None if each is None else tuple(each.shape) for each in values]
    use = AffineUse(tape, tape.number(weight), tape.number(bias), shapes)
    found: Tensor = taped(TapedAffine, tape.anchor, x, *values, use)
    return found


def _learned(tape: Tape, *values: Any) -> bool:
    return any(tape.number(each) is not None for each in values)


def _normalised(function: Any, *, channels: bool = False) -> None:
    """A normalisation of torch, run without the factor and the shift at its end, which are kept on the tape."""
    form = signature(function)

    @rule(function)
    def normalise(tape: Tape, *values: Any, **named: Any) -> Any:
        call = form.bind(*values, **named)
        weight, bias = (call.arguments.pop(name, None) for name in ("weight", "bias"))
        if function is F.batch_norm and call.arguments.get("training"):
            raise InputError(
                "batch_norm mixes the examples of a batch: use GroupNorm or LayerNorm, or put it in eval mode"
            )
        if not _learned(tape, weight, bias):
            return NotImplemented
        plain = function(**call.arguments)
        return _affine(tape, plain, weight, bias, (-1, *(1 for _ in range(plain.dim() - 2))) if channels else None)


_normalised(F.layer_norm)
_normalised(F.rms_norm)
_normalised(F.group_norm, channels=True)
_normalised(F.instance_norm, channels=True)
_normalised(F.batch_norm, channels=True)  # by stored statistics; with those of the batch it is refused


@rule(torch.add, torch.Tensor.add, torch.Tensor.__add__, torch.Tensor.__radd__)
def add(tape: Tape, input: Any, other: Any, **rest: Any) -> Any:  # noqa: A002  # torch's name
    return _two(tape, input, other, rest, factor=False)


@rule(torch.Tensor.add_, torch.Tensor.__iadd__)
def add_into(tape: Tape, input: Any, other: Any, **rest: Any) -> Any:  # noqa: A002  # torch's name
    found = _two(tape, input, other, rest, factor=False)
    return found if found is NotImplemented else input.copy_(found)


@rule(torch.mul, torch.Tensor.mul, torch.Tensor.__mul__, torch.Tensor.__rmul__)
def mul(tape: Tape, input: Any, other: Any, **rest: Any) -> Any:  # noqa: A002  # torch's name
    return _two(tape, input, other, rest, factor=True)


def _two(tape: Tape, first: Any, second: Any, rest: dict[str, Any], *, factor: bool) -> Any:
    if tape.number(first) is not None:
        first, second = second, first
    alone = isinstance(first, Tensor) and first.is_floating_point() and tape.number(first) is None
    if rest or tape.number(second) is None or not alone or first.dim() < second.dim():
        return NotImplemented
    return _affine(tape, first, second, None) if factor else _affine(tape, first, None, second)


@rule(torch.Tensor.expand)
def expand(tape: Tape, input: Tensor, *sizes: Any) -> Any:  # noqa: A002  # torch's name
    """A parameter repeated for each example, as a first token is: the same as adding it to zeros."""
    if tape.number(input) is None:
        return NotImplemented
    return _affine(tape, torch.zeros_like(input.detach()).expand(*sizes), None, input)
