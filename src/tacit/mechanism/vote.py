"""The winner of teachers' votes after Gaussian noise: GNMax, by which PATE labels public inputs."""

from collections.abc import Sequence
from fractions import Fraction
from math import log, sqrt
from typing import Any, ClassVar, Self

import numpy as np

from tacit.base import InputError, LossError, Relation, Sensitivity, Size
from tacit.base.number import Number, Ratio, between, frozen, positive, round_up, whole
from tacit.loss import PLD, ZCDP, Approx, DiscreteNormal, Loss
from tacit.loss.mu import lattice_mu_squared
from tacit.loss.pate import gnmax
from tacit.mechanism.additive import least
from tacit.mechanism.gaussian import DiscreteGaussian
from tacit.mechanism.mechanism import Example, Family, Mechanism, Pmf, four_digits
from tacit.mechanism.selection import Array, any_winner, one_row, winner_law
from tacit.noise import Rng, discrete_gaussians, rng_or_default

__all__ = ["NoisyVote"]

MOST = 2**61  # votes for one class
LISTED = 1000  # classes a pmf may have


@frozen
class NoisyVote(Mechanism):
    """The class with most votes after discrete Gaussian noise on each count; among equals one is chosen uniformly.

    Each teacher has one vote, and no unit is in the data of two teachers. One unit more or less changes the data of one
    teacher, whose vote may then move: two counts change by one, an l2 distance of √2. Guarantee: ρ = 1/σ² in zCDP for
    each answer, under add/remove of one unit (GNMax: Papernot et al. 2018, Proposition 8, on the lattice).
    """

    theory: ClassVar[str] = "pate"

    sigma: Ratio

    def __post_init__(self) -> None:
        object.__setattr__(self, "sigma", positive(self.sigma, "sigma"))

    def loss(self, sensitivity: Size = None, *, relation: Relation = Relation.ADD_REMOVE, unit: str = "row") -> ZCDP:
        """ρ = (k/σ)², `sensitivity` = k being the number of teachers whose vote one unit may change.

        Left out, it is one under add/remove. Under replace it is two: the unit that goes and the one that comes may
        belong to different teachers. Say one where a public rule keeps both with the same teacher.
        """
        votes = _teachers(sensitivity, Relation(relation))
        rho = gnmax(self.sigma / votes).rho
        square = 2 * votes**2 * lattice_mu_squared(self.sigma**2)
        return ZCDP(rho, mu_squared=square, relation=relation, unit=unit)

    @classmethod
    def from_loss(cls, loss: Loss, *, sensitivity: Size = None) -> Self:
        """The least noise with the guarantee ZCDP(ρ), σ = k/√ρ, or Approx(ε, δ), for the relation that it names."""
        votes = _teachers(sensitivity, loss.relation)
        if isinstance(loss, ZCDP) and loss.rho and not loss.slack:
            return cls(sigma=round_up(votes / sqrt(loss.rho) * (1 + 1e-15)))
        if isinstance(loss, Approx) and loss.bound and loss.slack:
            epsilon, delta = loss.bound, float(loss.slack)

            def holds(sigma: float) -> bool:
                return cls(sigma=round_up(sigma)).loss(votes).delta(epsilon).upper <= delta

            return cls(sigma=round_up(least(holds, votes / float(epsilon))))
        raise InputError("a noisy vote reaches loss=ZCDP(rho) or loss=Approx(epsilon, delta), all above 0")

    def error(self, confidence: Number = 0.95, *, classes: int) -> float:
        """Votes e such that the winner has at least the most votes − e with probability ≥ `confidence`.

        e = 2σ√log((m − 1)/β): the difference of two noises is sub-Gaussian with variance 2σ², so a class that is e
        votes behind wins with probability at most exp(−e²/4σ²), and there are at most m − 1 of them.
        """
        return float(self.sigma) * _spread(confidence, classes) * (1 + 1e-15)

    @classmethod
    def from_error(cls, error: Number, *, classes: int, confidence: Number = 0.95) -> Self:
        """The most noise whose `error(confidence, classes=classes)` is at most `error`."""
        return cls(sigma=positive(error, "error", toward="down") / Fraction(_spread(confidence, classes) * (1 + 4e-15)))

    def sample(self, value: Any, rng: Rng | None = None) -> int:
        """The number of the winning class, from the votes for each class."""
        votes, source = _votes(value), rng_or_default(rng)
        return any_winner(votes + discrete_gaussians(self.sigma**2, len(votes), source), source)

    def pmf(self, value: Any) -> Pmf:
        votes = _votes(value)
        if len(votes) > LISTED:
            raise LossError(f"pmf lists at most {LISTED} classes, not {len(votes)}")
        half = np.array(DiscreteGaussian(sigma=self.sigma).weights())
        at = np.concatenate([half[:0:-1], half, [0.0]])  # Pr[Z = z] for z from −reach to reach + 1
        below = np.concatenate([[0.0], np.cumsum(at[:-1])])
        reach = len(half) - 1
        won = np.arange(-reach, reach + 1)  # at how many votes more or less than the most it is won
        place = np.minimum(won[:, None] + (votes.max() - votes) + reach, 2 * reach + 1)
        return winner_law(below[place], at[place])

    @property
    def kind(self) -> str:
        return "a vote with discrete Gaussian noise on each count"

    @property
    def family(self) -> Family:
        return "gaussian"

    @property
    def magnitude(self) -> Fraction:
        return self.sigma

    def size_words(self, times: Fraction | int = 1) -> str:
        return f"standard deviation {four_digits(self.sigma * times)}"

    def words(self, unit: str = "unit") -> str:
        return f"{self.kind}, {self.size_words()}"

    @classmethod
    def examples(cls) -> Sequence[Example]:
        """Two classes at such votes that a tie is as telling as ε: who wins is then the best test there is for it."""
        found = []
        for sigma, behind in ((1, 0), (3, 4), ("5/2", 2), (10, 25)):
            m = cls(sigma=Fraction(sigma))
            both = PLD(((DiscreteNormal(m.sigma**2, Fraction(1)), 2),))  # what both noisy counts would tell
            epsilon = (behind + 1) / m.sigma**2
            claim = Approx(epsilon, round_up(both.delta(epsilon).upper))
            found.append(Example(m, [50, 50 + behind], [49, 51 + behind], claim))
        for sigma, left, right in ((2, [5, 4, 1], [4, 5, 1]), ("5/2", [9, 0, 0, 3], [8, 0, 1, 3])):
            m = cls(sigma=Fraction(sigma))
            found.append(Example(m, left, right, m.loss(), tight=False))
        return [*found, Example(m, [6, 2, 2], [4, 4, 2], m.loss(relation=Relation.REPLACE), tight=False)]


def _teachers(sensitivity: Size, relation: Relation) -> int:
    """How many teachers' votes one unit may change."""
    if sensitivity is None:
        return 1 if relation is Relation.ADD_REMOVE else 2
    return whole(Sensitivity.of(sensitivity, "l1").require("l1"), "sensitivity", least=1)


def _spread(confidence: Number, classes: int) -> float:
    """2√log((m − 1)/β) for m classes and β = 1 − confidence."""
    failure = 1 - between(confidence, "confidence", 0, 1)
    return 2 * sqrt(log((whole(classes, "classes", least=2) - 1) / failure)) * (1 + 1e-15)


def _votes(value: Any) -> Array:
    votes = one_row(value, "votes")
    if len(votes) < 2 or votes.dtype.kind not in "iu" or int(votes.min()) < 0 or int(votes.max()) >= MOST:
        raise InputError("votes must be whole numbers of at least 0, one for each of two or more classes")
    return votes.astype(np.int64)
