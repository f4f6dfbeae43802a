"""Which examples are taken together: a few at a time, and all of one unit at once."""

from collections.abc import Iterator
from itertools import pairwise

import torch
from torch import Tensor

from tacit.base import InputError

__all__ = ["chunks"]

Rows = slice | Tensor


def chunks(count: int, unit: Tensor | None, most: int) -> Iterator[tuple[Rows, Tensor | None]]:
    """Rows of a chunk, and with units which of those rows are each unit's, (unit, member), −1 for none.

    A unit is never cut in two. Units of like size are taken together, so that little is filled up.
    """
    if unit is None:
        # of even size: a small last chunk costs nearly as much as a full one
        parts = max(1, -(-count // most))
        ends = [count * number // parts for number in range(parts + 1)]
        yield from ((slice(a, b), None) for a, b in pairwise(ends) if a < b)
        return
    if unit.shape != (count,) or unit.is_floating_point():
        raise InputError("unit must hold one whole number for each example")
    if not count:
        return
    order = torch.argsort(unit, stable=True)
    _, sizes = torch.unique_consecutive(unit[order], return_counts=True)
    groups = sorted(order.split(sizes.tolist()), key=len)
    taken: list[Tensor] = []
    for group in groups:
        if taken and (len(taken) + 1) * len(group) > most:
            yield _filled(taken)
            taken = []
        taken.append(group)
    yield _filled(taken)


def _filled(groups: list[Tensor]) -> tuple[Tensor, Tensor]:
    index = torch.full((len(groups), max(map(len, groups))), -1)
    start = 0
    for number, group in enumerate(groups):
        index[number, : len(group)] = torch.arange(start, start + len(group))
        start += len(group)
    return torch.cat(groups), index
