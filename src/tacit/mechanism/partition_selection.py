"""Which of the keys found in the data may be shown, when the list of keys is itself secret.

A key is kept by a random decision on the number of units that have it. A key of no unit is never kept, so a key that
only one unit has must hide: it is kept with probability at most δ.
"""

from collections.abc import Iterator, Sequence
from decimal import MAX_EMAX, ROUND_FLOOR, Decimal, localcontext
from fractions import Fraction
from functools import lru_cache, partial
from itertools import product
from math import exp, isqrt, prod
from typing import Any, ClassVar, Literal, Self, get_args

import numpy as np

from tacit.base import InputError, Relation, Sensitivity, Size
from tacit.base.number import Number, Ratio, between, frozen, positive, round_up, show, whole
from tacit.loss import Approx, Loss, Pure
from tacit.mechanism.additive import least_whole
from tacit.mechanism.gaussian import DiscreteGaussian
from tacit.mechanism.laplace import DiscreteLaplace
from tacit.mechanism.mechanism import Example, Mechanism, Pmf
from tacit.noise import Rng, rng_or_default
from tacit.noise.bounds import Enclosure, exp_minus, narrow, times
from tacit.noise.table import InversionTable, in_chunks

__all__ = ["PartitionSelection", "Strategy", "counts_of", "two_steps"]

Strategy = Literal["optimal", "laplace", "gaussian"]

LONGEST = 1 << 21  # cells of the optimal law that are worth tabulating
LARGEST = 2**62


