"""The chance of everything that two noisy counts in a row may show, by listing all noises."""

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np

from tacit.mechanism import DiscreteGaussian

__all__ = ["LISTED", "distance", "divergence", "law_of_two"]

LISTED = range(-7, 11)  # a count that may be shown; noise beyond is rarer than 1e-12 at the scales of these tests

Law = np.ndarray[Any, np.dtype[np.float64]]


def _pmf(noise: DiscreteGaussian, count: int) -> Law:
    half = noise.weights()
    return np.array([half[abs(z - count)] if abs(z - count) < len(half) else 0.0 for z in LISTED])


def law_of_two(
    first: DiscreteGaussian,
    last: DiscreteGaussian,
    counts: Any,
    after: Callable[[tuple[int, ...]], Any],
) -> Law:
    """An array over what is shown: each number of the first count, then each of the last. `after` gives the true last
    counts when the first showed this."""
    size, many = len(LISTED), len(counts)
    found = np.zeros((size,) * (2 * many))
    before = [_pmf(first, int(count)) for count in counts]
    for place in product(range(size), repeat=many):
        chance = float(np.prod([row[at] for row, at in zip(before, place, strict=True)]))
        then: Any = np.ones(())
        for count in after(tuple(LISTED[at] for at in place)):
            then = np.multiply.outer(then, _pmf(last, int(count)))
        found[place] = chance * then
    return found


def divergence(first: Law, second: Law, order: float) -> float:
    """Rényi's, over what both can show."""
    here = (first > 1e-250) & (second > 1e-250)
    return float(np.log((first[here] * (first[here] / second[here]) ** (order - 1)).sum()) / (order - 1))


def distance(first: Law, second: Law) -> float:
    return float(np.abs(first - second).sum() / 2)
