"""The six sparse-vector algorithms that Lyu, Su and Li (2017, Figure 1) collected, for tests: 3 to 6 are broken.

Queries have sensitivity 1 and are compared with the threshold 0. Each function returns `size` runs as tuples of
answers; the noise is numpy's, continuous, since what is wrong with them is not the noise.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

Answers = list[tuple[Any, ...]]
Sparse = Callable[[Sequence[float], int, np.random.Generator], Answers]


def yes_no(said: Any, limit: int | None) -> Answers:
    """Rows of truth values as tuples that end with the `limit`-th yes."""
    if limit is None:
        return [tuple(row) for row in said.tolist()]
    ends = np.where(
        (said.cumsum(axis=1) >= limit).any(axis=1), (said.cumsum(axis=1) >= limit).argmax(axis=1) + 1, 10**9
    )
    return [tuple(row[:end]) for row, end in zip(said.tolist(), ends.tolist(), strict=True)]


def algorithm_1(
    queries: Sequence[float], size: int, rng: np.random.Generator, *, c: int = 1, epsilon: float = 1
) -> Answers:
    """Lyu, Su and Li: right. Threshold noise 2/ε once, query noise 4c/ε."""
    threshold = rng.laplace(scale=2 / epsilon, size=(size, 1))
    noise = rng.laplace(scale=4 * c / epsilon, size=(size, len(queries)))
    return yes_no(np.asarray(queries) + noise >= threshold, c)


def algorithm_2(
    queries: Sequence[float], size: int, rng: np.random.Generator, *, c: int = 1, epsilon: float = 1
) -> Answers:
    """Dwork and Roth 2014: right. Threshold noise 2c/ε, drawn again after each yes, query noise 4c/ε."""
    noise = rng.laplace(scale=4 * c / epsilon, size=(size, len(queries)))
    threshold = rng.laplace(scale=2 * c / epsilon, size=size)
    said = np.zeros((size, len(queries)), dtype=bool)
    for place, query in enumerate(queries):
        said[:, place] = query + noise[:, place] >= threshold
        threshold = np.where(said[:, place], rng.laplace(scale=2 * c / epsilon, size=size), threshold)
    return yes_no(said, c)


def algorithm_3(
    queries: Sequence[float], size: int, rng: np.random.Generator, *, c: int = 1, epsilon: float = 1
) -> Answers:
    """Roth's notes of 2011: a yes releases the very noisy value that passed the comparison."""
    threshold = rng.laplace(scale=2 / epsilon, size=(size, 1))
    noisy = np.asarray(queries) + rng.laplace(scale=2 * c / epsilon, size=(size, len(queries)))
    runs = yes_no(noisy >= threshold, c)
    return [
        tuple(value if yes else None for yes, value in zip(run, row, strict=False))
        for run, row in zip(runs, noisy.tolist(), strict=True)
    ]


def algorithm_4(
    queries: Sequence[float], size: int, rng: np.random.Generator, *, c: int = 1, epsilon: float = 1
) -> Answers:
    """Lee and Clifton 2014: query noise 4/(3ε), which does not grow with c."""
    threshold = rng.laplace(scale=4 / epsilon, size=(size, 1))
    noise = rng.laplace(scale=4 / (3 * epsilon), size=(size, len(queries)))
    return yes_no(np.asarray(queries) + noise >= threshold, c)


def algorithm_5(queries: Sequence[float], size: int, rng: np.random.Generator, *, epsilon: float = 1) -> Answers:
    """Stoddard, Chen and Machanavajjhala 2014: no noise on the queries, no limit on the yeses."""
    threshold = rng.laplace(scale=2 / epsilon, size=(size, 1))
    return yes_no(np.asarray(queries) >= threshold, None)


def algorithm_6(queries: Sequence[float], size: int, rng: np.random.Generator, *, epsilon: float = 1) -> Answers:
    """Chen et al. 2015: no limit on the yeses."""
    threshold = rng.laplace(scale=2 / epsilon, size=(size, 1))
    noise = rng.laplace(scale=2 / epsilon, size=(size, len(queries)))
    return yes_no(np.asarray(queries) + noise >= threshold, None)


def neighbouring_queries(longest: int = 8) -> Iterator[tuple[tuple[float, ...], tuple[float, ...]]]:
    """A small generator that knows nothing of the algorithms: short blocks of queries that move up, down or apart."""
    for half in (1, 2, 4, 8):
        if half > longest:
            return
        for level in (0.0, 2.0):
            yield (level,) * half + (0.0,) * half, (level + 1,) * half + (-1.0,) * half
        yield (0.0,) * half + (1.0,), (1.0,) * half + (0.0,)
