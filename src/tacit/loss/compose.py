"""Composition of many dominating pairs: tilt, one FFT, and a bound on every error made on the way.

The composed δ(ε) = Σ_l P[Σ L = l]·(1 − e^(ε−l))+ may be 1e-30 while an FFT is only accurate to 1e-16 of the largest
mass. So each P is tilted to w(l) ∝ P[L = l]·e^(θl), which moves the mass to the losses that matter:
δ(ε) = e^(K−θε)·Σ_{l>ε} w*(l)·g(l − ε), with g(x) = e^(−θx)(1 − e^−x) and K the sum of the log-normalisers.
θ is the saddle point, where the tilted mean meets ε. The bounds include: mass beyond the grid and beyond the window
(Chernoff bounds), circular wrap-around, and the rounding of transforms, powers and sums.
"""

from collections.abc import Callable, Sequence
from math import ceil, exp, expm1, inf, isnan, log, log1p, log2, pi, sqrt
from typing import Any

import numpy as np
from scipy.fft import irfft, next_fast_len, rfft

from tacit.base import LossError
from tacit.loss.grid import (
    LARGEST,
    LatticePair,
    Masses,
    Span,
    TooFineError,
    common_lattice,
    lower,
    outcomes,
    upper,
)
from tacit.loss.loss import Interval
from tacit.loss.pair import UNIT, Floats, Pair, dot

__all__ = ["Composition"]

Terms = list[tuple[int, Pair]]

TILTS = [exp(u / 12) for u in range(-84, 133)]  # from 1e-3 to 6e4
FAR = 60.0  # beyond ε + FAR/θ a loss counts for less than e^−FAR
OUTSIDE = 1e-18  # tilted probability allowed outside the window
ALIKE = 1.5  # points of a curve whose tilts are within this factor share a grid
ENOUGH = 2**17  # points of such a grid, and of one term's, beyond which it is not made finer
SPREAD = 2**16  # a standard deviation of the sum may have this many steps of a lattice


class Rough:
    """The log-moment function of the whole sum from a few thousand cells: enough to find θ, ε and the spread."""

    def __init__(self, terms: Terms, tail: float) -> None:
        self._terms = []
        self._known: dict[float, tuple[float, float, float]] = {}
        self._reach = [pair.reach(tail) for _, pair in terms]
        for (count, pair), (low, high) in zip(terms, self._reach, strict=True):
            span = np.geomspace(1e-7, 1.0, 1500) * max(abs(low), abs(high), 1e-300)
            edges = np.unique(np.clip(np.concatenate([-span[::-1], [0.0], span]), low, high))
            c = pair.cells(edges)
            live = c.p > 0
            with np.errstate(divide="ignore"):
                losses = np.log(c.p[live]) - np.log(c.q[live])
            self._terms.append((count, np.clip(losses, low, high), np.log(c.p[live])))

    def moments(self, theta: float) -> tuple[float, float, float]:
        """K(θ) and its first two derivatives."""
        if theta in self._known:
            return self._known[theta]
        total = np.zeros(3)
        for count, losses, log_p in self._terms:
            exponents = theta * losses + log_p
            top = float(exponents.max())
            w = np.exp(exponents - top)
            mass = float(w.sum())
            mean = dot(w, losses) / mass
            variance = dot(w, (losses - mean) ** 2) / mass
            total += count * np.array([top + log(mass), mean, variance])
        self._known[theta] = float(total[0]), float(total[1]), float(total[2])
        return self._known[theta]

    def spans(self, theta: float) -> list[Span]:
        """Where each term's loss lives, and where all but a millionth of its tilted mass does."""
        found = []
        for (_, losses, log_p), (low, high) in zip(self._terms, self._reach, strict=True):
            exponents = theta * losses + log_p
            mass = np.cumsum(np.exp(exponents - exponents.max()))
            first, last = np.searchsorted(mass, [1e-6 * mass[-1], (1 - 1e-6) * mass[-1]])
            bulk = losses[max(0, first - 1)], losses[min(len(losses) - 1, last + 1)]
            found.append(Span(low, high, max(low, float(bulk[0])), min(high, float(bulk[1]))))
        return found

    def _theta(self, reached: Callable[[float, float, float, float], bool]) -> float:
        """The least tilt on a grid at which `reached`, or beyond which a bounded loss is all at its top: θ·sd < 1."""
        peaked = False
        for theta in TILTS:
            k, slope, curve = self.moments(theta)
            peaked = peaked or theta * theta * curve > 1
            if reached(theta, k, slope, curve) or (theta * theta * curve < 1 and (peaked or theta > 100)):
                return theta
        return TILTS[-1]

    def theta_for_delta(self, delta: float) -> float:
        """The tilt at which the saddle-point estimate of δ at its mean is `delta`."""

        def reached(theta: float, k: float, slope: float, curve: float) -> bool:
            return k - theta * slope - log1p(theta * (theta + 1) * sqrt(2 * pi * curve)) <= log(delta)

        return self._theta(reached)

    def theta_for_epsilon(self, epsilon: float) -> float:
        """The tilt whose mean is ε."""
        return self._theta(lambda theta, k, slope, curve: slope >= epsilon)


