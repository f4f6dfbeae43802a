"""Trade-off functions (f-DP, Dong, Roth and Su 2022): the least type-II error of any test at a given type-I error.

A test asks whether the unit is in the data. (ε, δ)-DP for every ε is the same as a trade-off function:
f(α) = sup over ε ≥ 0 of max(0, 1 − δ(ε) − e^ε·α, e^−ε·(1 − δ(ε) − α)), and δ(ε) = max over α of 1 − f(α) − e^ε·α.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from math import inf, log, log1p, sqrt
from typing import Any, ClassVar

import numpy as np

from tacit.base import InputError, Number, Relation, cached_property, exact, special, whole
from tacit.loss.compose import Composition
from tacit.loss.crossing import Curve
from tacit.loss.lattice import LatticePair
from tacit.loss.loss import Interval, Loss
from tacit.loss.pair import Atoms, Floats, Pair
from tacit.loss.part import Part
from tacit.loss.pld import GDP, PLD, directions

__all__ = ["Tradeoff", "TradeoffPoints", "from_tradeoff"]

SAMPLES = 256  # values of ε at which δ is computed
FAINT = 1e-13  # δ below which the curve is not followed
ACCURACY = 2e-3
EVALUATED = 1e-15  # how far a function given as such may be off, in absolute terms

Points = Sequence[tuple[Number, Number]]


class Tradeoff:
    """The trade-off function of a loss. `f(alpha)` is a lower bound on the type-II error: the guarantee."""

    def __init__(self, loss: Loss) -> None:
        self.loss = loss

    def __call__(self, alpha: Number) -> float:
        return self.bounds(alpha).lower

    def power(self, alpha: Number) -> float:
        """The most that a test with false positive rate `alpha` can detect."""
        return 1.0 - self(alpha)

    def bounds(self, alpha: Number) -> Interval:
        """Type-II error at type-I error `alpha`: from the upper bounds on δ below, from the lower ones above."""
        at = exact(alpha, "alpha", toward="decimal")
        if not 0 <= at <= 1:
            raise InputError(f"alpha is a probability, between 0 and 1, not {float(at)}")
        low, high = self._bounds(np.array([float(at)]))
        return Interval(float(low[0]), float(high[0]))

    def curve(self, n: int = 50) -> tuple[Floats, Floats, Floats]:
        """`n` equally spaced α from 0 to 1, with the lower and the upper bound on f there."""
        alpha = np.linspace(0.0, 1.0, whole(n, "n", least=2))
        return alpha, *self._bounds(alpha)

    def _bounds(self, alpha: Floats) -> tuple[Floats, Floats]:
        if isinstance(self.loss, GDP):
            value = special.ndtr(-special.ndtri(alpha) - self.loss.mu)
            return value * (1 - 1e-12), np.minimum(1 - alpha, value * (1 + 1e-12))
        epsilon, upper, lower = self._samples
        x, high_x, high = np.exp(epsilon), *_hull(np.exp(epsilon), 1 - upper, 1 - lower)
        low = _best(x, 1 - upper, alpha) - 4e-15
        return np.maximum(0.0, low), np.minimum(1 - alpha, np.maximum(0.0, _best(high_x, high, alpha) + 4e-15))

    @cached_property
    def _samples(self) -> tuple[Floats, Floats, Floats]:
        """ε ≥ 0 and bounds on δ there, half of them where δ is large."""
        profile = _profile(self.loss)
        stretches = [np.linspace(a, b, SAMPLES // 2) for a, b in pairwise((0.0, *profile.marks))]
        epsilon = np.unique(np.concatenate(stretches))
        epsilon = epsilon[epsilon <= 700]  # beyond, e^ε·α passes 1 for every α a double can hold
        epsilon = epsilon[np.append(np.diff(epsilon) > 1e-6 * epsilon[-1], True)]  # slopes need room
        upper, lower = profile.delta(epsilon)
        # δ falls with ε, so that a better bound on one side of an ε is one for it too
        return epsilon, np.minimum.accumulate(upper), np.maximum.accumulate(lower[::-1])[::-1]


def _best(x: Floats, rest: Floats, alpha: Floats) -> Floats:
    """The highest of the lines rest − x·α and (rest − α)/x over all x = e^ε, with rest = 1 − δ."""
    lines = np.maximum(rest[:, None] - np.outer(x, alpha), (rest[:, None] - alpha) / x[:, None])
    return np.asarray(lines.max(axis=0))


def _hull(x: Floats, low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """Corners of a function above 1 − δ, which is concave in x = e^ε.

    Between two samples it lies below the chords of their neighbours, drawn on from the highest it can be at the nearer
    sample and the lowest it can be at the further one.
    """
    corners = list(zip(x, high, strict=True))
    count = len(x)
    onward = [(high[i] - low[i - 1]) / (x[i] - x[i - 1]) for i in range(1, count)]  # slope through i − 1 and i
    back = [(low[i + 1] - high[i]) / (x[i + 1] - x[i]) for i in range(count - 1)]  # slope through i and i + 1
    for i in range(count - 1):
        left, right = (x[i], high[i], onward[i - 1]) if i else None, None
        if i + 2 < count:
            right = (x[i + 1], high[i + 1], back[i + 1])
        corners += _meeting(left, right, x[i], x[i + 1], max(high[i], high[i + 1]))
    if count > 1 and onward[-1] > 0:
        corners.append((x[-1] + (1 - high[-1]) / onward[-1], 1.0))
    elif high[-1] < 1:
        corners.append((x[-1], 1.0))
    return np.array([c[0] for c in corners]), np.array([min(1.0, c[1]) for c in corners])


Line = tuple[float, float, float]


def _meeting(
    left: Line | None, right: Line | None, start: float, end: float, level: float
) -> list[tuple[float, float]]:
    """Where two lines meet inside [start, end], or the corners of a safe level when they do not."""
    if left is not None and right is not None and left[2] > right[2]:
        at = (right[1] - left[1] + left[2] * left[0] - right[2] * right[0]) / (left[2] - right[2])
        if start <= at <= end:
            return [(at, left[1] + left[2] * (at - left[0]))]
    if left is None and right is not None:
        return [(start, min(1.0, right[1] + right[2] * (start - right[0])))]
    # 1 − δ rises with ε, so that it is at most its value at the right end
    return [(start, level), (end, level)]


@dataclass(frozen=True)
class Profile:
    """Upper and lower bounds on δ as functions of ε, and the ε about where δ is 1e-3 and where it is negligible."""

    delta: Callable[[Floats], tuple[Floats, Floats]]
    marks: tuple[float, ...]


def _profile(loss: Loss) -> Profile:
    if not isinstance(loss, PLD):
        marks = tuple(loss.epsilon(goal + _slack(loss)).upper for goal in (1e-3, FAINT))
        return Profile(lambda epsilon: _apart([loss.delta(float(e)) for e in epsilon]), marks)
    orders = [Composition(terms, ACCURACY) for terms in directions(loss.parts)]
    forward = orders[0]
    marks = tuple(max(0.1, forward.moments(forward.theta_for_delta(goal))[1]) for goal in (1e-3, FAINT))
    _, mean, variance = forward.moments(0.0)
    if mean > 8 * sqrt(variance):
        marks = (mean - 8 * sqrt(variance), *marks)  # before that, δ is nearly 1
    bound = inf
    if all(part.bound is not None for part, _ in loss.parts):
        bound = float(loss.bound) * (1 + 1e-15)
        marks = tuple(sorted(min(mark, bound) for mark in (*marks, bound) if mark < marks[-1] + 1))
    sides = [composition.whole() for composition in orders]

    def delta(epsilon: Floats) -> tuple[Floats, Floats]:
        upper = np.max([_along(above, epsilon, 1) for above, _ in sides], axis=0)
        lower = np.max([_along(below, epsilon, -1) for _, below in sides], axis=0)
        upper[epsilon >= bound] = np.minimum(upper[epsilon >= bound], float(loss.slack) * (1 + 1e-15))
        return upper, np.minimum(lower, upper)

    return Profile(delta, marks)


def _along(curve: Curve, epsilon: Floats, sign: int) -> Floats:
    return np.array([curve(float(e), sign) for e in epsilon])


def _apart(bounds: list[Interval]) -> tuple[Floats, Floats]:
    return np.array([b.upper for b in bounds]), np.array([b.lower for b in bounds])


def _slack(loss: Loss) -> float:
    return float(getattr(loss, "slack", 0))


@dataclass(frozen=True)
class TradeoffPoints(Part):
    """A piecewise-linear trade-off function through `points` (α, f): slopes are likelihood ratios, steps are masses.

    Between two points the observed distribution has masses Δα in the world of the null hypothesis and −Δf in the other.
    What f(0) lacks to 1 is seen in the other world only, and where f is 0, in the null world only.
    """

    kind: ClassVar[str] = "tradeoff_points"
    lopsided: ClassVar[bool] = True

    points: tuple[tuple[Fraction, Fraction], ...]

    def __post_init__(self) -> None:
        points = tuple((Fraction(alpha), Fraction(beta)) for alpha, beta in self.points)
        object.__setattr__(self, "points", points)
        if len(points) < 2 or points[0][0] != 0 or points[-1][0] != 1 or points[-1][1] != 0:
            raise InputError("points of a trade-off function must begin at alpha = 0 and end at (1, 0)")
        if not 0 < points[0][1] <= 1:
            raise InputError(
                "a trade-off function must begin between 0 and 1, and one that begins at 0 promises nothing"
            )
        slopes = []
        for (a, fa), (b, fb) in pairwise(points):
            if not a < b or fa < fb:
                raise InputError("points of a trade-off function must have rising alpha and f that does not rise")
            slopes.append((fb - fa) / (b - a))
        if any(s > t for s, t in pairwise(slopes)):
            raise InputError("a trade-off function is convex: the slopes between its points must not fall")

    @cached_property
    def _steps(self) -> list[tuple[Fraction, Fraction]]:
        """(Δα, −Δf) of each piece."""
        return [(b - a, fa - fb) for (a, fa), (b, fb) in pairwise(self.points)]

    @property
    def _leaks(self) -> tuple[Fraction, Fraction]:
        return 1 - self.points[0][1], sum((null for null, other in self._steps if not other), Fraction(0))

    def pair(self) -> Pair:
        steps = [(null, other) for null, other in self._steps if other]
        losses = np.array([_log(other / null) for null, other in steps])
        only_p, only_q = (float(leak) for leak in self._leaks)
        masses, rare = (np.array([float(step[at]) for step in steps]) for at in (1, 0))
        size = float(np.abs(losses).max())
        if np.all(np.isin(losses, (-size, 0.0, size))):  # randomised response: no grid is needed
            positions = np.sign(losses).astype(np.int64)
            return LatticePair.at(positions, Fraction(size or 1), masses, only_p=only_p, only_q=only_q, rare=rare)
        return Atoms(losses, masses, only_p, only_q, rare)

    @property
    def bound(self) -> Fraction:
        most = max(abs(_log(other / null)) for null, other in self._steps if other)
        return Fraction(most * (1 + 1e-14))

    @property
    def reached(self) -> Fraction:
        return self.bound * (1 - Fraction(3, 10**14))

    @property
    def slack(self) -> Fraction:
        return max(self._leaks)

    def renyi(self, order: float) -> float:
        if self.slack:
            return inf

        def log_moment(sign: int) -> float:
            exponents = [
                (_log(other / null) * sign * (order - 1), _log(other if sign > 0 else null))
                for null, other in self._steps
            ]
            return float(np.logaddexp.reduce([loss + mass for loss, mass in exponents]))

        return max(0.0, log_moment(1), log_moment(-1)) * (1 + 1e-13) / (order - 1)

    def json(self) -> dict[str, Any]:
        return {"kind": self.kind, "points": [[str(alpha), str(beta)] for alpha, beta in self.points]}


def _log(ratio: Fraction) -> float:
    """Right to a few units, but for ratios that no double holds."""
    if Fraction(1, 2) < ratio < 2:
        return log1p(float(ratio - 1))
    return log(float(ratio)) if 1e-300 < ratio < 1e300 else log(ratio.numerator) - log(ratio.denominator)


def from_tradeoff(
    tradeoff: Points | Callable[[float], float],
    *,
    relation: Relation = Relation.ADD_REMOVE,
    unit: str = "row",
) -> PLD:
    """The loss with a given trade-off function, from whichever side a test is made.

    Points (α, f) from (0, f(0)) to (1, 0) are taken as they are, with straight lines between them. A function must be
    convex and right to 1e-15; it is replaced by a piecewise-linear one below it, which can only overstate the loss (the
    overstatement includes a δ of about 1e-12).
    """
    points = _below(tradeoff) if callable(tradeoff) else _exact(tradeoff)
    return PLD.of(((TradeoffPoints(tuple(points)), 1),), relation=relation, unit=unit)


def _exact(points: Points) -> list[tuple[Fraction, Fraction]]:
    return [(exact(alpha, "alpha", toward="decimal"), exact(beta, "f", toward="decimal")) for alpha, beta in points]


def _below(tradeoff: Callable[[float], float]) -> list[tuple[Fraction, Fraction]]:
    """A convex piecewise-linear function below a convex one that is known at a grid up to `EVALUATED`.

    On each stretch the function lies above the two neighbouring chords drawn on; what is above both has a corner where
    they meet. Between those corners it is concave, so the straight lines from corner to corner are lower still.
    """
    near = [10 ** (-13 + i / 40) for i in range(508)]
    floats = near + [n / 512 for n in range(242, 271)] + [1 - a for a in near]
    x = [Fraction(a) for a in sorted(set(floats))]
    error = Fraction(EVALUATED)
    f = [Fraction(float(tradeoff(float(alpha)))) - error for alpha in x]  # at least: the function is never below these
    gaps = [b - a for a, b in pairwise(x)]
    steepest = [(f[i + 1] - f[i] - 2 * error) / gap for i, gap in enumerate(gaps)]
    flattest = [(f[i + 1] - f[i] + 2 * error) / gap for i, gap in enumerate(gaps)]
    corners = [(Fraction(0), f[1] - flattest[1] * x[1])]
    for i in range(1, len(x) - 2):
        before, after = steepest[i - 1], flattest[i + 1]
        if before >= after:
            raise InputError(f"a trade-off function is convex, but this one is not near alpha = {float(x[i]):.6g}")
        at = (f[i + 1] - f[i] + before * x[i] - after * x[i + 1]) / (before - after)
        if at <= x[i]:
            corners.append((x[i], f[i]))
        elif at >= x[i + 1]:
            corners.append((x[i + 1], f[i + 1]))
        else:
            corners.append((at, f[i] + before * (at - x[i])))
    corners.append((Fraction(1), f[-2] + steepest[-2] * (1 - x[-2])))
    return _positive(_convex(corners))


def _positive(hull: list[tuple[Fraction, Fraction]]) -> list[tuple[Fraction, Fraction]]:
    """The larger of a falling convex function and 0, ending at (1, 0)."""
    kept = [(x, y) for x, y in hull if y > 0 and x < 1]
    if kept and len(kept) < len(hull):
        (a, fa), (b, fb) = hull[len(kept) - 1], hull[len(kept)]
        crossing = a + (b - a) * fa / (fa - fb) if fb < 0 else b
        if crossing < 1:
            kept.append((crossing, Fraction(0)))
    return [*kept, (Fraction(1), Fraction(0))]


def _convex(corners: list[tuple[Fraction, Fraction]]) -> list[tuple[Fraction, Fraction]]:
    """The lower convex hull of points in the order of α."""
    hull: list[tuple[Fraction, Fraction]] = []
    for x, y in corners:
        while hull and hull[-1][0] == x and hull[-1][1] >= y:
            hull.pop()
        if hull and hull[-1][0] == x:
            continue
        while len(hull) > 1:
            (x1, y1), (x2, y2) = hull[-2], hull[-1]
            if (y2 - y1) * (x - x1) < (y - y1) * (x2 - x1):
                break
            hull.pop()
        hull.append((x, y))
    return hull
