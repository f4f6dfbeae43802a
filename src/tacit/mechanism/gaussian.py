"""Gaussian noise on a lattice: integers, or reals with a declared granularity."""

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from math import log, sqrt
from statistics import NormalDist
from typing import Any, ClassVar, Self

import numpy as np

from tacit.base import InputError, Relation, Sensitivity, Size, special
from tacit.base.number import Number, Ratio, between, frozen, positive, round_up
from tacit.loss import PLD, ZCDP, Approx, DiscreteNormal, Loss, Normal, Part
from tacit.loss.mu import lattice_mu_squared
from tacit.mechanism.additive import Additive, Rounding, least, outside
from tacit.mechanism.mechanism import Example, Family, four_digits
from tacit.noise import Rng, discrete_gaussian, discrete_gaussians

__all__ = ["DiscreteGaussian", "Gaussian"]

FINE = 2**12  # from this many steps a sigma, the loss is stated through the continuous Gaussian
SUMMED = 2**13  # up to this many steps a sigma, tails are summed over the lattice


@frozen
class DiscreteGaussian(Additive):
    """Integer noise with Pr[z] ∝ exp(−z²/2σ²).

    Guarantee: ρ = (l2 sensitivity)²/2σ² in zCDP (Canonne, Kamath and Steinke 2020), and a μ a little above Δ/σ in
    Gaussian DP (docs/theory/gaussian-dp.md). Where one coordinate moves the loss also knows its (ε, δ) curve exactly.
    `sigma` is the parameter; on a coarse lattice the standard deviation is a little less.
    """

    theory: ClassVar[str] = "gaussian"

    sigma: Ratio

    def __post_init__(self) -> None:
        object.__setattr__(self, "sigma", positive(self.sigma, "sigma"))

    def loss(
        self, sensitivity: Size = None, *, relation: Relation = Relation.ADD_REMOVE, unit: str = "row"
    ) -> PLD | ZCDP:
        """On a fine lattice a continuous Gaussian's with σ² − (2 steps)², which this noise is a post-processing of but
        for a factor 1 ± 1e-33 (docs/theory/gaussian.md). On a coarse one exact when one coordinate moves: a scalar, or
        a vector of l2 sensitivity below √2 steps or of l1 sensitivity of one. Else zCDP and Gaussian DP, since several
        coordinates that move by a step each are told apart better than one that moves as far in l2."""
        size, step = self._reach(sensitivity, "l2"), self.lattice.granularity
        shift = size.require("l2")
        if self._variance >= FINE**2:
            part: Part = Normal((shift / step) ** 2 / (self._variance - 4))
        elif size.dimension == 1 or (shift / step) ** 2 < 2 or (size.l1 is not None and size.l1 <= step):
            part = DiscreteNormal(self._variance, self._moved(shift))
        else:
            square = (shift / step) ** 2 * lattice_mu_squared(self._variance)
            return ZCDP((shift / self.sigma) ** 2 / 2, mu_squared=square, relation=relation, unit=unit)
        return PLD.of(((part, 1),), relation=relation, unit=unit)

    @classmethod
    def from_loss(cls, loss: Loss, *, sensitivity: Size = None, **lattice: Any) -> Self:
        """The least noise with the guarantee `loss`.

        For ZCDP(ρ): σ = Δ/√2ρ. For Approx(ε, δ): the least σ whose own curve passes below (ε, δ): exact on a coarse
        lattice, the analytic Gaussian mechanism of Balle and Wang (2018) on a fine one, for any ε > 0.
        """
        size = Sensitivity.of(sensitivity, "l2")
        shift = positive(size.require("l2"), "sensitivity")
        if isinstance(loss, ZCDP) and loss.rho and not loss.slack:
            twice = 2 * loss.rho
            return cls._covering(
                lambda moved, **on: cls(sigma=round_up(sqrt(moved**2 / twice) * (1 + 1e-15)), **on), size, "l2", lattice
            )
        if isinstance(loss, Approx) and loss.slack:
            epsilon, delta = loss.bound, float(loss.slack)

            def holds(sigma: float) -> bool:
                return cls(sigma=round_up(sigma), **lattice).loss(size).delta(epsilon).upper <= delta

            guess = float(shift) / sqrt(2 * float(epsilon) + 1e-9)
            return cls(sigma=round_up(least(holds, guess)), **lattice)
        raise InputError("Gaussian noise reaches loss=ZCDP(rho) or loss=Approx(epsilon, delta) with delta > 0")

    @classmethod
    def classical(cls, *, epsilon: Number, delta: Number, sensitivity: Size = None, **lattice: Any) -> Self:
        """σ = Δ√(2 log(1.25/δ))/ε, the textbook calibration. Its proof needs ε < 1, so more is refused."""
        budget = positive(epsilon, "epsilon", toward="decimal")
        if budget >= 1:
            raise InputError("the classical Gaussian calibration holds only for epsilon < 1: use from_loss, for any")
        slack = float(between(delta, "delta", 0, 1))
        factor = sqrt(2 * log(1.25 / slack)) * (1 + 1e-15)
        return cls._covering(
            lambda moved, **on: cls(sigma=round_up(float(moved / budget) * factor), **on), sensitivity, "l2", lattice
        )

    @classmethod
    def from_error(cls, error: Number, *, confidence: Number = 0.95, dimension: int = 1, **lattice: Any) -> Self:
        """The most noise whose `error(confidence)` is at most `error`; its `loss` is then the price."""
        return cls._for_error(lambda size: cls(sigma=size, **lattice), error, confidence, dimension)

    def draw(self, size: int, rng: Rng) -> Any:
        return discrete_gaussians(self._variance, size, rng)

    def draw_one(self, rng: Rng) -> int:
        return discrete_gaussian(self._variance, rng)

    def tail(self, steps: int) -> float:
        """Summed on a coarse lattice; on a fine one Pr[Z ≥ m] ≤ Pr[N(0, σ²) ≥ m − 1] (CKS 2020, Proposition 25)."""
        sigma = sqrt(self._variance)
        if sigma > SUMMED:
            return float(2 * special.ndtr(-steps / sigma))
        z = np.arange(steps + 1, steps + 2 + int(40 * sigma) + 20, dtype=float)
        body = np.arange(1, int(40 * sigma) + 20, dtype=float)
        total = 1 + 2 * float(np.exp(-body * body / (2 * sigma * sigma)).sum())
        return 2 * float(np.exp(-z * z / (2 * sigma * sigma)).sum()) / total

    def weights(self) -> Sequence[float]:
        sigma = sqrt(self._variance)
        z = np.arange(self._listable(sqrt(1380) * sigma) + 1, dtype=float)
        raw = np.exp(-z * z / (2 * sigma * sigma))
        return [float(p) for p in raw / (2 * raw.sum() - 1)]

    @property
    def family(self) -> Family:
        return "gaussian"

    @property
    def magnitude(self) -> Fraction:
        return self.sigma

    def size_words(self, times: Fraction | int = 1) -> str:
        return f"standard deviation {four_digits(self.sigma * times)}"

    @property
    def standard_deviation(self) -> float:
        return float(self.sigma)

    def half_width(self, confidence: float = 0.95) -> float:
        return -NormalDist().inv_cdf(outside(confidence) / 2) * float(self.sigma)

    def scaled(self, factor: Number) -> Self:
        return replace(self, sigma=self.sigma * positive(factor, "factor"))

    @property
    def _variance(self) -> Fraction:
        """σ² in squared steps of the lattice."""
        return (self.sigma / self.lattice.granularity) ** 2

    @classmethod
    def examples(cls) -> Sequence[Example]:
        cases = [(cls(sigma=Fraction(sigma)), shift) for sigma, shift in ((1, 1), ("7/3", 2), ("1/3", 1), (50, 3))]
        return [Example(m, 5, 5 + shift, m.loss(Sensitivity.scalar(shift))) for m, shift in cases]


@frozen
class Gaussian(Rounding, DiscreteGaussian):
    """value + Z with Pr[Z = z] ∝ exp(−z²/2σ²) over the multiples z of `granularity`.

    Guarantee: ρ = (l2 sensitivity)²/2σ² in zCDP, and where one coordinate moves the exact (ε, δ) curve. What is off the
    lattice is rounded to it, and the sensitivity rounded up to whole steps: see `Rounding`. Without a declared
    granularity the curve is the continuous Gaussian's to ten digits, for vectors too.
    """

    def __post_init__(self) -> None:
        DiscreteGaussian.__post_init__(self)
        Rounding.__post_init__(self)

    @classmethod
    def examples(cls) -> Sequence[Example]:
        cases = ((1, 1, 1), (10, "1/2", 3), ("1/3", "1/8", 2), ("0.02", "0.01", 4))
        found = []
        for sigma, step, shift in cases:
            m = cls(sigma=Fraction(sigma), granularity=Fraction(step))
            moved = Sensitivity.scalar(shift * m.lattice.granularity)
            found.append(Example(m, 0, m.lattice.value(shift), m.loss(moved)))
        return found
