"""Composition of many dominating pairs: δ(ε) and ε(δ) of their product, between two bounds.

All parts are tilted alike, so that the sum has its mass where δ is decided, and meet as characteristic functions: they
share no grid, however many they are and whatever their counts. What is not known exactly is refined until the bounds
are as close as was asked for: cells of parts that have no closed form, and the smoothing of sums that are neither on a
lattice nor smooth (docs/theory/pld.md).
"""

from collections.abc import Callable, Sequence
from math import exp, expm1, fsum, inf, log, log1p, pi, sqrt

import numpy as np

from tacit.base import LossError, cached_property
from tacit.loss.inverse import Inverse, Lattice, TooManyError
from tacit.loss.lattice import LatticePair, common_lattice, outcomes
from tacit.loss.loss import Interval
from tacit.loss.pair import UNIT, Atoms
from tacit.loss.source import Celled, Mixed, Source, Terms, sources

__all__ = ["Composition", "Curve"]

Curve = Callable[[float, int], float]  # δ(ε), rounded up (1) or down (−1)

LEAST, MOST = 1e-6, 1e12  # tilts
ALIKE = 1.5  # points of a curve whose tilts are within this factor share one transform
LOST = 20.0  # how much larger than δ, in logarithms, what is summed may be: rounding lies 36 below it
FINEST = 10.0  # what is finer than the accuracy by this factor is not told apart
STAGES = 6
CHEAP = 2**16  # frequencies that are sooner taken than a sum is smoothed
FREQUENCIES, QUICK = 2**20, 2**16  # that there is room for, and that are tried first where there is another way
FAINT = -320.0  # the logarithm of a δ that nobody asks more of than to be small
SPREAD = 2**17  # steps of a lattice that a standard deviation of the sum may have


CONTRADICTION = "the bounds from above and below contradict each other: please report this composition"


