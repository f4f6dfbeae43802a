"""Which keys may be shown when each unit spreads one clipped vector of weights over all the keys it has.

Nothing is sampled: a unit with k keys gives each of them one/√k (or one/k), so that its whole vector has norm `one`.
"""

from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import product
from math import expm1, floor, isqrt, log1p, prod, sqrt
from typing import Any, ClassVar, Literal, Self

import numpy as np

from tacit.base import InputError, LossError, Relation, Sensitivity, Size, special
from tacit.base.number import Number, Ratio, between, frozen, positive, round_up, whole
from tacit.loss import ZCDP, Approx, Loss, Pure
from tacit.loss.mu import lattice_mu_squared
from tacit.mechanism.additive import least_whole
from tacit.mechanism.gaussian import DiscreteGaussian
from tacit.mechanism.laplace import DiscreteLaplace
from tacit.mechanism.mechanism import Example, Mechanism, Pmf, four_digits
from tacit.noise import Rng, rng_or_default

__all__ = ["LEAST_DELTA", "ROUNDING", "KeySelection", "exposure", "least_threshold", "totals"]

Norm = Literal["l1", "l2"]
Floats = np.ndarray[Any, np.dtype[np.float64]]
Wholes = np.ndarray[Any, np.dtype[np.int64]]

LARGEST = 2**62  # of a key's total weight
FINEST = 2**16  # steps in `one`
LEAST_DELTA = Fraction(1, 10**200)  # a delta below this is beyond doubles
LISTED = 16  # keys a pmf may list
SUMMED = 2**13  # up to this sigma tails are summed over the lattice
ROUNDING = 1e-9  # far above the relative error of a tail in doubles
EACH = 2**10  # weights up to this are looked at one by one, larger ones
BLOCK = 2**9  # in blocks, each wider by this part of itself


