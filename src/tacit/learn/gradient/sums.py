"""The clipped sums of cells, added up as one flat vector."""

from collections.abc import Callable, Iterable

import torch
from torch import Tensor

__all__ = ["Sums"]


class Sums:
    """One number for each trainable number: a flat vector, and views of it in the shapes of the parameters. Each sum
    that is added is rounded once, to the precision of the vector. It is made when something is added, and is its
    taker's: what comes after `clear` is in another one."""

    def __init__(self, parameters: Iterable[Tensor], dtype: torch.dtype) -> None:
        self._like = tuple(parameters)
        self._dtype = max((dtype, *(each.dtype for each in self._like)), key=lambda kind: kind.itemsize)
        self.size = sum(each.numel() for each in self._like)
        self._room: Tensor | None = None
        self.clear()

    def clear(self) -> None:
        """Nothing was added."""
        self._flat: Tensor | None = None
        self._views: list[Tensor] = []
        self._filled = [False] * len(self._like)

    @property
    def used(self) -> bool:
        """Whether anything was added."""
        return any(self._filled)

    def put(self, number: int, form: Callable[[Tensor | None], Tensor]) -> None:
        """Add what `form` makes to one parameter's sum. It may be made in place, in a matrix that `form` is given."""
        view = self._made()[number]
        if self._filled[number]:
            view.add_(form(self._spare(view)).view(view.shape))
            return
        matrix = view if view.dim() == 2 else None
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
                self._filled = [True] * len(self._like)
                self.vector().copy_(other.vector())
            other._filled = [False] * len(other._like)

    def vector(self) -> Tensor:
        """All of it."""
        views = self._made()
        for number, filled in enumerate(self._filled):
            if not filled:
                views[number].zero_()
                self._filled[number] = True
        assert self._flat is not None
        return self._flat

    def views(self) -> tuple[Tensor, ...]:
        """All of it, in the shapes of the parameters."""
        self.vector()
        return tuple(self._views)

    def _made(self) -> list[Tensor]:
        if self._flat is None:
            self._flat = torch.empty(self.size, dtype=self._dtype, device=self._like[0].device)
            parts = self._flat.split([each.numel() for each in self._like])
            self._views = [part.view(each.shape) for part, each in zip(parts, self._like, strict=True)]
        return self._views

    def _spare(self, view: Tensor) -> Tensor | None:
        """A matrix of this shape, for what is then added."""
        if view.dim() != 2:
            return None
        if self._room is None:
            largest = max(each.numel() for each in self._like if each.dim() == 2)
            self._room = torch.empty(largest, dtype=view.dtype, device=view.device)
        return self._room[: view.numel()].view(view.shape)
