"""What the inputs of a loss look like: enough to make some up, and never a row of data."""

from dataclasses import dataclass

import torch
from torch import Tensor

from tacit.base import InputError, whole

__all__ = ["InputShape"]

SEED = 18  # of made-up inputs, which hold nothing to hide


@dataclass(frozen=True)
class InputShape:
    """One input of the loss, of one example: `InputShape((28, 28))` is a picture, `InputShape((), below=10)` a label.

    With `below` the input holds whole numbers from 0 up to that (labels, tokens), or `ignored`; without it, reals.
    """

    size: tuple[int, ...] = ()
    below: int | None = None
    ignored: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "size", tuple(whole(each, "size", least=1) for each in self.size))
        if self.below is not None:
            object.__setattr__(self, "below", whole(self.below, "below", least=1))

    def __str__(self) -> str:
        if not self.size:
            return "a real" if self.below is None else f"a whole number below {self.below:,}"
        return f"{'reals' if self.below is None else f'whole numbers below {self.below:,}'} of shape {self.size}"

    def invent(self, rows: int, dtype: torch.dtype, *, turn: int = 0) -> Tensor:
        """Made-up inputs of so many examples; another `turn` gives others."""
        source = torch.Generator().manual_seed(SEED + turn)
        size = (rows, *self.size)
        if self.below is None:
            return torch.randn(size, generator=source, dtype=torch.float64).to(dtype)
        return torch.randint(self.below, size, generator=source)

    def accepts(self, tensor: Tensor, name: str) -> None:
        """Raise unless `tensor` is a batch of such inputs; lengths may differ, the number of axes may not."""
        if tensor.dim() != len(self.size) + 1:
            raise InputError(
                f"{name} has {tensor.dim()} axes, but {len(self.size) + 1} were declared: "
                "the examples, then the axes of the InputShape"
            )
        if (self.below is None) != tensor.is_floating_point():
            kind = "reals" if self.below is None else "whole numbers"
            raise InputError(
                f"{name} is of {tensor.dtype}, but {kind} were declared: convert it, or mend its InputShape"
            )

    def holds(self, batch: Tensor) -> bool:
        """Whether all whole numbers are in the declared range; False may be told of some that are `ignored`."""
        if self.below is None or not batch.numel():
            return True
        least, most = torch.aminmax(batch)
        return int(least) >= 0 and int(most) < self.below

    def outside(self, batch: Tensor) -> Tensor:
        """The examples that hold a whole number out of the declared range: they count as if they were not there."""
        if self.below is None:
            return torch.zeros(len(batch), dtype=torch.bool, device=batch.device)
        wrong = (batch < 0) | (batch >= self.below)
        if self.ignored is not None:
            wrong &= batch != self.ignored
        return wrong.reshape(len(batch), -1).any(1)
