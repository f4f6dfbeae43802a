"""Sketches: texts are hashed into rows of buckets, so that the share of any text can be asked for afterwards.

What Apple's count-mean sketch and its Hadamard form share (Differential Privacy Team 2017). A report is about one row,
drawn whatever the text is. It speaks for the text's own bucket of that row with probability p, for any other with
probability r.
"""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import product
from typing import Any, ClassVar

import numpy as np

from tacit.base import InputError, Number, positive, whole
from tacit.mechanism.mechanism import Example
from tacit.mechanism.response import Estimate, shares
from tacit.noise import Rng, uniform
from tacit.survey.coin import NOTHING, Coin, below, keeping
from tacit.survey.estimate import hashed_share, normal
from tacit.survey.frequency import word
from tacit.survey.hadamard import walsh_hadamard
from tacit.survey.hash_family import absorbed, bucket_of_text, bucket_weights, buckets_at, encoded, started
from tacit.survey.protocol import Array, Law, Protocol, Tally

__all__ = ["CountMeanSketch", "HadamardSketch", "Sketch", "buckets_of_texts"]

MOST_ROWS, WIDEST = 1 << 16, 1 << 16


@dataclass(frozen=True, kw_only=True)
class Sketch(Protocol):
    """A text, in `rows` rows of `width` buckets."""

    theory: ClassVar[str] = "sketches"

    epsilon: Fraction
    rows: int = 1024
    width: int = 256

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", positive(self.epsilon, "epsilon", toward="decimal"))
        object.__setattr__(self, "rows", whole(self.rows, "rows", least=1))
        object.__setattr__(self, "width", whole(self.width, "width", least=2))
        if self.rows > MOST_ROWS or self.width > WIDEST:
            raise InputError(f"rows must be at most {MOST_ROWS} and width at most {WIDEST}")
        if self.p <= self.r:
            raise InputError(NOTHING)

    @property
    @abstractmethod
    def p(self) -> Fraction:
        """Probability that a report speaks for the bucket of its text."""

    @property
    @abstractmethod
    def r(self) -> Fraction:
        """Probability that a report speaks for one given other bucket of its row."""

    @property
    def q(self) -> Fraction:
        """Probability that a report speaks for the bucket of one given other text, over random hash functions."""
        meet = _meeting(self.width)
        return meet * self.p + (1 - meet) * self.r

    def _checked(self, values: Array) -> Array:
        return encoded(values)

    @abstractmethod
    def support(self, tally: Tally) -> tuple[Array, Array]:
        """By row and bucket how many reports speak for it; by row how many reports there are."""

    def estimate(self, tally: Tally, confidence: Number = 0.95) -> Estimate:
        """For each row and bucket the share of texts that fall into it, without bias; `shares_of` is for texts."""
        cells, each = self.support(tally)
        if not np.all(each > 0):
            raise InputError("some row has no report yet: wait for more")
        rates = {"true_rate": float(self.p), "false_rate": float(self.r), "contrast": float(self.p - self.r)}
        column: Any = each[:, None]
        return shares(cells, column, **rates, confidence=confidence)

    def shares_of(self, tally: Tally, texts: Sequence[str], confidence: Number = 0.95) -> Estimate:
        """Shares of these texts, unbiased over the hash functions, with normal intervals; see `hashed_share`."""
        if tally.reports < 1:
            raise InputError("there are no reports yet, so there is nothing to estimate")
        cells, each = self.support(tally)
        rates, jump = (float(self.p), float(self.q)), float(self.p - self.r)
        places = buckets_of_texts(self._checked(np.asarray(list(texts))), self.rows, self.width)
        found = [hashed_share(cells, own, each, rates=rates, jump=jump) for own in places]
        return normal(np.array([share for share, _ in found]), np.array([error for _, error in found]), confidence)


def buckets_of_texts(texts: Array, rows: int, width: int) -> Array:
    """The bucket of each text in each row: row i has hash function i."""
    found = np.empty((texts.size, rows), dtype=np.int64)
    for place, text in enumerate(texts.ravel().tolist()):
        states = started(np.arange(rows))
        for byte in text:
            states = absorbed(states, np.full(rows, byte, dtype=np.uint8))
        found[place] = buckets_at(states, width)
    return found


@lru_cache(maxsize=64)
def _meeting(width: int) -> Fraction:
    """The probability that two texts fall into the same bucket."""
    return sum((weight * weight for weight in bucket_weights(width)), Fraction(0))


