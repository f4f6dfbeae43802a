"""From a model and a batch to the sum of clipped gradients."""

from collections.abc import Iterator, Sequence

import torch
from torch import Tensor, nn

from tacit.base import InputError
from tacit.learn.gradient.clipping import Clipping
from tacit.learn.gradient.each import LossOf, by_vmap
from tacit.learn.gradient.shapes import InputShape

__all__ = ["Gradients"]


class Gradients:
    """The clipped sum of per-example gradients of one model.

    `loss(model, *inputs)` returns one number for each example, shape (batch,). The model stays as it is: no wrapper, no
    hook, the same class and the same state_dict.
    """

    def __init__(
        self, model: nn.Module, loss: LossOf, *, clipping: Clipping, shapes: Sequence[InputShape | tuple[int, ...]]
    ) -> None:
        self.model, self.loss, self.clipping = model, loss, clipping
        self.shapes = tuple(each if isinstance(each, InputShape) else InputShape(each) for each in shapes)
        self.parameters = {name: each for name, each in model.named_parameters() if each.requires_grad}
        if not self.parameters:
            raise InputError("the model has no trainable parameter: set requires_grad on what is to be learned")
        owners = [name.rpartition(".")[0] for name in self.parameters]
        self.layers = tuple(dict.fromkeys(owners))
        self._layer_of = [self.layers.index(each) for each in owners]
        clipping.fits(self.layers)

    def check(self) -> None:
        """Raise an InputError that names the layer unless this model can be trained; looks at made-up inputs only."""

    def close(self) -> None:
        """Leave the model as it was."""

    def clipped_sum(self, *inputs: Tensor, weights: Tensor | None = None) -> tuple[Tensor, ...]:
        """Σ_i w_i · g_i · min(1, C/‖g_i‖), a tensor for each trainable parameter. No example: zeros.

        An example whose gradient is NaN or infinite adds nothing. `weights` are between 0 and 1.
        """
        sums = [torch.zeros_like(each, dtype=_wide(each)) for each in self.parameters.values()]
        start = 0
        for part in self._each(inputs):
            factors = self.clipping.scale(self._squares(part), self.layers)
            if weights is not None:
                factors = factors * weights[start : start + factors.shape[1]]
            start += factors.shape[1]
            for total, each, layer in zip(sums, part, self._layer_of, strict=True):
                factor = factors[layer].to(total.dtype)
                safe = each.flatten(1).to(total.dtype).masked_fill((factor == 0)[:, None], 0.0)
                total += (factor @ safe).view_as(total)
        return tuple(sums)

    def norms(self, *inputs: Tensor) -> Tensor:
        """The length of each example's gradient, before clipping. Private: for tests, never to be shown."""
        found = [self._squares(part).sum(0).sqrt() for part in self._each(inputs)]
        return torch.cat(found) if found else torch.zeros(0)

    def _each(self, inputs: tuple[Tensor, ...]) -> Iterator[tuple[Tensor, ...]]:
        if len(inputs[0]):
            yield from by_vmap(self.model, self.loss, inputs, names=self.parameters)

    def _squares(self, part: tuple[Tensor, ...]) -> Tensor:
        squares = torch.zeros(len(self.layers), len(part[0]), dtype=_wide(part[0]))
        for each, layer in zip(part, self._layer_of, strict=True):
            squares[layer] += each.flatten(1).to(squares.dtype).square().sum(1)
        return squares


def _wide(tensor: Tensor) -> torch.dtype:
    """The dtype of sums: single precision, or double where the parameters are."""
    return torch.promote_types(tensor.dtype, torch.float32)
