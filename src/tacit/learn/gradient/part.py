"""What one parameter's gradients are made of, kept small: their lengths, and their weighted sum.

A part belongs to one parameter and a batch. It gives the squared length of each example's gradient without forming it
where that is cheaper, and the sum of the gradients times a factor for each example.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

__all__ = ["Dense", "Lookup", "Outer", "Part", "merge", "put", "wide"]

ROOM = 2**21  # numbers that a slice of a product may take: about what a core's cache holds


def wide(tensor: Tensor) -> Tensor:
    """In single precision at least: half precision is never squared or added up."""
    return tensor.to(torch.promote_types(tensor.dtype, torch.float32))


class Part(ABC):
    """The gradients of one parameter, one for each example."""

    @abstractmethod
    def squares(self) -> Tensor:
        """The squared length of each gradient, never too small by more than rounding."""

    @abstractmethod
    def add_to(self, total: Tensor, factors: Tensor, *, first: bool = False) -> None:
        """Add Σ_i factors_i · gradient_i to `total`, which has the parameter's shape and is unset when `first`."""

    @abstractmethod
    def dense(self) -> Tensor:
        """All of them, (example, numbers)."""

    @abstractmethod
    def without(self, bad: Tensor) -> "Part":
        """The same with zeros for the examples marked."""

    @abstractmethod
    def grouped(self, index: Tensor) -> "Part":
        """One gradient for each row of `index`: the sum over the examples named there; −1 names none."""


@dataclass(frozen=True)
class Dense(Part):
    """Gradients as they are, (example, numbers)."""

    value: Tensor

    def squares(self) -> Tensor:
        found: Tensor = torch.linalg.vector_norm(self.value, dim=1).square()
        return found

    def add_to(self, total: Tensor, factors: Tensor, *, first: bool = False) -> None:
        total.view(1, -1).addmm_(factors[None], self.value.to(total.dtype), beta=0 if first else 1)

    def dense(self) -> Tensor:
        return self.value

    def without(self, bad: Tensor) -> "Dense":
        return Dense(self.value.masked_fill(bad[:, None], 0.0))

    def grouped(self, index: Tensor) -> "Dense":
        return Dense(_take(self.value, index).sum(1))


