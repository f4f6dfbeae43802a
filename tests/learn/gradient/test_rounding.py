"""What is proven of rounding: lengths are never too short, factors never too large, sums no further off than is priced.

Truth is computed with whole numbers: every number of a computer is one, times a power of two.
"""

from fractions import Fraction
from math import isqrt
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from support.fixed_rng import FixedRng
from support.networks import cross_entropy
from tacit.learn.gradient import Gradients, InputShape
from tacit.learn.gradient.clipping import Factors, Flat, rounded_down
from tacit.learn.gradient.part import LONG, Dense, Lookup, Outer, Part, Tied, lengths
from tacit.learn.gradient.sums import Sums
from tacit.learn.rounding import (
    ACROSS,
    CELL,
    DOUBLE,
    GROUP,
    MINOR,
    SHARE,
    SINGLE,
    SLACK,
    block_rows,
    blocks,
    cell_count,
    gamma,
    in_single,
)
from tacit.learn.rows import ArrayExamples, InputSize
from tacit.learn.run import TrainingRun

FINE = 2**80


def exactly(tensor: Tensor) -> list[Fraction]:
    return [Fraction(each) for each in tensor.double().flatten().tolist()]


def square(numbers: list[Fraction]) -> Fraction:
    return sum((each * each for each in numbers), Fraction(0))


def root(value: Fraction) -> float:
    return isqrt(int(value * FINE**2)) / FINE


def swallowed(size: int) -> Tensor:
    """One large number and many whose squares are lost one by one beside its square, in single precision."""
    row = torch.full((size,), 2.0**-13)
    row[0] = 1.0
    return row


@pytest.mark.parametrize("size", [3, 1000, LONG, LONG + 1, 5000, 60_001])
def test_a_length_is_never_too_short(size: int) -> None:
    torch.manual_seed(size)
    every = [swallowed(size), swallowed(size).flip(0), torch.full((size,), 0.1), torch.randn(size)]
    rows = torch.stack(every[: 4 if size < 50_000 else 1])
    naive = [float(np.cumsum(row.square().numpy(), dtype=np.float32)[-1]) for row in rows]  # one after the other
    if size > 50_000:
        assert naive[0] < float(rows[0].double().square().sum()) * 0.9999, "these rows are no trap"
    for row, found in zip(rows, lengths(rows).tolist(), strict=True):
        true = square(exactly(row))
        assert Fraction(found) ** 2 >= true
        assert found <= root(true) * (1 + 1e-4)


def test_a_length_of_what_underflows_is_not_nothing() -> None:
    tiny = torch.full((1, 2000), 1e-30)
    assert float(lengths(tiny)) >= 1e-30 * 2000**0.5
    assert float(lengths(tiny)) < 1e-15


def outer(left: Any, right: Any) -> Outer:
    return Outer(torch.tensor(left), torch.tensor(right))


def cancelling(rows: int, columns: int, positions: int) -> Outer:
    """Positions in pairs that cancel but for their last bits."""
    torch.manual_seed(positions)
    left, right = torch.randn(4, positions, rows), torch.randn(4, positions, columns)
    left[:, 1::2] = -left[:, ::2] * (1 + 2.0**-20)
    right[:, 1::2] = right[:, ::2]
    return Outer(left, right)


def lookup() -> Lookup:
    torch.manual_seed(1)
    value = torch.randn(4, 6, 5)
    value[:, 3:] = -value[:, :3] * (1 + 2.0**-22)
    return Lookup(torch.tensor([[0, 1, 2, 0, 1, 2]] * 4), value, 7)


PARTS: dict[str, Part] = {
    "formed": Dense(torch.stack([swallowed(3000)] * 4)),
    "one position": Outer(torch.stack([swallowed(600)] * 4)[:, None], torch.stack([swallowed(400)] * 4)[:, None]),
    "by Gram": cancelling(40, 60, 8),
    "formed for its length": cancelling(5, 6, 40),
    "table": lookup(),
    "table of one token": Lookup(torch.tensor([[1], [2], [3], [1]]), torch.randn(4, 1, 5), 7),
    "matrix that is a table": Tied(Outer(torch.randn(4, 1, 7), torch.randn(4, 1, 5)), lookup()),
}


