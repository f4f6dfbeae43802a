"""Choosing the best of a set of candidates by their scores: the exponential mechanism, permute-and-flip, noisy max."""

from collections.abc import Sequence
from fractions import Fraction
from math import exp, expm1, log, sqrt
from typing import Any, ClassVar, Literal, Self

import numpy as np

from tacit.base import InputError, Lattice, LossError, Relation, Sensitivity, Size
from tacit.base.number import Number, Ratio, between, default, frozen, positive, round_up, whole
from tacit.loss import PLD, ZCDP, Loss, Pure, RangePart
from tacit.loss.mu import range_mu_squared
from tacit.mechanism.additive import least_whole, most
from tacit.mechanism.mechanism import Example, Mechanism, Pmf, four_digits
from tacit.noise import Rng, coins_exp_each, discrete_laplaces, geometrics, rng_or_default
from tacit.noise.choice import choose

__all__ = [
    "Exponential",
    "NoisyMax",
    "PermuteAndFlip",
    "Selection",
    "any_winner",
    "flip",
    "flip_law",
    "listed",
    "one_row",
    "winner_law",
]

Array = np.ndarray[Any, np.dtype[Any]]


@frozen
class Selection(Mechanism):
    """The index of one candidate, the more likely the higher its score.

    `scale` is how much score one factor of e is worth. Scores are whole numbers, or multiples of `granularity`.
    Guarantee: ε = 2Δ/scale, pure, where one unit moves each score by at most Δ (the l∞ sensitivity), whatever the
    number of candidates. With `monotone` it is Δ/scale. That is a promise about the scores: between any two
    neighbours, either no score falls or no score rises. Counts are monotone under add/remove; under replace they are
    not, because one record leaves one count and enters another.
    """

    listable: ClassVar[int] = 1000  # candidates a pmf may have

    scale: Ratio
    monotone: bool = False
    granularity: Ratio = default(Fraction(1))

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", positive(self.scale, "scale"))
        object.__setattr__(self, "granularity", positive(self.granularity, "granularity", toward="decimal"))
        if not isinstance(self.monotone, bool):
            raise InputError(f"monotone must be True or False, not {self.monotone!r}")

    def loss(self, sensitivity: Size = None, *, relation: Relation = Relation.ADD_REMOVE, unit: str = "row") -> Pure:
        return Pure(self._range(sensitivity), relation=relation, unit=unit)

    @classmethod
    def from_loss(cls, loss: Loss, *, sensitivity: Size = None, monotone: bool = False, **options: Any) -> Self:
        """The least noise with the pure guarantee `loss`: scale = 2Δ/ε, or Δ/ε for monotone scores."""
        if not isinstance(loss, Pure) or not loss.bound:
            raise InputError("selection reaches a pure guarantee: pass loss=Pure(epsilon) with epsilon > 0")
        size = positive(Sensitivity.of(sensitivity, "linf").require("linf"), "sensitivity")
        return cls(scale=(1 if monotone else 2) * size / loss.bound, monotone=monotone, **options)

    def error(self, confidence: Number = 0.95, *, candidates: int) -> float:
        """A gap e such that the chosen score is at least the best one − e with probability ≥ `confidence`.

        e = scale·log(n/β): a candidate that falls short by t or more is chosen with probability at most e^(−t/scale),
        its weight against that of the best (exponential) or the bias of its coin (permute-and-flip), and there are
        fewer than n of them.
        """
        return float(self.scale) * _log_candidates(confidence, candidates) * (1 + 1e-15)

    @classmethod
    def from_error(cls, error: Number, *, candidates: int, confidence: Number = 0.95, **options: Any) -> Self:
        """The most noise whose `error(confidence, candidates=candidates)` is at most `error`."""
        target = positive(error, "error", toward="down")
        return cls(scale=target / Fraction(_log_candidates(confidence, candidates) * (1 + 4e-15)), **options)

    @property
    def magnitude(self) -> Fraction:
        return self.scale

    @property
    def _unit(self) -> Fraction:
        """One step of the lattice in scales."""
        return self.granularity / self.scale

    def _range(self, sensitivity: Size) -> Fraction:
        """How far apart one unit can drive the exponents of two candidates: 2Δ/scale, or Δ/scale if monotone."""
        return (1 if self.monotone else 2) * Sensitivity.of(sensitivity, "linf").require("linf") / self.scale

    def _gaps(self, scores: Any) -> Array:
        """By how many steps of the lattice each candidate falls short of the best: int64, or Python integers."""
        values = one_row(scores, "scores")
        if not values.size:
            raise InputError("scores must not be empty: there is no candidate to choose")
        steps = Lattice(self.granularity).steps(values)
        assert isinstance(steps, np.ndarray)  # an array in, an array out
        if int(steps.max()) - int(steps.min()) >= 2**62:
            return np.asarray(int(steps.max()) - steps.astype(object))
        return np.asarray(steps.max() - steps, dtype=np.int64)

    def _listed_gaps(self, scores: Any) -> Array:
        """The gaps in scales, as floats, for a `pmf`."""
        gaps = self._gaps(scores)
        if len(gaps) > self.listable:
            raise LossError(f"pmf lists at most {self.listable} candidates, not {len(gaps)}")
        return np.array([float(gap * self._unit) for gap in gaps.tolist()])

    @classmethod
    def examples(cls) -> Sequence[Example]:
        return cls._worst_cases()

    @classmethod
    def _worst_cases(cls, **options: Any) -> list[Example]:
        """One candidate loses Δ while two far better ones gain Δ (or stay, if monotone): the claim is attained."""
        found = []
        for scale, shift in (("1", 1), ("7/3", 2), ("1/3", 1), ("40", 3)):
            far = int(30 * Fraction(scale)) + 2 * shift
            free, same = (cls(scale=Fraction(scale), monotone=monotone, **options) for monotone in (False, True))
            claim, less = free.loss(sensitivity=shift), same.loss(sensitivity=shift)
            found.append(Example(free, [shift, far, far], [0, far + shift, far + shift], claim))
            found.append(Example(same, [shift, far, far], [0, far, far], less))
            found.append(Example(free, [0, 0, shift], [shift, shift, 0], claim, tight=False))
        return found


