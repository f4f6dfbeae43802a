"""A flat clip that counts how many gradients were shorter, for the adaptive clip."""

from collections.abc import Sequence

from torch import Tensor

from tacit.learn.gradient import Flat

__all__ = ["CountedFlat"]


class CountedFlat(Flat):
    """`counted` gives how many gradients were at most the clip since `set`. The count is private: it is released with
    noise, and nothing else of it."""

    def set(self, clip: float) -> None:
        """Another clip, from released numbers, and a count from 0."""
        Flat.__init__(self, clip)
        object.__setattr__(self, "_shorter", 0)

    def counted(self) -> int:
        return int(getattr(self, "_shorter", 0))

    def factors(self, squares: Tensor, layers: Sequence[str]) -> Tensor:
        shorter = int((squares.sum(0).sqrt() <= float(self.clip)).sum())
        object.__setattr__(self, "_shorter", self.counted() + shorter)
        return super().factors(squares, layers)