@frozen
class KeySelection(Mechanism):
    """Show a key of total weight x > 0 when x + Z ≥ `threshold()`, Z being integer noise of this `scale`.

    One unit adds a vector of whole numbers ≥ 0 to the weights, of norm at most `one`; `weight(k)` on each of its k keys
    is such a vector. Guarantee under add/remove of one unit, over all its keys together:
    - "l2": Z discrete Gaussian, σ = scale: `delta`-approximate ρ-zCDP with ρ = one²/2·scale², and the μ of that noise;
    - "l1": Z discrete Laplace: (ε, `delta`) with ε = one/scale.
    Under replace 2ρ, or 2ε, at the same `delta` (Gopi et al. 2020 for the idea; proof in docs/theory/key-selection.md).
    """

    theory: ClassVar[str] = "key-selection"

    scale: Ratio
    delta: Ratio
    norm: Norm = "l2"
    one: int = 64

    def __post_init__(self) -> None:
        if self.norm not in ("l1", "l2"):
            raise InputError(f"norm must be l1 or l2, not {self.norm!r}")
        object.__setattr__(self, "scale", positive(self.scale, "scale"))
        object.__setattr__(self, "delta", between(self.delta, "delta", 0, 1))
        object.__setattr__(self, "one", whole(self.one, "one", least=1))
        if self.delta < LEAST_DELTA:
            raise InputError("delta must be at least 1e-200: smaller ones cannot be told from 0 when tails are summed")
        if self.one > FINEST:
            raise InputError(f"one must be at most {FINEST}: a finer lattice gains nothing")

    def loss(
        self, sensitivity: Size = None, *, relation: Relation = Relation.ADD_REMOVE, unit: str = "row"
    ) -> ZCDP | Approx:
        """Replacing a unit moves the weights by √2·one in l2 (they are not negative), by 2·one in l1."""
        if sensitivity is not None:
            raise InputError("sensitivity is set by `one`, the norm of a unit's weights: leave it out")
        units = 1 if Relation(relation) is Relation.ADD_REMOVE else 2
        if self.norm == "l2":
            return ZCDP(
                units * (self.one / self.scale) ** 2 / 2,
                delta=self.delta,
                mu_squared=units * self.one**2 * lattice_mu_squared(self.scale**2),
                relation=relation,
                unit=unit,
            )
        return Approx(units * self.one / self.scale, self.delta, relation=relation, unit=unit)

    @classmethod
    def from_rho(cls, rho: Number, *, delta: Number, one: int = 64) -> Self:
        """The least noise with δ-approximate ρ-zCDP under add/remove: σ = one/√2ρ."""
        square = whole(one, "one", least=1) ** 2 / (2 * positive(rho, "rho", toward="decimal"))
        return cls(norm="l2", scale=round_up(sqrt(square) * (1 + 1e-15)), delta=between(delta, "delta", 0, 1), one=one)

    @classmethod
    def from_epsilon(cls, epsilon: Number, *, delta: Number, one: int = 256) -> Self:
        """The least noise with (ε, δ) under add/remove: scale = one/ε."""
        budget = positive(epsilon, "epsilon", toward="decimal")
        return cls(norm="l1", scale=whole(one, "one", least=1) / budget, delta=between(delta, "delta", 0, 1), one=one)

    @classmethod
    def from_loss(cls, loss: Loss, **lattice: Any) -> Self:
        """The least noise with the guarantee ZCDP(ρ, delta=δ), in l2, or Approx(ε, δ), in l1, for its relation."""
        units = 1 if Relation(loss.relation) is Relation.ADD_REMOVE else 2
        if isinstance(loss, ZCDP) and loss.rho and loss.slack:
            return cls.from_rho(loss.rho / units, delta=loss.slack, **lattice)
        if isinstance(loss, Approx) and loss.bound and loss.slack:
            return cls.from_epsilon(loss.bound / units, delta=loss.slack, **lattice)
        raise InputError("selecting keys needs delta: pass loss=ZCDP(rho, delta=...) or Approx(epsilon, delta)")

    @property
    def noise(self) -> DiscreteLaplace | DiscreteGaussian:
        """What is added to a weight before it meets the threshold."""
        return DiscreteGaussian(sigma=self.scale) if self.norm == "l2" else DiscreteLaplace(scale=self.scale)

    @property
    def magnitude(self) -> Fraction:
        return self.scale

    def words(self, unit: str = "unit") -> str:
        each = Fraction(1, self.one)
        return (
            f"{self.noise.kind} of {self.noise.size_words(each)} {unit}s on the number of {unit}s in a group; "
            f"a group is shown if that passes a threshold of {four_digits(self.threshold() * each)}"
        )

    @property
    def most(self) -> int:
        """The most keys of one unit that count: with more of them `weight` is 0, and the unit is not seen at all."""
        return self.one**2 if self.norm == "l2" else self.one

    def weight(self, keys: int) -> int:
        """What a unit with so many keys gives each: ⌊one/√k⌋ in l2, ⌊one/k⌋ in l1."""
        k = whole(keys, "keys", least=1)
        return isqrt(self.one**2 // k) if self.norm == "l2" else self.one // k

    def threshold(self) -> int:
        """The least T ≥ 1 at which keys that only one unit has are all hidden with probability at least 1 − δ."""
        return least_threshold(self.norm, self.scale, Fraction(self.one), self.delta)

    def probability(self, weight: int) -> float:
        """How likely a key of this total weight is to be shown."""
        return self._each(whole(weight, "weight"))[0]

    def needed(self, confidence: Number = 0.95, *, keys: int = 1) -> int:
        """The least number of units, each with so many keys, that get a key shown with probability ≥ `confidence`."""
        level, weight = float(between(confidence, "confidence", 0, 1)), self.weight(keys)
        if not weight:
            raise InputError(f"a unit with {keys} keys adds nothing to any: at most {self.most} count at this `one`")
        return least_whole(lambda units: self.probability(units * weight) >= level)

    def sample(self, value: Any, rng: Rng | None = None) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """Which keys are shown, from their total weights. A weight of 0 is a key that nobody has: never shown."""
        weights, source = totals(value), rng_or_default(rng)
        noise = self.noise.draw(weights.size, source)
        return np.asarray((weights > 0) & (weights + noise >= self.threshold()), dtype=np.bool_)

    def pmf(self, value: Any) -> Pmf:
        """The law of the tuple of decisions, for a few keys."""
        weights = totals(value).tolist()
        if len(weights) > LISTED:
            raise LossError(f"pmf lists at most {LISTED} keys, not {len(weights)}: keys are decided independently")
        laws = [dict(zip((True, False), self._each(weight), strict=True)) for weight in weights]
        return {shown: prod(law[s] for law, s in zip(laws, shown, strict=True)) for shown in product(*laws)}

    def _each(self, weight: int) -> tuple[float, float]:
        """The probabilities to show and to hide, each to full relative accuracy."""
        return self.noise.reaches(self.threshold() - weight) if weight else (0.0, 1.0)

    @classmethod
    def examples(cls) -> Sequence[Example]:
        found = []
        for epsilon, delta, one in ((1, "1e-5", 6), ("1/10", "1e-4", 2)):
            m = cls.from_epsilon(Fraction(epsilon), delta=Fraction(delta), one=one)
            t, half, shared = m.threshold(), m.weight(2), Pure(Fraction(epsilon))  # keys that both have cost ε alone
            found += [Example(m, (t - one,), (t,), shared), Example(m, (t - half, t - half), (t, t), shared)]
            swapped = Pure(2 * Fraction(epsilon), relation=Relation.REPLACE)
            found += [Example(m, (t, t - 1), (t - one, t - 1 + one), swapped)]
        alone_in: list[tuple[Norm, int, int, int]]
        alone_in = [("l1", 12, 5, 90), ("l2", 9, 3, 44), ("l2", 1, 3, 8), ("l1", 1, 4, 20)]
        for norm, scale, one, t in alone_in:
            most = exposure(norm, Fraction(scale), Fraction(one), t)
            used = -expm1(-most) * (1 + 2 * ROUNDING)  # a δ that T = t uses up
            m = cls(norm=norm, scale=Fraction(scale), delta=round_up(used), one=one)
            worst = m.most if scale > 1 else 1  # much noise: a unit with many keys is worst; little: with one
            none, alone = (0,) * worst, (m.weight(worst),) * worst
            found += [Example(m, none, alone, Approx(0, m.delta))]
        for rho, delta, one in (("1/8", "1e-6", 16), ("1/200", "1e-12", 4), (2, "1e-3", 3)):
            m = cls.from_rho(Fraction(rho), delta=Fraction(delta), one=one)
            t, w, moved = m.threshold(), m.weight(2), m.loss(relation=Relation.REPLACE)
            found += [m._gaussian_worst(Fraction(1, 2)), Example(m, (t, 0), (t + w, w), m.loss(), tight=False)]
            found += [Example(m, (t + one, t, 0), (t, t + w, w), moved, tight=False)]
        for m in (cls.from_epsilon(1, delta="1e-5", one=8), cls.from_rho("1/8", delta="1e-5", one=8)):
            w, near = m.weight(3), m.threshold() - int(m.scale)  # two keys of others, one of its own
            found += [Example(m, (near, near + 8, 0), (near + w, near + 8 + w, w), m.loss(), tight=False)]
        return found

    def _gaussian_worst(self, epsilon: Fraction) -> Example:
        """A key that both have: its decision is a test, at the best place for (ε, δ) as good as the noisy weight."""
        claim = self.noise.loss(Sensitivity.scalar(self.one)).delta(epsilon).upper
        factor, t = float(expm1(epsilon)) + 1, self.threshold()

        def excess(weight: int) -> float:
            return self._each(weight + self.one)[0] - factor * self._each(weight)[0]

        worst = max(range(1, t + 1), key=excess)
        return Example(self, (worst,), (worst + self.one,), Approx(epsilon, round_up(claim)))


def totals(value: Any) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Total weights of keys, checked."""
    weights = np.asarray(value)
    if not weights.size and weights.ndim == 1:
        return np.zeros(0, dtype=np.int64)
    if weights.ndim != 1 or weights.dtype.kind not in "iu":
        raise InputError("weights must be a list of whole numbers, the total of each key")
    if int(weights.min()) < 0 or int(weights.max()) >= LARGEST:
        raise InputError("weights must be whole numbers from 0 to below 2^62")
    return weights.astype(np.int64)


BEYOND = 2**1000  # of noise: doubles end at 2^1024


@lru_cache(maxsize=64)
def least_threshold(norm: str, scale: Fraction, most: Fraction, delta: Fraction) -> int:
    """The least T ≥ 1 at which keys that one unit alone has are all hidden with probability at least 1 − δ, whatever
    vector of whole numbers with a norm of at most `most` it has on them."""
    if max(scale, most) >= BEYOND:
        raise InputError("this much noise is beyond what can be computed with, and hides every key: offer more for it")
    allowed = -log1p(-float(delta)) * (1 - ROUNDING)
    return max(1, least_whole(lambda threshold: exposure(norm, scale, most, threshold) <= allowed))


def exposure(norm: str, scale: Fraction, most: Fraction, threshold: int) -> float:
    """At least −log Pr[no key shown] for any weights of norm ≤ most on keys that nobody else has.

    Σ h(w) over the keys, h(w) = −log Pr[w + Z < T], is at most the budget (most^p for Σ w^p) times the most that h
    yields for its price w^p. In a block of weights a … b that is at most h(b)/a^p, since h grows.
    """
    first, last = _blocks(floor(most))
    if not len(first):
        return 0.0  # no weight fits
    shown = _tails(norm, float(scale), threshold - last)
    with np.errstate(divide="ignore"):
        hidden = -np.log1p(-shown)
    return float(np.max(hidden * (float(most) / first) ** (2 if norm == "l2" else 1)))


@lru_cache(maxsize=16)
def _blocks(largest: int) -> tuple[Wholes, Wholes]:
    """The first and the last of each block of weights from 1 to `largest`."""
    first = list(range(1, min(largest, EACH) + 1))
    last = list(first)
    while last and last[-1] < largest:
        first.append(last[-1] + 1)
        last.append(min(largest, first[-1] + first[-1] // BLOCK))
    return np.array(first, np.int64), np.array(last, np.int64)


def _tails(norm: str, scale: float, least: Wholes) -> Floats:
    """Pr[Z ≥ m], or slightly more, for each m of `least`."""
    size = np.where(least > 0, least, 1 - least)  # Pr[Z ≥ m] = 1 − Pr[Z ≥ 1 − m]
    if norm == "l1":
        far = np.exp(-size / scale) / (1 + np.exp(-1 / scale))
    elif scale > SUMMED:  # Canonne, Kamath and Steinke 2020, Proposition 25: from above, so not for 1 − it
        return np.asarray(np.where(least > 0, special.ndtr(-(size - 1) / scale), 1.0))
    else:
        table = _gaussian_tails(scale)
        far = table[np.minimum(size, len(table)) - 1]
    return np.asarray(np.where(least > 0, far, 1 - far))


@lru_cache(maxsize=8)
def _gaussian_tails(scale: float) -> Floats:
    """Pr[Z ≥ 1], Pr[Z ≥ 2], … to where nothing is left, and that."""
    z = np.arange(int(40 * scale) + 20, 0, -1, dtype=float)
    sums = np.cumsum(np.exp(-z * z / (2 * scale * scale)))[::-1]
    return np.asarray(np.append(sums, 0.0) / (1 + 2 * sums[0]))
