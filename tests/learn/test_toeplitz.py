"""Numbers that were worked out elsewhere: series, errors, and the best bands."""

from itertools import pairwise

import numpy as np
import pytest

from tacit.base import InputError
from tacit.learn.toeplitz import Buffers, banded, buffered, running_error, running_sensitivity, square_root


def padded(c: np.ndarray, steps: int) -> np.ndarray:
    return np.concatenate([c, np.zeros(steps - len(c))])


def rms(c: np.ndarray, steps: int = 1024) -> float:
    return running_error(padded(c, steps)) * running_sensitivity(c, steps, steps, 1)


@pytest.mark.parametrize(("steps", "largest", "mean"), [(1024, 3.27255, 3.10979), (4096, 3.71388, 3.55129)])
def test_the_square_root(steps: int, largest: float, mean: float) -> None:
    c = square_root(steps)
    assert (c**2).sum() == pytest.approx(largest, abs=6e-6)
    assert (c**2).sum() == pytest.approx((np.log(steps) + 0.5772157 + 4 * np.log(2)) / np.pi, abs=1e-3)
    assert rms(c, steps) == pytest.approx(mean, abs=6e-6)
    lower = (1 / (2 * steps * np.sin((2 * np.arange(1, steps + 1) - 1) * np.pi / (4 * steps + 2)))).sum()
    assert lower == pytest.approx({1024: 2.90958, 4096: 3.34991}[steps], abs=6e-6)
    assert lower < rms(c, steps)


@pytest.mark.parametrize(
    ("steps", "separation", "expected"), [(1024, 256, 4.38783), (1024, 64, 13.90078), (4096, 512, 7.80616)]
)
def test_several_turns(steps: int, separation: int, expected: float) -> None:
    assert running_sensitivity(square_root(steps), steps, separation, steps // separation) == pytest.approx(
        expected, abs=6e-6
    )


@pytest.mark.parametrize(("bands", "expected"), [(8, 8.44430), (32, 4.95563), (128, 3.52306), (512, 3.08742)])
def test_the_best_bands(bands: int, expected: float) -> None:
    c = banded(1024, bands)
    assert rms(c) == pytest.approx(expected, abs=6e-6)
    assert (c >= 0).all()
    assert (np.diff(c) <= 0).all()


def test_the_best_bands_beat_the_first_of_the_square_root() -> None:
    best, first = (
        running_error(padded(c, 1024)) * running_sensitivity(c, 1024, 128, 8)
        for c in (banded(1024, 128), square_root(128))
    )
    assert (round(best, 2), round(first, 2)) == (9.96, 10.29)


def test_brute_force_finds_no_worse_participation() -> None:
    """Over every pattern of turns at least three apart, and every sign of one unit's gradients."""
    c, steps, separation = banded(8, 4), 8, 3
    matrix = np.array([[c[i - j] if 0 <= i - j < len(c) else 0.0 for j in range(steps)] for i in range(steps)])
    worst = 0.0
    for pattern in range(1 << steps):
        turns = [t for t in range(steps) if pattern >> t & 1]
        if any(b - a < separation for a, b in pairwise(turns)):
            continue
        for signs in range(1 << len(turns)):
            moved = np.zeros(steps)
            moved[turns] = [1 if signs >> place & 1 else -1 for place in range(len(turns))]
            worst = max(worst, float(np.linalg.norm(matrix @ moved)))
    assert worst == pytest.approx(running_sensitivity(c, steps, separation, 3), rel=1e-12)


def test_buffers_do_better_than_the_square_root_with_less_memory() -> None:
    found = buffered(1024, 3)
    c = found.coefficients(1024)
    assert 2.90958 < rms(c) < 3.07
    assert (np.diff(c) <= 0).all()
    assert isinstance(found, Buffers)


def test_mistakes() -> None:
    with pytest.raises(InputError, match="more than steps"):
        banded(4, 5)
    assert banded(5, 1).tolist() == [1.0]