def truth(part: Part) -> list[list[Fraction]]:
    """Every number of each example's gradient, exactly."""
    if isinstance(part, Dense):
        return [exactly(row) for row in part.value]
    if isinstance(part, Outer):
        found = []
        for left, right in zip(part.left.double().tolist(), part.right.double().tolist(), strict=True):
            terms = [([Fraction(a) for a in x], [Fraction(b) for b in y]) for x, y in zip(left, right, strict=True)]
            count, width = len(left[0]), len(right[0])
            found.append(
                [sum((x[i] * y[j] for x, y in terms), Fraction(0)) for i in range(count) for j in range(width)]
            )
        return found
    if isinstance(part, Lookup):
        found = []
        for rows, values in zip(part.rows.tolist(), part.value.double().tolist(), strict=True):
            table = [[Fraction(0)] * len(values[0]) for _ in range(part.size)]
            for row, value in zip(rows, values, strict=True):
                table[row] = [a + Fraction(b) for a, b in zip(table[row], value, strict=True)]
            found.append([each for row in table for each in row])
        return found
    assert isinstance(part, Tied)
    return [
        [a + b for a, b in zip(x, y, strict=True)] for x, y in zip(truth(part.matrix), truth(part.table), strict=True)
    ]


@pytest.mark.parametrize("name", [name for name in PARTS if name != "one position"])
def test_no_part_is_longer_than_its_length_and_no_sum_further_off_than_its_share(name: str) -> None:
    part = PARTS[name]
    true = truth(part)
    found = part.squares()
    assert all(Fraction(each) >= square(row) for each, row in zip(found.tolist(), true, strict=True))
    factors = Flat(1).factors(found[None], ["w"])[0]
    scaled = [rounded_down(factors, torch.float32), factors]
    assert all(Fraction(float(each[i])) ** 2 * square(row) <= 1 for each in scaled for i, row in enumerate(true))
    total = part.total(Factors(factors), 300).flatten()
    best = min(
        root(square([each - got for each, got in zip(_summed(true, kind), exactly(total), strict=True)]))
        for kind in scaled
    )
    assert best <= SHARE * float(SLACK) * 4 / 300


def _summed(rows: list[list[Fraction]], factors: Tensor) -> list[Fraction]:
    weights = exactly(factors)
    return [
        sum((w * each for w, each in zip(weights, column, strict=True)), Fraction(0))
        for column in zip(*rows, strict=True)
    ]


def test_one_position_is_the_product_of_its_lengths() -> None:
    part = PARTS["one position"]
    assert isinstance(part, Outer)
    true = square(exactly(part.left[0])) * square(exactly(part.right[0]))
    found = part.squares()
    assert true <= Fraction(float(found[0])) <= true * Fraction(1001, 1000)


@pytest.mark.parametrize(
    ("rows", "wrong"),
    [(155, False), (300, False), (500, False), (1000, False), (6000, False), (30_000, False), (6000, True)],
)
def test_many_alike_add_up_within_their_share(rows: int, wrong: bool) -> None:
    """All point one way, which is the worst: each rounding may go the same way. One block of all is caught."""
    torch.manual_seed(3)
    direction = torch.rand(1, 40) + 0.5
    direction /= direction.norm() * 1.0000001
    value = direction.expand(rows, 40).contiguous()
    value[0] *= 0.999
    ones = torch.ones(rows, dtype=torch.float64)
    if wrong:
        total = torch.from_numpy(np.cumsum(value.numpy(), axis=0, dtype=np.float32)[-1])  # one after the other
    else:
        total = Dense(value).total(Factors(ones), rows)
    off = (total.double() - value.double().sum(0)).norm()
    assert (off <= SHARE * float(SLACK)) != wrong