class Composition:
    """δ(ε) and ε(δ) of a list of (count, pair), in the direction in which the pairs are given.

    `accuracy` is the relative width asked for; the bounds are refined until they are that close or there is no room.
    """

    def __init__(self, terms: Terms, accuracy: float, *, tail: float = 1e-60, cut: bool = False) -> None:
        """`tail` is the probability that a pair which is cut into cells may leave out on either side; `cut` says that
        mixtures of Gaussians are, too. Then outcomes much rarer than δ are out of the way, which else may rule all of
        E[e^(θL)]."""
        self._terms, self._accuracy, self._tail, self._cut = terms, accuracy, tail, cut
        self._known: dict[float, tuple[float, float, float]] = {}

    def epsilon(self, delta: float) -> Interval:
        """Bounds on the least ε ≥ 0 with δ(ε) ≤ δ."""
        if (direct := self._direct) is not None:
            return _between(direct, direct, delta, 1.0, 1.0)
        return self._closest(lambda composition, most: composition._epsilon(delta, most))

    def _closest(self, ask: "Callable[[Composition, int], Interval]") -> Interval:
        """The bounds, from few frequencies, with tails cut off, or from many: whatever makes them close first."""
        ways = [(self, FREQUENCIES)]
        if not self._cut and any(isinstance(source, Mixed) and source.listable for source in self._sources[0]):
            ways = [(self, QUICK), (Composition(self._terms, self._accuracy, cut=True), FREQUENCIES), *ways]
        best = Interval(0.0, inf)
        for composition, most in ways:
            found = ask(composition, most)
            best = Interval(max(best.lower, found.lower), min(best.upper, found.upper))
            if best.lower > best.upper:
                raise LossError(CONTRADICTION)
            if best.upper - best.lower <= 1.1 * self._accuracy * best.upper < inf:
                break
        return best

    def _epsilon(self, delta: float, most: int) -> Interval:
        self._leave(delta)
        if self._nothing <= delta:
            return Interval(0.0, 0.0)
        theta = self.theta_for_delta(delta)
        if most == QUICK and self._estimate(theta) > log(delta) + LOST:
            return Interval(0.0, inf)
        _, start, curve = self.moments(theta)
        width = max(1e-300, sqrt(curve))

        top = self._top(delta)

        def bounds(above: Inverse, below: Inverse) -> Interval:
            found = _between(above.delta, below.delta, delta, start, width)
            return Interval(min(found.lower, top), min(found.upper, top))

        return self._refined(bounds, theta, max(start, 0.1 * width), None, most)

    def delta(self, epsilon: float) -> Interval:
        """Bounds on δ(ε)."""
        if (direct := self._direct) is not None:
            return Interval(direct(epsilon, -1), direct(epsilon, 1))
        return self._closest(lambda composition, most: composition._delta(epsilon, most))

    def _delta(self, epsilon: float, most: int) -> Interval:
        theta = self.theta_for_epsilon(epsilon)
        k, _, curve = self.moments(theta)
        self._leave(exp(min(-0.7, max(-600.0, k - theta * epsilon))))
        if k - theta * epsilon < FAINT and self._exact:
            return Interval(0.0, self._chernoff(theta, epsilon))

        def bounds(above: Inverse, below: Inverse) -> Interval:
            highest = above.delta(epsilon, 1)
            return Interval(min(highest, below.delta(epsilon, -1)), highest)

        try:
            return self._refined(bounds, theta, max(epsilon, 0.1 * sqrt(curve)), (epsilon, epsilon), most)
        except LossError:
            if not self._exact:
                raise
            return Interval(0.0, self._chernoff(theta, epsilon))

    def above(self, epsilons: Sequence[float]) -> list[float]:
        """Upper bounds on δ at many ε, which ascend: points with like tilts share one transform, and nothing is bounded
        from below, so that a whole curve costs little more than a few of its points."""
        if (direct := self._direct) is not None:
            return [direct(epsilon, 1) for epsilon in epsilons]
        groups: list[tuple[float, list[float]]] = []  # the first tilt of each, and its ε
        for epsilon in epsilons:
            theta = self.theta_for_epsilon(epsilon)
            if not groups or theta > ALIKE * groups[-1][0]:
                groups.append((theta, []))
            groups[-1][1].append(epsilon)
        found: list[float] = []
        for _, group in groups:
            theta = self.theta_for_epsilon(group[0])
            if self.moments(theta)[0] - theta * group[0] < FAINT and self._exact:
                found += [self._chernoff(theta, epsilon) for epsilon in group]
                continue
            middle = group[len(group) // 2]
            theta = self.theta_for_epsilon(middle)
            smoothing = self._smoothing(theta, max(middle, 0.1 * sqrt(self.moments(theta)[2])))
            try:
                above = self._inverse(theta, 1, smoothing, (group[0], group[-1]))
                found += above.deltas(np.array(group), 1).tolist()
            except LossError:
                found += [self.delta(epsilon).upper for epsilon in group]
        return found

    def whole(self) -> tuple[Curve, Curve]:
        """Bounds from above and from below on the whole curve, right to about 1e-13: tilted little."""
        if (direct := self._direct) is not None:
            return direct, direct
        theta = min(1.0, self.theta_for_delta(0.05))
        _, mean, curve = self.moments(0.0)
        deviation = sqrt(max(curve, self.moments(theta)[2]))
        around = min(0.0, mean) - deviation, self.moments(theta)[1] + 12 * deviation
        smoothing = self._smoothing(theta, max(self.moments(theta)[1], 0.1 * deviation))
        above = self._inverse(theta, 1, smoothing, around)
        return above.delta, above.delta if self._exact else self._inverse(theta, -1, smoothing, around).delta

    def beyond(self, epsilon: float, delta: float) -> bool:
        """Whether δ(ε) ≤ δ by Chernoff's bound alone: false where it does not say."""
        if self._direct is not None or not self._exact:
            return False
        return self._chernoff(self.theta_for_delta(delta), epsilon) <= delta

    def _chernoff(self, theta: float, epsilon: float) -> float:
        """δ(ε) is at most e^(K − θε) times the peak of e^(−θx)(1 − e^−x), where all parts are exact."""
        peak = theta * log(theta) - (1 + theta) * log1p(theta)
        rounding = (source.block(theta, 0.0, 1, slice(None)) for source in self._sources[0])
        error = 1e-9 + float(sum(block.counts @ block.tilted(theta).error for block in rounding))
        bound = exp(min(0.0, self.moments(theta)[0] + peak - theta * epsilon + error))
        return max(5e-324, bound) + self._infinite(1)

    def _top(self, delta: float) -> float:
        """A loss that is passed with probability δ at most, if only because no part has more."""
        tail = max(1e-300, delta * 1e-6 / self._count)
        if self._infinite(1) + self._count * tail > delta:
            return inf
        return fsum(max(0.0, count * pair.reach(tail)[1]) for count, pair in self._terms) * (1 + 1e-12)

    @cached_property
    def _direct(self) -> Curve | None:
        """The curve of few outcomes, or of one pair alone."""
        if (few := outcomes(self._terms)) is not None:
            return few.delta
        if any(isinstance(pair, Atoms) and not pair.p.any() for _, pair in self._terms):  # no finite loss at all
            return lambda epsilon, sign: min(1.0, max(0.0, self._infinite(sign) * (1 + sign * 1e-12)))
        pair = self._terms[0][1]
        listed = isinstance(pair, Atoms) or (pair.mixture is not None and pair.mixture.spacing > 0)
        if self._count > 1 or listed or pair.square is not None:
            return None

        def alone(epsilon: float, sign: int) -> float:
            c = pair.cells(np.array([epsilon - sign * (2e-14 + 16 * UNIT * epsilon)]))
            value = float(c.excess[-1] + sign * c.excess_error[-1]) + pair.leaks[0]
            return min(1.0, max(5e-324 if sign > 0 else 0.0, value * (1 + sign * 1e-15)))

        return alone

    @cached_property
    def _count(self) -> int:
        return sum(count for count, _ in self._terms)

    @property
    def _nothing(self) -> float:
        """A bound on δ(0), the distance in total variation, by Pinsker's inequality: √(E[L]/2)."""
        if not self._exact:
            return 1.0
        _, mean, variance = self.moments(0.0)
        # that of P's finite losses, scaled to 1, from the whole of Q
        mean -= log1p(-min(self._infinite(1), 1 - 1e-16))
        rounding = 1000 * UNIT * sqrt(self._count * variance)  # Σ E|L| is at most √(n·variance)
        return self._infinite(1) + sqrt(max(0.0, mean) / 2 + rounding) * (1 + 1e-9)

    def _leave(self, delta: float) -> None:
        """Choose what pairs that are cut into cells may leave out, far below δ: it is counted as a breach. No less than
        that, as a tail that is longer than it need be may rule all of E[e^(θL)]."""
        tail = max(1e-300, delta * max(1e-9, 0.02 * self._accuracy) / self._count)
        if not self._exact and tail != self._tail:
            self._tail = tail
            del self._sources
            self._known.clear()

    @cached_property
    def _sources(self) -> tuple[list[Source], float]:
        """All that is not Gaussian, and the variance of what is."""
        return sources(self._terms, self._tail, cut=self._cut)

    @property
    def _exact(self) -> bool:
        return all(source.exact for source in self._sources[0])

    @cached_property
    def _unit(self) -> Lattice | None:
        """The lattice of all sums, if there is one."""
        pairs = [pair for _, pair in self._terms]
        if (unit := common_lattice(pairs)) is None:
            return None
        lattices = [(count, pair) for count, pair in self._terms if isinstance(pair, LatticePair)]
        offset = fsum(count * pair.coarsest[1] for count, pair in lattices)
        blur = fsum(count * 2 * float(pair.off.max()) for count, pair in lattices)
        return Lattice(float(unit), offset, blur)

    def moments(self, theta: float) -> tuple[float, float, float]:
        """K(θ) and its first two derivatives, nearly."""
        if theta not in self._known:
            found, square = self._sources
            try:
                rows = [(block.counts, block.moments(theta)) for block in (source.rough(theta) for source in found)]
                k, mean, variance = (float(sum(n @ m[i] for n, m in rows)) for i in range(3))
            except LossError:  # a tilt so far out that nothing is to be learnt there
                k = mean = variance = inf
            self._known[theta] = (
                k + square * theta * (theta + 1) / 2,
                mean + square * (theta + 0.5),
                variance + square,
            )
        return self._known[theta]

    def theta_for_delta(self, delta: float) -> float:
        """The tilt at which the saddle-point estimate of δ at its mean is `delta`."""

        return self._theta(
            lambda theta: self.moments(theta)[2] == inf or self._estimate(theta) <= log(delta),
            lambda theta: (self.moments(theta)[0] - log(delta)) / theta,
        )

    def _estimate(self, theta: float) -> float:
        """The logarithm of the saddle-point estimate of δ at a tilt's mean."""
        k, slope, curve = self.moments(theta)
        return k - theta * slope - log1p(theta * (theta + 1) * sqrt(2 * pi * curve))

    def theta_for_epsilon(self, epsilon: float) -> float:
        """The tilt whose mean is ε."""
        return self._theta(
            lambda theta: self.moments(theta)[1] >= epsilon, lambda theta: self.moments(theta)[0] - theta * epsilon
        )

    def _theta(self, reached: Callable[[float], bool], cost: Callable[[float], float]) -> float:
        """About the least tilt that has `reached`, or beyond which a bounded loss is all at its top; the better side of
        it, as moments may leap. At least one deviation, if they do not: so copies of δ are far away."""
        plain = max(sqrt(self.moments(0.0)[2]), 1e-290)
        # a sum of a large part and a small one is all at the top of the large part long before its own tail
        most, high = min(MOST, FINEST / (plain * max(self._accuracy, 1e-12))), 2.0
        while high < most and not reached(high):
            high *= 4
        topped = not reached(high) or self.moments(high)[2] == inf

        def far(theta: float) -> bool:
            at_top = topped and theta * plain > 3 and theta * theta * self.moments(theta)[2] < 1
            return at_top or reached(theta)

        low = high = 2.0
        if far(high):
            while low > LEAST and far(low / 4):
                low /= 4
            low, high = low / 4, low
        else:
            while high < MOST and not far(high * 4):
                high *= 4
            low, high = high, high * 4
        while high > 1.1 * low:
            middle = sqrt(low * high)
            low, high = (low, middle) if far(middle) else (middle, high)
        best = min(low, high, key=cost)
        deviation = max(plain, sqrt(self.moments(best)[2]))
        least = min(MOST, 1 / deviation)
        return least if best < least and sqrt(self.moments(least)[2]) < 2 * deviation else best

    def _smoothing(self, theta: float, scale: float) -> float:
        """The variance s² whose cost in ε, s²(θ + 1), is a third of what is allowed; none where it is not needed."""
        square, deviation = self._sources[1], sqrt(self.moments(theta)[2])
        wanted = self._accuracy * scale / (3 * (theta + 1))
        if self._lattice(theta) is not None or square >= wanted:
            return 0.0
        return 0.0 if square and 10 / sqrt(square) * 20 * deviation < CHEAP else wanted

    def _lattice(self, theta: float) -> Lattice | None:
        unit = self._unit
        return unit if unit is not None and sqrt(self.moments(theta)[2]) < SPREAD * unit.unit else None

    def _infinite(self, sign: int) -> float:
        """The chance of a loss beyond all bounds."""
        cut = {id(pair) for source in self._sources[0] if isinstance(source, Celled) for pair in source.pairs}
        leaks = [
            (n, pair.leaks[0] + (2 * self._tail if sign > 0 and id(pair) in cut else 0.0)) for n, pair in self._terms
        ]
        return -expm1(fsum(count * log1p(-min(leak, 1 - 1e-16)) for count, leak in leaks))

    def _inverse(
        self,
        theta: float,
        sign: int,
        smoothing: float,
        around: tuple[float, float] | None,
        most: int = FREQUENCIES,
    ) -> Inverse:
        found, square = self._sources
        while True:
            try:
                return Inverse(
                    found,
                    square,
                    self._infinite(sign),
                    theta=theta,
                    deviation=sqrt(self.moments(theta)[2]),
                    sign=sign,
                    smoothing=smoothing,
                    lattice=self._lattice(theta),
                    around=around,
                    most=most,
                )
            except TooManyError as error:
                if most == QUICK:
                    raise
                smoothing = max(error.variance, 1.5 * smoothing)
            except LossError:  # more nodes than there is room for: fewer frequencies need fewer
                if most == QUICK:
                    raise TooManyError(smoothing) from None
                if not 0 < smoothing < self.moments(theta)[2]:
                    raise
                smoothing *= 10

    def _refined(
        self,
        bounds: Callable[[Inverse, Inverse], Interval],
        theta: float,
        scale: float,
        around: tuple[float, float] | None,
        most: int,
    ) -> Interval:
        """The bounds, refined until they are `accuracy·scale` apart in ε; for bounds on δ, `around` says at which ε."""
        smoothing = self._smoothing(theta, scale)
        slope = theta if around else 0.0
        cells = [source for source in self._sources[0] if isinstance(source, Celled)]
        _, _, curve = self.moments(theta)
        share = sqrt(4 * self._accuracy * scale / ((theta + 1) * max(curve, 1e-300)))
        for source in cells:
            source.cells = int(min(20_000, max(100, 12 / share)))
        best = Interval(0.0, inf)
        for _ in range(STAGES):
            try:
                above = self._inverse(theta, 1, smoothing, around, most)
                below = above if self._exact else self._inverse(theta, -1, smoothing, around, most)
            except TooManyError:
                break
            found = bounds(above, below)
            before = best.upper - best.lower
            best = Interval(max(best.lower, found.lower), min(best.upper, found.upper))
            if best.lower > best.upper:
                raise LossError(CONTRADICTION)
            width = best.upper - best.lower
            share = -expm1(-self._accuracy * scale * slope) if slope else 0.0
            settled = width <= max(self._accuracy, share) * best.upper or best.upper == inf or width > 0.8 * before
            if settled or not (smoothing or cells):
                break
            smoothing /= 9
            for source in cells:
                source.cells *= 3
        return best


def _between(above: Curve, below: Curve, delta: float, start: float, width: float) -> Interval:
    """Where the two bounds on a curve cross δ."""
    _, highest = _crossing(lambda e: above(e, 1), delta, start, width)
    lowest, _ = _crossing(lambda e: below(e, -1), delta, start, width)
    return Interval(min(lowest, highest), highest)


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
