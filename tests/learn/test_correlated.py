"""Noise that is taken back: C and C⁻¹ are inverse, the price is one Gaussian's, and a fresh start costs no more."""

import numpy as np
import pytest

from tacit.base import InputError
from tacit.learn.correlated import Correlated


@pytest.mark.parametrize(
    "form",
    [
        Correlated.square_root(steps=24, separation=6),
        Correlated.banded(steps=24, bands=5, separation=6),
        Correlated.buffered(steps=24, separation=6, buffers=2),
    ],
    ids=["square root", "banded", "buffered"],
)
def test_a_stream_is_the_matrix(form: Correlated) -> None:
    steps = 24
    sums = np.sin(np.arange(steps * 3.0)).reshape(steps, 3)
    noise = np.cos(np.arange(steps * 3.0)).reshape(steps, 3)
    c = np.zeros(steps)
    c[: len(form.coefficients)] = form.coefficients
    matrix = np.array([[c[i - j] if i >= j else 0.0 for j in range(steps)] for i in range(steps)])
    stream, spread, given = form.stream(), [], []
    for step in range(steps):
        spread.append(stream.spread(sums[step]))
        given.append(stream.undo(spread[-1] + noise[step]))
    assert np.allclose(spread, matrix @ sums, atol=1e-12)
    assert np.allclose(given, sums + np.linalg.solve(matrix, noise), atol=1e-12)


def test_running_sums_have_less_noise_than_without() -> None:
    form = Correlated.banded(steps=256, bands=32, separation=256)
    assert form.error(256) * float(form.sensitivity(256)) < 0.5 * np.sqrt((256 + 1) / 2)


def test_turns_of_bands_that_do_not_meet() -> None:
    """At least as far apart as there are bands: √k times the length of a column."""
    form = Correlated.banded(steps=64, bands=8, separation=8)
    column = np.linalg.norm(form.coefficients)
    assert float(form.sensitivity(64)) == pytest.approx(np.sqrt(8) * column, rel=1e-9)
    amplified = Correlated.banded(steps=64, bands=8, amplified=True)
    assert float(amplified.sensitivity(64)) == pytest.approx(column, rel=1e-9)
    assert (amplified.times(64), form.times(64), amplified.reach(64), form.reach(64)) == (8, 1, 8, 64)


def test_a_fresh_start_moves_nothing_further() -> None:
    """After a crash the stream forgets: what one unit moves then is at most what it would have moved."""
    form = Correlated.square_root(steps=32, separation=4)
    moved = np.zeros(32)
    moved[::4] = 1.0
    for cut in range(1, 32):
        total = []
        for part in (moved[:cut], moved[cut:]):
            stream = form.stream()
            total += [float(stream.spread(np.array([x]))[0]) for x in part]
        assert np.linalg.norm(total) <= float(form.sensitivity(32))


@pytest.mark.parametrize("coefficients", [(), (0.5,), (1, -0.1), (1, 0.2, 0.3), (1, float("nan"))])
def test_coefficients_must_fit_the_formula(coefficients: tuple[float, ...]) -> None:
    with pytest.raises(InputError, match="coefficients must begin"):
        Correlated(coefficients=coefficients, separation=2)


def test_amplified_bands_are_no_wider_than_the_separation() -> None:
    with pytest.raises(InputError, match="at most as many"):
        Correlated(coefficients=(1, 0.5, 0.2), separation=2, amplified=True)
