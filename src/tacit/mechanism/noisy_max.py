"""Report-noisy-max on a lattice, ties broken uniformly."""

from collections.abc import Sequence
from fractions import Fraction
from math import exp, expm1
from typing import Any, ClassVar, Literal, Self

import numpy as np

from tacit.base import InputError, LossError, Number, between, frozen, positive, whole
from tacit.mechanism.additive import most
from tacit.mechanism.mechanism import Example, Pmf
from tacit.mechanism.selection import Selection, listed
from tacit.noise import Rng, discrete_laplaces, geometrics, rng_or_default

__all__ = ["NoisyMax"]

Array = np.ndarray[Any, np.dtype[Any]]

REACH = 45  # scales of noise that a pmf sums over; what lies beyond weighs e^−45
CELLS = 20_000_000  # terms that a pmf may sum


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
        best = np.flatnonzero(noisy == noisy.max())
        return int(best[source.below(len(best))])

    def error(self, confidence: Number = 0.95, *, candidates: int) -> float:
        """A gap e such that the chosen score is at least the best one − e with probability ≥ `confidence`.

        A candidate k steps short can win only if its noise beats that of the best by k or more; e is the least multiple
        of the granularity beyond which the n − 1 chances of that sum to at most 1 − confidence.
        """
        allowed = float(1 - between(confidence, "confidence", 0, 1)) * (1 - 1e-12)
        rivals = whole(candidates, "candidates", least=1) - 1
        low, high = -1, 1
        while rivals * self._beats(high + 1) > allowed:
            low, high = high, 2 * high
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if rivals * self._beats(middle + 1) <= allowed else (middle, high)
        return float(high * self.granularity)

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
        """Summed over the winning value v, with x in [0, 1] the tie-breaking priority of the winner.

        Pr[i] = Σ_v Pr[i at v]·∫ Π_{j≠i} (Pr[j below v] + x·Pr[j at v]) dx; Gauss–Legendre is exact on a polynomial.
        """
        scales = self._listed_gaps(value)
        rate = float(self._unit)
        gaps = np.rint(scales / rate)
        first = -int(gaps.max() + REACH / rate) - 1 if self.noise == "laplace" else 0
        last = int(REACH / rate) + 1
        nodes, shares = np.polynomial.legendre.leggauss(len(gaps) // 2 + 1)
        if (last - first + 1) * len(gaps) * len(nodes) > CELLS:
            raise LossError("pmf would sum too many terms: declare a coarser granularity to look at it")
        values = np.arange(first, last + 1, dtype=float)
        below, at = self._law(values[:, None] + gaps, rate)
        total = np.zeros(len(gaps))
        for x, share in zip((nodes + 1) / 2, shares / 2, strict=True):
            logs = np.log(below + x * at)
            total += share * (at * np.exp(logs.sum(axis=1, keepdims=True) - logs)).sum(axis=0)
        return listed(total)

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
