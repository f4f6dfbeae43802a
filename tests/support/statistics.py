"""Statistical tests at one fixed, tiny false-alarm rate, and the exact laws they compare with.

The laws are written down from their definitions in mpmath, with nothing taken from the samplers. A test passes when its
p-value is at least `ALARM`; with a deterministic source it then always passes.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from math import erfc, floor, sqrt
from typing import Any

import mpmath
import numpy as np
from scipy.special import kolmogorov as kolmogorov_tail
from scipy.stats import chi2

__all__ = [
    "ALARM",
    "Law",
    "chi_square",
    "equal_laws",
    "gaussian_law",
    "geometric_law",
    "kolmogorov",
    "laplace_law",
    "mean_test",
    "number",
]

ALARM = 1e-7
EXPECTED = 25.0  # cells with fewer expected samples are pooled, so that the chi-square limit holds far out
DIGITS = 60

Array = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True)
class Law:
    """A distribution on the integers: Pr[Z ≤ z], its spread, and E Z^k for k = 1, 2, 4."""

    cdf: Callable[[int], float]
    spread: Fraction
    mean: float
    second: float
    fourth: float


def number(value: Fraction | int) -> Any:
    """A rational in mpmath's current precision."""
    return mpmath.mpf(value.numerator) / value.denominator


def laplace_law(scale: Fraction) -> Law:
    """Pr[z] = (1 − r)/(1 + r)·r^|z|, r = exp(−1/scale)."""

    def cdf(z: int) -> float:
        with mpmath.workdps(DIGITS):
            r = mpmath.exp(-1 / number(scale))
            return float(1 - r ** (z + 1) / (1 + r) if z >= 0 else r**-z / (1 + r))

    with mpmath.workdps(DIGITS + 2 * len(str(scale.numerator))):
        r = mpmath.exp(-1 / number(scale))
        second = 2 * r / (1 - r) ** 2
        fourth = 2 * r * (1 + 10 * r + r * r) / (1 - r) ** 4
        return Law(cdf, scale, 0.0, float(second), float(fourth))


def geometric_law(scale: Fraction) -> Law:
    """Pr[m] = (1 − r)·r^m on {0, 1, …}."""

    def cdf(z: int) -> float:
        with mpmath.workdps(DIGITS):
            return float(1 - mpmath.exp(-(z + 1) / number(scale))) if z >= 0 else 0.0

    with mpmath.workdps(DIGITS + 2 * len(str(scale.numerator))):
        r = mpmath.exp(-1 / number(scale))
        mean, second = r / (1 - r), r * (1 + r) / (1 - r) ** 2
        fourth = r * (1 + 11 * r + 11 * r * r + r**3) / (1 - r) ** 4
        return Law(cdf, scale, float(mean), float(second), float(fourth))


def gaussian_law(variance: Fraction) -> Law:
    """Pr[z] ∝ exp(−z²/2σ²): summed for σ < 50; beyond, Φ((z + ½)/σ), which is then right to 1e-5."""
    spread = Fraction(sqrt(variance))
    if variance >= 2500:
        sigma = float(spread)
        wide = lru_cache(maxsize=None)(lambda z: 0.5 * erfc(-float((z + Fraction(1, 2)) / spread) / sqrt(2)))
        return Law(wide, spread, 0.0, sigma**2, 3 * sigma**4)
    reach = floor(40 * spread) + 2
    with mpmath.workdps(DIGITS):
        weights = [mpmath.exp(-number(z * z / (2 * variance))) for z in map(Fraction, range(-reach, reach + 1))]
        total = mpmath.fsum(weights)
        below = [float(c) for c in np.cumsum([w / total for w in weights])]
        second = mpmath.fsum(w * z**2 for z, w in enumerate(weights, -reach)) / total
        fourth = mpmath.fsum(w * z**4 for z, w in enumerate(weights, -reach)) / total
    return Law(lambda z: below[z + reach], spread, 0.0, float(second), float(fourth))


def _edges(law: Law) -> list[int]:
    """Upper ends of cells: a quarter of the spread apart, and every integer where that is finer."""
    return sorted({floor(law.spread * k / 4) for k in range(-32, 33)} | {-1, 0})


def _counts(sample: Array, edges: Sequence[int]) -> Array:
    places = np.searchsorted(np.array(edges, dtype=sample.dtype), sample, side="left")
    return np.bincount(places, minlength=len(edges) + 1)


def chi_square(sample: Array, law: Law) -> float:
    """The p-value of Pearson's test of `sample` against the exact law, tails pooled."""
    edges = _edges(law)
    below = [0.0, *(law.cdf(edge) for edge in edges), 1.0]
    expected = [len(sample) * (b - a) for a, b in pairwise(below)]
    pooled = _pool(list(zip(_counts(sample, edges).tolist(), expected, strict=True)))
    statistic = sum((o - e) ** 2 / e if e else (np.inf if o else 0.0) for o, e in pooled)
    return float(chi2.sf(statistic, max(1, len(pooled) - 1)))


def _pool(cells: list[tuple[int, float]]) -> list[tuple[int, float]]:
    """Neighbouring cells joined until each expects enough; what is left over joins the last."""
    found: list[tuple[int, float]] = []
    observed, expected = 0, 0.0
    for o, e in cells:
        observed, expected = observed + o, expected + e
        if expected >= EXPECTED:
            found.append((observed, expected))
            observed, expected = 0, 0.0
    if not found:
        return [(observed, expected)]
    last = found.pop()
    return [*found, (last[0] + observed, last[1] + expected)]


def equal_laws(left: Array, right: Array, law: Law) -> float:
    """The p-value of the chi-square test that two samples have one law; `law` only places the cells."""
    edges = _edges(law)
    a, b = _counts(left, edges).astype(float), _counts(right, edges).astype(float)
    share = len(left) / (len(left) + len(right))
    keep = (a + b) * min(share, 1 - share) >= EXPECTED
    a, b = np.append(a[keep], a[~keep].sum()), np.append(b[keep], b[~keep].sum())
    both = a + b
    a, both = a[both > 0], both[both > 0]
    statistic = float(((a - both * share) ** 2 / (both * share * (1 - share))).sum())
    return float(chi2.sf(statistic, max(1, len(both) - 1)))


def kolmogorov(sample: Array, law: Law, *, points: int = 400) -> float:
    """A bound on the p-value of the Kolmogorov–Smirnov test, for integers.

    The empirical and the true distribution functions are compared at integers only, on both sides of the sample's
    quantiles: a maximum over fewer points than the supremum, and for a discrete law Kolmogorov's limit is a bound.
    """
    ordered = np.sort(sample)
    step = max(1, len(ordered) // points)
    distance = 0.0
    for z in {int(v) + d for v in ordered[::step] for d in (-1, 0)}:
        share = np.searchsorted(ordered, np.array(z, dtype=ordered.dtype), side="right") / len(ordered)
        distance = max(distance, abs(float(share) - law.cdf(z)))
    return float(kolmogorov_tail(sqrt(len(ordered)) * distance))


def mean_test(values: Array, mean: float, second: float) -> float:
    """Two-sided p-value that numbers with this mean and second moment average to what they do."""
    deviation = sqrt(max(second - mean * mean, 0.0) / len(values))
    gap = abs(float(np.mean(values.astype(float))) - mean)
    return erfc(gap / deviation / sqrt(2)) if deviation else float(gap == 0)
