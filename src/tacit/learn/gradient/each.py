"""The gradient of each example, all of it: the definition one by one, and the same by torch.func.vmap."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import torch
from torch import Tensor, nn

__all__ = ["ROOM", "LossOf", "by_definition", "by_vmap"]

LossOf = Callable[..., Tensor]
ROOM = 2**23  # numbers that per-example gradients may take at a time


class ModelLoss(nn.Module):
    """A loss as a module, so that the model's parameters can be put in by name. It never leaves this file."""

    def __init__(self, model: nn.Module, loss: LossOf) -> None:
        super().__init__()
        self.model, self.loss = model, loss

    def forward(self, *inputs: Tensor) -> Any:
        return self.loss(self.model, *inputs)


def by_definition(model: nn.Module, loss: LossOf, inputs: tuple[Tensor, ...]) -> Iterator[tuple[Tensor, ...]]:
    """One forward and one backward for each example: slow, and right for whatever autograd can do."""
    parameters = [each for each in model.parameters() if each.requires_grad]
    for row in range(len(inputs[0])):
        with torch.enable_grad():
            value = loss(model, *(each[row : row + 1] for each in inputs)).sum()
            nothing = (None,) * len(parameters)
            found = torch.autograd.grad(value, parameters, allow_unused=True) if value.requires_grad else nothing
        yield tuple(torch.zeros_like(p) if g is None else g for p, g in zip(parameters, found, strict=True))


def by_vmap(
    model: nn.Module, loss: LossOf, inputs: tuple[Tensor, ...], *, names: Mapping[str, nn.Parameter]
) -> Iterator[tuple[Tensor, ...]]:
    """Gradients (example, …) of a few examples at a time, in the order of `names`."""
    wrapped = ModelLoss(model, loss)
    values = {f"model.{name}": each.detach() for name, each in names.items()}

    def one(weights: dict[str, Tensor], *row: Tensor) -> Tensor:
        found = torch.func.functional_call(wrapped, weights, tuple(each.unsqueeze(0) for each in row))
        return found.sum()  # type: ignore[no-any-return]  # of the one loss

    every = torch.func.vmap(torch.func.grad(one), in_dims=(None, *(0 for _ in inputs)), randomness="different")
    size = sum(each.numel() for each in values.values())
    for part in zip(*(each.split(max(1, ROOM // max(1, size))) for each in inputs), strict=True):
        found = every(values, *part)
        yield tuple(found[name] for name in values)
