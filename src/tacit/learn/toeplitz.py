"""Lower triangular Toeplitz matrices by their first column: series, their errors, and the best of them.

A release of running sums A·G through A = B·C has noise B·z: error and sensitivity are norms of the series b = 1/((1 −
x)·c(x)) and c. docs/theory/correlated-noise.md has the formulas and the numbers that tests hold.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import log
from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.signal import lfilter

from tacit.base import InputError, whole

__all__ = ["Buffers", "Floats", "banded", "buffered", "running_error", "running_sensitivity", "square_root"]

Floats = np.ndarray[Any, np.dtype[np.float64]]


def square_root(steps: int) -> Floats:
    """c_k = C(2k, k)/4^k: (1 − x)^(−½)."""
    k = np.arange(1, whole(steps, "steps", least=1))
    return np.concatenate([[1.0], np.cumprod((2 * k - 1) / (2 * k))])


def running_error(c: Floats) -> float:
    """Root mean square over steps of the noise in running sums, √(Σ_t (n − t)·b_t²/n), for unit noise on each y."""
    n = len(c)
    b = np.cumsum(_inverse(c))
    return float(np.sqrt(((n - np.arange(n)) * b**2).sum() / n))


def running_sensitivity(c: Floats, steps: int, separation: int, turns: int) -> float:
    """‖Σ_{j<turns} shift_{j·separation} c‖: the most that one unit moves, for c ≥ 0 that does not increase."""
    column = np.zeros(steps)
    for turn in range(turns):
        start = turn * separation
        if start >= steps:
            break
        part = c[: steps - start]
        column[start : start + len(part)] += part
    return float(np.sqrt((column**2).sum()))


def banded(steps: int, bands: int) -> Floats:
    """The `bands` coefficients with the least mean square error of running sums, for one turn of each unit."""
    n, width = whole(steps, "steps", least=1), whole(bands, "bands", least=1)
    if width > n:
        raise InputError(f"bands = {width} are more than steps = {n}: take at most as many")
    if width == 1:
        return np.ones(1)
    found = _least(lambda free: _banded_error(np.concatenate([[1.0], free]), n), square_root(width)[1:])
    c = np.concatenate([[1.0], found])
    # what a search leaves of sign or order is put right, so that the sensitivity's formula holds
    return np.minimum.accumulate(np.maximum(c, 0.0))


def _banded_error(c: Floats, n: int) -> tuple[float, Floats]:
    """log of error²·‖c‖², and its gradient by all coefficients but the first."""
    full = np.zeros(n)
    full[: len(c)] = c
    inverse = _inverse(full)
    b = np.cumsum(inverse)
    weight = (n - np.arange(n)) * b
    error = float((weight * b).sum())
    # ∂b_t/∂c_j = −h_{t−j}, h = b/c
    h = lfilter([1.0], c, b)
    slope = -2 * np.correlate(weight, h, mode="full")[n - 1 : n - 1 + len(c)]
    norm = float((c**2).sum())
    return log(error) + log(norm), (slope / error + 2 * c / norm)[1:]


@dataclass(frozen=True)
class Buffers:
    """c_t = Σ α_j λ_j^(t−1): weights `alphas` and `rates` λ in (0, 1) of buffers."""

    alphas: tuple[float, ...]
    rates: tuple[float, ...]

    def coefficients(self, steps: int) -> Floats:
        powers = np.array(self.rates)[:, None] ** np.arange(max(steps - 1, 0))
        return np.concatenate([[1.0], np.array(self.alphas) @ powers])

    def json(self) -> list[list[str]]:
        return [[repr(a), repr(r)] for a, r in zip(self.alphas, self.rates, strict=True)]


def buffered(steps: int, buffers: int) -> Buffers:
    """So many buffers with the least mean square error of running sums, found from a start spread over all times."""
    n, count = whole(steps, "steps", least=2), whole(buffers, "buffers", least=1)
    ages = np.geomspace(1.5, max(2.0, n / 2), count)  # over which a buffer forgets
    start = np.concatenate([np.log(0.5 / count / np.sqrt(ages)), np.log(ages)])

    def read(free: Floats) -> Buffers:
        alphas, ages = np.exp(np.clip(free[:count], -30, 0)), np.exp(np.clip(free[count:], 0.01, 30))
        # c₁ = Σ α stays at most 1, so that no coefficient is larger than the one before
        alphas = alphas / max(1.0, float(alphas.sum()))
        return Buffers(tuple(map(float, alphas)), tuple(map(float, np.exp(-1 / ages))))

    def error(free: Floats) -> float:
        c = read(free).coefficients(n)
        return 2 * log(running_error(c)) + log(float((c**2).sum()))

    found = minimize(error, start, method="L-BFGS-B", options={"maxiter": 300})
    return read(found.x)


def _least(price: Callable[[Floats], tuple[float, Floats]], start: Floats) -> Floats:
    found = minimize(price, start, jac=True, method="L-BFGS-B", options={"maxiter": 2000, "ftol": 1e-15, "gtol": 1e-10})
    return np.asarray(found.x)


def _inverse(c: Floats) -> Floats:
    """The first coefficients of 1/c(x)."""
    impulse = np.zeros(len(c))
    impulse[0] = 1.0
    return np.asarray(lfilter([1.0], np.trim_zeros(c, "b"), impulse))
