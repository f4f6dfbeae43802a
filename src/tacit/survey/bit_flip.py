"""Bit flips on a few watched answers: how a histogram of usage is collected with short reports."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations, product
from math import comb, sqrt
from typing import Any, ClassVar

import numpy as np

from tacit.base import InputError, Number, positive, whole
from tacit.mechanism.mechanism import Example
from tacit.mechanism.response import Estimate, shares
from tacit.noise import Rng, uniform
from tacit.survey.coin import NOTHING, Coin, below, keeping
from tacit.survey.frequency import word
from tacit.survey.protocol import Array, Law, Protocol, Tally, whole_answers

__all__ = ["BitFlip"]

MOST = 64
LISTED = 1 << 20


@dataclass(frozen=True, kw_only=True)
class BitFlip(Protocol):
    """The device watches `watched` = d of the k answers, drawn evenly, and tells for each, by a coin, if it is its own.

    Guarantee: pure ε between any two answers of one respondent (relation replace). Two answers differ in two of the
    bits, so each is kept with probability e^(ε/2)/(e^(ε/2) + 1) rounded down; with d = 1 only one bit can differ, and
    it has all of ε. This is dBitFlip (Ding, Kulkarni and Yekhanin 2017), who give it ε/2 there too.

    A report is d numbers 2·answer + told, in increasing order. Coins: for i = 0, …, d − 1 a number below k − i, the
    distance to the place with which place i of the list of answers is exchanged; then, in increasing order of the
    watched answers, which are now the first d, one toss each.
    """

    theory: ClassVar[str] = "sketches"
    kind: ClassVar[str] = "bit_flip"
    chunk: ClassVar[int] = 1 << 13

    epsilon: Fraction
    categories: int
    watched: int = 4

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", positive(self.epsilon, "epsilon", toward="decimal"))
        object.__setattr__(self, "categories", whole(self.categories, "categories", least=2))
        object.__setattr__(self, "watched", whole(self.watched, "watched", least=1))
        if self.watched > min(MOST, self.categories) or self.categories > 1 << 16:
            raise InputError(f"watched must be at most {MOST} and at most the categories, of which 65536 can be")
        if 2 * self.p <= 1:
            raise InputError(NOTHING)

    @cached_property
    def _keep(self) -> Coin:
        return keeping(self.epsilon / min(2, self.watched))

    @property
    def p(self) -> Fraction:
        """Probability that what is told of a watched answer is true."""
        return self._keep.probability

    @property
    def dtype(self) -> np.dtype[Any]:
        return np.dtype([("told", word(2 * self.categories), (self.watched,))])

    def _checked(self, values: Array) -> Array:
        return whole_answers(values, self.categories)

    def _bytes(self, told: Sequence[int]) -> bytes:
        return np.array(told, dtype=word(2 * self.categories)).tobytes()

    def _one(self, value: int, rng: Rng) -> bytes:
        places: dict[int, int] = {}
        for i in range(self.watched):
            j = i + below(self.categories - i, rng)
            places[i], places[j] = places.get(j, j), places.get(i, i)
        watched = sorted(places[i] for i in range(self.watched))
        return self._bytes([2 * v + ((v == value) == self._keep.toss(rng)) for v in watched])

    def _fill(self, reports: Array, values: Array, rng: Rng) -> None:
        watched = np.full((values.size, self.watched), -1, dtype=np.int64)
        for i, last in enumerate(range(self.categories - self.watched, self.categories)):  # Floyd's subsets
            drawn = uniform(last + 1, values.size, rng)
            taken = (watched[:, :i] == drawn[:, None]).any(axis=1)
            watched[:, i] = np.where(taken, last, drawn)
        watched.sort(axis=1)
        true = self._keep.tosses(watched.size, rng).reshape(watched.shape)
        reports["told"] = 2 * watched + ((watched == values[:, None]) == true)

    def law(self, value: Any) -> Law:
        if comb(self.categories, self.watched) << self.watched > LISTED:
            raise InputError(f"there are more than {LISTED} reports, too many to list")
        truth = self._checked(np.asarray(value)).item()
        each, law = Fraction(1, comb(self.categories, self.watched)), {}
        for watched in combinations(range(self.categories), self.watched):
            for told in product((False, True), repeat=self.watched):
                right = sum(bit == (v == truth) for v, bit in zip(watched, told, strict=True))
                odds = self.p**right * (1 - self.p) ** (self.watched - right)
                law[self._bytes([2 * v + bit for v, bit in zip(watched, told, strict=True)])] = each * odds
        return law

    def _possible(self, reports: Array) -> None:
        answers = reports["told"].astype(np.int64) >> 1
        if answers.size and (int(answers.max()) >= self.categories or np.any(answers[..., 1:] <= answers[..., :-1])):
            raise InputError(f"a report must tell of {self.watched} different answers in increasing order")

    def tally(self, reports: Array) -> Tally:
        """For each answer, how many reports watch it, and how many of these say it is their own."""
        told = reports["told"].ravel().astype(np.int64)
        cells = np.bincount(told, minlength=2 * self.categories).reshape(-1, 2)
        return Tally(np.array([cells.sum(axis=1), cells[:, 1]]), reports.size)

    def deviation(self, *, reports: int) -> float:
        """Standard deviation of an estimated share, by the randomising alone."""
        n = whole(reports, "reports", least=1) * self.watched / self.categories
        return sqrt(self.p * (1 - self.p) / Fraction(n)) / float(2 * self.p - 1)

    def estimate(self, tally: Tally, confidence: Number = 0.95) -> Estimate:
        """Unbiased shares of all answers, each from the reports that watch it, with Clopper–Pearson intervals."""
        watching: Any = tally.counts[0]
        if not np.all(watching > 0):
            raise InputError("some answer is watched by no report yet: wait for more")
        p, contrast = float(self.p), float(2 * self.p - 1)
        return shares(
            tally.counts[1], watching, true_rate=p, false_rate=1 - p, contrast=contrast, confidence=confidence
        )

    @classmethod
    def examples(cls) -> Sequence[Example]:
        small = [(Fraction(1, 5), 3, 1), (Fraction(1), 4, 2), (Fraction(5, 2), 5, 3), (Fraction(4), 8, 2)]
        made = [cls(epsilon=e, categories=k, watched=d) for e, k, d in small]
        return [Example(m, 0, 1, m.loss()) for m in made]
