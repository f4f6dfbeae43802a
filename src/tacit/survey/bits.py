"""Reports that are a set of answers: unary encoding says yes or no to each, subset selection names a fixed number.

Unary encoding is by Wang and others (2017), subset selection by Ye and Barg (2018).
"""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from math import comb, exp
from typing import Any, ClassVar

import numpy as np

from tacit.base import InputError, cached_property, positive, whole
from tacit.noise import Rng, uniform
from tacit.survey.coin import ONE, Coin, below, keeping
from tacit.survey.frequency import Frequency, total_error
from tacit.survey.protocol import Array, Law, Tally, listable

__all__ = [
    "Bits",
    "OptimizedUnary",
    "SubsetSelection",
    "SymmetricUnary",
    "Unary",
    "bit_law",
    "bits_by_row",
    "packed",
]

WIDEST = 1 << 16  # answers, so that a report has at most 8 KiB
CHUNK = 1 << 18  # bits drawn at once, each a byte at first
ADDED = 255  # rows that add up in a byte


def packed(bits: Any) -> bytes:
    """Bits eight a byte, the first the lowest."""
    return np.packbits(np.array(bits, dtype=bool), bitorder="little").tobytes()


def bit_law(ones: Sequence[Fraction]) -> list[Fraction]:
    """Probabilities of independent bits, by the number that they are, the first the lowest; each is 1 so often."""
    listable(1 << len(ones))
    chances = [Fraction(1)]
    for one in ones:
        chances = [each * chance for chance in (1 - one, one) for each in chances]
    return chances


def bits_by_row(rows: Array, bits: Array, *, count: int, width: int) -> Array:
    """For each of `count` rows how many of these `packed` reports have each of `width` bits; last, how many it has."""
    order = np.argsort(rows, kind="stable")
    ends = np.searchsorted(rows[order], np.arange(count + 1))
    counts = np.zeros((count, width + 1), dtype=np.int64)
    counts[:, -1] = np.diff(ends)
    for row in np.flatnonzero(counts[:, -1]).tolist():
        own = bits[order[ends[row] : ends[row + 1]]]
        counts[row, :-1] = np.unpackbits(own, axis=1, count=width, bitorder="little").sum(axis=0)
    return counts


