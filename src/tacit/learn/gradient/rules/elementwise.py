"""What multiplies or shifts numbers one by one: the ends of all normalisations, and plain `x * w`, `x + b`."""

from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812  # torch's own name for it
from torch import Tensor

from tacit.base import InputError
from tacit.learn.gradient.layout import Layout, UnplacedError
from tacit.learn.gradient.part import Dense, Part, wide
from tacit.learn.gradient.tape import Tape, rule, taped

__all__ = ["add", "add_into", "batch_norm", "expand", "group_norm", "instance_norm", "layer_norm", "mul", "rms_norm"]


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


@rule(F.layer_norm)
def layer_norm(
    tape: Tape,
    input: Tensor,  # noqa: A002  # torch's name
    normalized_shape: Any,
    weight: Any = None,
    bias: Any = None,
    eps: float = 1e-5,
) -> Any:
    if not _learned(tape, weight, bias):
        return NotImplemented
    return _affine(tape, F.layer_norm(input, normalized_shape, None, None, eps), weight, bias)


@rule(F.rms_norm)
def rms_norm(tape: Tape, input: Tensor, normalized_shape: Any, weight: Any = None, eps: float | None = None) -> Any:  # noqa: A002  # torch's name
    if not _learned(tape, weight):
        return NotImplemented
    return _affine(tape, F.rms_norm(input, normalized_shape, None, eps), weight, None)


@rule(F.group_norm)
def group_norm(
    tape: Tape,
    input: Tensor,  # noqa: A002  # torch's name
    num_groups: int,
    weight: Any = None,
    bias: Any = None,
    eps: float = 1e-5,
) -> Any:
    if not _learned(tape, weight, bias):
        return NotImplemented
    return _affine(tape, F.group_norm(input, num_groups, None, None, eps), weight, bias, _channels(input))


@rule(F.instance_norm)
def instance_norm(
    tape: Tape,
    input: Tensor,  # noqa: A002  # torch's name
    running_mean: Any = None,
    running_var: Any = None,
    weight: Any = None,
    bias: Any = None,
    use_input_stats: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Any:
    if not _learned(tape, weight, bias):
        return NotImplemented
    plain = F.instance_norm(input, running_mean, running_var, None, None, use_input_stats, momentum, eps)
    return _affine(tape, plain, weight, bias, _channels(input))


def _channels(tensor: Tensor) -> tuple[int, ...]:
    return (-1, *(1 for _ in range(tensor.dim() - 2)))


@rule(F.batch_norm)
def batch_norm(
    tape: Tape,
    input: Tensor,  # noqa: A002  # torch's name
    running_mean: Any,
    running_var: Any,
    weight: Any = None,
    bias: Any = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Any:
    """With the statistics of the batch it mixes examples; with stored ones it is a factor and a shift."""
    if training:
        raise InputError("batch_norm mixes the examples of a batch: use GroupNorm or LayerNorm, or put it in eval mode")
    if not _learned(tape, weight, bias):
        return NotImplemented
    plain = F.batch_norm(input, running_mean, running_var, None, None, False, momentum, eps)
    return _affine(tape, plain, weight, bias, _channels(input))


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
