"""Noise scaled to any smooth bound: its level, its agreement with the median's, and what it refuses."""

from fractions import Fraction
from math import exp
from typing import Any

import numpy as np
import pytest

from support.fixed_rng import FixedRng
from tacit.base import InputError
from tacit.loss import Approx, Pure
from tacit.mechanism import SmoothMedian, SmoothNoise


def median_moves(ordered: list[int], top: int, count: int) -> tuple[int, ...]:
    """A_k of the median, by its formula, written again."""
    rank = (len(ordered) + 1) // 2

    def at(place: int) -> int:
        return 0 if place < 1 else top if place > len(ordered) else ordered[place - 1]

    return tuple(max(at(rank + t) - at(rank + t - k - 1) for t in range(k + 2)) for k in range(count))


def test_the_median_is_one_of_them() -> None:
    """Given the median's moves, the level, the noise and so the whole law are those of `SmoothMedian`."""
    noise = SmoothNoise(epsilon=1, delta="1e-3", top=20)
    median = SmoothMedian(epsilon=1, delta="1e-3", lower=0, upper=20)
    assert noise.grid == median.grid
    for ordered in ([4] * 5 + [16] * 6, list(range(4, 17)), [0, 3, 10, 19]):
        moves = median_moves(sorted(ordered), 20, 60)
        answer = sorted(ordered)[(len(ordered) + 1) // 2 - 1]
        assert noise.pmf((answer, moves)) == median.pmf([float(x) for x in ordered])


def test_far_moves_count_less() -> None:
    noise = SmoothNoise(epsilon=1, delta="1e-6", top=1000)
    near, far = noise.level((5, 1000)), noise.level((5,) * 20 + (1000,))
    assert near - far == 19
    assert noise.level((5,)) == noise.grid.level(5)


def test_neighbouring_laws_keep_to_the_claim() -> None:
    noise = SmoothNoise(epsilon=1, delta="1e-2", top=20)
    for moves, shift in (((3, 7, 20), 3), ((1, 1, 2, 2, 9, 20), 1)):
        later = (*moves[1:], moves[-1])
        for left, right in (((10, moves), (10 + shift, later)), ((10 + shift, later), (10, moves))):
            if max(shift, 0) > right[1][0]:
                continue
            p, q = noise.pmf(left), noise.pmf(right)
            stick = sum(max(0.0, value - exp(1) * q.get(z, 0.0)) for z, value in p.items())
            assert stick <= 1e-2


def test_a_smaller_bound_than_promised_is_seen() -> None:
    """The mutation: a bound on the moves that forgets the next change is caught by the very check above."""
    noise = SmoothNoise(epsilon=1, delta="1e-2", top=20)
    p, q = noise.pmf((10, (0, 0, 0))), noise.pmf((13, (3, 3, 3)))
    assert sum(max(0.0, value - exp(1) * q.get(z, 0.0)) for z, value in p.items()) > 1e-2


def test_samples_have_the_law() -> None:
    noise, rng = SmoothNoise(epsilon=1, delta="1e-2", top=20), FixedRng(3)
    value = (40, (2, 3, 20))
    drawn = np.array([noise.sample(value, rng) for _ in range(4000)])
    law: Any = noise.pmf(value)
    spread = sum(abs(z - 40) * p for z, p in law.items())
    assert abs(np.abs(drawn - 40).mean() - spread) < 6 * spread / np.sqrt(4000)
    assert noise.error(0.9, value=value) > 0


def test_what_is_no_value_is_refused() -> None:
    noise = SmoothNoise(epsilon=1, delta="1e-6", top=10)
    for value in (3, (3, ()), (3, (2, 1)), (3, (2, 11)), (3, (-1,)), (0.5, (1,))):
        with pytest.raises(InputError):
            noise.sample(value)
    with pytest.raises(InputError, match="leave sensitivity out"):
        noise.loss(1)
    with pytest.raises(InputError, match="2\\^53"):
        SmoothNoise(epsilon=1, delta="1e-6", top=2**60)
    with pytest.raises(InputError, match="Approx"):
        SmoothNoise.from_loss(Pure(1), top=3)
    assert SmoothNoise.from_loss(Approx(1, "1e-6"), top=10) == noise
    assert noise.share == Fraction(1, 2)