class Term:
    """`count` copies of masses on a grid, with what tilting needs of them."""

    def __init__(self, count: int, masses: Masses) -> None:
        self.count, self.masses = count, masses
        live = masses.p > 0
        self.losses = masses.losses[live]
        self._log_p = np.log(masses.p[live])
        self.indices = masses.first + np.flatnonzero(live)

    def log_moment(self, theta: float) -> float:
        """log Σ p·e^(θl), of the finite part."""
        exponents = theta * self.losses + self._log_p
        top = float(exponents.max())
        return top + log(float(np.exp(exponents - top).sum()))

    def rounding(self, theta: float) -> float:
        """Units in the last place by which its moment may be off: those of the exponents, and of a pairwise sum."""
        return 64 + 6 * theta * float(np.abs(self.losses).max()) + 2 * float(np.abs(self._log_p).max())

    def tilted(self, theta: float) -> Floats:
        """w ∝ p·e^(θl), with sum one."""
        exponents = theta * self.losses + self._log_p
        w = np.exp(exponents - exponents.max())
        return np.asarray(w / w.sum())


class Composed:
    """The composed masses around the tilted mean, on one side of the truth (upper or lower)."""

    def __init__(self, terms: list[Term], theta: float) -> None:
        self.theta = theta
        step = terms[0].masses.step
        self.log_total = sum(t.count * t.log_moment(theta) for t in terms)
        self.offset = sum(t.count * t.masses.offset for t in terms)
        self.infinite = -expm1(sum(t.count * log1p(-min(t.masses.infinite, 1 - 1e-16)) for t in terms))
        tilted = [t.tilted(theta) for t in terms]
        means = [dot(w, t.losses) for t, w in zip(terms, tilted, strict=True)]
        spread = sum(t.count * dot(w, (t.losses - m) ** 2) for t, w, m in zip(terms, tilted, means, strict=True))
        centre = sum(t.count * m for t, m in zip(terms, means, strict=True))
        left, right = self._extent(terms, centre, sqrt(max(spread, 1e-300)))
        mean = centre - self.offset
        size = next_fast_len(ceil((left + right) / step) + 2, real=True)
        self.full = size > LARGEST // 2  # a finer grid would not fit
        if size > LARGEST:
            raise TooFineError(size)
        start = round((mean - left) / step)
        self.outside = OUTSIDE
        spectrum: Any = 1.0
        error = 0.0  # of the composed tilted masses, in the Euclidean norm
        transform = 16 * UNIT * log2(size)  # relative error of an FFT in that norm (Higham 2002, Theorem 24.2)
        for term, w in zip(terms, tilted, strict=True):
            folded = np.bincount(term.indices % size, weights=w, minlength=size).astype(np.float64)
            spectrum = spectrum * _power(rfft(folded), term.count)
            error += term.count * (transform + 4 * UNIT) * sqrt(dot(folded, folded)) * 1.01
        masses = irfft(spectrum, size)
        norm = sqrt(dot(masses, masses))
        powers = sum(t.count for t in terms) * 8 * UNIT + 100 * UNIT  # exp(n·log F): the phase of log F is at most π
        self.error = error + (powers + transform) * (norm + error) + 1e-30
        self.masses = np.roll(masses, -(start % size))
        self.losses = (start + np.arange(size)) * step + self.offset
        # relative error of e^K: each log-normaliser is a sum of products right to a few units
        self.rounding = sum(t.count * t.rounding(theta) for t in terms) * UNIT

    def _extent(self, terms: list[Term], centre: float, spread: float) -> tuple[float, float]:
        """How far below and above its mean the tilted sum reaches with probability OUTSIDE, by Chernoff bounds."""
        goal = -log(OUTSIDE / 2)

        def bound(sign: int) -> float:
            best = inf
            for factor in (0.25, 0.5, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 10.0, 14.0):
                s = factor / spread
                change = sum(t.count * t.log_moment(self.theta + sign * s) for t in terms) - self.log_total
                best = min(best, (change - sign * s * centre + goal) / s)
            return best

        return max(bound(-1), 0.0), max(bound(1), 0.0)

    def delta(self, epsilon: float, sign: int) -> float:
        """δ(ε), rounded up (sign = 1) or down (sign = −1) by all the errors made."""
        epsilon -= sign * 8 * UNIT * (1 + abs(epsilon))  # losses are right to a few units
        near = np.searchsorted(self.losses, [epsilon, epsilon + FAR / self.theta], side="right")
        x = self.losses[near[0] : near[1]] - epsilon
        gain = np.exp(-self.theta * x) * -np.expm1(-x)
        total = dot(self.masses[near[0] : near[1]], gain)
        slack = self.error * sqrt(dot(gain, gain)) + self.outside + exp(-FAR) + 64 * UNIT * total
        log_scale = self.log_total - self.theta * epsilon
        if isnan(total + slack):
            raise LossError("the composition left the range of floating point: ask for a larger delta")
        value = max(0.0, total + sign * slack)
        scaled = exp(min(700.0, log_scale + log(value))) if value > 0 else 0.0
        least = 5e-324 if sign > 0 else 0.0  # what underflows is not nothing
        return min(1.0, max(least, (scaled + self.infinite) * (1 + sign * (self.rounding + 1e-14))))


