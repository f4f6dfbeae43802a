"""The μ² that a mechanism has in Gaussian differential privacy (Dong, Roth and Su 2022), which adds up.

Three charges, each proven in docs/theory/gaussian-dp.md and each the least number on one condition, that the normal law
has at least a given mass within h/2 standard deviations of its mean. Numbers are found in doubles, then checked in
decimals of fifty digits against bounds that err on the safe side only; what does not pass is raised until it does.
"""

from collections.abc import Callable
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from functools import lru_cache
from math import erf, exp, pi, sqrt
from statistics import NormalDist

from tacit.base.number import round_up

__all__ = ["lattice_mu_squared", "pure_mu_squared", "range_mu_squared", "ranges_mu_squared"]

DIGITS = Context(prec=50)
PI = Decimal("3.14159265358979323846264338327950288419716939937511")  # rounded up in the last digit
SAFE = Decimal(1) - Decimal("1e-44")  # more than the rounding of a thousand operations
HALF_PI = Fraction(PI) / 2
TERMS = 201  # of the continued fraction; an odd number of them bounds from above
COARSEST, FINEST = Fraction(1, 400), Fraction(10**8)  # variances, in squared steps, between which a root is solved for
SMALLEST, LARGEST = Fraction(1, 10**12), Fraction(300)  # and ε


def pure_mu_squared(epsilon: Fraction) -> Fraction:
    """μ² of an ε-DP mechanism: 4Φ⁻¹(e^ε/(1 + e^ε))², attained by randomised response; rounded up."""
    if epsilon <= SMALLEST:
        return HALF_PI * epsilon**2  # the limit from above of μ²/ε²
    if epsilon >= LARGEST:
        return 8 * epsilon  # 1 − Φ(x) ≤ e^(−x²/2)/2
    return _pure(epsilon)


def range_mu_squared(epsilon: Fraction) -> Fraction:
    """μ² of one choice by the exponential mechanism that is ε-DP by bounded range: that of a pure ε/2; rounded up."""
    return pure_mu_squared(epsilon / 2)


def ranges_mu_squared(squares: Fraction) -> Fraction:
    """μ² of any number of such choices with Σε² = `squares`: at most π/8 of that."""
    return HALF_PI * squares / 4


def lattice_mu_squared(variance: Fraction) -> Fraction:
    """μ² of discrete Gaussian noise of parameter σ² = `variance` steps² on a number that moves by one step; rounded up.

    μ = 2Φ⁻¹((1 + p₀)/2) with p₀ the probability of no noise. It is μ²Δ² for a vector that moves by Δ steps in l2.
    """
    if variance < COARSEST:
        return 4 / variance
    if variance > FINEST:
        return (1 + 1 / (6 * variance)) / variance
    return _lattice(variance)


@lru_cache(maxsize=4096)
def _pure(epsilon: Fraction) -> Fraction:
    with localcontext(DIGITS):
        odds = (-_decimal(epsilon)).exp()
        return _least(2 * odds / (1 + odds) * SAFE)


@lru_cache(maxsize=4096)
def _lattice(variance: Fraction) -> Fraction:
    with localcontext(DIGITS):
        square = _decimal(variance)
        if square >= 4:  # Σ e^(−k²/2σ²) over all k is σ√2π or more, by Poisson's summation
            return _least(1 - 1 / ((2 * PI * square).sqrt() * SAFE))
        others = 2 * sum((-(Decimal(k * k) / (2 * square))).exp() for k in range(1, 41)) * SAFE
        return _least(others / (1 + others) * SAFE)


def _decimal(value: Fraction) -> Decimal:
    return Decimal(value.numerator) / Decimal(value.denominator)


def _least(outside: Decimal) -> Fraction:
    """h², rounded up, for the least h with Pr[|N| > h/2] ≤ `outside`, which is a bound from below."""
    body = float(1 - outside)
    guess = _near(body) if body < 0.9 else -NormalDist().inv_cdf(float(outside) / 2)
    holds: Callable[[Decimal, Decimal], bool] = _by_series if body < 0.95 else _by_fraction
    slack = 2.0**-46
    while True:
        half = Fraction(guess * (1 + slack))
        if holds(_decimal(half), outside):
            return round_up((2 * half) ** 2, bits=64)
        slack *= 2


def _near(body: float) -> float:
    """x with Pr[|N| ≤ x] = `body`, nearly: by Newton's steps, which rise to it from zero."""
    x = 0.0
    for _ in range(12):
        x += (body - erf(x)) * exp(x * x) * sqrt(pi) / 2
    return sqrt(2) * x


def _by_series(x: Decimal, outside: Decimal) -> bool:
    """Φ(x) − 1/2 = φ(x)·(x + x³/3 + x⁵/(3·5) + …): all terms are positive, so a partial sum is less."""
    term = total = x
    odd = 1
    while term > total * Decimal("1e-46"):
        odd += 2
        term = term * x * x / odd
        total += term
    return 2 * total * (-x * x / 2).exp() / (2 * PI).sqrt() * SAFE >= 1 - outside


def _by_fraction(x: Decimal, outside: Decimal) -> bool:
    """1 − Φ(x) = φ(x)/(x + 1/(x + 2/(x + …))), whose convergents lie above and below in turn."""
    below = x
    for k in range(TERMS - 1, 0, -1):
        below = x + k / below
    return 2 * (-x * x / 2).exp() / (below * (2 * PI).sqrt()) <= outside * SAFE