@dataclass(frozen=True)
class Outer(Part):
    """Σ_t left_t ⊗ right_t for each example: left is (example, position, rows), right (example, position, columns)."""

    left: Tensor
    right: Tensor

    def squares(self) -> Tensor:
        positions, rows, columns = self.left.shape[1], self.left.shape[2], self.right.shape[2]
        if positions == 1:
            return _square(self.left[:, 0]) * _square(self.right[:, 0])
        if positions * (rows + columns) < rows * columns:
            return self._by_gram()
        step = max(1, ROOM // (rows * columns))
        pairs = zip(self.left.split(step), self.right.split(step), strict=True)
        return torch.cat([Dense(_products(left, right)).squares() for left, right in pairs])

    def _by_gram(self) -> Tensor:
        """Σ_{s,t} (left_s·left_t)(right_s·right_t), and what its terms may lose when they cancel.

        The sum of terms of both signs is right to `lost` times the square of Σ_t ‖left_t‖‖right_t‖, not of itself.
        """
        terms = (self.left @ self.left.mT) * (self.right @ self.right.mT)
        most = (self.left.norm(dim=2) * self.right.norm(dim=2)).sum(1)
        count = self.left.shape[2] + self.right.shape[2] + 2 * self.left.shape[1] + 16
        lost = count * torch.finfo(terms.dtype).eps / 2
        found: Tensor = terms.sum(2).sum(1).clamp(min=0.0) + lost * most.square()
        return found

    def add_to(self, total: Tensor, factors: Tensor, *, first: bool = False) -> None:
        left, right = self.left.to(total.dtype), self.right.to(total.dtype)
        factor = factors[:, None, None]
        if left.shape[2] < right.shape[2]:
            left = left * factor
        else:
            right = right * factor
        total.addmm_(left.flatten(0, 1).t(), right.flatten(0, 1), beta=0 if first else 1)

    def dense(self) -> Tensor:
        return _products(self.left, self.right)

    def without(self, bad: Tensor) -> "Outer":
        mask = bad[:, None, None]
        return Outer(self.left.masked_fill(mask, 0.0), self.right.masked_fill(mask, 0.0))

    def grouped(self, index: Tensor) -> "Outer":
        return Outer(_take(self.left, index).flatten(1, 2), _take(self.right, index).flatten(1, 2))


@dataclass(frozen=True)
class Lookup(Part):
    """Rows of a table: the gradient of example i has `value[i, t]` added to its row `rows[i, t]`."""

    rows: Tensor
    value: Tensor
    size: int

    def _compact(self) -> tuple[Tensor, Tensor, Tensor]:
        """Equal rows of one example added up: (example, row, value) of each that occurs."""
        if self.rows.shape[1] == 1:
            return torch.arange(len(self.rows), device=self.rows.device), self.rows[:, 0], self.value[:, 0]
        place = torch.arange(len(self.rows), device=self.rows.device)[:, None] * self.size + self.rows
        found, where = torch.unique(place, return_inverse=True)
        values = self.value.new_zeros(len(found), self.value.shape[2])
        values.index_add_(0, where.flatten(), self.value.flatten(0, 1))
        return found // self.size, found % self.size, values

    def squares(self) -> Tensor:
        example, _, values = self._compact()
        return self.value.new_zeros(len(self.rows)).index_add_(0, example, values.square().sum(1))

    def add_to(self, total: Tensor, factors: Tensor, *, first: bool = False) -> None:
        scaled = self.value.to(total.dtype) * factors[:, None, None]
        found = torch.ops.aten.embedding_dense_backward(scaled, self.rows, self.size, -1, False)
        put(total, found, first=first)

    def dense(self) -> Tensor:
        example, row, values = self._compact()
        found = self.value.new_zeros(len(self.rows), self.size, self.value.shape[2])
        found[example, row] = values
        return found.flatten(1)

    def without(self, bad: Tensor) -> "Lookup":
        return Lookup(self.rows, self.value.masked_fill(bad[:, None, None], 0.0), self.size)

    def grouped(self, index: Tensor) -> "Lookup":
        return Lookup(_take(self.rows, index).flatten(1, 2), _take(self.value, index).flatten(1, 2), self.size)


@dataclass(frozen=True)
class Tied(Part):
    """A table that is also a matrix: both kinds of gradient of one parameter, and the product of the two."""

    matrix: Outer
    table: Lookup

    def squares(self) -> Tensor:
        matrix, table = self.matrix.squares(), self.table.squares()
        # ⟨Σ_t left_t ⊗ right_t, Σ_s e_row(s) ⊗ value_s⟩ = Σ_{s,t} left_t[row(s)] · (right_t·value_s)
        index = self.table.rows[:, None, :].expand(-1, self.matrix.left.shape[1], -1)
        met = self.matrix.left.gather(2, index) * (self.matrix.right @ self.table.value.mT)
        both = matrix + table + 2 * met.sum(2).sum(1)
        most = (self.matrix.left.norm(dim=2) * self.matrix.right.norm(dim=2)).sum(1) + self.table.value.norm(dim=2).sum(
            1
        )
        count = self.matrix.right.shape[2] + self.matrix.left.shape[1] + self.table.rows.shape[1] + 16
        found: Tensor = both.clamp(min=0.0) + count * torch.finfo(both.dtype).eps / 2 * most.square()
        return found

    def add_to(self, total: Tensor, factors: Tensor, *, first: bool = False) -> None:
        self.matrix.add_to(total, factors, first=first)
        self.table.add_to(total, factors)

    def dense(self) -> Tensor:
        return self.matrix.dense() + self.table.dense()

    def without(self, bad: Tensor) -> "Tied":
        return Tied(self.matrix.without(bad), self.table.without(bad))

    def grouped(self, index: Tensor) -> "Tied":
        return Tied(self.matrix.grouped(index), self.table.grouped(index))


def merge(parts: Sequence[Part]) -> Part:
    """One part for all uses of a parameter: their gradients add up before their length is taken."""
    if len(parts) == 1:
        return parts[0]
    outers = [each for each in parts if isinstance(each, Outer)]
    tables = [each for each in parts if isinstance(each, Lookup)]
    if len(outers) + len(tables) < len(parts):
        return Dense(torch.stack([each.dense() for each in parts]).sum(0))
    if not tables:
        return _stack(outers)
    rows, values = [each.rows for each in tables], [each.value for each in tables]
    table = Lookup(torch.cat(rows, 1), torch.cat(values, 1), tables[0].size)
    return Tied(_stack(outers), table) if outers else table


def _stack(outers: Sequence[Outer]) -> Outer:
    """Uses as further positions of one."""
    return Outer(torch.cat([each.left for each in outers], 1), torch.cat([each.right for each in outers], 1))


def put(total: Tensor, found: Tensor, *, first: bool) -> None:
    """Set or add."""
    if first:
        total.copy_(found)
    else:
        total += found


def _products(left: Tensor, right: Tensor) -> Tensor:
    return (left.mT @ right).flatten(1)


def _square(vectors: Tensor) -> Tensor:
    """‖·‖² of each row, floored so that a product of two is not lost where one of them underflows."""
    found: Tensor = torch.linalg.vector_norm(vectors, dim=1).square().clamp(min=1e-36)
    return found


def _take(tensor: Tensor, index: Tensor) -> Tensor:
    """Examples by number, (group, member, …), zeros for −1."""
    mask = (index < 0).view(*index.shape, *[1] * (tensor.dim() - 1))
    return tensor[index.clamp(min=0)].masked_fill(mask, 0)
