"""Two fits on neighbouring rows with the same released sums: what one unit moves in each sum can then be measured."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import sqrt
from typing import Any

import numpy as np

from support.fixed_rng import FixedRng, drawing_from
from tacit.learn.estimator.sums import NoisySums

__all__ = ["moved"]


@contextmanager
def _releasing(release: Callable[..., Any]) -> Iterator[None]:
    usual = NoisySums.release
    NoisySums.release = release  # type: ignore[method-assign]  # the sums of one fit are given to the other
    try:
        yield
    finally:
        NoisySums.release = usual  # type: ignore[method-assign]


def moved(fit: Callable[[], Any], neighbour: Callable[[], Any]) -> dict[str, float]:
    """How far each step's sum moves at most, as a share of what a row may: both fits are run by the shipped code, and
    the second one is given the noisy sums of the first, as one who watches both would condition on them."""
    usual, exact, given, most = NoisySums.release, [], [], {}  # type: ignore[var-annotated]

    def totals(self: NoisySums, name: str, factors: Any) -> Any:
        vector = self._vectors[name]
        return vector, vector.total([(np.trunc(a * self._weight), b) for a, b in factors], self._offsets)

    def first(self: NoisySums, name: str, *factors: Any) -> Any:
        exact.append(totals(self, name, factors)[1])
        given.append(usual(self, name, *factors))
        return given[-1]

    def second(self: NoisySums, name: str, *factors: Any) -> Any:
        vector, total = totals(self, name, factors)
        off = sqrt(sum(int(each) ** 2 for each in total - exact.pop(0))) / vector.limit
        self._noise(name, vector.size)  # as the first did, so that what else is drawn is the same
        most[name] = max(most.get(name, 0.0), off)
        return given.pop(0)

    for each, release in ((fit, first), (neighbour, second)):
        with drawing_from(FixedRng(3)), _releasing(release):
            each()
    assert not given
    return most