def one_row(values: Any, name: str) -> Array:
    """The numbers a caller passed, as an array of one dimension; whole numbers too long for a double stay whole."""
    try:
        row = np.asarray(values)
    except ValueError:
        raise InputError(f"{name} must be a list of numbers, not lists of unequal length") from None
    if row.ndim != 1:
        raise InputError(f"{name} must be a list of numbers, not an array of {row.ndim} dimensions")
    if not isinstance(values, np.ndarray) and row.dtype.kind == "f" and np.abs(row).max(initial=0) >= 2**53:
        return np.array(values, dtype=object)  # numpy would have rounded them
    return row


def _log_candidates(confidence: Number, candidates: int) -> float:
    """log(n/β) for n candidates and a failure probability β = 1 − confidence, rounded up."""
    failure = 1 - between(confidence, "confidence", 0, 1)
    return log(whole(candidates, "candidates", least=1) / failure) * (1 + 1e-15)


def listed(probabilities: Array) -> Pmf:
    """A law over indices, summing to one up to rounding."""
    return {i: float(p) for i, p in enumerate(probabilities)}


def any_winner(values: Array, rng: Rng) -> int:
    """The index of the largest value; among equals one chosen uniformly."""
    best = np.flatnonzero(values == values.max())
    return int(best[rng.below(len(best))])


CELLS = 20_000_000  # terms that a pmf may sum
TOO_MANY = "pmf would sum too many terms: look at fewer candidates, less noise or a coarser granularity"


