"""A histogram over keys that nobody listed in advance: noisy counts, shown only above a threshold."""

from collections.abc import Hashable, Mapping, Sequence
from fractions import Fraction
from itertools import product
from math import exp, fsum, prod
from typing import Any, ClassVar, Literal, Self

import numpy as np

from tacit.base import InputError, LossError, Number, Ratio, Relation, Size, frozen, round_up
from tacit.loss import Approx, Loss, Pure
from tacit.mechanism.gaussian import DiscreteGaussian
from tacit.mechanism.laplace import DiscreteLaplace
from tacit.mechanism.mechanism import Example, Mechanism, Pmf
from tacit.mechanism.partition_selection import PartitionSelection, counts_of
from tacit.noise import Rng, rng_or_default

__all__ = ["StableHistogram"]

LISTED = 2_000_000  # outputs a pmf may list
TINY = 1e-300


@frozen
class StableHistogram(Mechanism):
    """For every key that some unit has: its count plus integer noise, shown when that is at least `threshold()`.

    Guarantee: (ε, δ) under add/remove of one unit that has at most `partitions` = k keys (Korolova et al. 2009; Bun,
    Nissim and Stemmer 2016). The noisy count is both what is tested and what is shown, so selection costs no ε beyond
    that of the counts: noise of `PartitionSelection` with the same parameters, "laplace" or "gaussian".
    """

    theory: ClassVar[str] = "histogram"

    epsilon: Ratio
    delta: Ratio
    strategy: Literal["laplace", "gaussian"] = "laplace"
    partitions: int = 1

    def __post_init__(self) -> None:
        if self.strategy not in ("laplace", "gaussian"):
            raise InputError(
                f"strategy must be laplace or gaussian, not {self.strategy!r}: 'optimal' shows no counts; select with "
                "PartitionSelection and give the counts of kept keys a budget of their own"
            )
        for name in ("epsilon", "delta", "partitions"):
            object.__setattr__(self, name, getattr(self._selection, name))

    @property
    def _selection(self) -> PartitionSelection:
        return PartitionSelection(
            epsilon=self.epsilon, delta=self.delta, strategy=self.strategy, partitions=self.partitions
        )

    def loss(self, sensitivity: Size = None, *, relation: Relation = Relation.ADD_REMOVE, unit: str = "row") -> Approx:
        """(ε, δ). Replacing a unit is removing one and adding another: two steps, (2ε, (1 + e^ε)δ)."""
        return self._selection.loss(sensitivity, relation=relation, unit=unit)

    @classmethod
    def from_loss(
        cls, loss: Loss, *, strategy: Literal["laplace", "gaussian"] = "laplace", partitions: int = 1
    ) -> Self:
        """The least noise and threshold for (ε, δ) under add/remove."""
        found = PartitionSelection.from_loss(loss, strategy=strategy, partitions=partitions)
        return cls(epsilon=found.epsilon, delta=found.delta, strategy=strategy, partitions=found.partitions)

    @property
    def noise(self) -> DiscreteLaplace | DiscreteGaussian:
        """The noise on each count."""
        return self._selection.noise

    def threshold(self) -> int:
        """The least count that is ever shown."""
        return self._selection.threshold()

    def error(self, confidence: Number = 0.95, *, keys: int = 1) -> float:
        """Half-width e with Pr[the noises of `keys` keys, shown or not, are all at most e in size] ≥ confidence."""
        return self.noise.error(confidence, dimension=keys)

    def sample(self, value: Mapping[Any, int], rng: Rng | None = None) -> dict[Any, int]:
        """Kept keys with noisy counts, sorted by key: the order in which the data held them would tell of the data.

        Strings and integers sort as such, anything else by type and `repr`. Keys of no unit never appear.
        """
        source = rng_or_default(rng)
        found = _present(value)
        noisy = np.array(list(found.values()), dtype=np.int64) + self.noise.draw(len(found), source)
        limit = self.threshold()
        return {key: count for key, count in zip(found, noisy.tolist(), strict=True) if count >= limit}

    def pmf(self, value: Mapping[Any, int]) -> Pmf:
        """Keyed by the items of the released histogram, `tuple(released.items())`."""
        found = _present(value)
        half, limit = self.noise.weights(), self.threshold()
        laws: list[list[tuple[tuple[tuple[Any, int], ...], float]]] = []
        for key, count in found.items():
            law = {count + sign * z: p for z, p in enumerate(half) for sign in (1, -1)}
            hidden = fsum(p for noisy, p in law.items() if noisy < limit)
            shown = [(((key, noisy),), p) for noisy, p in law.items() if noisy >= limit]
            laws.append([((), hidden), *shown])
        if prod(len(law) for law in laws) > LISTED:
            raise LossError("pmf would list millions of histograms: look at fewer keys, or at less noise")
        result: Pmf = {}
        for parts in product(*laws):
            p = prod(part[1] for part in parts)
            if p > TINY:
                result[tuple(item for part in parts for item in part[0])] = p
        return result

    @classmethod
    def examples(cls) -> Sequence[Example]:
        found = []
        for epsilon, delta in ((1, "1e-5"), ("1/10", "1e-4"), (3, "1e-9")):
            m = cls(epsilon=Fraction(epsilon), delta=Fraction(delta))
            edge = m.threshold()  # keys that both have cost ε alone; a new one costs δ
            found += [Example(m, {"a": edge}, {"a": edge + 1}, Pure(m.epsilon))]
            found += [Example(m, {}, {"a": 1}, m.loss(), tight=False)]
            m = cls(epsilon=Fraction(epsilon), delta=Fraction(delta), strategy="gaussian")
            far = 3 * m.threshold()  # where the whole law shows
            found += [Example(m, {"a": far}, {"a": far + 1}, m.loss()), Example(m, {}, {"a": 1}, m.loss(), tight=False)]
        exact = round_up(exp(-9) / (1 + exp(-3)) * (1 + 1e-12))  # a δ that some threshold uses up
        m = cls(epsilon=Fraction(3), delta=exact)
        found += [Example(m, {"b": 5}, {"a": 1, "b": 5}, m.loss())]
        m = cls(epsilon=Fraction(6), delta=Fraction("1e-6"), partitions=2)
        found += [Example(m, {"a": 3, "b": 6}, {"a": 4, "b": 7}, Pure(m.epsilon))]
        found += [Example(m, {"a": 6}, {"a": 7, "b": 1}, m.loss(), tight=False)]
        m = cls(epsilon=Fraction(2), delta=Fraction("1e-6"), partitions=2, strategy="gaussian")
        return [*found, Example(m, {"a": 20, "b": 20}, {"a": 21, "b": 21}, m.loss(), tight=False)]


def _present(value: Mapping[Any, int]) -> dict[Hashable, int]:
    """The keys some unit has, in an order that does not depend on the data."""
    if not isinstance(value, Mapping):
        raise InputError("value must be a mapping from key to number of units, such as a dict")
    if any(isinstance(count, bool) or not isinstance(count, int | np.integer) for count in value.values()):
        raise InputError("counts of units must be whole numbers")
    if any(key != key for key in value):
        raise InputError("a key is NaN, which equals nothing: replace it with None first")
    counts = counts_of(list(value.values()))
    items = [(key, count) for key, count in zip(value, counts.tolist(), strict=True) if count]
    for kind in (str, int):
        if all(type(key) is kind for key, _ in items):
            return dict(sorted(items))
    return dict(sorted(items, key=lambda item: (type(item[0]).__qualname__, repr(item[0]))))