@dataclass(frozen=True, kw_only=True)
class Bits(Frequency):
    """A report is the set of answers it speaks for: the field `bits`, a row of bytes."""

    most: ClassVar[int] = WIDEST
    chunk: ClassVar[int] = CHUNK

    @property
    def dtype(self) -> np.dtype[Any]:
        return np.dtype([("bits", "u1", (self._width,))])

    @property
    def _width(self) -> int:
        return (self.categories + 7) // 8

    @abstractmethod
    def _sets(self, values: Array, rng: Rng) -> Array:
        """One row of `categories` bools for each answer."""

    @property
    def _tossed(self) -> int:
        return self.categories

    def _fill(self, reports: Array, values: Array, rng: Rng) -> None:
        reports["bits"] = np.packbits(self._sets(values, rng), axis=1, bitorder="little")

    def _possible(self, reports: Array) -> None:
        used = self.categories % 8
        if used and reports.size and int(reports["bits"][..., -1].max()) >> used:
            raise InputError(f"a report must be a set of {self.categories} answers, and the bits after those must be 0")

    def tally(self, reports: Array) -> Tally:
        rows = reports.ravel()["bits"]
        counts = np.zeros(self.categories, dtype=np.int64)
        step = ADDED * max(1, CHUNK // (ADDED * self.categories))
        for start in range(0, len(rows), step):
            part = np.unpackbits(rows[start : start + step], axis=1, count=self.categories, bitorder="little")
            whole = len(part) // ADDED * ADDED
            sums = np.add.reduce(part[:whole].reshape(-1, ADDED, self.categories), axis=1, dtype=np.uint8)
            counts += sums.sum(axis=0, dtype=np.int64) + part[whole:].sum(axis=0, dtype=np.int64)
        return Tally(counts, len(rows))

    def _set(self, members: int) -> bytes:
        """A set, given as the number that its bits are, as a report."""
        return members.to_bytes(self._width, "little")


FAIR = Coin(ONE // 2)


@dataclass(frozen=True, kw_only=True)
class Unary(Bits):
    """A report is one bit for each answer: 1 with probability p for the true one, with probability q for every other.

    Two answers differ in two bits, so no report is more than p(1 − q)/((1 − p)q) times as likely under one of them as
    under the other.

    Coins: one toss for each answer 0, …, k − 1 in turn, of p for the true one and of q for the others.
    """

    cases = (("1/5", 2), (1, 3), ("5/2", 5), (4, 6))

    @property
    @abstractmethod
    def _coins(self) -> tuple[Coin, Coin]:
        """The coins of the true answer and of any other."""

    @property
    def device(self) -> Mapping[str, int]:
        true, other = self._coins
        return {"categories": self.categories, "true": true.heads, "other": other.heads}

    @property
    def p(self) -> Fraction:
        return self._coins[0].probability

    @property
    def q(self) -> Fraction:
        return self._coins[1].probability

    def _one(self, value: int, rng: Rng) -> bytes:
        true, other = self._coins
        members = 0
        for answer in range(self.categories):
            members |= (true if answer == value else other).toss(rng) << answer
        return self._set(members)

    def _sets(self, values: Array, rng: Rng) -> Array:
        true, other = self._coins
        sets = other.tosses(values.size * self.categories, rng).reshape(values.size, self.categories)
        sets[np.arange(values.size), values] = true.tosses(values.size, rng)
        return sets

    def law(self, value: int) -> Law:
        truth = self._answer(value)
        ones = [self.p if answer == truth else self.q for answer in range(self.categories)]
        return {self._set(members): chance for members, chance in enumerate(bit_law(ones))}


@dataclass(frozen=True, kw_only=True)
class SymmetricUnary(Unary):
    """Every bit is told truly with the same probability, as basic RAPPOR does it.

    Guarantee: pure ε between any two answers of one respondent (relation replace): p is e^(ε/2)/(e^(ε/2) + 1) rounded
    down to a multiple of 2^-64 and q = 1 − p, so (p/q)² ≤ e^ε.
    """

    kind: ClassVar[str] = "symmetric_unary"
    in_browser: ClassVar[bool] = True

    @property
    def _coins(self) -> tuple[Coin, Coin]:
        keep = keeping(self.epsilon / 2)
        return keep, Coin(ONE - keep.heads)


@dataclass(frozen=True, kw_only=True)
class OptimizedUnary(Unary):
    """The true answer's bit is a fair coin and the others are rarely set: the best split of ε if answers are many.

    Guarantee: pure ε between any two answers of one respondent (relation replace): p = 1/2, and q is 1/(e^ε + 1)
    rounded up to a multiple of 2^-64, so (1 − q)/q ≤ e^ε.
    """

    kind: ClassVar[str] = "optimized_unary"
    in_browser: ClassVar[bool] = True

    @property
    def _coins(self) -> tuple[Coin, Coin]:
        return FAIR, Coin(ONE - keeping(self.epsilon).heads)


SETS = 1 << 14  # sets brought to their size at once
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

    kind: ClassVar[str] = "subset"
    in_browser: ClassVar[bool] = True
    title = "subset selection"
    cases = (("1/5", 2), (1, 3), ("1/2", 8), ("5/2", 12))

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
        super().__post_init__()

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
        return self._set(members)

    def _sets(self, values: Array, rng: Rng) -> Array:
        """Every other answer by a coin of about the right bias: of one size, all sets of others are equally likely."""
        bias = round(256 * self.size / self.categories)
        sets = rng.words(values.size * self.categories, np.uint8).reshape(values.size, -1) < bias
        sets[np.arange(values.size), values] = self._keep.tosses(values.size, rng)
        return sets

    def _many(self, values: Array, rng: Rng) -> Array:
        reports = super()._many(values, rng)
        rows, flat = reports.ravel()["bits"], values.ravel()
        for start in range(0, flat.size, SETS):
            self._resize(rows[start : start + SETS], flat[start : start + SETS], rng)
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
        truth, k, d = self._answer(value), self.categories, self.size
        listable(comb(k, d))
        inside, outside = self.p / comb(k - 1, d - 1), (1 - self.p) / comb(k - 1, d)
        return {
            self._set(sum(1 << answer for answer in members)): inside if truth in members else outside
            for members in combinations(range(k), d)
        }

    def _possible(self, reports: Array) -> None:
        super()._possible(reports)
        if reports.size and (np.bitwise_count(reports["bits"]).sum(axis=-1, dtype=np.int64) != self.size).any():
            raise InputError(f"a report must be a set of exactly {self.size} answers")


def best_size(epsilon: Fraction, categories: int) -> int:
    """The size of set with the least total error; the smaller one of two as good."""
    odds = exp(min(float(epsilon), 50.0))
    around = int(categories / (odds + 1))
    near = range(max(1, around - 1), min(categories - 1, around + 2) + 1)

    def error(size: int) -> float:
        p = keeping(epsilon, Fraction(categories - size, size)).probability
        return total_error(p, (size - p) / (categories - 1), categories)

    return min(near, key=error)
