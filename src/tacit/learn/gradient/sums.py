"""The clipped sums of cells, added up as one flat vector."""

from collections.abc import Callable, Iterable

import torch
from torch import Tensor

__all__ = ["Sums"]


class Sums:
    """One number for each trainable number: `flat`, and `views` of it in the shapes of the parameters. Each sum that is
    added is rounded once, to the precision of `flat`."""

    def __init__(self, parameters: Iterable[Tensor], dtype: torch.dtype) -> None:
        own = tuple(parameters)
        sizes, kinds = [each.numel() for each in own], (each.dtype for each in own)
        dtype = max((dtype, *kinds), key=lambda kind: kind.itemsize)
        self.flat = torch.zeros(sum(sizes), dtype=dtype, device=own[0].device)
        self.views = [part.view(each.shape) for part, each in zip(self.flat.split(sizes), own, strict=True)]
        self._matrices = [each if each.dim() == 2 else None for each in self.views]
        largest = max((each.numel() for each in self._matrices if each is not None), default=0)
        self._room = torch.empty(largest, dtype=dtype, device=own[0].device)
        self.clear()

    def clear(self) -> None:
        """Nothing was added."""
        self._filled = [False] * len(self.views)

    @property
    def used(self) -> bool:
        """Whether anything was added."""
        return any(self._filled)

    def put(self, number: int, form: Callable[[Tensor | None], Tensor]) -> None:
        """Add what `form` makes to one parameter's sum. It may be made in place, in a matrix that `form` is given."""
        view, matrix = self.views[number], self._matrices[number]
        if self._filled[number]:
            room = None if matrix is None else self._room[: view.numel()].view(view.shape)
            view.add_(form(room).view(view.shape))
            return
        made = form(matrix)
        if made is not matrix:
            view.copy_(made.view(view.shape))
        self._filled[number] = True

    def take(self, other: "Sums") -> None:
        """Add all of another, which is then empty."""
        if other.used:
            if self.used:
                self.vector().add_(other.vector())
            else:
                self.flat.copy_(other.vector())
            self._filled = [True] * len(self.views)
            other.clear()

    def vector(self) -> Tensor:
        """All of it. It is overwritten by what comes after `clear`."""
        for number, filled in enumerate(self._filled):
            if not filled:
                self.views[number].zero_()
                self._filled[number] = True
        return self.flat
