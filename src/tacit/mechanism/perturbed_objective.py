"""Objective perturbation: the weights of a logistic regression whose objective was given a random slope.

J(w) = Σ_i v_i·log(1 + e^(−(2y_i − 1)·x_i·w)) + (Δ/2)‖w‖² + b·w with b normal. The minimiser is a smooth function of b,
so its own randomness is its privacy (Chaudhuri et al. 2011; Kifer, Smith and Thakurta 2012; the curve of Redberg,
Koskela and Wang 2023). A computer finds it up to a declared tolerance, which noise on what is released covers.
"""

from fractions import Fraction
from math import log1p, nextafter, sqrt
from typing import Any, ClassVar

import numpy as np

from tacit.base import EngineError, InputError, Relation, Sensitivity, Size, special
from tacit.base.number import Ratio, default, frozen, positive
from tacit.loss import PLD, Loss, MinimiserPart
from tacit.mechanism.gaussian import Gaussian
from tacit.mechanism.mechanism import Mechanism
from tacit.noise import Rng, rng_or_default

__all__ = ["PerturbedObjective"]

Floats = np.ndarray[Any, np.dtype[np.float64]]
BEND = Fraction(1, 4)  # the second derivative of a logistic loss is at most that
FINE = 2**32  # steps of the lattice that a slope is drawn on, in σ
STRAY = 32  # of those steps that a number of it may be from a normal one: further is rarer than 1e-50
BLOCK = 4096  # rows that are added up in doubles at once
TURNS = 200


@frozen
class PerturbedObjective(Mechanism):
    """Weights of a logistic regression on rows of length at most 1, each counting for at most 1.

    `sigma` is the deviation of the slope, `strength` is Δ, `tolerance` bounds the gradient at what the solver found,
    and `finish` is the deviation of the noise on the weights, which has to hide a move of 2·tolerance/Δ. Guarantee:
    that of `MinimiserPart` and of the last noise, for one row more or less.
    """

    theory: ClassVar[str] = "perturbed-objective"

    sigma: Ratio
    strength: Ratio
    finish: Ratio
    tolerance: Ratio = default(Fraction(1, 10_000))

    def __post_init__(self) -> None:
        for name in ("sigma", "strength", "finish", "tolerance"):
            object.__setattr__(self, name, positive(getattr(self, name), name))

    @property
    def _slope(self) -> Gaussian:
        return Gaussian(sigma=self.sigma, granularity=self.sigma / FINE)

    @property
    def _noise(self) -> Gaussian:
        return Gaussian(sigma=self.finish, granularity=self.finish / 2**20)

    def loss(self, sensitivity: Size = None, *, relation: Relation = Relation.ADD_REMOVE, unit: str = "row") -> Loss:
        """For one row of so many numbers: `sensitivity` says the dimension, and that a row is at most 1 long."""
        size = Sensitivity.of(sensitivity, "l2")
        if size.require("l2") != 1 or size.dimension is None:
            raise InputError("rows must be at most 1 long: pass Sensitivity(l2=1, dimension=columns)")
        if Relation(relation) is not Relation.ADD_REMOVE:
            raise InputError("a perturbed objective is priced for one row more or less (add_remove) alone")
        tilt = 1 / (self.sigma**2 * (1 - Fraction(4, FINE**2)))
        part = MinimiserPart(tilt, Fraction(nextafter(log1p(float(BEND / self.strength)) * (1 + 1e-15), 2.0**1000)))
        moved = Sensitivity(l2=2 * self.tolerance / self.strength, dimension=size.dimension)
        return PLD.of(((part, 1),), relation=relation, unit=unit) + self._noise.loss(
            moved, relation=relation, unit=unit
        )

    def sample(self, value: Any, rng: Rng | None = None) -> Floats:
        """The weights; `value` are rows, labels 0 or 1, and weights of rows from 0 to 1."""
        source = rng_or_default(rng)
        rows, labels, shares = (np.asarray(each, dtype=np.float64) for each in value)
        slope = self._slope.draw(rows.shape[1], source) * float(self.sigma / FINE)
        found = self._minimiser(rows, labels, shares, np.asarray(slope, dtype=np.float64))
        noise = self._noise.draw(len(found), source)
        step = float(self._noise.lattice.granularity)
        return np.asarray((np.floor(found / step + 0.5) + noise) * step)

    def _minimiser(self, rows: Floats, labels: Floats, shares: Floats, slope: Floats) -> Floats:
        """Newton's method with halved steps, to the tolerance: on every data, since J is strongly convex."""
        from scipy.linalg import cho_factor, cho_solve  # takes long to import

        strength, tolerance, weights = float(self.strength), float(self.tolerance), np.zeros(rows.shape[1])
        height = _height(rows, labels, shares, slope, strength, weights)
        for _ in range(TURNS):
            gradient, hessian = _derivatives(rows, labels, shares, weights)
            gradient += strength * weights + slope
            # what doubles may have lost in it, and what the slope's lattice is off a normal number
            lost = 2.0**-52 * (len(rows) * (BLOCK + len(weights) + 64) * (1 + float(np.linalg.norm(weights))) + 64 * (
                strength * float(np.linalg.norm(weights)) + float(np.linalg.norm(slope))
            )) + STRAY * sqrt(len(weights)) * float(self.sigma) / FINE  # fmt: skip
            if float(np.linalg.norm(gradient)) + lost <= tolerance:
                return weights
            move = cho_solve(cho_factor(hessian + strength * np.eye(len(weights))), gradient)
            size = 1.0
            while size > 1e-9:
                further = weights - size * move
                lower = _height(rows, labels, shares, slope, strength, further)
                if lower <= height + 1e-13 * abs(height):
                    break
                size /= 2
            weights, height = further, lower
        raise EngineError  # so many rows that doubles do not reach the tolerance


def _height(rows: Floats, labels: Floats, shares: Floats, slope: Floats, strength: float, weights: Floats) -> float:
    losses = np.logaddexp(0.0, (1 - 2 * labels) * (rows @ weights))
    return float((shares * losses).sum() + strength / 2 * (weights @ weights) + slope @ weights)


def _derivatives(rows: Floats, labels: Floats, shares: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """The gradient of the losses and their Hessian; sums of few rows at once, added up exactly enough."""
    gradient, hessian = np.zeros(len(weights)), np.zeros((len(weights), len(weights)))
    for start in range(0, len(rows), BLOCK):
        some = slice(start, start + BLOCK)
        chance = special.expit(rows[some] @ weights)
        gradient += (shares[some] * (chance - labels[some])) @ rows[some]
        hessian += (rows[some].T * (shares[some] * chance * (1 - chance))) @ rows[some]
    return gradient, hessian
