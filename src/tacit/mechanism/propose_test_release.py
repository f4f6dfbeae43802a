"""Propose, test, release: answer with little noise when the data are, privately seen, far from trouble; else refuse."""

from collections import Counter
from collections.abc import Hashable, Sequence
from fractions import Fraction
from math import ceil, log
from typing import Any, ClassVar, Self

import numpy as np

from tacit.base import InputError, Lattice, Relation, RelationError, Size, cached_property, warn_of_delta
from tacit.base.number import Number, OptionalRatio, Ratio, between, default, exact, frozen, positive, show
from tacit.loss import Approx, Loss
from tacit.mechanism.laplace import DiscreteLaplace, Laplace
from tacit.mechanism.mechanism import Example, Mechanism, Pmf
from tacit.mechanism.smooth_median import Ints, PublicRange
from tacit.noise import Rng, discrete_laplace, rng_or_default
from tacit.noise.bounds import exp_minus

__all__ = ["ProposeTestRelease", "distance_to_gap", "least_threshold"]

NUMERIC = ("median", "iqr")


@frozen
class ProposeTestRelease(Mechanism):
    """The median, interquartile range or mode of the records, or `None`.

    Propose: the statistic moves by at most `bound`. Test: the number of records that must be changed before some change
    of one more moves it further, plus discrete Laplace noise of `test_scale`, must reach `threshold`. Release: the
    statistic plus discrete Laplace noise of `noise_scale`, or exactly as it is when the bound is 0, as for the mode.

    Guarantee: (1/test_scale + bound/noise_scale, δ)-DP under replacement of one record, the number n of records being
    public; the mode also under add/remove if `relation` says so (Dwork and Lei 2009, on exact distances).
    The median is the record of rank ⌈n/2⌉, and the interquartile range, on the linear scale, that of rank ⌈3n/4⌉ minus
    that of rank ⌈n/4⌉; both need lower and upper. The mode needs the public list of categories; ties go to its first.
    """

    theory: ClassVar[str] = "propose-test-release"

    statistic: str
    test_scale: Ratio
    delta: Ratio
    bound: Ratio = default(Fraction(0))
    noise_scale: OptionalRatio = default(None)
    lower: OptionalRatio = default(None)
    upper: OptionalRatio = default(None)
    granularity: Ratio = default(Fraction(1))
    categories: tuple[Hashable, ...] = ()
    relation: Relation = Relation.REPLACE

    def __post_init__(self) -> None:
        object.__setattr__(self, "test_scale", positive(self.test_scale, "test_scale"))
        object.__setattr__(self, "delta", between(self.delta, "delta", 0, 1))
        object.__setattr__(self, "bound", exact(self.bound, "bound", toward="decimal"))
        object.__setattr__(self, "granularity", positive(self.granularity, "granularity", toward="decimal"))
        object.__setattr__(self, "categories", tuple(self.categories))
        object.__setattr__(self, "relation", Relation(self.relation))
        if self.statistic in NUMERIC:
            self._check_numeric()
        elif self.statistic == "mode":
            self._check_mode()
        else:
            raise InputError(f"statistic must be 'median', 'iqr' or 'mode', not {self.statistic!r}")

    def _check_numeric(self) -> None:
        for name in ("lower", "upper"):
            object.__setattr__(self, name, exact(getattr(self, name), name, toward="decimal"))
        if self.categories:
            raise InputError(f"categories belong to the mode, not to the {self.statistic}: leave them out")
        if self.relation is not Relation.REPLACE:
            raise RelationError(f"the {self.statistic} is tested under replacement only: its ranks move with n")
        extent = self.bounds.top * self.granularity
        if (self.bound / self.granularity).denominator != 1 or not 0 <= self.bound < extent:
            raise InputError(
                f"bound must be a multiple of the granularity in [0, {show(extent)}), not {show(self.bound)}: "
                "a bound as wide as the range needs no test, use Laplace noise"
            )
        if (self.noise_scale is None) != (self.bound == 0):
            raise InputError("noise_scale is needed if and only if bound is greater than 0")
        if self.noise_scale is not None:
            object.__setattr__(self, "noise_scale", positive(self.noise_scale, "noise_scale"))

    def _check_mode(self) -> None:
        if len(self.categories) < 2 or len(set(self.categories)) < len(self.categories) or None in self.categories:
            raise InputError("categories must list at least two different values, and None stands for a refusal")
        if self.bound or self.noise_scale is not None or self.lower is not None or self.upper is not None:
            raise InputError("the mode is released as it is: leave out bound, noise_scale, lower and upper")

    @cached_property
    def bounds(self) -> PublicRange:
        if self.lower is None or self.upper is None:
            raise InputError("the mode has no bounds")
        return PublicRange(self.lower, self.upper, Lattice(self.granularity))

    @cached_property
    def threshold(self) -> int:
        """What the noisy distance must reach: unstable data, at distance 0, pass with probability at most δ."""
        return least_threshold(self.test_scale, self.delta)

    def loss(self, sensitivity: Size = None, *, relation: Relation | None = None, unit: str = "row") -> Approx:
        """(1/test_scale + bound/noise_scale, δ) under the relation the distance is measured in."""
        if sensitivity is not None:
            raise InputError("propose-test-release proposes its own bound: leave sensitivity out")
        if relation is not None and Relation(relation) is not self.relation:
            raise RelationError(
                f"this mechanism measures distances under {self.relation.value}: its loss is stated there"
            )
        release = self.bound / self.noise_scale if self.noise_scale is not None else 0
        return Approx(1 / self.test_scale + release, self.delta, relation=self.relation, unit=unit)

    @classmethod
    def from_loss(
        cls, loss: Loss, *, statistic: str, bound: Number = 0, test_share: Number = "1/2", **rest: Any
    ) -> Self:
        """Noise for the guarantee `loss`, an Approx(ε, δ): `test_share` of ε goes to the test, all when bound is 0."""
        if not isinstance(loss, Approx) or not loss.slack or not loss.bound:
            raise InputError("propose-test-release reaches loss=Approx(epsilon, delta) with epsilon > 0 and delta > 0")
        if loss.relation is not Relation(rest.get("relation", Relation.REPLACE)):
            raise RelationError("loss speaks of another relation: pass loss=Approx(..., relation='replace')")
        width = exact(bound, "bound", toward="decimal")
        share = between(test_share, "test_share", 0, 1) if width else Fraction(1)
        return cls(
            statistic=statistic,
            test_scale=1 / (share * loss.bound),
            delta=loss.slack,
            bound=width,
            noise_scale=width / ((1 - share) * loss.bound) if width else None,
            **rest,
        )

    def sample(self, value: Any, rng: Rng | None = None) -> Any:
        """The noisy statistic of the records `value`, or None when the test fails."""
        source = rng_or_default(rng)
        answer, distance = self._measured(value)
        if self.relation is Relation.REPLACE:  # where the number of records is public
            warn_of_delta(self.delta, len(value))
        if distance + discrete_laplace(self.test_scale, source) < self.threshold:
            return None
        return answer if self._noise is None else self._noise.sample(answer, source)

    def pmf(self, value: Any) -> Pmf:
        answer, distance = self._measured(value)
        passed, refused = DiscreteLaplace(scale=self.test_scale).reaches(self.threshold - distance)
        released: Pmf = {answer: 1.0} if self._noise is None else self._noise.pmf(answer)
        return {None: refused} | {output: passed * p for output, p in released.items()}

    def error(self, confidence: Number = 0.95) -> float:
        """Half-width of the noise on the statistic, if it is released at all; 0 when the bound is 0."""
        between(confidence, "confidence", 0, 1)
        return 0.0 if self._noise is None else self._noise.error(confidence)

    @property
    def _noise(self) -> Laplace | None:
        return None if self.noise_scale is None else Laplace(scale=self.noise_scale, granularity=self.granularity)

    def _measured(self, value: Any) -> tuple[Any, int]:
        """The true statistic, and the least number of changed records at which its local sensitivity tops the bound."""
        if self.statistic == "mode":
            return self._mode(value)
        ordered, bounds, steps = self.bounds.ordered(value), self.bounds, int(self.bound / self.granularity)
        n = len(ordered)
        if self.statistic == "median":
            rank = (n + 1) // 2
            return bounds.value(int(ordered[rank - 1])), distance_to_gap(ordered, rank, bounds.top, steps)
        if n < 2:
            raise InputError("values must hold at least two records for an interquartile range")
        low, high = -(-n // 4), -(-3 * n // 4)
        # one change moves one quartile alone, or both the same way: the range moves no further than a quartile does
        distance = min(distance_to_gap(ordered, rank, bounds.top, steps) for rank in (low, high))
        return bounds.lattice.value(int(ordered[high - 1] - ordered[low - 1])), distance

    def _mode(self, value: Any) -> tuple[Hashable, int]:
        counts = Counter(value)
        if not counts.keys() <= set(self.categories):
            raise InputError("values hold a record outside the categories: list them all, from public knowledge")
        if not counts and self.relation is Relation.REPLACE:
            raise InputError("values must hold at least one record")
        best = max(range(len(self.categories)), key=lambda i: (counts[self.categories[i]], -i))
        most = counts[self.categories[best]]
        # how far each rival is from winning; a later one must win outright
        lead = min(most - counts[c] + (i > best) for i, c in enumerate(self.categories) if i != best)
        changes = -(-lead // 2) if self.relation is Relation.REPLACE else lead  # a replaced record counts twice
        return self.categories[best], changes - 1

    @classmethod
    def examples(cls) -> Sequence[Example]:
        """Neighbours at the distances threshold and threshold − 1, where passing is e^(1/test_scale) times as likely.

        For median and range they differ in the record that moves the statistic by the whole bound.
        """
        found = []
        cases = ((1, "1e-3", 2, 3, 1), (2, "1e-6", 1, "1/2", 1), ("2/3", "1e-4", 1, 2, "1/2"))
        for test, delta, bound, noise, step in cases:
            for statistic in NUMERIC:
                g = Fraction(step)
                m = cls(
                    statistic=statistic,
                    test_scale=Fraction(test),
                    delta=Fraction(delta),
                    bound=bound * g,
                    noise_scale=Fraction(noise),
                    lower=Fraction(0),
                    upper=2 * bound * g,
                    granularity=g,
                )
                found.append(Example(m, *m._edge(), m.loss()))
        for relation in Relation:
            m = cls(
                statistic="mode",
                test_scale=Fraction(2),
                delta=Fraction("1e-5"),
                categories=("blue", "red", "green"),
                relation=relation,
            )
            pace = 2 if relation is Relation.REPLACE else 1
            reds = pace * (m.threshold + 1)
            left = ("red",) * reds + ("green",) * 3 + ("blue",) * 2
            right = left[1:] + (("green",) if relation is Relation.REPLACE else ())
            found.append(Example(m, left, right, m.loss(), tight=True))
        return found

    def _edge(self) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """Records at 0 and at the bound, in a range of twice the bound: the statistic flips between the two.

        The bound is topped only from 0 to the upper end, so the distance is the number of records at the bound.
        """
        width, high = float(self.bound), self.threshold - 1
        low = high if self.statistic == "median" else 3 * high  # rank n/2 or 3n/4 is the last 0
        return (0.0,) * low + (width,) * high, (0.0,) * (low - 1) + (width,) * (high + 1)


def distance_to_gap(ordered: Ints, rank: int, top: int, bound: int) -> int:
    """The least number of records to change until one further change can move the one of `rank` by more than `bound`.

    That is the least j − i − 1 over i ≤ rank ≤ j with x_j − x_i > bound, where x_0 = 0 and x_{n+1} = top: the j − i − 1
    records between are moved out of the way (Nissim, Raskhodnikova and Smith 2007, on the median, read backwards).
    """
    x = np.concatenate([np.zeros(1, np.int64), ordered, np.full(1, top, np.int64)])
    i = np.arange(rank + 1)
    j = np.maximum(np.searchsorted(x, x[i] + bound, side="right"), rank)
    reached = j < len(x)
    return int((j - i)[reached].min()) - 1


def least_threshold(scale: Fraction, delta: Fraction) -> int:
    """The least integer m ≥ 0 with Pr[Z ≥ m] = r^m/(1 + r) ≤ δ for discrete Laplace Z, r = e^(−1/scale)."""
    bits = 128 + (1 / delta).numerator.bit_length()
    one = 1 << bits
    floor = delta * (one + exp_minus(1 / scale, bits)[0])

    def holds(steps: int) -> bool:
        return exp_minus(steps / scale, bits)[1] <= floor

    steps = max(0, ceil(float(scale) * (log(delta.denominator) - log(delta.numerator))))
    while not holds(steps):
        steps += 1
    while steps and holds(steps - 1):
        steps -= 1
    return steps