def test_blocks_keep_to_their_share_for_every_cell() -> None:
    found = 0
    for unit in (SINGLE, DOUBLE):
        for terms, ratio in ((1, 1.0), (64, 1024.0), (4096, 2.0**20)):
            for cell in (1, 30, 155, 156, 157, 300, 500, 5000, 10**6):
                rows = block_rows(cell, terms, ratio, unit)
                assert 0 <= rows <= cell
                if rows:
                    found += 1
                    lost = gamma(rows * terms + 2 + -(-cell // rows), unit) * cell * ratio
                    assert lost <= (SHARE if ratio == 1 else MINOR) * float(SLACK)
    assert found > 25
    assert block_rows(155, 1, 1.0, SINGLE) == 155, "one block"
    assert 2 * block_rows(CELL, 1, 1.0, SINGLE) < CELL <= 3 * block_rows(CELL, 1, 1.0, SINGLE)
    assert block_rows(CELL, 64, 1024.0, DOUBLE) == CELL
    assert block_rows(2 * CELL, 1, 1.0, SINGLE) > 0
    assert block_rows(10**6, 1, 1.0, SINGLE) == 0, "then double precision"
    assert cell_count(Fraction(64)) == 1
    assert cell_count(Fraction(4096)) == 16


def test_blocks_cut_all_rows_of_a_piece_by_the_size_of_its_cell() -> None:
    assert list(blocks(3, 10**6, 1, 1.0, DOUBLE)) == [slice(0, 3)]
    assert [each.stop - each.start for each in blocks(256, 256, 1, 1.0, SINGLE)] == [91, 91, 74]
    assert [each.stop - each.start for each in blocks(100, 256, 1, 1.0, SINGLE)] == [91, 9]


def test_the_shares_of_both_neighbours_are_below_the_slack() -> None:
    assert 2 * ((SHARE**2 + MINOR**2) ** 0.5 + ACROSS) < 1


def test_groups_are_added_in_single_precision_only_where_that_is_proven() -> None:
    assert in_single([CELL] * GROUP, 5 * GROUP)
    assert not in_single([CELL] * GROUP, 12 * GROUP)
    assert not in_single([1000] * GROUP, GROUP)


@pytest.mark.parametrize("adds", [8, 4000])
def test_a_group_of_cells_adds_up_within_its_share(adds: int) -> None:
    """The worst: every rounding goes the same way. So many pieces that they would be off by more are told apart."""
    rows = 64 * adds // 8
    sums = Sums([torch.zeros(1, 1)], torch.float32)
    piece = torch.tensor([[float(np.nextafter(np.float32(rows / adds / 3), np.float32(0)))]])
    for _ in range(adds):
        sums.put(0, lambda out: piece)
    off = abs(Fraction(float(sums.vector())) - adds * Fraction(float(piece)))
    assert (off <= ACROSS * SLACK) == in_single([rows], adds) == (adds == 8)


class Loop:
    """What of a training walks a batch, with rows and a model of its own."""

    _cells, _group, _taken = TrainingRun._cells, TrainingRun._group, TrainingRun._taken

    def __init__(self, seed: int) -> None:
        torch.manual_seed(1)
        examples = ArrayExamples((torch.randn(700, 6), torch.randint(3, (700,))), [InputSize((6,)), InputSize((), 3)])
        net = torch.nn.Linear(6, 3)
        shapes = [InputShape((6,)), InputShape((), 3)]
        self._gradients = Gradients(net, cross_entropy, clipping=Flat("1/10"), shapes=shapes, chunk=50)
        self._examples, self._rng, self._kind = examples, FixedRng(seed), torch.float32
        self._work, self.plan = SimpleNamespace(chunk=90), SimpleNamespace(batch=Fraction(700), loss_report=None)
        self._single, self._double = self._gradients.sums(), self._gradients.sums(double=True)

    def sums(self, units: int) -> list[Tensor]:
        """Of each cell of the first units, apart."""
        found = []
        for cells in self._cells(np.arange(units)):  # type: ignore[misc]  # stands in for a run
            for cell in cells:
                self._group([cell])  # type: ignore[misc]
                found.append(self._single.vector().clone())
                self._single.clear()
        return found


def test_one_unit_moves_the_sum_of_its_own_cell_and_no_bit_of_the_others() -> None:
    """Cells are walked in pieces, which must not depend on how many units are in the cells before."""
    for seed in range(3):
        with_it, without = Loop(seed).sums(700), Loop(seed).sums(699)
        assert len(with_it) == len(without) == cell_count(Fraction(700)) == 3
        differ = [not torch.equal(one, two) for one, two in zip(with_it, without, strict=True)]
        assert sum(differ) == 1
        moved = (torch.stack(with_it).sum(0) - torch.stack(without).sum(0)).norm()
        assert 0.001 < moved <= 0.1 * (1 + SLACK)


def test_sums_are_those_of_what_was_put_in() -> None:
    sums = Sums([torch.zeros(2, 2), torch.zeros(3)], torch.float32)
    sums.put(0, lambda out: torch.mm(torch.eye(2), torch.full((2, 2), 2.0), out=out))
    assert sums.vector().tolist() == [2.0, 2.0, 2.0, 2.0, 0.0, 0.0, 0.0], "what was not put in is zero"
    sums.clear()
    assert not sums.used
    sums.put(1, lambda out: torch.ones(3))
    sums.put(1, lambda out: torch.ones(3))
    double = Sums([torch.zeros(2, 2), torch.zeros(3)], torch.float64)
    double.take(sums)
    assert not sums.used
    double.take(sums)
    sums.put(1, lambda out: torch.ones(3))
    double.take(sums)
    assert double.vector().tolist() == [0.0] * 4 + [3.0] * 3
    assert double.vector().dtype == torch.float64


@settings(max_examples=60, deadline=None)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=8))
def test_factors_are_rounded_down(values: list[float]) -> None:
    exact = torch.tensor(values, dtype=torch.float64)
    found = rounded_down(exact, torch.float32)
    assert bool((found.double() <= exact).all())
    assert bool((found.double() >= exact * (1 - 2.0**-23) - 1e-44).all())
