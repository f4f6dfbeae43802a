"""The least noise for a guarantee: the inverse of asking what something costs.

The search is ordinary; the two ends it returns are not: each was priced, with bounds that are proven. log ε is nearly
linear in the logarithm of the scale, so a few rough prices lead close, and two or three fine ones settle it.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from math import exp, inf, isfinite, log

from tacit.base import InputError, Number, positive
from tacit.loss.loss import Interval, Loss
from tacit.loss.pld import probability

__all__ = ["Setting", "calibrate"]

LOOKS = 120  # evaluations before giving up; a search takes under ten
ROUGH = 1e-2
FAR = 230.0  # |log scale| up to which a scale is looked for: 1e±100


@dataclass(frozen=True)
class Setting(Interval):
    """Where the sought scale lies. `value`, also `float()`, is the end that was proven to be enough."""

    value: float = 0.0

    def __float__(self) -> float:
        return self.value


def calibrate(
    build: Callable[[float], Loss],
    *,
    epsilon: Number,
    delta: Number = 0,
    lower: Number | None = None,
    upper: Number | None = None,
    accuracy: float = 1e-4,
    increasing: bool = False,
) -> Setting:
    """The least scale s for which `build(s)` is (ε, δ)-DP, where the loss falls as s grows (a noise scale).

    `build(result.upper)` is proven (ε, δ)-DP; `build(result.lower)` is proven not to be, or `lower` is 0 where the
    kind of loss has no such proof. The ends are `accuracy` apart, relatively, where the bounds of the loss allow.
    With `increasing=True` the loss grows with s (a sampling rate, a number of steps): the largest s is sought,
    `result.lower` is the proven one and `result.upper` too much. `result.value` is the proven one in either case.
    The optional `lower` and `upper` restrict s; where the dearest s of the range already fits, both ends are that one.
    """
    search = _Search(
        build,
        float(positive(epsilon, "epsilon", toward="decimal")) * (1 - 1e-15),
        probability(delta),
        -1.0 if increasing else 1.0,
        _checked(accuracy),
    )
    least = None if lower is None else float(positive(lower, "lower", toward="decimal"))
    most = None if upper is None else float(positive(upper, "upper", toward="decimal"))
    if least is not None and most is not None and least > most:
        raise InputError(f"lower = {least:g} is above upper = {most:g}: swap them")
    search.within(least, most)
    proven, refuted = search.run()
    value, other = search.scale(proven), 0.0 if refuted is None else search.scale(refuted)
    if increasing:
        return Setting(value, inf if refuted is None else other, search.rigorous, value)
    return Setting(other, value, search.rigorous, value)


def _checked(accuracy: float) -> float:
    if not 1e-8 <= accuracy <= 0.5:
        raise InputError(f"accuracy must lie between 1e-8 and 0.5, not {accuracy}")
    return float(accuracy)


@dataclass
class _Search:
    """Looks at t = ±log s, oriented so that larger t is cheaper. `looks` holds (t, lower, upper): the logarithm of
    how far the two bounds are above the target."""

    build: Callable[[float], Loss]
    epsilon: float
    delta: Fraction
    sign: float
    accuracy: float
    limits: tuple[float, float] = (exp(-FAR), exp(FAR))
    range: tuple[float, float] = (-FAR, FAR)
    open: tuple[bool, bool] = (True, True)
    looks: list[tuple[float, float, float]] = field(default_factory=list)
    steep: float = 1.0
    rigorous: bool = True

    def within(self, least: float | None, most: float | None) -> None:
        """Restrict the scale."""
        self.limits = (exp(-FAR) if least is None else least, exp(FAR) if most is None else most)
        first, last, free = log(self.limits[0]), log(self.limits[1]), (least is None, most is None)
        self.range, self.open = ((first, last), free) if self.sign > 0 else ((-last, -first), (free[1], free[0]))

    def scale(self, t: float) -> float:
        return min(max(exp(self.sign * t), self.limits[0]), self.limits[1])

    def run(self) -> tuple[float, float | None]:
        """The least t proven enough, and the largest proven not to be."""
        start = self._walk()
        if start is None:  # the dearest the range has to offer already fits
            return self.range[0], self.range[0]
        self._look(start)
        self._bracket(2)
        refuted: float | None = None
        if self._bracket(1):
            self._squeeze(1)
            refuted = self._ends(1)[0]
        self._squeeze(2)
        return self._ends(2)[1], refuted

    # the rough walk

    def _walk(self) -> float | None:
        low, high = self.range
        t = min(max(0.0, low), high) if self.open != (False, False) else (low + high) / 2
        known: list[tuple[float, float]] = []
        for _ in range(LOOKS):
            value = self._price(t, ROUGH).upper
            off = _above(value, self.epsilon)
            if abs(off) < 2 * ROUGH:
                return t
            known.append((t, off))
            failed = max((x for x, y in known if y > 0), default=None)
            passed = min((x for x, y in known if y < 0), default=None)
            if passed == low and not self.open[0] and failed is None:
                return None if self._enough(low) else t
            if failed == high or (passed == low and failed is None):
                raise self._unreachable(high if failed == high else low, value)
            t = _next(known, failed, passed, self.range)
            if failed is not None and passed is not None and passed - failed < ROUGH / 4:
                return t
        raise InputError("no scale was found: is the loss that build(s) gives monotone in s?")

    def _price(self, t: float, accuracy: float) -> Interval:
        return self.build(self.scale(t)).epsilon(self.delta, accuracy=accuracy)

    def _enough(self, t: float) -> bool:
        self._look(t)
        return self.looks[-1][2] <= 0

    def _unreachable(self, t: float, value: float) -> InputError:
        least = "largest" if (t > 0) == (self.sign > 0) else "smallest"
        if value > self.epsilon:
            return InputError(
                f"epsilon = {self.epsilon:g} at delta = {float(self.delta):g} is out of reach: even the {least} scale "
                f"tried, {self.scale(t):g}, costs {value:g}. Allow more, widen lower and upper, or say increasing=True "
                "if the loss grows with the scale"
            )
        return InputError(
            f"even the {least} scale tried, {self.scale(t):g}, costs only {value:g}: is the loss that build(s) gives "
            "monotone in s, and increasing= set rightly?"
        )

    # the fine search

    def _look(self, t: float) -> None:
        if len(self.looks) >= LOOKS:
            raise InputError("the search does not settle: is the loss that build(s) gives monotone in s?")
        found = self._price(t, min(ROUGH, max(1e-7, self.accuracy * self.steep / 4)))
        self.rigorous &= found.rigorous
        self.looks.append((t, _above(found.lower, self.epsilon), _above(found.upper, self.epsilon)))

    def _ends(self, bound: int) -> tuple[float, float]:
        """The largest t above the target by this bound (1: lower, 2: upper), and the least t not above it."""
        return (
            max((look[0] for look in self.looks if look[bound] > 0), default=-inf),
            min((look[0] for look in self.looks if look[bound] <= 0), default=inf),
        )

    def _root(self, bound: int) -> float:
        """Where this bound meets the target, by the line through the two looks nearest to it."""
        finite = sorted((abs(look[bound]), look[0], look[bound]) for look in self.looks if isfinite(look[bound]))
        if not finite:
            low, high = self._ends(bound)
            return (low + high) / 2 if isfinite(low) and isfinite(high) else (low if isfinite(low) else high)
        _, t, y = finite[0]
        if len(finite) > 1 and finite[1][1] != t:
            slope = (finite[1][2] - y) / (finite[1][1] - t)
            if slope < -self.steep / 8:
                self.steep = -slope
                return t - y / slope
        return t + y / self.steep

    def _bracket(self, bound: int) -> bool:
        """Have a look on each side of the target. False if the lower bound never gets above it."""
        step = self.accuracy / 4
        for tries in range(60):
            low, high = self._ends(bound)
            if isfinite(low) and isfinite(high):
                return True
            blind = sum(look[1] == -inf and look[2] > 0 for look in self.looks)  # a loss without a lower bound
            if bound == 1 and (tries > 20 or blind > 3 or (low == -inf and high == self.range[0])):
                return False
            root = self._root(bound)
            t = max(root, low) + step if high == inf else min(root, high) - step
            edge = self.range[1] if high == inf else self.range[0]
            t = min(t, edge) if high == inf else max(t, edge)
            if any(look[0] == t for look in self.looks):
                if bound == 1:
                    return False
                raise self._unreachable(edge, self._price(edge, ROUGH).upper)
            self._look(t)
            step *= 3
        raise InputError("the search does not settle: is the loss that build(s) gives monotone in s?")

    def _squeeze(self, bound: int) -> None:
        """Narrow the bracket to the accuracy asked for."""
        margin = self.accuracy / 4
        for tries in range(LOOKS):
            low, high = self._ends(bound)
            if high - low <= self.accuracy:
                return
            root = self._root(bound)
            t = root - margin if high - root <= 2.5 * margin else root + margin
            if tries % 3 == 2 or not low < t < high:
                t = (low + high) / 2
            if not low < t < high:
                return  # neighbouring doubles
            self._look(t)


def _above(value: float, target: float) -> float:
    """log(value/target), where value may be 0 or infinite."""
    return log(value / target) if 0 < value < inf else (inf if value > 0 else -inf)


def _next(
    known: list[tuple[float, float]], failed: float | None, passed: float | None, ends: tuple[float, float]
) -> float:
    """The next scale to try: along the secant if that stays between what failed and what passed, else between them."""
    t, off = known[-1]
    slope = -1.0
    if len(known) > 1 and isfinite(off) and isfinite(known[-2][1]) and known[-2][0] != t:
        slope = min(-0.2, max(-5.0, (off - known[-2][1]) / (t - known[-2][0])))
    step = min(6.0, max(-6.0, -off / slope)) if isfinite(off) else (3.0 if off > 0 else -3.0) * len(known)
    aim = min(max(t + step, ends[0]), ends[1])
    if failed is not None and passed is not None and not failed < aim < passed:
        return (failed + passed) / 2
    return aim
