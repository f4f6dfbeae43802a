"""The search finds what there is to find, in outputs of every kind."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tacit.auditor.outputs import Outputs
from tacit.auditor.search import BestEvent, Goal, search

SIZE = 3000
Drawn = Callable[[np.random.Generator, int], Any]


def found(left: Drawn, right: Drawn) -> tuple[BestEvent, float, float]:
    """What the search finds, and how often it happens on each side of fresh outputs."""
    rng = np.random.default_rng(3)
    sides = [Outputs.of(draw(rng, SIZE)) for draw in (left, right)]
    best = search(sides[0], sides[1], Goal(fresh=4 * SIZE, delta=0.0, tail=0.05))
    shares = [float(best.event.contains(Outputs.of(draw(rng, 4 * SIZE))).mean()) for draw in (left, right)]
    return best, shares[best.likelier], shares[1 - best.likelier]


def mixed(rng: np.random.Generator, size: int, odd: Any, share: float) -> list[Any]:
    return [odd if rng.random() < share else float(rng.normal()) for _ in range(size)]


CASES: dict[str, tuple[Drawn, Drawn, float]] = {
    "a threshold": (lambda r, n: r.normal(size=n), lambda r, n: r.normal(size=n) + 1, 1.5),
    "an interval": (
        lambda r, n: np.where(r.random(n) < 0.2, r.uniform(0.4, 0.5, n), r.uniform(-5, 5, n)),
        lambda r, n: r.uniform(-5, 5, n),
        1.2,
    ),
    "both tails": (lambda r, n: 3 * r.normal(size=n), lambda r, n: r.normal(size=n), 2.0),
    "many small gaps": (
        lambda r, n: r.integers(0, 20, n) * 2.0,
        lambda r, n: r.integers(0, 40, n) * 1.0,
        2.0,
    ),
    "one value": (lambda r, n: np.where(r.random(n) < 0.1, 0.25, r.normal(size=n)), lambda r, n: r.normal(size=n), 3.0),
    "NaN": (lambda r, n: np.where(r.random(n) < 0.1, np.nan, r.normal(size=n)), lambda r, n: r.normal(size=n), 3.0),
    "infinity": (
        lambda r, n: np.where(r.random(n) < 0.1, np.inf, 1.0),
        lambda r, n: np.where(r.random(n) < 0.1, -np.inf, 1.0),
        3.0,
    ),
    "None": (lambda r, n: mixed(r, n, None, 0.1), lambda r, n: mixed(r, n, None, 0.01), 1.5),
    "the type": (lambda r, n: [1] * n, lambda r, n: [1.0 if r.random() < 0.1 else 1 for _ in range(n)], 3.0),
    "a key": (
        lambda r, n: [{"a": 1}] * n,
        lambda r, n: [{"a": 1, "b": 2} if r.random() < 0.1 else {"a": 1} for _ in range(n)],
        3.0,
    ),
    "a category": (
        lambda r, n: r.choice(["a", "b", "c"], p=[0.6, 0.3, 0.1], size=n).tolist(),
        lambda r, n: r.choice(["a", "b", "c"], p=[0.1, 0.3, 0.6], size=n).tolist(),
        1.5,
    ),
    "a length": (
        lambda r, n: [(1,) * int(k) for k in r.integers(1, 4, n)],
        lambda r, n: [(1,) * int(k) for k in r.integers(2, 5, n)],
        3.0,
    ),
    "a direction": (
        lambda r, n: r.normal(size=(n, 8)),
        lambda r, n: r.normal(size=(n, 8)) + np.array([0.7, -0.7] * 4),
        2.5,
    ),
    "a norm": (lambda r, n: r.normal(size=(n, 6)), lambda r, n: 2 * r.normal(size=(n, 6)), 3.0),
    "an order": (
        lambda r, n: np.sort(r.normal(size=(n, 2)), axis=1),
        lambda r, n: r.normal(size=(n, 2)),
        0.6,
    ),
    "yes and no": (lambda r, n: r.random((n, 10)) < 0.6, lambda r, n: r.random((n, 10)) < 0.4, 2.5),
}


@pytest.mark.parametrize("name", CASES)
def test_what_there_is_is_found(name: str) -> None:
    left, right, loss = CASES[name]
    best, p, q = found(left, right)
    assert p >= 0.01, best.event.words
    assert np.log(p / max(q, 1e-4)) >= loss, best.event.words
    assert best.bound <= np.log(p / max(q, 1e-4)) + 0.1


def test_two_conditions_at_once() -> None:
    """Neither part tells anything alone: yes with a small number against yes with a large one."""

    def runs(rng: np.random.Generator, size: int, same: bool) -> list[Any]:
        yes, small = rng.random(size) < 0.5, rng.random(size) < 0.5
        small = yes if same else small
        numbers = rng.normal(size=size) + np.where(small, -4, 4)
        return [(bool(a), float(b)) for a, b in zip(yes, numbers, strict=True)]

    best, p, q = found(lambda r, n: runs(r, n, True), lambda r, n: runs(r, n, False))
    assert p > 0.2
    assert np.log(p / max(q, 1e-4)) > 3
    assert best.event.words.count("number") == 2  # the shape, and the number in it


def test_equal_laws_promise_nothing() -> None:
    for draw in (lambda r, n: r.normal(size=n), lambda r, n: np.zeros(n), lambda r, n: r.random((n, 4)) < 0.5):
        best, p, q = found(draw, draw)
        assert best.bound < 0.1
        assert abs(p - q) < 0.05
