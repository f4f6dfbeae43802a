"""Sketches: texts are hashed into rows of buckets, so that the share of any text can be asked for afterwards.

What Apple's count-mean sketch and its Hadamard form share (Differential Privacy Team 2017). A report is about one row,
drawn whatever the text is. It speaks for the text's own bucket of that row with probability p, for any other with
probability r.
"""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from tacit.base import InputError, Number, cached_property
from tacit.mechanism.response import Estimate
from tacit.noise import Rng, uniform
from tacit.survey.bits import bit_law, bits_by_row, packed
from tacit.survey.coin import KaryCoin, below
from tacit.survey.direct import sign, walsh_hadamard
from tacit.survey.hash_family import bucket_of_text, encoded, meeting
from tacit.survey.kary import KaryProtocol
from tacit.survey.protocol import Array, Law, Protocol, Tally, hashed_share, listable, normal, shares_at, telling, word

__all__ = ["CountMeanSketch", "HadamardSketch", "Sketch", "buckets_of_texts"]

MOST_ROWS, WIDEST = 1 << 16, 1 << 16


@dataclass(frozen=True, kw_only=True)
class Sketch(Protocol):
    """A text, in `rows` rows of `width` buckets."""

    theory: ClassVar[str] = "sketches"
    neighbours = (("a", "b"),)

    rows: int = 1024
    width: int = 256

    def __post_init__(self) -> None:
        self._settle(rows=1, width=2)
        if self.rows > MOST_ROWS or self.width > WIDEST:
            raise InputError(f"rows must be at most {MOST_ROWS} and width at most {WIDEST}")
        telling(self.p, self.r)

    @property
    @abstractmethod
    def r(self) -> Fraction:
        """Probability that a report speaks for one given other bucket of its row."""

    @property
    def q(self) -> Fraction:
        """Probability that a report speaks for the bucket of one given other text, over random hash functions."""
        return meeting(self.width) * self.p + (1 - meeting(self.width)) * self.r

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
        return shares_at(cells, each[:, None], self.p, self.r, confidence)

    def shares_of(self, tally: Tally, texts: Sequence[str], confidence: Number = 0.95) -> Estimate:
        """Shares of these texts, unbiased over the hash functions, with normal intervals; see `hashed_share`."""
        tally.required()
        cells, each = self.support(tally)
        rates, jump = (float(self.p), float(self.q)), float(self.p - self.r)
        places = buckets_of_texts(self._checked(np.asarray(list(texts))), self.rows, self.width)
        found = [hashed_share(cells, own, each, rates=rates, jump=jump) for own in places]
        return normal(np.array([share for share, _ in found]), np.array([error for _, error in found]), confidence)

    def _many(self, values: Array, rng: Rng) -> Array:
        """Texts are hashed once, however many people gave them."""
        texts, which = np.unique(values, return_inverse=True)
        buckets = buckets_of_texts(texts, self.rows, self.width)

        def fill(reports: Array, part: Array, rng: Rng) -> None:
            row = reports["row"] = uniform(self.rows, part.size, rng)
            self._tell(reports, buckets[part, row], rng)

        return self._filled(which.reshape(values.shape), fill, rng)

    @abstractmethod
    def _tell(self, reports: Array, own: Array, rng: Rng) -> None:
        """Complete reports on texts that have these buckets in their rows."""


def buckets_of_texts(texts: Array, rows: int, width: int) -> Array:
    """The bucket of each text in each row: row i has hash function i."""
    every = np.arange(rows)
    found = [bucket_of_text(every, text, width) for text in texts.ravel().tolist()]
    return np.array(found, dtype=np.int64).reshape(texts.size, rows)


