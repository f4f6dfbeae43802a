"""What one parameter's gradients are made of, kept small: their lengths, and their weighted sum.

A part belongs to one parameter and a batch. It gives the squared length of each example's gradient without forming it
where that is cheaper, and the sum of the gradients times a factor for each example.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from tacit.learn.gradient.clipping import Factors
from tacit.learn.rounding import DOUBLE, SINGLE, block_rows, blocks, gamma

__all__ = ["Dense", "Lookup", "Outer", "Part", "floor", "merge", "roundoff", "summed", "wide"]

LONG = 2048  # squares that are added in single precision: a length is raised by a 16,000th for it
WIDTH = 128  # the same of longer rows, before the rest is added in double
UP = 1 + 2.0**-45  # more than a few operations in double precision may lose
LOST = 1e-150
ROUNDOFF = {torch.float32: SINGLE, torch.float64: DOUBLE}
ROOM = 2**21  # numbers that a slice of a product may take: about what a core's cache holds


def wide(tensor: Tensor) -> Tensor:
    """In single precision at least: half precision is never squared or added up."""
    return tensor.to(torch.promote_types(tensor.dtype, torch.float32))


class Part(ABC):
    """The gradients of one parameter, one for each example: exactly what the numbers that are kept multiply out to."""

    @abstractmethod
    def squares(self) -> Tensor:
        """The squared length of each gradient in double precision: never less than the exact one."""

    @abstractmethod
    def total(self, factors: Factors, cell: int, out: Tensor | None = None) -> Tensor:
        """Σ_i factors_i · gradient_i, off by no more than a cell of this size allows:
        in the precision of the gradients where that is enough, else in double. It may be written to `out`, a matrix of
        the parameter's shape."""

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
        return lengths(self.value).square_()

    def total(self, factors: Factors, cell: int, out: Tensor | None = None) -> Tensor:
        value = self.value
        if not enough(cell, roundoff(value)):
            value = value.double()
        own = factors.to(value.dtype)
        return summed(own[rows] @ value[rows] for rows in blocks(len(value), cell, 1, 1.0, roundoff(value)))

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
            return lengths(self.left[:, 0]).mul_(lengths(self.right[:, 0])).square_().mul_(UP)
        if positions * (rows + columns) < rows * columns:
            return self._by_gram()
        step = max(1, ROOM // (rows * columns))
        pairs = zip(self.left.split(step), self.right.split(step), strict=True)
        formed = torch.cat([lengths(_products(left, right)) for left, right in pairs])
        reach, unit = self.reach(), roundoff(self.left)
        return ((formed + gamma(positions, unit) * reach).square() + floor(unit) * reach.square()) * UP

    def reach(self) -> Tensor:
        """Σ_t ‖left_t‖‖right_t‖ of each example, which its length may be far below where positions cancel."""
        sizes = [lengths(each.flatten(0, 1)).view(each.shape[:2]) for each in (self.left, self.right)]
        return (sizes[0] * sizes[1]).sum(1) * UP

    def _by_gram(self) -> Tensor:
        """Σ_{s,t} (left_s·left_t)(right_s·right_t), and what its terms may lose when they cancel: the sum of terms of
        both signs is right to γ(d + p + 2T + 1) times the square of `reach`, not of itself."""
        unit = roundoff(self.left)
        terms = (self.left @ self.left.mT) * (self.right @ self.right.mT)
        lost = max(gamma(self.left.shape[2] + self.right.shape[2] + 2 * self.left.shape[1] + 16, unit), floor(unit))
        found: Tensor = terms.sum(2).sum(1).double().clamp(min=0.0) + lost * self.reach().square()
        return found * UP

    def total(self, factors: Factors, cell: int, out: Tensor | None = None) -> Tensor:
        return self.add_up(factors, cell, cancels=self.left.shape[1] > 1, out=out)

    def add_up(self, factors: Factors, cell: int, *, cancels: bool, out: Tensor | None = None) -> Tensor:
        """In the precision of the gradients; what may cancel, with other positions or other uses, in double."""
        left, right, positions = self.left, self.right, self.left.shape[1]
        ratio = floor(roundoff(left)) ** -0.5 if cancels else 1.0
        if cancels or not enough(cell, roundoff(left)):
            left, right = left.double(), right.double()
        own = factors.to(left.dtype)[:, None, None]
        if left.shape[2] < right.shape[2]:
            left = left * own
        else:
            right = right * own
        first, *rest = blocks(len(left), cell, positions, ratio, roundoff(left))
        out = out if out is not None and out.dtype == left.dtype else None
        found = torch.mm(left[first].flatten(0, 1).t(), right[first].flatten(0, 1), out=out)
        for rows in rest:
            found += left[rows].flatten(0, 1).t() @ right[rows].flatten(0, 1)
        return found

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
        """Equal rows are added up in double precision; where they cancel, as in `Outer`."""
        example, _, values = Lookup(self.rows, self.value.double(), self.size)._compact()
        found = values.new_zeros(len(self.rows)).index_add_(0, example, lengths(values).square())
        return (found + floor(roundoff(self.value)) * self.reach().square()) * UP

    def reach(self) -> Tensor:
        """The lengths at its positions, added up; 0 where there is one only, and nothing to cancel."""
        if self.rows.shape[1] == 1:
            return torch.zeros(len(self.rows), dtype=torch.float64, device=self.rows.device)
        return lengths(self.value.flatten(0, 1)).view(self.rows.shape).sum(1) * UP

    def total(self, factors: Factors, cell: int, out: Tensor | None = None) -> Tensor:
        scaled = self.value.double() * factors.exact[:, None, None]
        cuts = blocks(len(scaled), cell, self.rows.shape[1], floor(roundoff(self.value)) ** -0.5, DOUBLE)
        add = torch.ops.aten.embedding_dense_backward
        return summed(add(scaled[rows], self.rows[rows], self.size, -1, False) for rows in cuts)

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
        both = matrix + table + 2 * met.sum(2).sum(1).double()
        unit = roundoff(self.matrix.left)
        count = self.matrix.right.shape[2] + self.matrix.left.shape[1] + self.table.rows.shape[1] + 16
        most = self.matrix.reach() + lengths(self.table.value.flatten(0, 1)).view(self.table.rows.shape).sum(1)
        found: Tensor = both.clamp(min=0.0) + max(gamma(count, unit), floor(unit)) * most.square()
        return found * UP

    def total(self, factors: Factors, cell: int, out: Tensor | None = None) -> Tensor:
        """Two sums, each of which may be off by half as much."""
        return self.matrix.add_up(factors, 2 * cell, cancels=True) + self.table.total(factors, 2 * cell)

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


def enough(cell: int, unit: float) -> bool:
    """Whether rows of such a cell that are one vector each may be added in this precision."""
    return block_rows(cell, 1, 1.0, unit) >= 1


def summed(terms: Iterable[Tensor]) -> Tensor:
    """One after the other, in the precision that they have."""
    found, *rest = terms
    for each in rest:
        found += each
    return found


def roundoff(tensor: Tensor) -> float:
    """The unit roundoff of its precision."""
    return ROUNDOFF[tensor.dtype]


def floor(unit: float) -> float:
    """The share of a squared reach that a squared length is raised by: what is scaled is then at most the root of its
    inverse clips in reach, 1024 in single precision and 2^20 in double."""
    return 2.0**-20 if unit > DOUBLE else 2.0**-40


def lengths(vectors: Tensor) -> Tensor:
    """The length of each row, in double precision and rounded up.

    Up to LONG squares are added in the precision they have; of more, groups of WIDTH, and the groups in double. In
    single precision a square below 1.2e-38 may be lost; in double precision what is lost is below 1e-150 and of no
    account.
    """
    size, unit = vectors.shape[1], roundoff(vectors)
    if size <= LONG:
        found: Tensor = torch.linalg.vector_norm(vectors, dim=1).double()
        raised = 1 + gamma(size + 10, unit) / 2  # of a root half, and a little for the root itself
    else:
        whole = size // WIDTH * WIDTH
        parts = torch.linalg.vector_norm(vectors[:, :whole].unflatten(1, (-1, WIDTH)), dim=2)
        found = torch.linalg.vector_norm(parts, dim=1, dtype=torch.float64)
        if whole < size:
            found = torch.hypot(found, torch.linalg.vector_norm(vectors[:, whole:], dim=1).double())
        raised = (1 + gamma(WIDTH + 4, unit)) * (1 + gamma(size // WIDTH + 8, DOUBLE))
    return found.mul(raised * UP).add_(LOST if unit <= DOUBLE else (size * 1.2e-38) ** 0.5)


def _products(left: Tensor, right: Tensor) -> Tensor:
    return (left.mT @ right).flatten(1)


def _take(tensor: Tensor, index: Tensor) -> Tensor:
    """Examples by number, (group, member, …), zeros for −1."""
    mask = (index < 0).view(*index.shape, *[1] * (tensor.dim() - 1))
    return tensor[index.clamp(min=0)].masked_fill(mask, 0)
