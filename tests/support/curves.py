"""Privacy curves in high precision, written from the definitions and from nothing in `tacit.loss`.

A curve is δ(ε) = Σ (p − e^ε·q)+ for any real ε; mpmath works with enough digits that rounding is out of the question.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from math import inf

import mpmath
from mpmath import mpf

__all__ = [
    "Curve",
    "Finite",
    "discrete_laplace",
    "discrete_normal",
    "encloses",
    "gaussian",
    "laplace",
    "number",
    "replaced_gaussian",
    "replaced_vectors",
    "response",
    "sampled_gaussian",
    "twice",
]

Curve = Callable[[mpf], mpf]

mpmath.mp.dps = 40


def number(x: Fraction | float | str | mpf) -> mpf:
    """x exactly (a float is the double it is)."""
    x = Fraction(x) if isinstance(x, str) else x
    return mpf(x.numerator) / x.denominator if isinstance(x, Fraction | int) else mpf(x)


def gaussian(mu: Fraction | float | mpf) -> Curve:
    """Balle and Wang 2018, Theorem 8."""
    m = number(mu)
    return lambda e: mpmath.ncdf(m / 2 - e / m) - mpmath.exp(e) * mpmath.ncdf(-m / 2 - e / m)


def laplace(epsilon: Fraction | float) -> Curve:
    """Two Laplace distributions `epsilon` scales apart: 1 − e^((x − ε)/2) in between."""
    top = number(epsilon)

    def curve(e: mpf) -> mpf:
        if e >= top:
            return mpf(0)
        return -mpmath.expm1(e) if e <= -top else -mpmath.expm1((e - top) / 2)

    return curve


def sampled_gaussian(mu: Fraction | float, rate: Fraction | float) -> tuple[Curve, Curve]:
    """(1 − r)·N(0, 1) + r·N(μ, 1) against N(0, 1), and the other way round; the likelihood ratio grows with x."""
    m, r = number(mu), number(rate)

    def at(e: mpf) -> mpf | None:
        """x where the ratio of the mixture to N(0, 1) is e^ε."""
        lifted = mpmath.expm1(e) + r
        return mpmath.log(lifted / r) / m + m / 2 if lifted > 0 else None

    def forward(e: mpf) -> mpf:
        x = at(mpf(e))
        if x is None:
            return -mpmath.expm1(e)
        q, p = mpmath.ncdf(-x), mpmath.ncdf(m - x)
        return r * (p - q) - mpmath.expm1(e) * q

    def backward(e: mpf) -> mpf:
        x = at(-mpf(e))
        if x is None:
            return mpf(0)
        q, p = mpmath.ncdf(x), mpmath.ncdf(x - m)
        return q - mpmath.exp(e) * ((1 - r) * q + r * p)

    return forward, backward


def replaced_gaussian(mu: Fraction | float, rate: Fraction | float) -> Curve:
    """(1 − r)·N(0, 1) + r·N(μ, 1) against (1 − r)·N(0, 1) + r·N(−μ, 1); symmetric."""
    m, r = number(mu), number(rate)

    def curve(e: mpf) -> mpf:
        c, b, ratio = r * mpmath.exp(-m * m / 2), -(1 - r) * mpmath.expm1(e), mpmath.exp(e)
        root = mpmath.sqrt(b * b + 4 * c * c * ratio)
        v = 2 * c * ratio / (root + b) if b > 0 else (root - b) / (2 * c)
        zero, plus, minus = (mpmath.ncdf(centre - mpmath.log(v) / m) for centre in (mpf(0), m, -m))
        return (1 - r) * zero + r * plus - ratio * ((1 - r) * zero + r * minus)

    return curve


def replaced_vectors(old: float, new: float, angle: float, rate: Fraction | float) -> Curve:
    """(1 − r)·N(0, I) + r·N(x, I) against (1 − r)·N(0, I) + r·N(y, I), vectors of these lengths at this angle, ε ≥ 0.

    H = r·E[(1 − c·e^(G − |x|²/2) − a·e^(G' − |y−x|²/2))+] with c = (a − 1)(1 − r)/r, a = e^ε and Gaussian G, G' whose
    covariances are those of −x and y − x. Given G the inner mean has a closed form (of an option); the outer is summed.
    """
    r, x, y, t = (number(value) for value in (rate, old, new, angle))
    first, second = x, mpmath.sqrt(x * x + y * y - 2 * x * y * mpmath.cos(t))
    along = (x * x - x * y * mpmath.cos(t)) / first  # of y − x in the direction of −x
    across = mpmath.sqrt(second**2 - along**2)

    def curve(e: mpf) -> mpf:
        a = mpmath.exp(e)
        c = (a - 1) * (1 - r) / r
        end = min(mpf(10), (first**2 / 2 - mpmath.log(c)) / first) if c else mpf(10)

        def inner(g: mpf) -> mpf:
            left = 1 - c * mpmath.exp(first * g - first**2 / 2)
            if left <= 0:
                return mpf(0)
            right = a * mpmath.exp(along * g - along**2 / 2)
            d = (mpmath.log(left / right) + across**2 / 2) / across
            return mpmath.npdf(g) * (left * mpmath.ncdf(d) - right * mpmath.ncdf(d - across))

        points = [-10 + (end + 10) * k / 12 for k in range(13)]
        return r * mpmath.quad(inner, points)

    return curve


def twice(mu: Fraction | float, rate: Fraction | float) -> tuple[Curve, Curve]:
    """Two steps of a sampled Gaussian, by quadrature over the first: δ₂(ε) = E_P[δ₁(ε − L)]."""
    m, r = number(mu), number(rate)
    forward, backward = sampled_gaussian(mu, rate)

    def loss(x: mpf) -> mpf:
        return mpmath.log1p(r * mpmath.expm1(m * x - m * m / 2))

    points = [mpf(i) for i in range(-12, 13 + int(mpmath.ceil(m)), 2)]

    def ahead(e: mpf) -> mpf:
        return mpmath.quad(lambda x: mpmath.npdf(x) * mpmath.exp(loss(x)) * forward(mpf(e) - loss(x)), points)

    def back(e: mpf) -> mpf:
        return mpmath.quad(lambda x: mpmath.npdf(x) * backward(mpf(e) + loss(x)), points)

    return ahead, back


@dataclass(frozen=True)
class Finite:
    """Finitely many outcomes with their probabilities (p, q) under the two worlds."""

    outcomes: tuple[tuple[mpf, mpf], ...]

    @property
    def swapped(self) -> "Finite":
        return Finite(tuple((q, p) for p, q in self.outcomes))

    def sampled(self, rate: Fraction | float) -> "Finite":
        r = number(rate)
        return Finite(tuple(((1 - r) * q + r * p, q) for p, q in self.outcomes))

    def times(self, count: int) -> "Finite":
        """`count` independent copies: one outcome for each way to split the count among the outcomes."""
        found = [(mpf(1), mpf(1), count)]
        for p, q in self.outcomes[:-1]:
            found = [
                (a * mpmath.binomial(left, k) * p**k, b * mpmath.binomial(left, k) * q**k, left - k)
                for a, b, left in found
                for k in range(left + 1)
            ]
        p, q = self.outcomes[-1]
        return Finite(tuple((a * p**left, b * q**left) for a, b, left in found))

    def __mul__(self, other: "Finite") -> "Finite":
        return Finite(tuple((a * c, b * d) for a, b in self.outcomes for c, d in other.outcomes))

    def curve(self, e: mpf) -> mpf:
        factor = mpmath.exp(e)
        return mpmath.fsum(p - factor * q for p, q in self.outcomes if p > factor * q)

    def then(self, after: Curve) -> Curve:
        """Composed with something else: δ(ε) = Σ p·after(ε − log(p/q)), and all of p where q is nothing."""

        def composed(e: mpf) -> mpf:
            return mpmath.fsum(p * after(e - mpmath.log(p / q)) if q else p for p, q in self.outcomes if p)

        return composed


def response(epsilon: Fraction | float | str, delta: Fraction | float | str = 0) -> Finite:
    """Randomised response that leaks with probability δ."""
    e, d = number(epsilon), number(delta)
    keep, flip = (1 - d) / (1 + mpmath.exp(-e)), (1 - d) / (1 + mpmath.exp(e))
    return Finite(((keep, flip), (flip, keep)) + (((d, mpf(0)), (mpf(0), d)) if d else ()))


def discrete_laplace(scale: Fraction | int, shift: int) -> Finite:
    """Outcomes z ≤ 0, 1, …, shift − 1, z ≥ shift of noise around 0 and around `shift`."""
    a = mpmath.exp(-1 / number(Fraction(scale)))
    inner = [(1 - a) / (1 + a) * a**z for z in range(1, shift)]
    left, right = 1 / (1 + a), a**shift / (1 + a)
    return Finite(tuple(zip([left, *inner, right], [right, *inner[::-1], left], strict=True)))


def discrete_normal(variance: Fraction | int, shift: int, count: int = 1) -> Finite:
    """`count` discrete Gaussians, each moved by `shift`: only the sum of the outcomes matters."""
    v = number(Fraction(variance))
    reach = int(mpmath.ceil(16 * mpmath.sqrt(v))) + shift
    w = {z: mpmath.exp(-mpf(z * z) / (2 * v)) for z in range(-reach, reach + 1)}
    total = mpmath.fsum(mpmath.exp(-mpf(z * z) / (2 * v)) for z in range(-2 * reach, 2 * reach + 1))
    one = {z: x / total for z, x in w.items()}
    law = {0: mpf(1)}
    for _ in range(count):
        more: dict[int, mpf] = {}
        for y, p in law.items():
            for z, x in one.items():
                more[y + z] = more.get(y + z, mpf(0)) + p * x
        law = more
    # L = Σ (shift² − 2·shift·z)/2σ² for z around 0 against z around `shift`
    return Finite(
        tuple((p, p * mpmath.exp(-(count * shift * shift - 2 * shift * y) / (2 * v))) for y, p in law.items())
    )


def encloses(low: float, high: float, curves: Iterable[Curve], delta: Fraction | float | str) -> bool:
    """Whether the least ε with δ(ε) ≤ `delta` in every direction lies in [low, high]: checked in δ, where it counts."""
    curves, target = list(curves), number(delta)
    sound = high == inf or max(curve(mpf(high)) for curve in curves) <= target
    return sound and (low == 0 or max(curve(mpf(low)) for curve in curves) >= target)
