"""Shuffled reports: n people randomise locally, and only the multiset of their reports is seen.

The relation is replace: one person's answer differs, the number of reports is public.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import exp, expm1, log, log1p, sqrt
from typing import Literal

from tacit.base import (
    InputError,
    LossError,
    Number,
    Relation,
    RelationError,
    between,
    non_negative,
    positive,
    show,
    whole,
)
from tacit.loss.blanket import ShuffledResponse
from tacit.loss.interval import Interval
from tacit.loss.labels import ShuffledClones, ShuffledReports
from tacit.loss.loss import ACCURACY
from tacit.loss.pld import PLD, Pure, probability

__all__ = [
    "ShuffledClones",
    "ShuffledLoss",
    "ShuffledReports",
    "ShuffledResponse",
    "shuffled",
    "shuffled_closed_form",
]

Shuffle = ShuffledReports | ShuffledClones | ShuffledResponse

WIDEST = 50  # ε₀ beyond which e^ε₀ reports would be needed for any amplification


@dataclass(frozen=True, init=False)
class ShuffledLoss(Pure):
    """One shuffle: (ε, δ) by summing over the counts themselves. Added to anything, it is a part like any other."""

    def __init__(self, part: Shuffle, *, unit: str = "row") -> None:
        PLD.__init__(self, ((part, 1),), relation=Relation.REPLACE, unit=unit)

    @property
    def part(self) -> Shuffle:
        part = self.parts[0][0]
        assert isinstance(part, Shuffle)
        return part

    def epsilon(self, delta: Number, *, accuracy: float = ACCURACY) -> Interval:
        target = float(probability(delta))
        return _epsilon(self.part, target) if target else Interval.around(float(self.bound))

    def delta(self, epsilon: Number, *, accuracy: float = ACCURACY) -> Interval:
        return _delta(self.part, float(non_negative(epsilon, "epsilon", toward="down")))

    def __repr__(self) -> str:
        return f"ShuffledLoss({self.part!r}, unit={self.unit!r})"


@lru_cache(maxsize=1024)
def _epsilon(part: Shuffle, delta: float) -> Interval:
    return part.at(delta)


@lru_cache(maxsize=1024)
def _delta(part: Shuffle, epsilon: float) -> Interval:
    return part.delta(epsilon)


def shuffled(
    local: PLD | Number,
    *,
    reports: int,
    categories: int | None = None,
    analysis: Literal["2023", "2021"] = "2023",
    unit: str = "row",
) -> ShuffledLoss:
    """The loss of one person's report among `reports` shuffled ones, all by one ε₀-DP randomiser.

    `local` is ε₀ or a pure loss stated for replace. `categories=k` states that the randomiser is k-ary randomised
    response, which is hidden better. The number of reports is public.
    """
    count = whole(reports, "reports", least=1)
    if isinstance(local, PLD):
        if local.relation is not Relation.REPLACE:
            raise RelationError("a report is about what one person answers, so its loss must be stated for 'replace'")
        if local.slack:
            raise LossError("only reports with a pure epsilon can be shuffled here: this one has a delta")
        epsilon, unit = local.bound, local.unit
    else:
        epsilon = positive(local, "local", toward="decimal")
    if not 0 < epsilon <= WIDEST:
        raise InputError(
            f"local epsilon must lie in (0, {WIDEST}], not {show(epsilon)}: shuffling hides nothing beyond"
        )
    if analysis not in ("2021", "2023"):
        raise InputError(f"analysis must be '2023' or '2021', not {analysis!r}")
    if categories is not None:
        k = Fraction(whole(categories, "categories", least=2))
        return ShuffledLoss(ShuffledResponse(epsilon, Fraction(count), k), unit=unit)
    kind = ShuffledReports if analysis == "2023" else ShuffledClones
    return ShuffledLoss(kind(epsilon, Fraction(count)), unit=unit)


def shuffled_closed_form(local: Number, *, reports: int, delta: Number) -> float:
    """ε at δ by the closed form of Feldman, McMillan and Talwar (2021), Theorem 3.1; refused outside its domain."""
    epsilon, n = float(positive(local, "local")), whole(reports, "reports", least=1)
    target = float(between(delta, "delta", 0, 1, toward="down"))
    limit = log(n / (16 * log(2 / target)))
    if epsilon > limit * (1 - 1e-12):
        raise LossError(
            f"the closed form needs local epsilon <= log(n/(16 log(2/delta))) = {limit:.6g}: use shuffled(...), which "
            "holds everywhere and is tighter"
        )
    inside = 8 * sqrt(exp(epsilon) * log(4 / target) / n) + 8 * exp(epsilon) / n
    return log1p(expm1(epsilon) / (exp(epsilon) + 1) * inside) * (1 + 1e-14)
