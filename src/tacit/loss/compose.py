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
from tacit.loss.crossing import Curve, beside_gaussian, between
from tacit.loss.inverse import Inverse, Lattice, TooManyError
from tacit.loss.lattice import DiscreteGaussianPair, LatticePair, common_lattice, outcomes
from tacit.loss.loss import Interval
from tacit.loss.pair import UNIT, Atoms
from tacit.loss.source import Celled, Mixed, Source, Terms, sources
from tacit.loss.tilt import CLOSE, tilt

__all__ = ["Composition"]

ALIKE = 1.5  # points of a curve whose tilts are within this factor share one transform
LOST = 20.0  # how much larger than δ, in logarithms, what is summed may be: rounding lies 36 below it
STAGES = 6
CHEAP = 2**16  # frequencies that are sooner taken than a sum is smoothed
FREQUENCIES, QUICK = 2**20, 2**16  # that there is room for, and that are tried first where there is another way
FAINT = -320.0  # the logarithm of a δ that nobody asks more of than to be small
FAR = 8.0  # deviations between ε and a mean above it, beyond which next to none of a sum is below ε
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
            return between(direct, direct, delta, 1.0, 1.0, self._top(delta))
        if (quick := self._beside_little(delta)) is not None:
            return quick
        return self._closest(lambda composition, most: composition._epsilon(delta, most))

    def _closest(self, ask: "Callable[[Composition, int], Interval]") -> Interval:
        """The bounds, from few frequencies, with tails cut off, or from many: whatever makes them close first."""
        ways = [(self, FREQUENCIES)]
        if self._listable:
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

    def _beside_little(self, delta: float) -> Interval | None:
        """Bounds from all but the Gaussians, where that is few outcomes and these matter next to nothing."""
        rest = Composition([(n, pair) for n, pair in self._terms if pair.square is None], self._accuracy)
        if not rest._terms or rest._direct is None or len(rest._terms) == len(self._terms):
            return None
        mu = sqrt(fsum(count * pair.square for count, pair in self._terms if pair.square is not None))
        return beside_gaussian(rest.epsilon, mu, delta, self._accuracy)

    def _epsilon(self, delta: float, most: int) -> Interval:
        self._leave(delta)
        if self._nothing <= delta:
            return Interval(0.0, 0.0)
        theta = self.theta_for_delta(delta)
        if most == QUICK and self._estimate(theta) > log(delta) + LOST:
            return Interval(0.0, inf)
        _, start, curve = self.moments(theta)
        width, top = max(1e-300, sqrt(curve)), self._top(delta)

        def bounds(above: Inverse, below: Inverse) -> Interval:
            return between(above.delta, below.delta, delta, start, width, top)

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
            return Interval(0.0, self._chernoff(theta, [epsilon])[0])

        def bounds(above: Inverse, below: Inverse) -> Interval:
            highest = above.delta(epsilon, 1)
            return Interval(min(highest, below.delta(epsilon, -1)), highest)

        try:
            return self._refined(bounds, theta, max(epsilon, 0.1 * sqrt(curve)), (epsilon, epsilon), most)
        except LossError:
            if not self._exact:
                raise
            return Interval(0.0, self._chernoff(theta, [epsilon])[0])

    def above(self, epsilons: Sequence[float], floor: float = 0.0) -> list[float]:
        """Upper bounds on δ at many ε, which ascend: points with like tilts share one transform, so that a whole curve
        costs little more than a few of its points. What is below `floor` may be bounded roughly."""
        if (direct := self._direct) is not None:
            return [direct(epsilon, 1) for epsilon in epsilons]
        if not self._listable:
            return self._above(epsilons, floor, FREQUENCIES)
        try:
            return self._above(epsilons, floor, QUICK)
        except TooManyError:
            without = Composition(self._terms, self._accuracy, cut=True)
            without._leave(max(1e-290, floor or self.delta(epsilons[-1]).upper))
            return without._above(epsilons, floor, FREQUENCIES)

    def _above(self, epsilons: Sequence[float], floor: float, most: int) -> list[float]:
        faint = max(FAINT, log(floor)) if floor else FAINT
        groups: list[tuple[float, list[float]]] = []  # the first tilt of each, and its ε
        rest, theta = len(epsilons), 0.0
        for place, epsilon in enumerate(epsilons):
            theta = self.theta_for_epsilon(epsilon, ALIKE)
            if self._exact and self.moments(theta)[0] - theta * epsilon < faint:
                rest = place
                break
            if not groups or theta > ALIKE * groups[-1][0]:
                groups.append((theta, []))
            groups[-1][1].append(epsilon)
        found: list[float] = []
        for _, group in groups:
            middle = group[len(group) // 2]
            near = self.theta_for_epsilon(middle, ALIKE)
            scale = max(middle, 0.1 * sqrt(self.moments(near)[2]))
            self._cells(near, scale)
            try:
                above = self._inverse(near, 1, self._smoothing(near, scale), (group[0], group[-1]), most)
                found += above.deltas(np.array(group), 1).tolist()
            except LossError:
                found += [self.delta(epsilon).upper for epsilon in group]
        return found + self._chernoff(theta, epsilons[rest:])

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
        return self._chernoff(self.theta_for_delta(delta), [epsilon])[0] <= delta

    def _chernoff(self, theta: float, epsilons: Sequence[float]) -> list[float]:
        """δ(ε) is at most e^(K − θε) times the peak of e^(−θx)(1 − e^−x), where all parts are exact."""
        if not epsilons:
            return []
        peak = theta * log(theta) - (1 + theta) * log1p(theta)
        rounding = (source.block(theta, 0.0, 1, slice(None)) for source in self._sources[0])
        error = 1e-9 + float(sum(block.counts @ block.tilted(theta).error for block in rounding))
        top = self.moments(theta)[0] + peak + error
        return [max(5e-324, exp(min(0.0, top - theta * epsilon))) + self._infinite(1) for epsilon in epsilons]

    def _top(self, delta: float) -> float:
        """A loss that is passed with probability δ at most, if only because no part has more."""
        tail = max(1e-300, delta * 1e-6 / self._count)
        if self._infinite(1) + self._count * tail > delta:
            return inf
        return fsum(max(0.0, count * pair.reach(tail)[1]) for count, pair in self._terms) * (1 + 1e-12)

    @cached_property
    def _direct(self) -> Curve | None:
        """The curve of few outcomes, or of one pair alone."""
        terms = self._terms
        if self._count == 1 and isinstance(alone := terms[0][1], DiscreteGaussianPair) and alone.listable:
            terms = [(1, alone.atoms)]
        if (few := outcomes(terms)) is not None:
            return few.delta
        if any(isinstance(pair, Atoms) and not pair.p.any() for _, pair in self._terms):  # no finite loss at all
            return lambda epsilon, sign: min(1.0, max(0.0, self._infinite(sign) * (1 + sign * 1e-12)))
        pair = self._terms[0][1]
        listed = isinstance(pair, Atoms) or (pair.mixture is not None and pair.mixture.spacing > 0)
        if self._count > 1 or listed or pair.square is not None:
            return None

        def single(epsilon: float, sign: int) -> float:
            c = pair.cells(np.array([epsilon - sign * (2e-14 + 16 * UNIT * epsilon)]))
            value = float(c.excess[-1] + sign * c.excess_error[-1]) + pair.leaks[0]
            return min(1.0, max(5e-324 if sign > 0 else 0.0, value * (1 + sign * 1e-15)))

        return single

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
        """Choose what pairs cut into cells may leave out, far below δ: a longer tail may rule all of E[e^(θL)]."""
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
    def _listable(self) -> bool:
        """Whether there are mixtures of Gaussians whose tails may be cut off."""
        return not self._cut and any(isinstance(source, Mixed) and source.listable for source in self._sources[0])

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
        return tilt(
            self.moments,
            lambda theta: self.moments(theta)[2] == inf or self._estimate(theta) <= log(delta),
            lambda theta: (self.moments(theta)[0] - log(delta)) / theta,
            accuracy=self._accuracy,
        )

    def _estimate(self, theta: float) -> float:
        """The logarithm of the saddle-point estimate of δ at a tilt's mean."""
        k, slope, curve = self.moments(theta)
        return k - theta * slope - log1p(theta * (theta + 1) * sqrt(2 * pi * curve))

    def theta_for_epsilon(self, epsilon: float, close: float = CLOSE) -> float:
        """The tilt whose mean is ε; a small one where nearly all of the sum is above ε, which costs no digits."""
        _, mean, variance = self.moments(0.0)
        if mean - epsilon > FAR * sqrt(variance):
            return min(1.0, FAR / (mean - epsilon))
        return tilt(
            self.moments,
            lambda theta: self.moments(theta)[1] >= epsilon,
            lambda theta: self.moments(theta)[0] - theta * epsilon,
            accuracy=self._accuracy,
            close=close,
        )

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

    def _cells(self, theta: float, scale: float) -> list[Celled]:
        """The sources that are cut into cells, so fine that it costs `accuracy·scale` in ε."""
        cells = [source for source in self._sources[0] if isinstance(source, Celled)]
        share = sqrt(4 * self._accuracy * scale / ((theta + 1) * max(self.moments(theta)[2], 1e-300)))
        for source in cells:
            source.cells = int(min(20_000, max(100, 12 / share)))
        return cells

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
        cells = self._cells(theta, scale)
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