@frozen
class PartitionSelection(Mechanism):
    """Keep a key held by n units with probability π(n), π(0) = 0; one unit has at most `partitions` = k keys.

    Guarantee: (ε, δ) under add/remove of one unit, over all its keys together.
    - "optimal": π grows as fast as (ε/k, δ/k) allows, π(n+1) = min(e^ε π(n) + δ, 1 − e^−ε (1 − π(n) − δ), 1); k keys
      compose. No decision with that guarantee on one key keeps more (Desfontaines, Voss, Gipson and Mandayam 2022).
    - "laplace": keep when n + Z ≥ threshold, Z discrete Laplace of scale k/ε, Pr[1 + Z ≥ threshold] ≤ δ/k.
    - "gaussian": the same with discrete Gaussian Z. For k = 1 it is (ε, δ) by itself and Pr[1 + Z ≥ threshold] ≤ δ;
      for k > 1 the l2 move of √k takes δ/2 and the threshold takes δ/2k.
    """

    theory: ClassVar[str] = "partition-selection"

    epsilon: Ratio
    delta: Ratio
    strategy: Strategy = "optimal"
    partitions: int = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", positive(self.epsilon, "epsilon", toward="decimal"))
        object.__setattr__(self, "delta", between(self.delta, "delta", 0, 1))
        object.__setattr__(self, "partitions", whole(self.partitions, "partitions", least=1))
        if self.strategy not in get_args(Strategy):
            raise InputError(f"strategy must be one of {', '.join(get_args(Strategy))}, not {self.strategy!r}")
        if self.strategy == "optimal" and (2 / self._share[0] > LONGEST or _closed_form(*self._share)[1] > LONGEST):
            raise InputError(
                f"epsilon a partition is {show(self._share[0])}, too small to tabulate the optimal law: "
                "use strategy='laplace', which is nearly as good there"
            )

    def loss(self, sensitivity: Size = None, *, relation: Relation = Relation.ADD_REMOVE, unit: str = "row") -> Approx:
        """(ε, δ). Replacing a unit is removing one and adding another: two steps, (2ε, (1 + e^ε)δ)."""
        if sensitivity is not None:
            raise InputError("sensitivity is set by `partitions`, the keys a unit may have: leave it out")
        return two_steps(Approx(self.epsilon, self.delta, unit=unit), relation)

    @classmethod
    def from_loss(cls, loss: Loss, *, strategy: Strategy = "optimal", partitions: int = 1) -> Self:
        """The selection that keeps the most for (ε, δ) under add/remove."""
        if not isinstance(loss, Approx) or not loss.bound or not loss.slack:
            raise InputError("partition selection needs delta: pass loss=Approx(epsilon, delta), both above 0")
        if loss.relation is not Relation.ADD_REMOVE:
            raise InputError("relation must be 'add_remove': state the loss for adding or removing one unit")
        return cls(epsilon=loss.bound, delta=loss.slack, strategy=strategy, partitions=partitions)

    @property
    def noise(self) -> DiscreteLaplace | DiscreteGaussian:
        """What is added to a count before it meets the threshold."""
        if self.strategy == "laplace":
            return DiscreteLaplace(scale=self.partitions / self.epsilon)
        if self.strategy == "gaussian":
            return _gaussian(self.epsilon, self.delta, self.partitions)
        raise InputError("strategy 'optimal' adds no noise: it decides by `keeps`")

    def threshold(self) -> int:
        """Noisy counts from here on are kept; for "optimal", counts from here on are always kept."""
        if self.strategy == "optimal":
            return _closed_form(*self._share)[1] + 1
        return _threshold(self.noise, self._hidden)

    def keeps(self, count: int) -> float:
        """Probability that a key of `count` units is kept."""
        return self.pmf(count)[True]

    def needed(self, confidence: Number = 0.95) -> int:
        """The least number of units with which a key is kept with probability at least `confidence`."""
        level = float(between(confidence, "confidence", 0, 1))
        return least_whole(lambda count: self.keeps(count) >= level)

    def sample(self, value: Any, rng: Rng | None = None) -> Any:
        """Whether to keep a key of `value` units; for an array of counts, an array of independent decisions."""
        single = not isinstance(value, np.ndarray | list | tuple)
        counts, source = counts_of([value] if single else value), rng_or_default(rng)
        if self.strategy == "optimal":
            limits = in_chunks(partial(_optimal(*self._share).draw, rng=source), counts.size)
            kept = counts >= limits.reshape(counts.shape)
        else:
            noise = self.noise.draw(counts.size, source).reshape(counts.shape)
            kept = (counts > 0) & np.asarray(counts + noise >= self.threshold(), dtype=bool)
        return bool(kept[0]) if single else kept

    def pmf(self, value: Any) -> Pmf:
        """{True: π(n), False: 1 − π(n)}; for a list of counts, the law of the tuple of decisions."""
        if isinstance(value, np.ndarray | list | tuple):
            each = [self.pmf(int(count)) for count in counts_of(value)]
            return {kept: prod(law[k] for law, k in zip(each, kept, strict=True)) for kept in product(*each)}
        count = int(counts_of([value])[0])
        if not count:
            return {True: 0.0, False: 1.0}
        if self.strategy == "optimal":
            keep, drop = _closed_form_law(*self._share, count)
        else:
            keep, drop = self.noise.reaches(self.threshold() - count)
        return {True: keep, False: drop}

    @property
    def _share(self) -> tuple[Fraction, Fraction]:
        """(ε, δ) of one key out of k that compose."""
        return self.epsilon / self.partitions, self.delta / self.partitions

    @property
    def _hidden(self) -> Fraction:
        """How often a key of one unit may be kept."""
        halved = self.strategy == "gaussian" and self.partitions > 1
        return self.delta / self.partitions / (2 if halved else 1)

    @classmethod
    def examples(cls) -> Sequence[Example]:
        found = []
        for epsilon, delta in ((1, "1e-5"), ("1/10", "1e-4"), (3, "1e-9"), ("1/2", "1/4")):
            m = cls(epsilon=Fraction(epsilon), delta=Fraction(delta))
            first, last = _closed_form(*m._share)
            found += [Example(m, 0, 1, m.loss()), Example(m, first - 1, first, m.loss())]
            found += [Example(m, first + 1, first + 2, m.loss(), tight=first + 1 < last)]
            m = cls(epsilon=Fraction(epsilon), delta=Fraction(delta), strategy="laplace")
            edge = max(2, m.threshold())  # a key both have is never hidden by its absence: δ plays no part
            found += [Example(m, edge - 1, edge, Pure(m.epsilon)), Example(m, 0, 1, m.loss(), tight=False)]
            m = cls(epsilon=Fraction(epsilon), delta=Fraction(delta), strategy="gaussian")
            worst = max(range(1, m.threshold() + 1), key=m._excess)
            found += [Example(m, worst, worst + 1, m.loss()), Example(m, 0, 1, m.loss(), tight=False)]
        exact = round_up(exp(-10) / (1 + exp(-1)) * (1 + 1e-12))  # a δ that some threshold uses up
        m = cls(epsilon=Fraction(1), delta=exact, strategy="laplace")
        found += [Example(m, 0, 1, m.loss())]
        pair = cls(epsilon=Fraction(4), delta=Fraction("1e-6"), partitions=2)
        found += [Example(pair, (5, 6), (6, 7), pair.loss(), tight=False), Example(pair, (0, 0), (1, 1), pair.loss())]
        pair = cls(epsilon=Fraction(2), delta=Fraction("1e-6"), strategy="laplace", partitions=2)
        edge = pair.threshold()
        return [*found, Example(pair, (edge - 1, edge - 1), (edge, edge), Pure(pair.epsilon))]

    def _excess(self, count: int) -> float:
        """The larger hockey stick between `count` and one more."""
        less, more, factor = self.pmf(count), self.pmf(count + 1), exp(self.epsilon)
        return max(more[True] - factor * less[True], less[False] - factor * more[False])


def two_steps(loss: Approx, relation: Relation) -> Approx:
    """A guarantee for add/remove, restated for `relation`."""
    if Relation(relation) is Relation.ADD_REMOVE:
        return loss
    pair = loss.grouped(2)
    return Approx(pair.bound, pair.slack, relation=relation, unit=loss.unit)


