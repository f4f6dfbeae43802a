"""Discrete Gaussian noise: cells, places and coins together make exactly the law."""

from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise
from typing import Any

import mpmath
import numpy as np
import pytest

from support.fixed_rng import FixedRng, ScriptedRng
from support.statistics import number
from tacit.base import InputError
from tacit.noise import discrete_gaussian, discrete_gaussians, gaussian
from tacit.noise.gaussian import WIDEST, _kept, _wide, gaussian_cells

Array = np.ndarray[Any, np.dtype[Any]]
BITS = 300
WIDE = {
    1: Fraction(1025**2),
    2: Fraction(2500**2) + Fraction(1, 7),
    11: Fraction(2**40) + Fraction(1, 3),
    30: Fraction(2**78),
}


def cell_masses(variance: Fraction, shift: int, cells: int) -> dict[int, mpmath.mpf]:
    """Probability of each cell, by the value of its nearest element, from the table's own bounds."""
    middles = [mpmath.mpf(0)]
    for low, high in gaussian_cells(variance, shift)._cumulative(BITS):
        middles.append(mpmath.ldexp(mpmath.mpf(low + high) / 2, -BITS))
        if len(middles) > cells:
            break
    value = gaussian_cells(variance, shift)._value
    return {value(cell): b - a for cell, (a, b) in enumerate(pairwise(middles))}


@pytest.mark.parametrize("variance", [Fraction(1, 9), Fraction(1), Fraction(49, 9), Fraction(10**4), Fraction(1023**2)])
def test_narrow_cells_are_the_law(variance: Fraction) -> None:
    with mpmath.workprec(BITS + 60):
        found = cell_masses(variance, 0, 200)
        for z, mass in found.items():
            true = mpmath.exp(-number(z * z / (2 * variance)))
            assert abs(mass / found[0] / true - 1) < mpmath.mpf(10) ** -40 / true  # an absolute error far below a cell
        if variance < 100:
            assert abs(mpmath.fsum(found.values()) - 1) < mpmath.mpf(10) ** -60


def coins_of(
    monkeypatch: pytest.MonkeyPatch, variance: Fraction, cell: Array, z: Array
) -> tuple[Array, list[Fraction]]:
    """The γ of each keeping coin as the product computes it: in doubles, and exactly."""
    seen: list[tuple[Array, Callable[[int], Fraction]]] = []

    def catch(words: Array, gamma: Array, exact: Callable[[int], Fraction], rng: Any) -> Array:
        seen.append((gamma, exact))
        return np.ones(len(words), dtype=bool)

    monkeypatch.setattr(gaussian, "words_below_exp", catch)
    _kept(cell, z, variance, FixedRng(1))
    ((gamma, exact),) = seen
    return gamma, [exact(i) for i in range(len(cell))]


@pytest.mark.parametrize("shift", WIDE)
def test_cell_times_place_times_coin_is_the_law(shift: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pr[cell]/B·exp(−γ) ∝ exp(−z²/2σ²) for every place in every one of the first cells, to forty digits."""
    variance, width = WIDE[shift], 1 << shift
    with mpmath.workprec(BITS + 60):
        found = cell_masses(variance, shift, 60)
        places = sorted({*range(min(width, 4)), *range(max(0, width - 3), width), width // 3})
        pairs = [(cell, cell ^ place) for cell in found for place in places]
        cell, z = (np.array(column) for column in zip(*pairs, strict=True))
        gamma, exact = coins_of(monkeypatch, variance, cell, z)
        for (c, value), double, g in zip(pairs, gamma.tolist(), exact, strict=True):
            assert g >= 0
            assert abs(Fraction(double) - g) <= g / 2**50
            implied = found[c] / found[0] * mpmath.exp(-number(g))
            true = mpmath.exp(-number(Fraction(value * value) / (2 * variance)))
            assert abs(implied / true - 1) < mpmath.mpf(10) ** -40


@pytest.mark.parametrize("shift", [1, 2])
def test_cells_and_places_cover_every_integer_once(shift: int) -> None:
    with mpmath.workprec(100):
        cells = list(cell_masses(WIDE[shift], shift, 20))
    seen = sorted(cell ^ place for cell in cells for place in range(1 << shift))
    assert seen == list(range(-(10 << shift), 10 << shift))
    for cell in cells:
        assert min(abs(cell ^ place) for place in range(1 << shift)) == abs(cell)


@pytest.mark.parametrize("sigma", [1024, 1025, 2047, 2048, 4095, 2**20, 2**21 - 1, 2**40 - 1])
def test_more_than_99_percent_is_kept(sigma: int) -> None:
    """Kept: Σ exp(−z²/2σ²) over B·Σ cell weights; the worst is at σ = 512·B."""
    shift = sigma.bit_length() - 10
    q = np.arange(0, 14 * (sigma >> shift), dtype=float) * (1 << shift)
    weights = np.exp(-q * q / (2.0 * sigma**2)).sum() + np.exp(-((q + 1) ** 2) / (2.0 * sigma**2)).sum()
    assert 1 << shift <= sigma / 512
    assert (2 * np.pi) ** 0.5 * sigma / ((1 << shift) * weights) > 0.999


def test_refused_draws_are_replaced_and_not_returned(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first round is refused whole; the answer is the second round, cell, place and all."""
    rounds: list[Array] = []

    def refuse_once(cell: Array, z: Array, variance: Fraction, rng: Any) -> Array:
        rounds.append(z.copy())
        return np.full(len(z), len(rounds) > 1)

    monkeypatch.setattr(gaussian, "_kept", refuse_once)
    assert (_wide(WIDE[2], 2, 50, FixedRng(3)) == rounds[1]).all()
    assert len(rounds) == 2


def test_single_draws_follow_algorithm_three() -> None:
    """σ² = 1: t = 2, and a Laplace proposal of 0 is kept by a coin of exp(−(0 − 1/2)²/2) = exp(−1/8)."""
    zero = [bytes([0]), bytes([1]), b"", bytes([1]), bytes([0])]  # scale 2: U = 0 kept, V = 0, sign +
    # γ is 4·…: (|z|·2 − 1)²/(2·4) = 1/8; below(8) = 1 fails at k = 1: kept
    assert discrete_gaussian(Fraction(1), ScriptedRng([*zero, bytes([1])])) == 0
    # below(8) = 0 succeeds, below(16) = 1 fails at k = 2: refused; then the same proposal is kept
    again = [*zero, bytes([0]), bytes([1]), *zero, bytes([7])]
    assert discrete_gaussian(Fraction(1), ScriptedRng(again)) == 0


def test_kinds_and_sizes() -> None:
    assert discrete_gaussians(Fraction(WIDEST), 200, FixedRng(4)).dtype == np.int64
    assert discrete_gaussians(Fraction(WIDEST + 1), 20, FixedRng(4)).dtype == object
    assert discrete_gaussians(Fraction(1), 5, FixedRng(4)).dtype == np.int64
    for size in (0, 1, 99, 100, (1 << 14) + 1):
        assert discrete_gaussians(Fraction(2000**2), size, FixedRng(4)).shape == (size,)


@pytest.mark.parametrize("variance", [Fraction(0), Fraction(-1)])
def test_a_variance_that_is_not_positive_is_refused(variance: Fraction) -> None:
    with pytest.raises(InputError, match="variance"):
        discrete_gaussian(variance, FixedRng())
    with pytest.raises(InputError, match="variance"):
        discrete_gaussians(variance, 500, FixedRng())
