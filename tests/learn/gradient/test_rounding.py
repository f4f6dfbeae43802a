"""What is proven of rounding: lengths are never too short, factors never too large, sums no further off than is priced.

Truth is computed with whole numbers: every number of a computer is one, times a power of two.
"""

from fractions import Fraction
from math import isqrt
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from tacit.learn.gradient.clipping import Flat, rounded_down
from tacit.learn.gradient.part import Cells, Dense, Lookup, Outer, Part, Tied, lengths
from tacit.learn.rounding import CELL, DOUBLE, SHARE, SLACK, block_rows, cell_count, gamma

SINGLE = 2.0**-24
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


@pytest.mark.parametrize("size", [3, 1000, 1025, 5000, 60_001])
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
    total = part.total(factors, Cells(((0, 4, 300),))).flatten()
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


@pytest.mark.parametrize(("rows", "wrong"), [(172, False), (1000, False), (6000, False), (30_000, False), (6000, True)])
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
        total = Dense(value).total(ones, Cells(((0, rows, rows),)))
    off = (total.double() - value.double().sum(0)).norm()
    assert (off <= SHARE * float(SLACK)) != wrong


def test_blocks_keep_to_their_share_for_every_cell() -> None:
    for unit in (SINGLE, DOUBLE):
        for terms, ratio in ((1, 1.0), (64, 1024.0), (4096, 2.0**20)):
            for cell in (1, 30, 172, 173, 5000, 10**6):
                rows = block_rows(cell, terms, ratio, unit)
                assert rows <= cell
                if rows:
                    assert gamma(rows * terms + 2, unit) * cell * ratio <= SHARE * float(SLACK)
    assert block_rows(CELL, 1, 1.0, SINGLE) == CELL, "an average cell is one block"
    assert block_rows(10**6, 1, 1.0, SINGLE) == 0, "then double precision"
    assert cell_count(Fraction(64)) == 1
    assert cell_count(Fraction(4096)) == 28


def test_cells_are_cut_where_chunks_are_and_keep_their_size() -> None:
    cells = [(3, 3), (0, 0), (5, 9)]
    assert Cells.of(cells, 0, 8).spans == ((0, 3, 3), (3, 8, 9))
    assert Cells.of(cells, 2, 6).spans == ((0, 1, 3), (1, 4, 9))
    assert Cells.of([(8, 0)], 4, 8).spans == ((0, 4, 8),)
    found = list(Cells(((0, 3, 10**6), (3, 600, 597))).blocks(1, 1.0, DOUBLE))
    assert found == [slice(0, 3), slice(3, 600)]
    assert [each.stop - each.start for each in Cells(((0, 597, 597),)).blocks(1, 1.0, SINGLE)][:2] == [48, 48]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=8))
def test_factors_are_rounded_down(values: list[float]) -> None:
    exact = torch.tensor(values, dtype=torch.float64)
    found = rounded_down(exact, torch.float32)
    assert bool((found.double() <= exact).all())
    assert bool((found.double() >= exact * (1 - 2.0**-23) - 1e-44).all())