def counts_of(value: Any) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Numbers of units as int64, or an error: negative, fractional and enormous ones are refused."""
    counts = np.asarray(value)
    if not counts.size:
        return np.zeros(counts.shape, dtype=np.int64)
    if counts.dtype.kind not in "iu" or int(counts.min()) < 0 or int(counts.max()) >= LARGEST:
        raise InputError("counts of units must be whole numbers from 0 to 2^62")
    return counts.astype(np.int64)


@lru_cache(maxsize=16)
def _optimal(epsilon: Fraction, delta: Fraction) -> InversionTable:
    """The least count that is kept: T with Pr[T ≤ n] = π(n), so that a key is kept when its count is at least T.

    The recurrence is run in interval arithmetic. Its first branch multiplies errors by e^ε, up to about 1/δ in all: the
    guard bits are for that. The minimum of two enclosures encloses the minimum, so no crossover is computed.
    """
    guard = 64 + 2 * (delta.denominator.bit_length() - delta.numerator.bit_length() + 1) + min(int(2 * epsilon), 4096)

    def cumulative(bits: int) -> Iterator[Enclosure]:
        work = bits + guard
        one = 1 << work
        shrink = exp_minus(epsilon, work)
        grow = (one * one // shrink[1], -(-one * one // shrink[0]) if shrink[0] else one << work)
        step = (delta * one).__floor__(), (delta * one).__ceil__()
        low, high = 0, 0
        while low < one:
            first = times((low, high), grow, work)
            second = times((max(0, one - high - step[1]), max(0, one - low - step[0])), shrink, work)
            low = min(first[0] + step[0], one - second[1], one)
            high = min(first[1] + step[1], one - second[0], one)
            yield narrow((low, high), work, bits)

    return InversionTable(cumulative, lambda cell: cell + 1, finite=True)


@lru_cache(maxsize=64)
def _closed_form(epsilon: Fraction, delta: Fraction) -> tuple[int, int]:
    """The last n of the growing branch and of the levelling one (Desfontaines et al. 2022, the general closed form)."""
    with localcontext(prec=80, Emax=MAX_EMAX):
        e, d = (Decimal(x.numerator) / Decimal(x.denominator) for x in (epsilon, delta))
        first = 1 + int((((e.exp() + 2 * d - 1) / ((e.exp() + 1) * d)).ln() / e).to_integral_value(ROUND_FLOOR))
        here = ((first * e).exp() - 1) / (e.exp() - 1) * d
        last = first + int(((1 + (e.exp() - 1) / d * (1 - here)).ln() / e).to_integral_value(ROUND_FLOOR))
    return first, last


def _closed_form_law(epsilon: Fraction, delta: Fraction, count: int) -> tuple[float, float]:
    """π(n) and 1 − π(n) from the closed form, each to full relative accuracy; the sampler runs the recurrence."""
    first, last = _closed_form(epsilon, delta)
    if count > last:
        return 1.0, 0.0
    with localcontext(prec=80, Emax=MAX_EMAX):
        e, d = (Decimal(x.numerator) / Decimal(x.denominator) for x in (epsilon, delta))
        base = d / (e.exp() - 1)
        keep = ((min(count, first) * e).exp() - 1) * base
        if count > first:
            fall = (-(count - first) * e).exp()
            keep = (1 - fall) * (1 + base) + fall * keep
        return float(keep), float(1 - keep)


@lru_cache(maxsize=64)
def _gaussian(epsilon: Fraction, delta: Fraction, partitions: int) -> DiscreteGaussian:
    if partitions == 1:
        return DiscreteGaussian.from_loss(Approx(epsilon, delta), sensitivity=1)
    root = isqrt(partitions)
    l2 = Fraction(root) if root * root == partitions else Fraction(isqrt(partitions * 10**24) + 1, 10**12)
    moved = Sensitivity(l1=Fraction(partitions), l2=l2, linf=Fraction(1), dimension=partitions)
    return DiscreteGaussian.from_loss(Approx(epsilon, delta / 2), sensitivity=moved)


@lru_cache(maxsize=64)
def _threshold(noise: DiscreteLaplace | DiscreteGaussian, chance: Fraction) -> int:
    """The least t with Pr[1 + Z ≥ t] ≤ chance, for certain."""
    if isinstance(noise, DiscreteGaussian):
        allowed = float(chance) * (1 - 1e-9)  # sums of positive doubles are good to far more digits
        return 1 + least_whole(lambda m: noise.reaches(m)[0] <= allowed)
    bits = 128 + chance.denominator.bit_length()
    rest = (1 << bits) + exp_minus(1 / noise.scale, bits)[0]  # Pr[Z ≥ m] = r^m/(1 + r)
    return 1 + least_whole(lambda m: exp_minus(m / noise.scale, bits)[1] <= chance * rest)