@dataclass(frozen=True, kw_only=True)
class CountMeanSketch(Sketch):
    """A report is a row and `width` bits: that of the text's bucket is 1, the others 0, each kept with probability p.

    Guarantee: pure ε between any two texts of one respondent (relation replace). Two texts differ in two bits of a row,
    so p is e^(ε/2)/(e^(ε/2) + 1) rounded down to a multiple of 2^-64.

    Bits are packed eight a byte, the first the lowest. Coins: a number below `rows`; then for each bit one toss of p.
    """

    kind: ClassVar[str] = "count_mean_sketch"
    chunk: ClassVar[int] = 1 << 19  # bits
    cases = (("1/5", 4, 2), (1, 4, 4), ("5/2", 2, 8))

    @cached_property
    def _coin(self) -> KaryCoin:
        return KaryCoin.at(self.epsilon / 2, 2)

    @property
    def r(self) -> Fraction:
        return 1 - self.p

    @property
    def numbers(self) -> Mapping[str, int]:
        return {"row": self.rows}

    @property
    def dtype(self) -> np.dtype[Any]:
        return np.dtype([("row", word(self.rows)), ("bits", "u1", ((self.width + 7) // 8,))])

    @property
    def _tossed(self) -> int:
        return self.width

    def _one(self, value: bytes, rng: Rng) -> bytes:
        row = below(self.rows, rng)
        own = bucket_of_text(row, value, self.width)
        return self._bytes(row) + packed([self._coin.told(int(place == own), rng) for place in range(self.width)])

    def _tell(self, reports: Array, own: Array, rng: Rng) -> None:
        told = ~self._coin.keep.tosses(own.size * self.width, rng).reshape(own.size, self.width)
        told[np.arange(own.size), own] ^= True
        reports["bits"] = np.packbits(told, axis=1, bitorder="little")

    def law(self, value: Any) -> Law:
        listable(self.rows << self.width)
        text, law = self._answer(value), {}
        for row in range(self.rows):
            own = bucket_of_text(row, text, self.width)
            ones = [self._coin.chance(1, place == own) for place in range(self.width)]
            for bits, chance in enumerate(bit_law(ones)):
                law[self._bytes(row) + bits.to_bytes((self.width + 7) // 8, "little")] = chance / self.rows
        return law

    def _possible(self, reports: Array) -> None:
        super()._possible(reports)
        used = self.width % 8
        if used and reports.size and int(reports["bits"][..., -1].max()) >> used:
            raise InputError(f"a report has {self.width} bits, and those after them must be 0")

    def tally(self, reports: Array) -> Tally:
        flat = reports.reshape(-1)
        return Tally(bits_by_row(flat["row"], flat["bits"], count=self.rows, width=self.width), flat.size)

    def support(self, tally: Tally) -> tuple[Array, Array]:
        return tally.counts[:, :-1], tally.counts[:, -1]


@dataclass(frozen=True, kw_only=True)
class HadamardSketch(KaryProtocol, Sketch):
    """A report is a row, a place below `width` (a power of two), and a sign, kept with probability p.

    The sign is H[place, bucket] = (−1)^(number of ones that both share); the report's second number is 2·place + told,
    told being 1 for −1. It speaks for the buckets that have its sign: for a false one with probability ½.

    Guarantee and coins: those of a `KaryProtocol`, the bit being Warner's randomised response.
    """

    kind: ClassVar[str] = "hadamard_sketch"
    folded = True
    cases = (("1/5", 4, 2), (1, 4, 4), ("5/2", 2, 16))
    r = Fraction(1, 2)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.width & (self.width - 1):
            raise InputError("width must be a power of two: rows of signs have such lengths")

    @property
    def drawn(self) -> Mapping[str, int]:
        return {"row": self.rows, "place": self.width}

    def _truth(self, value: Any, *drawn: Any) -> Any:
        return sign(bucket_of_text(drawn[0], value, self.width), drawn[1])

    def _tell(self, reports: Array, own: Array, rng: Rng) -> None:
        place = uniform(self.width, own.size, rng)
        reports["told"] = 2 * place + (sign(own, place) ^ ~self._coin.keep.tosses(own.size, rng))

    def support(self, tally: Tally) -> tuple[Array, Array]:
        counts = tally.counts.reshape(self.rows, 2 * self.width)
        each, signs = counts.sum(axis=1), counts[:, 0::2] - counts[:, 1::2]
        agreeing = np.array([walsh_hadamard(row) for row in signs])
        return (each[:, None] + agreeing) // 2, each