def _power(spectrum: Any, count: int) -> Any:
    """F^n; frequencies whose power is below e^−80 are dropped, which the error allows for many times over."""
    if count == 1:
        return spectrum
    live = np.abs(spectrum) > exp(-80 / count)
    powered = np.zeros_like(spectrum)
    powered[live] = np.exp(count * np.log(spectrum[live]))
    return powered


class Composition:
    """δ(ε) and ε(δ) of a list of (count, pair), in the direction in which the pairs are given.

    `accuracy` is the relative width asked for; the grid is refined until the two bounds are that close or it is full.
    """

    def __init__(self, terms: Terms, accuracy: float) -> None:
        self._terms, self._accuracy = terms, accuracy
        self._count = sum(count for count, _ in terms)
        self._few = outcomes(terms)
        self._unit = common_lattice([pair for _, pair in terms])

    def epsilon(self, delta: float) -> Interval:
        """Bounds on the least ε ≥ 0 with δ(ε) ≤ δ."""
        if self._few is not None:
            few = self._few
            _, highest = _crossing(lambda e: few.delta(e, 1), delta, 1.0, 1.0)
            lowest, _ = _crossing(lambda e: few.delta(e, -1), delta, 1.0, 1.0)
            return Interval(min(lowest, highest), highest)
        tail = self._tail(delta)
        rough = Rough(self._terms, tail)
        theta = rough.theta_for_delta(delta)
        _, start, curve = rough.moments(theta)
        width = max(1e-12, sqrt(curve))

        def bounds(above: Composed, below: Composed) -> Interval:
            _, highest = _crossing(lambda e: above.delta(e, 1), delta, start, width)
            lowest, _ = _crossing(lambda e: below.delta(e, -1), delta, start, width)
            return Interval(min(lowest, highest), highest)

        return self._refined(bounds, theta, rough, self._accuracy * max(start, 0.1 * width))

    def delta(self, epsilon: float) -> Interval:
        """Bounds on δ(ε)."""
        if self._few is not None:
            return Interval(self._few.delta(epsilon, -1), self._few.delta(epsilon, 1))
        rough = Rough(self._terms, 1e-30)
        theta = rough.theta_for_epsilon(epsilon)
        k, _, curve = rough.moments(theta)
        guess = exp(min(-0.7, max(-600.0, k - theta * epsilon)))

        def bounds(above: Composed, below: Composed) -> Interval:
            highest = above.delta(epsilon, 1)
            return Interval(min(highest, below.delta(epsilon, -1)), highest)

        wanted = self._accuracy * max(epsilon, 0.1 * sqrt(curve))
        return self._refined(bounds, theta, Rough(self._terms, self._tail(guess)), wanted, slope=theta)

    def above(self, epsilons: Sequence[float]) -> list[float]:
        """Upper bounds on δ at many ε, which ascend: points with like tilts share one grid, and nothing is bounded from
        below, so that a whole curve costs little more than a few of its points."""
        if self._few is not None:
            return [self._few.delta(epsilon, 1) for epsilon in epsilons]
        rough = Rough(self._terms, 1e-30)
        groups: list[tuple[float, list[float]]] = []  # the first tilt of each, and its ε
        for epsilon in epsilons:
            theta = rough.theta_for_epsilon(epsilon)
            if not groups or theta > ALIKE * groups[-1][0]:
                groups.append((theta, []))
            groups[-1][1].append(epsilon)
        return [bound for _, group in groups for bound in self._shared(group, rough)]

    def _shared(self, epsilons: list[float], rough: Rough) -> list[float]:
        """The same for points that share a grid, which is made finer while that still lowers one of them."""
        middle = epsilons[len(epsilons) // 2]
        theta = rough.theta_for_epsilon(middle)
        k, _, curve = rough.moments(theta)
        tail = self._tail(exp(min(-0.7, max(-600.0, k - theta * epsilons[-1]))))
        fine = Rough(self._terms, tail)
        spans = fine.spans(theta)
        least = 24 * sqrt(fine.moments(theta)[2]) / LARGEST
        step = max(least, sqrt(3 * self._accuracy * max(middle, 0.1 * sqrt(curve)) / (self._count * (theta + 1))))
        best = [1.0] * len(epsilons)
        while True:
            step = self._anchored(step)
            try:
                terms = [Term(n, upper(pair, step, span)) for (n, pair), span in zip(self._terms, spans, strict=True)]
                grid = Composed(terms, theta)
            except TooFineError as error:
                if best[0] < 1:
                    return best
                least = step = step * 1.2 * error.size / LARGEST
                continue
            found = [min(old, grid.delta(epsilon, 1)) for old, epsilon in zip(best, epsilons, strict=True)]
            settled = all(new > (1 - 2 * self._accuracy) * old for old, new in zip(best, found, strict=True))
            best, size = found, max([len(grid.masses), *(len(term.masses.p) for term in terms)])
            if settled or grid.full or size > ENOUGH or step <= least:
                return best
            step = max(least, step * 0.4)

    def _tail(self, delta: float) -> float:
        """Probability that one pair may leave its grid: it is counted as a breach, so all must be far below δ."""
        return max(1e-300, delta * 1e-9 / self._count)

    def _refined(
        self,
        bounds: Callable[[Composed, Composed], Interval],
        theta: float,
        rough: Rough,
        wanted: float,
        *,
        slope: float | None = None,
    ) -> Interval:
        """The bounds on a grid fine enough that they are `wanted` apart.

        For bounds on δ, `slope` says how its logarithm changes with ε, and `wanted` is meant in ε.
        """
        if self._unit is not None and rough.moments(theta)[2] < (SPREAD * self._unit) ** 2:
            exact = Composed(
                [Term(n, pair.on(self._unit)) for n, pair in self._terms if isinstance(pair, LatticePair)], theta
            )
            return bounds(exact, exact)
        coarsest = 24 * sqrt(rough.moments(theta)[2]) / LARGEST
        step = max(coarsest, sqrt(3 * wanted / (self._count * (theta + 1))))
        spans = rough.spans(theta)
        best = Interval(0.0, inf)
        for _ in range(5):
            step = self._anchored(step)
            terms = [(n, pair, span) for (n, pair), span in zip(self._terms, spans, strict=True)]
            try:
                above = Composed([Term(n, upper(pair, step, span)) for n, pair, span in terms], theta)
                below = Composed([Term(n, lower(pair, step, span, theta)) for n, pair, span in terms], theta)
            except TooFineError as error:
                if best.upper < inf:
                    break
                coarsest = step = step * 1.2 * error.size / LARGEST
                continue
            found = bounds(above, below)
            before = best.upper - best.lower
            best = Interval(max(best.lower, found.lower), min(best.upper, found.upper))
            if best.lower > best.upper:
                raise LossError("the bounds from above and below contradict each other: please report this composition")
            width = best.upper - best.lower
            share = self._accuracy if slope is None else self._accuracy - expm1(-wanted * slope)
            goal = share * best.upper
            if width <= goal or above.full or best.upper == inf or width > 0.8 * before:  # or no finer grid helps
                break
            step = max(coarsest, step * min(0.6, max(0.15, sqrt(goal / width) * 0.9)))
        return best

    def _anchored(self, step: float) -> float:
        for _, pair in self._terms:
            if pair.anchor:
                return abs(pair.anchor) / ceil(abs(pair.anchor) / step)
        return step


def _crossing(curve: Callable[[float], float], delta: float, start: float, width: float) -> tuple[float, float]:
    """ε to 1e-13 with curve(low) > δ ≥ curve(high), for a falling curve; (0, 0) and (·, ∞) where there is none."""
    low = high = max(start, 0.0)
    up = down = width / 8
    while curve(high) > delta:
        low, high, up = high, high + up, 2 * up
        if high > 1e8:
            return low, inf
    while curve(low) <= delta:
        if low == 0:
            return 0.0, 0.0
        high, low, down = low, max(0.0, low - down), 2 * down
    return _narrowed(curve, delta, low, high)


def _narrowed(curve: Callable[[float], float], delta: float, low: float, high: float) -> tuple[float, float]:
    """The bracket brought to 1e-12 by false position on log δ, which is nearly straight, halving when that stalls."""

    def height(value: float) -> float:
        return log(max(value, 1e-320)) - log(delta)

    left, right = height(curve(low)), height(curve(high))
    for turn in range(200):
        if high - low <= 1e-12 * high:
            break
        share = left / (left - right) if turn % 3 < 2 and left > right else 0.5
        middle = low + (high - low) * min(max(share, 1e-3), 1 - 1e-3)
        if not low < middle < high:
            break
        found = curve(middle)
        if found <= delta:
            high, right = middle, height(found)
            left /= 2 if turn % 3 else 1  # the Illinois rule: do not keep one end for ever
        else:
            low, left = middle, height(found)
            right /= 2 if turn % 3 else 1
    return low, high
