"""Choosing the best of a set of candidates by their scores: what the three selection mechanisms share."""

from collections.abc import Sequence
from fractions import Fraction
from math import log
from typing import Any, ClassVar, Self

import numpy as np

from tacit.base import (
    InputError,
    Lattice,
    LossError,
    Number,
    Ratio,
    Relation,
    Sensitivity,
    between,
    default,
    frozen,
    positive,
    whole,
)
from tacit.loss import Loss, Pure
from tacit.mechanism.mechanism import Example, Mechanism, Pmf

__all__ = ["Selection", "listed", "one_row"]

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

    def loss(
        self,
        sensitivity: Sensitivity | Number | None = None,
        *,
        relation: Relation = Relation.ADD_REMOVE,
        unit: str = "row",
    ) -> Pure:
        return Pure(self._range(sensitivity), relation=relation, unit=unit)

    @classmethod
    def from_loss(
        cls, loss: Loss, *, sensitivity: Sensitivity | Number | None = None, monotone: bool = False, **options: Any
    ) -> Self:
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

    def _range(self, sensitivity: Sensitivity | Number | None) -> Fraction:
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
