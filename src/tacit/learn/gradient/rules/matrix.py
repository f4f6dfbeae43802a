"""Matrices and tables: linear, matmul, embedding."""

from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812  # torch's own name for it
from torch import Tensor

from tacit.base import InputError
from tacit.learn.gradient.layout import Layout
from tacit.learn.gradient.part import Dense, Lookup, Outer, Part, wide
from tacit.learn.gradient.tape import Tape, rule, taped

__all__ = ["embedding", "embedding_bag", "linear", "matmul"]


def _positions(tensor: Tensor, layout: Layout, rows: int) -> Tensor:
    """(example, position, number)."""
    first = wide(layout.examples_first(tensor, rows))
    return first.unsqueeze(1) if first.dim() == 2 else first.flatten(1, -2)


def _matrix(left: Tensor, right: Tensor) -> Part:
    """As products of vectors; as it is where that takes at most twice the room, since it is found only once then."""
    found = Outer(left, right)
    positions, rows, columns = left.shape[1], left.shape[2], right.shape[2]
    return Dense(found.dense()) if positions > 1 and rows * columns <= 2 * positions * (rows + columns) else found


class TapedLinear(torch.autograd.Function):
    """x Wᵀ + b (or x W) with what W and b get kept on a tape."""

    @staticmethod
    def forward(ctx: Any, anchor: Tensor, x: Tensor, weight: Tensor, bias: Any, use: "LinearUse") -> Tensor:
        ctx.save_for_backward(x, weight)
        ctx.use = use
        return x @ weight if use.transposed else F.linear(x, weight, bias)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, back: Tensor) -> Any:
        x, weight = ctx.saved_tensors
        ctx.use.keep(x, back)
        given = (
            back @ (weight.t() if ctx.use.transposed else weight).to(back.dtype) if ctx.needs_input_grad[1] else None
        )
        return None, given, None, None, None


class LinearUse:
    """One use of a weight and a bias, either of which may be frozen."""

    def __init__(self, tape: Tape, weight: int | None, bias: int | None, *, transposed: bool = False) -> None:
        self.tape, self.weight, self.bias, self.transposed = tape, weight, bias, transposed

    def keep(self, x: Tensor, back: Tensor) -> None:
        rows = self.tape.rows

        def matrix(layout: Layout) -> Part:
            left, right = _positions(back, layout, rows), _positions(x, layout, rows)
            return _matrix(right, left) if self.transposed else _matrix(left, right)

        def shift(layout: Layout) -> Part:
            each = _positions(back, layout, rows)
            return Dense(each.sum(1) if each.shape[1] > 1 else each[:, 0])

        if self.weight is not None:
            self.tape.keep(self.weight, "linear", back, matrix)
        if self.bias is not None:
            self.tape.keep(self.bias, "shift", back, shift)


@rule(F.linear)
def linear(tape: Tape, input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Any:  # noqa: A002  # torch's name
    numbers = tape.number(weight), tape.number(bias)
    if numbers == (None, None) or input.dim() < 2:
        return NotImplemented
    plain = None if bias is None else bias.detach()
    return taped(TapedLinear, tape.anchor, input, weight.detach(), plain, LinearUse(tape, *numbers))


@rule(torch.matmul, torch.Tensor.matmul, torch.Tensor.__matmul__, torch.mm, torch.Tensor.mm)
def matmul(tape: Tape, input: Tensor, other: Tensor) -> Any:  # noqa: A002  # torch's name
    number = tape.number(other)
    if number is None or input.dim() < 2 or other.dim() != 2:
        return NotImplemented
    return taped(TapedLinear, tape.anchor, input, other.detach(), None, LinearUse(tape, number, None, transposed=True))


class TapedLookup(torch.autograd.Function):
    """Rows of a table, with what they get kept on a tape."""

    @staticmethod
    def forward(ctx: Any, anchor: Tensor, rows: Tensor, table: Tensor, use: "LookupUse") -> Tensor:
        ctx.save_for_backward(rows)
        ctx.use = use
        return F.embedding(rows, table)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, back: Tensor) -> Any:
        ctx.use.keep(ctx.saved_tensors[0], back)
        return None, None, None, None


class LookupUse:
    """One use of a table; the row `padding` gets no gradient."""

    def __init__(self, tape: Tape, number: int, size: int, padding: int | None) -> None:
        self.tape, self.number, self.size, self.padding = tape, number, size, padding

    def keep(self, rows: Tensor, back: Tensor) -> None:
        def table(layout: Layout) -> Part:
            value = _positions(back, layout, self.tape.rows)
            index = layout.examples_first(rows, self.tape.rows).reshape(value.shape[:2])
            if self.padding is not None:
                value = value.masked_fill((index == self.padding)[..., None], 0.0)
            return Lookup(index, value, self.size)

        self.tape.keep(self.number, "lookup", back, table)


@rule(F.embedding)
def embedding(
    tape: Tape,
    input: Tensor,  # noqa: A002  # torch's name
    weight: Tensor,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Any:
    """`sparse` is how torch would store the gradient; ours is a sum over many examples, with noise on every row."""
    if max_norm is not None:
        raise InputError("an embedding with max_norm rewrites the rows that examples use, without noise: leave it out")
    number = tape.number(weight)
    if number is None or input.dim() < 1:
        return NotImplemented
    if scale_grad_by_freq:
        raise InputError("an embedding with scale_grad_by_freq divides by counts over the batch: leave it out")
    if padding_idx is not None and padding_idx < 0:
        padding_idx += weight.shape[0]
    return taped(
        TapedLookup, tape.anchor, input, weight.detach(), LookupUse(tape, number, weight.shape[0], padding_idx)
    )


@rule(F.embedding_bag)
def embedding_bag(
    tape: Tape,
    input: Tensor,  # noqa: A002  # torch's name
    weight: Tensor,
    offsets: Tensor | None = None,
    max_norm: float | None = None,
    norm_type: float = 2,
    scale_grad_by_freq: bool = False,
    mode: str = "mean",
    sparse: bool = False,
    per_sample_weights: Tensor | None = None,
    include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> Any:
    """Bags of one length as a lookup and a reduction; bags by offsets are left alone."""
    if tape.number(weight) is None or input.dim() != 2:
        if max_norm is not None:
            raise InputError("an embedding with max_norm rewrites the rows that examples use: leave it out")
        return NotImplemented
    found = embedding(tape, input, weight, padding_idx, max_norm, norm_type, scale_grad_by_freq)
    absent = None if padding_idx is None else (input == padding_idx % weight.shape[0])[..., None]
    if mode == "max":
        if absent is None:
            return found.amax(1) if input.shape[1] == 0 else found.max(1).values
        best = found.masked_fill(absent, float("-inf")).max(1).values
        return best.masked_fill(absent.all(1), 0.0)
    if per_sample_weights is not None:
        found = found * per_sample_weights[..., None]
    if absent is None:
        return found.sum(1) if mode == "sum" else found.mean(1)
    total = found.masked_fill(absent, 0.0).sum(1)
    return total if mode == "sum" else total / (~absent).sum(1).clamp(min=1)
