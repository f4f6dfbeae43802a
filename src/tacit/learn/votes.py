"""How teachers' votes are answered: GNMax and LNMax, with a check of confidence or without.

A rule says what one answer costs whatever the votes are, draws it, and prices votes in hindsight. Theory and sources:
docs/theory/pate.md.
"""

from abc import ABC, abstractmethod
from fractions import Fraction
from typing import Any

import numpy as np

from tacit.base import InputError, Relation
from tacit.base.number import Ratio, exact, frozen, positive
from tacit.base.stored import fraction_to_text
from tacit.loss.pate import (
    DataDependent,
    Floats,
    confident_failure,
    confident_given_votes,
    gnmax_curve,
    gnmax_given_votes,
    gnmax_tail,
    lnmax_curve,
    lnmax_given_votes,
    lnmax_tail,
)
from tacit.mechanism import DiscreteGaussian, NoisyMax, NoisyVote
from tacit.noise import Rng

__all__ = ["GNMax", "LNMax", "VoteRule", "moved_votes"]

Ints = np.ndarray[Any, np.dtype[np.int64]]


class VoteRule(ABC):
    """How one query is answered. `moved` is how many teachers' votes one change of a unit may move: 1 under
    add/remove, 2 under replace, where the unit that goes and the one that comes may be with two teachers."""

    @abstractmethod
    def answer_rho(self, moved: int) -> Fraction:
        """What one answer costs in zCDP."""

    @abstractmethod
    def answer(self, votes: Ints, rng: Rng) -> int:
        """The number of a class."""

    @abstractmethod
    def tail(self, behind: Floats) -> Floats:
        """A bound on the chance that a class so far behind the plurality is answered."""

    @abstractmethod
    def curve(self, log_q: Floats, orders: Floats) -> Floats:
        """D_α of an answer by log q (rows) and order (columns), for one moved vote."""

    @abstractmethod
    def hindsight(self, votes: Ints, answered: Any, about: dict[str, Any]) -> DataDependent:
        """What these votes cost, of which `answered` were answered. As secret as the votes."""

    @abstractmethod
    def json(self) -> dict[str, Any]:
        """The rule as plain data."""

    # --- a check before the answer, for rules that have one

    def check_rho(self, moved: int) -> Fraction:
        """What looking whether the teachers agree costs."""
        del moved
        return Fraction(0)

    def passes(self, votes: Ints, rng: Rng) -> bool:
        """Whether a query is to be answered."""
        del votes, rng
        return True

    def check_curve(self, most: Floats, orders: Floats) -> Floats | None:
        """D_α of a check by the most votes for one class; None where there is none."""
        del most, orders
        return None


def moved_votes(relation: Relation) -> int:
    """How many teachers' votes one change of a unit may move."""
    found = {Relation.ADD_REMOVE: 1, Relation.REPLACE: 2}.get(relation)
    if found is None:
        raise InputError(f"votes of teachers protect units under add_remove or replace, not under {relation.value}")
    return found


@frozen
class GNMax(VoteRule):
    """The class with most votes after discrete Gaussian noise of `sigma` on each count: ρ = 1/σ² an answer.

    `confident` = (σ₁, T) looks first whether the most votes, with noise of σ₁, reach T: ρ = 1/2σ₁² a look, and only
    queries that do are answered (Confident-GNMax, Papernot et al. 2018).
    """

    sigma: Ratio
    confident: tuple[Any, Any] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "sigma", positive(self.sigma, "sigma"))
        if self.confident is None:
            return
        try:
            sigma, threshold = self.confident
        except (TypeError, ValueError):
            raise InputError(
                "confident must be a pair: (sigma of the check, least votes), such as (150, 200)"
            ) from None
        pair = positive(sigma, "sigma of the check"), exact(threshold, "threshold", toward="decimal")
        object.__setattr__(self, "confident", pair)

    def answer_rho(self, moved: int) -> Fraction:
        return NoisyVote(sigma=self.sigma).loss(moved).rho

    def answer(self, votes: Ints, rng: Rng) -> int:
        return NoisyVote(sigma=self.sigma).sample(votes, rng)

    def check_rho(self, moved: int) -> Fraction:
        return Fraction(0) if self.confident is None else (moved / self.confident[0]) ** 2 / 2

    def passes(self, votes: Ints, rng: Rng) -> bool:
        if self.confident is None:
            return True
        sigma, threshold = self.confident
        return bool(DiscreteGaussian(sigma=sigma).sample(int(votes.max()), rng) >= threshold)

    def tail(self, behind: Floats) -> Floats:
        return gnmax_tail(behind, float(self.sigma), lattice=True)

    def curve(self, log_q: Floats, orders: Floats) -> Floats:
        return gnmax_curve(log_q, float(self.sigma), orders)

    def check_curve(self, most: Floats, orders: Floats) -> Floats | None:
        if self.confident is None:
            return None
        sigma, threshold = (float(each) for each in self.confident)
        wide = sigma * 2**0.5 * (1 - 1e-15)
        return gnmax_curve(confident_failure(most, sigma, threshold, lattice=True), wide, orders)

    def hindsight(self, votes: Ints, answered: Any, about: dict[str, Any]) -> DataDependent:
        found = gnmax_given_votes(votes[answered], self.sigma, lattice=True, **about)
        if self.confident is None:
            return found
        sigma, threshold = self.confident
        return found + confident_given_votes(votes, sigma, threshold, lattice=True, **about)

    def json(self) -> dict[str, Any]:
        pair = None if self.confident is None else [fraction_to_text(each, "confident") for each in self.confident]
        return {"name": "GNMax", "sigma": fraction_to_text(self.sigma, "sigma"), "confident": pair}


@frozen
class LNMax(VoteRule):
    """The class with most votes after discrete Laplace noise of `scale` on each count: 2/scale-DP an answer."""

    scale: Ratio

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", positive(self.scale, "scale"))

    def answer_rho(self, moved: int) -> Fraction:
        return (2 * moved / self.scale) ** 2 / 2  # ε-DP is ε²/2-zCDP (Bun and Steinke 2016, Proposition 3)

    def answer(self, votes: Ints, rng: Rng) -> int:
        return NoisyMax(scale=self.scale, noise="laplace").sample(votes, rng)

    def tail(self, behind: Floats) -> Floats:
        return lnmax_tail(behind, float(1 / self.scale), lattice=True)

    def curve(self, log_q: Floats, orders: Floats) -> Floats:
        return lnmax_curve(log_q, float(1 / self.scale), orders)

    def hindsight(self, votes: Ints, answered: Any, about: dict[str, Any]) -> DataDependent:
        return lnmax_given_votes(votes[answered], self.scale, lattice=True, **about)

    def json(self) -> dict[str, Any]:
        return {"name": "LNMax", "scale": fraction_to_text(self.scale, "scale")}
