"""From a model and a batch to the sum of clipped gradients."""

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext

import torch
from torch import Tensor, nn

from tacit.base import InputError
from tacit.learn.gradient import rules
from tacit.learn.gradient.check import Method, choose
from tacit.learn.gradient.clipping import DOWN, Clipping, Factors
from tacit.learn.gradient.each import LossOf, by_vmap
from tacit.learn.gradient.layout import UnplacedError
from tacit.learn.gradient.part import Dense, Part
from tacit.learn.gradient.shapes import InputShape
from tacit.learn.gradient.sums import Sums
from tacit.learn.gradient.tape import Tape, UntapedError
from tacit.learn.gradient.units import chunks
from tacit.learn.rounding import in_single

__all__ = ["Gradients"]

TINY = 1e-40  # a denormal number of single precision
RAISED = 1 + 2.0**-38  # more than adding up the squares of 30,000 parts may lose in double precision

assert rules.__all__  # importing them registers them


class Gradients:
    """The clipped sum of per-example gradients of one model.

    `loss(model, *inputs)` returns one number for each example, shape (batch,). The model stays as it is: no wrapper, no
    hook, the same class and the same state_dict.
    """

    def __init__(
        self,
        model: nn.Module,
        loss: LossOf,
        *,
        clipping: Clipping,
        shapes: Sequence[InputShape | tuple[int, ...]],
        chunk: int | None = None,
    ) -> None:
        self.model, self.loss, self.clipping, self.chunk = model, loss, clipping, chunk
        self.shapes = tuple(each if isinstance(each, InputShape) else InputShape(each) for each in shapes)
        self.parameters = {name: each for name, each in model.named_parameters() if each.requires_grad}
        if not self.parameters:
            raise InputError("the model has no trainable parameter: set requires_grad on what is to be learned")
        owners = [name.rpartition(".")[0] for name in self.parameters]
        self.layers = tuple(dict.fromkeys(owners))
        self._layer_of = [self.layers.index(each) for each in owners]
        self._method: Method | None = None
        clipping.fits(self.layers)

    def check(self) -> None:
        """Raise an InputError that names the layer unless this model can be trained; looks at made-up inputs only."""
        _full_precision()
        self._method = choose(self.model, self.loss, self.shapes)

    @property
    def method(self) -> Method:
        """How the gradients are found; the model is checked first if it has not been."""
        if self._method is None:
            self.check()
        assert self._method is not None
        return self._method

    @torch.no_grad()
    def clipped_sum(
        self,
        *inputs: Tensor,
        weights: Tensor | None = None,
        unit: Tensor | None = None,
        cell: int | None = None,
        into: Sums | None = None,
    ) -> tuple[Tensor, ...]:
        """Σ_i w_i · g_i · min(1, C/‖g_i‖) for each trainable parameter, in as much precision as the bound on rounding
        needs. No example: zeros. The sums are added to those of `into`.

        An example whose gradient is NaN or infinite adds nothing, nor does one with a number out of its declared range.
        `weights` are between 0 and 1. With `unit`, a whole number for each example, the examples of one unit are added
        up and clipped once. All are of one cell, of which `cell` says how many units it has; the rest of them come in
        other calls.
        """
        _full_precision()
        rows = len(inputs[0]) if inputs else 0
        size = max(rows, cell or 0)
        if into is None:
            short = unit is None and in_single([size], self.pieces(rows))
            into = self.sums(double=not short)
        for parts, squares, weight in self._batches(inputs, unit, weights):
            factors = self.clipping.scale(squares, self.layers)
            if not factors.all():
                bad = (factors == 0).any(0)
                parts = {number: part.without(bad) for number, part in parts.items()}
            if weight is not None:
                factors = factors * weight * DOWN
            layers = Factors.rows(factors)
            with self._exact():
                for number, part in parts.items():
                    own = layers[self._layer_of[number]]
                    into.put(number, lambda out, part=part, own=own: part.total(own, size, out))  # type: ignore[misc]
        return into.views()

    def sums(self, *, double: bool = False) -> Sums:
        """Room for the sums of a step."""
        return Sums(self.parameters.values(), torch.float64 if double else torch.float32)

    def pieces(self, rows: int) -> int:
        """In how many pieces so many examples of one cell are walked."""
        return max(1, -(-rows // (self.chunk or self.method.chunk)))

    @torch.no_grad()
    def norms(self, *inputs: Tensor, unit: Tensor | None = None) -> Tensor:
        """The length of each example's gradient, before clipping. Private: for tests, never to be shown."""
        found = [squares.sum(0).sqrt() for _, squares, _ in self._batches(inputs, unit, None)]
        return torch.cat(found) if found else torch.zeros(0)

    def _batches(
        self,
        inputs: tuple[Tensor, ...],
        unit: Tensor | None,
        weights: Tensor | None,
    ) -> Iterator[tuple[dict[int, Part], Tensor, Tensor | None]]:
        """A chunk at a time: gradients by parameter, squared lengths (layer, example), and weights."""
        if len(inputs) != len(self.shapes):
            raise InputError(f"{len(inputs)} inputs were given, but {len(self.shapes)} shapes were declared")
        for number, (each, shape) in enumerate(zip(inputs, self.shapes, strict=True)):
            shape.accepts(each, f"input {number}")
            if len(each) != len(inputs[0]):
                raise InputError(f"input {number} has {len(each)} examples, the first has {len(inputs[0])}")
        if weights is not None and (unit is not None or weights.shape != (len(inputs[0]),)):
            raise InputError("weights must hold one number for each example, and do not go with unit")
        if weights is not None and not bool(((weights >= 0) & (weights <= 1)).all()):
            raise InputError("weights must be between 0 and 1: a larger one would pass the clip")
        for rows, index in chunks(len(inputs[0]), unit, self.chunk or self.method.chunk):
            part = tuple(each[rows] for each in inputs)
            pairs = list(zip(self.shapes, part, strict=True))
            if all(shape.holds(each) for shape, each in pairs):
                parts = self._parts(part)
            else:
                outside = torch.stack([shape.outside(each) for shape, each in pairs]).any(0)
                part = tuple(each.masked_fill(outside.view(-1, *[1] * (each.dim() - 1)), 0) for each in part)
                parts = {number: each.without(outside) for number, each in self._parts(part).items()}
            if index is not None:
                with self._exact():
                    parts = {number: each.grouped(index) for number, each in parts.items()}
            count = len(part[0]) if index is None else len(index)
            yield parts, self._squares(parts, count), None if weights is None else weights[rows]

    def _parts(self, inputs: tuple[Tensor, ...]) -> dict[int, Part]:
        layouts = self.method.layouts
        if layouts is not None:
            try:
                tape = Tape(self.parameters.values(), rows=len(inputs[0]), layouts=layouts)
                with torch.enable_grad(), tape:
                    losses = self.loss(self.model, *inputs)
                if losses.shape != (len(inputs[0]),):
                    raise InputError("the loss must return one number for each example")
                with self._exact():
                    return tape.read(losses)
            except (UntapedError, UnplacedError):
                pass  # this batch takes a way that the made-up ones did not
        found: dict[int, list[Part]] = {number: [] for number in range(len(self.parameters))}
        for part in by_vmap(self.model, self.loss, inputs, names=self.parameters):
            for number, each in enumerate(part):
                found[number].append(Dense(each.reshape(len(each), -1).to(_wide(each))))
        return {number: Dense(torch.cat([each.dense() for each in parts])) for number, parts in found.items()}

    def _squares(self, parts: dict[int, Part], count: int) -> Tensor:
        first = next(iter(self.parameters.values()))
        found = [torch.zeros(count, dtype=torch.float64, device=first.device) for _ in self.layers]
        with self._exact():
            for number, part in parts.items():
                found[self._layer_of[number]] += part.squares()
        return torch.stack(found).mul_(RAISED)

    def _exact(self) -> AbstractContextManager[object]:
        """Lengths and sums keep their precision where autocast is on around the step: it is for the loss alone."""
        kind = next(iter(self.parameters.values())).device.type
        return torch.autocast(kind, enabled=False) if torch.is_autocast_enabled(kind) else nullcontext()


def _full_precision() -> None:
    """Raise where torch was told to lose precision that the bound on rounding counts on."""
    try:
        full = torch.get_float32_matmul_precision() == "highest"
    except RuntimeError:  # told so for one library apart, in torch.backends
        full = False
    if not full:
        raise InputError(
            "torch is told to multiply matrices in less than single precision, which the bound on rounding does not "
            "cover: call torch.set_float32_matmul_precision('highest') and leave fp32_precision of torch.backends "
            "alone; torch.autocast is allowed"
        )
    if not torch.tensor(TINY).mul(1.0).item():
        raise InputError(
            "torch is told to take very small numbers for zero, which the bound on rounding does not cover: call "
            "torch.set_flush_denormal(False)"
        )


def _wide(tensor: Tensor) -> torch.dtype:
    """The dtype of gradients: single precision, or double where the parameters are."""
    return torch.promote_types(tensor.dtype, torch.float32)
