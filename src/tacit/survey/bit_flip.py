"""Bits about a few answers, drawn evenly: one option of a respondent's several, or some watched answers of many."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from math import comb, sqrt
from typing import Any, ClassVar

import numpy as np

from tacit.base import InputError, Number, cached_property, whole
from tacit.mechanism.response import Estimate
from tacit.noise import Rng, uniform
from tacit.survey.bits import bit_law
from tacit.survey.coin import KaryCoin, below
from tacit.survey.kary import KaryProtocol
from tacit.survey.protocol import Array, Law, Protocol, Tally, listable, reach, shares_at, telling, whole_answers, word

__all__ = ["BitFlip", "SeveralResponse"]

MOST_OPTIONS = 60  # so that a set of them is a number
MOST_WATCHED = 64


@dataclass(frozen=True, kw_only=True)
class SeveralResponse(KaryProtocol):
    """A report is one option, drawn evenly whatever the answer, and whether it applies: truly with probability p.

    A value is the set of options that apply, as the number with those bits. The report is 2·option + told.

    Guarantee and coins: those of a `KaryProtocol`, the bit being Warner's randomised response. All of ε goes to one
    option: with k of them the errors are √k times those of a single question, where splitting ε between all would make
    them about k times.
    """

    theory: ClassVar[str] = "local-frequency"
    kind: ClassVar[str] = "several"
    in_browser: ClassVar[bool] = True
    title = "one option of each respondent"
    folded = True
    cases = (("1/5", 1), (1, 3), ("5/2", 8))

    options: int

    def __post_init__(self) -> None:
        self._settle(options=1)
        if self.options > MOST_OPTIONS:
            raise InputError(f"options must be at most {MOST_OPTIONS}, not {self.options}: ask about fewer at once")
        telling(self.p, 1 - self.p)

    @property
    def device(self) -> Mapping[str, int]:
        return {"options": self.options, "keep": self._coin.keep.heads}

    @property
    def probes(self) -> tuple[int, int, int]:
        every = (1 << self.options) - 1
        return 0, every, every // 2

    @property
    def neighbours(self) -> Sequence[tuple[int, int]]:
        return [(0, other) for other in sorted({1, 2**self.options - 1})]

    @property
    def drawn(self) -> Mapping[str, int]:
        return {"option": self.options}

    def _checked(self, values: Array) -> Array:
        if not values.size:
            return np.zeros(values.shape, dtype=np.int64)
        if values.dtype.kind not in "iu" or int(values.min()) < 0 or int(values.max()) >= 1 << self.options:
            raise InputError(f"an answer is a set of the {self.options} options, as the number with those bits")
        return values.astype(np.int64, copy=False)

    def _truth(self, value: Any, *drawn: Any) -> Any:
        return value >> drawn[0] & 1

    def estimate(self, tally: Tally, confidence: Number = 0.95) -> Estimate:
        """The share to whom each option applies. An option is told of by a part of the reports, drawn evenly."""
        asked = tally.counts.reshape(self.options, 2).sum(axis=1)
        if not asked.all():
            raise InputError("there are options that no report is about yet: wait for more reports")
        return shares_at(tally.counts[1::2], asked, self.p, 1 - self.p, confidence)

    def nearest(self, tally: Tally, estimate: Estimate) -> Array:
        """Shares that need not add up."""
        return np.asarray(np.clip(estimate.value, 0.0, 1.0))

    def margin(self, *, answers: int, confidence: Number = 0.95) -> float:
        """Each option is told of by one report in so many."""
        return reach(confidence) * sqrt(self.options / (4 * answers)) / float(2 * self.p - 1)


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
    cases = (("1/5", 3, 1), (1, 4, 2), ("5/2", 5, 3), (4, 8, 2))

    categories: int
    watched: int = 4

    def __post_init__(self) -> None:
        self._settle(categories=2, watched=1)
        if self.watched > min(MOST_WATCHED, self.categories) or self.categories > 1 << 16:
            raise InputError(
                f"watched must be at most {MOST_WATCHED} and at most the categories, of which 65536 can be"
            )
        telling(self.p, 1 - self.p)

    @cached_property
    def _coin(self) -> KaryCoin:
        return KaryCoin.at(self.epsilon / min(2, self.watched), 2)

    @property
    def dtype(self) -> np.dtype[Any]:
        return np.dtype([("told", word(2 * self.categories), (self.watched,))])

    def _checked(self, values: Array) -> Array:
        return whole_answers(values, self.categories)

    def _bytes(self, *told: int) -> bytes:
        return np.array(told, dtype=word(2 * self.categories)).tobytes()

    def _one(self, value: int, rng: Rng) -> bytes:
        places: dict[int, int] = {}
        for i in range(self.watched):
            j = i + below(self.categories - i, rng)
            places[i], places[j] = places.get(j, j), places.get(i, i)
        watched = sorted(places[i] for i in range(self.watched))
        return self._bytes(*(2 * v + self._coin.told(int(v == value), rng) for v in watched))

    def _fill(self, reports: Array, values: Array, rng: Rng) -> None:
        watched = np.full((values.size, self.watched), -1, dtype=np.int64)
        for i, last in enumerate(range(self.categories - self.watched, self.categories)):  # Floyd's subsets
            drawn = uniform(last + 1, values.size, rng)
            taken = (watched[:, :i] == drawn[:, None]).any(axis=1)
            watched[:, i] = np.where(taken, last, drawn)
        watched.sort(axis=1)
        told = (watched == values[:, None]).astype(np.int64).ravel()
        self._coin.tell(told, rng)
        reports["told"] = 2 * watched + told.reshape(watched.shape)

    def law(self, value: Any) -> Law:
        sets = comb(self.categories, self.watched)
        listable(sets << self.watched)
        truth = self._answer(value)
        return {
            self._bytes(*(2 * v + (told >> place & 1) for place, v in enumerate(watched))): chance / sets
            for watched in combinations(range(self.categories), self.watched)
            for told, chance in enumerate(bit_law([self._coin.chance(1, v == truth) for v in watched]))
        }

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
        watching, own = tally.counts
        if not np.all(watching > 0):
            raise InputError("some answer is watched by no report yet: wait for more")
        return shares_at(own, watching, self.p, 1 - self.p, confidence)