def winner_law(below: Array, at: Array) -> Pmf:
    """The law of `any_winner` among independent candidates, given Pr[j below v] and Pr[j at v] in rows v, columns j.

    With x in [0, 1] for the winner's priority in a tie, Pr[i] = Σ_v Pr[i at v]·∫ Π_{j≠i} (Pr[j below v] + x·Pr[j at v])
    dx; Gauss–Legendre is exact on a polynomial.
    """
    nodes, shares = np.polynomial.legendre.leggauss(at.shape[1] // 2 + 1)
    if at.size * len(nodes) > CELLS:
        raise LossError(TOO_MANY)
    total = np.zeros(at.shape[1])
    for x, share in zip((nodes + 1) / 2, shares / 2, strict=True):
        logs = np.log(below + x * at)
        total += share * (at * np.exp(logs.sum(axis=1, keepdims=True) - logs)).sum(axis=0)
    return listed(total)


@frozen
class Exponential(Selection):
    """Candidate i with probability proportional to exp(score_i/scale) (McSherry and Talwar 2007).

    Guarantee: ε = 2Δ/scale, pure (Δ/scale if monotone), and ε²/8 in zCDP, because the losses of any two outputs lie
    within the same ε of each other (bounded range: Dong, Durfee and Rogers 2020; Cesar and Rogers 2021).
    """

    theory: ClassVar[str] = "exponential"
    listable: ClassVar[int] = 1_000_000

    @property
    def kind(self) -> str:
        return "the exponential mechanism"

    def words(self, unit: str = "unit") -> str:
        return f"{self.kind}, with a scale of {four_digits(self.scale)} {unit}s"

    def loss(self, sensitivity: Size = None, *, relation: Relation = Relation.ADD_REMOVE, unit: str = "row") -> Pure:
        found = PLD.of(((RangePart(self._range(sensitivity)), 1),), relation=relation, unit=unit)
        assert isinstance(found, Pure)  # its part has an ε and no δ
        return found

    def concentrated(
        self, sensitivity: Size = None, *, relation: Relation = Relation.ADD_REMOVE, unit: str = "row"
    ) -> ZCDP:
        """The same release in zCDP: ρ = ε²/8 with the ε of `loss`, a quarter of what pure ε alone would give; and in
        Gaussian DP that of a pure ε/2."""
        span = self._range(sensitivity)
        return ZCDP(span**2 / 8, mu_squared=range_mu_squared(span), relation=relation, unit=unit)

    @classmethod
    def from_loss(cls, loss: Loss, *, sensitivity: Size = None, monotone: bool = False, **options: Any) -> Self:
        """The least noise for Pure(ε), or for ZCDP(ρ) through ε = √8ρ."""
        if isinstance(loss, ZCDP) and loss.rho and not loss.slack:
            size = positive(Sensitivity.of(sensitivity, "linf").require("linf"), "sensitivity")
            scale = round_up((1 if monotone else 2) * size * Fraction(1 / sqrt(8 * loss.rho) * (1 + 1e-15)))
            return cls(scale=scale, monotone=monotone, **options)
        return super().from_loss(loss, sensitivity=sensitivity, monotone=monotone, **options)

    def sample(self, value: Any, rng: Rng | None = None) -> int:
        """The index of one candidate, from the scores of all."""
        return choose(self._gaps(value), self._unit, rng_or_default(rng))

    def pmf(self, value: Any) -> Pmf:
        weights = np.exp(-self._listed_gaps(value))
        return listed(weights / weights.sum())

    @classmethod
    def examples(cls) -> Sequence[Example]:
        """Also many candidates alike, and the zCDP of one of them."""
        m = cls(scale=Fraction(2))
        crowd = [0] * 999
        return [
            *super().examples(),
            Example(m, [1, *crowd], [0, *(s + 1 for s in crowd)], m.loss(sensitivity=1)),
            Example(m, [1, 0], [-1, 2], m.concentrated(sensitivity=2), tight=False),
        ]


def flip_law(bias: Array) -> Array:
    """The law of permute-and-flip for coins of these biases, of which one is 1."""
    nodes, shares = np.polynomial.legendre.leggauss(len(bias) // 2 + 1)
    factors = 1 - np.outer((nodes + 1) / 2, bias)
    product = np.exp(np.log(factors).sum(axis=1))
    return np.asarray(bias * ((shares / 2 * product) @ (1 / factors)))


def flip(gaps: Array, unit: Fraction, rng: Rng) -> int:
    """Permute-and-flip among candidates that fall short by so many units of the exponent; the best by 0."""
    heads = np.flatnonzero(coins_exp_each(gaps, unit, rng))
    return int(heads[rng.below(len(heads))])


@frozen
class PermuteAndFlip(Selection):
    """Every candidate flips a coin of bias exp((score − best)/scale); one of the heads is chosen uniformly.

    That is the first head in a random order, the mechanism of McKenna and Sheldon (2020). The best candidate always
    shows heads. Guarantee: ε = 2Δ/scale, pure (Δ/scale if monotone), with an expected score never below that of the
    exponential mechanism of the same scale. It has no bounded range: its zCDP is that of pure ε.
    """

    theory: ClassVar[str] = "permute-and-flip"

    def sample(self, value: Any, rng: Rng | None = None) -> int:
        """The index of one candidate, from the scores of all."""
        return flip(self._gaps(value), self._unit, rng_or_default(rng))

    def pmf(self, value: Any) -> Pmf:
        """p_i·∫ Π_{j≠i} (1 − p_j·x) dx over x in [0, 1], the place of i in the order.

        The integrand is a polynomial of degree n − 1, on which Gauss–Legendre is exact; all terms are positive.
        """
        return listed(flip_law(np.exp(-self._listed_gaps(value))))


REACH = 45  # scales of noise that a pmf sums over; what lies beyond weighs e^−45


@frozen
class NoisyMax(Selection):
    """The candidate whose score plus noise is the largest; among equals one is chosen uniformly.

    The noise is independent and lies on the multiples z of `granularity`: Pr ∝ exp(−|z|/scale) for "laplace", the same
    on z ≥ 0 only for "exponential". Guarantee: ε = 2Δ/scale, pure (Δ/scale if monotone), for both. The one-sided noise
    usually errs less; with it this is exactly permute-and-flip. The granularity may be finer than the scores, which
    makes ties rare but is not needed for the guarantee.
    """

    theory: ClassVar[str] = "noisy-max"

    noise: Literal["laplace", "exponential"] = "exponential"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.noise not in ("laplace", "exponential"):
            raise InputError(f"noise must be 'laplace' or 'exponential', not {self.noise!r}")

    def sample(self, value: Any, rng: Rng | None = None) -> int:
        """The index of one candidate, from the scores of all."""
        source, gaps = rng_or_default(rng), self._gaps(value)
        draw = discrete_laplaces if self.noise == "laplace" else geometrics
        noisy = draw(1 / self._unit, len(gaps), source) - gaps
        return any_winner(noisy, source)

    def error(self, confidence: Number = 0.95, *, candidates: int) -> float:
        """A gap e such that the chosen score is at least the best one − e with probability ≥ `confidence`.

        A candidate k steps short can win only if its noise beats that of the best by k or more; e is the least multiple
        of the granularity beyond which the n − 1 chances of that sum to at most 1 − confidence.
        """
        allowed = float(1 - between(confidence, "confidence", 0, 1)) * (1 - 1e-12)
        rivals = whole(candidates, "candidates", least=1) - 1
        return float(least_whole(lambda steps: rivals * self._beats(steps + 1) <= allowed) * self.granularity)

    @classmethod
    def from_error(cls, error: Number, *, candidates: int, confidence: Number = 0.95, **options: Any) -> Self:
        target = positive(error, "error", toward="down")

        def fits(scale: float) -> bool:
            return Fraction(cls(scale=Fraction(scale), **options).error(confidence, candidates=candidates)) <= target

        return cls(scale=Fraction(most(fits, float(target))), **options)

    def _beats(self, steps: int) -> float:
        """Pr[X − Y ≥ steps] for two independent noises and steps ≥ 0, summed in closed form with r = exp(−1/scale)."""
        rate = float(self._unit)
        r = exp(-rate)
        if self.noise == "exponential":
            return exp(-steps * rate) / (1 + r)
        return exp(-steps * rate) / (1 + r) ** 2 * (-expm1(-rate) * steps + (1 + r * r) / (1 + r) + r)

    def pmf(self, value: Any) -> Pmf:
        scales = self._listed_gaps(value)
        rate = float(self._unit)
        gaps = np.rint(scales / rate)
        first = -int(gaps.max() + REACH / rate) - 1 if self.noise == "laplace" else 0
        last = int(REACH / rate) + 1
        if (last - first + 1) * len(gaps) > CELLS:
            raise LossError(
                "pmf would sum too many terms: look at fewer candidates, less noise or a coarser granularity"
            )
        values = np.arange(first, last + 1, dtype=float)
        return winner_law(*self._law(values[:, None] + gaps, rate))

    def _law(self, z: Array, rate: float) -> tuple[Array, Array]:
        """Pr[Z < z] and Pr[Z = z], each with full relative accuracy."""
        r, stop = exp(-rate), -expm1(-rate)
        if self.noise == "exponential":
            return -np.expm1(-rate * z), stop * np.exp(-rate * z)
        tail = np.exp(-rate * np.abs(z)) / (1 + r)
        return np.where(z > 0, 1 - tail, r * tail), stop * tail

    @classmethod
    def examples(cls) -> Sequence[Example]:
        """The same neighbours for both noises, and a lattice finer than the scores."""
        fine = cls(scale=Fraction(2), granularity=Fraction(1, 8), noise="laplace")
        found = [*cls._worst_cases(noise="exponential"), *cls._worst_cases(noise="laplace")]
        return [*found, Example(fine, [1, 60, 60], [0, 61, 61], fine.loss(sensitivity=1))]
