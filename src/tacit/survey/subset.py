"""Subset selection: a report is d of the k answers, the true one among them more often than not (Ye and Barg 2018)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from math import comb, exp
from typing import Any, ClassVar

import numpy as np

from tacit.base import InputError, positive, whole
from tacit.mechanism.mechanism import Example
from tacit.noise import Rng, uniform
from tacit.survey.coin import Coin, below, keeping
from tacit.survey.frequency import WIDEST, Bits, total_error
from tacit.survey.protocol import Array, Law

__all__ = ["SubsetSelection"]

CHUNK = 1 << 14  # sets brought to their size at once
ROUNDS = 8  # before sets that are done are put aside
BIT = np.left_shift(1, np.arange(8)).astype(np.uint8)


@dataclass(frozen=True, kw_only=True)
class SubsetSelection(Bits):
    """A report is a set of d answers: uniform among those with the true one, with probability p, else among the others.

    It speaks for its members. `size` is d, near k/(e^ε + 1), chosen for the least error unless it is given.

    Guarantee: pure ε between any two answers of one respondent (relation replace): p is d·e^ε/(d·e^ε + k − d) rounded
    down to a multiple of 2^-64, so p(k − d)/((1 − p)d), the ratio of a set with the true answer to one without, is at
    most e^ε.

    Coins: keep (one toss of p), which leaves d − 1 or d to take among the k − 1 others. For each of those in turn a
    number below how many are left, itself included: it is taken if the number is below how many are still to be taken.
    """

    theory: ClassVar[str] = "local-frequency"
    kind: ClassVar[str] = "subset"
    in_browser: ClassVar[bool] = True
    title = "subset selection"

    epsilon: Fraction
    categories: int
    size: int = 0

    def __post_init__(self) -> None:
        categories = whole(self.categories, "categories", least=2)
        if not self.size:
            chosen = best_size(positive(self.epsilon, "epsilon", toward="decimal"), categories)
        else:
            chosen = whole(self.size, "size", least=1)
            if chosen >= categories:
                raise InputError(f"size must be below the number of answers, {categories}, not {chosen}")
        object.__setattr__(self, "size", chosen)
        self._settle(WIDEST)

    @cached_property
    def _keep(self) -> Coin:
        return keeping(self.epsilon, Fraction(self.categories - self.size, self.size))

    @property
    def device(self) -> Mapping[str, int]:
        return {"categories": self.categories, "size": self.size, "keep": self._keep.heads}

    @property
    def p(self) -> Fraction:
        return self._keep.probability

    @property
    def q(self) -> Fraction:
        return (self.size - self.p) / (self.categories - 1)

    def _joint(self, rate: Array) -> Array:
        """A subset speaks for a fixed number, so that errors add up to 0."""
        spread = rate * (1 - rate)
        apart = np.diag(spread) - np.outer(spread, spread) / spread.sum()
        return np.asarray(apart * spread.size / (spread.size - 1))

    def _one(self, value: int, rng: Rng) -> bytes:
        kept = self._keep.toss(rng)
        members, take, left = kept << value, self.size - kept, self.categories - 1
        for answer in range(self.categories):
            if answer != value:
                taken = below(left, rng) < take
                members |= taken << answer
                take, left = take - taken, left - 1
        return self._bytes(members)

    def _sets(self, values: Array, rng: Rng) -> Array:
        """Every other answer by a coin of about the right bias: of one size, all sets of others are equally likely."""
        bias = round(256 * self.size / self.categories)
        sets = rng.words(values.size * self.categories, np.uint8).reshape(values.size, -1) < bias
        sets[np.arange(values.size), values] = self._keep.tosses(values.size, rng)
        return sets

    def _many(self, values: Array, rng: Rng) -> Array:
        reports = super()._many(values, rng)
        rows, flat = reports.ravel()["bits"], values.ravel()
        for start in range(0, flat.size, CHUNK):
            self._resize(rows[start : start + CHUNK], flat[start : start + CHUNK], rng)
        return reports

    def _resize(self, rows: Array, values: Array, rng: Rng) -> None:
        """Take uniform others in or out, one at a time, until the sets have d members: they stay equally likely."""
        excess = np.bitwise_count(rows).sum(axis=1, dtype=np.int64) - self.size
        flat, wrong = rows.reshape(-1), np.flatnonzero(excess)
        too_many, left, own, base = excess[wrong] > 0, np.abs(excess[wrong]), values[wrong], wrong * self._width
        while left.size:
            for _ in range(ROUNDS):
                other = uniform(self.categories - 1, left.size, rng)
                other += other >= own
                place = base + (other >> 3)
                bit = BIT[other & 7]
                here = flat[place]
                hit = ((here & bit != 0) == too_many) & (left > 0)
                flat[place] = here ^ (bit * hit)
                left -= hit
            more = np.flatnonzero(left)
            too_many, left, own, base = too_many[more], left[more], own[more], base[more]

    def law(self, value: Any) -> Law:
        truth, k, d = self._checked(np.asarray(value)).item(), self._listable(), self.size
        inside, outside = self.p / comb(k - 1, d - 1), (1 - self.p) / comb(k - 1, d)
        return {
            self._bytes(sum(1 << answer for answer in members)): inside if truth in members else outside
            for members in combinations(range(k), d)
        }

    def _possible(self, reports: Array) -> None:
        super()._possible(reports)
        if reports.size and (np.bitwise_count(reports["bits"]).sum(axis=-1, dtype=np.int64) != self.size).any():
            raise InputError(f"a report must be a set of exactly {self.size} answers")

    @classmethod
    def examples(cls) -> Sequence[Example]:
        made = [cls(epsilon=Fraction(e), categories=k) for e, k in (("1/5", 2), (1, 3), ("1/2", 8), ("5/2", 12))]
        return [Example(m, 0, other, m.loss()) for m in made for other in sorted({1, m.categories - 1})]


def best_size(epsilon: Fraction, categories: int) -> int:
    """The size of set with the least total error; the smaller one of two as good."""
    odds = exp(min(float(epsilon), 50.0))
    around = int(categories / (odds + 1))
    near = range(max(1, around - 1), min(categories - 1, around + 2) + 1)

    def error(size: int) -> float:
        p = keeping(epsilon, Fraction(categories - size, size)).probability
        return total_error(p, (size - p) / (categories - 1), categories)

    return min(near, key=error)
