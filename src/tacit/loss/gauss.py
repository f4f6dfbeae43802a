"""The exact privacy curve of Gaussian noise: continuous, and on a lattice.

A shift by `mu` standard deviations has privacy loss L(x) = (2xμ + μ²)/2 in units of σ, and
δ(ε) = Φ(μ/2 − ε/μ) − e^ε Φ(−μ/2 − ε/μ)   (Balle and Wang 2018, Theorem 8).
Writing a = ε/μ − μ/2, b = ε/μ + μ/2 and R for the Mills ratio (1 − Φ)/φ, the identity φ(a) = e^ε φ(b) turns this into
δ = φ(a)·(R(a) − R(b)), which keeps its relative accuracy in the far tail. For the discrete Gaussian the same hockey stick
is a sum over the lattice (Canonne, Kamath and Steinke 2020, Theorem 7).
"""

from collections.abc import Callable
from fractions import Fraction
from math import ceil, exp, inf, pi, sqrt

import numpy as np
from scipy.special import erfcx

from tacit.loss.interval import Interval

__all__ = ["gaussian_delta", "gaussian_epsilon", "lattice_gaussian_delta", "solve_epsilon"]

SUMMED = 2**12  # up to this many steps a standard deviation, lattice sums are carried out


def gaussian_delta(mu: float, epsilon: float) -> float:
    """δ(ε) of a continuous Gaussian whose mean moves by `mu` standard deviations."""
    if mu <= 0:
        return 0.0
    a, b = epsilon / mu - mu / 2, epsilon / mu + mu / 2
    if a < -10:  # nearly all of the mass: subtract from one
        return 1 - exp(-b * b / 2 + epsilon) * _mills(b) / sqrt(2 * pi) - exp(-a * a / 2) * _mills(-a) / sqrt(2 * pi)
    return max(0.0, exp(-a * a / 2) / sqrt(2 * pi) * (_mills(a) - _mills(b)))


def _mills(x: float) -> float:
    return sqrt(pi / 2) * float(erfcx(x / sqrt(2)))


def gaussian_epsilon(mu: float, delta: float) -> float:
    """The least ε ≥ 0 with δ(ε) ≤ δ for the continuous Gaussian, from above."""
    return solve_epsilon(lambda epsilon: gaussian_delta(mu, epsilon), delta)


def solve_epsilon(curve: Callable[[float], float], delta: float) -> float:
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


def lattice_gaussian_delta(variance: Fraction, shift: Fraction, epsilon: float) -> Interval:
    """δ(ε) of the discrete Gaussian of parameter σ² = `variance` when its centre moves by `shift` steps.

    Carried out as a sum while σ is at most 2^12 steps. Beyond, the sum of f(z) = (p(z) − e^ε p(z + shift))+ over the
    integers differs from its integral by at most Var(f′)/16 (Euler–Maclaurin with the periodic B₂ centred), and the
    normaliser from √2π·σ by less than double precision shows. In units of σ, with a, b as above, f′ jumps by
    (b − a)·exp(−a²/2) at a, and beyond a its two terms vary by at most `_variation`.
    """
    if shift == 0:
        return Interval(0.0, 0.0)
    sigma = sqrt(variance)
    if sigma <= SUMMED:
        value = _lattice_sum(sigma, ceil(shift), epsilon)
        return Interval.around(value * (1 + 1e-12), lower=value * (1 - 1e-12))
    mu = float(shift) / sigma
    a, b = epsilon / mu - mu / 2, epsilon / mu + mu / 2
    jump = mu * exp(-a * a / 2)
    slope = (jump + _variation(a, 0.0) + _variation(b, epsilon)) / (16 * sqrt(2 * pi) * variance)
    value = gaussian_delta(mu, epsilon)
    return Interval.around((value + slope) * (1 + 1e-12), lower=(value - slope) * (1 - 1e-12))


def _variation(start: float, log_factor: float) -> float:
    """A bound on the total variation of x·exp(log_factor − x²/2) over (start, ∞): monotone beyond 1, |·| ≤ e^(−1/2)."""
    return start * exp(log_factor - start * start / 2) if start >= 1 else 4 * exp(log_factor - 0.5)


def _lattice_sum(sigma: float, shift: int, epsilon: float) -> float:
    double = 2 * sigma * sigma
    first = ceil(epsilon * sigma * sigma / shift - shift / 2) - 1  # the loss is at most ε below this
    start = max(first, -int(40 * sigma) - 2)
    z = np.arange(start, max(start, 0) + int(40 * sigma) + 20, dtype=float)
    excess = np.maximum(0.0, (2 * z + shift) * (shift / double) - epsilon)
    top = max(0.0, start) ** 2 / double  # exponents relative to the largest term: nothing underflows before it must
    terms = np.exp(top - z * z / double) * -np.expm1(-excess)
    reach = np.arange(1, int(40 * sigma) + 20, dtype=float)
    normaliser = 1 + 2 * float(np.exp(-reach * reach / double).sum())
    return float(terms.sum()) * exp(-top) / normaliser
