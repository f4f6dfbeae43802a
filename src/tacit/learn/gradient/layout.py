"""Where the examples of a batch are in a tensor: found on made-up batches of two sizes, never guessed from data."""

from collections.abc import Sequence
from dataclasses import dataclass

from torch import Tensor

__all__ = ["Layout", "UnplacedError", "place"]


class UnplacedError(Exception):
    """A tensor whose examples cannot be told apart: the model goes by vmap instead."""


@dataclass(frozen=True)
class Layout:
    """Examples lie along `axis`, alone or with their positions: `together` when those of one example are neighbours."""

    axis: int
    together: bool = True

    def examples_first(self, tensor: Tensor, rows: int) -> Tensor:
        """The same numbers with the examples as the first axis."""
        size = tensor.shape[self.axis] if self.axis < tensor.dim() else -1
        if size == rows:
            return tensor.movedim(self.axis, 0) if self.axis else tensor
        if size < rows or size % rows:
            raise UnplacedError(f"an axis of {size} numbers for {rows} examples")
        if self.together:
            found: Tensor = tensor.unflatten(self.axis, (rows, size // rows)).movedim(self.axis, 0)
        else:
            found = tensor.unflatten(self.axis, (size // rows, rows)).movedim(self.axis + 1, 0)
        return found


def place(few: Sequence[Sequence[Tensor]], many: Sequence[Tensor], sizes: tuple[int, int]) -> Layout:
    """The layout of a parameter's uses, from what flows back to them in batches of two sizes.

    `few[i]` are the gradients at the outputs of the uses when only loss i of the first batch is asked for, and `many`
    those of the second batch.
    """
    uses = zip(zip(*few, strict=True), many, strict=True)
    layouts = {_one(parts, other, sizes) for parts, other in uses}
    if len(layouts) != 1:
        raise UnplacedError("uses of one parameter hold their examples in different places")
    return layouts.pop()


def _one(few: Sequence[Tensor], many: Tensor, sizes: tuple[int, int]) -> Layout:
    shape = few[0].shape
    axes = [axis for axis in range(len(shape)) if shape[axis] != many.shape[axis]]
    if len(axes) != 1:
        raise UnplacedError("no axis, or more than one, grows with the batch")
    axis = axes[0]
    size, rest = divmod(shape[axis], sizes[0])
    if rest or size * sizes[1] != many.shape[axis]:
        raise UnplacedError("an axis does not grow in step with the batch")
    touched = [each.movedim(axis, 0).flatten(1).ne(0).any(1).nonzero().flatten().tolist() for each in few]
    together = all(row // size == example for example, rows in enumerate(touched) for row in rows)
    apart = all(row % sizes[0] == example for example, rows in enumerate(touched) for row in rows)
    if size > 1 and together == apart:
        raise UnplacedError("examples lie neither side by side nor a fixed step apart")
    if not together and not apart:
        raise UnplacedError("what flows back to one example comes from another")
    return Layout(axis, together=together)