COUNT_LISTED = 1 << 16
COUNT_CHUNK = 1 << 19


@dataclass(frozen=True, kw_only=True)
class CountMeanSketch(Sketch):
    """A report is a row and `width` bits: that of the text's bucket is 1, the others 0, each kept with probability p.

    Guarantee: pure ε between any two texts of one respondent (relation replace). Two texts differ in two bits of a row,
    so p is e^(ε/2)/(e^(ε/2) + 1) rounded down to a multiple of 2^-64.

    Bits are packed eight a byte, the first the lowest. Coins: a number below `rows`; then for each bit one toss of p.
    """

    kind: ClassVar[str] = "count_mean_sketch"

    @cached_property
    def _keep(self) -> Coin:
        return keeping(self.epsilon / 2)

    @property
    def p(self) -> Fraction:
        return self._keep.probability

    @property
    def r(self) -> Fraction:
        return 1 - self.p

    @property
    def dtype(self) -> np.dtype[Any]:
        return np.dtype([("row", word(self.rows)), ("bits", "u1", ((self.width + 7) // 8,))])

    def _bytes(self, row: int, told: Sequence[bool]) -> bytes:
        packed = np.packbits(np.array(told, dtype=bool), bitorder="little").tobytes()
        return row.to_bytes(self.dtype["row"].itemsize, "little") + packed

    def _one(self, value: bytes, rng: Rng) -> bytes:
        row = below(self.rows, rng)
        own = bucket_of_text(row, value, self.width)
        return self._bytes(row, [(place == own) == self._keep.toss(rng) for place in range(self.width)])

    def _many(self, values: Array, rng: Rng) -> Array:
        flat = values.ravel()
        texts, which = np.unique(flat, return_inverse=True)
        buckets = buckets_of_texts(texts, self.rows, self.width)
        reports = np.empty(flat.size, dtype=self.dtype)
        step = max(1, COUNT_CHUNK // self.width)
        for start in range(0, flat.size, step):
            part = reports[start : start + step]
            row = uniform(self.rows, part.size, rng)
            own = buckets[which[start : start + step], row]
            told = ~self._keep.tosses(part.size * self.width, rng).reshape(part.size, self.width)
            told[np.arange(part.size), own] ^= True
            part["row"], part["bits"] = row, np.packbits(told, axis=1, bitorder="little")
        return reports.reshape(values.shape)

    def law(self, value: Any) -> Law:
        if self.rows << self.width > COUNT_LISTED:
            raise InputError(f"there are more than {COUNT_LISTED} reports, too many to list")
        text, law = self._checked(np.asarray(value)).item(), {}
        for row in range(self.rows):
            own = bucket_of_text(row, text, self.width)
            for told in product((False, True), repeat=self.width):
                right = sum(bit == (place == own) for place, bit in enumerate(told))
                chance = self.p**right * (1 - self.p) ** (self.width - right)
                law[self._bytes(row, told)] = chance / self.rows
        return law

    def _possible(self, reports: Array) -> None:
        if reports.size and int(reports["row"].max()) >= self.rows:
            raise InputError(f"the row of a report must be a number from 0 to {self.rows - 1}")
        used = self.width % 8
        if used and reports.size and int(reports["bits"][..., -1].max()) >> used:
            raise InputError(f"a report has {self.width} bits, and those after them must be 0")

    def tally(self, reports: Array) -> Tally:
        """For each row how many reports have each bit, and in the last column how many there are."""
        flat = reports.reshape(-1)
        order = np.argsort(flat["row"], kind="stable")
        ends = np.searchsorted(flat["row"][order], np.arange(self.rows + 1))
        counts = np.zeros((self.rows, self.width + 1), dtype=np.int64)
        counts[:, -1] = np.diff(ends)
        for row in np.flatnonzero(counts[:, -1]).tolist():
            bits = flat["bits"][order[ends[row] : ends[row + 1]]]
            counts[row, :-1] = np.unpackbits(bits, axis=1, count=self.width, bitorder="little").sum(axis=0)
        return Tally(counts, flat.size)

    def support(self, tally: Tally) -> tuple[Array, Array]:
        return tally.counts[:, :-1], tally.counts[:, -1]

    @classmethod
    def examples(cls) -> Sequence[Example]:
        small = [(Fraction(1, 5), 4, 2), (Fraction(1), 4, 4), (Fraction(5, 2), 2, 8)]
        made = [cls(epsilon=e, rows=k, width=m) for e, k, m in small]
        return [Example(m, "a", "b", m.loss()) for m in made]


LISTED = 1 << 18
CHUNK = 1 << 15


@dataclass(frozen=True, kw_only=True)
class HadamardSketch(Sketch):
    """A report is a row, a place below `width` (a power of two), and a sign, kept with probability p.

    The sign is H[place, bucket] = (−1)^(number of ones that both share); the report's second number is 2·place + told,
    told being 1 for −1. It speaks for the buckets that have its sign: for a false one with probability ½.

    Guarantee: pure ε between any two texts of one respondent (relation replace): row and place tell nothing, and the
    bit is randomised response with p = e^ε/(e^ε + 1) rounded down to a multiple of 2^-64.

    Coins: a number below `rows`; a number below `width`; keep (one toss of p).
    """

    kind: ClassVar[str] = "hadamard_sketch"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.width & (self.width - 1):
            raise InputError("width must be a power of two: rows of signs have such lengths")

    @cached_property
    def _keep(self) -> Coin:
        return keeping(self.epsilon)

    @property
    def p(self) -> Fraction:
        return self._keep.probability

    @property
    def r(self) -> Fraction:
        return Fraction(1, 2)

    @property
    def dtype(self) -> np.dtype[Any]:
        return np.dtype([("row", word(self.rows)), ("told", word(2 * self.width))])

    def _bytes(self, row: int, told: int) -> bytes:
        sizes = (self.dtype[name].itemsize for name in ("row", "told"))
        return b"".join(number.to_bytes(size, "little") for number, size in zip((row, told), sizes, strict=True))

    def _one(self, value: bytes, rng: Rng) -> bytes:
        row, place = below(self.rows, rng), below(self.width, rng)
        bit = (place & bucket_of_text(row, value, self.width)).bit_count() & 1
        return self._bytes(row, 2 * place + (bit if self._keep.toss(rng) else 1 - bit))

    def _many(self, values: Array, rng: Rng) -> Array:
        flat = values.ravel()
        texts, which = np.unique(flat, return_inverse=True)
        buckets = buckets_of_texts(texts, self.rows, self.width)
        reports = np.empty(flat.size, dtype=self.dtype)
        for start in range(0, flat.size, CHUNK):
            part = reports[start : start + CHUNK]
            row, place = uniform(self.rows, part.size, rng), uniform(self.width, part.size, rng)
            bit = np.bitwise_count(place & buckets[which[start : start + CHUNK], row]) & 1
            part["row"], part["told"] = row, 2 * place + (bit ^ ~self._keep.tosses(part.size, rng))
        return reports.reshape(values.shape)

    def law(self, value: Any) -> Law:
        if 2 * self.rows * self.width > LISTED:
            raise InputError(f"there are more than {LISTED} reports, too many to list")
        text, law = self._checked(np.asarray(value)).item(), {}
        for row in range(self.rows):
            own = bucket_of_text(row, text, self.width)
            for place in range(self.width):
                for told in (0, 1):
                    true = (place & own).bit_count() & 1 == told
                    law[self._bytes(row, 2 * place + told)] = (self.p if true else 1 - self.p) / (
                        self.rows * self.width
                    )
        return law

    def _possible(self, reports: Array) -> None:
        for name, bound in (("row", self.rows), ("told", 2 * self.width)):
            if reports.size and int(reports[name].max()) >= bound:
                raise InputError(f'"{name}" of a report must be a number from 0 to {bound - 1}')

    def tally(self, reports: Array) -> Tally:
        """For each row how often each place had each sign."""
        flat = reports.reshape(-1)
        cells = flat["row"].astype(np.int64) * 2 * self.width + flat["told"]
        counts = np.bincount(cells, minlength=2 * self.rows * self.width)
        return Tally(counts.reshape(self.rows, 2 * self.width), flat.size)

    def support(self, tally: Tally) -> tuple[Array, Array]:
        each = tally.counts.sum(axis=1)
        signs = tally.counts[:, 0::2] - tally.counts[:, 1::2]
        agreeing = np.array([walsh_hadamard(row) for row in signs])
        return (each[:, None] + agreeing) // 2, each

    @classmethod
    def examples(cls) -> Sequence[Example]:
        small = [(Fraction(1, 5), 4, 2), (Fraction(1), 4, 4), (Fraction(5, 2), 2, 16)]
        made = [cls(epsilon=e, rows=k, width=m) for e, k, m in small]
        return [Example(m, "a", "b", m.loss()) for m in made]
