"""The exact privacy curve of Gaussian noise.

A shift by `mu` standard deviations has privacy loss L(x) = (2xμ + μ²)/2 in units of σ, and
δ(ε) = Φ(μ/2 − ε/μ) − e^ε Φ(−μ/2 − ε/μ)   (Balle and Wang 2018, Theorem 8).
Writing a = ε/μ − μ/2, b = ε/μ + μ/2 and R for the Mills ratio (1 − Φ)/φ, the identity φ(a) = e^ε φ(b) turns this into
δ = φ(a)·(R(a) − R(b)), which keeps its relative accuracy in the far tail.
"""

from collections.abc import Callable
from math import exp, inf, pi, sqrt

import numpy as np

from tacit.base import special

__all__ = ["gaussian_delta", "gaussian_epsilon"]


NODES, WEIGHTS = np.polynomial.legendre.leggauss(16)


def gaussian_delta(mu: float, epsilon: float) -> float:
    """δ(ε) of a continuous Gaussian whose mean moves by `mu` standard deviations."""
    if mu <= 0:
        return 0.0
    a, b = epsilon / mu - mu / 2, epsilon / mu + mu / 2
    if a < -10:  # nearly all of the mass: subtract from one
        return 1 - exp(-b * b / 2 + epsilon) * _mills(b) / sqrt(2 * pi) - exp(-a * a / 2) * _mills(-a) / sqrt(2 * pi)
    if mu > 0.5:
        gap = _mills(a) - _mills(b)
    else:  # nearly equal: integrate the slope xR(x) − 1 instead
        x = (a + b) / 2 + NODES * (mu / 2)
        gap = float(np.dot(WEIGHTS, 1 - x * sqrt(pi / 2) * special.erfcx(x / sqrt(2)))) * mu / 2
    return max(0.0, exp(-a * a / 2) / sqrt(2 * pi) * gap)


def _mills(x: float) -> float:
    return sqrt(pi / 2) * float(special.erfcx(x / sqrt(2)))


def gaussian_epsilon(mu: float, delta: float) -> float:
    """The least ε ≥ 0 with δ(ε) ≤ δ for the continuous Gaussian, from above."""
    return _solve(lambda epsilon: gaussian_delta(mu, epsilon), delta)


def _solve(curve: Callable[[float], float], delta: float) -> float:
    """The least ε ≥ 0 with curve(ε) ≤ δ for a decreasing curve; the end of the last bracket that satisfies it."""
    if curve(0.0) <= delta:
        return 0.0
    low, high = 0.0, 1.0
    while curve(high) > delta:
        low, high = high, 2 * high
        if high > 1e9:
            return inf
    while high - low > 1e-13 * high:
        middle = (low + high) / 2
        if not low < middle < high:
            break
        low, high = (low, middle) if curve(middle) <= delta else (middle, high)
    return high
